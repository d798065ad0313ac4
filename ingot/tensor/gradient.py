"""Gradients of functions and of tensors. In: a function over tensors. Out: the function that gives its gradient.

    slope = ig.grad(loss)                        a function: slope(w, x) is the gradient of loss(w, x) for w
    value, slopes = ig.value_and_grad(loss, argnums=(0, 1))(w, b)
    y, pull = ig.vjp(f, x)                       pull(v) is v times the Jacobian, without the Jacobian
    dw, db = ig.grad(loss_value, [w, b])         of tensors: as torch.autograd.grad

`ig.grad` of a function is for programs written as functions, `.backward()` for tensors with requires_grad; both build the
same programs, and both can be differentiated again. Arguments may be trees: tuples, lists, dictionaries and dataclasses.
The function runs as it stands, on tensors with values: it may print, branch and evaluate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, overload

from ingot.errors import ArgumentError, DTypeError
from ingot.ir.node import UOp
from ingot.ops.axis import normal_axis
from ingot.ops.op import apply
from ingot.tensor.differentiable import gradients, present, seed_for, within
from ingot.tensor.dirty import dirty_handles
from ingot.tensor.handle import Value
from ingot.tensor.leaves import depth
from ingot.tensor.recording import enable_grad, unfollowed
from ingot.tensor.tensor import Tensor
from ingot.tensor.trace import filled, numbers_too, over, tensors

__all__ = ["grad", "value_and_grad", "vjp"]

Function = Callable[..., Any]
Numbers = int | Sequence[int]


@overload
def grad(
    function: Function, argnums: Numbers = 0, *, has_aux: bool = False
) -> Function: ...


@overload
def grad(
    function: Tensor | Sequence[Tensor],
    argnums: Tensor | Sequence[Tensor],
    grad_outputs: Value | Sequence[Value | None] | None = None,
    *,
    create_graph: bool = True,
    allow_unused: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]: ...


def grad(
    function: Any, argnums: Any = 0, grad_outputs: Any = None, **options: Any
) -> Any:
    """The gradient. Of a function: a function that gives it. Of tensors: the gradients themselves.

    ig.grad(f, argnums=0, has_aux=False): the new function takes the arguments of f, whose result is one number, and
    gives the gradient for argument `argnums`; several give a tuple. With `has_aux`, f gives (number, more), and the
    new function (gradient, more).

    ig.grad(outputs, inputs, grad_outputs=None, create_graph=True, allow_unused=False, materialize_grads=False): for
    each input the sum over the outputs; nothing is gathered in .grad.
    """
    if isinstance(function, Tensor | list | tuple):
        return _of_tensors(function, argnums, grad_outputs, **options)
    both = value_and_grad(function, argnums, **options)

    @wraps(function)
    def slope(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if options.get("has_aux") else found

    return slope


def value_and_grad(
    function: Function, argnums: Numbers = 0, *, has_aux: bool = False
) -> Function:
    """A function that gives (result, gradient): the result is computed on the way anyway. See `grad`."""

    @wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        with Run("grad", args, argnums) as run:
            result = function(*run.inside, **kwargs)
            output = _main(result) if has_aux else result
            roots = [_node("grad", output)]
            found = run.pull(roots, [seed_for("grad", roots[0], None)])
        return run.outside(result), run.form(run.over(found))

    return both


def vjp(
    function: Function, *primals: Any, has_aux: bool = False
) -> tuple[Any, ...]:
    """(result, pull): pull(cotangents of the result) gives a tuple with the gradient for each of `primals`.

    The cotangents have the form of the result. With `has_aux`, f gives (result, more), and the answer is
    (result, pull, more).
    """
    with Run("vjp", primals, range(len(primals))) as run:
        made = function(*run.inside)
        result, more = made if has_aux else (made, None)
        result = numbers_too(result)
        roots = [_float(t) for t in tensors(result)]

    def pull(cotangents: Any) -> Any:
        given = tensors(numbers_too(cotangents))
        if len(given) != len(roots):
            raise ArgumentError(
                f"vjp: {len(given)} cotangents for {len(roots)} results",
                wanted="one for each, in the form of the result",
            )
        pairs = zip(roots, given, strict=True)
        seeds = [seed_for("vjp", root, g) for root, g in pairs]
        return run.form(run.over(run.pull(roots, seeds)))

    outside = run.outside(result)
    return (outside, pull, run.outside(more)) if has_aux else (outside, pull)


def _main(result: Any) -> Any:
    if not isinstance(result, tuple) or len(result) != 2:
        raise ArgumentError(
            f"grad: with has_aux the function gives {type(result).__name__}",
            wanted="a pair: (the number to differentiate, anything more)",
        )
    return result[0]


def _node(name: str, output: Any) -> UOp:
    if not isinstance(output, Tensor):
        raise ArgumentError(
            f"{name}: the function gives {type(output).__name__}",
            wanted="a tensor with one number",
            fix="return the loss; what else the function gives goes second, with has_aux=True",
        )
    return output.uop


def _float(result: Tensor) -> UOp:
    if not result.dtype.is_float:
        raise DTypeError(
            f"vjp: a result is {result.dtype}, which has no gradient",
            wanted="a float type",
        )
    return result.uop


class Run:
    """A function that is being differentiated: its arguments under names of their own, and what they stand for."""

    def __init__(
        self,
        name: str,
        args: Sequence[Any],
        argnums: Numbers,
        floats_only: bool = True,
    ) -> None:
        self.alone = isinstance(argnums, int)
        chosen = [argnums] if isinstance(argnums, int) else list(argnums)
        numbers = [normal_axis(f"{name}: argnums", n, len(args)) for n in chosen]
        self.moved = [numbers_too(args[n]) for n in numbers]
        self.points = tensors(self.moved)
        for point in self.points if floats_only else ():
            _check_float(name, point)
        self.inside = list(args)
        self.numbers = numbers
        self.places: list[UOp] = []

    def __enter__(self) -> Run:
        depth.now += 1
        self.setting = enable_grad()
        self.setting.__enter__()
        self.places = [
            apply("input", point.uop, level=depth.now, number=i)
            for i, point in enumerate(self.points)
        ]
        named = filled(self.moved, [Tensor.of(place) for place in self.places])
        for n, tree in zip(self.numbers, named, strict=True):
            self.inside[n] = tree
        return self

    def __exit__(self, kind: object, error: object, where: object) -> None:
        self.setting.__exit__(None, None, None)
        depth.now -= 1
        self._rename_changed()

    def _rename_changed(self) -> None:
        """Tensors from outside that the function changed are free of its names, too."""
        for handle in dirty_handles():
            (value,) = self.over([handle.uop])
            if value is not handle.uop:
                handle.rename(value)

    def over(self, nodes: Sequence[UOp]) -> list[UOp]:
        """The nodes over the arguments themselves."""
        values = {p: x.uop for p, x in zip(self.places, self.points, strict=True)}
        return over(nodes, values)

    def pull(self, roots: Sequence[UOp], seeds: Sequence[UOp]) -> list[UOp]:
        """The gradient for each place; zeros where the result does not depend on it."""
        found = gradients()(roots, seeds, self.places, ())
        pairs = zip(found, self.places, strict=True)
        return [present("grad", share, x, 0, True) for share, x in pairs]

    def form(self, nodes: Sequence[UOp]) -> Any:
        """Gradients in the form of the arguments."""
        made = filled(self.moved, [Tensor.of(u) for u in nodes])
        return made[0] if self.alone else tuple(made)

    def outside(self, tree: Any) -> Any:
        """A result over the arguments themselves."""
        nodes = self.over([t.uop for t in tensors(tree)])
        return filled(tree, [Tensor.of(u) for u in nodes])


def _check_float(name: str, point: Tensor) -> None:
    if not point.dtype.is_float:
        raise DTypeError(
            f"{name}: an argument is {point.dtype}, which has no gradient",
            wanted="a float type",
            fix="convert it with .float(), or leave it out of argnums",
        )


# --- of tensors ---------------------------------------------------------------------------------------------------


def _of_tensors(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    *,
    create_graph: bool = True,
    retain_graph: bool | None = None,
    allow_unused: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    roots = [t.uop for t in _several(outputs)]
    weights = _weights(grad_outputs, len(roots))
    seeds = [
        seed_for("grad", root, w) for root, w in zip(roots, weights, strict=True)
    ]
    wrt = [within(target, roots) for target in _several(inputs)]
    found = gradients()(roots, seeds, wrt, ())
    fill = materialize_grads
    made = [
        None
        if share is None and allow_unused and not fill
        else present("grad", share, x, i, fill)
        for i, (share, x) in enumerate(zip(found, wrt, strict=True))
    ]
    kept = [u if u is None or create_graph else unfollowed(u) for u in made]
    return tuple(None if u is None else Tensor.of(u) for u in kept)


def _several(given: Tensor | Sequence[Tensor]) -> list[Tensor]:
    found = [given] if isinstance(given, Tensor) else list(given)
    for one in found:
        if not isinstance(one, Tensor):
            raise ArgumentError(
                f"grad: {type(one).__name__} among tensors",
                wanted="tensors, or a function as the first argument",
            )
    return found


def _weights(given: Any, count: int) -> list[Any]:
    if given is None:
        return [None] * count
    several = list(given) if isinstance(given, list | tuple) else [given]
    if len(several) != count:
        raise ArgumentError(
            f"grad: {len(several)} grad_outputs for {count} outputs",
            wanted="one for each",
        )
    return several
