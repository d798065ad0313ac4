"""Programs without what changes from call to call: buffers are numbered, values of variables taken off.

    pm_pre_sched_cache     buffer 7123 -> parameter 0,  bind(n, 5) -> bind(n)     what a schedule is kept under
    pm_post_sched_cache    parameter 0 -> buffer 7123,  bind(n) -> bind(n, 5)     the same over this call's buffers

In: the roots of a program. Out: the graph that all calls share, and what is particular to this one.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import cast

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ParamArg, VarArg
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.region import shallow
from ingot.ir.rewrite import graph_rewrite
from ingot.pipeline.sizes import known, unbound


class Particulars:
    """What one call has that others have not: buffers by slot, values by variable, computed sizes.

    `sizes` names the variables of SIZE_OF nodes that will be `given` later; `unknown` are those that nobody knows yet.
    """

    __slots__ = ("buffers", "count", "given", "sizes", "unknown", "variables")

    def __init__(self, given: Container[UOp] = ()) -> None:
        self.buffers: list[UOp] = []
        self.variables: dict[str, int] = {}
        self.given = given
        self.sizes: dict[UOp, str] = {}
        self.unknown: list[UOp] = []
        self.count = 0


def _number(ctx: Particulars, buffer: UOp) -> UOp:
    """A rewrite meets each node once, so each buffer gets one number."""
    ctx.buffers.append(buffer)
    return UOp(Ops.PARAM, buffer.dtype, buffer.src, ParamArg(len(ctx.buffers) - 1))


def _strip(ctx: Particulars, bound: UOp) -> UOp:
    variable, value = bound.unbind()
    name = cast(VarArg, variable.arg).name
    before = ctx.variables.setdefault(name, value)
    if before != value:
        raise ArgumentError(
            f"variable {name!r} is bound to {before} and to {value} in one program",
            fix="give the two sizes different names, or evaluate them apart",
        )
    return bound.replace(src=(variable,))


def _size(ctx: Particulars, size: UOp) -> UOp:
    """A computed size whose number is known, or will be, is a variable like any other."""
    number = known(size)
    name = f"computed_size_{ctx.count}"
    ctx.count += 1
    if size in ctx.given:
        ctx.sizes[size] = name
    elif number is not None:
        ctx.variables[name] = number
    else:
        if any(u.op is Ops.PARAM for u in shallow(size)):
            raise ArgumentError(
                "a size is computed inside the body of a loop, a branch or a function",
                fix="give the body a fixed upper size and a mask, or compute the size outside",
            )
        ctx.unknown.append(size)
    variable = UOp.variable(name, 0, int(unbound(size.src[1]).vmax))
    return UOp(Ops.BIND, dt.index, (variable,))


def _buffer_of(ctx: Particulars, param: UOp) -> UOp:
    return ctx.buffers[cast(ParamArg, param.arg).slot]


def _bind(ctx: Particulars, variable: UOp) -> UOp:
    return variable.bind(ctx.variables[cast(VarArg, variable.arg).name])


pm_pre_sched_cache = PatternMatcher(
    [
        (UPat(Ops.BIND, src=(UPat.var(), UPat.cvar()), name="bound"), _strip),
        (UPat(Ops.BUFFER, name="buffer"), _number),
        (UPat(Ops.SIZE_OF, name="size"), _size),
    ]
)
pm_post_sched_cache = PatternMatcher(
    [
        (UPat(Ops.BIND, src=(UPat.var("variable"),)), _bind),
        (UPat(Ops.PARAM, name="param"), _buffer_of),
    ]
)


def normalise(
    roots: Sequence[UOp], given: Container[UOp] = ()
) -> tuple[UOp, Particulars]:
    """The graph with numbered leaves and without bound values, and what it had instead.

    `given` are computed sizes whose numbers come later.
    """
    found = Particulars(given)
    sink = UOp(Ops.SINK, dt.void, tuple(roots))
    # Nodes before their sources: a buffer is known by itself, not by what its sizes become.
    return graph_rewrite(
        sink,
        pm_pre_sched_cache,
        found,
        bottom_up=True,
        name="before the schedule cache",
    ), found


def restore(sink: UOp, particulars: Particulars) -> UOp:
    """The inverse: the graph over this call's buffers and values."""
    return graph_rewrite(
        sink,
        pm_post_sched_cache,
        particulars,
        bottom_up=True,
        name="after the schedule cache",
    )
