"""jit: a function captured once and replayed. In: a function over tensors. Out: the same function without graph work.

The first call with arguments of some kinds runs the function on placeholders and keeps the native program; later calls of
these kinds hand their memory to that program. What decides between captures is everything that Python would have looked at:
arguments that are not tensors, and the variables, flags and objects that the function can reach (see surroundings.py).
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import update_wrapper
from threading import RLock
from types import FunctionType, MethodType
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from ingot import pipeline
from ingot.errors import ArgumentError, CaptureWarning
from ingot.jit.arguments import Arguments, Dynamic, Reader, name_of, top
from ingot.jit.capture import Capture
from ingot.jit.difference import difference
from ingot.jit.standing import Standing, hold, memory_of
from ingot.jit.surroundings import Surroundings, is_open
from ingot.jit.trace import trace
from ingot.jit.tree import Form, Value, unhashable
from ingot.pipeline.report import Report
from ingot.settings import settings
from ingot.tensor.computed import has_values
from ingot.tensor.evaluate import evaluate
from ingot.tensor.handle import Handle
from ingot.tensor.leaves import tracked
from ingot.tensor.recording import state
from ingot.tensor.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")
MOST_CAPTURES = 64


_NEW: Any = object()
_FOLLOWED = "runs as it is: gradients go through its result; use ig.no_grad(), or call backward() inside"


def _is_followed(call: Arguments) -> bool:
    """Gradients go through an argument; or one has no value, because `vmap` runs the function."""
    nodes = [t.uop for t in call.tensors]
    if state.is_on and tracked(nodes):
        return True
    return Handle.journal is not None and not all(map(has_values, nodes))


class Jit(Generic[P, R]):
    """A captured function. `captures` counts its programs, `clear()` forgets them."""

    def __init__(
        self,
        function: Callable[P, R],
        dynamic: Dynamic | None = None,
        donate: Sequence[str] = (),
    ) -> None:
        update_wrapper(self, function)
        self.function = function
        self.dynamic = dynamic or {}
        self.donate = (donate,) if isinstance(donate, str) else tuple(donate)
        self.reader = Reader(function, self.dynamic)
        self.reader.check(self.dynamic, "dynamic")
        self.reader.check(dict.fromkeys(self.donate), "donate")
        self.lock = RLock()
        self.clear()

    def clear(self) -> None:
        """Forget every program; the next call captures anew."""
        self.programs: dict[Hashable, Capture | None] = {}  # None: runs as it is
        self.logs: dict[int, object] = {}
        self.last: Standing | None = None
        self.before: tuple[Arguments, Surroundings] | None = None
        self.warned = False

    @property
    def captures(self) -> int:
        """How many programs are kept: one for each kind of arguments and surroundings met."""
        return len(self.programs)

    def __repr__(self) -> str:
        return f"<jit {name_of(self.function)}, {self.captures} captures>"

    # --- calls ----------------------------------------------------------------------------------------------------

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        last = self.last
        if (
            last is not None
            and len(args) == len(last.kinds)
            and not kwargs
            and settings.pair is last.pair
            and Handle.journal is None
        ):
            memory = memory_of(args, last.kinds)
            if memory is not None:
                if last.is_alone:
                    return last.capture.replay_simply(memory)  # type: ignore[no-any-return]
                tensors = last.tensors(cast(Any, args))
                if tensors is not None:
                    return self._run(last.capture, tensors)
        return self._slowly(args, kwargs)

    def _run(self, capture: Capture, tensors: list[Handle]) -> R:
        if capture.is_pure:
            return capture.replay(tensors)  # type: ignore[no-any-return]
        with self.lock:  # state is read and written: one replay at a time
            return capture.replay(tensors)  # type: ignore[no-any-return]

    def _slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        journal = Handle.journal
        if journal is not None and journal.is_mine():  # part of what is captured
            return self.function(*args, **kwargs)
        with self.lock:
            scene = self._scene()
            call = self.reader.read(args, kwargs, self._on_object(scene))
            capture = None if _is_followed(call) else self._find(call, scene)
            if capture is not None:
                return self._replay(capture, call, bool(kwargs))
        return self.function(*args, **kwargs)

    def _replay(self, capture: Capture, call: Arguments, named: bool) -> R:
        scene = cast(Any, self.before)[1]
        tensors: list[Handle] = [
            *call.tensors,
            *(slot.value for slot in scene.tensors),
            *capture.others,
        ]
        for tensor in tensors:
            hold(tensor)
        capture.program(call.sizes)
        is_plain = not (named or call.sizes or self.donate)
        if is_plain and len(call.tensors) == len(call.names):
            kinds = tuple(tensor.kind for tensor in call.tensors)
            self.last = Standing(capture, kinds, scene, settings.pair)
        else:
            self.last = None
        result: R = capture.replay(tensors)
        self._give_away(call)
        return result

    def _scene(self) -> Surroundings:
        made = Surroundings(self.logs)
        made.add(self.function, name_of(self.function))
        return made

    def _on_object(self, scene: Surroundings) -> Callable[[Any, str], Form]:
        """What stands for an argument that is no tree: an object by identity and by what it holds, others by value."""

        def form(value: Any, path: str) -> Form:
            if isinstance(value, Tensor):  # a leaf, which gathers gradients
                scene.keep(value, path)
                return Value(Tensor, path, value)
            if is_open(value) or isinstance(value, FunctionType | MethodType):
                scene.add(value, path)
                return Value(type(value), id(value), value)
            try:
                hash(value)
            except TypeError:
                raise unhashable(name_of(self.function), path, value) from None
            return Value(type(value), value, value)

        return form

    # --- captures -------------------------------------------------------------------------------------------------

    def _find(self, call: Arguments, scene: Surroundings) -> Capture | None:
        """The capture for this call; None where gradients go through the function, which then runs as it is."""
        lying = [cast(Tensor, slot.value) for slot in scene.tensors]
        evaluate(*call.tensors, *lying)
        for tensor in lying:
            tensor.hold()
        key = _key(call, scene)
        found: Capture | None = self.programs.pop(key, _NEW)
        if isinstance(found, Capture) and not found.holds():
            found = _NEW
        if found is _NEW:
            found, scene = self._capture(call, scene)
            key = _key(call, scene)
        self.programs[key] = found  # the last is the most recently used
        self.before = (call, scene)
        return found

    def _capture(
        self, call: Arguments, scene: Surroundings
    ) -> tuple[Capture | None, Surroundings]:
        started = time.perf_counter()
        logs = len(self.logs)
        traced = trace(self.function, call, scene, self.logs)
        made = None if traced.is_followed else Capture(traced)
        if len(self.logs) > logs:  # it writes to these: they decide nothing
            scene = scene.without(self.logs)
        self._bound(call, scene)
        self._tell(call, scene, made, time.perf_counter() - started)
        return made, scene

    def _bound(self, call: Arguments, scene: Surroundings) -> None:
        """Keep no more than so many programs; whoever needs more is told once."""
        if len(self.programs) < MOST_CAPTURES:
            return
        self.programs.pop(next(iter(self.programs)))
        if not self.warned:
            self.warned = True
            warnings.warn(
                f"jit: {name_of(self.function)} was captured {MOST_CAPTURES} times; older programs are dropped."
                f" What changes from call to call is best passed as a tensor. Last: {difference(self.before, call, scene)}",
                CaptureWarning,
                stacklevel=6,  # whoever called the captured function
            )

    def _tell(
        self,
        call: Arguments,
        scene: Surroundings,
        made: Capture | None,
        seconds: float,
    ) -> None:
        report = Report(settings.runtime.debug)
        if report.level >= 1:
            why = difference(self.before, call, scene)
            what = _FOLLOWED if made is None else made.summary()
            report.line(
                1,
                f"captured {name_of(self.function)} in {1e3 * seconds:.2f} ms | {what} | {why}",
            )

    def _give_away(self, call: Arguments) -> None:
        """Donated tensors have no value any more: their memory is free for the next call."""
        for tensor, path in zip(call.tensors, call.paths, strict=True):
            if top(path) in self.donate:
                tensor.restore(
                    pipeline.gone(
                        tensor.dtype,
                        tensor.shape,
                        f"{path} was donated to {name_of(self.function)}",
                    )
                )

    # --- methods --------------------------------------------------------------------------------------------------

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method is captured for each object apart, and the object keeps the captures."""
        if instance is None:
            return self
        bound: Jit[Any, Any] = Jit(
            MethodType(cast(Any, self.function), instance),
            self.dynamic,
            self.donate,
        )
        bound.name = self.name
        if hasattr(instance, "__dict__"):
            vars(instance)[self.name] = bound
        return bound

    @property
    def __self__(self) -> object:
        """The object whose method this is."""
        return getattr(self.function, "__self__", None)

    def __deepcopy__(self, memo: dict[int, Any]) -> Jit[P, R]:
        """A copied object has captures of its own."""
        owner = self.__self__
        function: Any = self.function
        if owner is not None:
            function = MethodType(function.__func__, copy.deepcopy(owner, memo))
        made: Jit[P, R] = Jit(function, self.dynamic, self.donate)
        made.name = self.name
        return made

    def __reduce__(self) -> Any:
        """Programs stay in their process; the function is found by name."""
        if self.__self__ is not None:
            return getattr, (self.__self__, self.name)
        return self.__qualname__  # type: ignore[attr-defined]


def _key(call: Arguments, scene: Surroundings) -> Hashable:
    return (
        call.key(),
        scene.key(),
        state.is_on,
        settings.codegen,
        settings.runtime,
    )


@overload
def jit(function: Callable[P, R]) -> Jit[P, R]: ...


@overload
def jit(
    *, dynamic: Dynamic | None = None, donate: str | Sequence[str] = ()
) -> Callable[[Callable[P, R]], Jit[P, R]]: ...


def jit(
    function: Callable[P, R] | None = None,
    *,
    dynamic: Dynamic | None = None,
    donate: str | Sequence[str] = (),
) -> Any:
    """Capture `function` once for each kind of arguments, and replay it afterwards.

    `dynamic={"x": {0: "n"}}`: axis 0 of the argument x may have any size, and one program serves all of them.
    `donate="x"`: the caller gives x away; its memory is used again, and looking at x afterwards is an error.
    """
    if function is None:
        return lambda function: Jit(function, dynamic, donate)
    if not callable(function):
        raise ArgumentError(
            f"jit: {type(function).__name__} is no function",
            fix="write @ig.jit above a function, or @ig.jit(donate=...) with keywords",
        )
    return Jit(function, dynamic, donate)
