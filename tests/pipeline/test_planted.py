"""Planted bugs: one function or one row of a table is made wrong, and a fast check of the suite must notice.

Rules, moves, storage, schedules, decompositions and renderers, each in the ways that they really go wrong: an
edge that is not asked about, an index off by one, an order that changed, a sign, a case that was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from ingot.errors import KernelFault, SpecError
from ingot.ir import algebra, division, sums
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.polynomial import plus, polynomial, times, upper
from ingot.kernel import (
    decompose,
    edges,
    elementary32,
    launches,
    moves,
    reduction,
    staging,
    storage,
    threads,
    tree,
)
from ingot.kernel.nest import Layout
from ingot.render import base, c_text, llvm_text, llvm_writer, lower, transpose
from ingot.render.value import Raw
from ingot.schedule import family, fuse, memory, nests, views
from tests.pipeline import checks

Patch = pytest.MonkeyPatch
CAUGHT = (AssertionError, KernelFault, SpecError, pytest.fail.Exception)
TRUE = UOp.const(dt.boolean, True)


@dataclass(frozen=True)
class Bug:
    """`plant` makes something wrong; `check` must raise then, and must not otherwise."""

    plant: Callable[[Patch], None]
    check: checks.Check


def instead(module: Any, name: str, wrong: Any) -> Callable[[Patch], None]:
    """Something else under a name of a module or class."""
    return lambda patch: patch.setattr(module, name, wrong)


def entry(table: Any, key: Any, wrong: Any) -> Callable[[Patch], None]:
    """Something else in a row of a table."""
    return lambda patch: patch.setitem(table, key, wrong)


def changed(
    module: Any, name: str, change: Callable[[Any], Any]
) -> Callable[[Patch], None]:
    """A function whose result is changed."""
    right = getattr(module, name)
    return instead(
        module, name, lambda *args, **named: change(right(*args, **named))
    )


def joined_by_nothing(p: Any, outer: Any, mod: UOp) -> tuple[Any, Any] | None:
    """n * (x // n) + x % n -> x, also where n may be 0."""
    x, n = mod.src
    for quotient in sums._atoms(p, Ops.IDIV):
        if quotient.src == (x, n):
            return times(times(outer, polynomial(n)), {(quotient,): 1}), polynomial(
                x
            )
    return None


f = UPat.var("f", algebra.FLOATS)
i, j = UPat.var("i", algebra.INTS), UPat.var("j", algebra.INTS)
RULES: dict[str, Bug] = {
    "x + 0.0 is taken for x, and -0.0 lost": Bug(
        instead(algebra, "IEEE", PatternMatcher([(f + 0.0, f)]) + algebra.IEEE),
        checks.rules(lambda: algebra.IEEE),
    ),
    "the larger of two is the smaller": Bug(
        instead(
            algebra,
            "BOUNDS",
            PatternMatcher([(UPat(Ops.MAX, src=(i, j)), algebra.smaller)]),
        ),
        checks.rules(lambda: algebra.BOUNDS),
    ),
    "a float is thought to hold every int of its width": Bug(
        instead(
            algebra, "holds_all", lambda wide, narrow: wide.bits >= narrow.bits
        ),
        checks.rules(lambda: algebra.CONVERSIONS),
    ),
    "a comparison is decided one too early": Bug(
        changed(algebra, "upper", lambda bound: bound - 1),
        checks.rules(lambda: algebra.INDEX_COMPARISONS),
    ),
    "a quotient is 0 for negative numbers": Bug(
        instead(
            division,
            "fits",
            lambda p, divisor: upper(plus(p, divisor, -1)) < 0,
        ),
        checks.rules(lambda: division.INDEX_DIVISION),
    ),
    "the halves of a division by 0 are put together": Bug(
        instead(sums, "_whole_quotient", joined_by_nothing),
        checks.division_by_nothing,
    ),
}


def swapped_pair(found: tuple[UOp, UOp]) -> tuple[UOp, UOp]:
    return found[1], found[0]


def same_counters(
    kernel: Any, nest: Any, reader: Any, prefix: tuple[int, ...]
) -> dict[int, int]:
    """Axes that are read at a loop's counter, whatever their extents."""
    reads = [read for _, read in kernel.readers(nest)]
    return {
        mine: theirs
        for position, mine in enumerate(nest.dims)
        for theirs in prefix
        if mine != theirs
        and all(
            read.src[position] is kernel.loops[theirs].counter for read in reads
        )
    }


def without_factor(kernel: Any, total: Any, part: Any, scale: Any) -> UOp:
    read: UOp = part.value(*(kernel.loops[a].counter for a in part.dims))
    return UOp.state(read.dtype, 0) + read


MOVES: dict[str, Bug] = {
    "split drops the partial tile": Bug(
        instead(
            moves, "_tiles", lambda extent, factor: (extent // factor).simplify()
        ),
        checks.drawn("split"),
    ),
    "split takes every tile for a full one": Bug(
        instead(moves, "_divides", lambda factor, extent: True),
        checks.drawn("vector"),
    ),
    "a read of a split axis has its two indices the wrong way round": Bug(
        changed(moves, "_two_indices", swapped_pair),
        checks.golden("layer_norm_residual"),
    ),
    "stage forgets a condition of the loops that it copies": Bug(
        instead(staging, "_inherited", lambda user, name, loops, mapping: ()),
        checks.ahead(1),
    ),
    "padded rows get no room": Bug(
        changed(
            staging, "_padded", lambda rows: Layout(rows.offset, rows.size - 1)
        ),
        checks.drawn("stage with padded rows"),
    ),
    "compute_at merges loops that end elsewhere": Bug(
        instead(staging, "_same_axes", same_counters),
        checks.tree("loops of different extents"),
    ),
    "reorder does not look at extents": Bug(
        instead(moves, "_check_order", lambda kernel, nest, axes: None),
        checks.refused("reorder: an extent that is not known yet"),
    ),
    "online forgets to rescale the sum": Bug(
        instead(reduction, "_rescaled", without_factor),
        checks.golden("softmax_online"),
    ),
    "online subtracts -inf from -inf": Bug(
        instead(reduction, "_finite", lambda maximum: maximum),
        checks.begins_with_minus_infinity,
    ),
    "a running reduction may be factored": Bug(
        instead(reduction, "_fold", lambda nest, move: nest.body),
        checks.refused("hold: a running reduction"),
    ),
}


def first_only(conditions: list[UOp]) -> UOp | None:
    return conditions[0] if conditions else None


def all_true(loop: Any, tails: list[Any], most: Any) -> dict[UOp, UOp]:
    return {tail.inside: TRUE for tail in tails}


def unrounded(body: tuple[UOp, ...]) -> UOp:
    total = tree.ZERO
    for node in UOp(Ops.SINK, dt.void, body).toposort():
        if node.op is Ops.STAGE:
            total = total + node.src[0] * node.dtype.itemsize
    return total.simplify()


def wrong_product(step: UOp) -> UOp:
    """fma(a, acc, b) in place of fma(a, b, acc)"""
    if step.op is not Ops.ADD or step.src[1].op is not Ops.MUL:
        return step
    acc, term = step.src
    return UOp(Ops.MULACC, step.dtype, (term.src[0], acc, term.src[1]))


def ends_only(home: tuple[int, ...], between: Any, route: Any) -> tuple[int, ...]:
    """What the first and the last nest share, whatever runs between them."""
    for nest in (between[0], between[-1]):
        home = storage._common(home, route[nest.id])
    return home


def one_after_another(
    self: Any, branch: Any, nest: Any, offset: UOp, news: list[UOp]
) -> None:
    for buffer, new in zip(self.places[nest.id].buffers, news, strict=True):
        branch.children.append(self._store(buffer, offset, new))


TREES: dict[str, Bug] = {
    "only the first of several conditions is asked": Bug(
        instead(tree, "all_of", first_only),
        checks.golden("gemm_dequantise"),
    ),
    "no nest asks whether it is inside": Bug(
        instead(threads, "_guards", lambda kernel, loops, mapping, same: {}),
        checks.drawn("vector"),
    ),
    "a full tile is taken to have no partial one in it": Bug(
        instead(edges, "in_full_tiles", all_true),
        checks.tree("vectors that do not divide a tile"),
    ),
    "the last tile of an operand is filled in part": Bug(
        instead(edges, "_in_a_tile", lambda loop, body: False),
        checks.tree("the last tile of an operand"),
    ),
    "a loop that has ended is taken to be open": Bug(
        instead(storage, "_still_open", ends_only),
        checks.nest_between,
    ),
    "reads past the end of a tile are not masked": Bug(
        instead(tree._Writer, "_past_the_end", lambda self, node, read: set()),
        checks.tree("a tile read in wider tiles"),
    ),
    "scratch is not rounded up to lines": Bug(
        instead(launches, "_scratch", unrounded), checks.scratch
    ),
    "the accumulator is multiplied": Bug(
        instead(tree, "_fused", wrong_product), checks.golden("gemm_dequantise")
    ),
    "a tuple's states are updated one after the other": Bug(
        instead(tree._Writer, "_simultaneous", one_after_another),
        checks.tree("a tuple between launches"),
    ),
    "loops inside vectors are let through": Bug(
        instead(tree, "check_order", lambda kernel, loops: None),
        checks.unfinished("a loop inside a vector"),
    ),
    "a tile that is filled ahead has room for one": Bug(
        changed(storage, "_place", lambda place: replaced(place)),
        checks.ahead(2),
    ),
}


def replaced(place: Any) -> Any:
    return replace(place, ahead=None)


def shifted_flip(
    self: Any, node: UOp, indices: tuple[UOp, ...], valid: UOp | None
) -> UOp:
    below = [
        nests.as_index(n) - at for n, at in zip(node.shape, indices, strict=True)
    ]
    return self.at(node.src[0], tuple(below), valid)  # type: ignore[no-any-return]


def first_axis_window(
    self: Any, node: UOp, indices: tuple[UOp, ...], valid: UOp | None
) -> UOp:
    below = (indices[0] + indices[-1], *indices[1:-1])
    return self.at(node.src[0], below, valid)  # type: ignore[no-any-return]


def overlapping(self: Any, size: int) -> int:
    """Room that is taken stays in the list of gaps."""
    fitting = [s for s in self.starts if self.sizes[s] >= size]
    return int(fitting[0] if fitting else self._grow(size))


SCHEDULES: dict[str, Bug] = {
    "flip is off by one": Bug(
        entry(nests._RULES, Ops.FLIP, shifted_flip), checks.movement
    ),
    "a window slides along the first axis": Bug(
        entry(nests._RULES, Ops.WINDOW, first_axis_window),
        checks.movement,
    ),
    "a reshape takes its axes from the front": Bug(
        instead(
            views,
            "_group",
            lambda sizes, around, indices, simple: list(indices)[: len(sizes)],
        ),
        checks.reshapes,
    ),
    "a size stays in the kernel": Bug(
        instead(family, "KEPT_INTS", frozenset({-1, 0, 1, 3, 1024})),
        checks.one_structure,
    ),
    "the room of a living value is given away": Bug(
        instead(memory._Gaps, "take", overlapping),
        checks.memory_plan,
    ),
    "axes that cannot both be outer loops are fused": Bug(
        instead(fuse, "_nested", lambda kernel, reader, used: True),
        checks.reasons("two outer loops"),
    ),
}


def truncated(x: UOp, target: dt.DType) -> UOp:
    """bfloat16 without rounding."""
    whole = x.bitcast(dt.uint32)
    return (
        whole.alu(Ops.SHR, UOp.const(dt.uint32, 16)).cast(dt.uint16).bitcast(target)
    )


DECOMPOSITIONS: dict[str, Bug] = {
    "exp is 2**x": Bug(
        entry(decompose._RULES, Ops.EXP, decompose._RULES[Ops.EXP2]),
        checks.exponential,
    ),
    "a coefficient of exp has a wrong digit": Bug(
        instead(
            elementary32,
            "EXP",
            (*elementary32.EXP[:3], 0.1666752113199234, *elementary32.EXP[4:]),
        ),
        checks.exponential,
    ),
    "log has one term too few": Bug(
        instead(elementary32, "LOG", elementary32.LOG[:-1]), checks.logarithm
    ),
    "bfloat16 is cut off, not rounded": Bug(
        instead(decompose, "narrowed", truncated), checks.brain_floats
    ),
}


def nearest_neighbours(
    self: Any, states: list[Any], combines: tuple[UOp, ...], lanes: int
) -> list[Any]:
    """Lane 0 with 1, 2 with 3: another tree of additions."""
    values = [[self.code.extract(s, lane) for s in states] for lane in range(lanes)]
    while len(values) > 1:
        values = [
            self._combined(combines, a + b)
            for a, b in zip(values[::2], values[1::2], strict=True)
        ]
    return values[0]


def without_nan(code: Any, node: UOp, a: Any, b: Any, first_changes: bool) -> Any:
    op = Raw.GREATER if node.op is Ops.MAX else Raw.LESSER
    return code.apply(op if node.dtype.is_float else node.op, node.dtype, a, b)


def unmasked(
    self: Any, frame: Any, pointer: Any, value: Any, mask: Any, align: int
) -> None:
    self.store(pointer, value, align)


def rows_as_columns(lanes: int, itemsize: int) -> tuple[int, ...]:
    return tuple(range(lanes))


RENDERERS: dict[str, Bug] = {
    "a - b is b - a": Bug(
        entry(llvm_text._FLOAT, Ops.SUB, "fsub {t} {{1}}, {{0}}"), checks.different
    ),
    "an unsigned number is taken for a signed one": Bug(
        entry(llvm_text.CASTS, ("unsigned", "float"), "sitofp"),
        checks.unsigned_floats,
    ),
    "max forgets nan": Bug(instead(lower, "extreme", without_nan), checks.larger),
    "floor division truncates": Bug(
        instead(
            lower,
            "_rounded_up",
            lambda code, node, a, b: code.constant(dt.boolean, 0),
        ),
        checks.thirds,
    ),
    "lanes are added in another order": Bug(
        instead(base.Walker, "_halve", nearest_neighbours),
        checks.compiled("sum_rfactor"),
    ),
    "a masked store stores everything": Bug(
        instead(llvm_writer.LLVMWriter, "store_if", unmasked), checks.plain_copy
    ),
    "columns of a transposed tile come in another order": Bug(
        instead(transpose, "column_order", rows_as_columns),
        checks.turned,
    ),
    "in C, a - b is a + b": Bug(
        entry(c_text.OPERATORS, Ops.SUB, "+"),
        checks.compiled("softmax_online", "c"),
    ),
}
BUGS: dict[str, Bug] = {
    **RULES,
    **MOVES,
    **TREES,
    **SCHEDULES,
    **DECOMPOSITIONS,
    **RENDERERS,
}


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: Patch) -> Iterator[None]:
    """What was worked out before, or while a bug was planted, is not remembered."""
    forget(monkeypatch)
    yield
    monkeypatch.undo()
    forget(monkeypatch)
    monkeypatch.undo()


def forget(patch: Patch) -> None:
    for module, table in ((fuse, "_drafts"), (family, "_families")):
        patch.setattr(module, table, {})
    for function in (llvm_text.operation, transpose.steps, transpose.column_order):
        clear = getattr(function, "cache_clear", None)
        if clear is not None:
            clear()


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    bug = BUGS[name]
    bug.check()
    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        bug.plant(patch)
        with pytest.raises(CAUGHT):
            bug.check()


def test_there_are_many_of_every_kind() -> None:
    kinds = (RULES, MOVES, TREES, SCHEDULES, DECOMPOSITIONS, RENDERERS)
    assert all(len(kind) >= 4 for kind in kinds)
    assert len(BUGS) == sum(map(len, kinds)) >= 20
