"""Are two results the same? In: what a stage computes and what it should. Out: the first element that is wrong, if any.

Stages may round differently (another order of a sum, a fused multiply-add), so floats may differ by a small part of
the largest element. Integers, NaN and infinities must be what they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType

Array = np.ndarray[Any, Any]
_ROUNDING = {
    dt.bfloat16: 2.0**-4,
    dt.float16: 2.0**-7,
    dt.float32: 2.0**-12,
    dt.float64: 2.0**-40,
}


class Difference(NamedTuple):
    """One element, where it is, and how many are wrong beside it."""

    place: tuple[int, ...]
    got: float
    wanted: float
    wrong: int
    size: int

    def __str__(self) -> str:
        others = f"{self.wrong} of {self.size} elements differ"
        return f"{others}, first [{', '.join(map(str, self.place))}]: {self.got:.9g} instead of {self.wanted:.9g}"


def difference(
    got: Array, wanted: Array, dtype: DType, exact: bool = False
) -> Difference | None:
    """The first wrong element; `dtype` is that of the values, which NumPy may hold as bits."""
    if got.size == 0:
        return None
    mine, theirs = (wide(a.reshape(wanted.shape), dtype) for a in (got, wanted))
    wrong = (
        _wrong_floats(mine, theirs, 0.0 if exact else _ROUNDING[dtype])
        if dtype.is_float
        else mine != theirs
    )
    if not wrong.any():
        return None
    places = np.argwhere(wrong)
    index = tuple(int(n) for n in places[0])
    return Difference(
        index, float(mine[index]), float(theirs[index]), len(places), got.size
    )


def wide(array: Array, dtype: DType) -> Array:
    """Floats as float64."""
    if dtype is dt.bfloat16:
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64) if dtype.is_float else array


def _wrong_floats(got: Array, wanted: Array, rounding: float) -> Array:
    finite = np.isfinite(wanted)
    largest = float(np.abs(wanted[finite]).max()) if finite.any() else 0.0
    with np.errstate(all="ignore"):
        far = np.abs(got - wanted) > rounding * largest
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    wrong: Array = np.where(finite & np.isfinite(got), far, ~same)
    return wrong
