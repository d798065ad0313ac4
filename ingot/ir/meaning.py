"""What each elementwise opcode computes, in NumPy: the definition. In: an opcode, types and values. Out: the value.

Values are NumPy scalars or arrays (of `index` also Python ints). bfloat16, which NumPy lacks, is held as float32 and
rounded after every step. Integers wrap; x // 0 and x % 0 are 0; shifts by the width or more give 0 (or the sign).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind, Scalar
from ingot.ir.opcode import COMPARE, Ops

Value = Any  # a NumPy scalar or array, or a Python int for `index`
Function = Callable[..., Value]


def held(dtype: DType) -> np.dtype[np.generic]:
    """The NumPy type that values of `dtype` are computed in."""
    return np.dtype(np.float32) if dtype is dt.bfloat16 else dt.to_numpy(dtype)


def load(dtype: DType, stored: Value) -> Value:
    """Values from memory."""
    if dtype is not dt.bfloat16:
        return stored
    return (np.asarray(stored).astype(np.uint32) << np.uint32(16)).view(np.float32)[
        ()
    ]


def store(dtype: DType, value: Value) -> Value:
    """Values as they lie in memory."""
    if dtype is not dt.bfloat16:
        return value
    return (np.asarray(value, np.float32).view(np.uint32) >> np.uint32(16)).astype(
        np.uint16
    )[()]


def constant(dtype: DType, value: Scalar) -> Value:
    """A CONST as a value."""
    if dtype is dt.index:
        return int(value)
    return held(dtype).type(value)


def round_bfloat16(value: Value) -> Value:
    """The nearest bfloat16, ties to even, as float32."""
    bits = np.asarray(value, np.float32).view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = (bits + np.uint32(0x7FFF) + even) & np.uint32(0xFFFF0000)
    quiet = (bits | np.uint32(0x400000)) & np.uint32(0xFFFF0000)
    return (
        np.where(np.isnan(value), quiet, rounded)
        .astype(np.uint32)
        .view(np.float32)[()]
    )


def apply(op: Ops, dtype: DType, source: DType, *values: Value) -> Value:
    """One elementwise opcode: `dtype` is the node's type, `source` that of its first source."""
    return function(op, dtype, source)(*values)


def function(op: Ops, dtype: DType, source: DType) -> Function:
    """The function of an opcode for these types."""
    key = (op, dtype, source)
    if key not in _cache:
        _cache[key] = _choose(op, dtype, source)
    return _cache[key]


_cache: dict[tuple[Ops, DType, DType], Function] = {}


def _choose(op: Ops, dtype: DType, source: DType) -> Function:
    if op is Ops.CAST:
        return lambda x: cast(x, source, dtype)
    if op is Ops.BITCAST:
        return lambda x: bitcast(x, source, dtype)
    if op is Ops.MULACC:
        return lambda a, b, c: mulacc(dtype, a, b, c)
    if op is Ops.WHERE:
        return _where
    plain = _by_kind(op, source)
    if op in COMPARE:
        return plain
    if dtype is dt.bfloat16:
        return lambda *values: round_bfloat16(plain(*values))
    if dtype is dt.index or op in _KEEPS_TYPE:
        return plain
    kind = held(dtype)
    return lambda *values: _typed(plain(*values), kind)


def _typed(value: Value, kind: np.dtype[np.generic]) -> Value:
    """NumPy widens some results; the IR does not."""
    return value if value.dtype == kind else np.asarray(value).astype(kind)[()]


def _by_kind(op: Ops, dtype: DType) -> Function:
    if dtype.is_float:
        return _FLOAT[op]
    if dtype is dt.boolean:
        return _BOOL.get(op) or _INT[op]
    if op is Ops.SHL or op is Ops.SHR:
        return _shift(op, dtype)
    return _INT[op]


def _where(cond: Value, yes: Value, no: Value) -> Value:
    if isinstance(cond, bool | np.bool_):
        return yes if cond else no
    return np.where(cond, yes, no)


# --- integers ---------------------------------------------------------------------------------------------------------


def _floor_divide(a: Value, b: Value) -> Value:
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b else 0
    a, b = np.asarray(a), np.asarray(b)
    safe = np.where(b == 0, b.dtype.type(1), b)
    return np.where(b == 0, a.dtype.type(0), np.floor_divide(a, safe))[()]


def _modulo(a: Value, b: Value) -> Value:
    if isinstance(a, int) and isinstance(b, int):
        return a % b if b else 0
    a, b = np.asarray(a), np.asarray(b)
    safe = np.where(b == 0, b.dtype.type(1), b)
    return np.where(b == 0, a.dtype.type(0), np.remainder(a, safe))[()]


def _shift(op: Ops, dtype: DType) -> Function:
    """Shifts by the width or more (a negative amount counts as huge) leave nothing but the sign."""
    width = dtype.bits
    top = width - 1
    kind = held(dtype).type
    move = np.left_shift if op is Ops.SHL else np.right_shift

    def shift(a: Value, b: Value) -> Value:
        a, b = np.asarray(a, kind), np.asarray(b, kind)
        inside = (b >= 0) & (b < width)
        moved = move(a, np.where(inside, b, kind(0)))
        signed = op is Ops.SHR and dtype.kind is Kind.INT
        rest = np.right_shift(a, kind(top)) if signed else kind(0)
        return np.where(inside, moved, rest).astype(kind)[()]

    return shift


def _max_int(a: Value, b: Value) -> Value:
    return (
        max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b)
    )


def _min_int(a: Value, b: Value) -> Value:
    return (
        min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)
    )


def _power_int(a: Value, b: Value) -> Value:
    """Integer powers wrap; a negative exponent gives the truncated quotient."""
    a, b = np.asarray(a), np.asarray(b)
    raised = np.power(a, np.where(b < 0, b.dtype.type(0), b))
    inverse = np.where(a == 1, a.dtype.type(1), a.dtype.type(0))
    if a.dtype.kind == "i":
        inverse = np.where(
            a == -1,
            np.where(b % 2 == 0, a.dtype.type(1), a.dtype.type(-1)),
            inverse,
        )
    return np.where(b < 0, inverse, raised)[()]


_COMPARISONS: dict[Ops, Function] = {
    Ops.CMPLT: operator.lt,
    Ops.CMPEQ: operator.eq,
    Ops.CMPNE: operator.ne,
}
_KEEPS_TYPE = frozenset(
    {
        Ops.AND,
        Ops.OR,
        Ops.XOR,
        Ops.NOT,
        Ops.MAX,
        Ops.MIN,
        Ops.IDIV,
        Ops.MOD,
        Ops.SHL,
        Ops.SHR,
    }
)

_INT: dict[Ops, Function] = _COMPARISONS | {
    Ops.NEG: operator.neg,
    Ops.NOT: operator.invert,
    Ops.ADD: operator.add,
    Ops.SUB: operator.sub,
    Ops.MUL: operator.mul,
    Ops.IDIV: _floor_divide,
    Ops.MOD: _modulo,
    Ops.MAX: _max_int,
    Ops.MIN: _min_int,
    Ops.POW: _power_int,
    Ops.AND: operator.and_,
    Ops.OR: operator.or_,
    Ops.XOR: operator.xor,
    Ops.FLOOR: operator.pos,
    Ops.TRUNC: operator.pos,
    Ops.ROUND: operator.pos,
}
_BOOL: dict[Ops, Function] = _COMPARISONS | {
    Ops.NOT: np.logical_not,
    Ops.AND: operator.and_,
    Ops.OR: operator.or_,
    Ops.XOR: operator.xor,
    Ops.ADD: operator.or_,
    Ops.MUL: operator.and_,
    Ops.MAX: operator.or_,
    Ops.MIN: operator.and_,
    Ops.CMPLT: lambda a, b: np.logical_not(a) & b,
}


# --- floats -----------------------------------------------------------------------------------------------------------


def _erf(x: Value) -> Value:
    values = np.asarray(x, np.float64)
    return np.vectorize(math.erf, otypes=[np.float64])(values)[()]


def _log2(x: Value) -> Value:
    return np.log2(x)


def _float_modulo(a: Value, b: Value) -> Value:
    return np.remainder(a, b)


_FLOAT: dict[Ops, Function] = _COMPARISONS | {
    Ops.NEG: operator.neg,
    Ops.RECIP: lambda x: x.dtype.type(1) / x,
    Ops.SQRT: np.sqrt,
    Ops.EXP: np.exp,
    Ops.EXP2: np.exp2,
    Ops.LOG: np.log,
    Ops.LOG2: _log2,
    Ops.SIN: np.sin,
    Ops.COS: np.cos,
    Ops.TANH: np.tanh,
    Ops.ERF: _erf,
    Ops.FLOOR: np.floor,
    Ops.TRUNC: np.trunc,
    Ops.ROUND: np.rint,
    Ops.ADD: operator.add,
    Ops.SUB: operator.sub,
    Ops.MUL: operator.mul,
    Ops.FDIV: operator.truediv,
    Ops.IDIV: np.floor_divide,
    Ops.MOD: _float_modulo,
    Ops.MAX: np.maximum,
    Ops.MIN: np.minimum,
    Ops.POW: np.power,
}


# --- multiply and add, rounded once -----------------------------------------------------------------------------------


def mulacc(dtype: DType, a: Value, b: Value, c: Value) -> Value:
    """fma(a, b, c): one rounding. Integers wrap."""
    if not dtype.is_float:
        return a * b + c
    if dtype is dt.float64:
        return _each(_exact_float64, a, b, c)
    if (
        dtype is not dt.bfloat16
        and isinstance(a, np.floating)
        and isinstance(b, np.floating)
    ):
        if isinstance(c, np.floating):
            return held(dtype).type(
                _odd_sum_of_numbers(float(a) * float(b), float(c))
            )
    wide = _odd_sum(np.multiply(a, b, dtype=np.float64), np.asarray(c, np.float64))
    if dtype is dt.bfloat16:
        return _narrow_bfloat16(wide)
    return wide.astype(held(dtype))[()]


def _odd_sum(p: Value, c: Value) -> Value:
    """p + c rounded to odd, so that a second rounding to fewer bits is right."""
    total = p + c
    part = total - p
    error = (p - (total - part)) + (c - part)
    bits = np.asarray(total).view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & ((bits & 1) == 0)
    outward = (error > 0) == (total > 0)
    step = np.where(outward, np.int64(1), np.int64(-1))
    return np.where(inexact, bits + step, bits).astype(np.int64).view(np.float64)


def _odd_sum_of_numbers(p: float, c: float) -> float:
    """The same for two numbers, without arrays."""
    total = p + c
    part = total - p
    error = (p - (total - part)) + (c - part)
    if error == 0 or not math.isfinite(total):
        return total
    mantissa = int(math.ldexp(math.frexp(total)[0], 53))
    return (
        total
        if mantissa & 1
        else math.nextafter(total, math.inf if error > 0 else -math.inf)
    )


def _narrow_bfloat16(wide: Value) -> Value:
    """float64 to bfloat16 with one rounding: to float32 rounded to odd, then to bfloat16."""
    near = wide.astype(np.float32)
    back = near.astype(np.float64)
    bits = np.asarray(near).view(np.int32)
    inexact = np.isfinite(near) & (back != wide) & ((bits & 1) == 0)
    outward = np.abs(wide) > np.abs(back)
    odd = np.where(
        inexact, bits + np.where(outward, np.int32(1), np.int32(-1)), bits
    )
    return round_bfloat16(odd.astype(np.int32).view(np.float32))


def _each(
    function: Callable[[float, float, float], float], *values: Value
) -> Value:
    return np.vectorize(function, otypes=[np.float64])(*values)[()]


def _exact_float64(a: float, b: float, c: float) -> float:
    """As a fraction of integers, whose division Python rounds once."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    (an, ad), (bn, bd), (cn, cd) = (float(v).as_integer_ratio() for v in (a, b, c))
    over = an * bn * cd + cn * ad * bd
    if over == 0:
        return _zero_sum(a, b, c)
    try:
        return over / (ad * bd * cd)
    except OverflowError:
        return math.inf if over > 0 else -math.inf


def _zero_sum(a: float, b: float, c: float) -> float:
    """The sign of an exact zero: that of both addends if they agree, else plus."""
    product_sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    same = product_sign == math.copysign(1.0, c)
    exact_cancel = a != 0 and b != 0
    return math.copysign(0.0, c) if same and not exact_cancel else 0.0


# --- conversions ------------------------------------------------------------------------------------------------------


def cast(x: Value, source: DType, target: DType) -> Value:
    """A value in another type: floats round to nearest even; floats to integers truncate and saturate, nan gives 0."""
    if target is source:
        return x
    if target is dt.boolean:
        return np.not_equal(x, 0)
    if target is dt.bfloat16:
        return _to_bfloat16(x, source)
    if source.is_float and target.is_int:
        return _float_to_int(x, target)
    made = np.asarray(x).astype(held(target))[()]
    return int(made) if target is dt.index and np.ndim(made) == 0 else made


def _to_bfloat16(x: Value, source: DType) -> Value:
    if source is dt.float64 or (source.bits > 16 and source.is_int):
        return _narrow_bfloat16(_to_odd_float64(x))
    return round_bfloat16(np.asarray(x).astype(np.float32))


def _to_odd_float64(x: Value) -> Value:
    """Integers above 2**53 lose bits in float64; a bfloat16 cannot tell as long as something odd is left."""
    values = np.asarray(x)
    wide = values.astype(np.float64)
    if values.dtype.itemsize < 8 or values.dtype.kind == "f":
        return wide
    return np.vectorize(_odd_from_int, otypes=[np.float64])(values)


def _odd_from_int(value: int) -> float:
    value = int(value)
    magnitude = abs(value)
    drop = max(0, magnitude.bit_length() - 53)
    lost = magnitude & ((1 << drop) - 1)
    kept = magnitude >> drop
    odd = kept | (1 if lost else 0)
    return math.copysign(float(odd << drop), value)


def _float_to_int(x: Value, target: DType) -> Value:
    lo, hi = int(dt.least(target)), int(dt.greatest(target))
    values = np.trunc(np.asarray(x, np.float64))
    kind = held(target).type
    inside = (values >= lo) & (values <= hi)
    if target.bits == 64:
        inside &= values < float(hi)
    safe = np.where(inside, values, 0.0).astype(kind)
    over = np.where(values > 0, kind(hi), np.where(values < 0, kind(lo), kind(0)))
    made = np.where(inside, safe, over)[()]
    return int(made) if target is dt.index and np.ndim(made) == 0 else made


def bitcast(x: Value, source: DType, target: DType) -> Value:
    """The same bits read as another type of the same width."""
    stored = np.asarray(store(source, np.asarray(x, held(source))))
    return load(target, stored.view(dt.to_numpy(target))[()])
