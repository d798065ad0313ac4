"""Tracing: one run of a function on placeholders. In: the function, a call, what is round it. Out: what it did.

Nothing stays changed: tensors and slots get back what they had, also when the function fails. A replay then does for real
what the trace has shown.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.jit.arguments import Arguments, name_of
from ingot.jit.capture import Effect, Traced
from ingot.jit.record import Record
from ingot.jit.surroundings import Surroundings, is_open
from ingot.jit.tree import Branch, Flattening, Form, Value, fill
from ingot.tensor.handle import Handle, tracing
from ingot.tensor.leaves import tracked
from ingot.tensor.recording import state
from ingot.tensor.tensor import Tensor


def trace(
    function: Callable[..., Any],
    call: Arguments,
    scene: Surroundings,
    logs: dict[int, object],
) -> Traced:
    """Run the function on placeholders. Lists that it only writes words or numbers to are added to `logs`."""
    places = [
        Tensor.of(pipeline.placeholder(t.dtype, shape))
        for t, shape in zip(call.tensors, call.shapes, strict=True)
    ]
    record = Record(name_of(function), [p.uop for p in places])
    with tracing:
        outer = Handle.journal
        Handle.journal = record
        try:
            form, effects, flat = _run(function, call, places, scene, logs)
            outputs = [t.uop for t in flat.tensors]
            gathers = any(slot.path.endswith(".grad") for slot in scene.changes())
            followed = _is_followed(outputs, record, gathers)
            if followed:
                record.undo()
        except BaseException:
            record.undo()
            raise
        finally:
            Handle.journal = outer
            _put_back(scene, logs)
    return Traced(
        list[Handle](places),
        list(scene.tensors),
        record,
        form,
        effects,
        outputs,
        call.sizes,
        call.own_sizes,
        followed,
    )


def _is_followed(outputs: list[UOp], record: Record, gathers: bool) -> bool:
    """Gradients go on to the outside, unless the function itself has used them: it gathers them, or changes a leaf."""
    if gathers or not state.is_on:
        return False
    marks = [handle.marks for handle, _ in record.changed()]
    if any(m is not None and m.requires_grad for m in marks):
        return False
    return bool(tracked(outputs))


def _run(
    function: Callable[..., Any],
    call: Arguments,
    places: list[Tensor],
    scene: Surroundings,
    logs: dict[int, object],
) -> tuple[Form, list[Effect], Flattening]:
    args, kwargs = _filled(call.form, places)
    result = function(*args, **kwargs)
    _check_arguments(function, call, places, (args, kwargs))
    flat = _flattening(scene)
    form = flat.form(result, "the result")
    return form, list(_effects(scene, flat, logs)), flat


def _filled(form: Any, places: list[Tensor]) -> tuple[list[Any], dict[str, Any]]:
    forms, named = form
    args = [fill(one, places) for one in forms]
    return args, {name: fill(one, places) for name, one in named}


def _check_arguments(
    function: Callable[..., Any],
    call: Arguments,
    places: list[Tensor],
    given: tuple[list[Any], dict[str, Any]],
) -> None:
    """A list or dictionary among the arguments is a copy inside: changing it would change nothing outside."""
    flat = Flattening(
        lambda value, path: Value(type(value), id(value), value), keeps_leaves=True
    )
    args, kwargs = given
    forms = tuple(flat.form(a, "") for a in args)
    named = tuple((n, flat.form(kwargs[n], "")) for n in sorted(kwargs))
    same = [a is b for a, b in zip(flat.tensors, places, strict=False)]
    if len(flat.tensors) != len(places) or not all(same):
        changed = True
    else:
        changed = _shape_of((forms, named)) != _shape_of(call.form)
    if changed:
        raise ArgumentError(
            f"jit: {name_of(function)} changes a list or dictionary that is its argument",
            wanted="arguments that stay as they are",
            fix="return the new list, or keep it in a variable outside of the function or in an object's attribute",
        )


def _shape_of(form: Any) -> Any:
    """A form without the identities of objects, which `_check_arguments` does not compare."""
    if isinstance(form, Branch):
        return form.type, form.names, tuple(_shape_of(p) for p in form.parts)
    if isinstance(form, Value):
        return form.type
    if isinstance(form, tuple) and not hasattr(form, "_fields"):
        return tuple(_shape_of(p) for p in form)
    return form


def _flattening(scene: Surroundings) -> Flattening:
    """Takes results apart. Objects of the outside are themselves; those that the function made are made again."""

    def form(value: Any, path: str) -> Form:
        if isinstance(value, Iterator):
            raise ArgumentError(
                f"jit: {path} is a {type(value).__name__}, which can be gone through only once",
                fix="return a list or a tuple; a function with `yield` cannot be captured",
            )
        if scene.knows(value) or not (
            is_open(value) and hasattr(value, "__dict__")
        ):
            return Value(type(value), id(value), value)
        names = tuple(vars(value))
        parts = (flat.form(vars(value)[n], f"{path}.{n}") for n in names)
        return Branch(type(value), names, tuple(parts))

    flat = Flattening(form)
    return flat


def _effects(
    scene: Surroundings, flat: Flattening, logs: dict[int, object]
) -> list[Effect]:
    """What the function left in slots."""
    found = []
    for slot in scene.changes():
        value = slot.now()
        form = flat.form(value, slot.path)
        if slot.is_new and isinstance(slot.holder, list) and _is_plain(form):
            logs[id(slot.holder)] = slot.holder
        else:
            found.append(Effect(slot, form))
    return found


def _is_plain(form: Form) -> bool:
    """No tensor in it."""
    if isinstance(form, Branch):
        return all(_is_plain(part) for part in form.parts)
    return isinstance(form, Value)


def _put_back(scene: Surroundings, logs: Container[int]) -> None:
    for slot in reversed(list(scene.changes())):
        if id(slot.holder) not in logs:
            slot.put(slot.value)
