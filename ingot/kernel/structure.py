"""What nests look like: contractions, the chain contraction-softmax-contraction, and which axis runs through memory.

In: the nests of a kernel. Out: what they are, found by structure and never by the name of an operation.
"""

from __future__ import annotations

from dataclasses import dataclass

from ingot.ir.affine import split_affine
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.nest import Kernel, Nest, Reduce, Store, axes_in

DEAR = frozenset(
    {
        Ops.EXP,
        Ops.EXP2,
        Ops.LOG,
        Ops.LOG2,
        Ops.SIN,
        Ops.COS,
        Ops.TANH,
        Ops.ERF,
        Ops.POW,
        Ops.FDIV,
        Ops.SQRT,
    }
)


def is_fold(nest: Nest, op: Ops) -> bool:
    """A reduction of one value by one opcode."""
    body = nest.body
    return isinstance(body, Reduce) and body.n == 1 and body.combines[0].op is op


def contraction(kernel: Kernel, nest: Nest) -> bool:
    """sum over k of a(i, k) * b(k, j): both operands vary along k, and each has an output axis that the other has not."""
    if not is_fold(nest, Ops.ADD):
        return False
    value = (
        nest.body.values[0]
        if isinstance(nest.body, Reduce) and nest.body.values
        else None
    )
    if value is None or value.op is not Ops.MUL:
        return False
    left, right = (axes_in(s) for s in value.src)
    free, summed = set(nest.dims), set(nest.reduced)
    alone_left, alone_right = (left - right) & free, (right - left) & free
    return bool(alone_left and alone_right and left & summed and right & summed)


@dataclass(frozen=True, slots=True)
class Stream:
    """scores -> top (max) -> total (sum of exp) -> mixed (contraction with the softmax), by nest id."""

    scores: Nest
    top: Nest
    total: Nest
    mixed: Nest


def streams(kernel: Kernel) -> Stream | None:
    """The four nests of a streaming softmax between two contractions, if that is what the kernel is."""
    contractions = [n for n in kernel.nests if contraction(kernel, n)]
    tops = [n for n in kernel.nests if is_fold(n, Ops.MAX)]
    sums = [
        n for n in kernel.nests if is_fold(n, Ops.ADD) and n not in contractions
    ]
    if len(contractions) != 2 or len(tops) != 1 or len(sums) != 1:
        return None
    scores, mixed = contractions
    stream = Stream(scores, tops[0], sums[0], mixed)
    return stream if _linked(kernel, stream) else None


def _linked(kernel: Kernel, stream: Stream) -> bool:
    def reads(nest: Nest) -> set[int]:
        return {r.id for r, _ in kernel.readers(nest)}

    along_scores = {stream.top.id, stream.total.id, stream.mixed.id}
    along_top = {stream.total.id, stream.mixed.id}
    dims = len(stream.top.dims)
    sizes = (
        len(stream.scores.dims),
        len(stream.total.dims),
        len(stream.mixed.dims),
        len(stream.top.reduced),
    )
    if (
        sizes != (dims + 1, dims, dims + 1, 1)
        or len(stream.mixed.reduced) != 1
        or not _same_rows(kernel, stream)
    ):
        return False
    return (
        reads(stream.scores) == along_scores
        and reads(stream.top) == along_top
        and reads(stream.total) == {stream.mixed.id}
    )


def _same_rows(kernel: Kernel, stream: Stream) -> bool:
    """The output has the mix's axes in the mix's order, and so has every reader of the scores."""
    output = kernel.nests[-1]
    for nest in (stream.scores, stream.top, stream.total, stream.mixed):
        for reader, read in kernel.readers(nest):
            order = [kernel.loops[a].counter for a in reader.loops]
            places = [order.index(at) if at in order else -1 for at in read.src]
            if places != sorted(places) or -1 in places:
                return False
    return len(output.loops) == len(stream.mixed.dims)


def loads_of(nest: Nest) -> list[UOp]:
    """The buffer reads of a nest, each once."""
    found = [
        u for e in nest.expressions() for u in e.toposort() if u.op is Ops.LOAD
    ]
    return list(dict.fromkeys(found))


def strides(kernel: Kernel, nest: Nest, offset: UOp) -> dict[int, UOp] | None:
    """Axis -> stride of an offset; None if it is not a plain sum of strides."""
    counters = {kernel.loops[a].counter: a for a in nest.loops}
    found = split_affine(offset, list(counters))
    return (
        None
        if found is None
        else {counters[c]: stride for c, stride in found[0].items()}
    )


def unit_axis(kernel: Kernel, nest: Nest, offset: UOp) -> int | None:
    """The loop along which an access walks through neighbouring elements."""
    found = strides(kernel, nest, offset)
    for axis, stride in (found or {}).items():
        if stride.op is Ops.CONST and stride.value == 1:
            return axis
    return None


def unit_axes(kernel: Kernel, nest: Nest) -> list[int]:
    """The unit axes of a nest's accesses: its store first, then its loads, those that move along most loops first."""
    offsets = sorted(
        (u.src[1] for u in loads_of(nest)), key=lambda offset: -len(axes_in(offset))
    )
    if isinstance(nest.body, Store):
        offsets.insert(0, nest.body.offset)
    found = (unit_axis(kernel, nest, o) for o in offsets)
    return [a for a in found if a is not None]
