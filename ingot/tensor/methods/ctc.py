"""Methods: ctc. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from typing import Never, Self


class CtcMethods(Handle):
    """Ops of ops/ctc.py as methods."""

    __slots__ = ()

    def ctc_loss(
        self,
        targets: Value,
        input_lengths: Value,
        target_lengths: Value,
        blank: int = 0,
        reduction: str = "mean",
        zero_infinity: bool = False,
        **unknown: Never,
    ) -> Self:
        """-log of the probability that outputs (time, rows, classes) spell the labels (rows, places)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["ctc_loss"](
            self.uop,
            node(targets),
            node(input_lengths),
            node(target_lengths),
            blank=blank,
            reduction=reduction,
            zero_infinity=zero_infinity,
        ))

