"""Random chains of movement. In: a seed. Out: a node over one parameter, through reshapes, windows, pads and so on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops, WindowArg
from ingot.ir.region import param

MOST_ELEMENTS = 300


def index(*numbers: int) -> tuple[UOp, ...]:
    return tuple(UOp.const(dt.index, n) for n in numbers)


def shape_of(x: UOp) -> tuple[int, ...]:
    return tuple(cast(int, n) for n in x.shape)


def count(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


def reshaped(x: UOp, rng: random.Random) -> UOp:
    """The elements in other axes: all of them split into factors, taken together again at random."""
    shape = shape_of(x)
    if rng.random() < 0.5 and len(shape) > 1:
        at = rng.randrange(len(shape) - 1)
        return reshape(x, *shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])
    factors = [f for n in shape for f in prime_factors(n)] + [1] * rng.randrange(2)
    parts: list[int] = []
    for factor in factors:
        if parts and rng.random() < 0.4:
            parts[-1] *= factor
        else:
            parts.append(factor)
    return reshape(x, *parts)


def reshape(x: UOp, *shape: int) -> UOp:
    return UOp(Ops.RESHAPE, x.dtype, (x, *index(*shape)))


def prime_factors(n: int) -> list[int]:
    found = []
    for factor in range(2, n + 1):
        while n % factor == 0 and n > 1:
            found.append(factor)
            n //= factor
    return found


def permuted(x: UOp, rng: random.Random) -> UOp:
    axes = tuple(rng.sample(range(len(x.shape)), len(x.shape)))
    return UOp(Ops.PERMUTE, x.dtype, (x,), AxesArg(axes))


def expanded(x: UOp, rng: random.Random) -> UOp:
    """A new axis of a few copies."""
    shape = list(shape_of(x))
    at = rng.randrange(len(shape) + 1)
    shape.insert(at, 1)
    wide = [rng.choice((2, 3)) if axis == at else n for axis, n in enumerate(shape)]
    return UOp(Ops.EXPAND, x.dtype, (reshape(x, *shape), *index(*wide)))


def padded(x: UOp, rng: random.Random) -> UOp:
    widths = [rng.choice((0, 0, 1, 2)) for _ in range(2 * len(x.shape))]
    return UOp(Ops.PAD, x.dtype, (x, *index(*widths)))


def shrunk(x: UOp, rng: random.Random) -> UOp:
    ends: list[int] = []
    for n in shape_of(x):
        start = rng.randrange(n)
        ends += (start, rng.randrange(start, n) + 1)
    return UOp(Ops.SHRINK, x.dtype, (x, *index(*ends)))


def flipped(x: UOp, rng: random.Random) -> UOp:
    axes = tuple(axis for axis in range(len(x.shape)) if rng.random() < 0.5)
    return UOp(Ops.FLIP, x.dtype, (x,), AxesArg(axes))


def strided(x: UOp, rng: random.Random) -> UOp:
    steps = [rng.choice((1, 2, 3)) for _ in x.shape]
    return UOp(Ops.STRIDE, x.dtype, (x, *index(*steps)))


def windowed(x: UOp, rng: random.Random) -> UOp:
    axis = rng.randrange(len(x.shape))
    size = rng.randrange(shape_of(x)[axis]) + 1
    return UOp(Ops.WINDOW, x.dtype, (x, *index(size)), WindowArg(axis))


def shifted(x: UOp, rng: random.Random) -> UOp:
    """Not a movement: what it gives is not 0 where the padding before it was."""
    one = UOp(
        Ops.EXPAND,
        x.dtype,
        (
            reshape(UOp.const(x.dtype, 1.0), *(1,) * len(x.shape)),
            *index(*shape_of(x)),
        ),
    )
    return x + one


STEPS: tuple[Callable[[UOp, random.Random], UOp], ...] = (
    *(
        reshaped,
        reshaped,
        permuted,
        expanded,
        padded,
        shrunk,
        flipped,
        strided,
        windowed,
        shifted,
    ),
)


def chain(seed: int, steps: int) -> UOp:
    """A node after a few random movements of PARAM 0."""
    rng = random.Random(seed)
    shape = tuple(rng.choice((1, 2, 3, 4, 6)) for _ in range(rng.choice((1, 2, 3))))
    node = param(0, dt.float32, shape)
    for _ in range(steps):
        step = rng.choice(STEPS)
        made = step(node, rng) if node.shape else expanded(node, rng)
        if 0 < count(shape_of(made)) <= MOST_ELEMENTS and len(made.shape) <= 6:
            node = made
    return node + node if node.op is Ops.PARAM else node
