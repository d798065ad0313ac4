"""Functions: criterion. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node, optional
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def mse_loss(x: Value, target: Value, reduction: str = "mean", **unknown: Never) -> Tensor:
    """The square of the distance."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["mse_loss"](node(x), node(target), reduction=reduction))


def l1_loss(x: Value, target: Value, reduction: str = "mean", **unknown: Never) -> Tensor:
    """The distance."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["l1_loss"](node(x), node(target), reduction=reduction))


def huber_loss(x: Value, target: Value, reduction: str = "mean", delta: float = 1.0, **unknown: Never) -> Tensor:
    """Half the square of the distance up to delta; beyond, delta times the distance less delta / 2."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["huber_loss"](node(x), node(target), reduction=reduction, delta=delta))


def smooth_l1_loss(x: Value, target: Value, reduction: str = "mean", beta: float = 1.0, **unknown: Never) -> Tensor:
    """The distance, rounded off below beta: half its square over beta."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["smooth_l1_loss"](node(x), node(target), reduction=reduction, beta=beta))


def binary_cross_entropy(x: Value, target: Value, reduction: str = "mean", **unknown: Never) -> Tensor:
    """-(target * log(x) + (1 - target) * log(1 - x)), each log not below -100."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["binary_cross_entropy"](node(x), node(target), reduction=reduction))


def binary_cross_entropy_with_logits(
    x: Value,
    target: Value,
    pos_weight: Value | None = None,
    reduction: str = "mean",
    **unknown: Never,
) -> Tensor:
    """binary_cross_entropy of sigmoid(x), without overflow; pos_weight counts the positive targets for more."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["binary_cross_entropy_with_logits"](
        node(x),
        node(target),
        optional(pos_weight),
        reduction=reduction,
    ))


def kl_div(x: Value, target: Value, reduction: str = "mean", log_target: bool = False, **unknown: Never) -> Tensor:
    """target * (log(target) - x): x is a log of probabilities; "batchmean" divides the sum by the rows."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["kl_div"](node(x), node(target), reduction=reduction, log_target=log_target))


def nll_loss(
    x: Value,
    target: Value,
    weight: Value | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    **unknown: Never,
) -> Tensor:
    """-x at the target class: x is a log of probabilities (rows, classes, ...). Ignored targets count for nothing."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["nll_loss"](
        node(x),
        node(target),
        optional(weight),
        ignore_index=ignore_index,
        reduction=reduction,
    ))


def cosine_similarity(
    a: Value,
    b: Value,
    axis: int = unset(1),
    eps: float = 1e-08,
    *,
    dim: int = unset(1),
    **unknown: Never,
) -> Tensor:
    """The cosine of the angle between vectors along an axis; norms are taken as `eps` where they are less."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("cosine_similarity", "axis", axis, "dim", dim)
    return Tensor.of(build["cosine_similarity"](node(a), node(b), axis=axis, eps=eps))


def hinge_embedding_loss(
    x: Value,
    target: Value,
    margin: float = 1.0,
    reduction: str = "mean",
    **unknown: Never,
) -> Tensor:
    """x where the target is 1; where it is -1, how far x falls short of the margin."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["hinge_embedding_loss"](node(x), node(target), margin=margin, reduction=reduction))


def hinge_loss(x: Value, target: Value, reduction: str = "mean", **unknown: Never) -> Tensor:
    """max(0, 1 - target * x), targets being 1 and -1."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["hinge_loss"](node(x), node(target), reduction=reduction))


def soft_margin_loss(x: Value, target: Value, reduction: str = "mean", **unknown: Never) -> Tensor:
    """log(1 + exp(-target * x)), targets being 1 and -1."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["soft_margin_loss"](node(x), node(target), reduction=reduction))


