"""Methods: criterion. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node, optional

if TYPE_CHECKING:
    from typing import Never, Self


class CriterionMethods(Handle):
    """Ops of ops/criterion.py as methods."""

    __slots__ = ()

    def mse_loss(self, target: Value, reduction: str = "mean", **unknown: Never) -> Self:
        """The square of the distance."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["mse_loss"](self.uop, node(target), reduction=reduction))

    def l1_loss(self, target: Value, reduction: str = "mean", **unknown: Never) -> Self:
        """The distance."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["l1_loss"](self.uop, node(target), reduction=reduction))

    def huber_loss(self, target: Value, reduction: str = "mean", delta: float = 1.0, **unknown: Never) -> Self:
        """Half the square of the distance up to delta; beyond, delta times the distance less delta / 2."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["huber_loss"](self.uop, node(target), reduction=reduction, delta=delta))

    def smooth_l1_loss(self, target: Value, reduction: str = "mean", beta: float = 1.0, **unknown: Never) -> Self:
        """The distance, rounded off below beta: half its square over beta."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["smooth_l1_loss"](self.uop, node(target), reduction=reduction, beta=beta))

    def binary_cross_entropy(self, target: Value, reduction: str = "mean", **unknown: Never) -> Self:
        """-(target * log(x) + (1 - target) * log(1 - x)), each log not below -100."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["binary_cross_entropy"](self.uop, node(target), reduction=reduction))

    def binary_cross_entropy_with_logits(
        self,
        target: Value,
        pos_weight: Value | None = None,
        reduction: str = "mean",
        **unknown: Never,
    ) -> Self:
        """binary_cross_entropy of sigmoid(x), without overflow; pos_weight counts the positive targets for more."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["binary_cross_entropy_with_logits"](
            self.uop,
            node(target),
            optional(pos_weight),
            reduction=reduction,
        ))

    def kl_div(self, target: Value, reduction: str = "mean", log_target: bool = False, **unknown: Never) -> Self:
        """target * (log(target) - x): x is a log of probabilities; "batchmean" divides the sum by the rows."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["kl_div"](self.uop, node(target), reduction=reduction, log_target=log_target))

    def nll_loss(
        self,
        target: Value,
        weight: Value | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        **unknown: Never,
    ) -> Self:
        """-x at the target class: x is a log of probabilities (rows, classes, ...). Ignored targets count for nothing."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["nll_loss"](
            self.uop,
            node(target),
            optional(weight),
            ignore_index=ignore_index,
            reduction=reduction,
        ))

    def cosine_similarity(
        self,
        b: Value,
        axis: int = unset(1),
        eps: float = 1e-08,
        *,
        dim: int = unset(1),
        **unknown: Never,
    ) -> Self:
        """The cosine of the angle between vectors along an axis; norms are taken as `eps` where they are less."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("cosine_similarity", "axis", axis, "dim", dim)
        return self.of(build["cosine_similarity"](self.uop, node(b), axis=axis, eps=eps))

    def hinge_embedding_loss(
        self,
        target: Value,
        margin: float = 1.0,
        reduction: str = "mean",
        **unknown: Never,
    ) -> Self:
        """x where the target is 1; where it is -1, how far x falls short of the margin."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["hinge_embedding_loss"](self.uop, node(target), margin=margin, reduction=reduction))

    def hinge_loss(self, target: Value, reduction: str = "mean", **unknown: Never) -> Self:
        """max(0, 1 - target * x), targets being 1 and -1."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["hinge_loss"](self.uop, node(target), reduction=reduction))

    def soft_margin_loss(self, target: Value, reduction: str = "mean", **unknown: Never) -> Self:
        """log(1 + exp(-target * x)), targets being 1 and -1."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["soft_margin_loss"](self.uop, node(target), reduction=reduction))

