"""Random programs over all ops: a fixed budget here, as many as you like with `make fuzz`."""

from __future__ import annotations

import random

import pytest

from ingot.ops.op import REGISTRY
from tests.fuzz.check import fault, smallest
from tests.fuzz.programs import Program, random_program, usable


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    program = random_program(random.Random(seed), 2 + seed % 7)
    assert fault(program) == ""


def test_all_public_ops_take_part() -> None:
    found = {name for name, _ in usable()}
    public = {op.name for op in REGISTRY.values() if op.public}
    # The bits of another type; inputs that are words.
    assert public - found <= {"bitcast", "einsum", "rearrange"}


def test_a_wrong_op_is_found_and_the_program_made_small() -> None:
    """The reference of tanh is another function: programs with it are wrong, and one step shows it."""
    right = REGISTRY["tanh"].ref
    object.__setattr__(REGISTRY["tanh"], "ref", lambda x: right(x) + 0.25)
    try:
        program = _first_wrong("tanh")
        least = smallest(program, fault(program))
    finally:
        object.__setattr__(REGISTRY["tanh"], "ref", right)
    assert [step.op for step in least.steps] == ["tanh"]


def _first_wrong(name: str) -> Program:
    """A program of a few steps that has the op and shows its fault."""
    for seed in range(2_000):
        program = random_program(random.Random(seed), 4)
        if any(step.op == name for step in program.steps) and fault(program):
            return program
    raise AssertionError(name)
