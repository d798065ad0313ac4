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
from ingot.pipeline.lines import carry
from ingot.pipeline.normalise import normalise
from ingot.pipeline.sizes import known_shape, remember
from ingot.runtime.buffer import Buffer

Array = np.ndarray[Any, Any]


class Reference:
    """A program to be interpreted again and again with other inputs."""

    def __init__(self, roots: Sequence[UOp]) -> None:
        carry(roots, roots)  # what an op is made of inside has its line
        self.sink, found = normalise(roots)
        self.leaves = found.buffers
        self.variables = found.variables
        self.sizes = found.unknown
        self.program = UOp(Ops.SINK, dt.void, (*roots, *self.sizes))

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        return self.run_sized(inputs)[0]

    def run_sized(
        self, inputs: Sequence[Buffer]
    ) -> tuple[list[Buffer], dict[UOp, int]]:
        """The interpreter's values and computed sizes; everything is computed once for all roots."""
        given = {
            leaf: self._array(leaf, memory)
            for leaf, memory in zip(self.leaves, inputs, strict=True)
        }
        with np.errstate(all="ignore"):
            values = cast(
                tuple[Array, ...], interpret(self.program, given, lower=lower)
            )
        made = [
            _kept(value, root)
            for value, root in zip(values, self.sink.src, strict=False)
        ]
        counted = [int(value) for value in values[len(made) :]]
        return made, dict(zip(self.sizes, counted, strict=True))

    def _array(self, leaf: UOp, memory: Buffer) -> Array:
        return memory.as_array(
            dt.to_numpy(leaf.dtype), numbers(leaf, self.variables)
        )


def interpreted(roots: Sequence[UOp]) -> list[Buffer]:
    """The values of these nodes, on this device."""
    if not roots:
        return []
    made = Reference(roots)
    buffers, numbers = made.run_sized([memory(leaf) for leaf in made.leaves])
    remember(numbers)
    return buffers


def array(node: UOp, variables: Mapping[str, int]) -> Array:
    """The memory of a BUFFER node as an array."""
    return memory(node).as_array(dt.to_numpy(node.dtype), numbers(node, variables))


def numbers(node: UOp, variables: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a node for these values of its variables; sizes that were computed are remembered."""
    return tuple(
        n if isinstance(n, int) else evaluate(source(n), variables)
        for n in known_shape(node.shape)
    )


def _kept(value: Array, root: UOp) -> Buffer:
    made = Buffer.allocate(value.nbytes)
    whole = np.ascontiguousarray(value, dtype=dt.to_numpy(root.dtype))
    np.copyto(made.as_array(whole.dtype, whole.shape), whole)
    return made
