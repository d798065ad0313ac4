"""What a golden program's file offers to the test beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ingot.kernel.nest import Kernel

Array = np.ndarray[Any, Any]
Sizes = Mapping[str, int | float]


class Case(Protocol):
    """A program file: `naive` nests, the same after the moves, sizes, arrays of those sizes, NumPy's answer."""

    SIZES: tuple[Sizes, ...]

    def naive(self) -> Kernel: ...

    def program(self) -> Kernel: ...

    def arguments(self, sizes: Sizes, rng: np.random.Generator) -> list[Array]: ...

    def wanted(self, buffers: list[Array], sizes: Sizes) -> dict[int, Array]: ...
