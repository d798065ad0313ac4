"""Transforms of functions: vmap and jvp; Jacobians are in jacobians.py. In: a function over tensors. Out: another one.

    per_example = ig.vmap(ig.grad(loss), in_axes=(None, 0))      gradients for each row of a batch
    y, dy = ig.jvp(f, (x,), (dx,))                               f and its change along dx, in one pass
    ig.jacfwd(f)(x), ig.jacrev(f)(x), ig.hessian(f)(x)           all partial derivatives
    ig.hvp(f, x, v)                                              the Hessian times v, without the Hessian

The function runs once, and transforms work on the program that it builds: so they nest in any order, and under `ig.jit`.
Under vmap it runs on tensors without values: it may branch on shapes and on Python values, but not look into its
arguments. Arguments and results may be trees: tuples, lists, dictionaries and dataclasses of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from ingot.errors import ArgumentError, AxisError, DTypeError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.shape import same, same_dim
from ingot.ops.axis import normal_axis
from ingot.ops.elementwise import constant
from ingot.ops.movement import Dim, broadcast_to, permute, reshape, show
from ingot.pipeline.late import Late
from ingot.tensor.gradient import Run
from ingot.tensor.tensor import Tensor
from ingot.tensor.trace import (
    as_tensors,
    filled,
    numbers_too,
    over,
    stand_in,
    tensors,
    traced,
)
from ingot.tensor.tree import beside, leaves, mapped

__all__ = ["jvp", "linearize", "vmap"]

if TYPE_CHECKING:
    from ingot.autograd.duals import Dual
    from ingot.autograd.lanes import Lane

Function = Callable[..., Any]
Batch = Callable[[Sequence[UOp], Mapping[UOp, UOp], Dim], "list[Lane]"]
Forward = Callable[[Sequence[UOp], Mapping[UOp, UOp]], "list[Dual]"]
# Loaded by the first transform: importing Ingot does not wait for them.
batch: Late[Batch] = Late("ingot.autograd.batch:batch")
forward: Late[Forward] = Late("ingot.autograd.forward:forward")

# --- vmap -------------------------------------------------------------------------------------------------------------


def vmap(function: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """The function over a batch: written for one example, it is applied to all of them at once.

    `in_axes` says along which axis the examples lie: one number for all arguments, or a tuple with one entry for each;
    None passes an argument whole. An entry may be a tree in the form of its argument. `out_axes` says where the axis
    of the examples goes in the results; None for a result that is the same for all. Keyword arguments are mapped along
    axis 0. Mapped functions can be mapped again.

        ig.vmap(lambda a, b: a @ b, in_axes=(0, None))(rows, matrix)

    Tensors from outside are the same for every example. So are random numbers that the function draws: draw them
    outside, one for each example, and map over them. A branch (`ig.cond`) that the examples take differently computes
    both sides; a loop (`ig.while_loop`) goes on until the last example is done.
    """

    @wraps(function)
    def mapped_function(*args: Any, **named: Any) -> Any:
        given, words = as_tensors((args, named))
        axes = _axes(in_axes, given, words)
        mapping = _Mapping(function, axes, (given, words))
        result = traced("vmap", function, *mapping.inside[0], **mapping.inside[1])
        return mapping.finish(result, out_axes)

    return mapped_function


def _axes(in_axes: Any, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """An axis, or None, for every leaf of the arguments."""
    for_args = list(in_axes) if isinstance(in_axes, tuple | list) else in_axes
    if isinstance(for_args, list) and len(for_args) != len(args):
        raise ArgumentError(
            f"vmap: in_axes has {len(for_args)} entries for {len(args)} arguments",
            fix="give one entry for each argument, or one number for all",
        )
    return [
        *beside("vmap: in_axes", for_args, list(args)),
        *beside("vmap: in_axes", 0, named),
    ]


class _Mapping:
    """One application: the arguments as the function sees them, and what they stand for."""

    def __init__(self, function: Function, axes: list[Any], given: Any) -> None:
        self.length: Dim | None = None
        self.batches: dict[UOp, UOp] = {}
        rest = iter(axes)
        self.inside = mapped(lambda leaf: self._example(leaf, next(rest)), given)
        if self.length is None:
            raise ArgumentError(
                f"vmap: no argument of {getattr(function, '__name__', 'the function')} is mapped",
                fix="give at least one tensor, with an axis in in_axes that is not None",
            )

    def _example(self, leaf: Any, axis: int | None) -> Any:
        """What stands for one example of a leaf."""
        if axis is None or not isinstance(leaf, Tensor):
            return leaf
        node = leaf.uop
        if not node.shape:
            raise AxisError(
                f"vmap: in_axes is {axis} for a tensor with no axes",
                fix="give None in in_axes for what is the same for every example",
            )
        at = normal_axis("vmap: in_axes", axis, len(node.shape))
        self._check_length(node.shape[at], at)
        first = permute(node, (at, *(a for a in range(len(node.shape)) if a != at)))
        example = stand_in(node.dtype, first.shape[1:])
        self.batches[example.uop] = first
        return example

    def _check_length(self, length: Dim, axis: int) -> None:
        if self.length is None:
            self.length = length
        if not same_dim(self.length, length):
            raise ShapeError(
                f"vmap: {length} examples along axis {axis} of one argument, {self.length} in another",
                wanted="as many in each",
            )

    def finish(self, result: Any, out_axes: Any) -> Any:
        """The results with the examples along their axes."""
        where = beside("vmap: out_axes", out_axes, result)
        pairs = zip(leaves(result), where, strict=True)
        wanted = [axis for leaf, axis in pairs if isinstance(leaf, Tensor)]
        roots = [t.uop for t in tensors(result)]
        lanes = batch()(roots, self.batches, self._size())
        made = [
            self._placed(x, axis) for x, axis in zip(lanes, wanted, strict=True)
        ]
        return filled(result, [Tensor.of(node) for node in made])

    def _size(self) -> Dim:
        assert self.length is not None
        return self.length

    def _placed(self, lane: Lane, axis: int | None) -> UOp:
        if axis is None and not lane.batched:
            return lane.node
        if axis is None:
            raise ArgumentError(
                "vmap: out_axes is None for a result that differs from example to example",
                fix="give the axis along which the examples should lie",
            )
        whole = lane.node if lane.batched else _repeated(lane.node, self._size())
        rank = len(whole.shape)
        at = normal_axis("vmap: out_axes", axis, rank)
        order = list(range(1, rank))
        order.insert(at, 0)
        return permute(whole, order)


def _repeated(node: UOp, length: Dim) -> UOp:
    return broadcast_to(reshape(node, (1, *node.shape)), (length, *node.shape))


# --- forward derivatives ----------------------------------------------------------------------------------------------


def jvp(function: Function, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The function's results at `primals`, and how they change when the primals move along `tangents`.

    Both are tuples with one entry for each argument; the directions have the shapes of the arguments. The cost is that
    of a few evaluations, whatever the number of results: use it for functions with few inputs and many outputs.

        y, dy = ig.jvp(ig.sin, (x,), (ig.ones_like(x),))        # dy is cos(x)
    """
    result, moved = linearize(function, *_several("jvp: primals", primals))
    return result, moved(*_several("jvp: tangents", tangents))


def _several(what: str, given: Any) -> tuple[Any, ...]:
    if not isinstance(given, tuple | list):
        raise ArgumentError(
            f"{what} is {type(given).__name__}; wanted a tuple, one entry for each argument",
            fix="write (x,) for one argument",
        )
    return tuple(given)


def linearize(function: Function, *primals: Any) -> tuple[Any, Function]:
    """The function's results, and the linear function from directions of the arguments to changes of the results.

    Use it for many directions at one point: the function runs once.
    """
    given = numbers_too(primals)
    with Run("jvp", given, range(len(given)), floats_only=False) as run:
        result = numbers_too(function(*run.inside))
        traced_roots = [t.uop for t in tensors(result)]
    ways = [stand_in(p.dtype, p.shape) for p in run.places]
    moving = {
        place: way.uop
        for place, way in zip(run.places, ways, strict=True)
        if place.dtype.is_float
    }
    duals = forward()(traced_roots, moving)
    roots = run.over([d.primal for d in duals])
    changes = run.over([or_zeros(d.tangent, d.primal) for d in duals])

    def linear(*tangents: Any) -> Any:
        directions = _directions(tangents, given, run.points)
        known = {w.uop: d for w, d in zip(ways, directions, strict=True)}
        return filled(result, [Tensor.of(node) for node in over(changes, known)])

    return filled(result, [Tensor.of(node) for node in roots]), linear


def or_zeros(found: UOp | None, like: UOp) -> UOp:
    """A derivative, where there is one."""
    return constant(0, like.dtype, like.shape) if found is None else found


def _directions(
    tangents: tuple[Any, ...], given: Any, points: Sequence[Tensor]
) -> list[UOp]:
    """A node for each primal, in its type and shape. What is no float has no direction."""
    count = len(list(leaves(given)))
    found = [*leaves(numbers_too(tangents))]
    if len(found) != count:
        raise ArgumentError(
            f"jvp: {len(found)} tangents for {count} primals", wanted="one for each"
        )
    pairs = zip(leaves(given), found, strict=True)
    ways = [way for point, way in pairs if isinstance(point, Tensor)]
    return [_direction(w, p) for w, p in zip(ways, points, strict=True)]


def _direction(way: Any, point: Tensor) -> UOp:
    if not point.dtype.is_float or way is None:
        return constant(0, point.dtype, point.shape)
    if not isinstance(way, Tensor):
        raise DTypeError(
            f"jvp: a tangent is {type(way).__name__}; wanted a tensor of shape {show(point.shape)}"
        )
    if not same(way.shape, point.shape):
        raise ShapeError(
            f"jvp: a tangent is {show(way.shape)} for a primal of {show(point.shape)}",
            fix="a direction has the shape of the argument that it moves",
        )
    return way.uop.cast(point.dtype)
