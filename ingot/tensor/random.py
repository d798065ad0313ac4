"""Random tensors, as class methods; `ig.rand` is `Tensor.rand` (creation.py). In: shapes and parameters. Out: tensors.

Lazy like every tensor, and with its numbers fixed when it is made: evaluating it twice gives the same numbers, and
`rand(3)` called twice two tensors that differ. `manual_seed` or a `Generator` of your own repeats a stream.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self, cast

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.shape import Shape, product
from ingot.ops.creation import positions
from ingot.ops.elementwise import constant
from ingot.ops.movement import Sizes, broadcast_shape, show, size
from ingot.ops.promotion import DEFAULT_FLOAT
from ingot.tensor.creators import Creators, Type, shape_of, type_of
from ingot.tensor.generator import Generator, default_generator, manual_seed
from ingot.tensor.handle import Value, build, node


def drawn(
    op: str,
    shape: Shape,
    generator: Generator | None,
    per_place: int = 1,
    **attrs: Any,
) -> UOp:
    """The node of fresh random numbers."""
    if not isinstance(generator, Generator | None):
        raise ArgumentError(
            f"generator is {generator!r}; wanted an ig.Generator",
            fix=f"make one: ig.Generator({generator!r}); for all random numbers, ig.manual_seed({generator!r})",
        )
    key = (generator or default_generator).key(product(shape) * per_place)
    made: UOp = build[op](key, positions(shape), **attrs)
    return made


class Randoms(Creators):
    """Distributions, shuffles, and the initial values of layers."""

    __slots__ = ()

    manual_seed = staticmethod(manual_seed)

    @classmethod
    def rand(
        cls,
        *shape: Sizes,
        dtype: Type = None,
        generator: Generator | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """Uniform numbers 0 <= u < 1."""
        size = shape_of("rand", shape or ((),))
        made = _uniform(size, dtype, generator)
        return cls.finished("rand", made, device, requires_grad)

    @classmethod
    def randn(
        cls,
        *shape: Sizes,
        dtype: Type = None,
        generator: Generator | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """Normal numbers with mean 0 and variance 1."""
        size = shape_of("randn", shape or ((),))
        made = _normal(size, dtype, generator)
        return cls.finished("randn", made, device, requires_grad)

    @classmethod
    def randint(
        cls,
        *given: Sizes,
        low: int | None = None,
        high: int | None = None,
        size: Sizes | None = None,
        dtype: Type = None,
        generator: Generator | None = None,
        device: object = None,
    ) -> Self:
        """Whole numbers low <= n < high: randint(high, size), randint(low, high, size), randint(*size, low=0, high=10)."""
        first, last, shape = _integer_arguments(given, low, high, size)
        made = drawn("random_integers", shape, generator, low=first, high=last)
        found = made if dtype is None else build["astype"](made, dtype=dtype)
        return cls.finished("randint", found, device, requires_grad=False)

    @classmethod
    def uniform(
        cls,
        *shape: Sizes,
        low: float = 0.0,
        high: float = 1.0,
        dtype: Type = None,
        generator: Generator | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """Uniform numbers low <= u < high."""
        size = shape_of("uniform", shape or ((),))
        made = _between(_uniform(size, dtype, generator), low, high)
        return cls.finished("uniform", made, device, requires_grad)

    @classmethod
    def normal(
        cls,
        *given: Any,
        mean: Value = 0.0,
        std: Value = 1.0,
        size: Sizes | None = None,
        dtype: Type = None,
        generator: Generator | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """Normal numbers: normal(2, 3, mean=1.0, std=0.5), or normal(mean, std, size) with numbers or tensors."""
        mean, std, shape = _normal_arguments(given, mean, std, size)
        made = _normal(shape, dtype, generator)
        scaled = cls.of(made) * _spread_of(std) + mean
        return cls.finished("normal", scaled.uop, device, requires_grad)

    @classmethod
    def exponential(
        cls,
        *shape: Sizes,
        rate: float = 1.0,
        dtype: Type = None,
        generator: Generator | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """Waiting times of events that happen `rate` times a unit."""
        size = shape_of("exponential", shape or ((),))
        made = cls.of(_uniform(size, dtype, generator))
        waiting = (-made).log1p() * (-1.0 / rate)
        return cls.finished("exponential", waiting.uop, device, requires_grad)

    @classmethod
    def randperm(
        cls,
        n: int,
        *,
        dtype: Type = None,
        generator: Generator | None = None,
        device: object = None,
    ) -> Self:
        """The whole numbers below n in random order."""
        (count,) = shape_of("randperm", (n,))
        whole = {"low": -(1 << 63), "high": 1 << 63}
        keys = drawn("random_integers", (count,), generator, **whole)
        order = build["argsort"](keys)
        found = order if dtype is None else build["astype"](order, dtype=dtype)
        return cls.finished("randperm", found, device, requires_grad=False)

    def bernoulli(self, *, generator: Generator | None = None) -> Self:
        """1 with the probability that stands at each place, else 0; in the type of the probabilities."""
        chances = self.uop
        kind = chances.dtype if chances.dtype.is_float else DEFAULT_FLOAT
        made = _uniform(chances.shape, kind, generator)
        return self.of(build["astype"](build["less"](made, chances), dtype=kind))

    def multinomial(
        self,
        num_samples: int = 1,
        replacement: bool = False,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Places along the last axis, drawn with probabilities in proportion to the weights that stand there."""
        weights = build["astype"](self.uop, dtype=dt.float64)
        if not weights.shape:
            raise ShapeError(
                "multinomial: the weights have no axes", wanted="[..., n]"
            )
        if replacement or num_samples == 1:
            return self.of(_with_replacement(weights, num_samples, generator))
        return self.of(_without_replacement(weights, num_samples, generator))

    @classmethod
    def rand_like(cls, x: Value, **options: Any) -> Self:
        """Uniform numbers 0 <= u < 1 in the shape and type of x."""
        like = node(x)
        return cls.rand(like.shape, **{"dtype": like.dtype, **options})

    @classmethod
    def randn_like(cls, x: Value, **options: Any) -> Self:
        """Normal numbers in the shape and type of x."""
        like = node(x)
        return cls.randn(like.shape, **{"dtype": like.dtype, **options})

    @classmethod
    def randint_like(
        cls, x: Value, low: int, high: int | None = None, **options: Any
    ) -> Self:
        """Whole numbers low <= n < high in the shape and type of x; one number alone is the end."""
        like = node(x)
        bounds = (0, low) if high is None else (low, high)
        return cls.randint(*bounds, like.shape, **{"dtype": like.dtype, **options})

    @classmethod
    def truncated_normal(
        cls,
        *shape: Sizes,
        mean: float = 0.0,
        std: float = 1.0,
        low: float = -2.0,
        high: float = 2.0,
        dtype: Type = None,
        generator: Generator | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """Normal numbers between low and high: the others are not drawn, so none piles up at the ends."""
        size = shape_of("truncated_normal", shape or ((),))
        kind = _float_type("truncated_normal", dtype)
        first, last = (low - mean) / std, (high - mean) / std
        made = drawn(
            "random_truncated", size, generator, dtype=kind, low=first, high=last
        )
        found = cls.of(made) * std + mean
        return cls.finished("truncated_normal", found.uop, device, requires_grad)

    # --- the initial values of layers -----------------------------------------------------------------------------

    @classmethod
    def kaiming_uniform(
        cls, *shape: Sizes, a: float = 0.01, **options: Any
    ) -> Self:
        """Uniform in +-sqrt(6 / ((1 + a^2) fan_in)): keeps variance through relu; `a` is the slope below 0."""
        size = shape_of("kaiming_uniform", shape)
        bound = math.sqrt(6 / ((1 + a * a) * _fans("kaiming_uniform", size)[0]))
        return cls.uniform(size, low=-bound, high=bound, **options)

    @classmethod
    def kaiming_normal(cls, *shape: Sizes, a: float = 0.01, **options: Any) -> Self:
        """Normal with deviation sqrt(2 / ((1 + a^2) fan_in))."""
        size = shape_of("kaiming_normal", shape)
        std = math.sqrt(2 / ((1 + a * a) * _fans("kaiming_normal", size)[0]))
        return cls.normal(size, std=std, **options)

    @classmethod
    def xavier_uniform(
        cls, *shape: Sizes, gain: float = 1.0, **options: Any
    ) -> Self:
        """Uniform in +-gain sqrt(6 / (fan_in + fan_out))."""
        size = shape_of("xavier_uniform", shape)
        bound = gain * math.sqrt(6 / sum(_fans("xavier_uniform", size)))
        return cls.uniform(size, low=-bound, high=bound, **options)

    @classmethod
    def xavier_normal(
        cls, *shape: Sizes, gain: float = 1.0, **options: Any
    ) -> Self:
        """Normal with deviation gain sqrt(2 / (fan_in + fan_out))."""
        size = shape_of("xavier_normal", shape)
        std = gain * math.sqrt(2 / sum(_fans("xavier_normal", size)))
        return cls.normal(size, std=std, **options)

    glorot_uniform = xavier_uniform
    glorot_normal = xavier_normal

    @classmethod
    def scaled_uniform(cls, *shape: Sizes, **options: Any) -> Self:
        """Uniform in +-1 / sqrt(number of elements)."""
        size = shape_of("scaled_uniform", shape)
        bound = 1 / math.sqrt(max(1, _count("scaled_uniform", size)))
        return cls.uniform(size, low=-bound, high=bound, **options)

    # --- in place -------------------------------------------------------------------------------------------------

    def uniform_(
        self,
        low: float = 0.0,
        high: float = 1.0,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Fresh uniform numbers low <= u < high, kept in the tensor."""
        made = _uniform(self.uop.shape, self.uop.dtype, generator)
        return self._become("uniform_", _between(made, low, high))

    def normal_(
        self,
        mean: float = 0.0,
        std: float = 1.0,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Fresh normal numbers, kept in the tensor."""
        made = self.of(_normal(self.uop.shape, self.uop.dtype, generator))
        return self._become("normal_", (made * std + mean).uop)


# --- numbers --------------------------------------------------------------------------------------------------------


def _uniform(shape: Shape, dtype: Type, generator: Generator | None) -> UOp:
    kind = _float_type("rand", dtype)
    return drawn("random_uniform", shape, generator, dtype=kind)


def _normal(shape: Shape, dtype: Type, generator: Generator | None) -> UOp:
    kind = _float_type("randn", dtype)
    # Two positions make one normal number of 64 bits.
    return drawn(
        "random_normal", shape, generator, 2 if kind.bits == 64 else 1, dtype=kind
    )


def _between(u: UOp, low: float, high: float) -> UOp:
    if (low, high) == (0.0, 1.0):
        return u
    width = constant(high - low, u.dtype, u.shape)
    return u * width + constant(low, u.dtype, u.shape)


def _float_type(name: str, dtype: Type) -> DType:
    kind = type_of(dtype) or DEFAULT_FLOAT
    if not kind.is_float:
        raise DTypeError(
            f"{name}: random fractions of {kind}",
            wanted="a float type",
            fix="draw whole numbers with randint(low, high, size)",
        )
    return kind


def _with_replacement(weights: UOp, count: int, generator: Generator | None) -> UOp:
    """Where a random part of the total weight lies in the running sums."""
    running = build["cumsum"](weights, axis=-1)
    total = build["getitem"](running, (..., slice(-1, None)))
    shape = (*weights.shape[:-1], count)
    part = build["multiply"](_uniform(shape, "float64", generator), total)
    found = build["searchsorted"](running, part, side="right")
    last = build["subtract"](size(weights.shape[-1]).cast(dt.int64), 1)
    return cast(UOp, build["minimum"](found, last))


def _without_replacement(
    weights: UOp, count: int, generator: Generator | None
) -> UOp:
    """Everybody waits for an exponential time, the shorter the heavier; those who come first are drawn."""
    u = _uniform(weights.shape, "float64", generator)
    waiting = build["divide"](
        build["negative"](build["log1p"](build["negative"](u))), weights
    )
    found: UOp = build["topk"](waiting, count, axis=-1, largest=False)[1]
    return found


def _spread_of(std: Value) -> Value:
    if isinstance(std, int | float) and std < 0:
        raise ArgumentError(f"normal: std is {std}", wanted="0 or more")
    return std


# --- arguments ------------------------------------------------------------------------------------------------------


def _integer_arguments(
    given: tuple[Any, ...], low: int | None, high: int | None, size: Sizes | None
) -> tuple[int, int, Shape]:
    """(low, high, shape) however they were given."""
    named = [n for n in (low, high) if n is not None]
    if size is not None:
        bounds, sizes = [*given, *named], [size]
    elif named:
        bounds, sizes = named, [*given]
    else:
        bounds, sizes = [*given[:-1]], [*given[-1:]]
    shape = shape_of("randint", tuple(sizes) or ((),))
    first, last = [0, *bounds][-2:] if bounds else [0, 10]
    if not first < last:
        raise ArgumentError(
            f"randint: there is no whole number n with {first} <= n < {last}",
            fix="give low < high; one number alone is high",
        )
    return int(first), int(last), shape


def _normal_arguments(
    given: tuple[Any, ...], mean: Value, std: Value, size: Sizes | None
) -> tuple[Value, Value, Shape]:
    """(mean, std, shape): all whole numbers, or one sequence, are a shape; otherwise mean, std, size in this order."""
    is_shape = all(isinstance(n, int | UOp) for n in given) or (
        len(given) == 1 and isinstance(given[0], Sequence)
    )
    if size is None and is_shape and given:
        return mean, std, shape_of("normal", given)
    all_three: tuple[Any, ...] = (*given, *(mean, std, size)[len(given) :])
    centre, spread, wanted = all_three
    if wanted is not None:
        return centre, spread, shape_of("normal", (wanted,))
    shapes = node(centre).shape, node(spread).shape
    return centre, spread, broadcast_shape("normal", *shapes)


def _fans(name: str, shape: Shape) -> tuple[int, int]:
    """How many inputs each output has, and how many outputs each input, of weights [out, in, ...]."""
    if len(shape) < 2:
        raise ShapeError(
            f"{name}: {show(shape)} is no shape of weights",
            wanted="[out, in] or [out, in, ...kernel]",
        )
    kernel = _count(name, shape[2:])
    out, into, *_ = (int(n) for n in shape if isinstance(n, int))
    return max(1, into * kernel), max(1, out * kernel)


def _count(name: str, shape: Shape) -> int:
    found = product(shape)
    if not isinstance(found, int):
        raise ShapeError(
            f"{name}: {show(shape)} has a symbolic size", wanted="numbers"
        )
    return found
