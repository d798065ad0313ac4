"""rearrange: axes by name. In: a tensor and "b (h w) c -> b c h w". Out: the tensor with its axes split, moved, joined.

Both sides name the same axes; round brackets hold axes that share one. A size that cannot be worked out is given by
name: `rearrange(x, "b (h w) c -> b h w c", h=4)`. `...` stands for the axes not named, `1` for an axis of size 1.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.shape import Shape, product
from ingot.ops.axis import whole_number
from ingot.ops.movement import Dim, permute, reshape, show
from ingot.ops.op import primitive
from ingot.ops.sample import floats, sample

Group = tuple[str, ...]


def rearrange(x: UOp, pattern: str, **sizes: int) -> UOp:
    """Axes split, moved and joined as "before -> after" says; see the names of axes in the pattern."""
    left, right = _sides(pattern)
    rest = len(x.shape) - sum(group != ("...",) for group in left)
    groups = _expanded(left, rest, pattern, x)
    targets = _expanded(right, rest, pattern, x)
    if len(groups) != len(x.shape):
        raise _wrong(
            pattern, f"its left side has {len(groups)} axes, x is {show(x.shape)}"
        )
    before = [name for group in groups for name in group]
    after = [name for group in targets for name in group]
    if sorted(before) != sorted(after) or len(set(before)) != len(before):
        raise _wrong(pattern, "both sides have to name the same axes, each once")
    known = _lengths(groups, x.shape, sizes, pattern)
    apart = reshape(x, [known[name] for name in before])
    moved = permute(apart, [before.index(name) for name in after])
    joined = [product(tuple(known[name] for name in group)) for group in targets]
    return reshape(moved, joined)


def _wrong(pattern: str, why: str) -> ArgumentError:
    return ArgumentError(f"rearrange: {pattern!r}: {why}")


def _sides(pattern: str) -> tuple[list[Group], list[Group]]:
    sides = pattern.split("->")
    if len(sides) != 2:
        raise _wrong(pattern, 'wanted "before -> after"')
    left, right = (_groups(side, pattern) for side in sides)
    return left, right


def _groups(side: str, pattern: str) -> list[Group]:
    words = re.findall(r"\([^()]*\)|\.\.\.|\w+", side)
    if re.sub(r"\s", "", "".join(words)) != re.sub(r"\s", "", side):
        raise _wrong(pattern, "wanted names, (names in brackets), ... and 1")
    return [tuple(re.findall(r"\.\.\.|\w+", word)) for word in words]


def _expanded(groups: list[Group], rest: int, pattern: str, x: UOp) -> list[Group]:
    """`...` as axes with numbers for names; an axis of size 1 has no name at all."""
    if rest < 0:
        raise _wrong(pattern, f"it names more axes than {show(x.shape)} has")
    unnamed = tuple(f"...{i}" for i in range(rest))
    found: list[Group] = []
    for group in groups:
        if group == ("...",):
            found += [(name,) for name in unnamed]
            continue
        names = [
            n for name in group for n in (unnamed if name == "..." else (name,))
        ]
        found.append(tuple(name for name in names if name != "1"))
    return found


def _lengths(
    groups: list[Group], shape: Shape, sizes: dict[str, int], pattern: str
) -> dict[str, Dim]:
    known: dict[str, Dim] = {
        name: whole_number("rearrange", name, n) for name, n in sizes.items()
    }
    for group, n in zip(groups, shape, strict=True):
        missing = [name for name in group if name not in known]
        if len(missing) > 1:
            raise _wrong(
                pattern, f"the sizes of {' and '.join(missing)} are not known"
            )
        given = product(tuple(known[name] for name in group if name in known))
        if missing:
            known[missing[0]] = _quotient(n, given, group, pattern)
        elif isinstance(n, int) and given != n:
            raise _misfit(group, n, given, pattern)
    unused = set(sizes) - {name for group in groups for name in group}
    if unused:
        raise _wrong(pattern, f"it has no axis called {min(unused)}")
    return known


def _quotient(n: Dim, given: Dim, group: Group, pattern: str) -> Dim:
    if isinstance(given, int) and given == 1:
        return n
    if isinstance(n, int) and isinstance(given, int) and (given == 0 or n % given):
        raise _misfit(group, n, given, pattern)
    return n // given


def _misfit(group: Group, n: Dim, given: Dim, pattern: str) -> ShapeError:
    return ShapeError(
        f"rearrange: {pattern!r}: ({' '.join(group)}) has size {n}, which {given} does not make"
    )


def _reference(x: Any, pattern: str, **sizes: int) -> Any:
    """By einsum, which moves named axes: splitting before and joining after are reshapes."""
    left, right = (re.findall(r"\(.*?\)|\S+", side) for side in pattern.split("->"))
    names = re.findall(r"[a-z]\w*", " ".join(left))
    letters = {name: chr(ord("a") + i) for i, name in enumerate(names)}
    lengths = dict(sizes)
    for word, n in zip(left, x.shape, strict=True):
        inside = re.findall(r"[a-z]\w*", word)
        free = [name for name in inside if name not in lengths]
        if free:
            lengths[free[0]] = n // int(
                np.prod([lengths[m] for m in inside if m in lengths])
            )
    split = x.reshape([lengths[name] for name in names])
    after = re.findall(r"[a-z]\w*", " ".join(right))
    source = "".join(letters[n] for n in names)
    moved = np.einsum(f"{source}->{''.join(letters[n] for n in after)}", split)
    shape = [
        int(np.prod([lengths[name] for name in re.findall(r"[a-z]\w*", word)]))
        for word in right
    ]
    return moved.reshape(shape)


primitive(
    "rearrange",
    rearrange,
    ref=_reference,
    samples=(
        sample(floats(2, 6, 3), pattern="b (h w) c -> b c h w", h=2),
        sample(floats(2, 3, 4), pattern="a b c -> c (a b)"),
        sample(floats(4, 6), pattern="(a b) (c d) -> (a c) (b d)", a=2, c=3),
        sample(floats(2, 3), pattern="a b -> b 1 a"),
    ),
    bad_samples=(
        (sample(floats(2, 3), pattern="a b"), 'wanted "before -> after"'),
        (
            sample(floats(2, 3), pattern="a b -> a"),
            "both sides have to name the same axes, each once",
        ),
        (
            sample(floats(2, 3), pattern="a (b c) -> a b c"),
            "the sizes of b and c are not known",
        ),
        (
            sample(floats(2, 3), pattern="a (b c) -> a b c", b=2),
            "(b c) has size 3, which 2 does not make",
        ),
        (sample(floats(2, 3), pattern="a -> a"), "its left side has 1 axes"),
    ),
    ulp=0,
)
