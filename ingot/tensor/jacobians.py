"""All partial derivatives: Jacobians, Hessians, and their products. In: a function over tensors. Out: another one.

A Jacobian is a derivative along every direction of a basis at once: the derivative of the program, batched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from ingot.errors import DTypeError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.shape import product
from ingot.ops.creation import eye, full
from ingot.ops.movement import broadcast_to, permute, reshape, show
from ingot.tensor.differentiable import gradients
from ingot.tensor.gradient import Run
from ingot.tensor.trace import filled, numbers_too, stand_in, tensors
from ingot.tensor.transforms import batch, forward, jvp, or_zeros

__all__ = ["hessian", "hvp", "jacfwd", "jacrev"]

if TYPE_CHECKING:
    from ingot.autograd.lanes import Lane

Function = Callable[..., Any]


def jacfwd(function: Function, argnums: int | Sequence[int] = 0) -> Function:
    """The Jacobian, one column for each element of the arguments: good for few inputs and many outputs.

    A result of shape s and an argument of shape t give a Jacobian of shape (*s, *t). `argnums` names the arguments to
    differentiate for; several give a tuple. Results and arguments that are trees give trees: that of the results
    outside, that of the arguments inside.
    """

    def column(traces: _Point, place: UOp) -> list[UOp]:
        way = stand_in(place.dtype, place.shape)
        duals = forward()(traces.roots, {place: way.uop})
        changes = [or_zeros(d.tangent, d.primal) for d in duals]
        lanes = batch()(changes, {way.uop: _basis(place)}, product(place.shape))
        return [
            _columns_last(lane, root, place)
            for lane, root in zip(lanes, traces.roots, strict=True)
        ]

    @wraps(function)
    def jacobian(*args: Any) -> Any:
        point = _Point("jacfwd", function, args, argnums)
        columns = [column(point, place) for place in point.places]
        rows = [list(row) for row in zip(*columns, strict=True)]
        return point.tree(rows)

    return jacobian


def jacrev(function: Function, argnums: int | Sequence[int] = 0) -> Function:
    """The Jacobian, one row for each element of the results: good for many inputs and few outputs.

    The same values in the same forms as `jacfwd` gives.
    """

    def row(point: _Point, root: UOp) -> list[UOp]:
        seed = stand_in(root.dtype, root.shape)
        found = gradients()([root], [seed.uop], point.places, ())
        shares = [
            or_zeros(f, place) for f, place in zip(found, point.places, strict=True)
        ]
        lanes = batch()(shares, {seed.uop: _basis(root)}, product(root.shape))
        return [
            reshape(_whole(lane, root), (*root.shape, *place.shape))
            for lane, place in zip(lanes, point.places, strict=True)
        ]

    @wraps(function)
    def jacobian(*args: Any) -> Any:
        point = _Point("jacrev", function, args, argnums)
        return point.tree([row(point, root) for root in point.roots])

    return jacobian


def hessian(function: Function, argnums: int | Sequence[int] = 0) -> Function:
    """The second derivatives of a function with one result: for an argument of shape s, a Hessian of shape (*s, *s)."""
    return jacfwd(jacrev(function, argnums), argnums)


def hvp(function: Function, primals: Any, tangents: Any) -> Any:
    """The Hessian of a function with one number as its result, times a direction: without making the Hessian.

    `primals` is the argument, or a tuple of the arguments; `tangents` has the same form, and so has the product. It
    costs about twice a gradient.
    """
    alone = not isinstance(primals, tuple)
    args = (primals,) if alone else primals
    ways = (tangents,) if alone else tangents

    def slope(*inner: Any) -> Any:
        point = _Point("hvp", function, inner, tuple(range(len(inner))))
        if len(point.roots) != 1 or product(point.roots[0].shape) != 1:
            raise ShapeError(
                "hvp: the function gives more than one number",
                given=[root.shape for root in point.roots],
                fix="sum or average its results",
            )
        (root,) = point.roots
        found = gradients()(
            [root], [full(root.shape, 1, root.dtype)], point.places, ()
        )
        pairs = zip(found, point.places, strict=True)
        shares = [or_zeros(f, place) for f, place in pairs]
        return point.run.form(point.run.over(shares))

    _, product_ = jvp(slope, args, ways)
    return product_[0] if alone else product_


class _Point:
    """A function run at some arguments, to be differentiated for some of them."""

    def __init__(
        self,
        name: str,
        function: Function,
        args: tuple[Any, ...],
        argnums: int | Sequence[int],
    ) -> None:
        with Run(name, args, argnums) as self.run:
            self.result = numbers_too(function(*self.run.inside))
            self.roots = [t.uop for t in tensors(self.result)]
        self.places = self.run.places
        for root in self.roots:
            if not root.dtype.is_float:
                raise DTypeError(
                    f"{name}: a result is {root.dtype}, which has no derivative",
                    fix="differentiate what was computed before it became whole numbers",
                )

    def tree(self, rows: Sequence[Sequence[UOp]]) -> Any:
        """For every result, the derivatives for the arguments, in the forms of both."""
        inner = [self.run.form(self.run.over(row)) for row in rows]
        return filled(self.result, inner)


def _basis(like: UOp) -> UOp:
    """One direction for each element: a 1 there, and 0 everywhere else."""
    count = product(like.shape)
    if not isinstance(count, int):
        raise ShapeError(
            f"a Jacobian over {show(like.shape)} has no fixed size",
            fix="bind the symbolic size first",
        )
    return reshape(eye(count, count, 0, like.dtype), (count, *like.shape))


def _whole(lane: Lane, over_: UOp) -> UOp:
    """The lane for each element of a node."""
    return lane.node if lane.batched else _repeated(lane.node, over_)


def _repeated(node: UOp, over_: UOp) -> UOp:
    row = reshape(node, (1, *node.shape))
    return broadcast_to(row, (product(over_.shape), *node.shape))


def _columns_last(lane: Lane, root: UOp, place: UOp) -> UOp:
    """(elements, *result) as (*result, *argument)."""
    rank = len(root.shape)
    columns = _whole(lane, place)
    last = permute(columns, (*range(1, rank + 1), 0))
    return reshape(last, (*root.shape, *place.shape))
