"""The pages of docs/ that follow from the registry. In: declarations. Out: Markdown.

    docs/ops.md     every op: its arguments, the types it takes, its gradient
    docs/names.md   where a function and the method of its name differ

`python -m ingot.tensor.generate` writes them; a test keeps them current.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from ingot.errors import IngotError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.region import param
from ingot.ops.op import Op
from ingot.ops.sample import Recipe, Sample
from ingot.tensor.differing import DIFFERENCES

_KINDS = (
    ("bool", dt.boolean),
    ("int", dt.int32),
    ("uint", dt.uint8),
    ("float", dt.float32),
)


_STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}

# --- what an op takes and gives -----------------------------------------------------------------------------------


def kind_of(op: Op) -> str:
    """How it is computed."""
    if op.name.startswith("linalg_"):
        return "extern"  # LAPACK, through NumPy on the host
    if op.basic:
        return "algorithm"
    return "composite" if op.is_named else "primitive"


def types_of(op: Op) -> str:
    """The kinds of numbers that its data may have."""
    if not op.samples:
        return ""
    return " ".join(
        word
        for word, dtype in _KINDS
        if any(_builds(op, s, dtype) for s in op.samples[:3])
    )


def _builds(op: Op, sample: Sample, dtype: DType) -> bool:
    try:
        return bool(results_with(op, sample, dtype))
    except IngotError:
        return False


def results_with(op: Op, sample: Sample, dtype: DType) -> tuple[UOp, ...]:
    """The nodes of a sample whose data is of this type; places and masks keep theirs."""
    recipes = [r for r in sample.inputs if isinstance(r, Recipe)]
    varied = "float64" if any(r.dtype == "float64" for r in recipes) else None
    inputs = [
        _input(i, r, dtype if varied in (None, r.dtype) else dt.named(r.dtype))
        if isinstance(r, Recipe)
        else r
        for i, r in enumerate(sample.inputs)
    ]
    return op.results(*inputs, **sample.attrs)


def _input(slot: int, recipe: Recipe, dtype: DType) -> UOp:
    shape = (len(recipe.items),) if recipe.items else recipe.shape
    return param(slot, dtype, shape)


def gradient_of(op: Op) -> str:
    """A rule of its own, one derived from its lowering, or why there is none."""
    if op.grad is not None:
        return "rule"
    if op.no_grad_reason:
        return f"none: {op.no_grad_reason}"
    return "derived" if _gives_floats(op) else "none: the result is not a float"


def _gives_floats(op: Op) -> bool:
    for sample in op.samples[:3]:
        try:
            found = results_with(op, sample, dt.float32)
        except IngotError:
            continue
        return any(node.dtype.is_float for node in found)
    return True


def arguments_of(op: Op) -> str:
    """The parameters without their types."""
    parts = []
    for parameter in op.signature.parameters.values():
        name = _STARS.get(parameter.kind, "") + parameter.name
        given = parameter.default is not inspect.Parameter.empty
        parts.append(f"{name}={parameter.default!r}" if given else name)
    return ", ".join(parts)


# --- pages --------------------------------------------------------------------------------------------------------


def ops_page(families: dict[str, list[Op]]) -> str:
    """The text of docs/ops.md."""
    lines = [
        "# Every op",
        "",
        "Written by `python -m ingot.tensor.generate` from the declarations in `ingot/ops/`. A *primitive* builds opcodes at",
        "once; a *composite* stays a node of the program until it is lowered; an *algorithm* is a kernel of its own; *extern*",
        "is LAPACK through NumPy. Gradient: *rule* is written beside the op, *derived* follows from its lowering.",
        "",
        f"{sum(map(len, families.values()))} ops.",
    ]
    for family, ops in families.items():
        lines += ["", f"## {family}", ""]
        head = ("op", "arguments", "takes", "kind", "gradient", "says")
        lines += _table(head, (_row(op) for op in ops))
    return "\n".join(lines) + "\n"


def _shown(name: str) -> str:
    return (
        name.replace("linalg_", "linalg.", 1)
        if name.startswith("linalg_")
        else name
    )


def _row(op: Op) -> tuple[str, ...]:
    names = ", ".join(f"`{_shown(name)}`" for name in (op.name, *op.aliases))
    arguments = f"`{arguments_of(op)}`"
    return names, arguments, types_of(op), kind_of(op), gradient_of(op), op.doc


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *cells)]


def names_page() -> str:
    """The text of docs/names.md."""
    lines = [
        "# Where names differ",
        "",
        "`ig.name(x)` follows the Python array API standard, `x.name()` follows torch and tinygrad. These differ; every line of",
        "code below is a test. `dim` and `axis`, `keepdim` and `keepdims`, `stride` and `strides`, `kernel_size` and",
        "`pool_size` are understood everywhere; giving both is an error.",
        "",
    ]
    rows = (
        (
            f"`{row.name}`",
            row.function,
            f"`{row.function_example}`",
            row.method,
            f"`{row.method_example}`",
        )
        for row in DIFFERENCES
    )
    head = ("name", "function", "", "method", "")
    return "\n".join([*lines, *_table(head, rows)]) + "\n"
