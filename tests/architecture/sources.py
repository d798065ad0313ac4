"""The repository's files, parsed once, for the tests beside this file."""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED_FOLDERS = {
    ".git",
    ".venv",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
}
SKIPPED_FOLDERS |= {"results", "build", "dist"}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file. `module` is its dotted name; a package's is the name of its folder."""

    module: str
    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    def functions(self) -> Iterator[FunctionNode]:
        for node in ast.walk(self.tree):
            if isinstance(node, FunctionNode):
                yield node

    def tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(io.StringIO(self.text).readline))


@cache
def package() -> tuple[Source, ...]:
    """Every file of the package `ingot`."""
    return tuple(_source(path) for path in sorted((ROOT / "ingot").rglob("*.py")))


@cache
def python_files() -> tuple[Source, ...]:
    """Every Python file of the repository."""
    return tuple(
        _source(path) for path in repository_files() if path.suffix == ".py"
    )


@cache
def repository_files() -> tuple[Path, ...]:
    found = []
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT)
        if path.is_file() and not SKIPPED_FOLDERS & set(inside.parts):
            found.append(path)
    return tuple(found)


def _source(path: Path) -> Source:
    inside = path.relative_to(ROOT)
    parts = inside.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return Source(
        ".".join(parts), inside.as_posix(), path.read_text(encoding="utf-8")
    )


def docstring(node: ast.AST) -> ast.Expr | None:
    """The statement that is a docstring, where the node has one."""
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body or not isinstance(body[0], ast.Expr):
        return None
    value = body[0].value
    return (
        body[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
        else None
    )
