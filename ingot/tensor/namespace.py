"""The functions of the namespace. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir.dtype import DType, Scalar
from ingot.ops.axis import Axes
from ingot.ops.conv import Padding, Pair
from ingot.ops.movement import Ranges, Sizes, Widths
from ingot.tensor.handle import Value, build, node, operand, optional, optional_operand
from ingot.tensor.tensor import Tensor


def reshape(x: Value, shape: Sizes) -> Tensor:
    """The same elements in the same order under another shape; one -1 is worked out."""
    return Tensor.of(build["reshape"](node(x), shape=shape))


def flatten(x: Value, start: int = 1, end: int = -1) -> Tensor:
    """Axes start..end as one axis."""
    return Tensor.of(build["flatten"](node(x), start=start, end=end))


def squeeze(x: Value, axis: Axes = None) -> Tensor:
    """Without the axes of size 1: all of them, or those named."""
    return Tensor.of(build["squeeze"](node(x), axis=axis))


def unsqueeze(x: Value, axis: int) -> Tensor:
    """With a new axis of size 1 at `axis`."""
    return Tensor.of(build["unsqueeze"](node(x), axis=axis))


def expand(x: Value, shape: Sizes) -> Tensor:
    """Axes of size 1 repeated to `shape`; -1 keeps a size."""
    return Tensor.of(build["expand"](node(x), shape=shape))


def permute(x: Value, axes: Sequence[int]) -> Tensor:
    """Axes in another order."""
    return Tensor.of(build["permute"](node(x), axes=axes))


def transpose(x: Value, first: int = -2, second: int = -1) -> Tensor:
    """Two axes exchanged."""
    return Tensor.of(build["transpose"](node(x), first=first, second=second))


def pad(x: Value, widths: Widths, value: Scalar = 0) -> Tensor:
    """`value` before and after each axis: one width, one (before, after), or one pair per axis."""
    return Tensor.of(build["pad"](node(x), widths=widths, value=value))


def shrink(x: Value, ranges: Ranges) -> Tensor:
    """Elements start..end-1 of each axis; None keeps an axis whole."""
    return Tensor.of(build["shrink"](node(x), ranges=ranges))


def flip(x: Value, axis: Axes = None) -> Tensor:
    """Elements in reverse order along the axes; None is all of them."""
    return Tensor.of(build["flip"](node(x), axis=axis))


def contiguous(x: Value) -> Tensor:
    """The same value, stored in memory in its own order."""
    return Tensor.of(build["contiguous"](node(x)))


def astype(x: Value, dtype: DType | str) -> Tensor:
    """The same values in another type; as bool, whether they differ from 0."""
    return Tensor.of(build["astype"](node(x), dtype=dtype))


def bitcast(x: Value, dtype: DType | str) -> Tensor:
    """The same bits read as another type of the same width."""
    return Tensor.of(build["bitcast"](node(x), dtype=dtype))


def negative(x: Value) -> Tensor:
    """-x."""
    return Tensor.of(build["negative"](node(x)))


def logical_not(x: Value) -> Tensor:
    """Whether x is 0 or False."""
    return Tensor.of(build["logical_not"](node(x)))


def bitwise_invert(x: Value) -> Tensor:
    """Every bit flipped."""
    return Tensor.of(build["bitwise_invert"](node(x)))


def reciprocal(x: Value) -> Tensor:
    """1 / x."""
    return Tensor.of(build["reciprocal"](node(x)))


def sqrt(x: Value) -> Tensor:
    """The square root."""
    return Tensor.of(build["sqrt"](node(x)))


def exp(x: Value) -> Tensor:
    """e to the power x."""
    return Tensor.of(build["exp"](node(x)))


def exp2(x: Value) -> Tensor:
    """2 to the power x."""
    return Tensor.of(build["exp2"](node(x)))


def log(x: Value) -> Tensor:
    """The natural logarithm."""
    return Tensor.of(build["log"](node(x)))


def log2(x: Value) -> Tensor:
    """The logarithm to base 2."""
    return Tensor.of(build["log2"](node(x)))


def sin(x: Value) -> Tensor:
    """The sine of x in radians."""
    return Tensor.of(build["sin"](node(x)))


def tanh(x: Value) -> Tensor:
    """The hyperbolic tangent."""
    return Tensor.of(build["tanh"](node(x)))


def erf(x: Value) -> Tensor:
    """The error function."""
    return Tensor.of(build["erf"](node(x)))


def floor(x: Value) -> Tensor:
    """The largest whole number that is not above x."""
    return Tensor.of(build["floor"](node(x)))


def trunc(x: Value) -> Tensor:
    """x without its fraction."""
    return Tensor.of(build["trunc"](node(x)))


def round(x: Value) -> Tensor:
    """The nearest whole number; halves go to the even one."""
    return Tensor.of(build["round"](node(x)))


def add(a: Value, b: Value) -> Tensor:
    """a + b."""
    return Tensor.of(build["add"](operand(a), operand(b)))


def subtract(a: Value, b: Value) -> Tensor:
    """a - b."""
    return Tensor.of(build["subtract"](operand(a), operand(b)))


def multiply(a: Value, b: Value) -> Tensor:
    """a * b."""
    return Tensor.of(build["multiply"](operand(a), operand(b)))


def maximum(a: Value, b: Value) -> Tensor:
    """The larger of a and b; NaN if either is."""
    return Tensor.of(build["maximum"](operand(a), operand(b)))


def minimum(a: Value, b: Value) -> Tensor:
    """The smaller of a and b; NaN if either is."""
    return Tensor.of(build["minimum"](operand(a), operand(b)))


def divide(a: Value, b: Value) -> Tensor:
    """a / b; integers become floats."""
    return Tensor.of(build["divide"](operand(a), operand(b)))


def equal(a: Value, b: Value) -> Tensor:
    """a == b."""
    return Tensor.of(build["equal"](operand(a), operand(b)))


def not_equal(a: Value, b: Value) -> Tensor:
    """a != b."""
    return Tensor.of(build["not_equal"](operand(a), operand(b)))


def less(a: Value, b: Value) -> Tensor:
    """a < b."""
    return Tensor.of(build["less"](operand(a), operand(b)))


def greater(a: Value, b: Value) -> Tensor:
    """a > b."""
    return Tensor.of(build["greater"](operand(a), operand(b)))


def less_equal(a: Value, b: Value) -> Tensor:
    """a <= b."""
    return Tensor.of(build["less_equal"](operand(a), operand(b)))


def greater_equal(a: Value, b: Value) -> Tensor:
    """a >= b."""
    return Tensor.of(build["greater_equal"](operand(a), operand(b)))


def logical_and(a: Value, b: Value) -> Tensor:
    """Whether both differ from 0."""
    return Tensor.of(build["logical_and"](operand(a), operand(b)))


def logical_or(a: Value, b: Value) -> Tensor:
    """Whether one differs from 0."""
    return Tensor.of(build["logical_or"](operand(a), operand(b)))


def logical_xor(a: Value, b: Value) -> Tensor:
    """Whether exactly one differs from 0."""
    return Tensor.of(build["logical_xor"](operand(a), operand(b)))


def bitwise_and(a: Value, b: Value) -> Tensor:
    """The bits that both have."""
    return Tensor.of(build["bitwise_and"](operand(a), operand(b)))


def bitwise_or(a: Value, b: Value) -> Tensor:
    """The bits that one has."""
    return Tensor.of(build["bitwise_or"](operand(a), operand(b)))


def bitwise_xor(a: Value, b: Value) -> Tensor:
    """The bits that exactly one has."""
    return Tensor.of(build["bitwise_xor"](operand(a), operand(b)))


def bitwise_left_shift(a: Value, b: Value) -> Tensor:
    """a moved b bits up."""
    return Tensor.of(build["bitwise_left_shift"](operand(a), operand(b)))


def bitwise_right_shift(a: Value, b: Value) -> Tensor:
    """a moved b bits down."""
    return Tensor.of(build["bitwise_right_shift"](operand(a), operand(b)))


def where(condition: Value, yes: Value, no: Value) -> Tensor:
    """`yes` where the condition holds, else `no`."""
    return Tensor.of(build["where"](node(condition), operand(yes), operand(no)))


def abs(x: Value) -> Tensor:
    """The distance from 0."""
    return Tensor.of(build["abs"](node(x)))


def sign(x: Value) -> Tensor:
    """-1, 0 or 1; a NaN stays."""
    return Tensor.of(build["sign"](node(x)))


def isnan(x: Value) -> Tensor:
    """Whether x is not a number."""
    return Tensor.of(build["isnan"](node(x)))


def isinf(x: Value) -> Tensor:
    """Whether x is infinite."""
    return Tensor.of(build["isinf"](node(x)))


def isfinite(x: Value) -> Tensor:
    """Whether x is neither infinite nor NaN."""
    return Tensor.of(build["isfinite"](node(x)))


def ceil(x: Value) -> Tensor:
    """The smallest whole number that is not below x."""
    return Tensor.of(build["ceil"](node(x)))


def square(x: Value) -> Tensor:
    """x * x."""
    return Tensor.of(build["square"](node(x)))


def rsqrt(x: Value) -> Tensor:
    """1 / sqrt(x)."""
    return Tensor.of(build["rsqrt"](node(x)))


def clip(x: Value, low: Value | None = None, high: Value | None = None) -> Tensor:
    """x, but not below `low` nor above `high`."""
    return Tensor.of(build["clip"](node(x), optional_operand(low), optional_operand(high)))


def pow(a: Value, b: Value) -> Tensor:
    """a to the power b."""
    return Tensor.of(build["pow"](operand(a), operand(b)))


def floor_divide(a: Value, b: Value) -> Tensor:
    """The largest whole number that is not above a / b; of integers, 0 where b is 0."""
    return Tensor.of(build["floor_divide"](operand(a), operand(b)))


def remainder(a: Value, b: Value) -> Tensor:
    """What is left of a after floor_divide, with the sign of b; of integers, 0 where b is 0."""
    return Tensor.of(build["remainder"](operand(a), operand(b)))


def log1p(x: Value) -> Tensor:
    """log(1 + x), exact for small x too."""
    return Tensor.of(build["log1p"](node(x)))


def expm1(x: Value) -> Tensor:
    """exp(x) - 1, exact for small x too."""
    return Tensor.of(build["expm1"](node(x)))


def sum(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum; integers are summed in 64 bits."""
    return Tensor.of(build["sum"](node(x), axis=axis, keepdims=keepdims))


def prod(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The product; integers are multiplied in 64 bits."""
    return Tensor.of(build["prod"](node(x), axis=axis, keepdims=keepdims))


def max(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest element; NaN if there is one."""
    return Tensor.of(build["max"](node(x), axis=axis, keepdims=keepdims))


def min(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest element; NaN if there is one."""
    return Tensor.of(build["min"](node(x), axis=axis, keepdims=keepdims))


def any(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether an element differs from 0."""
    return Tensor.of(build["any"](node(x), axis=axis, keepdims=keepdims))


def all(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether every element differs from 0."""
    return Tensor.of(build["all"](node(x), axis=axis, keepdims=keepdims))


def mean(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The arithmetic mean."""
    return Tensor.of(build["mean"](node(x), axis=axis, keepdims=keepdims))


def var(x: Value, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Tensor:
    """The variance: the mean square distance from the mean, over n - correction."""
    return Tensor.of(build["var"](node(x), axis=axis, correction=correction, keepdims=keepdims))


def std(x: Value, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation, over n - correction."""
    return Tensor.of(build["std"](node(x), axis=axis, correction=correction, keepdims=keepdims))


def logsumexp(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) without overflow."""
    return Tensor.of(build["logsumexp"](node(x), axis=axis, keepdims=keepdims))


def argmax(x: Value, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the largest element, the first of equals."""
    return Tensor.of(build["argmax"](node(x), axis=axis, keepdims=keepdims))


def argmin(x: Value, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the smallest element, the first of equals."""
    return Tensor.of(build["argmin"](node(x), axis=axis, keepdims=keepdims))


def relu(x: Value) -> Tensor:
    """x where it is above 0, else 0."""
    return Tensor.of(build["relu"](node(x)))


def relu6(x: Value) -> Tensor:
    """x between 0 and 6."""
    return Tensor.of(build["relu6"](node(x)))


def leaky_relu(x: Value, slope: float = 0.01) -> Tensor:
    """x where it is above 0, else slope * x."""
    return Tensor.of(build["leaky_relu"](node(x), slope=slope))


def elu(x: Value, alpha: float = 1.0) -> Tensor:
    """x where it is above 0, else alpha * (exp(x) - 1)."""
    return Tensor.of(build["elu"](node(x), alpha=alpha))


def sigmoid(x: Value) -> Tensor:
    """1 / (1 + exp(-x)); exp never sees a number above 0, so nothing overflows and small results stay exact."""
    return Tensor.of(build["sigmoid"](node(x)))


def logsigmoid(x: Value) -> Tensor:
    """log(sigmoid(x))."""
    return Tensor.of(build["logsigmoid"](node(x)))


def silu(x: Value) -> Tensor:
    """x * sigmoid(x)."""
    return Tensor.of(build["silu"](node(x)))


def softplus(x: Value) -> Tensor:
    """log(1 + exp(x))."""
    return Tensor.of(build["softplus"](node(x)))


def mish(x: Value) -> Tensor:
    """x * tanh(softplus(x))."""
    return Tensor.of(build["mish"](node(x)))


def softsign(x: Value) -> Tensor:
    """x / (1 + |x|)."""
    return Tensor.of(build["softsign"](node(x)))


def hardtanh(x: Value, low: float = -1.0, high: float = 1.0) -> Tensor:
    """x between low and high."""
    return Tensor.of(build["hardtanh"](node(x), low=low, high=high))


def hardsigmoid(x: Value) -> Tensor:
    """(x + 3) / 6 between 0 and 1."""
    return Tensor.of(build["hardsigmoid"](node(x)))


def hardswish(x: Value) -> Tensor:
    """x * hardsigmoid(x)."""
    return Tensor.of(build["hardswish"](node(x)))


def gelu(x: Value, approximate: str = "none") -> Tensor:
    """x times the normal distribution below x; approximate="tanh" uses tanh in place of erf."""
    return Tensor.of(build["gelu"](node(x), approximate=approximate))


def quick_gelu(x: Value) -> Tensor:
    """x * sigmoid(1.702 * x)."""
    return Tensor.of(build["quick_gelu"](node(x)))


def softmax(x: Value, axis: int = -1) -> Tensor:
    """exp(x) over its sum: numbers above 0 that add up to 1."""
    return Tensor.of(build["softmax"](node(x), axis=axis))


def log_softmax(x: Value, axis: int = -1) -> Tensor:
    """log(softmax(x)) without overflow."""
    return Tensor.of(build["log_softmax"](node(x), axis=axis))


def matmul(left: Value, right: Value) -> Tensor:
    """The matrix product over the last two axes; axes in front are broadcast."""
    return Tensor.of(build["matmul"](node(left), node(right)))


def linear(x: Value, weight: Value, bias: Value | None = None) -> Tensor:
    """x @ weight.T + bias."""
    return Tensor.of(build["linear"](node(x), node(weight), optional(bias)))


def scaled_dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query @ key.T * scale) @ value. A mask says which keys a query sees; causal: those not after it."""
    return Tensor.of(
        build["scaled_dot_product_attention"](
            node(query),
            node(key),
            node(value),
            optional(mask),
            causal=causal,
            scale=scale,
        )
    )


def conv2d(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Filters slid over images: a weighted sum of each window, for each output channel."""
    return Tensor.of(
        build["conv2d"](
            node(x),
            node(weight),
            optional(bias),
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        )
    )


def cross_entropy(logits: Value, target: Value, reduction: str = "mean") -> Tensor:
    """-log(softmax(logits)) at the target class. A target that is no class gives infinity."""
    return Tensor.of(build["cross_entropy"](node(logits), node(target), reduction=reduction))


def layer_norm(
    x: Value,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-05,
    axes: int = 1,
) -> Tensor:
    """The last axes shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
    return Tensor.of(build["layer_norm"](node(x), optional(weight), optional(bias), eps=eps, axes=axes))


def rms_norm(x: Value, weight: Value | None = None, eps: float = 1e-05, axes: int = 1) -> Tensor:
    """The last axes scaled to mean square 1, then times weight."""
    return Tensor.of(build["rms_norm"](node(x), optional(weight), eps=eps, axes=axes))


view = reshape
expand_dims = unsqueeze
broadcast_to = expand
permute_dims = permute
matrix_transpose = transpose
cast = astype
neg = negative
sub = subtract
mul = multiply
div = divide
eq = equal
ne = not_equal
lt = less
gt = greater
le = less_equal
ge = greater_equal
clamp = clip
mod = remainder
swish = silu
dot = matmul
