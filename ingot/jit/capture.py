"""One capture: a program, where its inputs come from, and what becomes of its outputs. In: a function run once on
placeholders. Out: the same work on other memory, without running the function.

All that the function does with tensors is done again, and so is all that it leaves in the variables and attributes which it
can reach. Every output has memory of its own: results share none with each other, with arguments or with later calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from ingot import pipeline
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.rewrite import substitute
from ingot.jit.record import Record
from ingot.jit.surroundings import Slot
from ingot.jit.tree import Form, Leaf, fill
from ingot.runtime.buffer import Buffer
from ingot.tensor.computed import over_memory
from ingot.tensor.evaluate import bound_size
from ingot.tensor.handle import Handle, Kind, kind_of
from ingot.tensor.tensor import Tensor

Sizes = tuple[tuple[str, int], ...]  # what the variables are bound to


class Effect(NamedTuple):
    """The function leaves a value in a slot. Its tensors come after the results, in order."""

    slot: Slot
    form: Form


class Traced(NamedTuple):
    """What one run of a function on placeholders has shown."""

    arguments: list[Handle]  # placeholders, one for each tensor among the arguments
    slots: list[Slot]  # where tensors lie round the function
    record: Record
    form: Form  # of the result, and of what is left in slots, over `outputs`
    effects: list[Effect]
    outputs: list[UOp]
    sizes: Sizes
    own_sizes: bool  # the sizes are variables of ours, which a result does not keep
    is_followed: bool  # gradients go through the result to the outside


class Program:
    """A capture with sizes: a native program, its leaves by identity, and the kinds of its outputs."""

    def __init__(self, roots: Sequence[UOp], own_sizes: bool) -> None:
        self.roots = roots
        self.runner = pipeline.prepare(roots) if roots else None
        self.leaves = self.runner.leaves if self.runner else []
        self.kinds = [_kind(root, own_sizes) for root in roots]
        self.counts = any(_is_counted(root) for root in roots)
        self.order: list[int] = []

    def run(self, inputs: list[Buffer]) -> tuple[list[Buffer], list[Kind]]:
        """The outputs, and their kinds: some sizes are known only now."""
        runner = cast(Any, self.runner)
        try:
            if not self.counts:
                return runner.run(inputs), self.kinds
            made, numbers = runner.run_sized(inputs)
        except Exception as error:
            pipeline.explain(error, self.roots)
            raise
        shapes = [pipeline.settled_shape(u.shape, numbers) for u in self.roots]
        kinds = [
            kind_of(u.dtype, s) for u, s in zip(self.roots, shapes, strict=True)
        ]
        return made, kinds


def _kind(root: UOp, own_sizes: bool) -> Kind:
    shape = root.shape
    if own_sizes:
        shape = tuple(n if isinstance(n, int) else bound_size(n) for n in shape)
    return kind_of(root.dtype, shape)


def _is_counted(root: UOp) -> bool:
    """A size of this output is computed."""
    sizes = [n for n in root.shape if isinstance(n, UOp)]
    return any(u.op is Ops.SIZE_OF for n in sizes for u in n.toposort())


class Capture:
    """What a replay needs. Tensors have numbers: arguments, then slots, then others that the function reads; then constants."""

    def __init__(self, traced: Traced) -> None:
        self.form = traced.form
        self.effects = traced.effects
        self.own_sizes = traced.own_sizes
        changed = traced.record.changed()
        after = [handle.uop for handle, _ in changed]
        for handle, before in changed:
            handle.restore(before)
        given = [*traced.arguments, *(cast(Handle, s.value) for s in traced.slots)]
        self.others = _others(traced.record, [h for h, _ in changed], given)
        self.other_kinds = [_kind(h.uop, False) for h in self.others]
        numbers = {id(h): n for n, h in enumerate((*given, *self.others))}
        self.first_change = len(traced.outputs)
        self.changes = [numbers[id(handle)] for handle, _ in changed]
        self.roots = _distinct(over_memory([*traced.outputs, *after]))
        self.sizes = traced.sizes
        self.numbers = _numbers(traced, numbers)
        self.constants: list[Buffer] = []
        self.programs = {traced.sizes: self._numbered(self.roots, len(numbers))}
        self.last = self.programs[traced.sizes]
        self.is_pure = not (self.changes or self.effects or self.others)
        self.in_order = self.last.order == list(range(len(traced.arguments)))
        self.in_order &= self.is_pure and not traced.slots
        self.is_single = self.is_pure and self.form == Leaf(0)

    def _numbered(self, roots: Sequence[UOp], known: int) -> Program:
        """A program, and which tensor or constant each of its leaves is."""
        made = Program(roots, self.own_sizes)
        for leaf in made.leaves:
            if leaf.arg not in self.numbers:
                self.numbers[leaf.arg] = known + len(self.constants)
                self.constants.append(pipeline.memory(leaf))
        made.order = [self.numbers[leaf.arg] for leaf in made.leaves]
        return made

    def holds(self) -> bool:
        """The tensors that are no arguments and in no slot are of the kinds that they were."""
        for handle, kind in zip(self.others, self.other_kinds, strict=True):
            if handle.kind is not kind and _kind(handle.uop, False) is not kind:
                return False
        return True

    def summary(self) -> str:
        """How much goes in and out."""
        parts = [f"{len(self.last.order)} inputs", f"{len(self.roots)} outputs"]
        if self.changes or self.effects:
            parts.append(f"{len(self.changes) + len(self.effects)} of them state")
        return ", ".join(parts)

    # --- running --------------------------------------------------------------------------------------------------

    def program(self, sizes: Sizes) -> Program:
        """The program for these sizes: the same schedule and the same code as for others."""
        found = self.programs.get(sizes)
        if found is None:
            roots = _resized(self.roots, self.sizes, sizes)
            known = max(self.numbers.values(), default=0) + 1
            found = self.programs[sizes] = self._numbered(roots, known)
        self.last = found
        return found

    def replay(self, tensors: Sequence[Handle]) -> Any:
        """Run over the memory of these tensors; all of them are held."""
        memory = [cast(Buffer, t.buffer) for t in tensors]
        last = self.last
        made: list[Buffer] = []
        kinds = last.kinds
        if last.runner is not None:
            memory += self.constants
            made, kinds = last.run([memory[n] for n in last.order])
        if self.is_single:
            return Tensor.holding(made[0], kinds[0])
        fresh = [
            Tensor.holding(b, k)
            for b, k in zip(made[: self.first_change], kinds, strict=False)
        ]
        result = fill(self.form, fresh)
        for number, n in enumerate(self.changes, self.first_change):
            tensors[n].move(made[number], kinds[number])
        for effect in self.effects:
            effect.slot.put(fill(effect.form, fresh))
        return result

    def replay_simply(self, memory: list[Buffer]) -> Any:
        """The same where there are arguments alone, and one result."""
        last = self.last
        if not self.in_order:
            memory = [(memory + self.constants)[n] for n in last.order]
        try:
            made = last.runner.run(memory)  # type: ignore[union-attr]  # there is a result
        except Exception as error:
            pipeline.explain(error, last.roots)
            raise
        return Tensor.holding(made[0], last.kinds[0])


def _others(
    record: Record, changed: Sequence[Handle], given: Sequence[Handle]
) -> list[Handle]:
    """Tensors that are neither arguments nor in slots, but were read or changed, and are still there."""
    alive = [*changed, *(known() for known in record.sources.values())]
    found = {id(handle): handle for handle in alive if handle is not None}
    for handle in given:
        found.pop(id(handle), None)
    return list(found.values())


def _numbers(traced: Traced, numbers: dict[int, int]) -> dict[object, int]:
    """The number of each known memory, by the identity of its node, which sizes do not change."""
    found: dict[object, int] = {}
    for node, known in traced.record.sources.items():
        handle = known()
        if handle is not None:
            found[node.arg] = numbers[id(handle)]
    for n, handle in enumerate(traced.arguments):
        found[cast(UOp, handle._uop).arg] = n
    return found


def _distinct(outputs: Sequence[UOp]) -> list[UOp]:
    """One root an output: what is memory already, or an output twice, is copied."""
    seen: set[UOp] = set()
    roots = []
    for node in outputs:
        made = node
        while made.op is Ops.BUFFER or made in seen:
            made = UOp(Ops.CONTIGUOUS, made.dtype, (made,))
        seen.add(made)
        roots.append(made)
    return roots


def _resized(roots: Sequence[UOp], old: Sizes, new: Sizes) -> list[UOp]:
    """The same graph with its variables bound to other values."""
    values = dict(new)
    sink = UOp(Ops.SINK, roots[0].dtype, tuple(roots))
    found = {
        bound: bound.src[0].bind(values[cast(Any, bound.src[0].arg).name])
        for bound in sink.toposort()
        if bound.op is Ops.BIND
        and len(bound.src) == 2
        and cast(Any, bound.src[0].arg).name in values
    }
    return list(substitute(sink, found).src)
