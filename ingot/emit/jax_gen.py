"""JAX. In: a model. Out: a module with a compiled `forward(input, params)`."""

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
    return Code(f"{first}.transpose({', '.join(map(str, axes))})")


CONV = (
    "stride=(1, 1)",
    "padding=((0, 0), (0, 0))",
    "dilation=(1, 1)",
    "groups=1",
)

TABLE: dict[str, Row] = {
    **OPERATORS,
    **numpy_like("jnp"),
    "erf": function("jax.lax.erf"),
    "contiguous": template("{0}"),
    "permute": _permute,
    "window": helper("window", "size", "axis"),
    "relu": function("jax.nn.relu"),
    "relu6": function("jax.nn.relu6"),
    "sigmoid": function("jax.nn.sigmoid"),
    "silu": function("jax.nn.silu"),
    "mish": function("jax.nn.mish"),
    "softplus": function("jax.nn.softplus"),
    "softsign": function("jax.nn.soft_sign"),
    "logsigmoid": function("jax.nn.log_sigmoid"),
    "gelu": helper("gelu", 'approximate="none"'),
    "softmax": function("jax.nn.softmax", "axis"),
    "log_softmax": function("jax.nn.log_softmax", "axis"),
    "logsumexp": function("jax.nn.logsumexp", *AXIS),
    "conv2d": helper("conv2d", *CONV),
    "layer_norm": helper("layer_norm", "axes=1", "eps=1e-05"),
    "rms_norm": helper("rms_norm", "axes=1", "eps=1e-05"),
    "scaled_dot_product_attention": helper("attention", "causal=False", "scale"),
    "erfc": function("jax.lax.erfc"),
    "erfinv": function("jax.lax.erf_inv"),
    "lgamma": function("jax.lax.lgamma"),
    "digamma": function("jax.lax.digamma"),
    "sort_rows": function("jnp.sort"),
    "order_rows": template("jnp.argsort({0}, stable=True)"),
    "select_rows": template("jnp.argsort({0}, stable=True)[:, :{k}]"),
    "search_rows": helper("search_rows", "right"),
    "scatter_rows": helper("scatter_rows", "mode"),
    "leaky_relu": function("jax.nn.leaky_relu", "slope:negative_slope=0.01"),
    "elu": function("jax.nn.elu", "alpha=1.0"),
    "celu": function("jax.nn.celu", "alpha=1.0"),
    "selu": function("jax.nn.selu"),
}

HELPERS = {
    "moveaxis": """
def moveaxis(x, source, destination):
    return jnp.moveaxis(x, source, destination)
""",
    "search_rows": """
def search_rows(rows, values, right):
    side = "right" if right else "left"
    search = jax.vmap(lambda r, v: jnp.searchsorted(r, v, side=side))
    return search(rows, values).astype(jnp.int64)
""",
    "scatter_rows": """
def scatter_rows(base, index, updates, mode):
    name = {"mul": "multiply"}.get(mode, mode)
    return getattr(base.at[index], name)(updates)
""",
    "gelu": """
def gelu(x, approximate="none"):
    return jax.nn.gelu(x, approximate=approximate == "tanh")
""",
    "window": """
def window(x, size, axis):
    places = jnp.arange(x.shape[axis] - size + 1)[:, None] + jnp.arange(size)
    return jnp.moveaxis(jnp.take(x, places, axis=axis), axis + 1, -1)
""",
    "layer_norm": """
def layer_norm(x, weight=None, bias=None, axes=1, eps=1e-5):
    last = tuple(range(-axes, 0))
    d = x - x.mean(axis=last, keepdims=True)
    y = d * jax.lax.rsqrt(jnp.square(d).mean(axis=last, keepdims=True) + eps)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias
""",
    "rms_norm": """
def rms_norm(x, weight=None, axes=1, eps=1e-5):
    last = tuple(range(-axes, 0))
    y = x * jax.lax.rsqrt(jnp.square(x).mean(axis=last, keepdims=True) + eps)
    return y if weight is None else y * weight
""",
    "attention": """
def attention(query, key, value, mask=None, causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ jnp.swapaxes(key, -1, -2) * scale
    if causal:
        scores = jnp.where(jnp.tri(*scores.shape[-2:], dtype=bool), scores, -jnp.inf)
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == bool else scores + mask
    return jax.nn.softmax(scores) @ value
""",
    "conv2d": """
def conv2d(x, weight, bias=None, stride=(1, 1), padding=((0, 0), (0, 0)), dilation=(1, 1), groups=1):
    y = jax.lax.conv_general_dilated(
        x, weight, stride, padding, rhs_dilation=dilation, feature_group_count=groups
    )
    return y if bias is None else y + bias[:, None, None]
""",
}

IMPORTS = {"import jax\nimport jax.numpy as jnp": ""}
DTYPES = dtype_names(
    "jnp.", bool="jnp.bool_", bfloat16="jnp.bfloat16", index="jnp.int32"
)


class JaxGenerator(LibraryGenerator):
    """Models as JAX."""

    target = "jax"
    title = "JAX"
    table = TABLE
    array = "jnp.array({}, dtype={})"
    imports = IMPORTS
    before = ("@jax.jit",)
    helpers = HELPERS
    dtypes = DTYPES
