"""The methods of a tensor. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from ingot.ir.dtype import DType, Scalar
from ingot.ops.axis import Axes
from ingot.ops.conv import Padding, Pair
from ingot.ops.movement import Dim, Ranges, Widths
from ingot.tensor.handle import Handle, Value, build, node, operand, optional, optional_operand, spread


class Methods(Handle):
    """Every op as a method."""

    __slots__ = ()

    def reshape(self, *shape: Dim | Sequence[Dim]) -> Self:
        """The same elements in the same order under another shape; one -1 is worked out."""
        return self.of(build["reshape"](self.uop, shape=spread(shape)))

    def flatten(self, start: int = 0, end: int = -1) -> Self:
        """Axes start..end as one axis."""
        return self.of(build["flatten"](self.uop, start=start, end=end))

    def squeeze(self, axis: Axes = None) -> Self:
        """Without the axes of size 1: all of them, or those named."""
        return self.of(build["squeeze"](self.uop, axis=axis))

    def unsqueeze(self, axis: int) -> Self:
        """With a new axis of size 1 at `axis`."""
        return self.of(build["unsqueeze"](self.uop, axis=axis))

    def expand(self, *shape: Dim | Sequence[Dim]) -> Self:
        """Axes of size 1 repeated to `shape`; -1 keeps a size."""
        return self.of(build["expand"](self.uop, shape=spread(shape)))

    def permute(self, *axes: int | Sequence[int]) -> Self:
        """Axes in another order."""
        return self.of(build["permute"](self.uop, axes=spread(axes)))

    def transpose(self, first: int = -2, second: int = -1) -> Self:
        """Two axes exchanged."""
        return self.of(build["transpose"](self.uop, first=first, second=second))

    def pad(self, widths: Widths, value: Scalar = 0) -> Self:
        """`value` before and after each axis: one width, one (before, after), or one pair per axis."""
        return self.of(build["pad"](self.uop, widths=widths, value=value))

    def shrink(self, ranges: Ranges) -> Self:
        """Elements start..end-1 of each axis; None keeps an axis whole."""
        return self.of(build["shrink"](self.uop, ranges=ranges))

    def flip(self, axis: Axes = None) -> Self:
        """Elements in reverse order along the axes; None is all of them."""
        return self.of(build["flip"](self.uop, axis=axis))

    def contiguous(self) -> Self:
        """The same value, stored in memory in its own order."""
        return self.of(build["contiguous"](self.uop))

    def astype(self, dtype: DType | str) -> Self:
        """The same values in another type; as bool, whether they differ from 0."""
        return self.of(build["astype"](self.uop, dtype=dtype))

    def bitcast(self, dtype: DType | str) -> Self:
        """The same bits read as another type of the same width."""
        return self.of(build["bitcast"](self.uop, dtype=dtype))

    def negative(self) -> Self:
        """-x."""
        return self.of(build["negative"](self.uop))

    def logical_not(self) -> Self:
        """Whether x is 0 or False."""
        return self.of(build["logical_not"](self.uop))

    def bitwise_invert(self) -> Self:
        """Every bit flipped."""
        return self.of(build["bitwise_invert"](self.uop))

    def reciprocal(self) -> Self:
        """1 / x."""
        return self.of(build["reciprocal"](self.uop))

    def sqrt(self) -> Self:
        """The square root."""
        return self.of(build["sqrt"](self.uop))

    def exp(self) -> Self:
        """e to the power x."""
        return self.of(build["exp"](self.uop))

    def exp2(self) -> Self:
        """2 to the power x."""
        return self.of(build["exp2"](self.uop))

    def log(self) -> Self:
        """The natural logarithm."""
        return self.of(build["log"](self.uop))

    def log2(self) -> Self:
        """The logarithm to base 2."""
        return self.of(build["log2"](self.uop))

    def sin(self) -> Self:
        """The sine of x in radians."""
        return self.of(build["sin"](self.uop))

    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return self.of(build["tanh"](self.uop))

    def erf(self) -> Self:
        """The error function."""
        return self.of(build["erf"](self.uop))

    def floor(self) -> Self:
        """The largest whole number that is not above x."""
        return self.of(build["floor"](self.uop))

    def trunc(self) -> Self:
        """x without its fraction."""
        return self.of(build["trunc"](self.uop))

    def round(self) -> Self:
        """The nearest whole number; halves go to the even one."""
        return self.of(build["round"](self.uop))

    def add(self, b: Value) -> Self:
        """a + b."""
        return self.of(build["add"](self.uop, operand(b)))

    def subtract(self, b: Value) -> Self:
        """a - b."""
        return self.of(build["subtract"](self.uop, operand(b)))

    def multiply(self, b: Value) -> Self:
        """a * b."""
        return self.of(build["multiply"](self.uop, operand(b)))

    def maximum(self, b: Value) -> Self:
        """The larger of a and b; NaN if either is."""
        return self.of(build["maximum"](self.uop, operand(b)))

    def minimum(self, b: Value) -> Self:
        """The smaller of a and b; NaN if either is."""
        return self.of(build["minimum"](self.uop, operand(b)))

    def divide(self, b: Value) -> Self:
        """a / b; integers become floats."""
        return self.of(build["divide"](self.uop, operand(b)))

    def equal(self, b: Value) -> Self:
        """a == b."""
        return self.of(build["equal"](self.uop, operand(b)))

    def not_equal(self, b: Value) -> Self:
        """a != b."""
        return self.of(build["not_equal"](self.uop, operand(b)))

    def less(self, b: Value) -> Self:
        """a < b."""
        return self.of(build["less"](self.uop, operand(b)))

    def greater(self, b: Value) -> Self:
        """a > b."""
        return self.of(build["greater"](self.uop, operand(b)))

    def less_equal(self, b: Value) -> Self:
        """a <= b."""
        return self.of(build["less_equal"](self.uop, operand(b)))

    def greater_equal(self, b: Value) -> Self:
        """a >= b."""
        return self.of(build["greater_equal"](self.uop, operand(b)))

    def logical_and(self, b: Value) -> Self:
        """Whether both differ from 0."""
        return self.of(build["logical_and"](self.uop, operand(b)))

    def logical_or(self, b: Value) -> Self:
        """Whether one differs from 0."""
        return self.of(build["logical_or"](self.uop, operand(b)))

    def logical_xor(self, b: Value) -> Self:
        """Whether exactly one differs from 0."""
        return self.of(build["logical_xor"](self.uop, operand(b)))

    def bitwise_and(self, b: Value) -> Self:
        """The bits that both have."""
        return self.of(build["bitwise_and"](self.uop, operand(b)))

    def bitwise_or(self, b: Value) -> Self:
        """The bits that one has."""
        return self.of(build["bitwise_or"](self.uop, operand(b)))

    def bitwise_xor(self, b: Value) -> Self:
        """The bits that exactly one has."""
        return self.of(build["bitwise_xor"](self.uop, operand(b)))

    def bitwise_left_shift(self, b: Value) -> Self:
        """a moved b bits up."""
        return self.of(build["bitwise_left_shift"](self.uop, operand(b)))

    def bitwise_right_shift(self, b: Value) -> Self:
        """a moved b bits down."""
        return self.of(build["bitwise_right_shift"](self.uop, operand(b)))

    def where(self, yes: Value, no: Value) -> Self:
        """`yes` where the condition holds, else `no`."""
        return self.of(build["where"](self.uop, operand(yes), operand(no)))

    def abs(self) -> Self:
        """The distance from 0."""
        return self.of(build["abs"](self.uop))

    def sign(self) -> Self:
        """-1, 0 or 1; a NaN stays."""
        return self.of(build["sign"](self.uop))

    def isnan(self) -> Self:
        """Whether x is not a number."""
        return self.of(build["isnan"](self.uop))

    def isinf(self) -> Self:
        """Whether x is infinite."""
        return self.of(build["isinf"](self.uop))

    def isfinite(self) -> Self:
        """Whether x is neither infinite nor NaN."""
        return self.of(build["isfinite"](self.uop))

    def ceil(self) -> Self:
        """The smallest whole number that is not below x."""
        return self.of(build["ceil"](self.uop))

    def square(self) -> Self:
        """x * x."""
        return self.of(build["square"](self.uop))

    def rsqrt(self) -> Self:
        """1 / sqrt(x)."""
        return self.of(build["rsqrt"](self.uop))

    def clip(self, low: Value | None = None, high: Value | None = None) -> Self:
        """x, but not below `low` nor above `high`."""
        return self.of(build["clip"](self.uop, optional_operand(low), optional_operand(high)))

    def pow(self, b: Value) -> Self:
        """a to the power b."""
        return self.of(build["pow"](self.uop, operand(b)))

    def floor_divide(self, b: Value) -> Self:
        """The largest whole number that is not above a / b; of integers, 0 where b is 0."""
        return self.of(build["floor_divide"](self.uop, operand(b)))

    def remainder(self, b: Value) -> Self:
        """What is left of a after floor_divide, with the sign of b; of integers, 0 where b is 0."""
        return self.of(build["remainder"](self.uop, operand(b)))

    def log1p(self) -> Self:
        """log(1 + x), exact for small x too."""
        return self.of(build["log1p"](self.uop))

    def expm1(self) -> Self:
        """exp(x) - 1, exact for small x too."""
        return self.of(build["expm1"](self.uop))

    def sum(self, axis: Axes = None, keepdims: bool = False) -> Self:
        """The sum; integers are summed in 64 bits."""
        return self.of(build["sum"](self.uop, axis=axis, keepdims=keepdims))

    def prod(self, axis: Axes = None, keepdims: bool = False) -> Self:
        """The product; integers are multiplied in 64 bits."""
        return self.of(build["prod"](self.uop, axis=axis, keepdims=keepdims))

    def max(self, axis: Axes = None, keepdims: bool = False) -> Self:
        """The largest element; NaN if there is one."""
        return self.of(build["max"](self.uop, axis=axis, keepdims=keepdims))

    def min(self, axis: Axes = None, keepdims: bool = False) -> Self:
        """The smallest element; NaN if there is one."""
        return self.of(build["min"](self.uop, axis=axis, keepdims=keepdims))

    def any(self, axis: Axes = None, keepdims: bool = False) -> Self:
        """Whether an element differs from 0."""
        return self.of(build["any"](self.uop, axis=axis, keepdims=keepdims))

    def all(self, axis: Axes = None, keepdims: bool = False) -> Self:
        """Whether every element differs from 0."""
        return self.of(build["all"](self.uop, axis=axis, keepdims=keepdims))

    def mean(self, axis: Axes = None, keepdims: bool = False) -> Self:
        """The arithmetic mean."""
        return self.of(build["mean"](self.uop, axis=axis, keepdims=keepdims))

    def var(self, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> Self:
        """The variance: the mean square distance from the mean, over n - correction."""
        return self.of(build["var"](self.uop, axis=axis, correction=correction, keepdims=keepdims))

    def std(self, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> Self:
        """The standard deviation, over n - correction."""
        return self.of(build["std"](self.uop, axis=axis, correction=correction, keepdims=keepdims))

    def logsumexp(self, axis: Axes = None, keepdims: bool = False) -> Self:
        """log(sum(exp(x))) without overflow."""
        return self.of(build["logsumexp"](self.uop, axis=axis, keepdims=keepdims))

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Self:
        """The place of the largest element, the first of equals."""
        return self.of(build["argmax"](self.uop, axis=axis, keepdims=keepdims))

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Self:
        """The place of the smallest element, the first of equals."""
        return self.of(build["argmin"](self.uop, axis=axis, keepdims=keepdims))

    def relu(self) -> Self:
        """x where it is above 0, else 0."""
        return self.of(build["relu"](self.uop))

    def relu6(self) -> Self:
        """x between 0 and 6."""
        return self.of(build["relu6"](self.uop))

    def leaky_relu(self, slope: float = 0.01) -> Self:
        """x where it is above 0, else slope * x."""
        return self.of(build["leaky_relu"](self.uop, slope=slope))

    def elu(self, alpha: float = 1.0) -> Self:
        """x where it is above 0, else alpha * (exp(x) - 1)."""
        return self.of(build["elu"](self.uop, alpha=alpha))

    def sigmoid(self) -> Self:
        """1 / (1 + exp(-x)); exp never sees a number above 0, so nothing overflows and small results stay exact."""
        return self.of(build["sigmoid"](self.uop))

    def logsigmoid(self) -> Self:
        """log(sigmoid(x))."""
        return self.of(build["logsigmoid"](self.uop))

    def silu(self) -> Self:
        """x * sigmoid(x)."""
        return self.of(build["silu"](self.uop))

    def softplus(self) -> Self:
        """log(1 + exp(x))."""
        return self.of(build["softplus"](self.uop))

    def mish(self) -> Self:
        """x * tanh(softplus(x))."""
        return self.of(build["mish"](self.uop))

    def softsign(self) -> Self:
        """x / (1 + |x|)."""
        return self.of(build["softsign"](self.uop))

    def hardtanh(self, low: float = -1.0, high: float = 1.0) -> Self:
        """x between low and high."""
        return self.of(build["hardtanh"](self.uop, low=low, high=high))

    def hardsigmoid(self) -> Self:
        """(x + 3) / 6 between 0 and 1."""
        return self.of(build["hardsigmoid"](self.uop))

    def hardswish(self) -> Self:
        """x * hardsigmoid(x)."""
        return self.of(build["hardswish"](self.uop))

    def gelu(self, approximate: str = "none") -> Self:
        """x times the normal distribution below x; approximate="tanh" uses tanh in place of erf."""
        return self.of(build["gelu"](self.uop, approximate=approximate))

    def quick_gelu(self) -> Self:
        """x * sigmoid(1.702 * x)."""
        return self.of(build["quick_gelu"](self.uop))

    def softmax(self, axis: int = -1) -> Self:
        """exp(x) over its sum: numbers above 0 that add up to 1."""
        return self.of(build["softmax"](self.uop, axis=axis))

    def log_softmax(self, axis: int = -1) -> Self:
        """log(softmax(x)) without overflow."""
        return self.of(build["log_softmax"](self.uop, axis=axis))

    def matmul(self, right: Value) -> Self:
        """The matrix product over the last two axes; axes in front are broadcast."""
        return self.of(build["matmul"](self.uop, node(right)))

    def linear(self, weight: Value, bias: Value | None = None) -> Self:
        """x @ weight.T + bias."""
        return self.of(build["linear"](self.uop, node(weight), optional(bias)))

    def scaled_dot_product_attention(
        self,
        key: Value,
        value: Value,
        mask: Value | None = None,
        causal: bool = False,
        scale: float | None = None,
    ) -> Self:
        """softmax(query @ key.T * scale) @ value. A mask says which keys a query sees; causal: those not after it."""
        return self.of(
            build["scaled_dot_product_attention"](
                self.uop,
                node(key),
                node(value),
                optional(mask),
                causal=causal,
                scale=scale,
            )
        )

    def conv2d(
        self,
        weight: Value,
        bias: Value | None = None,
        stride: Pair = 1,
        padding: Padding = 0,
        dilation: Pair = 1,
        groups: int = 1,
    ) -> Self:
        """Filters slid over images: a weighted sum of each window, for each output channel."""
        return self.of(
            build["conv2d"](
                self.uop,
                node(weight),
                optional(bias),
                stride=stride,
                padding=padding,
                dilation=dilation,
                groups=groups,
            )
        )

    def cross_entropy(self, target: Value, reduction: str = "mean") -> Self:
        """-log(softmax(logits)) at the target class. A target that is no class gives infinity."""
        return self.of(build["cross_entropy"](self.uop, node(target), reduction=reduction))

    def layer_norm(
        self,
        weight: Value | None = None,
        bias: Value | None = None,
        eps: float = 1e-05,
        axes: int = 1,
    ) -> Self:
        """The last axes shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
        return self.of(build["layer_norm"](self.uop, optional(weight), optional(bias), eps=eps, axes=axes))

    def rms_norm(self, weight: Value | None = None, eps: float = 1e-05, axes: int = 1) -> Self:
        """The last axes scaled to mean square 1, then times weight."""
        return self.of(build["rms_norm"](self.uop, optional(weight), eps=eps, axes=axes))

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
