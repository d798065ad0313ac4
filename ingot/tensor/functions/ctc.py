"""Functions: ctc. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def ctc_loss(
    log_probs: Value,
    targets: Value,
    input_lengths: Value,
    target_lengths: Value,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
    **unknown: Never,
) -> Tensor:
    """-log of the probability that outputs (time, rows, classes) spell the labels (rows, places)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["ctc_loss"](
        node(log_probs),
        node(targets),
        node(input_lengths),
        node(target_lengths),
        blank=blank,
        reduction=reduction,
        zero_infinity=zero_infinity,
    ))


