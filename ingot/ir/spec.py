"""What a graph may hold at each level: a table, which documents it too. In: a graph. Out: SpecError, or nothing.

SPEC=1 checks at the borders of stages, SPEC=2 also every node as it is made. A fault shows the IR around the node, the
stage that left it so, and the rule that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ingot.errors import SpecError
from ingot.ir import spec_checks as is_
from ingot.ir.match_stats import last_rule
from ingot.ir.node import UOp, provide
from ingot.ir.opcode import (
    BINARY,
    COMPARE,
    AssertArg,
    AxesArg,
    AxisArg,
    BufferArg,
    ConstArg,
    ExternArg,
    FoldArg,
    FunctionArg,
    KernelArg,
    LoopArg,
    OpArg,
    Ops,
    ParamArg,
    PrefixArg,
    ReduceArg,
    ResultArg,
    ScanArg,
    StageArg,
    StateArg,
    VarArg,
    WindowArg,
)
from ingot.ir.spec_tree import tree_faults
from ingot.ir.text import lines, nodes_of
from ingot.settings import settings

__all__ = [
    "KERNEL",
    "PRIMITIVE",
    "PROGRAM",
    "Spec",
    "check",
    "check_node",
    "verify",
    "watch_construction",
]

Check = Callable[[UOp], str]  # what is wrong with a node, "" if nothing
Fault = tuple[UOp, str]


@dataclass(frozen=True)
class Row:
    """One opcode at one level: what it says, and the checks that make it so."""

    says: str
    checks: tuple[Check, ...] = ()

    def problem(self, node: UOp) -> str:
        return next(
            (found for found in (check(node) for check in self.checks) if found), ""
        )


@dataclass(frozen=True)
class Spec:
    """A level: its opcodes, and what holds for a whole graph."""

    name: str
    rows: dict[Ops, Row]
    whole: tuple[Callable[[UOp], Iterator[Fault]], ...] = field(default=())

    def problem(self, node: UOp) -> str:
        row = self.rows.get(node.op)
        if row is None:
            return f"{node.op.name} has no place at level {self.name}"
        found = row.problem(node)
        return f"{node.op.name}: {found}; wanted: {row.says}" if found else ""

    def faults(self, root: UOp) -> Iterator[Fault]:
        for node in nodes_of(root):
            found = self.problem(node)
            if found:
                yield node, found
        for rule in self.whole:
            yield from rule(root)

    def __str__(self) -> str:
        return "\n".join(
            f"{op.name:<12}{row.says}" for op, row in self.rows.items()
        )


def row(says: str, *checks: Check) -> Row:
    return Row(says, checks)


def _rows(ops: frozenset[Ops] | tuple[Ops, ...], made: Row) -> dict[Ops, Row]:
    return dict.fromkeys(ops, made)


# --- the tables -------------------------------------------------------------------------------------------------------

_FLOAT_ONLY = (
    Ops.RECIP,
    Ops.SQRT,
    Ops.EXP,
    Ops.EXP2,
    Ops.LOG,
    Ops.LOG2,
    Ops.SIN,
    Ops.COS,
    Ops.TANH,
    Ops.ERF,
)
_BITS = (Ops.AND, Ops.OR, Ops.XOR)
_SHIFTS = (Ops.SHL, Ops.SHR)
_ARITHMETIC = tuple(BINARY - COMPARE - {*_BITS, *_SHIFTS, Ops.FDIV})

LEAVES: dict[Ops, Row] = {
    Ops.CONST: row(
        "bits of its type", is_.arg(ConstArg), is_.sources(0), is_.constant
    ),
    Ops.DEFINE_VAR: row(
        "a name and lo <= hi", is_.arg(VarArg), is_.sources(0), is_.variable
    ),
    Ops.PARAM: row(
        "a slot, and its sizes as index nodes", is_.arg(ParamArg), is_.index_from(0)
    ),
    Ops.STATE: row("a slot of a combine", is_.arg(StateArg), is_.sources(0)),
}
ELEMENTWISE: dict[Ops, Row] = {
    **_rows(
        (Ops.NEG, Ops.FLOOR, Ops.TRUNC, Ops.ROUND),
        row("one number", is_.sources(1), is_.like_first),
    ),
    **_rows(
        _FLOAT_ONLY,
        row("one float", is_.sources(1), is_.like_first, is_.float_first),
    ),
    Ops.NOT: row(
        "one bool or integer", is_.sources(1), is_.like_first, is_.bits_first
    ),
    **_rows(
        _ARITHMETIC,
        row("two of one type and shape", is_.sources(2), is_.alike, is_.like_first),
    ),
    Ops.FDIV: row(
        "two floats of one type and shape",
        is_.sources(2),
        is_.alike,
        is_.like_first,
        is_.float_first,
    ),
    **_rows(
        _BITS,
        row(
            "two bools or integers",
            is_.sources(2),
            is_.alike,
            is_.like_first,
            is_.bits_first,
        ),
    ),
    **_rows(
        _SHIFTS,
        row(
            "two integers", is_.sources(2), is_.alike, is_.like_first, is_.int_first
        ),
    ),
    **_rows(
        COMPARE,
        row(
            "two of one type and shape, gives bool",
            is_.sources(2),
            is_.alike,
            is_.gives_bool,
        ),
    ),
    Ops.WHERE: row(
        "a bool, then two of the node's type",
        is_.sources(3),
        is_.where,
        is_.one_shape,
    ),
    Ops.MULACC: row(
        "three of one type and shape", is_.sources(3), is_.alike, is_.like_first
    ),
    Ops.CAST: row("one value", is_.sources(1), is_.not_void),
    Ops.BITCAST: row("one value of the same width", is_.sources(1), is_.same_width),
}
MOVES: dict[Ops, Row] = {
    Ops.RESHAPE: row(
        "as many elements as before",
        is_.index_from(1),
        is_.type_of_first,
        is_.same_count,
    ),
    Ops.EXPAND: row(
        "sizes of 1 become n, others stay",
        is_.index_from(1),
        is_.type_of_first,
        is_.expands,
    ),
    Ops.PERMUTE: row(
        "each axis once",
        is_.arg(AxesArg),
        is_.sources(1),
        is_.type_of_first,
        is_.permutes,
    ),
    Ops.FLIP: row(
        "axes that exist",
        is_.arg(AxesArg),
        is_.sources(1),
        is_.type_of_first,
        is_.axes_exist,
    ),
    Ops.PAD: row(
        "low and high amounts >= 0, two an axis",
        is_.index_from(1),
        is_.type_of_first,
        is_.pads,
    ),
    Ops.SHRINK: row(
        "0 <= start <= end <= size, two an axis",
        is_.index_from(1),
        is_.type_of_first,
        is_.shrinks,
    ),
    Ops.STRIDE: row(
        "a step >= 1 an axis", is_.index_from(1), is_.type_of_first, is_.strides
    ),
    Ops.WINDOW: row(
        "an axis and a size",
        is_.arg(WindowArg),
        is_.sources(2),
        is_.type_of_first,
        is_.windows,
    ),
    Ops.CONTIGUOUS: row("one value", is_.sources(1), is_.like_first),
    Ops.TAKE: row(
        "a value, and an index of type int64 an axis, all of one shape",
        is_.arg(AxesArg),
        is_.type_of_first,
        is_.takes,
    ),
    Ops.PREFIX: row(
        "n values, n scalar inits, n combines over 2n states",
        is_.arg(PrefixArg),
        is_.prefixes,
    ),
    Ops.REDUCE: row(
        "n values, n scalar inits, n combines over 2n states",
        is_.arg(ReduceArg),
        is_.reduces,
    ),
}
GRAPH: dict[Ops, Row] = {
    Ops.BIND: row("a variable, and maybe a constant within it", is_.binds),
    Ops.BUFFER: row(
        "an identity, and its sizes as index nodes",
        is_.arg(BufferArg),
        is_.index_from(0),
    ),
    Ops.RESULT: row(
        "one of the results of its source",
        is_.arg(ResultArg),
        is_.sources(1),
        is_.result,
    ),
    Ops.ASSIGN: row(
        "a buffer or a later version of it, and a value alike",
        is_.sources(2),
        is_.alike,
        is_.like_first,
    ),
    Ops.AFTER: row("a value, then effects", is_.at_least(1), is_.type_of_first),
    Ops.SINK: row("roots"),
    Ops.ASSERT: row(
        "a scalar bool, then scalars; an error and its message",
        is_.arg(AssertArg),
        is_.condition_first,
        is_.scalars,
    ),
    Ops.SIZE_OF: row(
        "a scalar int64 and the size that it stays below",
        is_.sources(2),
        is_.index_from(1),
        is_.size_of,
    ),
}
REGIONS: dict[Ops, Row] = {
    Ops.FUNCTION: row(
        "results over PARAMs below n_params", is_.arg(FunctionArg), is_.closed
    ),
    Ops.CALL: row("a function, then its arguments", is_.calls),
    Ops.IF: row(
        "a scalar bool, two functions alike, their arguments", is_.branches
    ),
    Ops.WHILE: row(
        "a function to bool, a function to the state, the state", is_.loops
    ),
    Ops.SCAN: row("a function, the carry, sequences", is_.arg(ScanArg), is_.scans),
    Ops.EXTERN: row("inputs; a name and result types", is_.arg(ExternArg)),
}
STATEMENTS: dict[Ops, Row] = {
    Ops.KERNEL: row(
        "statements; its interface",
        is_.arg(KernelArg),
        is_.statements_from(0),
        is_.interface,
    ),
    Ops.LOOP: row(
        "an extent, then statements",
        is_.arg(LoopArg),
        is_.loop_extent,
        is_.statements_from(1),
    ),
    Ops.WHEN: row(
        "a scalar bool, then statements",
        is_.condition_first,
        is_.statements_from(1),
    ),
    Ops.STAGE: row(
        "a size; id and scope",
        is_.arg(StageArg),
        is_.sources(1),
        is_.index_from(0),
        is_.stage_size,
    ),
    Ops.STORE: row("memory, offset, value of its type[, mask]", is_.stores),
    Ops.BARRIER: row("nothing", is_.sources(0)),
    Ops.FOLD: row(
        "an extent, n targets, n values, n combines", is_.arg(FoldArg), is_.folds
    ),
}
ACCESS: dict[Ops, Row] = {
    Ops.AXIS: row(
        "the number of a loop around it", is_.arg(AxisArg), is_.index_typed
    ),
    Ops.LOAD: row("memory, offset[, mask, else]", is_.loads),
}

_BASIC = row("iota, or an algorithm that is a kernel", is_.arg(OpArg), is_.basic)
PRIMITIVE = Spec(
    "primitive",
    {**LEAVES, **ELEMENTWISE, **MOVES, **GRAPH, **REGIONS, Ops.OP: _BASIC},
)
PROGRAM = Spec(
    "program",
    {
        **PRIMITIVE.rows,
        Ops.OP: row("a registered name", is_.arg(OpArg), is_.registered),
    },
)
KERNEL = Spec(
    "kernel", {**LEAVES, **ELEMENTWISE, **STATEMENTS, **ACCESS}, (tree_faults,)
)


# --- checking ---------------------------------------------------------------------------------------------------------


def verify(root: UOp, spec: Spec, stage: str = "") -> None:
    """Raises SpecError for the first node that breaks the level's rules."""
    for node, problem in spec.faults(root):
        raise SpecError(
            problem, stage=stage, rule=last_rule(node), around=around(root, node)
        )


def check(root: UOp, spec: Spec, stage: str = "") -> None:
    """`verify` at the border of a stage, if SPEC asks for it."""
    if settings.runtime.spec:
        verify(root, spec, stage)


def around(root: UOp, node: UOp, reach: int = 10) -> str:
    """The IR text round a node, which is marked."""
    place = nodes_of(root).index(node)
    marked = [
        f"{'>>> ' if k == place else '    '}{line}"
        for k, line in enumerate(lines(root))
    ]
    return "\n".join(marked[max(0, place - reach) : place + reach + 1])


def check_node(node: UOp) -> None:
    """One node by itself, at whatever level it belongs to."""
    levels = [level for level in (PROGRAM, KERNEL) if node.op in level.rows]
    problems = [level.problem(node) for level in levels]
    if problems and all(problems):
        raise SpecError(
            problems[0], rule=last_rule(node), around=around(node, node)
        )


def watch_construction(on: bool) -> None:
    """Checks every node as it is made, from now on, or no more."""
    provide(check=check_node if on else None)


def _first_node(node: UOp) -> None:
    """Reads the setting when the first node is made, then gets out of the way."""
    watch_construction(settings.runtime.spec >= 2)
    if settings.runtime.spec >= 2:
        check_node(node)


provide(check=_first_node)
