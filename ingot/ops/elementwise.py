"""Element by element, one opcode each. In: nodes and Python numbers. Out: opcodes over operands of one dtype and shape.

The opcodes do not broadcast and do not promote: the builders here write both out, so that later stages see every repeat
and every conversion. A Python number takes the tensor's type (see promotion.py). Functions of several opcodes are in
numeric.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ingot.errors import DTypeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Shape
from ingot.ops.movement import broadcast_shape, broadcast_to
from ingot.ops.op import primitive
from ingot.ops.promotion import Operand, floating, meet, of_number, promote, resolve
from ingot.ops.sample import (
    INF,
    NAN,
    SPECIAL,
    Recipe,
    Sample,
    bools,
    floats,
    ints,
    sample,
    values,
)

Unary = Callable[[UOp], UOp]
Binary = Callable[[Operand, Operand], UOp]

# --- operands -----------------------------------------------------------------------------------------------------


# `x + 1` needs five nodes for its 1; a loop that does so again and again finds them here.
_repeated: WeakValueDictionary[tuple[UOp, Shape], UOp] = WeakValueDictionary()


def constant(value: Scalar, dtype: DType, shape: Shape) -> UOp:
    """A number repeated to a shape."""
    number = UOp.const(dtype, value)
    if not shape:
        return number
    made = _repeated.get((number, shape))
    if made is None:
        made = _repeated[number, shape] = broadcast_to(number, shape)
    return made


def operands(name: str, a: Operand, b: Operand) -> tuple[UOp, UOp]:
    """Both operands in one dtype and one shape."""
    if isinstance(a, UOp) and isinstance(b, UOp):
        if a.dtype is b.dtype and a.shape == b.shape:
            return a, b
        dtype = promote(a.dtype, b.dtype)
        shape = broadcast_shape(name, a.shape, b.shape)
        return broadcast_to(a.cast(dtype), shape), broadcast_to(
            b.cast(dtype), shape
        )
    if isinstance(a, UOp):
        return _beside(name, a, b)
    if isinstance(b, UOp):
        right, left = _beside(name, b, a)
        return left, right
    return _beside(name, node_of(name, a), b)


def _beside(name: str, x: UOp, number: Operand) -> tuple[UOp, UOp]:
    """A tensor, and the number that takes its type and shape."""
    if not isinstance(number, bool | int | float):
        raise _not_an_operand(name, number)
    dtype = meet(x.dtype, number)
    return x.cast(dtype), constant(number, dtype, x.shape)


def node_of(name: str, value: Operand) -> UOp:
    """A tensor as it is; a number in the type that it has on its own."""
    if isinstance(value, UOp):
        return value
    if not isinstance(value, bool | int | float):
        raise _not_an_operand(name, value)
    return UOp.const(of_number(value), value)


def _not_an_operand(name: str, value: object) -> DTypeError:
    kind = "None" if value is None else type(value).__name__
    return DTypeError(
        f"{name}: an operand is {kind}; wanted a tensor or a number",
        fix=_OPERAND_FIXES.get(kind, "make a tensor of it with ig.tensor(...)"),
    )


_OPERAND_FIXES = {
    "None": "a variable was never set, or a function returned nothing",
    "str": "convert the word first: float(...) or int(...)",
    "UOp": "",
}


# --- conversions --------------------------------------------------------------------------------------------------


def astype(
    x: UOp, dtype: DType | str, *, copy: bool = True, device: str | None = None
) -> UOp:
    """The same values in another type; as bool, whether they differ from 0."""
    # Values are immutable and lie in one place, so `copy` and `device` change nothing.
    target = resolve(dtype)
    if target is dt.boolean and x.dtype is not dt.boolean:
        return x.ne(constant(0, x.dtype, x.shape))
    return x.cast(target)


def bitcast(x: UOp, dtype: DType | str) -> UOp:
    """The same bits read as another type of the same width."""
    target = resolve(dtype)
    if target.bits != x.dtype.bits:
        raise DTypeError(
            f"bitcast: {x.dtype} has {x.dtype.bits} bits and {target} has {target.bits}; wanted as many"
        )
    return x.bitcast(target)


def as_float(x: UOp) -> UOp:
    """Integers and booleans become floats."""
    return x.cast(floating(x.dtype))


primitive(
    "astype",
    astype,
    ref=lambda x, dtype: x.astype(dtype),
    samples=(
        sample(floats(5), dtype="int32"),
        sample(ints(5), dtype="float64"),
        sample(SPECIAL, dtype="bool"),
        sample(bools(4), dtype="float64"),
    ),
    bad_samples=((sample(floats(5), dtype="flt32"), "unknown dtype 'flt32'"),),
    aliases=("cast",),
)
primitive(
    "bitcast",
    bitcast,
    ref=lambda x, dtype: x.view(dtype),
    samples=(sample(SPECIAL, dtype="int64"), sample(ints(4), dtype="float64")),
    bad_samples=(
        (
            sample(floats(5), dtype="int8"),
            "bitcast: float64 has 64 bits and int8 has 8",
        ),
    ),
)

# --- one source ---------------------------------------------------------------------------------------------------


def _function(
    name: str,
    op: Ops,
    ref: Any,
    doc: str,
    *inputs: Recipe,
    ulp: float = 2,
    aliases: Sequence[str] = (),
) -> Unary:
    """A mathematical function: integers become floats first."""

    def build(x: UOp) -> UOp:
        return as_float(x).alu(op)

    build.__doc__ = doc
    primitive(
        name,
        build,
        ref=ref,
        samples=[sample(x) for x in inputs],
        ulp=ulp,
        aliases=aliases,
    )
    return build


def _rounding(name: str, op: Ops, ref: Any, doc: str) -> Unary:
    """Integers are whole already."""

    def build(x: UOp) -> UOp:
        return x.alu(op) if x.dtype.is_float else x

    build.__doc__ = doc
    primitive(
        name,
        build,
        ref=ref,
        samples=(sample(floats(3, 4)), sample(SPECIAL), sample(ints(4))),
        ulp=0,
    )
    return build


def negative(x: UOp) -> UOp:
    """-x."""
    if x.dtype is dt.boolean:
        raise DTypeError(
            "negative: x is bool; wanted numbers",
            fix="write logical_not(x), or convert with .astype('int64')",
        )
    return x.alu(Ops.NEG)


def logical_not(x: UOp) -> UOp:
    """Whether x is 0 or False."""
    return astype(x, dt.boolean).alu(Ops.NOT)


def bitwise_invert(x: UOp) -> UOp:
    """Every bit flipped."""
    if x.dtype.is_float:
        raise DTypeError(
            f"bitwise_invert: x is {x.dtype}; wanted integers or bool",
            fix="convert with .astype('int64')",
        )
    return x.alu(Ops.NOT)


_BAD_BOOL = sample(bools(3))
_BAD_FLOAT = sample(floats(3))
primitive(
    "negative",
    negative,
    ref=np.negative,
    samples=(sample(floats(3, 4)), sample(SPECIAL), sample(ints(4))),
    bad_samples=((_BAD_BOOL, "negative: x is bool; wanted numbers"),),
    aliases=("neg",),
    ulp=0,
)
primitive(
    "logical_not",
    logical_not,
    ref=np.logical_not,
    samples=(sample(bools(4)), sample(SPECIAL)),
)
primitive(
    "bitwise_invert",
    bitwise_invert,
    ref=np.invert,
    samples=(sample(ints(4)), sample(bools(3))),
    bad_samples=(
        (_BAD_FLOAT, "bitwise_invert: x is float64; wanted integers or bool"),
    ),
)

_POSITIVE = floats(3, 4, low=0.01, high=50)
reciprocal = _function(
    "reciprocal",
    Ops.RECIP,
    lambda x: 1 / x,
    "1 / x.",
    floats(3, 4),
    SPECIAL,
    ulp=0.5,
)
sqrt = _function(
    "sqrt", Ops.SQRT, np.sqrt, "The square root.", _POSITIVE, SPECIAL, ulp=0.5
)
exp = _function("exp", Ops.EXP, np.exp, "e to the power x.", floats(3, 4), SPECIAL)
exp2 = _function(
    "exp2", Ops.EXP2, np.exp2, "2 to the power x.", floats(3, 4), SPECIAL
)
log = _function(
    "log", Ops.LOG, np.log, "The natural logarithm.", _POSITIVE, SPECIAL
)
log2 = _function(
    "log2", Ops.LOG2, np.log2, "The logarithm to base 2.", _POSITIVE, SPECIAL
)
sin = _function(
    "sin",
    Ops.SIN,
    np.sin,
    "The sine of x in radians.",
    floats(3, 4),
    values(0.0, -0.0, INF, NAN),
)
tanh = _function(
    "tanh", Ops.TANH, np.tanh, "The hyperbolic tangent.", floats(3, 4), SPECIAL
)
erf = _function(
    "erf",
    Ops.ERF,
    np.vectorize(math.erf),
    "The error function.",
    floats(3, 4),
    SPECIAL,
)
floor = _rounding(
    "floor", Ops.FLOOR, np.floor, "The largest whole number that is not above x."
)
trunc = _rounding("trunc", Ops.TRUNC, np.trunc, "x without its fraction.")
round_ = _rounding(
    "round",
    Ops.ROUND,
    np.round,
    "The nearest whole number; halves go to the even one.",
)

# --- two sources --------------------------------------------------------------------------------------------------

_FLOATS = (
    *(
        sample(floats(3, 4), floats(3, 4)),
        sample(floats(3, 1), floats(4)),
        sample(floats(3), 2),
    ),
    *(
        sample(0.5, floats(3)),
        sample(floats(), floats(2, 0, 3)),
        sample(SPECIAL, floats(2, 1)),
    ),
)
_INTS = (
    sample(ints(3, 4), ints(4)),
    sample(ints(5), 3),
    sample(ints(4, dtype="int8"), ints(4, low=0, dtype="uint8")),
)
_BOOLS = (sample(bools(3, 4), bools(4)), sample(bools(4), True))
_CLASH = sample(floats(2, 3), floats(2, 4))
_INT_CLASH = sample(ints(2, 3), ints(2, 4))
_ON_BOOLS = {Ops.ADD: Ops.OR, Ops.MUL: Ops.AND, Ops.MAX: Ops.OR, Ops.MIN: Ops.AND}


def _clash(name: str, clash: Sample = _CLASH) -> tuple[Sample, str]:
    return (
        clash,
        f"{name}: shapes (2, 3) and (2, 4) do not broadcast: size 3 meets size 4",
    )


def _arithmetic(
    name: str,
    op: Ops,
    ref: Any,
    doc: str,
    *,
    aliases: Sequence[str] = (),
    ulp: float = 0.5,
) -> Binary:
    """Numbers of any kind; for booleans + and max are "or", * and min are "and"."""
    on_bools = _ON_BOOLS.get(op)

    def build(a: Operand, b: Operand) -> UOp:
        left, right = operands(name, a, b)
        if left.dtype is dt.boolean:
            return left.alu(_for_bools(name, on_bools), right)
        return UOp(op, left.dtype, (left, right))

    build.__doc__ = doc
    extra = _BOOLS if on_bools else ()
    bad = [_clash(name)]
    if on_bools is None:
        bad.append(
            (
                sample(bools(3), bools(3)),
                f"{name}: both operands are bool; wanted numbers",
            )
        )
    primitive(
        name,
        build,
        ref=ref,
        samples=_FLOATS + _INTS + extra,
        bad_samples=bad,
        aliases=aliases,
        ulp=ulp,
    )
    return build


def _for_bools(name: str, op: Ops | None) -> Ops:
    if op is None:
        raise DTypeError(
            f"{name}: both operands are bool; wanted numbers",
            fix="convert one with .astype('int64')",
        )
    return op


def divide(a: Operand, b: Operand) -> UOp:
    """a / b; integers become floats."""
    left, right = operands("divide", a, b)
    return as_float(left).alu(Ops.FDIV, as_float(right))


def _comparison(
    name: str, op: Ops, ref: Any, doc: str, *aliases: str, swap: bool = False
) -> Binary:
    def build(a: Operand, b: Operand) -> UOp:
        left, right = operands(name, a, b)
        return right.alu(op, left) if swap else left.alu(op, right)

    build.__doc__ = doc
    _declare_comparison(name, build, ref, aliases)
    return build


def _or_equal(
    name: str, ref: Any, doc: str, *aliases: str, swap: bool = False
) -> Binary:
    """For integers the negation of the opposite; a NaN is neither less nor equal, so floats need both questions."""

    def build(a: Operand, b: Operand) -> UOp:
        left, right = operands(name, a, b)
        small, large = (right, left) if swap else (left, right)
        if small.dtype.is_float:
            return (small < large) | small.eq(large)
        return (large < small).alu(Ops.NOT)

    build.__doc__ = doc
    _declare_comparison(name, build, ref, aliases)
    return build


def _declare_comparison(
    name: str, build: Binary, ref: Any, aliases: Sequence[str]
) -> None:
    close = (
        sample(SPECIAL, SPECIAL),
        sample(SPECIAL, 1.0),
        sample(ints(6, low=0, high=3), ints(6, low=0, high=3)),
    )
    primitive(
        name,
        build,
        ref=ref,
        samples=_FLOATS + _INTS + close,
        bad_samples=[_clash(name)],
        aliases=aliases,
    )


def _bitwise(
    name: str, op: Ops, ref: Any, doc: str, *, shift: bool = False
) -> Binary:
    def build(a: Operand, b: Operand) -> UOp:
        left, right = operands(name, a, b)
        if left.dtype.is_float or (shift and left.dtype is dt.boolean):
            wanted = "integers" if shift else "integers or bool"
            raise DTypeError(
                f"{name}: operands are {left.dtype}; wanted {wanted}",
                fix="convert with .astype('int64')",
            )
        return left.alu(op, right)

    build.__doc__ = doc
    few = (sample(ints(3, 4), ints(4, low=0, high=9)), sample(ints(5), 3))
    bad = (
        _clash(name, _INT_CLASH),
        (
            sample(floats(3), floats(3)),
            f"{name}: operands are float64; wanted integers",
        ),
    )
    primitive(
        name,
        build,
        ref=ref,
        samples=few if shift else few + _BOOLS,
        bad_samples=bad,
    )
    return build


def _logical(name: str, op: Ops, ref: Any, doc: str) -> Binary:
    def build(a: Operand, b: Operand) -> UOp:
        left, right = operands(name, a, b)
        return astype(left, dt.boolean).alu(op, astype(right, dt.boolean))

    build.__doc__ = doc
    primitive(
        name,
        build,
        ref=ref,
        samples=(*_BOOLS, sample(ints(4), floats(4))),
        bad_samples=[_clash(name)],
    )
    return build


def _quotient(a: Any, b: Any) -> Any:
    return np.true_divide(a, b)


add = _arithmetic("add", Ops.ADD, np.add, "a + b.")
subtract = _arithmetic("subtract", Ops.SUB, np.subtract, "a - b.", aliases=("sub",))
multiply = _arithmetic("multiply", Ops.MUL, np.multiply, "a * b.", aliases=("mul",))
maximum = _arithmetic(
    "maximum",
    Ops.MAX,
    np.maximum,
    "The larger of a and b; NaN if either is.",
    ulp=0,
)
minimum = _arithmetic(
    "minimum",
    Ops.MIN,
    np.minimum,
    "The smaller of a and b; NaN if either is.",
    ulp=0,
)
primitive(
    "divide",
    divide,
    ref=_quotient,
    samples=_FLOATS,
    bad_samples=[_clash("divide")],
    aliases=("div",),
)
equal = _comparison("equal", Ops.CMPEQ, np.equal, "a == b.", "eq")
not_equal = _comparison("not_equal", Ops.CMPNE, np.not_equal, "a != b.", "ne")
less = _comparison("less", Ops.CMPLT, np.less, "a < b.", "lt")
greater = _comparison("greater", Ops.CMPLT, np.greater, "a > b.", "gt", swap=True)
less_equal = _or_equal("less_equal", np.less_equal, "a <= b.", "le")
greater_equal = _or_equal(
    "greater_equal", np.greater_equal, "a >= b.", "ge", swap=True
)
logical_and = _logical(
    "logical_and", Ops.AND, np.logical_and, "Whether both differ from 0."
)
logical_or = _logical(
    "logical_or", Ops.OR, np.logical_or, "Whether one differs from 0."
)
logical_xor = _logical(
    "logical_xor", Ops.XOR, np.logical_xor, "Whether exactly one differs from 0."
)
bitwise_and = _bitwise(
    "bitwise_and", Ops.AND, np.bitwise_and, "The bits that both have."
)
bitwise_or = _bitwise("bitwise_or", Ops.OR, np.bitwise_or, "The bits that one has.")
bitwise_xor = _bitwise(
    "bitwise_xor", Ops.XOR, np.bitwise_xor, "The bits that exactly one has."
)
bitwise_left_shift = _bitwise(
    "bitwise_left_shift", Ops.SHL, np.left_shift, "a moved b bits up.", shift=True
)
bitwise_right_shift = _bitwise(
    "bitwise_right_shift",
    Ops.SHR,
    np.right_shift,
    "a moved b bits down.",
    shift=True,
)

# --- three sources ------------------------------------------------------------------------------------------------


def where(condition: UOp, yes: Operand, no: Operand) -> UOp:
    """`yes` where the condition holds, else `no`."""
    left, right = operands("where", yes, no)
    shape = broadcast_shape("where", condition.shape, left.shape)
    question = broadcast_to(astype(condition, dt.boolean), shape)
    return question.where(broadcast_to(left, shape), broadcast_to(right, shape))


primitive(
    "where",
    where,
    ref=np.where,
    samples=(
        sample(bools(3, 4), floats(3, 4), floats(4)),
        sample(bools(4), floats(3, 1), 0.0),
        sample(bools(4), 1.0, floats(3, 1)),
        sample(ints(4, low=0, high=2), ints(4), ints(4)),
    ),
    bad_samples=(
        (
            sample(bools(5), floats(3, 4), 0.0),
            "where: shapes (5,) and (3, 4) do not broadcast",
        ),
    ),
)
