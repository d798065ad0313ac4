"""Gradients as methods of a tensor. In: a tensor that was computed from leaves. Out: gradients, gathered in theirs.

    w = ig.rand(3, 3, requires_grad=True)        a leaf: gradients arrive here
    loss = ((x @ w) ** 2).mean()
    loss.backward()                              w.grad is a tensor, as lazy as any other
    with ig.no_grad():
        w -= 0.1 * w.grad                        a leaf is changed only where gradients are not followed
        w.grad = None                            backward() adds to what is there

Gradients are programs: nothing runs until somebody looks. Looking at a loss does not end its history, but what went
through .numpy(), .item(), .detach() or no_grad is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Self, cast
from weakref import WeakKeyDictionary, ref

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import same
from ingot.ops.elementwise import constant
from ingot.ops.movement import show
from ingot.ops.op import apply
from ingot.pipeline.late import Late
from ingot.tensor.computed import in_memory
from ingot.tensor.handle import Handle, Value, node
from ingot.tensor.leaves import leaves, tracked
from ingot.tensor.recording import unfollowed

Gradients = Callable[
    [Sequence[UOp], Sequence[UOp], Sequence[UOp], Collection[UOp]],
    tuple[UOp | None, ...],
]
gradients: Late[Gradients] = Late("ingot.autograd.backward:gradients")

# Inner values whose gradients are kept on request, by node.
_retained: WeakKeyDictionary[UOp, ref[Handle]] = WeakKeyDictionary()


class Differentiable(Handle):
    """requires_grad, grad, backward and their like."""

    __slots__ = ()

    @property
    def requires_grad(self) -> bool:
        """Gradients flow here: the tensor is a leaf, or was computed from one. Setting it makes a leaf."""
        return self.is_marked or bool(tracked([self.uop]))

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.require_grad(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set requires_grad, and return the tensor itself."""
        self.require_grad(requires_grad)
        return self

    @property
    def is_marked(self) -> bool:
        """Somebody asked for gradients of this very tensor."""
        return self.marks is not None and self.marks.requires_grad

    @property
    def is_leaf(self) -> bool:
        """Gradients end here: a tensor of the user, or one that no gradient flows through."""
        return self.is_marked or not tracked([self.uop])

    @property
    def grad(self) -> Self | None:
        """The gradient that backward() has gathered here, or None."""
        return None if self.marks is None else cast("Self | None", self.marks.grad)

    @grad.setter
    def grad(self, value: Value | None) -> None:
        if value is None:
            if self.marks is not None:
                self.marks.grad = None
            return
        given = value if isinstance(value, type(self)) else self.of(node(value))
        _check_shape("grad", given.uop, self.uop)
        self.marked().grad = given

    def zero_grad(self) -> None:
        """Forget the gradient that was gathered."""
        self.grad = None

    def detach(self) -> Self:
        """The same value, as a constant: gradients do not flow through it."""
        return self.of(apply("detach", self.uop))

    def detach_(self) -> Self:
        """The tensor becomes a constant, and is returned."""
        if self.is_marked:
            self.require_grad(False)
        else:
            self.rebind(unfollowed(self.uop))
        return self

    def retain_grad(self) -> Self:
        """Also keep the gradient of this inner value: after backward() it is in .grad."""
        if not self.is_marked:
            _check_differentiable("retain_grad", [self.uop])
            _retained[self.uop] = ref(self)
        return self

    def backward(
        self,
        gradient: Value | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Handle | Iterable[Handle] | None = None,
    ) -> None:
        """Add the gradient of this number for every leaf below it to that leaf's .grad.

        `gradient` weighs the elements of a tensor that is not one number. With `create_graph` the gradients can be
        differentiated again. `inputs` limits the leaves. Programs are values, so `retain_graph` changes nothing.
        """
        root = self.uop
        _check_differentiable("backward", [root])
        seed = seed_for("backward", root, gradient)
        holders = _holders(root, inputs)
        found = gradients()([root], [seed], list(holders), leaves_below(root))
        shares = [
            constant(0.0, leaf.dtype, leaf.shape) if share is None else share
            for leaf, share in zip(holders, found, strict=True)
        ]
        followed = set() if create_graph else tracked(shares)
        for holder, share in zip(holders.values(), shares, strict=True):
            _gather(holder, apply("detach", share) if share in followed else share)

    def gradient(
        self,
        *targets: Handle,
        gradient: Value | None = None,
        materialize_grads: bool = False,
    ) -> list[Self]:
        """The gradient of this number for each of these tensors, whether they require it or not; .grad is left alone.

        A target that the number does not depend on is an error, or zeros with `materialize_grads`.
        """
        seed = seed_for("gradient", self.uop, gradient)
        wrt = [within(target, [self.uop]) for target in targets]
        found = gradients()([self.uop], [seed], wrt, ())
        pairs = zip(found, wrt, strict=True)
        return [
            self.of(present("gradient", share, x, i, materialize_grads))
            for i, (share, x) in enumerate(pairs)
        ]


# --- what is asked for --------------------------------------------------------------------------------------------


def seed_for(name: str, root: UOp, given: Value | None) -> UOp:
    """The cotangent to start with: 1 for one number, else what the user gives."""
    if not root.dtype.is_float:
        raise DTypeError(
            f"{name}: the tensor is {root.dtype}, which has no gradient",
            wanted="a float type",
            fix="differentiate what was computed before it became whole numbers",
        )
    if given is not None:
        weights = node(given)
        _check_shape(name, weights, root)
        return weights.cast(root.dtype)
    if any(not isinstance(n, int) or n != 1 for n in root.shape):
        raise ShapeError(
            f"{name}: the tensor is {show(root.shape)}",
            wanted="one number",
            fix=_SCALAR_FIXES.get(name, _SCALAR_FIXES["backward"]),
        )
    return constant(1.0, root.dtype, root.shape)


_SCALAR_FIXES = {
    "backward": "call .sum() or .mean() first, or pass gradient=..., a weight for each element",
    "grad": "have the function return .sum() or .mean(); ig.jacrev gives the slopes of many numbers",
}


def _check_shape(name: str, given: UOp, wanted: UOp) -> None:
    if not same(given.shape, wanted.shape):
        raise ShapeError(
            f"{name}: the gradient is {show(given.shape)}, the tensor is {show(wanted.shape)}",
            fix="a gradient has the shape of its tensor",
        )


def _check_differentiable(name: str, roots: Sequence[UOp]) -> None:
    for root in roots:
        if not root.dtype.is_float:
            seed_for(name, root, None)
        if not tracked([root]):
            raise ArgumentError(
                f"{name}: no gradient flows to this tensor: nothing that it was computed from requires one",
                wanted="requires_grad=True on an input, set before computing",
                fix="what went through .numpy(), .item(), .detach(), no_grad or whole numbers counts as a constant",
            )


def leaves_below(root: UOp) -> list[UOp]:
    """The leaves that a value was computed from; what they themselves came from is not looked at."""
    reached = root.toposort(lambda u: u.op is not Ops.FUNCTION and u not in leaves)
    return [u for u in reached if u in leaves]


def _holders(
    root: UOp, inputs: Handle | Iterable[Handle] | None
) -> dict[UOp, Handle]:
    """Where the gradients of these nodes are gathered."""
    if inputs is not None:
        given = [inputs] if isinstance(inputs, Handle) else list(inputs)
        return {within(handle, [root]): handle for handle in given}
    below = {u: leaves[u]() for u in leaves_below(root)}
    if _retained:
        inner = root.toposort(lambda u: u.op is not Ops.FUNCTION)
        below |= {u: _retained[u]() for u in inner if u in _retained}
    return {u: handle for u, handle in below.items() if handle is not None}


def within(target: Handle, roots: Sequence[UOp]) -> UOp:
    """The node of a tensor in a program: a value that was computed since is still pending there."""
    own = target.uop
    if not own.dtype.is_float:
        raise DTypeError(
            f"gradient: a target is {own.dtype}, which has no gradient",
            wanted="a float type",
            fix="convert it first: x.float()",
        )
    if own.op is not Ops.BUFFER:
        return own
    sink = UOp(Ops.SINK, dt.void, tuple(roots))
    reached = sink.toposort(lambda u: u.op is not Ops.FUNCTION)
    if own in reached:
        return own
    return next((u for u in reached if in_memory(u) is own), own)


def present(
    name: str, share: UOp | None, like: UOp, number: int, fill: bool
) -> UOp:
    """A gradient; zeros, or an error, where there is none."""
    if share is not None:
        return share
    if fill:
        return constant(0.0, like.dtype, like.shape)
    raise ArgumentError(
        f"{name}: the result does not depend on tensor {number}, of shape {show(like.shape)}",
        fix="leave it out, or ask for zeros with materialize_grads=True (allow_unused=True gives None)",
    )


# --- what is gathered ---------------------------------------------------------------------------------------------


def _gather(holder: Handle, share: UOp) -> None:
    """Add to what a tensor has gathered before."""
    before = holder.marked().grad
    if before is None:
        holder.marked().grad = holder.of(share)
    else:
        before.rebind(before.uop + share)
