"""NumPy. In: a model. Out: a module with `forward(input, params)`."""

from __future__ import annotations

from ingot.emit.arrays import AXIS, OPERATORS, numpy_like
from ingot.emit.code import (
    ATOM,
    Call,
    Code,
    Row,
    function,
    helper,
    template,
)
from ingot.emit.library import LibraryGenerator, dtype_names


def _permute(call: Call) -> Code:
    axes = call.attrs["axes"]
    first = call.args[0].at(ATOM)
    if axes == tuple(reversed(range(len(axes)))):
        return Code(f"{first}.T")
    inside = ", ".join(map(str, axes))
    return Code(f"{first}.transpose({inside})")


def _window(call: Call) -> Code:
    size, axis = call.literal(call.attrs["size"]), call.attrs["axis"]
    return Code(
        f"np.lib.stride_tricks.sliding_window_view({call.args[0].text}, {size}, axis={axis})"
    )


CONV = (
    "stride=(1, 1)",
    "padding=((0, 0), (0, 0))",
    "dilation=(1, 1)",
    "groups=1",
)
ATTENTION = ("causal=False", "scale")

TABLE: dict[str, Row] = {
    **OPERATORS,
    **numpy_like("np"),
    "erf": helper("erf"),
    "contiguous": function("np.ascontiguousarray"),
    "permute": _permute,
    "window": _window,
    "relu": template("np.maximum({0}, 0)"),
    "softmax": helper("softmax", "axis"),
    "log_softmax": helper("log_softmax", "axis"),
    "logsumexp": helper("logsumexp", *AXIS),
    "sigmoid": helper("sigmoid"),
    "silu": helper("silu"),
    "gelu": helper("gelu", 'approximate="none"'),
    "conv2d": helper("conv2d", *CONV),
    "layer_norm": helper("layer_norm", "axes=1", "eps=1e-05"),
    "rms_norm": helper("rms_norm", "axes=1", "eps=1e-05"),
    "scaled_dot_product_attention": helper("attention", *ATTENTION),
    "sort_rows": function("np.sort"),
    "order_rows": template("np.argsort({0}, stable=True)"),
    "select_rows": helper("select_rows", "k"),
    "search_rows": helper("search_rows", "right"),
    "scatter_rows": helper("scatter_rows", "mode"),
    "compact": helper("compact"),
}

HELPERS = {
    "moveaxis": """
def moveaxis(x, source, destination):
    return np.moveaxis(x, source, destination)
""",
    "search_rows": """
def search_rows(rows, values, right):
    side = "right" if right else "left"
    if rows.ndim == 1:
        return np.searchsorted(rows, values, side=side)
    found = [np.searchsorted(r, v, side=side) for r, v in zip(rows, values)]
    return np.array(found, dtype=np.int64)
""",
    "select_rows": """
def select_rows(keys, k):
    return np.argsort(keys, stable=True)[:, :k]
""",
    "scatter_rows": """
def scatter_rows(base, index, updates, mode):
    result = base.copy()
    if mode == "set":
        result[index] = updates
    else:
        at = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
        at[mode].at(result, index, updates)
    return result
""",
    "erf": """
def erf(x):
    return np.vectorize(math.erf, otypes=[x.dtype])(x)
""",
    "sigmoid": """
def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)
""",
    "silu": """
def silu(x):
    return x * sigmoid(x)
""",
    "gelu": """
def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(x * 0.7071067812))
""",
    "softmax": """
def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=axis, keepdims=True)
""",
    "log_softmax": """
def log_softmax(x, axis=-1):
    d = x - x.max(axis=axis, keepdims=True, initial=-np.inf)
    return d - np.log(np.exp(d).sum(axis=axis, keepdims=True))
""",
    "logsumexp": """
def logsumexp(x, axis=None, keepdims=False):
    m = x.max(axis=axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    total = m + np.log(np.exp(x - m).sum(axis=axis, keepdims=True))
    return total if keepdims else np.squeeze(total, axis=axis)
""",
    "layer_norm": """
def layer_norm(x, weight=None, bias=None, axes=1, eps=1e-5):
    last = tuple(range(-axes, 0))
    d = x - x.mean(axis=last, keepdims=True)
    y = d / np.sqrt((d * d).mean(axis=last, keepdims=True) + x.dtype.type(eps))
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias
""",
    "rms_norm": """
def rms_norm(x, weight=None, axes=1, eps=1e-5):
    last = tuple(range(-axes, 0))
    y = x / np.sqrt((x * x).mean(axis=last, keepdims=True) + x.dtype.type(eps))
    return y if weight is None else y * weight
""",
    "attention": """
def attention(query, key, value, mask=None, causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ np.swapaxes(key, -1, -2) * query.dtype.type(scale)
    if causal:
        keep = np.tri(*scores.shape[-2:], dtype=bool)
        scores = np.where(keep, scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return softmax(scores) @ value
""",
    "conv2d": """
def conv2d(x, weight, bias=None, stride=(1, 1), padding=((0, 0), (0, 0)), dilation=(1, 1), groups=1):
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    kernel = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    windows = windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    n, c, height, width, *taps = windows.shape
    windows = windows.reshape(n, groups, c // groups, height, width, *taps)
    weight = weight.reshape(groups, -1, *weight.shape[1:])
    y = np.einsum("ngchwij,gocij->ngohw", windows, weight, optimize=True)
    y = y.reshape(n, -1, height, width)
    return y if bias is None else y + bias[:, None, None]
""",
}

IMPORTS = {"import math": "math.", "import numpy as np": ""}
DTYPES = dtype_names("np.", bool="np.bool_", index="np.int64")


class NumPyGenerator(LibraryGenerator):
    """Models as NumPy."""

    target = "numpy"
    title = "NumPy"
    table = TABLE
    array = "np.array({}, dtype={})"
    imports = IMPORTS
    helpers = HELPERS
    dtypes = DTYPES
