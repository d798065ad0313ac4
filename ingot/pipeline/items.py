"""What would run: `t.schedule()`. In: program nodes. Out: one item a kernel or step; nothing is compiled, nothing runs.

Loaded when somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ingot.ir.node import UOp
from ingot.ir.shape import product
from ingot.ir.text import type_text
from ingot.pipeline import effects
from ingot.pipeline.host import evaluate, source
from ingot.pipeline.provenance import Traced, UserOp, traced, users_of
from ingot.schedule.estimate import elements, estimate
from ingot.schedule.fuse import Effect, Fusion
from ingot.schedule.label import label
from ingot.schedule.nests import Draft


class Traffic(NamedTuple):
    """A buffer of an item: whether it is written, its type, and the bytes of it that are touched."""

    writes: bool
    type: str
    nbytes: int


class ExecItem(NamedTuple):
    """One kernel, or one step of control flow or host code."""

    name: str
    ops: tuple[UserOp, ...]
    buffers: tuple[Traffic, ...]
    flops: int
    nbytes: int
    why: str

    def __str__(self) -> str:
        return "\n".join(_lines(self))


class Schedule(list[ExecItem]):
    """The items in running order; printed as a table."""

    def __str__(self) -> str:
        if not self:
            return "nothing to compute"
        return "\n\n".join(str(item) for item in self)

    __repr__ = __str__

    @property
    def flops(self) -> int:
        """Floating-point operations of all items."""
        return sum(item.flops for item in self)

    @property
    def nbytes(self) -> int:
        """Bytes that all items move."""
        return sum(item.nbytes for item in self)


def schedule(roots: Sequence[UOp]) -> Schedule:
    """The items that computing these nodes would run."""
    made = traced(roots) if roots else None
    return Schedule(_items(made, made.fusion) if made is not None else ())


def _items(made: Traced, fusion: Fusion) -> Iterator[ExecItem]:
    for name, step in step_names(fusion):
        yield _item(step, name, fusion, made.sizes)
        if isinstance(step, Effect):
            for body in step.bodies:
                yield from _inner(made, body, name)


def step_names(fusion: Fusion) -> list[tuple[str, Draft | Effect]]:
    """Every step with its label, the same as in the recipe: equal names are told apart by a number."""
    seen: dict[str, int] = {}
    found = []
    for step in fusion.steps:
        name = _name(step, fusion)
        number = seen[name] = seen.get(name, 0) + 1
        found.append((name if number == 1 else f"{name}_{number}", step))
    return found


def _inner(made: Traced, body: Fusion, path: str) -> Iterator[ExecItem]:
    """The items of a body, named after the step that runs it."""
    for item in _items(made, body):
        yield item._replace(name=f"{path}.{item.name}")


def _name(step: Draft | Effect, fusion: Fusion) -> str:
    if isinstance(step, Effect):
        return effects.name(step)
    return label(step.outputs[0], fusion.reasons)


def _item(
    step: Draft | Effect, name: str, fusion: Fusion, sizes: Mapping[str, int]
) -> ExecItem:
    ops = tuple(users_of(step, fusion))
    if isinstance(step, Effect):
        return ExecItem(name, ops, (), 0, 0, "control flow and host code run alone")
    costs = estimate(step)
    why = fusion.reasons.get(step.outputs[0], "asked for")
    return ExecItem(
        name,
        ops,
        tuple(_traffic(step, sizes)),
        _number(costs.flops, sizes),
        _number(costs.nbytes, sizes),
        why,
    )


def _traffic(step: Draft, sizes: Mapping[str, int]) -> Iterator[Traffic]:
    touched = elements(step)
    for slot, node in enumerate(step.buffers):
        count = touched.get(slot, product(node.shape))
        nbytes = _number(count, sizes) * node.dtype.itemsize
        yield Traffic(node in step.outputs, type_text(node), nbytes)


def _number(size: int | UOp, sizes: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else evaluate(source(size), sizes)


# --- text -------------------------------------------------------------------------------------------------------------


def _lines(item: ExecItem) -> Iterator[str]:
    yield item.name
    names = max((len(op.name) for op in item.ops), default=0)
    for n, op in enumerate(item.ops):
        head = "computes" if n == 0 else ""
        yield f"  {head:9} {op.name:{names}}  {op.place or ''}".rstrip()
    width = max((len(b.type) for b in item.buffers), default=0)
    for buffer in item.buffers:
        verb = "writes" if buffer.writes else "reads"
        yield f"  {verb:9} {buffer.type:{width}}  {amount(buffer.nbytes)}"
    if item.buffers:
        yield f"  {'work':9} {count(item.flops)}FLOP, {amount(item.nbytes)} moved"
    yield f"  {'why':9} {item.why}"


def amount(nbytes: int) -> str:
    """Bytes for people."""
    return _scaled(nbytes, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def count(number: int) -> str:
    """A count for people, to be followed by what is counted."""
    return _scaled(number, 1000, ("", "K", "M", "G", "T"))


def _scaled(number: float, step: int, units: Sequence[str]) -> str:
    unit = 0
    while abs(number) >= step and unit < len(units) - 1:
        number /= step
        unit += 1
    return f"{number:.4g} {units[unit]}"
