# Every target sets up its own .venv first; it is redone only when pyproject.toml changes.
#   make bench                         compile the benchmark programs, check them, time them
#   make bench ARGS="gemm1024 --threads 1"
#   make test                          all tests
#   make test ARGS="tests/ir -x"
#   make fuzz ARGS="1000 7"            random programs: how many, from which seed
#   make lint                          ruff and mypy

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(shell cksum < pyproject.toml | tr -d ' ')

.DEFAULT_GOAL := help
.PHONY: help bench test fuzz lint clean

help:
	@sed -n 's/^#   //p' Makefile

$(STAMP):
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Ingot needs Python 3.11 or newer: make PYTHON=python3.12 ..."'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	rm -f $(VENV)/.installed-*
	touch $@

bench: $(STAMP)
	$(BIN)/python -m ingot bench $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest -q -n auto $(ARGS)

fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz.check $(or $(ARGS),200)

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
