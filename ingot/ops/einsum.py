"""einsum: sums of products by the names of axes. In: "ij,jk->ik" and tensors. Out: matrix products in a good order.

Operands are joined two at a time. Each pair is one batched matrix product (or an elementwise product where nothing is
summed), and axes that nobody needs any more are summed as soon as they can be. The order is the cheapest by the number
of multiplications: by dynamic programming up to eight operands, greedily above.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.shape import product
from ingot.ops import elementwise as ew
from ingot.ops.arranging import diagonal
from ingot.ops.matmul import matmul, promoted
from ingot.ops.movement import (
    Dim,
    broadcast_shape,
    broadcast_to,
    permute,
    reshape,
    show,
)
from ingot.ops.op import primitive
from ingot.ops.reduce import sum_
from ingot.ops.sample import floats, ints, sample

Labels = tuple[str, ...]
Tree = int | tuple["Tree", "Tree"]
_MOST_EXACT = 8


def einsum(equation: str, *operands: UOp) -> UOp:
    """The sum of products that the names of axes say: "ij,jk->ik" is a matrix product."""
    terms, output = _parsed(equation, operands)
    given, _ = promoted(*operands)
    tensors = [x for x in given if x is not None]
    lined = [_plain(x, labels) for x, labels in zip(tensors, terms, strict=True)]
    sizes = _sizes(equation, lined)
    for label in output:
        if label not in sizes:
            raise ArgumentError(
                f"einsum: {equation!r}: {label} stands in the result, but in no operand",
                fix="every letter after -> has to stand before it too",
            )
    order = best_order([labels for _, labels in lined], output, sizes)
    found, labels = _contracted(order, lined, frozenset(output))
    summed = _summed(found, labels, frozenset(output))
    kept = [label for label in labels if label in output]
    return permute(summed, [kept.index(label) for label in output])


# --- names --------------------------------------------------------------------------------------------------------


def _parsed(equation: str, operands: Sequence[UOp]) -> tuple[list[Labels], Labels]:
    """The names of the axes of each operand and of the result; `...` has names of its own."""
    text = equation.replace(" ", "")
    before, arrow, after = text.partition("->")
    words = before.split(",")
    if len(words) != len(operands):
        raise ArgumentError(
            f"einsum: {equation!r} names {len(words)} operands; {len(operands)} are given"
        )
    terms = [
        _labels(equation, word, x) for word, x in zip(words, operands, strict=True)
    ]
    rest = max((_unnamed(labels) for labels in terms), key=len)
    if arrow:
        return terms, _output(equation, after, rest)
    everything = [label for labels in terms for label in labels]
    once = sorted(
        n for n in set(everything) if everything.count(n) == 1 and n.isalpha()
    )
    return terms, (*rest, *once)


def _unnamed(labels: Labels) -> Labels:
    return tuple(label for label in labels if not label.isalpha())


def _labels(equation: str, word: str, x: UOp) -> Labels:
    first, dots, last = word.partition("...")
    names = first + last
    extra = len(x.shape) - len(names)
    wrong = extra < 0 or (extra > 0 and not dots)
    if wrong or not (names.isalpha() or not names):
        raise ShapeError(
            f"einsum: {equation!r}: {word!r} does not name the axes of {show(x.shape)}",
            fix=f"write one letter for each of its {len(x.shape)} axes; ... stands for any number of them",
        )
    rest = tuple(f"...{i}" for i in range(extra, 0, -1))
    return (*first, *rest, *last)


def _output(equation: str, word: str, rest: Labels) -> Labels:
    first, dots, last = word.partition("...")
    found = (*first, *(rest if dots else ()), *last)
    if len(set(found)) != len(found):
        raise ArgumentError(
            f"einsum: {equation!r} names an axis of the result twice"
        )
    return found


def _plain(x: UOp, labels: Labels) -> tuple[UOp, Labels]:
    """An axis named twice is a diagonal."""
    for label in labels:
        if labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = tuple(
                n for i, n in enumerate(labels) if i not in (first, second)
            )
            line = diagonal(x, 0, first, second)
            return _plain(line, (*rest, label))
    return x, labels


def _sizes(equation: str, lined: list[tuple[UOp, Labels]]) -> dict[str, Dim]:
    found: dict[str, Dim] = {}
    for x, labels in lined:
        for label, n in zip(labels, x.shape, strict=True):
            known = found.setdefault(label, n)
            if isinstance(known, int) and known == 1:
                found[label] = n
            elif known is not n and known != n and n != 1:
                raise ShapeError(
                    f"einsum: {equation!r}: axis {label} has size {known} and size {n}",
                    fix="one letter is one size: name the axes with different letters, or transpose an operand",
                )
    return found


# --- the order ----------------------------------------------------------------------------------------------------


def best_order(terms: list[Labels], output: Labels, sizes: dict[str, Dim]) -> Tree:
    """Which operands to join first: a tree of pairs."""
    known = {label: _number(n) for label, n in sizes.items()}
    sets = [frozenset(labels) for labels in terms]
    if len(sets) <= _MOST_EXACT:
        return _exact(sets, frozenset(output), known)
    return _greedy(sets, frozenset(output), known)


def _number(n: Dim) -> int:
    return n if isinstance(n, int) else int(n.bounds[1])


def _cost(labels: frozenset[str], sizes: dict[str, int]) -> int:
    total = 1
    for label in labels:
        total *= max(sizes[label], 1)
    return total


def _exact(
    sets: list[frozenset[str]], output: frozenset[str], sizes: dict[str, int]
) -> Tree:
    """The cheapest tree of every subset, from small subsets to large."""
    everyone = range(len(sets))
    best: dict[frozenset[int], tuple[int, Tree, frozenset[str]]] = {
        frozenset((i,)): (0, i, sets[i]) for i in everyone
    }
    for size in range(2, len(sets) + 1):
        for members in map(frozenset, combinations(everyone, size)):
            others = [sets[i] for i in everyone if i not in members]
            needed = output.union(*others)
            best[members] = min(
                (
                    _joined(best, left, members - left, needed, sizes)
                    for left in _halves(members)
                ),
                key=lambda choice: choice[0],
            )
    return best[frozenset(everyone)][1]


def _halves(members: frozenset[int]) -> list[frozenset[int]]:
    first, *rest = sorted(members)
    return [
        frozenset((first, *some))
        for size in range(len(rest))
        for some in combinations(rest, size)
    ]


def _joined(
    best: dict[frozenset[int], tuple[int, Tree, frozenset[str]]],
    left: frozenset[int],
    right: frozenset[int],
    needed: frozenset[str],
    sizes: dict[str, int],
) -> tuple[int, Tree, frozenset[str]]:
    cost, tree, labels = best[left]
    more, other, others = best[right]
    union = labels | others
    return cost + more + _cost(union, sizes), (tree, other), union & needed


def _greedy(
    sets: list[frozenset[str]], output: frozenset[str], sizes: dict[str, int]
) -> Tree:
    """Always the cheapest pair next."""
    left: list[tuple[Tree, frozenset[str]]] = list(enumerate(sets))
    while len(left) > 1:
        i, j = min(
            combinations(range(len(left)), 2),
            key=lambda pair: _cost(left[pair[0]][1] | left[pair[1]][1], sizes),
        )
        rest = [item for k, item in enumerate(left) if k not in (i, j)]
        needed = output.union(*(labels for _, labels in rest))
        union = (left[i][1] | left[j][1]) & needed
        left = [*rest, ((left[i][0], left[j][0]), union)]
    return left[0][0]


# --- joining ------------------------------------------------------------------------------------------------------


def _leaves(tree: Tree) -> list[int]:
    return [tree] if isinstance(tree, int) else _leaves(tree[0]) + _leaves(tree[1])


def _contracted(
    tree: Tree, lined: list[tuple[UOp, Labels]], needed: frozenset[str]
) -> tuple[UOp, Labels]:
    if isinstance(tree, int):
        return lined[tree]
    sides = []
    for side, other in (tree, tree[::-1]):
        outside = needed.union(*(lined[i][1] for i in _leaves(other)))
        x, labels = _contracted(side, lined, outside)
        sides.append(
            (_summed(x, labels, outside), [n for n in labels if n in outside])
        )
    return _pair(sides[0], sides[1], needed)


def _summed(x: UOp, labels: Sequence[str], needed: frozenset[str]) -> UOp:
    gone = tuple(i for i, label in enumerate(labels) if label not in needed)
    return sum_(x, gone, dtype=x.dtype) if gone else x


def _pair(
    left: tuple[UOp, list[str]],
    right: tuple[UOp, list[str]],
    needed: frozenset[str],
) -> tuple[UOp, Labels]:
    """Two operands as one batched matrix product."""
    (a, first), (b, second) = left, right
    shared = [label for label in first if label in second]
    batch = [label for label in shared if label in needed]
    inner = [label for label in shared if label not in needed]
    rows = [label for label in first if label not in second]
    columns = [label for label in second if label not in first]
    a, b = (
        _ordered(a, first, batch + rows + inner),
        _ordered(b, second, batch + inner + columns),
    )
    labels = (*batch, *rows, *columns)
    if not inner:
        wide = reshape(a, (*a.shape, *(1,) * len(columns)))
        at = len(batch)
        tall = reshape(b, (*b.shape[:at], *(1,) * len(rows), *b.shape[at:]))
        return ew.multiply(wide, tall), labels
    return _matrix_product(a, b, len(batch), len(inner)), labels


def _ordered(x: UOp, labels: list[str], wanted: list[str]) -> UOp:
    return permute(x, [labels.index(label) for label in wanted])


def _matrix_product(a: UOp, b: UOp, batch: int, inner: int) -> UOp:
    """Sizes of 1 meet any size, in the batch and inside."""
    split = len(a.shape) - inner
    front = broadcast_shape("einsum", a.shape[:batch], b.shape[:batch])
    middle = broadcast_shape(
        "einsum", a.shape[split:], b.shape[batch : batch + inner]
    )
    rows, columns = a.shape[batch:split], b.shape[batch + inner :]
    a = broadcast_to(a, (*front, *rows, *middle))
    b = broadcast_to(b, (*front, *middle, *columns))
    depth = product(middle)
    left = reshape(a, (*front, product(rows), depth))
    right = reshape(b, (*front, depth, product(columns)))
    return reshape(matmul(left, right), (*front, *rows, *columns))


def _reference(equation: str, *operands: Any) -> Any:
    return np.einsum(equation, *operands)


def _case(equation: str, *operands: Any) -> Any:
    return sample(equation, *operands)


primitive(
    "einsum",
    einsum,
    ref=_reference,
    samples=(
        _case("ij,jk->ik", floats(3, 4), floats(4, 5)),
        _case("ij,jk", floats(3, 4), floats(4, 5)),
        _case(
            "bij,bjk,bkl->bil", floats(2, 3, 4), floats(2, 4, 5), floats(2, 5, 2)
        ),
        _case(
            "ij,jk,kl,lm->im",
            floats(2, 9),
            floats(9, 3),
            floats(3, 8),
            floats(8, 2),
        ),
        _case("ii", floats(3, 3)),
        _case("ii->i", floats(3, 3)),
        _case("ij->ji", floats(3, 4)),
        _case("ij->", ints(3, 4)),
        _case("i,j->ij", floats(3), floats(4)),
        _case("ij,ij->ij", floats(3, 4), floats(3, 4)),
        _case("...ij,...jk->...ik", floats(2, 3, 4), floats(2, 4, 5)),
        _case("bhid,bhjd->bhij", floats(2, 3, 4, 5), floats(2, 3, 6, 5)),
        _case("ijk,k->ij", floats(2, 3, 4), floats(4)),
        _case("ij,kj->", floats(2, 3), floats(4, 3)),
    ),
    bad_samples=(
        (
            _case("ij,jk", floats(3, 4)),
            "einsum: 'ij,jk' names 2 operands; 1 are given",
        ),
        (_case("ijk->i", floats(3, 4)), "'ijk' does not name the axes of (3, 4)"),
        (
            _case("ij,jk->ik", floats(3, 4), floats(5, 6)),
            "einsum: 'ij,jk->ik': axis j has size 4 and size 5",
        ),
        (
            _case("ij->ijk", floats(3, 4)),
            "k stands in the result, but in no operand",
        ),
        (_case("ij->ii", floats(3, 4)), "names an axis of the result twice"),
    ),
    ulp=32,
    normwise=True,
)
