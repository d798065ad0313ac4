"""`__all__` is honest, every module can be imported, and importing Ingot costs little."""

import ast
import subprocess
import sys
from importlib import import_module
from statistics import median

import pytest

from tests.architecture.sources import ROOT, Source, package

MODULES = [source.module for source in package() if not source.module.endswith("__main__")]
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
        elif isinstance(node, ast.ImportFrom) and source.is_package and (node.module or "").startswith("ingot"):
            found |= {alias.asname or alias.name for alias in node.names}
    return {name for name in found if not name.startswith("_")}


def test_the_public_namespace_is_what_it_says() -> None:
    """What `ingot/__init__.py` imports or defines is exported, and it does nothing else."""
    (source,) = [one for one in package() if one.module == "ingot"]
    exported = set(import_module("ingot").__all__)
    assert defined_names(source) - exported == set()


@pytest.mark.parametrize("source", [one for one in package() if one.is_package], ids=lambda one: one.module)
def test_a_package_with_a_list_exports_what_it_defines(source: Source) -> None:
    module = import_module(source.module)
    own = {node.name for node in source.tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    public = {name for name in own if not name.startswith("_")}
    assert public <= set(getattr(module, "__all__", public))


def import_seconds() -> float:
    """Processor time of `import ingot` in a fresh process that has NumPy; a busy machine does not change it."""
    program = "import numpy, time; a = time.process_time(); import ingot; print(time.process_time() - a)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_import_is_cheap() -> None:
    import_seconds()  # writes the bytecode
    measured = [import_seconds() for _ in range(7)]
    assert median(measured) <= IMPORT_BUDGET, f"import ingot takes {median(measured) * 1e3:.1f} ms beyond numpy"


def test_import_loads_nothing_slow() -> None:
    program = f"import sys, ingot; print([name for name in {SLOW_PACKAGES} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
