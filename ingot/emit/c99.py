"""The words of plain C: how loops, numbers and functions are written for a machine without any library.

In: nodes of loop trees. Out: C99. Functions such as exp are written from the compiler's decompositions, once each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ingot.emit.code import ATOM, PRODUCT, SUM, UNARY, Code
from ingot.emit.loops import INDENT, Language, LoopWriter
from ingot.emit.plan import short_float
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, Ops, ParamArg
from ingot.kernel.decompose import decompose
from ingot.render.c_text import scalar_type
from ingot.target import X86_LEVELS

TARGET = replace(
    X86_LEVELS[-1], fma=True
)  # a * b + c is written as such, rounded twice
FUNCTIONS = {
    Ops.EXP: "exp",
    Ops.EXP2: "exp2",
    Ops.LOG: "log",
    Ops.LOG2: "log2",
    Ops.SIN: "sin",
    Ops.TANH: "tanh",
    Ops.ERF: "erf",
    Ops.POW: "pow",
    Ops.SQRT: "sqrt",
    Ops.FLOOR: "floor",
    Ops.TRUNC: "trunc",
    Ops.ROUND: "round",
}
_WORDS = {dt.float32: "f32", dt.float64: "f64"}
_SIGNS = {
    Ops.ADD: "+",
    Ops.SUB: "-",
    Ops.MUL: "*",
    Ops.AND: "&",
    Ops.OR: "|",
    Ops.XOR: "^",
    Ops.SHL: "<<",
    Ops.SHR: ">>",
}
_BITS = {
    "bits_to_f32": "static float bits_to_f32(uint32_t bits)\n{\n    union { uint32_t bits; float value; } both;\n"
    "    both.bits = bits;\n    return both.value;\n}",
    "f32_to_bits": "static uint32_t f32_to_bits(float value)\n{\n    union { uint32_t bits; float value; } both;\n"
    "    both.value = value;\n    return both.bits;\n}",
    "bits_to_f64": "static double bits_to_f64(uint64_t bits)\n{\n    union { uint64_t bits; double value; } both;\n"
    "    both.bits = bits;\n    return both.value;\n}",
    "f64_to_bits": "static uint64_t f64_to_bits(double value)\n{\n    union { uint64_t bits; double value; } both;\n"
    "    both.value = value;\n    return both.bits;\n}",
}


# What a processor does in one instruction and C has no operator for. {t} is the type, {s} its word.
_BY_HAND = {
    Ops.TRUNC: """\
static {t} trunc_{s}({t} x)
{{
    if (!(x < {big} && x > -{big}))
        return x;
    const {t} whole = ({t})(int64_t)x;
    return whole == 0 && x < 0 ? -whole : whole;
}}""",
    Ops.FLOOR: """\
static {t} floor_{s}({t} x)
{{
    if (!(x < {big} && x > -{big}))
        return x;
    const {t} whole = ({t})(int64_t)x;
    return whole > x ? whole - 1 : whole;
}}""",
    Ops.ROUND: """\
static {t} round_{s}({t} x)
{{
    if (!(x < {big} && x > -{big}))
        return x;
    volatile {t} moved = x < 0 ? x - {big} : x + {big};
    return x < 0 ? moved + {big} : moved - {big};
}}""",
    Ops.SQRT: """\
static {t} sqrt_{s}({t} x)
{{
    if (!(x > 0))
        return x == 0 ? x : {nan};
    if (x > {most})
        return x;
    double scale = 1, y = x;
    while (y > 4) {{
        y /= 4;
        scale *= 2;
    }}
    while (y < 1) {{
        y *= 4;
        scale /= 2;
    }}
    double root = 0.5 + 0.5 * y;
    for (int i = 0; i < 6; i++)
        root = 0.5 * (root + y / root);
    return ({t})(root * scale);
}}""",
}
_FACTS = {
    dt.float32: {
        "big": "8388608.0f",
        "most": "3.4028235e38f",
        "nan": "bits_to_f32(0x7fc00000u)",
    },
    dt.float64: {
        "big": "4503599627370496.0",
        "most": "1.7976931348623157e308",
        "nan": "bits_to_f64(0x7ff8000000000000u)",
    },
}


class C99(Language):
    """The words of C."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}

    def loop(self, counter: str, extent: str) -> tuple[str, str]:
        return (
            f"for (int64_t {counter} = 0; {counter} < {extent}; {counter}++) {{",
            "}",
        )

    def when(self, condition: str) -> tuple[str, str]:
        return f"if ({condition}) {{", "}"

    def declared(self, name: str, dtype: DType, size: int) -> str:
        array = "" if size == 1 else f"[{size}]"
        return f"{scalar_type(dtype)} {name}{array};"

    def assigned(self, to: str, value: str) -> str:
        return f"{to} = {value};"

    def constant(self, node: UOp) -> Code:
        value, kind = node.value, node.dtype
        if not isinstance(value, float):
            if int(value) == -(1 << 63):
                return Code("INT64_MIN")  # C has no literal for it
            text = str(int(value))
            wide = abs(int(value)) > 0x7FFFFFFF
            text += "LL" if wide else ""
            return Code(text, UNARY if text.startswith("-") else ATOM)
        bits = dt.to_bits(kind, value)
        if value != value or value in (float("inf"), float("-inf")):
            return self._from_bits(kind, Code(f"{bits:#x}u"))
        text = short_float(value, kind) + ("f" if kind is dt.float32 else "")
        return Code(text, UNARY if text.startswith("-") else ATOM)

    def _from_bits(self, kind: DType, bits: Code) -> Code:
        name = f"bits_to_{_WORDS[kind]}"
        self.texts.setdefault(name, _BITS[name])
        return Code(f"{name}({bits.text})")

    def choice(self, condition: Code, yes: Code, no: Code) -> Code:
        return Code(f"{condition.at(5)} ? {yes.at(5)} : {no.at(4)}", 4)

    def operation(self, node: UOp, args: tuple[Code, ...]) -> Code:
        op, kind = node.op, node.dtype
        if op in FUNCTIONS:
            return self._function(node, args)
        if op is Ops.MULACC:
            text = f"{args[0].at(PRODUCT)} * {args[1].at(PRODUCT + 1)} + {args[2].at(SUM + 1)}"
            return Code(text, SUM)
        if op is Ops.FDIV:
            return Code(
                f"{args[0].at(PRODUCT)} / {args[1].at(PRODUCT + 1)}", PRODUCT
            )
        if op is Ops.RECIP:
            return Code(f"1 / {args[0].at(PRODUCT + 1)}", PRODUCT)
        if op in (Ops.MAX, Ops.MIN):
            return self._larger(node, args)
        if op is Ops.CAST:
            return self._cast(node, args[0])
        if op is Ops.BITCAST:
            return self._bitcast(node, args[0])
        return self._whole(node, args, kind)

    def _whole(self, node: UOp, args: tuple[Code, ...], kind: DType) -> Code:
        op = node.op
        if kind is dt.boolean and op in (Ops.AND, Ops.OR):
            sign = "&&" if op is Ops.AND else "||"
            return Code(f" {sign} ".join(a.at(8) for a in args), 7)
        if op is Ops.NOT:
            return Code(
                f"{'!' if kind is dt.boolean else '~'}{args[0].at(UNARY)}", UNARY
            )
        if op in (Ops.IDIV, Ops.MOD):
            return self._divided(node, args)
        if op in _SIGNS:
            # Whole numbers wrap round: unsigned in C.
            unsigned = (
                f"u{scalar_type(kind)}".replace("uu", "u")
                if kind is not dt.boolean
                else "int"
            )
            inside = f" {_SIGNS[op]} ".join(
                f"({unsigned}){a.at(UNARY)}" for a in args
            )
            return Code(f"({scalar_type(kind)})({inside})", UNARY)
        raise ArgumentError(f"raw C cannot say {op.name}")

    def _larger(self, node: UOp, args: tuple[Code, ...]) -> Code:
        word = "max" if node.op is Ops.MAX else "min"
        kind = scalar_type(node.dtype)
        name = f"{word}_{kind.removesuffix('_t')}"
        sign = ">=" if word == "max" else "<="
        nan = " || a != a" if node.dtype.is_float else ""
        self.texts.setdefault(
            name,
            f"static {kind} {name}({kind} a, {kind} b)\n{{\n    return a {sign} b{nan} ? a : b;\n}}",
        )
        return Code(f"{name}({args[0].text}, {args[1].text})")

    def _cast(self, node: UOp, value: Code) -> Code:
        if node.dtype is dt.boolean:
            return Code(f"{value.at(11)} != 0", 10)
        return Code(f"({scalar_type(node.dtype)}){value.at(UNARY)}", UNARY)

    def _bitcast(self, node: UOp, value: Code) -> Code:
        source = node.src[0].dtype
        if node.dtype.is_float:
            bits = Code(f"(uint{node.dtype.bits}_t){value.at(UNARY)}")
            return self._from_bits(node.dtype, bits)
        if source.is_float:
            name = f"{_WORDS[source]}_to_bits"
            self.texts.setdefault(name, _BITS[name])
            return Code(f"({scalar_type(node.dtype)}){name}({value.text})", UNARY)
        return self._cast(node, value)

    def _divided(self, node: UOp, args: tuple[Code, ...]) -> Code:
        """Sizes are not negative; other whole numbers round down, and x // 0 is 0."""
        sign = "/" if node.op is Ops.IDIV else "%"
        if node.dtype is dt.index:
            return Code(
                f"{args[0].at(PRODUCT)} {sign} {args[1].at(PRODUCT + 1)}", PRODUCT
            )
        kind = scalar_type(node.dtype)
        word = "floor_div" if node.op is Ops.IDIV else "floor_mod"
        name = f"{word}_{kind.removesuffix('_t')}"
        self.texts.setdefault(name, _floor_text(name, kind, node.op is Ops.IDIV))
        return Code(f"{name}({args[0].text}, {args[1].text})")

    def _function(self, node: UOp, args: tuple[Code, ...]) -> Code:
        """A call of a function that is written from its decomposition."""
        name = f"{FUNCTIONS[node.op]}_{_WORDS.get(node.dtype, node.dtype.name)}"
        if name not in self.texts and node.op in _BY_HAND:
            self._from_bits(node.dtype, Code("0"))
            kind = scalar_type(node.dtype)
            facts = _FACTS[node.dtype]
            self.texts[name] = _BY_HAND[node.op].format(
                t=kind, s=_WORDS[node.dtype], **facts
            )
        if name not in self.texts:
            self.texts[name] = ""  # it calls no other that is not written before
            body = self._decomposed(node, name)
            del self.texts[name]
            self.texts[name] = body
        return Code(f"{name}({', '.join(a.text for a in args)})")

    def _decomposed(self, node: UOp, name: str) -> str:
        kind = scalar_type(node.dtype)
        letters = "xyz"[: len(node.src)]
        params = tuple(
            UOp(Ops.PARAM, s.dtype, (), ParamArg(n)) for n, s in enumerate(node.src)
        )
        zero = UOp.const(dt.index, 0)
        out = UOp(Ops.PARAM, node.dtype, (), ParamArg(len(params), True))
        loads = tuple(UOp(Ops.LOAD, p.dtype, (p, zero)) for p in params)
        store = UOp(Ops.STORE, dt.void, (out, zero, node.replace(src=loads)))
        one = UOp.const(dt.index, 1)
        kernel = UOp(
            Ops.KERNEL,
            dt.void,
            (store,),
            KernelArg("f", (*params, out), (), one, zero),
        )
        (simple,) = decompose(kernel, TARGET).src
        value = simple.src[2]
        if value.op is node.op:
            raise ArgumentError(f"raw C cannot say {node.op.name} of {node.dtype}")
        lines = _Straight(self, dict(zip(loads, letters, strict=True))).lines(value)
        given = ", ".join(
            f"{scalar_type(p.dtype)} {c}"
            for p, c in zip(params, letters, strict=True)
        )
        body = "\n".join(INDENT + line for line in lines)
        return f"static {kind} {name}({given})\n{{\n{body}\n}}"


def _floor_text(name: str, kind: str, quotient: bool) -> str:
    if quotient:
        rest = "return a / b - (a % b != 0 && (a < 0) != (b < 0));"
    else:
        rest = "return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);"
    if kind.startswith("u"):
        rest = "return a / b;" if quotient else "return a % b;"
    return f"static {kind} {name}({kind} a, {kind} b)\n{{\n    if (b == 0)\n        return 0;\n    {rest}\n}}"


class _Straight:
    """An expression as straight-line code: what is used twice gets a name."""

    def __init__(self, language: C99, names: dict[UOp, str]) -> None:
        self.writer = LoopWriter(language, {})
        self.language = language
        self.done: dict[UOp, Code] = {u: Code(n) for u, n in names.items()}

    def lines(self, root: UOp) -> list[str]:
        order = list(root.toposort(lambda u: u not in self.done))
        uses = Counter(s for u in order for s in u.src)
        made: list[str] = []
        for node in order:
            if node in self.done or node.op is Ops.PARAM:
                continue
            code = self.writer._code(node, self.done)
            if (uses[node] > 1 and node.op is not Ops.CONST) or len(code.text) > 90:
                name = f"t{len(made)}"
                made.append(
                    f"const {scalar_type(node.dtype)} {name} = {code.text};"
                )
                code = Code(name)
            self.done[node] = code
        return [*made, f"return {self.done[root].text};"]
