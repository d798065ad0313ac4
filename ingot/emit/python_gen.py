"""Plain Python. In: a model. Out: a module with `model_forward(input, weights)` that imports nothing but math.

Tensors are nested lists outside and flat lists inside. Python's floats have 64 bits, so results are as near to the truth
as the order of operations allows, whatever the precision of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.emit.c_program import Call, Check, program
from ingot.emit.code import ATOM, UNARY, Code
from ingot.emit.generator import CodeGenerator
from ingot.emit.loops import INDENT, Language, LoopWriter
from ingot.emit.plan import number, spelled
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.rewrite import graph_rewrite, substitute
from ingot.ir.shape import product
from ingot.ir.text import expr_text
from ingot.model.graph import Graph, Kind
from ingot.ops.movement import show
from ingot.target import X86_LEVELS

_HELPED = {
    Ops.EXP: "exp",
    Ops.EXP2: "exp2",
    Ops.LOG: "log",
    Ops.LOG2: "log2",
    Ops.SQRT: "sqrt",
    Ops.FDIV: "divide",
    Ops.MAX: "maximum",
    Ops.MIN: "minimum",
    Ops.POW: "power",
    Ops.FLOOR: "floor",
    Ops.TRUNC: "trunc",
    Ops.ROUND: "nearest",
    Ops.SIN: "sine",
}
_MATH = {Ops.TANH: "math.tanh", Ops.ERF: "math.erf"}

HELPERS = {
    "exp": """
def exp(x):
    return math.exp(x) if x < 709.0 or x != x else math.inf
""",
    "exp2": """
def exp2(x):
    return 2.0**x if x < 1024.0 or x != x else math.inf
""",
    "log": """
def log(x):
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan
""",
    "log2": """
def log2(x):
    if x > 0.0:
        return math.log2(x)
    return -math.inf if x == 0.0 else math.nan
""",
    "sqrt": """
def sqrt(x):
    return math.sqrt(x) if x >= 0.0 else math.nan
""",
    "sine": """
def sine(x):
    return math.sin(x) if math.isfinite(x) else math.nan
""",
    "divide": """
def divide(x, y):
    if y != 0.0:
        return x / y
    return math.nan if x == 0.0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)
""",
    "maximum": """
def maximum(x, y):
    return x if x >= y or x != x else y
""",
    "minimum": """
def minimum(x, y):
    return x if x <= y or x != x else y
""",
    "power": """
def power(x, y):
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan
""",
    "floor": """
def floor(x):
    return float(math.floor(x)) if math.isfinite(x) else x
""",
    "trunc": """
def trunc(x):
    return float(math.trunc(x)) if math.isfinite(x) else x
""",
    "nearest": """
def nearest(x):
    return float(round(x)) if math.isfinite(x) else x
""",
    "wrap": """
def wrap(x, bits, signed):
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed and x >> (bits - 1) else x
""",
    "flat": """
def flat(x):
    if not hasattr(x, "__len__"):
        return [x]
    return [value for part in x for value in flat(part)]
""",
    "nested": """
def nested(values, shape):
    if not shape:
        return values[0]
    step = len(values) // shape[0] if shape[0] else 0
    return [nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
""",
}


def _magnitude(node: UOp, x: UOp, mask: UOp) -> UOp | None:
    """A float without its sign bit."""
    if not node.dtype.is_float or mask.value != (1 << (node.dtype.bits - 1)) - 1:
        return None
    return x.maximum(-x)


_BITS_OF_X = UPat(Ops.BITCAST, src=(UPat.var("x"),))
WITHOUT_BITS = PatternMatcher(
    [
        (
            UPat(
                Ops.BITCAST,
                src=(UPat(Ops.AND, src=[_BITS_OF_X, UPat.cvar("mask")]),),
                name="node",
            ),
            _magnitude,
        ),
    ]
)


class Python(Language):
    """The words of Python."""

    def loop(self, counter: str, extent: str) -> tuple[str, str]:
        return f"for {counter} in range({extent}):", ""

    def when(self, condition: str) -> tuple[str, str]:
        return f"if {condition}:", ""

    def declared(self, name: str, dtype: DType, size: int) -> str:
        return "" if size == 1 else f"{name} = [0] * {size}"

    def assigned(self, to: str, value: str) -> str:
        return f"{to} = {value}"

    def constant(self, node: UOp) -> Code:
        text = number(node)
        special = {'float("inf")': "math.inf", 'float("-inf")': "-math.inf"}
        text = special.get(text, "math.nan" if "nan" in text else text)
        return Code(text, UNARY if text.startswith("-") else ATOM)

    def choice(self, condition: Code, yes: Code, no: Code) -> Code:
        return Code(f"{yes.at(10)} if {condition.at(10)} else {no.at(0)}", 0)

    def operation(self, node: UOp, args: tuple[Code, ...]) -> Code:
        op, kind = node.op, node.dtype
        if op is Ops.MULACC:
            return Code(
                f"{args[0].at(70)} * {args[1].at(71)} + {args[2].at(61)}", 60
            )
        if op is Ops.RECIP:
            return self.helper("divide", Code("1.0"), *args)
        if op in _MATH:
            return Code(f"{_MATH[op]}({args[0].text})")
        if op in (Ops.MAX, Ops.MIN) and not kind.is_float:
            word = "max" if op is Ops.MAX else "min"
            return Code(f"{word}({args[0].text}, {args[1].text})")
        if op in _HELPED:
            return self.helper(_HELPED[op], *args)
        return self._whole(node, args)

    def _whole(self, node: UOp, args: tuple[Code, ...]) -> Code:
        op, kind = node.op, node.dtype
        if op is Ops.CAST:
            return self._cast(node, args[0])
        if op is Ops.NOT and kind is dt.boolean:
            return Code(f"not {args[0].at(10)}", 5)
        if kind is dt.boolean and op in (Ops.AND, Ops.OR):
            return Code(
                f" {'and' if op is Ops.AND else 'or'} ".join(
                    a.at(10) for a in args
                ),
                2,
            )
        if kind is dt.boolean and op is Ops.XOR:
            return Code(f"{args[0].at(11)} != {args[1].at(11)}", 10)
        if op is Ops.BITCAST:
            return self._bits(node)
        if op in (Ops.IDIV, Ops.MOD):
            return self._divided(node, args)
        signs = {
            Ops.ADD: "+",
            Ops.SUB: "-",
            Ops.MUL: "*",
            Ops.AND: "&",
            Ops.OR: "|",
            Ops.XOR: "^",
            Ops.SHL: "<<",
            Ops.SHR: ">>",
        }
        if op is Ops.NOT:
            return self._wrapped(Code(f"~{args[0].at(UNARY)}"), kind)
        if op in signs:
            return self._wrapped(
                Code(f"{args[0].at(ATOM)} {signs[op]} {args[1].at(ATOM)}", 0), kind
            )
        raise ArgumentError(f"Python cannot say {op.name}")

    def _divided(self, node: UOp, args: tuple[Code, ...]) -> Code:
        sign = "//" if node.op is Ops.IDIV else "%"
        text = Code(f"{args[0].at(71)} {sign} {args[1].at(71)}", 70)
        if node.dtype is dt.index:
            return text
        return self.choice(args[1], text, Code("0"))

    def _wrapped(self, code: Code, kind: DType) -> Code:
        if kind is dt.index:
            return code
        signed = not kind.name.startswith("u")
        return self.helper("wrap", code, Code(str(kind.bits)), Code(str(signed)))

    def _cast(self, node: UOp, value: Code) -> Code:
        kind, source = node.dtype, node.src[0].dtype
        if kind is dt.boolean:
            return Code(f"{value.at(11)} != 0", 10)
        if kind.is_float:
            return value if source.is_float else Code(f"float({value.text})")
        whole = (
            Code(f"int({value.text})")
            if source.is_float or source is dt.boolean
            else value
        )
        return whole if kind.bits >= source.bits else self._wrapped(whole, kind)

    def _bits(self, node: UOp) -> Code:
        raise ArgumentError(
            "plain Python cannot look at the bits of a number",
            fix="choose the numpy target",
        )


class PythonGenerator(CodeGenerator):
    """Models as plain Python."""

    target = "python"
    honours = frozenset({"optimize"})

    def source(self, graph: Graph) -> str:
        return _Module(graph, self.options.optimize).text()


class _Module:
    def __init__(self, graph: Graph, optimize: bool) -> None:
        self.graph = graph
        self.language = Python()
        self.program = program(graph, X86_LEVELS[-1], {}, plain=True, fuse=optimize)
        self.names = {p.node: spelled(p.name) for p in graph.ports}
        self.functions: dict[str, str] = {}

    def text(self) -> str:
        self.language.needed.update(dict.fromkeys(("flat", "nested")))
        forward = self._forward()
        used = [HELPERS[name] for name in HELPERS if name in self.language.needed]
        head = f'"""{self.graph.name}: generated by Ingot for Python. Version {self.graph.version}."""'
        parts = [f"{head}\n\nimport math", *used, *self.functions.values(), forward]
        return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"

    def _forward(self) -> str:
        graph = self.graph
        inputs = [self.names[p.node] for p in graph.of(Kind.INPUT)]
        weights = ["weights"] if graph.of(Kind.PARAMETER) else []
        lines = [f"def model_forward({', '.join([*inputs, *weights])}):"]
        body = [f'"""{self._says()}"""', *self._sizes(), *self._flattened()]
        for call in self.program.calls:
            body += (
                self._check(call) if isinstance(call, Check) else [self._call(call)]
            )
        returned = ", ".join(
            f"nested({self.names[u]}, {self._shape(u)})"
            for u in self.program.outputs
        )
        return "\n".join(
            lines + [INDENT + line for line in (*body, f"return {returned}")]
        )

    def _says(self) -> str:
        ends = ", ".join(
            f"{p.name} {show(p.shape)}" for p in self.graph.of(Kind.INPUT)
        )
        outs = ", ".join(
            f"{n} {show(u.shape)}" for n, u in self.graph.outputs.items()
        )
        return f"{ends} -> {outs}."

    def _sizes(self) -> list[str]:
        made = []
        for variable in self.graph.variables:
            made.append(f"{variable.arg.name} = {self._size_of(variable)}")  # type: ignore[union-attr]
        return made

    def _size_of(self, variable: UOp) -> str:
        for port in self.graph.ports:
            for axis, size in enumerate(port.shape):
                if size is variable:
                    return f"len({self.names[port.node]}{'[0]' * axis})"
        raise AssertionError(variable)

    def _flattened(self) -> list[str]:
        made = []
        for port in self.graph.ports:
            name = self.names[port.node]
            given = (
                f'weights["{port.name}"]' if port.kind is Kind.PARAMETER else name
            )
            if port.value is not None:
                given = repr(port.value.tolist())
            made.append(f"{name} = flat({given})")
        return made

    def _shape(self, node: UOp) -> str:
        sizes = [expr_text(n) if isinstance(n, UOp) else str(n) for n in node.shape]
        inside = ", ".join(sizes)
        return f"({inside},)" if len(sizes) == 1 else f"({inside})"

    def _check(self, check: Check) -> list[str]:
        said = f"{self.graph.name}: an index is out of range"
        return [
            f"if not {self._name(check.flag)}[0]:",
            f'{INDENT}raise IndexError("{said}")',
        ]

    def _call(self, call: Call) -> str:
        """A line that calls the kernel's function; the function is written on the way."""
        *read, written = call.values
        arguments = [self._name(value) for value in read]
        sizes = [str(v.arg.name) for v in self.graph.variables]  # type: ignore[union-attr]
        target = self._name(written)
        self.functions[call.name] = self._function(call, sizes)
        return f"{target} = {call.name}({', '.join([*arguments, *sizes])})"

    def _name(self, value: UOp) -> str:
        if value not in self.names:
            outputs = dict(
                zip(self.program.outputs, self.graph.outputs, strict=False)
            )
            wish = (
                spelled(outputs[value])
                if value in outputs
                else f"h{len(self.names)}"
            )
            while wish in self.names.values():
                wish += "_"
            self.names[value] = wish
        return self.names[value]

    def _function(self, call: Call, sizes: Sequence[str]) -> str:
        (variant,) = call.variants
        (launch,) = variant.launches
        kernel = launch.kernel
        params = kernel.arg.params  # type: ignore[union-attr]  # a KernelArg
        here = dict(zip(kernel.arg.sizes, variant.scalars, strict=True))  # type: ignore[union-attr]
        names = {p: f"x{n}" for n, p in enumerate(params[:-1])} | {
            params[-1]: "out"
        }
        writer = LoopWriter(self.language, names, sizes)
        tree = graph_rewrite(substitute(kernel, here), WITHOUT_BITS, name="bits")
        body = writer.statements(tree.src)
        count = product(call.values[-1].shape)
        size = str(count) if isinstance(count, int) else expr_text(count.simplify())
        head = (
            f"def {call.name}({', '.join([*list(names.values())[:-1], *sizes])}):"
        )
        zeros = size if size.isdecimal() else f"({size})"
        lines = [f"out = [0] * {zeros}", *body, "return out"]
        return "\n".join([head, *(INDENT + line for line in lines)])
