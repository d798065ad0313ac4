"""The device PYTHON: programs by the interpreter, which is what they mean. In: nodes. Out: their values in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.lower import lower
from ingot.pipeline.buffers import memory
from ingot.pipeline.host import evaluate, source
from ingot.pipeline.normalise import normalise
from ingot.runtime.buffer import Buffer

Array = np.ndarray[Any, Any]


class Reference:
    """A program to be interpreted again and again with other inputs."""

    def __init__(self, roots: Sequence[UOp]) -> None:
        self.sink, found = normalise(roots)
        self.leaves = found.buffers
        self.variables = found.variables
        self.program = UOp(Ops.SINK, dt.void, tuple(roots))

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """The interpreter's values; everything is computed once for all roots."""
        given = {
            leaf: self._array(leaf, memory)
            for leaf, memory in zip(self.leaves, inputs, strict=True)
        }
        with np.errstate(all="ignore"):
            values = cast(
                tuple[Array, ...], interpret(self.program, given, lower=lower)
            )
        return [
            _kept(value, root)
            for value, root in zip(values, self.sink.src, strict=True)
        ]

    def _array(self, leaf: UOp, memory: Buffer) -> Array:
        return memory.as_array(
            dt.to_numpy(leaf.dtype), numbers(leaf, self.variables)
        )


def interpreted(roots: Sequence[UOp]) -> list[Buffer]:
    """The values of these nodes, on this device."""
    if not roots:
        return []
    made = Reference(roots)
    return made.run([memory(leaf) for leaf in made.leaves])


def array(node: UOp, variables: Mapping[str, int]) -> Array:
    """The memory of a BUFFER node as an array."""
    return memory(node).as_array(dt.to_numpy(node.dtype), numbers(node, variables))


def numbers(node: UOp, variables: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a node for these values of its variables."""
    return tuple(
        n if isinstance(n, int) else evaluate(source(n), variables)
        for n in node.shape
    )


def _kept(value: Array, root: UOp) -> Buffer:
    made = Buffer.allocate(value.nbytes)
    whole = np.ascontiguousarray(value, dtype=dt.to_numpy(root.dtype))
    np.copyto(made.as_array(whole.dtype, whole.shape), whole)
    return made
