"""The algorithms: one row each. In: the name of an op. Out: its sizes, its price, its variants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import OpArg, Ops
from ingot.ir.shape import Shape, product
from ingot.kernel.launches import Built
from ingot.kernel.plan import Plan
from ingot.kernel.skeleton import scatter
from ingot.kernel.skeleton.compact import compact
from ingot.kernel.skeleton.form import Algorithm, Skeleton, Variant
from ingot.kernel.skeleton.grouped import Grouped
from ingot.kernel.skeleton.rows import Rows
from ingot.kernel.skeleton.search import search
from ingot.kernel.skeleton.select import Select


def is_algorithm(node: UOp) -> bool:
    """An op that is a kernel as a whole."""
    return node.op is Ops.OP and cast(OpArg, node.arg).name in ALGORITHMS


def skeleton(node: UOp) -> Skeleton:
    """The kernel of an op, with the program's sizes."""
    arg = cast(OpArg, node.arg)
    results = [kind for kind, _ in node.results]
    types = (*(s.dtype for s in node.src), *results)
    sizes = ALGORITHMS[arg.name].sizes(node)
    return Skeleton(
        arg.name,
        {},
        (),
        (),
        types=types,
        outputs=len(results),
        options=arg.attrs,
        sizes=sizes,
    )


def plan(kernel: Skeleton, hints: Mapping[UOp, int]) -> Plan:
    """The variant for these sizes."""
    return ALGORITHMS[kernel.name].plan(kernel, hints, 4)


def build(kernel: Skeleton) -> Built:
    """Its loop trees."""
    return ALGORITHMS[kernel.name].build(kernel)


def nanoseconds(kernel: Skeleton) -> UOp:
    """What it takes on one thread, about."""
    return ALGORITHMS[kernel.name].picoseconds(kernel.sizes) // 1000


def _count(shape: Shape) -> UOp:
    total = product(shape)
    return UOp.const(dt.index, total) if isinstance(total, int) else total


def _rows(node: UOp) -> tuple[UOp, ...]:
    """(rows, their length) of the first input."""
    shape = node.src[0].shape
    return _count(shape[:-1]), _count(shape[-1:])


def _scatter_sizes(node: UOp) -> tuple[UOp, ...]:
    base, places, _ = node.src
    return _count(base.shape[:1]), _count(base.shape[1:]), _count(places.shape)


def _with_count(node: UOp) -> tuple[UOp, ...]:
    """(rows, their length, how many of each are kept)"""
    return *_rows(node), _count(node.shape[-1:])


def _search_sizes(node: UOp) -> tuple[UOp, ...]:
    """(rows, elements of each, values of each)"""
    return *_rows(node), _count(node.src[1].shape[-1:])


def _types(kernel: Skeleton) -> tuple[dt.DType, dt.DType | None]:
    """Keys, and places if those are what is asked for."""
    return kernel.types[0], None if kernel.name == "sort_rows" else kernel.types[1]


def _in_vectors(kernel: Skeleton) -> Built:
    first = kernel.name == "select_rows"
    rows = Rows(*_types(kernel), first)
    return rows.network() if len(rows.items.fields) == 1 else rows.digits()


def _in_cache(kernel: Skeleton) -> Built:
    return Rows(*_types(kernel), kernel.name == "select_rows").digits()


def _in_groups(kernel: Skeleton) -> Built:
    return Grouped(*_types(kernel)).built("sort")


def _selected(kernel: Skeleton) -> Built:
    return Select(kernel.types[0], kernel.types[1]).built()


SHORT, CACHED = 1 << 10, 1 << 14
_short = Variant("vectors", _in_vectors, lambda n: n[1] < SHORT + 1)
_cached = Variant("cache", _in_cache, lambda n: n[1] < CACHED + 1)

ALGORITHMS: dict[str, Algorithm] = {
    "sort_rows": Algorithm(
        _rows,
        lambda n: n[0] * n[1] * 8000,
        (_short, _cached, Variant("groups", _in_groups)),
    ),
    "order_rows": Algorithm(
        _rows,
        lambda n: n[0] * n[1] * 12000,
        (_short, _cached, Variant("groups", _in_groups)),
    ),
    "select_rows": Algorithm(
        _with_count,
        lambda n: n[0] * n[1] * 3000,
        (_short, Variant("bins", _selected)),
    ),
    "search_rows": Algorithm(
        _search_sizes,
        lambda n: n[0] * n[2] * 20000,
        (Variant("halves", search),),
    ),
    **dict.fromkeys(
        ("compact", "pick"),
        Algorithm(
            lambda node: (_count(node.src[0].shape),),
            lambda n: n[0] * 1000,
            (Variant("parts", compact),),
        ),
    ),
    "scatter_rows": Algorithm(
        _scatter_sizes,
        lambda n: (n[0] + n[2] * 8) * n[1] * 500,
        (
            Variant("columns", scatter.columns, lambda n: (n[1] < 8).ne(True)),
            Variant(
                "ranges",
                scatter.ranges,
                lambda n: (n[2] < 1 << 15).ne(True) & n[1].eq(1) & (n[0] < 1 << 32),
            ),
            Variant("plain", scatter.plain),
        ),
    ),
}
