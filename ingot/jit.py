"""jit: a function captured once and replayed. In: a function over tensors. Out: the same function without graph work.

The first call with arguments of some types runs the function on placeholders and keeps the native program; later calls
with the same types hand their memory to that program. Arguments that are not tensors are part of the key, so another value
is another capture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.runtime.buffer import Buffer
from ingot.tensor.evaluate import evaluate
from ingot.tensor.handle import Kind, kind_of
from ingot.tensor.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")
MOST_CAPTURES = 64


class Jit(Generic[P, R]):
    """A captured function."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self.captures: dict[tuple[object, ...], Capture] = {}
        self.kinds: tuple[Kind, ...] = ()
        self.last: Capture | None = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        last = self.last
        if last is not None and not kwargs and len(args) == len(self.kinds):
            memory = self._memory(args)
            if memory is not None:
                return last.replay(memory)  # type: ignore[no-any-return]
        return self._slowly(args, kwargs)

    def _memory(self, args: tuple[Any, ...]) -> list[Buffer] | None:
        """The arguments' memory, if they are of the kinds that came last."""
        found: list[Buffer] = []
        for value, kind in zip(args, self.kinds, strict=True):
            if value.__class__ is not Tensor or value.kind is not kind:
                return None
            found.append(cast(Buffer, value.buffer))
        return found

    def _slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        given = (*args, *kwargs.values())
        tensors = [a for a in given if isinstance(a, Tensor)]
        evaluate(*tensors)
        for tensor in tensors:
            tensor.hold()
        key = (tuple(kwargs), *[_key(a) for a in given])
        capture = self.captures.get(key)
        if capture is None:
            capture = self._capture(key, args, kwargs, tensors)
        if len(tensors) == len(args):
            self.last, self.kinds = (
                capture,
                tuple(cast(Kind, t.kind) for t in tensors),
            )
        result: R = capture.replay([cast(Buffer, t.buffer) for t in tensors])
        return result

    def _capture(
        self,
        key: tuple[object, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tensors: list[Tensor],
    ) -> Capture:
        if len(self.captures) >= MOST_CAPTURES:
            raise ArgumentError(
                f"jit: {self.function} was captured for {MOST_CAPTURES} kinds of arguments already",
                fix="pass numbers that change as tensors, or call the function without jit",
            )
        places = {
            id(t): Tensor.of(pipeline.placeholder(t.dtype, t.shape))
            for t in tensors
        }
        inside = [places.get(id(a), a) for a in args]
        named = {name: places.get(id(a), a) for name, a in kwargs.items()}
        result = self.function(*inside, **named)
        made = self.captures[key] = Capture(
            result, [places[id(t)].uop for t in tensors]
        )
        return made


def _key(value: object) -> object:
    if isinstance(value, Tensor):
        return value.uop.dtype, value.uop.shape
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(
            f"jit: an argument is a {type(value).__name__}",
            wanted="tensors, and hashable values that decide what is captured",
            fix="pass the tensors in it one by one",
        ) from None
    return type(value), value


class Capture:
    """One program: where its inputs come from, and how its outputs are put together."""

    def __init__(self, result: object, places: Sequence[UOp]) -> None:
        self.places = list(places)
        self.form = result
        outputs = [t.uop for t in _tensors(result)]
        self.roots = [u for u in dict.fromkeys(outputs) if u.op is not Ops.BUFFER]
        self.kinds = [kind_of(u.dtype, u.shape) for u in self.roots]
        self.runner = pipeline.prepare(self.roots) if self.roots else None
        leaves = self.runner.leaves if self.runner else []
        self.sources = [
            self.places.index(u) if u in self.places else -1 for u in leaves
        ]
        self.held = [pipeline.memory(u) for u in leaves if u not in self.places]
        self.in_order = self.sources == list(range(len(self.places)))
        self.is_single = isinstance(result, Tensor) and self.roots == [result.uop]

    def replay(self, given: list[Buffer]) -> Any:
        """Run over the arguments' memory."""
        made: list[Buffer] = []
        if self.runner is not None:
            made = self.runner.run(given if self.in_order else self._inputs(given))
        if self.is_single:
            return Tensor.holding(made[0], self.kinds[0])
        fresh = {
            u: Tensor.holding(b, k)
            for u, b, k in zip(self.roots, made, self.kinds, strict=True)
        }
        return self._assemble(self.form, fresh, given)

    def _inputs(self, given: list[Buffer]) -> list[Buffer]:
        held = iter(self.held)
        return [given[n] if n >= 0 else next(held) for n in self.sources]

    def _assemble(
        self, form: Any, made: dict[UOp, Tensor], given: list[Buffer]
    ) -> Any:
        if isinstance(form, Tensor):
            if form.uop in self.places:
                return Tensor.holding(
                    given[self.places.index(form.uop)],
                    kind_of(form.dtype, form.shape),
                )
            return made.get(form.uop, form)
        if isinstance(form, tuple | list):
            return type(form)(self._assemble(f, made, given) for f in form)
        if isinstance(form, dict):
            return {
                name: self._assemble(f, made, given) for name, f in form.items()
            }
        return form


def _tensors(form: object) -> list[Tensor]:
    if isinstance(form, Tensor):
        return [form]
    if isinstance(form, dict):
        form = list(form.values())
    if isinstance(form, tuple | list):
        return [t for f in form for t in _tensors(f)]
    return []


def jit(function: Callable[P, R]) -> Jit[P, R]:
    """Capture `function` once for each kind of arguments, and replay it afterwards."""
    return Jit(function)
