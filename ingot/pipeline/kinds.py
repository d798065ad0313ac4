"""Every kind of step: the buffers that it touches, the room that it needs for itself, its commands."""

from __future__ import annotations

from ingot.pipeline import loops, steps
from ingot.pipeline.flatten import Kind
from ingot.pipeline.recipe import Branch, Check, Enter, Host, Scan, Step, While

# fmt: off
KINDS: dict[type, Kind] = {
    Step: Kind(
        lambda step: step.buffers,
        steps.kernel_rooms, steps.kernel),
    Check: Kind(
        lambda step: [step.condition, *(buffer for buffer, _ in step.details)],
        steps.no_rooms, steps.check),
    Host: Kind(
        lambda step: [array.buffer for array in (*step.inputs, *step.outputs)],
        steps.host_rooms, steps.host),
    Enter: Kind(
        lambda step: [*step.arguments, *step.results],
        steps.enter_rooms, steps.enter),
    Branch: Kind(
        lambda step: [step.condition, *step.arguments, *step.results],
        steps.branch_rooms, steps.branch),
    While: Kind(
        lambda step: [*step.state, *step.results],
        loops.while_rooms, loops.while_),
    Scan: Kind(
        lambda step: [*step.carry, *step.xs, *step.results],
        loops.scan_rooms, loops.scan),
}
# fmt: on
