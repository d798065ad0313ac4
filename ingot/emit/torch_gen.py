"""PyTorch. In: a model. Out: a module with `forward(input, params)` over tensors, without gradients."""

from __future__ import annotations

from ingot.emit.arrays import OPERATORS, where
from ingot.emit.code import (
    ATOM,
    Call,
    Code,
    Row,
    function,
    helper,
    method,
    prefix,
    template,
)
from ingot.emit.library import LibraryGenerator, dtype_names


def _permute(call: Call) -> Code:
    axes = call.attrs["axes"]
    first = call.args[0].at(ATOM)
    moved = [axis for axis, source in enumerate(axes) if axis != source]
    if len(moved) == 2:
        pair = ", ".join(str(axis - len(axes)) for axis in moved)
        return Code(f"{first}.transpose({pair})")
    return Code(f"{first}.permute({', '.join(map(str, axes))})")


def _expand(call: Call) -> Code:
    inside = ", ".join(call.literal(n) for n in call.attrs["shape"])
    return Code(f"{call.args[0].at(ATOM)}.expand({inside})")


def _pad(call: Call) -> Code:
    """torch counts the axes from the last, and leaves out those that are not padded."""
    widths = [tuple(map(call.literal, pair)) for pair in call.attrs["widths"]]
    while len(widths) > 1 and widths[0] == ("0", "0"):
        widths = widths[1:]
    numbers = ", ".join(n for pair in reversed(widths) for n in pair)
    return Code(f"F.pad({call.args[0].text}, ({numbers}))")


def _window(call: Call) -> Code:
    size, axis = call.literal(call.attrs["size"]), call.attrs["axis"]
    return Code(f"{call.args[0].at(ATOM)}.unfold({axis}, {size}, 1)")


def _larger(name: str, bound: str) -> Row:
    """A number is a bound of clamp; torch.maximum takes tensors only."""

    def row(call: Call) -> Code:
        for own, other in ((0, 1), (1, 0)):
            if call.inputs[other].op.name == "CONST":
                limit = call.args[other].text
                return Code(f"{call.args[own].at(ATOM)}.clamp({bound}={limit})")
        return Code(f"torch.{name}({call.args[0].text}, {call.args[1].text})")

    return row


def _several(name: str) -> Row:
    """Reductions that take one axis at a time."""

    def row(call: Call) -> Code:
        code = call.args[0]
        kept = call.attrs["keepdims"]
        for axis in reversed(call.attrs["axis"]):
            tail = ", keepdim=True" if kept else ""
            code = Code(f"{code.at(ATOM)}.{name}(dim={axis}{tail})")
        return code

    return row


def _layer_norm(call: Call) -> Code:
    axes = call.attrs["axes"]
    shape = call.literal(call.inputs[0].shape[-axes:])
    parts = [call.args[0].text, shape, *(a.text for a in call.args[1:])]
    parts += call.named(("eps=1e-05",))
    return Code(f"F.layer_norm({', '.join(parts)})")


def _rms_norm(call: Call) -> Code:
    axes = call.attrs["axes"]
    shape = call.literal(call.inputs[0].shape[-axes:])
    parts = [call.args[0].text, shape, *(a.text for a in call.args[1:])]
    return Code(f"F.rms_norm({', '.join([*parts, *call.named(('eps',))])})")


def _attention(call: Call) -> Code:
    names = ("", "", "", "attn_mask=")
    parts = [n + a.text for n, a in zip(names, call.args, strict=False)]
    parts += call.named(("causal:is_causal=False", "scale"))
    return Code(f"F.scaled_dot_product_attention({', '.join(parts)})")


def _conv2d(call: Call) -> Code:
    """torch pads both sides alike; other paddings are a step of their own."""
    (top, bottom), (left, right) = call.attrs["padding"]
    x, *others = (arg.text for arg in call.args)
    parts = [x, *others]
    if top == bottom and left == right:
        if (top, left) != (0, 0):
            parts.append(f"padding=({top}, {left})")
    else:
        parts[0] = f"F.pad({x}, ({left}, {right}, {top}, {bottom}))"
    parts += call.named(("stride=(1, 1)", "dilation=(1, 1)", "groups=1"))
    return Code(f"F.conv2d({', '.join(parts)})")


def _concat(call: Call) -> Code:
    parts = ", ".join(arg.text for arg in call.args)
    tail = "" if call.attrs["axis"] == 0 else f", dim={call.attrs['axis']}"
    return Code(f"torch.cat([{parts}]{tail})")


def _group_norm(call: Call) -> Code:
    x, *scale = (arg.text for arg in call.args)
    parts = [x, str(call.attrs["groups"]), *scale, *call.named(("eps=1e-05",))]
    return Code(f"F.group_norm({', '.join(parts)})")


_AXIS = ("axis:dim", "keepdims:keepdim=False")

TABLE: dict[str, Row] = {
    **OPERATORS,
    "logical_not": prefix("~"),
    "reciprocal": function("torch.reciprocal"),
    "sqrt": function("torch.sqrt"),
    "exp": function("torch.exp"),
    "exp2": function("torch.exp2"),
    "expm1": function("torch.expm1"),
    "log": function("torch.log"),
    "log2": function("torch.log2"),
    "log1p": function("torch.log1p"),
    "sin": function("torch.sin"),
    "tanh": function("torch.tanh"),
    "erf": function("torch.erf"),
    "abs": function("torch.abs"),
    "sign": function("torch.sign"),
    "floor": function("torch.floor"),
    "trunc": function("torch.trunc"),
    "round": function("torch.round"),
    "maximum": _larger("maximum", "min"),
    "minimum": _larger("minimum", "max"),
    "where": where("torch.where"),
    "astype": template("{0}.to({dtype})"),
    "bitcast": template("{0}.view({dtype})"),
    "contiguous": method("contiguous"),
    "broadcast_to": _expand,
    "permute": _permute,
    "flip": template("{0}.flip({axes})"),
    "pad": _pad,
    "window": _window,
    "iota": template("torch.arange({size})"),
    "sum": method("sum", *_AXIS),
    "prod": _several("prod"),
    "max": method("amax", *_AXIS),
    "min": method("amin", *_AXIS),
    "any": _several("any"),
    "all": _several("all"),
    "mean": method("mean", *_AXIS),
    "argmax": method("argmax", *_AXIS),
    "argmin": method("argmin", *_AXIS),
    "relu": function("F.relu"),
    "relu6": function("F.relu6"),
    "sigmoid": function("torch.sigmoid"),
    "silu": function("F.silu"),
    "mish": function("F.mish"),
    "softplus": function("F.softplus"),
    "softsign": function("F.softsign"),
    "logsigmoid": function("F.logsigmoid"),
    "gelu": function("F.gelu", 'approximate="none"'),
    "softmax": function("torch.softmax", "axis:dim"),
    "log_softmax": function("torch.log_softmax", "axis:dim"),
    "logsumexp": function("torch.logsumexp", *_AXIS),
    "linear": function("F.linear"),
    "conv2d": _conv2d,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "scaled_dot_product_attention": _attention,
    **{
        name: function(f"torch.{name}")
        for name in (
            "cos tan asin acos atan sinh cosh asinh acosh atanh log10 logaddexp copysign nextafter atan2 erfc erfinv lgamma "
            "digamma"
        ).split()
    },
    "at_least": _larger("maximum", "min"),
    "at_most": _larger("minimum", "max"),
    "rest_of": function("torch.remainder"),
    "concat": _concat,
    "cumsum": method("cumsum", "axis:dim"),
    "cumprod": method("cumprod", "axis:dim"),
    "logcumsumexp": method("logcumsumexp", "axis:dim"),
    "sort": helper("sort", "axis:dim=-1", "descending=False"),
    "argsort": method("argsort", "axis:dim=-1", "descending=False", "stable"),
    "sort_rows": helper("sort"),
    "order_rows": template("torch.argsort({0}, stable=True)"),
    "select_rows": template("torch.argsort({0}, stable=True)[:, :{k}]"),
    "search_rows": function("torch.searchsorted", "right"),
    "scatter_rows": helper("scatter_rows", "mode"),
    "leaky_relu": function("F.leaky_relu", "slope:negative_slope=0.01"),
    "elu": function("F.elu", "alpha=1.0"),
    "celu": function("F.celu", "alpha=1.0"),
    "selu": function("F.selu"),
    "hardtanh": function("F.hardtanh", "low:min_val=-1.0", "high:max_val=1.0"),
    "hardsigmoid": function("F.hardsigmoid"),
    "hardswish": function("F.hardswish"),
    "threshold": function("F.threshold", "threshold", "value"),
    "hardshrink": function("F.hardshrink", "bound:lambd=0.5"),
    "softshrink": function("F.softshrink", "bound:lambd=0.5"),
    "tanhshrink": function("F.tanhshrink"),
    "var": method("var", "axis:dim", "correction=1", "keepdims:keepdim=False"),
    "std": method("std", "axis:dim", "correction=1", "keepdims:keepdim=False"),
    "group_norm": _group_norm,
    "cross_entropy": function("F.cross_entropy", 'reduction="mean"'),
}

HELPERS = {
    "moveaxis": """
def moveaxis(x, source, destination):
    return torch.moveaxis(x, source, destination)
""",
    "sort": """
def sort(x, dim=-1, descending=False):
    return torch.sort(x, dim=dim, descending=descending, stable=True).values
""",
    "scatter_rows": """
def scatter_rows(base, index, updates, mode):
    if mode in ("set", "add"):
        return base.index_put((index,), updates, accumulate=mode == "add")
    reduce = {"mul": "prod", "max": "amax", "min": "amin"}[mode]
    places = index.reshape(-1, *[1] * (updates.ndim - 1)).expand_as(updates)
    return base.scatter_reduce(0, places, updates, reduce=reduce)
""",
}
IMPORTS = {"import torch\nimport torch.nn.functional as F": ""}
DTYPES = dtype_names(
    "torch.", bool="torch.bool", bfloat16="torch.bfloat16", index="torch.int64"
)


class TorchGenerator(LibraryGenerator):
    """Models as PyTorch."""

    target = "torch"
    title = "PyTorch"
    table = TABLE
    array = "torch.tensor({}, dtype={})"
    imports = IMPORTS
    before = ("@torch.no_grad()",)
    helpers = HELPERS
    dtypes = DTYPES
