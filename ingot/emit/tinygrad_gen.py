"""tinygrad. In: a model. Out: a module with `forward(input, params)` that ends in `.realize()`."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.emit.arrays import OPERATORS
from ingot.emit.code import ATOM, Call, Code, Row, helper, method, template
from ingot.emit.library import LibraryGenerator, dtype_names
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.model.graph import Graph

_AXIS = ("axis", "keepdims:keepdim=False")


def _expand(call: Call) -> Code:
    inside = ", ".join(call.literal(n) for n in call.attrs["shape"])
    return Code(f"{call.args[0].at(ATOM)}.expand({inside})")


def _permute(call: Call) -> Code:
    axes = call.attrs["axes"]
    moved = [axis for axis, source in enumerate(axes) if axis != source]
    first = call.args[0].at(ATOM)
    if len(moved) == 2:
        return Code(f"{first}.transpose({moved[0]}, {moved[1]})")
    return Code(f"{first}.permute({', '.join(map(str, axes))})")


def _pad(call: Call) -> Code:
    widths = call.literal(call.attrs["widths"])
    return Code(f"{call.args[0].at(ATOM)}.pad({widths})")


def _norm(call: Call) -> Code:
    """The method has no scale or shift of its own."""
    parts = call.named(("eps=1e-05",))
    axes = call.attrs["axes"]
    if axes != 1:
        parts.insert(0, f"axis={tuple(range(-axes, 0))}")
    text = f"{call.args[0].at(ATOM)}.layernorm({', '.join(parts)})"
    for sign, extra in zip("*+", call.args[1:], strict=False):
        text = f"{text} {sign} {extra.at(ATOM)}"
    return Code(text, ATOM if len(call.args) == 1 else 50)


def _conv2d(call: Call) -> Code:
    """tinygrad takes the padding of the last axis first."""
    (top, bottom), (left, right) = call.attrs["padding"]
    parts = [arg.text for arg in call.args[1:]]
    parts += call.named(("groups=1", "stride=(1, 1)", "dilation=(1, 1)"))
    if (top, bottom, left, right) != (0, 0, 0, 0):
        parts.append(f"padding=({left}, {right}, {top}, {bottom})")
    return Code(f"{call.args[0].at(ATOM)}.conv2d({', '.join(parts)})")


def _attention(call: Call) -> Code:
    names = ("", "", "attn_mask=")
    parts = [n + a.text for n, a in zip(names, call.args[1:], strict=False)]
    parts += call.named(("causal:is_causal=False",))
    return Code(
        f"{call.args[0].at(ATOM)}.scaled_dot_product_attention({', '.join(parts)})"
    )


def _larger(name: str) -> Row:
    """A method needs a tensor in front."""

    def row(call: Call) -> Code:
        ordered = sorted(zip(call.inputs, call.args, strict=True), key=_is_constant)
        first, second = (code for _, code in ordered)
        return Code(f"{first.at(ATOM)}.{name}({second.text})")

    return row


def _is_constant(pair: tuple[UOp, Code]) -> bool:
    return pair[0].op is Ops.CONST


def _concat(call: Call) -> Code:
    parts = ", ".join(arg.text for arg in call.args)
    return Code(f"Tensor.cat({parts}, dim={call.attrs['axis']})")


def _index(name: str) -> Row:
    """Positions are int32 in tinygrad."""
    found = method(name, *_AXIS)

    def row(call: Call) -> Code:
        return Code(f"{found(call).text}.cast(dtypes.int64)")

    return row


def _plain(*names: str) -> dict[str, Row]:
    return {name: method(name) for name in names}


TABLE: dict[str, Row] = {
    **OPERATORS,
    **_plain(
        "reciprocal",
        "sqrt",
        "exp",
        "exp2",
        "log",
        "log2",
        "sin",
        "tanh",
        "erf",
        "abs",
        "sign",
        "floor",
        "trunc",
        "round",
        "contiguous",
        "relu",
        "relu6",
        "sigmoid",
        "silu",
        "mish",
        "softplus",
        "softsign",
        "logsigmoid",
    ),
    "maximum": _larger("maximum"),
    "minimum": _larger("minimum"),
    "where": method("where"),
    "astype": template("{0}.cast({dtype})"),
    "bitcast": template("{0}.bitcast({dtype})"),
    "broadcast_to": _expand,
    "permute": _permute,
    "flip": template("{0}.flip({axes})"),
    "pad": _pad,
    "window": helper("window", "size", "axis"),
    "iota": template("Tensor.arange({size}, dtype=dtypes.int64)"),
    "sum": method("sum", *_AXIS),
    "prod": method("prod", *_AXIS),
    "max": method("max", *_AXIS),
    "min": method("min", *_AXIS),
    "any": method("any", *_AXIS),
    "all": method("all", *_AXIS),
    "mean": method("mean", *_AXIS),
    "argmax": _index("argmax"),
    "argmin": _index("argmin"),
    "softmax": method("softmax", "axis"),
    "log_softmax": method("log_softmax", "axis"),
    "conv2d": _conv2d,
    "layer_norm": _norm,
    **_plain(
        *"cos tan asin acos atan sinh cosh asinh acosh atanh copysign".split()
    ),
    "at_least": _larger("maximum"),
    "at_most": _larger("minimum"),
    "concat": _concat,
    "cumsum": method("cumsum", "axis"),
    "cumprod": method("cumprod", "axis"),
    "leaky_relu": method("leaky_relu", "slope:neg_slope=0.01"),
    "elu": method("elu", "alpha=1.0"),
    "celu": method("celu", "alpha=1.0"),
    "selu": method("selu"),
}

HELPERS = {
    "window": """
def window(x, size, axis):
    parts = [x.shrink([(i, n - size + 1 + i) if a == axis else None for a, n in enumerate(x.shape)]) for i in range(size)]
    return Tensor.stack(*parts, dim=-1)
""",
}

IMPORTS = {"from tinygrad import Tensor, dtypes": ""}
DTYPES = dtype_names(
    "dtypes.", bool="dtypes.bool", bfloat16="dtypes.bfloat16", index="dtypes.int64"
)


class TinygradGenerator(LibraryGenerator):
    """Models as tinygrad."""

    target = "tinygrad"
    title = "tinygrad"
    table = TABLE
    array = "Tensor({}, dtype={})"
    imports = IMPORTS
    helpers = HELPERS
    dtypes = DTYPES

    def _returned(self, graph: Graph, results: Sequence[str]) -> str:
        """Nothing runs in tinygrad before it is asked to."""
        return super()._returned(
            graph,
            [
                f"({text}).realize()" if " " in text else f"{text}.realize()"
                for text in results
            ],
        )
