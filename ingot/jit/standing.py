"""The way of a call that meets what the last one met. In: arguments. Out: the tensors of the last capture, if it may be used.

This is what a replay costs beside the program itself, so it looks at as little as it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ingot.ir.opcode import Ops
from ingot.jit.capture import Capture
from ingot.jit.surroundings import Surroundings
from ingot.runtime.buffer import Buffer
from ingot.tensor.evaluate import evaluate
from ingot.tensor.handle import Handle, Kind
from ingot.tensor.tensor import Tensor


class Standing:
    """The last capture, and when it may be used again without a look at anything else. Read and replaced as a whole."""

    __slots__ = ("capture", "is_alone", "kinds", "pair", "scene")

    def __init__(
        self,
        capture: Capture,
        kinds: tuple[Kind | None, ...],
        scene: Surroundings,
        pair: object,
    ) -> None:
        self.capture = capture
        self.kinds = kinds
        self.scene = scene
        self.pair = pair
        is_simple = capture.is_single and not capture.last.counts
        self.is_alone = is_simple and scene.is_empty

    def tensors(self, args: Sequence[Handle]) -> list[Handle] | None:
        """Every tensor that the capture reads, if all round it is as it was."""
        if not self.scene.unchanged():
            return None
        lying = self.scene.lying()
        if lying is None:
            return None
        tensors = [*args, *lying, *self.capture.others]
        for tensor in tensors:
            if tensor.buffer is None:
                hold(tensor)
        return tensors if self.capture.holds() else None


def memory_of(
    args: tuple[Any, ...], kinds: tuple[Kind | None, ...]
) -> list[Buffer] | None:
    """The memory of arguments, if they are tensors of these kinds, and no gradient goes through them."""
    found: list[Buffer] = []
    for value, kind in zip(args, kinds, strict=True):
        if value.__class__ is not Tensor:
            return None
        if value.kind is not kind:
            hold(value)
            if value.kind is not kind:
                return None
        node = value._uop
        if node is not None and (
            node.op is not Ops.BUFFER or value.marks is not None
        ):
            return None
        found.append(cast(Buffer, value.buffer))
    return found


def hold(tensor: Handle) -> None:
    """Bring a tensor into memory, and note where it lies."""
    if tensor.buffer is None:
        evaluate(tensor)
        tensor.hold()
