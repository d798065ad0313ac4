"""Kernel trees for people. In: a KERNEL, a statement or an expression. Out: indented loops and formulas, such as

kernel add(p0: f32*, p1: f32*, out p2: f32*; n)  chunks = (n + 1023)//1024
  for i0 in range((n + 1023)//1024):  # chunk
    for i1 in range(16):  # vector
      p2[i0*16 + i1] = p0[i0*16 + i1] + p1[i0*16 + i1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AxisArg,
    BufferArg,
    FoldArg,
    KernelArg,
    LoopArg,
    LoopKind,
    Ops,
    ParamArg,
    StageArg,
    StateArg,
    ValueArg,
    VarArg,
)

__all__ = ["expression", "tree_text"]

_INFIX = {
    Ops.ADD: ("+", 5),
    Ops.SUB: ("-", 5),
    Ops.MUL: ("*", 6),
    Ops.FDIV: ("/", 6),
    Ops.IDIV: ("//", 6),
    Ops.MOD: ("%", 6),
    Ops.CMPLT: ("<", 1),
    Ops.CMPEQ: ("==", 1),
    Ops.CMPNE: ("!=", 1),
    Ops.OR: ("|", 2),
    Ops.XOR: ("^", 3),
    Ops.AND: ("&", 4),
    Ops.SHL: ("<<", 4),
    Ops.SHR: (">>", 4),
}
_ATOM = 9
LONGEST = 1000  # characters of a formula; shared parts are written out, and that can double at every step


def tree_text(node: UOp) -> str:
    """A kernel tree as loops."""
    return "\n".join(_statement(node, 0))


def expression(node: UOp) -> str:
    """A formula."""
    return _formula(node)[0]


# --- formulas ---------------------------------------------------------------------------------------------------------


def _formula(root: UOp) -> tuple[str, int]:
    """(text, how tightly it binds). Sources first, without recursion."""
    made: dict[UOp, tuple[str, int]] = {}
    for node in root.toposort():
        made[node] = _short(_node(node, [made[s] for s in node.src]))
    return made[root]


def _short(part: tuple[str, int]) -> tuple[str, int]:
    text, rank = part
    return (
        part
        if len(text) <= LONGEST
        else (f"{text[: LONGEST // 2]} ... {text[-LONGEST // 4 :]}", rank)
    )


def _node(node: UOp, parts: list[tuple[str, int]]) -> tuple[str, int]:
    if node.op in _INFIX:
        return _infix(node, parts)
    leaf = _LEAVES.get(node.op)
    if leaf is not None:
        return leaf(node), _ATOM
    texts = [text for text, _ in parts]
    if node.op is Ops.LOAD:
        return _load(texts), _ATOM
    if node.op is Ops.VALUE:
        arg = cast(ValueArg, node.arg)
        return f"n{arg.nest}.{arg.slot}[{', '.join(texts)}]", _ATOM
    if node.op is Ops.NEG:
        return f"-{_wrap(parts[0], 8)}", 7
    if node.op in (Ops.CAST, Ops.BITCAST):
        return f"{node.op.name.lower()}({texts[0]}, {node.dtype.short})", _ATOM
    return f"{node.op.name.lower()}({', '.join(texts)})", _ATOM


def _infix(node: UOp, parts: list[tuple[str, int]]) -> tuple[str, int]:
    sign, rank = _INFIX[node.op]
    left, right = _wrap(parts[0], rank), _wrap(parts[1], rank + 1)
    space = "" if rank == 6 else " "
    return f"{left}{space}{sign}{space}{right}", rank


def _wrap(part: tuple[str, int], rank: int) -> str:
    return part[0] if part[1] >= rank else f"({part[0]})"


def _load(texts: list[str]) -> str:
    plain = f"{texts[0]}[{texts[1]}]"
    return f"({plain} if {texts[2]} else {texts[3]})" if len(texts) == 4 else plain


def _constant(node: UOp) -> str:
    value = node.value
    return f"({value})" if value < 0 else str(value)


def _axis(node: UOp) -> str:
    arg = cast(AxisArg, node.arg)
    return arg.name or f"i{arg.id}"


def _stage_name(node: UOp) -> str:
    arg = cast(StageArg, node.arg)
    return f"{arg.name or 's'}{arg.id}"


_LEAVES: dict[Ops, Callable[[UOp], str]] = {
    Ops.CONST: _constant,
    Ops.AXIS: _axis,
    Ops.DEFINE_VAR: lambda node: cast(VarArg, node.arg).name,
    Ops.PARAM: lambda node: f"p{cast(ParamArg, node.arg).slot}",
    Ops.BUFFER: lambda node: f"b{cast(BufferArg, node.arg).id}",
    Ops.STATE: lambda node: f"state{cast(StateArg, node.arg).slot}",
    Ops.STAGE: _stage_name,
}


# --- statements -------------------------------------------------------------------------------------------------------


def _statement(node: UOp, depth: int) -> Iterator[str]:
    writer = _STATEMENTS.get(node.op)
    if writer is None:
        yield "  " * depth + expression(node)
        return
    for index, line in enumerate(writer(node)):
        if isinstance(line, UOp):
            yield from _statement(line, depth + 1)
        else:
            yield "  " * (depth + (index > 0 and node.op is Ops.FOLD)) + line


Line = "str | UOp"


def _kernel(node: UOp) -> Iterator[str | UOp]:
    arg = cast(KernelArg, node.arg)
    params = ", ".join(_parameter(p) for p in arg.params)
    sizes = ", ".join(expression(s) for s in arg.sizes)
    head = f"kernel {arg.name}({params}{'; ' if sizes else ''}{sizes})"
    yield f"{head}  chunks = {expression(arg.chunks)}, scratch = {expression(arg.scratch)}"
    yield from node.src


def _parameter(node: UOp) -> str:
    arg = cast(ParamArg, node.arg)
    return f"{'out ' if arg.writable else ''}p{arg.slot}: {node.dtype.short}*"


def _loop(node: UOp) -> Iterator[str | UOp]:
    arg = cast(LoopArg, node.arg)
    kind = "" if arg.kind is LoopKind.LOOP else f"  # {arg.kind.value}"
    yield f"for {arg.name or f'i{arg.axis}'} in range({expression(node.src[0])}):{kind}"
    yield from node.src[1:]


def _when(node: UOp) -> Iterator[str | UOp]:
    yield f"if {expression(node.src[0])}:"
    yield from node.src[1:]


def _stage(node: UOp) -> Iterator[str | UOp]:
    scope = cast(StageArg, node.arg).scope.value
    yield f"{_stage_name(node)} = {node.dtype.short}[{expression(node.src[0])}]  # {scope}"


def _store(node: UOp) -> Iterator[str | UOp]:
    buffer, offset, value, *mask = (expression(s) for s in node.src)
    yield f"{buffer}[{offset}] = {value}" + (f" if {mask[0]}" if mask else "")


def _barrier(node: UOp) -> Iterator[str | UOp]:
    yield "barrier()"


def _fold(node: UOp) -> Iterator[str | UOp]:
    arg = cast(FoldArg, node.arg)
    parts = [expression(s) for s in node.src[1:]]
    targets, values, combines = (
        parts[: arg.n],
        parts[arg.n : 2 * arg.n],
        parts[2 * arg.n :],
    )
    yield f"fold i{arg.axis} in range({expression(node.src[0])}):  # {arg.kind.value}"
    for target, value, combine in zip(targets, values, combines, strict=True):
        yield f"{target} = fold({value}; {combine})"


_STATEMENTS: dict[Ops, Callable[[UOp], Iterator[str | UOp]]] = {
    Ops.KERNEL: _kernel,
    Ops.LOOP: _loop,
    Ops.WHEN: _when,
    Ops.STAGE: _stage,
    Ops.STORE: _store,
    Ops.BARRIER: _barrier,
    Ops.FOLD: _fold,
}
