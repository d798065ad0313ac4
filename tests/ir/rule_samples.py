"""Random instances of rewrite rules. In: a rule. Out: nodes that it may match, and values for their leaves.

Variables become parameters, variables with bounds, loop counters and constants; constants take edge values: nan, inf,
-0.0, extremes. Both sides of the rule are interpreted on random values, and must agree to the bit of every zero.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    BINARY,
    CASTS,
    COMPARE,
    TERNARY,
    UNARY,
    AxisArg,
    ConstArg,
    Ops,
    ParamArg,
    VarArg,
)
from ingot.ir.pattern import Order, Rule, UPat
from ingot.ir.rewrite import substitute
from ingot.ir.text import expr_text

VALUES = tuple(d for d in dt.ALL if d is not dt.void)
FLOATS = tuple(d for d in VALUES if d.is_float)
INTS = tuple(d for d in VALUES if d.is_int)
_FLOAT_ONLY = {
    Ops.RECIP,
    Ops.SQRT,
    Ops.FDIV,
    Ops.EXP,
    Ops.EXP2,
    Ops.LOG,
    Ops.LOG2,
    Ops.SIN,
    Ops.TANH,
    Ops.ERF,
}
_BITS = {Ops.AND, Ops.OR, Ops.XOR, Ops.NOT}
_SHIFTS = {Ops.SHL, Ops.SHR}


def types_of(op: Ops) -> tuple[DType, ...]:
    """The source types that an elementwise opcode takes."""
    if op in _FLOAT_ONLY:
        return FLOATS
    if op in _SHIFTS:
        return INTS
    if op in _BITS:
        return (*INTS, dt.boolean)
    if op in (Ops.IDIV, Ops.MOD, Ops.POW):
        return INTS
    return VALUES if op in CASTS | COMPARE | {Ops.WHERE} else (*FLOATS, *INTS)


class Sampler:
    """Makes one instance of a pattern after another."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    # --- leaves ---------------------------------------------------------------------------------------------------

    def number(self, dtype: DType) -> Scalar:
        if dtype is dt.boolean:
            return self.random.random() < 0.5
        if dtype.is_float:
            edge = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                math.inf,
                -math.inf,
                math.nan,
                0.5,
                3.0,
                1e-40,
                65504.0,
                2.0**-24,
                1e38,
            ]
            return self.random.choice(
                [*edge, self.random.uniform(-4, 4), self.random.gauss(0, 1e3)]
            )
        if dtype is dt.index:
            return self.random.choice(
                [0, 1, 2, 3, 4, 6, 8, 12, 16, -1, -4, self.random.randint(-40, 40)]
            )
        low, high = int(dt.least(dtype)), int(dt.greatest(dtype))
        return self.random.choice(
            [
                0,
                1,
                2,
                3,
                7,
                low,
                high,
                low + 1,
                high - 1,
                self.random.randint(low, high),
            ]
        )

    def constant(self, dtype: DType) -> UOp:
        return UOp.const(dtype, self.number(dtype))

    def leaf(self, dtype: DType) -> UOp:
        self.count += 1
        kind = self.random.random()
        if kind < 0.15:
            return self.constant(dtype)
        if dtype is dt.index:
            return self.index_leaf(kind)
        if dtype.is_int and kind < 0.5:
            return UOp.variable(f"v{self.count}", *self.narrow(dtype), dtype=dtype)
        return UOp(Ops.PARAM, dtype, (), ParamArg(self.count))

    def narrow(self, dtype: DType) -> tuple[int, int]:
        low = max(int(self.number(dtype)), int(dt.least(dtype)))
        return low, min(
            low + self.random.choice([0, 1, 5, 100]), int(dt.greatest(dtype))
        )

    def index_leaf(self, kind: float) -> UOp:
        """Variables and loop counters, now and then in a sum, a division or a minimum."""
        self.count += 1
        low = self.random.choice([0, 0, 0, 1, -7])
        variable = UOp.variable(
            f"v{self.count}", low, low + self.random.choice([0, 3, 15, 100])
        )
        if kind < 0.5:
            return variable
        if kind < 0.7:
            size = (
                UOp.variable(f"n{self.count}", 1, 20)
                if kind < 0.6
                else UOp.const(dt.index, 8)
            )
            return UOp.axis(self.count, extent=size)
        other = self.index_leaf(self.random.random() * 0.7)
        step = self.random.choice([2, 3, 4, 16])
        makes = (
            variable * step + other,
            variable // step,
            other % step,
            variable - other,
            variable.minimum(other),
        )
        return self.random.choice(makes)

    # --- nodes ----------------------------------------------------------------------------------------------------

    def instance(self, rule: Rule) -> UOp:
        """A node shaped like the left side of a rule."""
        main = self.main_type(rule.pattern)
        return self.node(rule.pattern, main, {})

    def main_type(self, pattern: UPat) -> DType:
        """One type that all the typed parts of a pattern accept."""
        sets = [s for s in _type_sets(pattern) if s != {dt.boolean}]
        common = set(VALUES).intersection(*sets) if sets else set(VALUES)
        if not sets and any(_type_sets(pattern)):
            common = {dt.boolean} if not _free_variables(pattern) else set(VALUES)
        return self.random.choice(sorted(common, key=lambda d: d.name))

    def node(self, p: UPat, dtype: DType, names: dict[str, UOp]) -> UOp:
        if p.choices:
            return self.node(self.random.choice(p.choices), dtype, names)
        if p.name is not None and p.name in names:
            return names[p.name]
        made = self.made(p, self.pick(p, dtype), names)
        if p.name is not None:
            names[p.name] = made
        return made

    def pick(self, p: UPat, dtype: DType) -> DType:
        if p.dtype is None or dtype in p.dtype:
            return dtype
        return self.random.choice(sorted(p.dtype, key=lambda d: d.name))

    def made(self, p: UPat, dtype: DType, names: dict[str, UOp]) -> UOp:
        if p.literal is not None:
            return UOp.const(dtype, p.literal)
        if p.op is None:
            return self.leaf(dtype)
        op = self.random.choice(sorted(p.op))
        if op is Ops.CONST:
            return self.constant(dtype)
        if p.src is None or p.order is Order.EVERY:
            return self.free_node(op, p)
        return self.with_sources(op, p, dtype, names)

    def with_sources(
        self, op: Ops, p: UPat, dtype: DType, names: dict[str, UOp]
    ) -> UOp:
        assert p.src is not None
        inner = self.source_type(op, p, dtype)
        src = [
            self.node(s, dt.boolean if op is Ops.WHERE and k == 0 else inner, names)
            for k, s in enumerate(p.src)
        ]
        if p.order is Order.ANY and self.random.random() < 0.5:
            src.reverse()
        return UOp(
            op, _result_type(op, src, self.cast_type(op, dtype, src)), tuple(src)
        )

    def source_type(self, op: Ops, p: UPat, dtype: DType) -> DType:
        if op in CASTS:
            return self.random.choice(VALUES)
        if op in COMPARE and dtype is dt.boolean:
            sets = [s for s in _type_sets(p) if s]
            options = set(VALUES).intersection(*sets) if sets else set(VALUES)
            return self.random.choice(sorted(options, key=lambda d: d.name))
        return dtype

    def cast_type(self, op: Ops, dtype: DType, src: list[UOp]) -> DType:
        if op is Ops.BITCAST:
            return self.random.choice(
                [
                    d
                    for d in VALUES
                    if d.bits == src[0].dtype.bits and d is not dt.boolean
                ]
            )
        return self.random.choice(VALUES) if op is Ops.CAST else dtype

    def free_node(self, op: Ops, p: UPat) -> UOp:
        """An opcode over sources of its own choice: constants if the pattern says so."""
        wanted = [
            d
            for d in types_of(op)
            if p.dtype is None or op in CASTS | COMPARE or d in p.dtype
        ]
        dtype = self.random.choice(wanted)
        count = 1 if op in UNARY | CASTS else 3 if op in TERNARY else 2
        make = self.constant if p.src is not None else self.leaf
        kinds = [
            dt.boolean if op is Ops.WHERE and k == 0 else dtype
            for k in range(count)
        ]
        src = [make(kind) for kind in kinds]
        result = self.cast_type(op, dtype, src)
        return UOp(op, _result_type(op, src, result), tuple(src))

    # --- values ---------------------------------------------------------------------------------------------------

    def values(
        self, nodes: list[UOp]
    ) -> tuple[dict[UOp, Any], dict[str, int], dict[UOp, UOp]]:
        """Values of parameters, of variables by name, and constants in place of loop counters."""
        params: dict[UOp, Any] = {}
        sizes: dict[str, int] = {}
        counters: dict[UOp, UOp] = {}
        for node in nodes:
            if node.op is Ops.PARAM:
                bits = np.array(
                    dt.to_bits(node.dtype, self.number(node.dtype)),
                    f"u{node.dtype.itemsize}",
                )
                params[node] = bits.view(dt.to_numpy(node.dtype))
            elif node.op is Ops.DEFINE_VAR:
                assert isinstance(node.arg, VarArg)
                sizes[node.arg.name] = self.between(node.arg.lo, node.arg.hi)
        for node in nodes:
            if node.op is Ops.AXIS:
                assert isinstance(node.arg, AxisArg)
                extent = int(interpret(node.src[0], sizes=sizes))
                counters[node] = UOp.const(dt.index, self.between(0, extent - 1))
        return params, sizes, counters

    def between(self, low: int, high: int) -> int:
        return self.random.choice([low, high, self.random.randint(low, high)])


def _type_sets(p: UPat) -> list[set[DType]]:
    own = (
        [set(p.dtype)]
        if p.dtype is not None and (p.op is None or p.src is None)
        else []
    )
    return own + [found for s in p.src or () for found in _type_sets(s)]


def _free_variables(p: UPat) -> bool:
    if p.src is None:
        return p.dtype is None and p.literal is None
    return any(_free_variables(s) for s in p.src)


def _result_type(op: Ops, src: list[UOp], asked: DType) -> DType:
    if op in COMPARE:
        return dt.boolean
    if op in CASTS:
        return asked
    return src[1].dtype if op is Ops.WHERE else src[0].dtype


def well_typed(root: UOp) -> bool:
    """The sampler may mix types that a rule never meets."""
    for node in root.toposort():
        if (
            node.op in BINARY | {Ops.MULACC}
            and len({s.dtype for s in node.src}) > 1
        ):
            return False
        if node.op in UNARY | BINARY and node.src[0].dtype not in types_of(node.op):
            return False
        if node.op is Ops.WHERE and (
            node.src[0].dtype is not dt.boolean
            or node.src[1].dtype is not node.src[2].dtype
        ):
            return False
    return True


def same(a: Any, b: Any, dtype: DType) -> bool:
    """Equal, or both nan; zeros have a sign."""
    if dtype is dt.bfloat16:
        a, b = (UOp(Ops.CONST, dtype, (), ConstArg(int(v))).value for v in (a, b))
    elif dtype.is_float:
        a, b = float(a), float(b)
    if dtype.is_float:
        return (a != a and b != b) or (
            a == b and math.copysign(1, a) == math.copysign(1, b)
        )
    return bool(a == b)


def disagreement(sampler: Sampler, left: UOp, right: UOp, tries: int = 12) -> str:
    """Values on which two expressions differ, "" if none was found."""
    if left.dtype is not right.dtype or left.shape != right.shape:
        return f"{left.dtype}{left.shape} became {right.dtype}{right.shape}"
    nodes = list({**left.toposort(), **right.toposort()})
    for _ in range(tries):
        params, sizes, counters = sampler.values(nodes)
        before = interpret(substitute(left, counters), params, sizes=sizes)
        after = interpret(substitute(right, counters), params, sizes=sizes)
        if not same(before, after, left.dtype):
            return f"{before} became {after} with {params} {sizes} {counters}\n{expr_text(left)}\n{expr_text(right)}"
    return ""
