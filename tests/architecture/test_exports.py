"""`__all__` is honest, every module can be imported, and importing Ingot costs little."""

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, Source, package

MODULES = [
    source.module for source in package() if not source.module.endswith("__main__")
]
IMPORT_BUDGET = 0.050
SLOW_PACKAGES = ("llvmlite", "rich", "torch", "jax", "multiprocessing.connection")


@pytest.mark.parametrize("name", MODULES)
def test_all_names_exist_once(name: str) -> None:
    """Also: every module can be imported with nothing but the core dependencies."""
    module = import_module(name)
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    assert not [one for one in names if not hasattr(module, one)]


def defined_names(source: Source) -> set[str]:
    """Public functions, classes and re-exports at the top level of a file."""
    found = set()
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif (
            isinstance(node, ast.ImportFrom)
            and source.is_package
            and (node.module or "").startswith("ingot")
        ):
            found |= {alias.asname or alias.name for alias in node.names}
    return {name for name in found if not name.startswith(("_", "*"))}


def test_the_public_namespace_is_what_it_says() -> None:
    """What `ingot/__init__.py` imports or defines is exported, and it does nothing else."""
    (source,) = [one for one in package() if one.module == "ingot"]
    exported = set(import_module("ingot").__all__)
    assert defined_names(source) - exported == set()


@pytest.mark.parametrize(
    "source",
    [one for one in package() if one.is_package],
    ids=lambda one: one.module,
)
def test_a_package_with_a_list_exports_what_it_defines(source: Source) -> None:
    module = import_module(source.module)
    own = {
        node.name
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    public = {name for name in own if not name.startswith("_")}
    assert public <= set(getattr(module, "__all__", public))


def import_seconds(bytecode: Path) -> tuple[float, float]:
    """Processor time of `import numpy` in a fresh process, and of `import ingot` after it."""
    program = "import time; t = time.process_time; a = t(); import numpy; b = t(); import ingot; print(b - a, t() - b)"
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE"
    }
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    numpy, ingot = map(float, done.stdout.split())
    return numpy, ingot


def test_import_is_cheap(tmp_path: Path) -> None:
    """In the best of several runs; where NumPy takes more than twice the budget, the machine is busy."""
    import_seconds(tmp_path)  # writes the bytecode
    times = [import_seconds(tmp_path) for _ in range(9)]
    within = [ingot <= max(IMPORT_BUDGET, numpy / 2) for numpy, ingot in times]
    assert any(within), f"(numpy, ingot) seconds: {times}"


def test_import_loads_nothing_slow() -> None:
    program = f"import sys, ingot; print([name for name in {SLOW_PACKAGES} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
