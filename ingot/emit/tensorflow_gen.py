"""TensorFlow. In: a model. Out: a module with `forward(input, params)`, run eagerly."""

from __future__ import annotations

from ingot.emit.arrays import OPERATORS, sizes, where
from ingot.emit.code import Call, Code, Row, function, helper, template
from ingot.emit.library import LibraryGenerator, dtype_names


def _reshape(call: Call) -> Code:
    return Code(f"tf.reshape({call.args[0].text}, [{sizes(call)}])")


def _permute(call: Call) -> Code:
    axes = call.attrs["axes"]
    if axes == tuple(reversed(range(len(axes)))):
        return Code(f"tf.transpose({call.args[0].text})")
    return Code(f"tf.transpose({call.args[0].text}, {list(axes)})")


def _concat(call: Call) -> Code:
    parts = ", ".join(arg.text for arg in call.args)
    return Code(f"tf.concat([{parts}], axis={call.attrs['axis']})")


_AXIS = ("axis", "keepdims=False")
CONV = (
    "stride=(1, 1)",
    "padding=((0, 0), (0, 0))",
    "dilation=(1, 1)",
    "groups=1",
)

TABLE: dict[str, Row] = {
    **OPERATORS,
    "matmul": helper("matmul"),
    "logical_not": function("tf.logical_not"),
    "logical_and": function("tf.logical_and"),
    "logical_or": function("tf.logical_or"),
    "logical_xor": function("tf.math.logical_xor"),
    "bitwise_and": function("tf.bitwise.bitwise_and"),
    "bitwise_or": function("tf.bitwise.bitwise_or"),
    "bitwise_xor": function("tf.bitwise.bitwise_xor"),
    "bitwise_invert": function("tf.bitwise.invert"),
    "bitwise_left_shift": function("tf.bitwise.left_shift"),
    "bitwise_right_shift": function("tf.bitwise.right_shift"),
    "equal": function("tf.equal"),
    "not_equal": function("tf.not_equal"),
    "reciprocal": function("tf.math.reciprocal"),
    "sqrt": function("tf.sqrt"),
    "exp": function("tf.exp"),
    "exp2": template("tf.pow(2.0, {0})"),
    "expm1": function("tf.math.expm1"),
    "log": function("tf.math.log"),
    "log1p": function("tf.math.log1p"),
    "sin": function("tf.sin"),
    "tanh": function("tf.tanh"),
    "erf": function("tf.math.erf"),
    "abs": function("tf.abs"),
    "sign": function("tf.sign"),
    "floor": function("tf.floor"),
    "round": function("tf.round"),
    "maximum": function("tf.maximum"),
    "minimum": function("tf.minimum"),
    "where": where("tf.where"),
    "astype": template("tf.cast({0}, {dtype})"),
    "bitcast": template("tf.bitcast({0}, {dtype})"),
    "contiguous": function("tf.identity"),
    "reshape": _reshape,
    "broadcast_to": template("tf.broadcast_to({0}, {shape})"),
    "permute": _permute,
    "flip": template("tf.reverse({0}, axis={axes})"),
    "pad": template("tf.pad({0}, {widths})"),
    "window": helper("window", "size", "axis"),
    "iota": template("tf.range({size}, dtype=tf.int64)"),
    "sum": function("tf.reduce_sum", *_AXIS),
    "prod": function("tf.reduce_prod", *_AXIS),
    "max": function("tf.reduce_max", *_AXIS),
    "min": function("tf.reduce_min", *_AXIS),
    "any": function("tf.reduce_any", *_AXIS),
    "all": function("tf.reduce_all", *_AXIS),
    "mean": function("tf.reduce_mean", *_AXIS),
    "argmax": helper("argmax", *_AXIS),
    "argmin": helper("argmin", *_AXIS),
    "log2": helper("log2"),
    "trunc": helper("trunc"),
    "relu": function("tf.nn.relu"),
    "relu6": function("tf.nn.relu6"),
    "sigmoid": function("tf.sigmoid"),
    "silu": function("tf.nn.silu"),
    "softplus": function("tf.nn.softplus"),
    "softsign": function("tf.nn.softsign"),
    "logsigmoid": function("tf.math.log_sigmoid"),
    "gelu": helper("gelu", 'approximate="none"'),
    "softmax": function("tf.nn.softmax", "axis"),
    "log_softmax": function("tf.nn.log_softmax", "axis"),
    "logsumexp": function("tf.reduce_logsumexp", *_AXIS),
    "linear": helper("linear"),
    "conv2d": helper("conv2d", *CONV),
    "layer_norm": helper("layer_norm", "axes=1", "eps=1e-05"),
    "rms_norm": helper("rms_norm", "axes=1", "eps=1e-05"),
    "scaled_dot_product_attention": helper("attention", "causal=False", "scale"),
    **{name: function(f"tf.{name}") for name in "cos tan asin acos atan".split()},
    **{
        name: function(f"tf.math.{name}")
        for name in (
            "sinh cosh asinh acosh atanh atan2 erfc erfinv lgamma digamma nextafter"
        ).split()
    },
    "at_least": function("tf.maximum"),
    "at_most": function("tf.minimum"),
    "rest_of": function("tf.math.floormod"),
    "take": helper("take", "axes"),
    "concat": _concat,
    "cumsum": template("tf.cumsum({0}, axis={axis})"),
    "cumprod": template("tf.math.cumprod({0}, axis={axis})"),
    "sort_rows": function("tf.sort"),
    "order_rows": template("tf.cast(tf.argsort({0}, stable=True), tf.int64)"),
    "select_rows": template(
        "tf.cast(tf.argsort({0}, stable=True)[:, :{k}], tf.int64)"
    ),
    "search_rows": helper("search_rows", "right"),
    "scatter_rows": helper("scatter_rows", "mode"),
    "leaky_relu": function("tf.nn.leaky_relu", "slope:alpha=0.2"),
    "selu": function("tf.nn.selu"),
}

HELPERS = {
    "take": """
def take(x, *places, axes):
    rest = [axis for axis in range(x.shape.rank) if axis not in axes]
    front = tf.transpose(x, [*axes, *rest])
    return tf.gather_nd(front, tf.stack(places, axis=-1))
""",
    "search_rows": """
def search_rows(rows, values, right):
    side = "right" if right else "left"
    return tf.searchsorted(rows, values, side=side, out_type=tf.int64)
""",
    "scatter_rows": """
def scatter_rows(base, index, updates, mode):
    name = {"set": "update", "mul": "mul"}.get(mode, mode)
    if name == "mul":
        for place, value in zip(index.numpy(), updates):
            base = tf.tensor_scatter_nd_update(base, [[place]], [base[place] * value])
        return base
    return getattr(tf, f"tensor_scatter_nd_{name}")(base, index[:, None], updates)
""",
    "linear": """
def linear(x, weight, bias=None):
    y = matmul(x, tf.transpose(weight))
    return y if bias is None else y + bias
""",
    "log2": """
def log2(x):
    return tf.math.log(x) / tf.math.log(tf.constant(2, x.dtype))
""",
    "trunc": """
def trunc(x):
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))
""",
    "argmax": """
def argmax(x, axis=None, keepdims=False):
    if axis is not None:
        found = tf.argmax(x, axis=axis)
        return tf.expand_dims(found, axis) if keepdims else found
    found = tf.argmax(tf.reshape(x, [-1]))
    return tf.reshape(found, [1] * x.shape.rank) if keepdims else found
""",
    "argmin": """
def argmin(x, axis=None, keepdims=False):
    return argmax(tf.reduce_max(x) - x, axis, keepdims)
""",
    "matmul": """
def matmul(a, b):
    if a.shape.rank > 1 and b.shape.rank > 1:
        return a @ b
    return tf.tensordot(a, b, axes=[[-1], [max(b.shape.rank - 2, 0)]])
""",
    "gelu": """
def gelu(x, approximate="none"):
    return tf.nn.gelu(x, approximate=approximate == "tanh")
""",
    "window": """
def window(x, size, axis):
    places = tf.range(x.shape[axis] - size + 1)[:, None] + tf.range(size)
    taken = tf.gather(x, places, axis=axis)
    order = [a for a in range(taken.shape.rank) if a != axis + 1] + [axis + 1]
    return tf.transpose(taken, order)
""",
    "layer_norm": """
def layer_norm(x, weight=None, bias=None, axes=1, eps=1e-5):
    last = list(range(-axes, 0))
    d = x - tf.reduce_mean(x, axis=last, keepdims=True)
    y = d * tf.math.rsqrt(tf.reduce_mean(tf.square(d), axis=last, keepdims=True) + eps)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias
""",
    "rms_norm": """
def rms_norm(x, weight=None, axes=1, eps=1e-5):
    last = list(range(-axes, 0))
    y = x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axis=last, keepdims=True) + eps)
    return y if weight is None else y * weight
""",
    "attention": """
def attention(query, key, value, mask=None, causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = tf.matmul(query, key, transpose_b=True) * tf.cast(scale, query.dtype)
    hidden = tf.constant(float("-inf"), scores.dtype)
    if causal:
        rows, columns = scores.shape[-2:]
        keep = tf.range(columns) <= tf.range(rows)[:, None]
        scores = tf.where(keep, scores, hidden)
    if mask is not None:
        scores = tf.where(mask, scores, hidden) if mask.dtype == tf.bool else scores + mask
    return tf.nn.softmax(scores) @ value
""",
    "conv2d": """
def conv2d(x, weight, bias=None, stride=(1, 1), padding=((0, 0), (0, 0)), dilation=(1, 1), groups=1):
    x = tf.transpose(tf.pad(x, [(0, 0), (0, 0), *padding]), [0, 2, 3, 1])
    weight = tf.transpose(weight, [2, 3, 1, 0])
    parts = [
        tf.nn.convolution(a, w, strides=stride, padding="VALID", dilations=dilation)
        for a, w in zip(tf.split(x, groups, axis=3), tf.split(weight, groups, axis=3))
    ]
    y = tf.transpose(tf.concat(parts, axis=3), [0, 3, 1, 2])
    return y if bias is None else y + bias[:, None, None]
""",
}

IMPORTS = {"import tensorflow as tf": ""}
DTYPES = dtype_names(
    "tf.", bool="tf.bool", bfloat16="tf.bfloat16", index="tf.int64"
)


class TensorFlowGenerator(LibraryGenerator):
    """Models as TensorFlow."""

    target = "tensorflow"
    title = "TensorFlow"
    table = TABLE
    array = "tf.constant({}, dtype={})"
    imports = IMPORTS
    helpers = HELPERS
    dtypes = DTYPES
