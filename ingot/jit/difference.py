"""Why a function is captured once more. In: the call before and this one. Out: a few words: `lr is 0.1, was 0.2`."""

from __future__ import annotations

from typing import Any

from ingot.jit.arguments import Arguments
from ingot.jit.surroundings import Surroundings
from ingot.jit.tree import Branch, Form, Value
from ingot.ops.movement import show

MOST = 3
Call = tuple[Arguments, Surroundings]


def difference(before: Call | None, call: Arguments, scene: Surroundings) -> str:
    """What is new."""
    if before is None:
        return "first call"
    old, new = _facts(*before), _facts(call, scene)
    found = [
        f"{path} is {text}" + (f", was {old[path]}" if path in old else "")
        for path, text in new.items()
        if old.get(path) != text
    ]
    found += [f"{path} is gone" for path in old if path not in new]
    if not found:
        return "settings, or objects that were replaced"
    more = len(found) - MOST
    return "; ".join(found[:MOST]) + (f" and {more} more" if more > 0 else "")


def _facts(call: Arguments, scene: Surroundings) -> dict[str, str]:
    """What decides which program is used, by name."""
    found = {
        path: f"{tensor.dtype}{show(tensor.shape)}"
        for path, tensor in zip(call.paths, call.tensors, strict=True)
    }
    forms, named = call.form
    for number, form in enumerate(forms):
        found |= _plain(form, call.names[number])
    for name, form in named:
        found |= _plain(form, name)
    for slot in scene.tensors:
        found[slot.path] = f"{slot.value.dtype}{show(slot.value.shape)}"
    return found | {slot.path: _text(slot.value) for slot in scene.fixed}


def _plain(form: Form, path: str) -> dict[str, str]:
    if isinstance(form, Value):
        return {path: _text(form.value)}
    found: dict[str, str] = {}
    if isinstance(form, Branch):
        for name, part in zip(form.names, form.parts, strict=True):
            found |= _plain(part, f"{path}[{name!r}]")
    return found


def _text(value: Any) -> str:
    text = repr(value) if isinstance(value, bool | int | float | str) else ""
    return text[:40] or f"a {type(value).__name__}"
