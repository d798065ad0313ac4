"""Sharing loops: reductions run inside the loops of their readers. In: nests with loops of their own. Out: nests that share.

m[f] over r;  out[i, j] reads m[i]   ->   for i: m over r; for j: out
"""

from __future__ import annotations

from ingot.kernel.moves import fuse, reorder
from ingot.kernel.nest import Kernel, Nest, Store
from ingot.kernel.staging import compute_at


def readers_of(kernel: Kernel, nest: Nest) -> list[Nest]:
    """The nests that read this one, each once, in running order."""
    return list({r.id: r for r, _ in kernel.readers(nest)}.values())


def shared_axes(kernel: Kernel, nest: Nest, reader: Nest) -> list[int]:
    """The reader's loops whose counters index the nest, in the reader's order."""
    at = {i for r, v in kernel.readers(nest) if r.id == reader.id for i in v.src}
    return [a for a in reader.loops if kernel.loops[a].counter in at]


def align(kernel: Kernel) -> Kernel:
    """Every reduction moves into the loops of its last reader that it is indexed by."""
    for nest in reversed(kernel.nests):
        readers = readers_of(kernel, nest)
        if not readers:
            continue
        reader = readers[-1]
        kernel = _outermost(kernel, reader.name)
        shared = shared_axes(
            kernel, kernel.nest(nest.name), kernel.nest(reader.name)
        )
        if shared:
            kernel = compute_at(
                kernel, nest.name, reader.name, kernel.loops[shared[-1]].name
            )
    return kernel


def _outermost(kernel: Kernel, name: str) -> Kernel:
    """The loops that index other nests come first, those that index most of them outermost."""
    reader = kernel.nest(name)
    uses = dict.fromkeys(reader.loops, 0)
    for nest in kernel.nests:
        if not isinstance(nest.body, Store):
            for axis in shared_axes(kernel, nest, reader):
                uses[axis] += 1
    order = sorted(reader.loops, key=lambda a: -uses[a])
    if tuple(order) == reader.loops:
        return kernel
    return reorder(kernel, name, *(kernel.loops[a].name for a in order))


def common_loops(kernel: Kernel) -> tuple[int, ...]:
    """The free loops that all nests begin with."""
    first = kernel.nests[0].loops
    for nest in kernel.nests[1:]:
        length = 0
        while (
            length < min(len(first), len(nest.loops))
            and first[length] == nest.loops[length]
        ):
            length += 1
        first = first[:length]
    reduced = {a for n in kernel.nests for a in n.reduced}
    for position, axis in enumerate(first):
        if axis in reduced:
            return first[:position]
    return first


def fuse_all(
    kernel: Kernel, axes: tuple[int, ...], name: str
) -> tuple[Kernel, str]:
    """One loop in place of several neighbouring ones, outermost first."""
    names = [kernel.loops[a].name for a in axes]
    whole = names[0]
    for inner in names[1:]:
        kernel = fuse(kernel, whole, inner, name)
        whole = name
    return kernel, whole
