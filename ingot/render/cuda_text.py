"""How CUDA C spells types, constants and operations. In: opcodes, types and operand texts. Out: one expression's text.

Arithmetic is compiled with contraction off: `a * b + c` is two roundings, and MULACC is the only fused one. float16 and
bfloat16 are 16 bits of storage: arithmetic on them was decomposed into float32 before.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.node import UOp
from ingot.ir.opcode import ConstArg, Ops

TYPES: dict[DType, str] = {
    dt.boolean: "bool",
    dt.int8: "signed char",
    dt.int16: "short",
    dt.int32: "int",
    dt.int64: "long long",
    dt.uint8: "unsigned char",
    dt.uint16: "unsigned short",
    dt.uint32: "unsigned int",
    dt.uint64: "unsigned long long",
    dt.float16: "unsigned short",
    dt.bfloat16: "unsigned short",
    dt.float32: "float",
    dt.float64: "double",
    dt.index: "long long",
}

PRELUDE = """\
template <class T, class F> static __device__ __forceinline__ T bits_as(F from) {
    static_assert(sizeof(T) == sizeof(F), "the same number of bits");
    union { F from; T to; } both;
    both.from = from;
    return both.to;
}
template <class T, int N> struct __align__(sizeof(T) * N) pack { T v[N]; };
template <int BYTES> struct word;
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned int type; };
template <> struct word<8> { typedef uint2 type; };
template <> struct word<16> { typedef uint4 type; };
template <int N, class T> static __device__ __forceinline__ pack<T, N> get(const T* p) {
    return bits_as<pack<T, N>>(*reinterpret_cast<const typename word<sizeof(T) * N>::type*>(p));
}
template <int N, class T> static __device__ __forceinline__ void put(T* p, const pack<T, N>& value) {
    typedef typename word<sizeof(T) * N>::type whole;
    *reinterpret_cast<whole*>(p) = bits_as<whole>(value);
}
template <int N, class T> static __device__ __forceinline__ void put_global(T* p, const pack<T, N>& value) {
    typedef typename word<sizeof(T) * N>::type whole;
    __stcg(reinterpret_cast<whole*>(p), bits_as<whole>(value));  // an ordinary vector store may be split into four
}
static __device__ __forceinline__ float most(float a, float b) {
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
static __device__ __forceinline__ float least(float a, float b) {
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
static __device__ __forceinline__ double most(double a, double b) { return a != a || a > b ? a : b; }
static __device__ __forceinline__ double least(double a, double b) { return a != a || a < b ? a : b; }
template <class T> static __device__ __forceinline__ T most(T a, T b) { return a > b ? a : b; }
template <class T> static __device__ __forceinline__ T least(T a, T b) { return a < b ? a : b; }
template <class T> static __device__ __forceinline__ T quotient(T a, T b) {
    if (b == 0) return 0;
    T q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
template <class T> static __device__ __forceinline__ T remainder_of(T a, T b) {
    if (b == 0) return 0;
    T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static __device__ __forceinline__ float half_to_float(unsigned short h) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(h));
    return r;
}
static __device__ __forceinline__ unsigned short float_to_half(float f) {
    unsigned short r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(f));
    return r;
}
"""


def constant(node: UOp) -> str:
    """A CONST, exactly."""
    if node.dtype in (dt.float16, dt.bfloat16):
        return f"(unsigned short){_bits(node)}"
    if node.dtype.is_float:
        return _float(node)
    if node.dtype is dt.boolean:
        return "true" if node.value else "false"
    return _integer(node.dtype, int(node.value))


def _bits(node: UOp) -> int:
    assert isinstance(node.arg, ConstArg)
    return node.arg.bits


def _float(node: UOp) -> str:
    value = float(node.value)
    if not math.isfinite(value):
        suffix = "u" if node.dtype is dt.float32 else "ull"
        return f"bits_as<{TYPES[node.dtype]}>({_bits(node):#x}{suffix})"
    if node.dtype is dt.float32:
        return _signed(f"{np.float32(value)!s}f")
    return _signed(repr(value))


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _integer(dtype: DType, value: int) -> str:
    if dtype is dt.index or dtype.bits <= 32:
        small = -(1 << 31) < value < (1 << 31)
        text = str(value) if small or dtype is not dt.index else f"{value}LL"
        return _signed(text if dtype.kind is Kind.INT else f"{text}u")
    if value == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    return _signed(f"{value}LL" if dtype.kind is Kind.INT else f"{value}ULL")


def operation(node: UOp, args: list[str]) -> str:
    """The text of an elementwise opcode over operand texts."""
    if node.op is Ops.CAST:
        return _cast(node.src[0].dtype, node.dtype, args[0])
    if node.op is Ops.BITCAST:
        return _bitcast(node.src[0].dtype, node.dtype, args[0])
    table = _FLOAT if node.src[-1].dtype.is_float else _INT
    write = table.get(node.op) or _ANY.get(node.op)
    if write is None:
        raise CompileError(
            f"CUDA has no spelling for {node.op.name} of {node.src[-1].dtype}: decompose the kernel first"
        )
    return (
        _wrapped(node, write(node, *args))
        if node.op in _WRAPS
        else write(node, *args)
    )


_WRAPS = frozenset({Ops.ADD, Ops.SUB, Ops.MUL, Ops.SHL, Ops.NEG})


def _wrapped(node: UOp, text: str) -> str:
    """C widens small integers; the IR does not."""
    narrow = node.dtype.is_int and node.dtype.bits < 32
    return f"({TYPES[node.dtype]}){text}" if narrow else text


def _cast(source: DType, target: DType, text: str) -> str:
    if target is dt.boolean:
        return f"({text} != 0)"
    if dt.bfloat16 in (source, target):
        raise CompileError(
            "a cast to or from bfloat16 is bit arithmetic: decompose the kernel first"
        )
    if source is dt.float16:
        text, source = f"half_to_float({text})", dt.float32
    if target is dt.float16:
        return f"float_to_half((float){text})"
    return text if source is target else f"({TYPES[target]}){text}"


def _bitcast(source: DType, target: DType, text: str) -> str:
    if TYPES[source] == TYPES[target]:
        return text
    return f"bits_as<{TYPES[target]}>({text})"


def _infix(sign: str) -> Callable[..., str]:
    return lambda node, a, b: f"({a} {sign} {b})"


def _modular(sign: str) -> Callable[..., str]:
    """Signed integers wrap in the IR; in C only unsigned ones do."""

    def write(node: UOp, a: str, b: str) -> str:
        if node.dtype.kind is not Kind.INT or node.dtype is dt.index:
            return f"({a} {sign} {b})"
        wide = "unsigned long long" if node.dtype.bits == 64 else "unsigned int"
        return f"({TYPES[node.dtype]})(({wide}){a} {sign} ({wide}){b})"

    return write


def _call(single: str, double: str) -> Callable[..., str]:
    def write(node: UOp, *args: str) -> str:
        return (
            f"{single if node.dtype is dt.float32 else double}({', '.join(args)})"
        )

    return write


def _reciprocal(node: UOp, a: str) -> str:
    return f"(1.0{'f' if node.dtype is dt.float32 else ''} / {a})"


def _quotient(node: UOp, a: str, b: str) -> str:
    """Floor division: a shift by a power of two floors by itself."""
    if _power(node.src[1]) is not None:
        return f"({a} >> {_power(node.src[1])})"
    plain = node.src[0].vmin >= 0 and node.src[1].vmin > 0
    return f"({a} / {b})" if plain else f"quotient<{TYPES[node.dtype]}>({a}, {b})"


def _remainder(node: UOp, a: str, b: str) -> str:
    if _power(node.src[1]) is not None:
        return f"({a} & {int(node.src[1].value) - 1})"
    plain = node.src[0].vmin >= 0 and node.src[1].vmin > 0
    return (
        f"({a} % {b})" if plain else f"remainder_of<{TYPES[node.dtype]}>({a}, {b})"
    )


def _power(divisor: UOp) -> int | None:
    if divisor.op is not Ops.CONST or int(divisor.value) <= 0:
        return None
    value = int(divisor.value)
    return value.bit_length() - 1 if value & (value - 1) == 0 else None


def _typed_call(name: str) -> Callable[..., str]:
    return lambda node, *args: f"{name}<{TYPES[node.dtype]}>({', '.join(args)})"


def _not(node: UOp, a: str) -> str:
    return f"(!{a})" if node.dtype is dt.boolean else f"({TYPES[node.dtype]})(~{a})"


_ANY: dict[Ops, Callable[..., str]] = {
    Ops.NEG: lambda node, a: f"(-{a})",
    Ops.ADD: _modular("+"),
    Ops.SUB: _modular("-"),
    Ops.MUL: _modular("*"),
    Ops.CMPLT: _infix("<"),
    Ops.CMPEQ: _infix("=="),
    Ops.CMPNE: _infix("!="),
    Ops.WHERE: lambda node, c, a, b: f"({c} ? {a} : {b})",
}
_FLOAT: dict[Ops, Callable[..., str]] = {
    Ops.FDIV: _infix("/"),
    Ops.RECIP: _reciprocal,
    Ops.MAX: lambda node, a, b: f"most({a}, {b})",
    Ops.MIN: lambda node, a, b: f"least({a}, {b})",
    Ops.MULACC: _call("fmaf", "fma"),
    Ops.SQRT: _call("sqrtf", "sqrt"),
    Ops.FLOOR: _call("floorf", "floor"),
    Ops.TRUNC: _call("truncf", "trunc"),
    Ops.ROUND: _call("rintf", "rint"),
    Ops.EXP: _call("expf", "exp"),
    Ops.EXP2: _call("exp2f", "exp2"),
    Ops.LOG: _call("logf", "log"),
    Ops.LOG2: _call("log2f", "log2"),
    Ops.SIN: _call("sinf", "sin"),
    Ops.COS: _call("cosf", "cos"),
    Ops.TANH: _call("tanhf", "tanh"),
    Ops.ERF: _call("erff", "erf"),
    Ops.POW: _call("powf", "pow"),
}
_INT: dict[Ops, Callable[..., str]] = {
    Ops.IDIV: _quotient,
    Ops.MOD: _remainder,
    Ops.MAX: _typed_call("most"),
    Ops.MIN: _typed_call("least"),
    Ops.MULACC: lambda node, a, b, c: f"({a} * {b} + {c})",
    Ops.AND: _infix("&"),
    Ops.OR: _infix("|"),
    Ops.XOR: _infix("^"),
    Ops.SHL: _modular("<<"),
    Ops.SHR: _infix(">>"),
    Ops.NOT: _not,
}
