"""Methods that mean something else than the function of their name. In: a tensor. Out: what torch and tinygrad give.

`ig.name` follows the array API, `x.name()` follows torch. `DIFFERENCES` says how, each row with two lines that run: it is
the table in docs/names.md, and its own test. Where only a default differs (`std`, `var`, `flatten`), the declaration of
the op says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, overload

from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.ops.movement import Dim
from ingot.tensor.arguments import one_of, unset
from ingot.tensor.handle import Handle, Value, build, node, operand, spread
from ingot.tensor.methods import Methods

Dims = int | Sequence[int] | None


class Difference(NamedTuple):
    """One name, what both mean by it, and an example of each with its result."""

    name: str
    function: str
    function_example: str
    method: str
    method_example: str


DIFFERENCES = (
    Difference(
        "std, var",
        "over n",
        "float(ig.var(ig.tensor([1.0, 3.0]))) == 1.0",
        "over n - 1",
        "float(ig.tensor([1.0, 3.0]).var()) == 2.0",
    ),
    Difference(
        "std_mean, var_mean",
        "over n",
        "float(ig.var_mean(ig.tensor([1.0, 3.0]))[0]) == 1.0",
        "over n - 1",
        "float(ig.tensor([1.0, 3.0]).var_mean()[0]) == 2.0",
    ),
    Difference(
        "max, min with an axis",
        "the values",
        "ig.max(ig.tensor([[1, 5], [7, 2]]), axis=1).tolist() == [5, 7]",
        "(values, indices)",
        "ig.tensor([[1, 5], [7, 2]]).max(dim=1).indices.tolist() == [1, 0]",
    ),
    Difference(
        "median with an axis",
        "the values; of an even number the mean of both in the middle",
        "float(ig.median(ig.tensor([1.0, 2.0]))) == 1.5",
        "(values, indices); of an even number the lower",
        "ig.tensor([[1.0, 2.0]]).median(dim=1).values.tolist() == [1.0]",
    ),
    Difference(
        "sort",
        "the sorted values",
        "ig.sort(ig.tensor([3, 1, 2])).tolist() == [1, 2, 3]",
        "(values, indices)",
        "ig.tensor([3, 1, 2]).sort().indices.tolist() == [1, 2, 0]",
    ),
    Difference(
        "repeat",
        "each element, repeated",
        "ig.repeat(ig.tensor([1, 2]), 2).tolist() == [1, 1, 2, 2]",
        "the whole, repeated",
        "ig.tensor([1, 2]).repeat(2).tolist() == [1, 2, 1, 2]",
    ),
    Difference(
        "split",
        "a number of equal parts, or places to cut",
        "len(ig.split(ig.arange(6), 3)) == 3",
        "parts of a length, or of several lengths",
        "len(ig.arange(6).split(3)) == 2",
    ),
    Difference(
        "squeeze with an axis",
        "an axis that is not of size 1 is an error",
        "ig.squeeze(ig.ones((1, 2)), axis=0).shape == (2,)",
        "an axis that is not of size 1 stays",
        "ig.ones((1, 2)).squeeze(1).shape == (1, 2)",
    ),
    Difference(
        "round",
        "to whole numbers",
        "ig.round(ig.tensor([1.25])).tolist() == [1.0]",
        "to a number of decimals",
        "ig.tensor([1.25]).round(decimals=1).tolist() == [1.2000000476837158]",
    ),
    Difference(
        "flatten",
        "axis 0 stays",
        "ig.flatten(ig.ones((2, 3, 4))).shape == (2, 12)",
        "all axes in one",
        "ig.ones((2, 3, 4)).flatten().shape == (24,)",
    ),
    Difference(
        "nonzero",
        "one tensor of places for each axis",
        "ig.nonzero(ig.tensor([[0, 1]]))[1].tolist() == [1]",
        "one row of places for each element",
        "ig.tensor([[0, 1]]).nonzero().tolist() == [[0, 1]]",
    ),
    Difference(
        "take",
        "along an axis",
        "ig.take(ig.tensor([[1, 2], [3, 4]]), ig.tensor([1]), axis=0).tolist() == [[3, 4]]",
        "from the elements in a row",
        "ig.tensor([[1, 2], [3, 4]]).take(ig.tensor([1])).tolist() == [2]",
    ),
    Difference(
        "pad with one pair",
        "before and after every axis",
        "ig.pad(ig.ones((2, 2)), (1, 0)).shape == (3, 3)",
        "before and after the last axis; further pairs for those before it",
        "ig.ones((2, 2)).pad((1, 0)).shape == (2, 3)",
    ),
)


# Defaults of arguments with two names.
_NONE: Any = unset(None)
_NO, _FIRST, _LAST = unset(False), unset(0), unset(-1)


class Found(NamedTuple):
    """Values, and where they were along the axis."""

    values: Any
    indices: Any


class Differing(Methods):
    """What methods mean that differs from the functions."""

    __slots__ = ()

    # --- values and places --------------------------------------------------------------------------------------------

    @overload  # type: ignore[override]
    def max(self) -> Self: ...
    @overload
    def max(
        self,
        axis: int | Value | None = ...,
        keepdims: bool = ...,
        *,
        dim: Dims = ...,
        keepdim: bool = ...,
    ) -> Any: ...
    def max(
        self,
        axis: Any = _NONE,
        keepdims: bool = _NO,
        *,
        dim: Any = _NONE,
        keepdim: bool = _NO,
    ) -> Any:
        """The largest element; along an axis (values, indices); with another tensor the larger of both."""
        axis = one_of("max", "axis", axis, "dim", dim)
        keepdims = one_of("max", "keepdims", keepdims, "keepdim", keepdim)
        return self._extreme("max", axis, keepdims)

    @overload  # type: ignore[override]
    def min(self) -> Self: ...
    @overload
    def min(
        self,
        axis: int | Value | None = ...,
        keepdims: bool = ...,
        *,
        dim: Dims = ...,
        keepdim: bool = ...,
    ) -> Any: ...
    def min(
        self,
        axis: Any = _NONE,
        keepdims: bool = _NO,
        *,
        dim: Any = _NONE,
        keepdim: bool = _NO,
    ) -> Any:
        """The smallest element; along an axis (values, indices); with another tensor the smaller of both."""
        axis = one_of("min", "axis", axis, "dim", dim)
        keepdims = one_of("min", "keepdims", keepdims, "keepdim", keepdim)
        return self._extreme("min", axis, keepdims)

    def _extreme(self, name: str, axis: Any, keepdims: bool) -> Any:
        if isinstance(axis, Handle):
            return self.of(build[f"{name}imum"](self.uop, operand(axis)))
        values = build[name](self.uop, axis=axis, keepdims=keepdims)
        if axis is None or isinstance(axis, Sequence):
            return self.of(values)
        places = build[f"arg{name}"](self.uop, axis=axis, keepdims=keepdims)
        return Found(self.of(values), self.of(places))

    def sort(  # type: ignore[override]
        self,
        axis: int = _LAST,
        descending: bool = False,
        stable: bool = True,
        *,
        dim: int = _LAST,
    ) -> Found:
        """(values, indices) in order along an axis."""
        at = one_of("sort", "axis", axis, "dim", dim)
        order = build["argsort"](
            self.uop, axis=at, descending=descending, stable=stable
        )
        values = build["take_along_axis"](self.uop, order, axis=at)
        return Found(self.of(values), self.of(order))

    @overload  # type: ignore[override]
    def median(self) -> Self: ...
    @overload
    def median(
        self,
        axis: int = ...,
        keepdims: bool = ...,
        *,
        dim: int = ...,
        keepdim: bool = ...,
    ) -> Found: ...
    def median(
        self,
        axis: Any = _NONE,
        keepdims: bool = _NO,
        *,
        dim: Any = _NONE,
        keepdim: bool = _NO,
    ) -> Any:
        """The element in the middle, the lower of two; along an axis (values, indices)."""
        at = one_of("median", "axis", axis, "dim", dim)
        kept = one_of("median", "keepdims", keepdims, "keepdim", keepdim)
        flat = self.reshape(-1) if at is None else self
        values, places = flat.sort(-1 if at is None else at)
        along = 0 if at is None else at
        middle = (_known(values.uop, along) - 1) // 2
        found = [
            self.of(build["narrow"](x.uop, axis=along, start=middle, length=1))
            for x in (values, places)
        ]
        if at is None:
            return found[0].reshape(())
        if kept:
            return Found(*found)
        return Found(*(x.squeeze(along) for x in found))

    def nonzero(self) -> Self:  # type: ignore[override]
        """The places of the elements that differ from 0, one row each."""
        places = build["nonzero"](self.uop)
        return self.of(build["stack"](*places, axis=1))

    def take(self, indices: Value) -> Self:  # type: ignore[override]
        """Elements at these places, as if all lay in a row."""
        flat = build["reshape"](self.uop, (-1,))
        return self.of(build["take"](flat, node(indices), axis=0))

    # --- shapes -------------------------------------------------------------------------------------------------------

    def repeat(self, *sizes: Dim | Sequence[Dim]) -> Self:  # type: ignore[override]
        """The whole tensor that many times along each axis."""
        return self.of(build["tile"](self.uop, spread(sizes)))

    def split(  # type: ignore[override]
        self,
        sizes: int | Sequence[int],
        axis: int = _FIRST,
        *,
        dim: int = _FIRST,
    ) -> tuple[Self, ...]:
        """Parts of this length along an axis, the last may be shorter; or of these lengths."""
        at = one_of("split", "axis", axis, "dim", dim)
        lengths = (
            _lengths(self.uop, sizes, at) if isinstance(sizes, int) else list(sizes)
        )
        places = [sum(lengths[:i]) for i in range(1, len(lengths))]
        _check_lengths(self.uop, lengths, at)
        return tuple(map(self.of, build["split"](self.uop, places, axis=at)))

    def squeeze(self, axis: Dims = _NONE, *, dim: Dims = _NONE) -> Self:  # type: ignore[override]
        """Without the axes of size 1: all of them, or those named that are."""
        at = one_of("squeeze", "axis", axis, "dim", dim)
        if at is None:
            return self.of(build["squeeze"](self.uop))
        named = at if isinstance(at, Sequence) else (at,)
        single = tuple(a for a in named if _is_one(self.uop, a))
        return self.of(build["squeeze"](self.uop, axis=single)) if single else self

    def pad(  # type: ignore[override]
        self, widths: Any, mode: Any = "constant", value: Any = 0
    ) -> Self:
        """A border: numbers for the last axis, then the one before it, ...; or (before, after) for each axis."""
        if not isinstance(mode, str):
            mode, value = "constant", mode
        pairs = _last_first(self.uop, widths)
        return self.of(build["pad"](self.uop, widths=pairs, value=value, mode=mode))

    def round(self, decimals: int = 0) -> Self:  # type: ignore[override]
        """The nearest number with this many decimals; halves go to the even one."""
        if decimals == 0:
            return self.of(build["round"](self.uop))
        factor = 10.0 ** abs(decimals)
        larger, smaller = build["multiply"], build["divide"]
        there, back = (larger, smaller) if decimals > 0 else (smaller, larger)
        return self.of(back(build["round"](there(self.uop, factor)), factor))


def _known(x: UOp, axis: int) -> int:
    n = x.shape[axis]
    if not isinstance(n, int):
        raise ArgumentError(
            "a symbolic size has no middle known", fix="bind it first"
        )
    return n


def _is_one(x: UOp, axis: int) -> bool:
    if not -len(x.shape) <= axis < len(x.shape):
        build["squeeze"](x, axis=axis)  # says what is wrong
    n = x.shape[axis]
    return isinstance(n, int) and n == 1


def _lengths(x: UOp, size: int, axis: int) -> list[int]:
    if size < 1:
        raise ArgumentError(f"split: the length is {size}; wanted 1 or more")
    n = _known(x, axis)
    return [min(size, n - start) for start in range(0, max(n, 1), size)]


def _check_lengths(x: UOp, lengths: Sequence[int], axis: int) -> None:
    n = _known(x, axis)
    if sum(lengths) != n:
        raise ArgumentError(
            f"split: lengths {tuple(lengths)} do not fill an axis of {n}",
            fix=f"their sum has to be {n}",
        )


def _last_first(x: UOp, widths: Any) -> Any:
    """(left, right, top, bottom) as a pair for each axis; anything else as it is."""
    is_flat = isinstance(widths, Sequence) and all(
        isinstance(n, int) for n in widths
    )
    if not is_flat:
        return widths
    if len(widths) % 2 or len(widths) > 2 * len(x.shape):
        raise ArgumentError(
            f"pad: widths {tuple(widths)} are not pairs for at most {len(x.shape)} axes"
        )
    pairs = [(widths[i], widths[i + 1]) for i in range(0, len(widths), 2)]
    return [(0, 0)] * (len(x.shape) - len(pairs)) + pairs[::-1]
