"""What a C kernel needs before its function: types, and small functions that C lacks. In: names. Out: their text.

Only what is used is written. Vector functions are one instruction where the target has one, else a loop over lanes.
"""

from __future__ import annotations

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.render.c_text import mask_type, scalar_type, short, vector_type
from ingot.target import Target

HEADER = "#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>"
X86_FEATURES = {
    "x86-64-v4": "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi2,prefer-vector-width=512",
    "x86-64-v3": "avx2,fma,f16c,bmi2",
    "x86-64-v2": "sse4.2",
}
INTRINSIC_SUFFIX = {dt.float32: "ps", dt.float64: "pd"}
BUILTINS = {
    "fma": "fma",
    "sqrt": "sqrt",
    "floor": "floor",
    "trunc": "trunc",
    "round_even": "rint",
}
ROUNDINGS = {
    "floor": 9,
    "trunc": 11,
    "round_even": 8,
}  # the immediate of the rounding instructions

FROM_BITS = """static inline {t} {s}_bits(uint{n}_t bits)
{{
    {t} value;
    memcpy(&value, &bits, sizeof value);
    return value;
}}"""
TO_BITS = """static inline uint{n}_t bits_{s}({t} value)
{{
    uint{n}_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}}"""
HALF_TO_FLOAT = """static inline float half_to_f32(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t rest = half & 0x7fff;
    if (rest >= 0x7c00)
        return f32_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13 | (rest > 0x7c00 ? 0x400000 : 0));
    if (rest >= 0x400)
        return f32_bits(sign | ((rest << 13) + 0x38000000));
    return f32_bits(sign | bits_f32((float)rest * 0x1p-24f));
}"""
FLOAT_TO_HALF = """static inline uint16_t f32_to_half(float value)
{
    const uint32_t bits = bits_f32(value);
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x3ff));
    if (rest >= 0x477ff000)
        return (uint16_t)(sign | 0x7c00);
    if (rest >= 0x38800000)
        return (uint16_t)(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
    return (uint16_t)(sign | (bits_f32(f32_bits(rest) + 0.5f) - 0x3f000000));
}"""


class Prelude:
    """Types and functions, written once each in the order in which they are first needed."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.features = X86_FEATURES.get(target.cpu, "")
        self._types: dict[str, str] = {}
        self._functions: dict[str, str] = {}

    def text(self) -> str:
        intrinsics = "\n#include <immintrin.h>" if self.uses_intrinsics else ""
        return "\n".join([HEADER + intrinsics, *self.parts()])

    def parts(self) -> list[str]:
        """The attribute of the target, then types and functions."""
        return [
            self.attribute(),
            *self._types.values(),
            *self._functions.values(),
        ]

    @property
    def uses_intrinsics(self) -> bool:
        return any("_mm" in function for function in self._functions.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The functions."""
        return tuple(self._functions)

    def attribute(self) -> str:
        words = (
            f'__attribute__((target("{self.features}")))' if self.features else ""
        )
        return f"#define ON_TARGET {words}".rstrip()

    # --- types ---

    def vector(self, dtype: DType, lanes: int) -> str:
        name = vector_type(dtype, lanes)
        if lanes & (lanes - 1):
            raise CompileError(
                f"C vectors have a power of two of lanes, not {lanes}"
            )
        if name not in self._types:
            size = dtype.itemsize * lanes
            self._types[name] = (
                f"typedef {scalar_type(dtype)} {name} __attribute__((vector_size({size})));"
            )
        return name

    def mask(self, bits: int, lanes: int) -> str:
        return self.vector(
            {8: dt.int8, 16: dt.int16, 32: dt.int32, 64: dt.int64}[bits], lanes
        )

    def unaligned(self, dtype: DType, lanes: int) -> str:
        """A vector anywhere in memory."""
        name = f"{vector_type(dtype, lanes)}_at"
        if name not in self._types:
            size = dtype.itemsize
            where = f"vector_size({size * lanes}), aligned({size}), may_alias"
            self._types[name] = (
                f"typedef {scalar_type(dtype)} {name} __attribute__(({where}));"
            )
        return name

    # --- functions ---

    def _define(self, name: str, result: str, parameters: str, body: str) -> str:
        if name not in self._functions:
            lines = "\n".join(f"    {line}" for line in body.splitlines())
            self._functions[name] = (
                f"ON_TARGET static inline {result} {name}({parameters})\n{{\n{lines}\n}}"
            )
        return name

    def plain(self, name: str, text: str) -> str:
        self._functions.setdefault(name, text)
        return name

    def from_bits(self, dtype: DType) -> str:
        n = dtype.bits
        return self.plain(
            f"f{n}_bits", FROM_BITS.format(t=scalar_type(dtype), s=f"f{n}", n=n)
        )

    def to_bits(self, dtype: DType) -> str:
        n = dtype.bits
        return self.plain(
            f"bits_f{n}", TO_BITS.format(t=scalar_type(dtype), s=f"f{n}", n=n)
        )

    def splat(self, dtype: DType, lanes: int) -> str:
        kind = self.vector(dtype, lanes)
        copies = ", ".join(["x"] * lanes)
        return self._define(
            f"splat_{kind}",
            kind,
            f"{scalar_type(dtype)} x",
            f"return ({kind}){{{copies}}};",
        )

    def select(self, dtype: DType, lanes: int) -> str:
        """mask ? a : b, lane by lane."""
        kind, mask = self.vector(dtype, lanes), self.mask(dtype.bits, lanes)
        body = f"return ({kind})((({mask})a & mask) | (({mask})b & ~mask));"
        return self._define(
            f"select_{kind}", kind, f"{mask} mask, {kind} a, {kind} b", body
        )

    def function(self, word: str, dtype: DType, lanes: int) -> str:
        """fma, sqrt, floor, trunc, round_even of a scalar or a vector."""
        kind = scalar_type(dtype) if lanes == 1 else self.vector(dtype, lanes)
        name = f"{word}_{short(dtype)}" if lanes == 1 else f"{word}_{kind}"
        names = "abc"[: 3 if word == "fma" else 1]
        parameters = ", ".join(f"{kind} {n}" for n in names)
        return self._define(
            name,
            kind,
            parameters,
            self._function_body(word, dtype, lanes, kind, names),
        )

    def _function_body(
        self, word: str, dtype: DType, lanes: int, kind: str, names: str
    ) -> str:
        builtin = f"__builtin_{BUILTINS[word]}{'f' if dtype is dt.float32 else ''}"
        call = self._intrinsic(word, dtype, lanes)
        if call:
            return f"return {call};"
        if lanes == 1:
            return f"return {builtin}({', '.join(names)});"
        each = ", ".join(f"{n}[i]" for n in names)
        return f"{kind} r;\nfor (int i = 0; i < {lanes}; i++)\n    r[i] = {builtin}({each});\nreturn r;"

    def _intrinsic(self, word: str, dtype: DType, lanes: int) -> str:
        """The expression of one instruction on a whole register, if there is one."""
        width = self.target.vector_bytes
        if (
            not self.features
            or lanes == 1
            or lanes * dtype.itemsize not in (16, 32, 64)
            or lanes * dtype.itemsize > width
        ):
            return ""
        size = lanes * dtype.itemsize * 8
        prefix = f"_mm{size if size > 128 else ''}"
        suffix = INTRINSIC_SUFFIX[dtype]
        if word == "fma":
            return f"{prefix}_fmadd_{suffix}(a, b, c)" if self.target.fma else ""
        if word == "sqrt":
            return f"{prefix}_sqrt_{suffix}(a)"
        kind = "roundscale" if size == 512 else "round"
        return f"{prefix}_{kind}_{suffix}(a, {ROUNDINGS[word]})"

    # --- 16-bit floats ---

    @property
    def _has_f16c(self) -> bool:
        return "f16c" in self.features

    def from_half(self, lanes: int) -> str:
        self.from_bits(dt.float32)
        self.to_bits(dt.float32)
        scalar = self.plain("half_to_f32", HALF_TO_FLOAT)
        if lanes == 1:
            return scalar
        kind, source = (
            self.vector(dt.float32, lanes),
            self.vector(dt.float16, lanes),
        )
        body = f"{kind} r;\nfor (int i = 0; i < {lanes}; i++)\n    r[i] = {scalar}(a[i]);\nreturn r;"
        if self._has_f16c and lanes * 4 == self.target.vector_bytes:
            part = "(__m256i)a" if lanes == 16 else "(__m128i)a"
            body = f"return _mm{lanes * 32}_cvtph_ps({part});"
        return self._define(f"half_to_{kind}", kind, f"{source} a", body)

    def to_half(self, lanes: int) -> str:
        self.from_bits(dt.float32)
        self.to_bits(dt.float32)
        scalar = self.plain("f32_to_half", FLOAT_TO_HALF)
        if lanes == 1:
            return scalar
        kind, source = (
            self.vector(dt.float16, lanes),
            self.vector(dt.float32, lanes),
        )
        body = f"{kind} r;\nfor (int i = 0; i < {lanes}; i++)\n    r[i] = {scalar}(a[i]);\nreturn r;"
        if self._has_f16c and lanes * 4 == self.target.vector_bytes:
            body = f"return ({kind})_mm{lanes * 32}_cvtps_ph(a, 0);"
        return self._define(f"{source}_to_half", kind, f"{source} a", body)

    # --- memory, some lanes ---

    def load_if(self, dtype: DType, lanes: int) -> str:
        kind, mask, pointer = self._access(dtype, lanes)
        body = f"for (int i = 0; i < {lanes}; i++)\n    if (mask[i])\n        other[i] = p[i];\nreturn other;"
        chosen = self._masked(dtype, lanes)
        if chosen:
            suffix, cast, number = chosen
            body = f"return ({kind})_mm512_mask_loadu_{suffix}(({cast})other, {number}, p);"
        return self._define(
            f"load_if_{kind}", kind, f"{pointer}p, {mask} mask, {kind} other", body
        )

    def store_if(self, dtype: DType, lanes: int) -> str:
        kind, mask, pointer = self._access(dtype, lanes)
        body = f"for (int i = 0; i < {lanes}; i++)\n    if (mask[i])\n        p[i] = value[i];"
        chosen = self._masked(dtype, lanes)
        if chosen:
            suffix, cast, number = chosen
            body = f"_mm512_mask_storeu_{suffix}(p, {number}, ({cast})value);"
        return self._define(
            f"store_if_{kind}",
            "void",
            f"{pointer}p, {mask} mask, {kind} value",
            body,
        )

    def _access(self, dtype: DType, lanes: int) -> tuple[str, str, str]:
        return (
            self.vector(dtype, lanes),
            self.mask(dtype.bits, lanes),
            f"{scalar_type(dtype)} *",
        )

    def _masked(self, dtype: DType, lanes: int) -> tuple[str, str, str] | None:
        """(suffix, register type, mask expression) of AVX-512's masked moves."""
        if (
            not self.target.masked
            or not self.features
            or lanes * dtype.itemsize != 64
            or dtype.bits < 32
        ):
            return None
        suffix = INTRINSIC_SUFFIX.get(dtype, f"epi{dtype.bits}")
        cast = {"ps": "__m512", "pd": "__m512d"}.get(suffix, "__m512i")
        return suffix, cast, f"_mm512_movepi{dtype.bits}_mask((__m512i)mask)"

    def gather(self, dtype: DType, index: DType, lanes: int) -> str:
        kind, mask, pointer = self._access(dtype, lanes)
        numbers = self.vector(index, lanes)
        body = f"for (int i = 0; i < {lanes}; i++)\n    if (mask[i])\n        other[i] = p[at[i]];\nreturn other;"
        parameters = f"{pointer}p, {numbers} at, {mask} mask, {kind} other"
        return self._define(f"gather_{kind}_{short(index)}", kind, parameters, body)

    def scatter(self, dtype: DType, index: DType, lanes: int) -> str:
        kind, mask, pointer = self._access(dtype, lanes)
        numbers = self.vector(index, lanes)
        body = f"for (int i = 0; i < {lanes}; i++)\n    if (mask[i])\n        p[at[i]] = value[i];"
        parameters = f"{pointer}p, {numbers} at, {mask} mask, {kind} value"
        return self._define(
            f"scatter_{kind}_{short(index)}", "void", parameters, body
        )


def all_lanes(dtype: DType, lanes: int) -> str:
    """A mask with every lane set."""
    return f"~({mask_type(dtype.bits, lanes)}){{0}}"
