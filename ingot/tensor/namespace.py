"""Every public name. Generated from the registry by `python -m ingot.tensor.generate`.

In: a name. Out: the function or type, whose file is imported when it is first asked for. Do not edit.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingot.tensor.attending import *
    from ingot.tensor.control import *
    from ingot.tensor.creation import *
    from ingot.tensor.custom import *
    from ingot.tensor.dropping import *
    from ingot.tensor.dtypes import *
    from ingot.tensor.evaluate import *
    from ingot.tensor.gradient import *
    from ingot.tensor.jacobians import *
    from ingot.tensor.look import *
    from ingot.tensor.protocol import *
    from ingot.tensor.recording import *
    from ingot.tensor.sets import *
    from ingot.tensor.standard import *
    from ingot.tensor.storage import *
    from ingot.tensor.transforms import *
    from ingot.tensor.functions.activation import *
    from ingot.tensor.functions.arranging import *
    from ingot.tensor.functions.attention import *
    from ingot.tensor.functions.attention_kinds import *
    from ingot.tensor.functions.borders import *
    from ingot.tensor.functions.channel_norm import *
    from ingot.tensor.functions.conv import *
    from ingot.tensor.functions.conv_kinds import *
    from ingot.tensor.functions.criterion import *
    from ingot.tensor.functions.ctc import *
    from ingot.tensor.functions.einsum import *
    from ingot.tensor.functions.elementwise import *
    from ingot.tensor.functions.floating import *
    from ingot.tensor.functions.gather import *
    from ingot.tensor.functions.indexing import *
    from ingot.tensor.functions.interpolation import *
    from ingot.tensor.functions.joining import *
    from ingot.tensor.functions.loss import *
    from ingot.tensor.functions.matmul import *
    from ingot.tensor.functions.movement import *
    from ingot.tensor.functions.norm import *
    from ingot.tensor.functions.numeric import *
    from ingot.tensor.functions.pool import *
    from ingot.tensor.functions.products import *
    from ingot.tensor.functions.rearranging import *
    from ingot.tensor.functions.rectifiers import *
    from ingot.tensor.functions.reduce import *
    from ingot.tensor.functions.scan import *
    from ingot.tensor.functions.scatter import *
    from ingot.tensor.functions.sort import *
    from ingot.tensor.functions.special import *
    from ingot.tensor.functions.statistics import *
    from ingot.tensor.functions.trigonometric import *
    from ingot.tensor.functions.unique import bincount as bincount, histogram as histogram, unique_values as unique_values
    from ingot.tensor.tensor import Tensor as Tensor
    from ingot.tensor.extensions import linalg as linalg

_NAMES = {
    "ingot.tensor.attending": (
        "attention "
    ),
    "ingot.tensor.control": (
        "call cond extern fori_loop function scan while_loop "
    ),
    "ingot.tensor.creation": (
        "Generator Variable arange as_tensor bernoulli empty empty_like exponential eye from_dlpack from_numpy full "
        "full_like glorot_normal glorot_uniform initial_seed is_tensor kaiming_normal kaiming_uniform linspace "
        "logspace manual_seed multinomial normal ones ones_like rand rand_like randint randint_like randn randn_like "
        "randperm scaled_uniform seed tensor truncated_normal uniform xavier_normal xavier_uniform zeros zeros_like "
    ),
    "ingot.tensor.custom": (
        "checkpoint custom_gradient "
    ),
    "ingot.tensor.dropping": (
        "dropout "
    ),
    "ingot.tensor.dtypes": (
        "bfloat16 bool float16 float32 float64 int16 int32 int64 int8 uint16 uint32 uint64 uint8 "
    ),
    "ingot.tensor.evaluate": (
        "eval "
    ),
    "ingot.tensor.gradient": (
        "grad value_and_grad vjp "
    ),
    "ingot.tensor.jacobians": (
        "hessian hvp jacfwd jacrev "
    ),
    "ingot.tensor.look": (
        "print_graph "
    ),
    "ingot.tensor.protocol": (
        "is_lazy "
    ),
    "ingot.tensor.recording": (
        "enable_grad is_grad_enabled no_grad set_grad_enabled "
    ),
    "ingot.tensor.sets": (
        "unique_all unique_counts unique_inverse "
    ),
    "ingot.tensor.standard": (
        "__array_api_version__ __array_namespace_info__ asarray can_cast e finfo iinfo inf isdtype nan newaxis pi "
        "result_type "
    ),
    "ingot.tensor.storage": (
        "load save "
    ),
    "ingot.tensor.transforms": (
        "jvp linearize vmap "
    ),
    "ingot.tensor.functions.activation": (
        "elu gelu hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid mish quick_gelu relu relu6 sigmoid "
        "silu softmax softplus softsign swish "
    ),
    "ingot.tensor.functions.arranging": (
        "diag diagonal moveaxis movedim narrow ravel repeat repeat_interleave roll rot90 tile tril triu unflatten "
        "unfold "
    ),
    "ingot.tensor.functions.attention": (
        "scaled_dot_product_attention "
    ),
    "ingot.tensor.functions.attention_kinds": (
        "grouped_query_attention "
    ),
    "ingot.tensor.functions.borders": (
        "pad "
    ),
    "ingot.tensor.functions.channel_norm": (
        "batch_norm group_norm instance_norm "
    ),
    "ingot.tensor.functions.conv": (
        "conv2d "
    ),
    "ingot.tensor.functions.conv_kinds": (
        "conv1d conv3d conv_transpose1d conv_transpose2d "
    ),
    "ingot.tensor.functions.criterion": (
        "binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity hinge_embedding_loss hinge_loss "
        "huber_loss kl_div l1_loss mse_loss nll_loss smooth_l1_loss soft_margin_loss "
    ),
    "ingot.tensor.functions.ctc": (
        "ctc_loss "
    ),
    "ingot.tensor.functions.einsum": (
        "einsum "
    ),
    "ingot.tensor.functions.elementwise": (
        "add astype bitcast bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
        "cast div divide eq equal erf exp exp2 floor ge greater greater_equal gt le less less_equal log log2 "
        "logical_and logical_not logical_or logical_xor lt maximum minimum mul multiply ne neg negative not_equal "
        "reciprocal round sin sqrt sub subtract tanh trunc where "
    ),
    "ingot.tensor.functions.floating": (
        "conj copysign fmax fmin fmod frac heaviside imag isclose isneginf isposinf lerp nan_to_num nextafter "
        "positive real signbit "
    ),
    "ingot.tensor.functions.gather": (
        "embedding gather index_select one_hot take take_along_axis "
    ),
    "ingot.tensor.functions.indexing": (
        "argwhere flatnonzero masked_select nonzero "
    ),
    "ingot.tensor.functions.interpolation": (
        "interpolate "
    ),
    "ingot.tensor.functions.joining": (
        "atleast_1d atleast_2d atleast_3d broadcast_arrays cat chunk concat diff fliplr flipud hstack meshgrid split "
        "stack unbind unstack vstack "
    ),
    "ingot.tensor.functions.loss": (
        "cross_entropy "
    ),
    "ingot.tensor.functions.matmul": (
        "dot linear matmul "
    ),
    "ingot.tensor.functions.movement": (
        "broadcast_to contiguous expand expand_dims flatten flip matrix_transpose permute permute_dims reshape shrink "
        "squeeze swapaxes swapdims transpose unsqueeze view "
    ),
    "ingot.tensor.functions.norm": (
        "layer_norm rms_norm "
    ),
    "ingot.tensor.functions.numeric": (
        "abs ceil clamp clip expm1 floor_divide isfinite isinf isnan log1p mod pow remainder rsqrt sign square "
    ),
    "ingot.tensor.functions.pool": (
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
        "adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d lp_pool3d max_pool1d "
        "max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool "
    ),
    "ingot.tensor.functions.products": (
        "addmm bmm cross inner kron mm mv outer tensordot trace vdot vecdot "
    ),
    "ingot.tensor.functions.rearranging": (
        "rearrange "
    ),
    "ingot.tensor.functions.rectifiers": (
        "celu glu hardshrink prelu selu softmin softshrink tanhshrink threshold "
    ),
    "ingot.tensor.functions.reduce": (
        "all any argmax argmin logsumexp max mean min prod std sum var "
    ),
    "ingot.tensor.functions.scan": (
        "cummax cummin cumprod cumsum cumulative_prod cumulative_sum logcumsumexp "
    ),
    "ingot.tensor.functions.scatter": (
        "index_add index_copy scatter scatter_add scatter_reduce "
    ),
    "ingot.tensor.functions.sort": (
        "argsort isin kthvalue median quantile searchsorted sort topk "
    ),
    "ingot.tensor.functions.special": (
        "digamma erfc erfinv lgamma log10 logaddexp logit xlogy "
    ),
    "ingot.tensor.functions.statistics": (
        "allclose count_nonzero nanmax nanmean nanmin nansum norm normalize ptp std_mean var_mean "
    ),
    "ingot.tensor.functions.trigonometric": (
        "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cos cosh deg2rad "
        "hypot rad2deg sinc sinh tan "
    ),
    "ingot.tensor.functions.unique": (
        "bincount histogram unique_all unique_counts unique_inverse unique_values "
    ),
}
PLACES: dict[str, str] = {
    name: f"{home}:{name}" for home, names in reversed(_NAMES.items()) for name in names.split()
}
PLACES |= {
    "Tensor": "ingot.tensor.tensor:Tensor",
    "linalg": "ingot.tensor.extensions.linalg:",
}


def look_up(name: str) -> Any:
    """What a public name stands for."""
    home, _, attribute = PLACES[name].partition(":")
    module = import_module(home)
    return getattr(module, attribute) if attribute else module


if not TYPE_CHECKING:
    __all__ = list(PLACES)

    def __getattr__(name: str) -> Any:
        if name not in PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = look_up(name)
        return found
