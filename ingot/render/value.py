"""What a renderer handles while it writes: values, blocks of text, and the instructions that a writer must know.

A writer (render/llvm.py, render/c.py) knows one language and nothing of trees; render/base.py knows trees and no
language. Every value is written once and never changes, so its text names it: equal operands give equal results.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Protocol

from ingot.ir.dtype import DType
from ingot.ir.opcode import Ops

Key = object
Slot = tuple[int, int]  # a register: (stage, first element)


class Value:
    """One result: its text, type, number of lanes (1: a scalar), the frame it was written in, a constant's bits.

    A pointer is a Value too: its dtype is what it points to.
    """

    __slots__ = ("bits", "dtype", "lanes", "level", "text")

    def __init__(
        self,
        text: str,
        dtype: DType,
        lanes: int,
        level: int,
        bits: int | None = None,
    ) -> None:
        self.text = text
        self.dtype = dtype
        self.lanes = lanes
        self.level = level
        self.bits = bits


class FrameKind(Enum):
    ENTRY = auto()
    GUARD = auto()  # runs if its loop runs at least once: a place for loads that do not change in the loop
    BODY = auto()  # of a loop
    THEN = auto()  # of a condition


class Frame:
    """A block of text that is open: the function, a loop, a condition. Lines may be added to any open frame."""

    __slots__ = ("forget", "kind", "label", "lines", "start", "stored")

    def __init__(
        self, kind: FrameKind, label: str = "", stored: frozenset[Key] = frozenset()
    ) -> None:
        self.kind = kind
        self.start = label  # LLVM: the basic block that it begins with
        self.label = label  # and the one that the next line belongs to
        self.stored = stored  # buffers that the loop writes
        self.lines: list[str] = []
        self.forget: list[Key] = []  # what is known only inside


class Carried:
    """A register that a loop or a condition changes: before, inside, after."""

    __slots__ = ("before", "inside", "slot")

    def __init__(self, slot: Slot, before: Value, inside: Value) -> None:
        self.slot = slot
        self.before = before
        self.inside = inside


class Raw(Enum):
    """Instructions below the opcodes."""

    QUOTIENT = auto()  # truncating
    REMAINDER = auto()  # of the truncating quotient
    PLAIN_QUOTIENT = auto()  # of numbers that are not negative
    PLAIN_REMAINDER = auto()
    GREATER = auto()  # a > b ? a : b, so b if either is nan
    LESSER = auto()  # a < b ? a : b


class Writer(Protocol):
    """One language. A method that returns text appends what it needs to `lines`, and gives the name of the result."""

    lines: list[str]

    def constant(self, dtype: DType, bits: int, lanes: int) -> str: ...
    def lane_numbers(self, dtype: DType, lanes: int, step: int) -> str: ...
    def undefined(self, dtype: DType, lanes: int) -> str: ...
    def name(self, dtype: DType, lanes: int) -> str: ...

    def splat(self, value: Value, lanes: int) -> str: ...
    def alu(self, op: Ops | Raw, dtype: DType, args: Sequence[Value]) -> str: ...
    def cast(self, dtype: DType, value: Value) -> str: ...
    def bitcast(self, dtype: DType, value: Value) -> str: ...
    def shuffle(self, a: Value, b: Value, picks: Sequence[int]) -> str: ...
    def extract(self, value: Value, lane: int) -> str: ...
    def insert(self, value: Value, scalar: Value, lane: int) -> str: ...

    def parameter(self, slot: int, dtype: DType) -> str: ...
    def argument(self, position: int, dtype: DType) -> str: ...
    def chunk(self) -> str: ...
    def stack(self, dtype: DType, size: int) -> str: ...
    def scratch(self, dtype: DType, offset: Value) -> str: ...
    def advance(self, pointer: Value, amount: Value) -> str: ...
    def sealed(self, pointer: Value) -> str: ...

    def load(self, pointer: Value, lanes: int, align: int) -> str: ...
    def load_if(
        self, pointer: Value, mask: Value, other: Value, align: int
    ) -> str: ...
    def gather(
        self, pointer: Value, index: Value, mask: Value | None, other: Value | None
    ) -> str: ...
    def store(self, pointer: Value, value: Value, align: int) -> None: ...
    def store_past(
        self, frame: Frame, pointer: Value, value: Value, align: int
    ) -> None: ...
    def store_if(
        self, frame: Frame, pointer: Value, value: Value, mask: Value, align: int
    ) -> None: ...
    def scatter(
        self, pointer: Value, index: Value, value: Value, mask: Value | None
    ) -> None: ...

    def new_frame(
        self, kind: FrameKind, stored: frozenset[Key] = frozenset()
    ) -> Frame: ...
    def close_loop(
        self,
        parent: Frame,
        guard: Frame | None,
        body: Frame,
        counter: Value,
        extent: Value,
        carried: Sequence[tuple[Carried, Value]],
    ) -> list[str]: ...
    def close_when(
        self,
        parent: Frame,
        body: Frame,
        condition: Value,
        carried: Sequence[tuple[Carried, Value]],
    ) -> list[str]: ...
