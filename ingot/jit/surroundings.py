"""What a function reads besides its arguments: closures, globals, `self`, and what these hold. In: a function. Out: slots.

Python would look these up anew at every call, so a replay looks whether they are still what they were. A slot with a tensor
in it is an input: whatever tensor lies there now is read. A slot with anything else is part of the key: another number,
flag or object means another capture.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Container, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from ingot.jit.tree import PLAIN, is_container, parts_of, plain
from ingot.place import is_ours
from ingot.tensor.tensor import Tensor

MOST_SLOTS = 20_000
_ABSENT = object()
_MISSING = (KeyError, IndexError, ValueError)  # ValueError: an empty cell
_OPEN_TYPES = (types.SimpleNamespace,)
_OPEN_NAMES = {"argparse.Namespace"}


class Slot(NamedTuple):
    """A place that holds a value: an entry of a dictionary or list, or a closure's cell."""

    holder: Any
    key: Any
    value: Any
    path: str

    def now(self) -> Any:
        """What lies there now."""
        try:
            return self.holder[self.key]
        except _MISSING:
            return _ABSENT

    def put(self, value: Any) -> None:
        """Leave another value there; a list may grow by one."""
        if value is _ABSENT:
            del self.holder[self.key]
        elif isinstance(self.holder, list) and self.key == len(self.holder):
            self.holder.append(value)
        else:
            self.holder[self.key] = value

    @property
    def is_new(self) -> bool:
        """There was nothing before."""
        return self.value is _ABSENT


class Cell:
    """A closure's variable, as a holder with one entry."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType) -> None:
        self.cell = cell

    def __getitem__(self, key: object) -> Any:
        return self.cell.cell_contents

    def __setitem__(self, key: object, value: Any) -> None:
        self.cell.cell_contents = value


class Attributes:
    """The slots of an object without a dictionary, as a holder."""

    __slots__ = ("owner",)

    def __init__(self, owner: object) -> None:
        self.owner = owner

    def __getitem__(self, key: str) -> Any:
        return getattr(self.owner, key, _ABSENT)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self.owner, key, value)


class Surroundings:
    """The slots of a function as they are now."""

    def __init__(self, logs: Container[int] = ()) -> None:
        self.tensors: list[Slot] = []
        self.fixed: list[Slot] = []
        self.sizes: list[tuple[Any, int]] = []
        self.logs = logs  # identities of lists that the function only writes to
        self._seen: dict[int, object] = {}  # by identity; holding them keeps it so

    @property
    def is_empty(self) -> bool:
        """The function reads nothing but its arguments."""
        return not (self.tensors or self.fixed or self.sizes)

    def unchanged(self) -> bool:
        """Everything but the tensors is what it was, the same objects in the same places."""
        for holder, size in self.sizes:
            if len(holder) != size:
                return False
        try:
            for holder, key, value, _ in self.fixed:
                if holder[key] is not value:
                    return False
        except _MISSING:
            return False
        return True

    def lying(self) -> list[Tensor] | None:
        """The tensors that lie in the slots now, if they are of the same kinds as before, and shared as before."""
        found = []
        try:
            for slot in self.tensors:
                tensor = slot.holder[slot.key]
                if tensor is not slot.value and not self._replaces(tensor, slot):
                    return None
                found.append(tensor)
        except _MISSING:
            return None
        return found

    def _replaces(self, tensor: Any, slot: Slot) -> bool:
        """Another tensor will do if it is of the same kind, and neither it nor the old one lies in other slots."""
        if not isinstance(tensor, Tensor):
            return False
        others = [s for s in self.tensors if s is not slot]
        shared = any(s.value is slot.value or s.now() is tensor for s in others)
        old = slot.value
        same = tensor.dtype is old.dtype and tensor.shape == old.shape
        return same and not shared and tensor.marks is None and old.marks is None

    def key(self) -> Hashable:
        """Equal for surroundings for which one capture will do: which tensors are the same tensor is part of it."""
        first: dict[int, int] = {}
        same = tuple(
            first.setdefault(id(slot.value), n)
            for n, slot in enumerate(self.tensors)
        )
        fixed = tuple((slot.path, _key(slot.value)) for slot in self.fixed)
        kinds = tuple(
            (s.value.dtype, s.value.shape, s.value.is_marked) for s in self.tensors
        )
        return same, kinds, fixed, tuple(size for _, size in self.sizes)

    def changes(self) -> Iterator[Slot]:
        """The slots that hold something else now, with what they held; new ones held nothing."""
        for slot in (*self.tensors, *self.fixed):
            if slot.now() is not slot.value:
                yield slot
        known = {
            (id(slot.holder), slot.key) for slot in (*self.tensors, *self.fixed)
        }
        for holder, size in self.sizes:
            if len(holder) != size:
                for key in parts_of(holder)[0]:
                    if (id(holder), key) not in known:
                        yield Slot(holder, key, _ABSENT, f"[{key!r}]")

    def knows(self, value: object) -> bool:
        """The value lies in one of the slots."""
        return id(value) in self._seen

    def without(self, logs: Container[int]) -> Surroundings:
        """The same slots but those of these lists."""
        made = Surroundings(logs)
        made.tensors = self.tensors
        made.fixed = [s for s in self.fixed if id(s.holder) not in logs]
        made.sizes = [(h, n) for h, n in self.sizes if id(h) not in logs]
        made._seen = self._seen
        return made

    # --- looking round --------------------------------------------------------------------------------------------

    def add(self, value: Any, path: str) -> None:
        """Everything that a function or an object holds."""
        waiting = [(value, path)]
        while waiting and len(self.fixed) < MOST_SLOTS:
            found, path = waiting.pop()
            if id(found) in self._seen or id(found) in self.logs:
                continue
            self._seen[id(found)] = found
            for slot in _slots(found, path):
                self._sort(slot, waiting)
            if isinstance(found, list | dict):
                self.sizes.append((found, len(found)))
            elif hasattr(found, "__dict__") and is_open(found):
                self.sizes.append((vars(found), len(vars(found))))

    def keep(self, tensor: Tensor, path: str) -> None:
        """A tensor that is an argument, and gathers gradients."""
        self._sort(Slot([tensor], 0, tensor, path), [])

    def _sort(self, slot: Slot, waiting: list[tuple[Any, str]]) -> None:
        if isinstance(slot.value, Tensor):
            self.tensors.append(slot)
            marks = slot.value.marks
            if marks is not None:
                path = f"{slot.path}.grad"
                self._sort(
                    Slot(Attributes(marks), "grad", marks.grad, path), waiting
                )
            return
        self.fixed.append(slot)
        if not isinstance(slot.value, PLAIN):
            waiting.append((slot.value, slot.path))


def _key(value: Any) -> Hashable:
    return plain(value) if isinstance(value, PLAIN) else id(value)


def _slots(value: Any, path: str) -> Iterator[Slot]:
    """The slots directly inside a value; nothing for modules, classes and whatever belongs to libraries."""
    if isinstance(value, types.MethodType):
        yield from _slots(value.__func__, path)
        yield Slot([value.__self__], 0, value.__self__, "self")
    elif isinstance(value, types.FunctionType):
        if not is_ours(value.__code__.co_filename):
            yield from _variables(value)
    elif hasattr(value, "__wrapped__"):  # a jit, a functools.wraps
        yield Slot([value.__wrapped__], 0, value.__wrapped__, path)
    elif isinstance(value, dict | list):
        names, parts = parts_of(value)
        yield from (
            Slot(value, n, p, f"{path}[{n!r}]")
            for n, p in zip(names, parts, strict=True)
        )
    elif isinstance(value, tuple):
        yield from (Slot(value, n, p, f"{path}[{n}]") for n, p in enumerate(value))
    elif is_open(value) or is_container(value):
        yield from _attributes(value, path)


def _variables(function: types.FunctionType) -> Iterator[Slot]:
    """The closure's variables, and the globals that the code names."""
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        holder = Cell(cell)
        try:
            yield Slot(holder, name, holder[name], name)
        except ValueError:  # not assigned yet
            continue
    known = function.__globals__
    names = _names(function.__code__)
    for name in names:
        value = known.get(name, _ABSENT)
        if isinstance(value, types.ModuleType):
            yield from _settings_in(value, names)
        elif value is not _ABSENT and not _is_library(value):
            yield Slot(known, name, value, name)


def _settings_in(module: types.ModuleType, names: Iterable[str]) -> Iterator[Slot]:
    """What code may read of a module of the user's: `config.rate`."""
    if is_ours(getattr(module, "__file__", None) or "<frozen >"):
        return
    if _is_installed(module.__name__.partition(".")[0]):
        return
    for name in names:
        value = vars(module).get(name, _ABSENT)
        if value is not _ABSENT and not _is_library(value):
            yield Slot(vars(module), name, value, f"{module.__name__}.{name}")


def _names(code: types.CodeType) -> dict[str, None]:
    """The names that code, and the functions inside it, may look up as globals."""
    found = dict.fromkeys(n for n in code.co_names if not hasattr(builtins, n))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _attributes(value: Any, path: str) -> Iterator[Slot]:
    if hasattr(value, "__dict__"):
        holder = vars(value)
        for name, part in list(holder.items()):
            if getattr(part, "__self__", None) is not value:  # not its own jit
                yield Slot(holder, name, part, f"{path}.{name}")
    for kind in type(value).__mro__:
        for name, part in list(vars(kind).items()):
            if isinstance(part, (*PLAIN, Tensor)) and not name.startswith("__"):
                yield Slot(Attributes(kind), name, part, f"{kind.__name__}.{name}")
    for name in _slot_names(type(value)):
        part = getattr(value, name, _ABSENT)
        if part is not _ABSENT:
            yield Slot(Attributes(value), name, part, f"{path}.{name}")


def _slot_names(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        names = vars(base).get("__slots__", ())
        yield from (names,) if isinstance(names, str) else names


def is_open(value: Any) -> bool:
    """Objects of the user's classes and of our own layers are looked into; those of other libraries are not."""
    kind = type(value)
    if isinstance(value, _OPEN_TYPES):
        return True
    if f"{kind.__module__}.{kind.__qualname__}" in _OPEN_NAMES:
        return True
    if isinstance(value, types.ModuleType | type | types.BuiltinFunctionType):
        return False
    top = kind.__module__.partition(".")[0]
    if top == "ingot":
        return kind.__module__.startswith(("ingot.nn", "ingot.model"))
    return top != "builtins" and not _is_installed(top)


def _is_installed(top: str) -> bool:
    """A module of the standard library or of an installed package."""
    if top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def _is_library(value: Any) -> bool:
    """Modules, classes, and functions that are not the user's."""
    if isinstance(value, types.ModuleType | type | types.BuiltinFunctionType):
        return True
    return isinstance(value, types.FunctionType) and is_ours(
        value.__code__.co_filename
    )
