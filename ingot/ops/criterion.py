"""More losses: how far predictions are from targets. In: tensors of one shape, or classes. Out: one number, or one each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ops import elementwise as ew
from ingot.ops.axis import normal_axis
from ingot.ops.elementwise import as_float, constant
from ingot.ops.gather import along_axis
from ingot.ops.matmul import promoted
from ingot.ops.movement import broadcast_to, reshape, show, unsqueeze
from ingot.ops.numeric import abs_, log1p, square
from ingot.ops.op import Bad, primitive
from ingot.ops.reduce import mean, sum_
from ingot.ops.sample import floats, ints, sample
from ingot.ops.special import xlogy
from ingot.ops.statistics import norm

Loss = Callable[..., UOp]
_REDUCTIONS = ("mean", "sum", "none")


def _reduced(name: str, losses: UOp, reduction: str) -> UOp:
    if reduction not in _REDUCTIONS:
        raise ArgumentError(
            f"{name}: reduction is {reduction!r}; wanted 'mean', 'sum' or 'none'",
            fix="'mean' is the default; 'none' keeps the loss of every element",
        )
    if reduction == "none":
        return losses
    return mean(losses) if reduction == "mean" else sum_(losses)


def _both(name: str, x: UOp, target: UOp) -> tuple[UOp, UOp]:
    (left, right), _ = promoted(as_float(x), as_float(target))
    assert left is not None
    assert right is not None
    a, b = ew.operands(name, left, right)
    return a, b


def reduced_ref(losses: Any, reduction: str = "mean") -> Any:
    """What a reduction makes of the losses."""
    if reduction == "none":
        return losses
    return np.mean(losses) if reduction == "mean" else np.sum(losses)


def _bad(name: str) -> tuple[Bad, ...]:
    return (
        (
            sample(floats(2, 3), floats(2, 4)),
            f"{name}: shapes (2, 3) and (2, 4) do not broadcast",
        ),
        (
            sample(floats(3), floats(3), reduction="max"),
            f"{name}: reduction is 'max'; wanted 'mean', 'sum' or 'none'",
        ),
    )


def _samples(low: float = -3, high: float = 3, **attrs: Any) -> tuple[Any, ...]:
    x = floats(3, 4, low=low, high=high)
    return (
        sample(x, x),
        sample(x, x, reduction="sum"),
        sample(x, x, reduction="none", **attrs),
    )


# --- distances ----------------------------------------------------------------------------------------------------


def mse_loss(x: UOp, target: UOp, reduction: str = "mean") -> UOp:
    """The square of the distance."""
    a, b = _both("mse_loss", x, target)
    return _reduced("mse_loss", square(a - b), reduction)


def l1_loss(x: UOp, target: UOp, reduction: str = "mean") -> UOp:
    """The distance."""
    a, b = _both("l1_loss", x, target)
    return _reduced("l1_loss", abs_(a - b), reduction)


def huber_loss(
    x: UOp, target: UOp, reduction: str = "mean", delta: float = 1.0
) -> UOp:
    """Half the square of the distance up to delta; beyond, delta times the distance less delta / 2."""
    a, b = _both("huber_loss", x, target)
    distance = abs_(a - b)
    near = ew.multiply(square(distance), 0.5)
    far = ew.multiply(ew.subtract(distance, 0.5 * delta), delta)
    losses = ew.where(ew.less_equal(distance, delta), near, far)
    return _reduced("huber_loss", losses, reduction)


def smooth_l1_loss(
    x: UOp, target: UOp, reduction: str = "mean", beta: float = 1.0
) -> UOp:
    """The distance, rounded off below beta: half its square over beta."""
    a, b = _both("smooth_l1_loss", x, target)
    distance = abs_(a - b)
    if beta == 0:
        return _reduced("smooth_l1_loss", distance, reduction)
    near = ew.multiply(square(distance), 0.5 / beta)
    losses = ew.where(
        ew.less(distance, beta), near, ew.subtract(distance, 0.5 * beta)
    )
    return _reduced("smooth_l1_loss", losses, reduction)


def _huber(x: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    d = np.abs(x - target)
    losses = np.where(d <= delta, d**2 / 2, delta * (d - delta / 2))
    return reduced_ref(losses, reduction)


def _smooth(x: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    return _huber(x, target, reduction, beta) / beta


def _declare(
    name: str, build: Loss, ref: Any, samples: Any, ulp: float = 16
) -> None:
    primitive(
        name,
        build,
        ref=ref,
        samples=samples,
        bad_samples=_bad(name),
        ulp=ulp,
        normwise=True,
    )


_declare(
    "mse_loss",
    mse_loss,
    lambda x, target, reduction="mean": reduced_ref((x - target) ** 2, reduction),
    _samples(),
)
_declare(
    "l1_loss",
    l1_loss,
    lambda x, target, reduction="mean": reduced_ref(np.abs(x - target), reduction),
    _samples(),
)
_declare("huber_loss", huber_loss, _huber, _samples(delta=0.5))
_declare("smooth_l1_loss", smooth_l1_loss, _smooth, _samples(beta=0.5))


# --- probabilities ------------------------------------------------------------------------------------------------


def binary_cross_entropy(x: UOp, target: UOp, reduction: str = "mean") -> UOp:
    """-(target * log(x) + (1 - target) * log(1 - x)), each log not below -100."""
    a, b = _both("binary_cross_entropy", x, target)
    yes = ew.maximum(ew.log(a), -100.0)
    no = ew.maximum(log1p(-a), -100.0)
    losses = -(b * yes + ew.subtract(1.0, b) * no)
    return _reduced("binary_cross_entropy", losses, reduction)


def binary_cross_entropy_with_logits(
    x: UOp,
    target: UOp,
    pos_weight: UOp | None = None,
    *,
    reduction: str = "mean",
) -> UOp:
    """binary_cross_entropy of sigmoid(x), without overflow; pos_weight counts the positive targets for more."""
    name = "binary_cross_entropy_with_logits"
    a, b = _both(name, x, target)
    tail = ew.add(log1p(ew.exp(-abs_(a))), ew.maximum(-a, 0.0))
    if pos_weight is None:
        losses = ew.subtract(1.0, b) * a + tail
    else:
        more = ew.add(ew.multiply(ew.subtract(pos_weight, 1.0), b), 1.0)
        losses = ew.add(
            ew.multiply(ew.subtract(1.0, b), a), ew.multiply(more, tail)
        )
    return _reduced(name, losses, reduction)


def kl_div(
    x: UOp, target: UOp, reduction: str = "mean", log_target: bool = False
) -> UOp:
    """target * (log(target) - x): x is a log of probabilities; "batchmean" divides the sum by the rows."""
    a, b = _both("kl_div", x, target)
    losses = ew.exp(b) * (b - a) if log_target else ew.subtract(xlogy(b, b), b * a)
    if reduction == "batchmean":
        return ew.divide(sum_(losses), float(_rows(losses)))
    return _reduced("kl_div", losses, reduction)


def _rows(x: UOp) -> int:
    n = x.shape[0] if x.shape else 1
    if not isinstance(n, int):
        raise ShapeError(
            f"kl_div: 'batchmean' needs a known number of rows in {show(x.shape)}"
        )
    return n


def _bce_ref(x: Any, target: Any, reduction: str = "mean") -> Any:
    yes, no = np.maximum(np.log(x), -100), np.maximum(np.log1p(-x), -100)
    return reduced_ref(-(target * yes + (1 - target) * no), reduction)


def _logits_ref(
    x: Any, target: Any, pos_weight: Any = 1.0, reduction: str = "mean"
) -> Any:
    yes, no = np.logaddexp(0, -x), np.logaddexp(0, x)
    return reduced_ref(pos_weight * target * yes + (1 - target) * no, reduction)


def _kl_ref(
    x: Any, target: Any, reduction: str = "mean", log_target: bool = False
) -> Any:
    losses = (
        np.exp(target) * (target - x)
        if log_target
        else target * (np.log(target) - x)
    )
    if reduction == "batchmean":
        return losses.sum() / len(x)
    return reduced_ref(losses, reduction)


_declare(
    "binary_cross_entropy", binary_cross_entropy, _bce_ref, _samples(0.05, 0.95)
)
_declare(
    "binary_cross_entropy_with_logits",
    binary_cross_entropy_with_logits,
    _logits_ref,
    (
        sample(floats(3, 4), floats(3, 4, low=0, high=1)),
        sample(
            floats(3, 4), floats(3, 4, low=0, high=1), floats(4), reduction="sum"
        ),
    ),
)
_declare(
    "kl_div",
    kl_div,
    _kl_ref,
    (
        sample(floats(3, 4), floats(3, 4, low=0.1, high=1)),
        sample(floats(3, 4), floats(3, 4), log_target=True, reduction="none"),
        sample(floats(3, 4), floats(3, 4, low=0.1, high=1), reduction="batchmean"),
    ),
)


# --- classes ------------------------------------------------------------------------------------------------------


def nll_loss(
    x: UOp,
    target: UOp,
    weight: UOp | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> UOp:
    """-x at the target class: x is a log of probabilities (rows, classes, ...). Ignored targets count for nothing."""
    given = as_float(x)
    if not target.dtype.is_int:
        raise DTypeError(
            f"nll_loss: target is {target.dtype}; wanted whole numbers, the class of each row",
            fix="convert it with .astype('int64')",
        )
    axis = 1 if len(x.shape) > 1 else 0
    if not x.shape or (*x.shape[:axis], *x.shape[axis + 1 :]) != target.shape:
        raise ShapeError(
            f"nll_loss: x is {show(x.shape)}, target is {show(target.shape)}; "
            "wanted x (rows, classes, ...) and target (rows, ...)"
        )
    counted = ew.not_equal(target, ignore_index)
    at = ew.where(counted, target, 0).cast(dt.int64)
    picked = reshape(along_axis(given, unsqueeze(at, axis), axis), target.shape)
    share = _class_weight(given, weight, at, axis)
    share = ew.where(counted, share, 0.0)
    losses = ew.where(counted, ew.multiply(ew.negative(picked), share), 0.0)
    if reduction == "mean":
        return ew.divide(sum_(losses), sum_(share))
    return _reduced("nll_loss", losses, reduction)


def _class_weight(x: UOp, weight: UOp | None, at: UOp, axis: int) -> UOp:
    if weight is None:
        return constant(1, x.dtype, at.shape)
    shape = tuple(n if i == axis else 1 for i, n in enumerate(x.shape))
    wide = broadcast_to(reshape(weight, shape), x.shape)
    return reshape(along_axis(wide, unsqueeze(at, axis), axis), at.shape).cast(
        x.dtype
    )


def _nll_ref(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    axis = 1 if x.ndim > 1 else 0
    counted = target != ignore_index
    at = np.where(counted, target, 0)
    picked = np.take_along_axis(x, np.expand_dims(at, axis), axis).squeeze(axis)
    share = counted * (1.0 if weight is None else weight[at])
    losses = -picked * share
    return (
        losses.sum() / share.sum()
        if reduction == "mean"
        else reduced_ref(losses, reduction)
    )


primitive(
    "nll_loss",
    nll_loss,
    ref=_nll_ref,
    samples=(
        sample(floats(6, 4), ints(6, low=0, high=4)),
        sample(
            floats(6, 4),
            ints(6, low=0, high=4),
            floats(4, low=0.1),
            reduction="sum",
        ),
        sample(floats(2, 4, 3), ints(2, 3, low=0, high=4), ignore_index=2),
        sample(floats(6, 4), ints(6, low=0, high=4), reduction="none"),
    ),
    bad_samples=(
        (
            sample(floats(6, 4), floats(6)),
            "nll_loss: target is float64; wanted whole",
        ),
        (sample(floats(6, 4), ints(4)), "nll_loss: x is (6, 4), target is (4,)"),
    ),
    ulp=16,
    normwise=True,
)


# --- directions and margins ---------------------------------------------------------------------------------------


def cosine_similarity(a: UOp, b: UOp, axis: int = 1, eps: float = 1e-8) -> UOp:
    """The cosine of the angle between vectors along an axis; norms are taken as `eps` where they are less."""
    x, y = _both("cosine_similarity", a, b)
    at = normal_axis("cosine_similarity", axis, len(x.shape))
    sizes = (ew.maximum(norm(v, 2, at), eps) for v in (x, y))
    return ew.divide(sum_(x * y, at), ew.multiply(*sizes))


def hinge_embedding_loss(
    x: UOp, target: UOp, margin: float = 1.0, reduction: str = "mean"
) -> UOp:
    """x where the target is 1; where it is -1, how far x falls short of the margin."""
    a, b = _both("hinge_embedding_loss", x, target)
    short = ew.maximum(ew.subtract(margin, a), 0.0)
    return _reduced(
        "hinge_embedding_loss", ew.where(ew.equal(b, 1.0), a, short), reduction
    )


def hinge_loss(x: UOp, target: UOp, reduction: str = "mean") -> UOp:
    """max(0, 1 - target * x), targets being 1 and -1."""
    a, b = _both("hinge_loss", x, target)
    losses = ew.maximum(ew.subtract(1.0, a * b), 0.0)
    return _reduced("hinge_loss", losses, reduction)


def soft_margin_loss(x: UOp, target: UOp, reduction: str = "mean") -> UOp:
    """log(1 + exp(-target * x)), targets being 1 and -1."""
    a, b = _both("soft_margin_loss", x, target)
    z = -(a * b)
    losses = ew.add(ew.maximum(z, 0.0), log1p(ew.exp(-abs_(z))))
    return _reduced("soft_margin_loss", losses, reduction)


def _cosine_ref(a: Any, b: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    sizes = [np.maximum(np.sqrt((v * v).sum(axis)), eps) for v in (a, b)]
    return (a * b).sum(axis) / (sizes[0] * sizes[1])


def _embedding_ref(
    x: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Any:
    return reduced_ref(
        np.where(target == 1, x, np.maximum(0, margin - x)), reduction
    )


primitive(
    "cosine_similarity",
    cosine_similarity,
    ref=_cosine_ref,
    samples=(
        sample(floats(3, 4), floats(3, 4)),
        sample(floats(3, 4), floats(3, 4), axis=0),
    ),
    bad_samples=(
        (sample(floats(3), floats(3)), "cosine_similarity: axis 1 is outside"),
    ),
    ulp=16,
    normwise=True,
)
_declare(
    "hinge_embedding_loss",
    hinge_embedding_loss,
    _embedding_ref,
    (*_samples(margin=0.5), sample(floats(4), ints(4, low=1, high=2))),
)
_declare(
    "hinge_loss",
    hinge_loss,
    lambda x, target, reduction="mean": reduced_ref(
        np.maximum(0, 1 - target * x), reduction
    ),
    _samples(),
)
_declare(
    "soft_margin_loss",
    soft_margin_loss,
    lambda x, target, reduction="mean": reduced_ref(
        np.logaddexp(0, -target * x), reduction
    ),
    _samples(),
)
