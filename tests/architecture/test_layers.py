"""Imports point down: a file imports from lower layers or from its own folder, and says so at its top."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.architecture.sources import Source, package

# From the bottom up. Units of one line know nothing of each other.
LAYERS = (
    ("place", "spelling"),
    ("errors",),
    ("settings",),
    ("target",),
    ("ir",),
    ("ops",),
    ("autograd", "shard"),
    ("kernel",),
    ("schedule",),
    ("render",),
    ("runtime",),
    ("pipeline",),
    ("tensor",),
    ("jit", "nn", "model"),
    ("emit", "importers", "torchlib"),
    ("__init__",),
    ("bench", "viz", "apps", "csl"),
    ("cli",),
    ("__main__",),
)
LAYER_OF = {unit: number for number, units in enumerate(LAYERS) for unit in units}


@dataclass(frozen=True)
class Import:
    """`importer` names `imported`; `hidden` when the statement is not at the top level of its file."""

    importer: Source
    imported: str
    line: int
    hidden: bool

    def __str__(self) -> str:
        return f"{self.importer.path}:{self.line} imports {self.imported}"


def unit_of(module: str) -> str:
    """The top-level file or folder that a module of the package belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(source: Source, modules: frozenset[str]) -> Iterator[Import]:
    hidden = {
        id(node) for function in source.functions() for node in ast.walk(function)
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _names(node, source, modules):
                yield Import(source, name, node.lineno, id(node) in hidden)


def _names(
    node: ast.Import | ast.ImportFrom, source: Source, modules: frozenset[str]
) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = _base(node, source)
    # `from ingot.ir import node` may name a module or something inside `ingot.ir`
    return [
        f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules else base
        for alias in node.names
    ]


def _base(node: ast.ImportFrom, source: Source) -> str:
    if not node.level:
        return node.module or ""
    folder = source.module.split(".")
    drop = node.level - 1 if source.is_package else node.level
    return ".".join(
        [*folder[: len(folder) - drop], *([node.module] if node.module else [])]
    )


def upward(found: Import) -> bool:
    if found.imported.split(".")[0] != "ingot":
        return False
    here, there = unit_of(found.importer.module), unit_of(found.imported)
    return here != there and LAYER_OF[there] >= LAYER_OF[here]


def wrongly_hidden(found: Import) -> bool:
    """Only packages that not everybody has, or that are slow to load, may be imported inside a function."""
    top = found.imported.split(".")[0]
    return found.hidden and (top == "ingot" or top in sys.stdlib_module_names)


def all_imports() -> list[Import]:
    modules = frozenset(source.module for source in package())
    return [found for source in package() for found in imports_of(source, modules)]


def test_every_unit_has_a_layer() -> None:
    unknown = {unit_of(source.module) for source in package()} - set(LAYER_OF)
    assert not unknown, f"give these a place in LAYERS: {sorted(unknown)}"


def test_imports_point_down() -> None:
    wrong = [str(found) for found in all_imports() if upward(found)]
    assert not wrong, (
        "these import upward; move the shared part down or pass it in:\n"
        + "\n".join(wrong)
    )


def test_imports_are_not_hidden() -> None:
    wrong = [str(found) for found in all_imports() if wrongly_hidden(found)]
    assert not wrong, "these hide an import in a function:\n" + "\n".join(wrong)


def test_only_settings_reads_the_environment() -> None:
    readers = set()
    for source in package():
        for node in ast.walk(source.tree):
            name = (
                node.attr
                if isinstance(node, ast.Attribute)
                else getattr(node, "id", "")
            )
            if name in ("environ", "getenv", "environb"):
                readers.add(source.path)
    assert readers <= {"ingot/settings.py"}


# --- the checks themselves: each must see what it is there for ---

MODULES = frozenset(
    {
        "ingot",
        "ingot.ir",
        "ingot.ir.node",
        "ingot.errors",
        "ingot.tensor",
        "ingot.shard",
    }
)


def found_in(module: str, text: str, path: str = "x.py") -> Import:
    return next(imports_of(Source(module, path, text), MODULES))


@pytest.mark.parametrize(
    "text",
    [
        "import ingot.tensor",
        "from ingot.tensor import Tensor",
        "from ingot import tensor",
        "from ingot import Tensor",
        "import ingot",
        "from ..tensor import Tensor",
        "if TYPE_CHECKING:\n    from ingot.tensor import Tensor",
        "def f():\n    from ingot.tensor import Tensor",
    ],
)
def test_an_upward_import_is_seen(text: str) -> None:
    assert upward(found_in("ingot.ir.node", text))


@pytest.mark.parametrize(
    "text",
    [
        "import numpy",
        "from ingot.errors import ShapeError",
        "from ingot.ir import spec",
        "from . import spec",
    ],
)
def test_a_downward_import_is_allowed(text: str) -> None:
    assert not upward(found_in("ingot.ir.node", text))


def test_neighbours_of_one_layer_are_strangers() -> None:
    assert upward(
        found_in("ingot.autograd.rules", "from ingot.shard import layout")
    )


def test_a_relative_import_in_a_package_file_is_resolved() -> None:
    assert (
        found_in("ingot.ir", "from . import node", "ingot/ir/__init__.py").imported
        == "ingot.ir.node"
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("def f():\n    import ingot.errors", True),
        ("def f():\n    import json", True),
        ("def f():\n    import torch", False),
        ("import json", False),
    ],
)
def test_hidden_imports_are_seen(text: str, wrong: bool) -> None:
    assert wrongly_hidden(found_in("ingot.ir.node", text)) is wrong
