"""What the stages made, for people. In: graphs, fusions, kernels of nests, loop trees. Out: text."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from ingot.ir.node import UOp
from ingot.ir.opcode import MOVEMENT, Ops
from ingot.ir.text import expr_text, lines, nodes_of, tree_text, type_text
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel, Map, Nest, Prefix, Reduce, Store
from ingot.kernel.plan import Plan
from ingot.kernel.skeleton.form import Skeleton
from ingot.ops.lower import describe, origin
from ingot.pipeline import effects
from ingot.schedule.family import Family
from ingot.schedule.fuse import Effect, Fusion
from ingot.schedule.label import label
from ingot.schedule.nests import Draft

_SILENT = MOVEMENT | {Ops.CONST, Ops.PARAM, Ops.STATE, Ops.SINK}


def graph(root: UOp) -> str:
    """One line a node, with the op that it came from."""
    made = zip(lines(root), nodes_of(root), strict=True)
    return "\n".join(
        f"{line}   {describe(node)}" if _came_from(node) else line
        for line, node in made
    )


def _came_from(node: UOp) -> bool:
    return node.op not in _SILENT and bool(origin(node))


def fusion(made: Fusion) -> str:
    """Every kernel with the reason why it is one, and the kernels of bodies where they run."""
    return "\n\n".join(
        draft(step, made) if isinstance(step, Draft) else effect(step)
        for step in made.steps
    )


def effect(step: Effect) -> str:
    """What runs between kernels: what it reads and gives, then its bodies."""
    given = ", ".join(type_text(u) for u in effects.arguments(step))
    results = ", ".join(type_text(u) for u in step.results.values())
    head = f"{effects.name(step)}({given})" + (f" -> {results}" if results else "")
    bodies = [indent(fusion(body), "    ") for body in step.bodies]
    return "\n\n".join((head, *bodies))


def draft(one: Draft, made: Fusion) -> str:
    """One kernel: its name, why what it stores is stored, its nests."""
    output = one.outputs[0]
    head = f"{label(output, made.reasons)} -> {type_text(output)}: {made.reasons.get(output, '')}"
    return f"{head}\n{nests(one.kernel)}"


def family(made: Family) -> str:
    """A kernel without sizes, then its arguments here."""
    values = [
        f"{expr_text(v)} = {expr_text(n) if isinstance(n, UOp) else n}"
        for v, n in made.values.items()
    ]
    return f"{nests(made.kernel)}\nhere: {', '.join(values)}"


def plan(made: Plan) -> str:
    """The moves, what they rely on, and the nests that they lead to."""
    moves = made.kernel.moves or ("no moves",)
    guards = [f"only where {expr_text(g)}" for g in made.guards]
    extra = [f"{expr_text(v)} = {expr_text(n)}" for v, n in made.extra.items()]
    return "\n".join((*moves, *guards, *extra, nests(made.kernel)))


def built(made: Built) -> str:
    """Loop trees."""
    between = [f"temporary {t.short}[{expr_text(n)}]" for t, n in made.temporaries]
    return "\n".join((*between, *map(tree_text, made.launches)))


# --- nests ------------------------------------------------------------------------------------------------------------


def nests(kernel: Kernel) -> str:
    """Loops with their extents, then a line a nest: the loops that it is in and what it computes."""
    if isinstance(kernel, Skeleton):
        return f"algorithm {kernel.text()} {kernel.variant}".rstrip()
    extents = ", ".join(_loop(kernel, axis) for axis in kernel.loops)
    width = max(len(n.name) for n in kernel.nests)
    return "\n".join(
        (f"loops {extents}", *(_nest(kernel, nest, width) for nest in kernel.nests))
    )


def _loop(kernel: Kernel, axis: int) -> str:
    loop = kernel.loops[axis]
    kind = "" if loop.kind.value == "loop" else f" {loop.kind.value}"
    return f"{loop.name} < {expr_text(loop.extent)}{kind}"


def _nest(kernel: Kernel, nest: Nest, width: int) -> str:
    inside = ", ".join(kernel.loops[a].name for a in nest.loops)
    scope = "" if nest.scope is None else f"  # {nest.scope.value}"
    return f"{nest.name:{width}} [{inside}]  {_body(kernel, nest)}{scope}"


def _body(kernel: Kernel, nest: Nest) -> str:
    body = nest.body
    if isinstance(body, Store):
        return f"{expr_text(body.buffer)}[{expr_text(body.offset)}] = {expr_text(body.value)}"
    if isinstance(body, Prefix):
        to = ", ".join(
            f"{expr_text(b)}[{expr_text(body.offset)}]" for b in body.buffers
        )
        over = kernel.loops[body.axes[0]].name
        return f"{to} = running over {over}: {', '.join(_folds(body))}"
    here = f"n{nest.id}[{', '.join(kernel.loops[a].name for a in nest.dims)}]"
    if isinstance(body, Map):
        return f"{here} = {expr_text(body.value)}"
    over = ", ".join(kernel.loops[a].name for a in body.axes)
    return f"{here} = fold over {over}: {', '.join(_folds(body))}"


def _folds(body: Reduce) -> Iterator[str]:
    if body.steps:
        yield from (
            f"state{n} = {expr_text(step)}" for n, step in enumerate(body.steps)
        )
        return
    for value, combine in zip(body.values, body.combines, strict=True):
        yield f"{expr_text(value)} by {expr_text(combine)}"
