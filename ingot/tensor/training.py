"""What only training does: dropout. In: a tensor. Out: a tensor with some of its elements gone."""

from __future__ import annotations

from typing import Any, Self

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ops import elementwise as ew
from ingot.tensor.random import Randoms


class Training(Randoms):
    """`x.dropout(p)`."""

    __slots__ = ()

    def dropout(
        self, p: float = 0.5, training: bool = True, *, generator: Any = None
    ) -> Self:
        """Each element is 0 with probability p; the others are divided by 1 - p, so that the mean stays."""
        if not 0 <= p <= 1:
            raise ArgumentError(f"dropout: p is {p}; wanted a probability, 0 to 1")
        if not training or p == 0:
            return self
        x = ew.as_float(self.uop)
        if p == 1:
            return self.of(ew.multiply(x, 0.0))
        drawn = self.rand(x.shape, dtype=dt.float32, generator=generator).uop
        kept = ew.greater_equal(drawn, p)
        return self.of(ew.where(kept, ew.multiply(x, 1 / (1 - p)), 0.0))
