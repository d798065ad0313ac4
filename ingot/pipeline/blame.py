"""Whose fault it was. In: an error from a running program, and the nodes that were computed. Out: the same error, which names
the operation and the user's line that built it.

A running program knows only the label of its step. The program is brought to its steps once more, this time with the lines
of the user's that it comes from. Loaded when something has failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.errors import IngotError, KernelFault
from ingot.ir.node import UOp
from ingot.pipeline.items import step_names
from ingot.pipeline.provenance import UserOp, traced, users_of
from ingot.schedule.fuse import Effect, Fusion
from ingot.schedule.nests import Draft


def blame(error: Exception, roots: Sequence[UOp]) -> None:
    """Say in the error which operation failed and where it was built."""
    label = getattr(error, "step", "")
    found = _users(label, roots) if label else []
    if not found:
        return
    if isinstance(error, IngotError):
        _tell(error, found)
    else:
        error.add_note(f"  in {_text(found[-1])}")


def _users(label: str, roots: Sequence[UOp]) -> list[UserOp]:
    made = traced(roots)
    step, fusion = _step(made.fusion, label)
    return users_of(step, fusion) if step is not None else []


def _step(fusion: Fusion, label: str) -> tuple[Draft | Effect | None, Fusion]:
    """The step with this label: `scan_body.log_2` is the second log in the body of a scan."""
    names = step_names(fusion)
    for name, step in sorted(names, key=lambda pair: -len(pair[0])):
        if label == name:
            return step, fusion
        if isinstance(step, Effect) and label.startswith(f"{name}."):
            return _inside(step, fusion, label[len(name) + 1 :])
    return None, fusion


def _inside(
    step: Effect, outer: Fusion, label: str
) -> tuple[Draft | Effect | None, Fusion]:
    """A step of one of the bodies; a body may have a name of its own in the label. Else the region itself."""
    for body in step.bodies:
        for rest in (label, label.partition(".")[2]):
            found, fusion = _step(body, rest)
            if found is not None:
                return found, fusion
    return step, outer


def _tell(error: IngotError, found: list[UserOp]) -> None:
    last = found[-1]
    if isinstance(error, KernelFault):
        error.add_context(f"in the kernel of {', '.join(op.name for op in found)}")
    if last.place is not None:
        error.built_at(last.place)


def _text(op: UserOp) -> str:
    return f"{op.name}, built {op.place}" if op.place is not None else op.name
