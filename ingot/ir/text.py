"""IR as Python that rebuilds it. In: a node. Out: one line a node, its type beside it; `eval_text(text(u)) is u`.

    v2 = param(v0, v1, slot=0, writable=False, dtype=float32)  # f32[8, 64]
    v3 = mul(v2, v2)  # f32[8, 64]

A line calls the opcode's name with the sources, then the fields of the arg by name, then `dtype` and `tag` where they
do not follow from the sources. Kernel trees also have a form for people: see `tree_text.py`.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir import opcode
from ingot.ir.dtype import DType
from ingot.ir.node import UOp, provide
from ingot.ir.opcode import (
    COMPARE,
    ELEMENTWISE,
    MOVEMENT,
    Arg,
    ConstArg,
    LoopKind,
    OpArg,
    Ops,
    Scope,
)
from ingot.ir.tree_text import expression, tree_text

__all__ = ["eval_text", "expr_text", "text", "tree_text"]

LONGEST = 400  # lines of a node's repr

_ARGS: dict[Ops, type[Any]] = {
    Ops.CONST: opcode.ConstArg,
    Ops.DEFINE_VAR: opcode.VarArg,
    Ops.BUFFER: opcode.BufferArg,
    Ops.PARAM: opcode.ParamArg,
    Ops.STATE: opcode.StateArg,
    Ops.PERMUTE: opcode.AxesArg,
    Ops.FLIP: opcode.AxesArg,
    Ops.WINDOW: opcode.WindowArg,
    Ops.TAKE: opcode.AxesArg,
    Ops.REDUCE: opcode.ReduceArg,
    Ops.PREFIX: opcode.PrefixArg,
    Ops.OP: opcode.OpArg,
    Ops.RESULT: opcode.ResultArg,
    Ops.ASSERT: opcode.AssertArg,
    Ops.FUNCTION: opcode.FunctionArg,
    Ops.SCAN: opcode.ScanArg,
    Ops.EXTERN: opcode.ExternArg,
    Ops.KERNEL: opcode.KernelArg,
    Ops.LOOP: opcode.LoopArg,
    Ops.STAGE: opcode.StageArg,
    Ops.FOLD: opcode.FoldArg,
    Ops.AXIS: opcode.AxisArg,
    Ops.VALUE: opcode.ValueArg,
}
_VOID = frozenset(
    {
        *(
            Ops.SINK,
            Ops.ASSERT,
            Ops.FUNCTION,
            Ops.CALL,
            Ops.IF,
            Ops.WHILE,
            Ops.SCAN,
            Ops.EXTERN,
        ),
        *(Ops.KERNEL, Ops.LOOP, Ops.WHEN, Ops.STORE, Ops.BARRIER, Ops.FOLD),
    }
)
_FIRST = (
    ELEMENTWISE
    | MOVEMENT
    | {
        Ops.CONTIGUOUS,
        Ops.ASSIGN,
        Ops.AFTER,
        Ops.BIND,
        Ops.LOAD,
        Ops.REDUCE,
        Ops.TAKE,
        Ops.PREFIX,
    }
) - {
    Ops.CAST,
    Ops.BITCAST,
}


def expr_text(node: UOp) -> str:
    """One expression as a formula; shared parts are written out."""
    return expression(node)


# --- writing ----------------------------------------------------------------------------------------------------------


def nodes_of(root: UOp) -> list[UOp]:
    """Every node that the text of `root` needs, sources first; a kernel's interface is held in its arg."""
    found: dict[UOp, None] = {}
    for node in root.toposort():
        if node.op is Ops.KERNEL:
            for part in _arg_nodes(node.arg):
                found.update(part.toposort())
        found[node] = None
    return list(found)


def _arg_nodes(arg: Arg | None) -> list[UOp]:
    assert isinstance(arg, opcode.KernelArg)
    return [*arg.params, *arg.sizes, arg.chunks, arg.scratch]


def text(root: UOp) -> str:
    """The graph as Python, exact to the bit."""
    return "\n".join(lines(root))


def lines(root: UOp) -> list[str]:
    """One line a node, in the order of `nodes_of`."""
    names: dict[UOp, str] = {}
    made = []
    for node in nodes_of(root):
        names[node] = f"v{len(names)}"
        made.append(f"{names[node]} = {_call(node, names)}{_comment(node)}")
    return made


def _call(node: UOp, names: dict[UOp, str]) -> str:
    parts = [names[s] for s in node.src]
    parts += _arg_parts(node, names)
    if node.dtype is not natural_dtype(node.op, node.src):
        parts.append(f"dtype={node.dtype.name}")
    if node.tag is not None:
        parts.append(f"tag={node.tag!r}")
    return f"{spelling(node.op)}({', '.join(parts)})"


def spelling(op: Ops) -> str:
    """An opcode as a Python name: `if`, `and` and their like are taken."""
    name = op.name.lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def _arg_parts(node: UOp, names: dict[UOp, str]) -> list[str]:
    if isinstance(node.arg, ConstArg):
        return [_constant(node)]
    if node.arg is None:
        return []
    parts = ("name", "attrs") if isinstance(node.arg, OpArg) else node.arg._fields
    return [f"{part}={_field(getattr(node.arg, part), names)}" for part in parts]


def _constant(node: UOp) -> str:
    """A number where it says everything, else the bits."""
    assert isinstance(node.arg, ConstArg)
    value = node.value
    finite = value == value and value not in (float("inf"), float("-inf"))
    if finite and dt.to_bits(node.dtype, value) == node.arg.bits:
        return repr(value)
    return f"bits={node.arg.bits:#x}"


def _field(value: object, names: dict[UOp, str]) -> str:
    if isinstance(value, UOp):
        return names[value]
    if isinstance(value, tuple):
        inside = ", ".join(_field(v, names) for v in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, LoopKind | Scope):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, float):
        return f"fromhex({value.hex()!r})"
    return repr(value)


def _comment(node: UOp) -> str:
    if node.dtype is dt.void or node.op is Ops.CONST:
        return ""
    return f"  # {type_text(node)}"


def type_text(node: UOp) -> str:
    """f32[8, 64]"""
    dims = ", ".join(
        str(n) if isinstance(n, int) else expression(n) for n in node.shape
    )
    return f"{node.dtype.short}[{dims}]" if node.shape else node.dtype.short


def natural_dtype(op: Ops, src: tuple[UOp, ...]) -> DType | None:
    """The type that follows from the opcode and its sources, None if it must be said."""
    if op in _VOID:
        return dt.void
    if op in COMPARE:
        return dt.boolean
    if op is Ops.AXIS or op is Ops.SIZE_OF:
        return dt.index
    if op is Ops.WHERE:
        return src[1].dtype if len(src) > 1 else None
    return src[0].dtype if op in _FIRST and src else None


# --- reading ----------------------------------------------------------------------------------------------------------


def eval_text(source: str) -> UOp:
    """The node that a text describes: its last line."""
    namespace: dict[str, Any] = {
        "__builtins__": {},
        "fromhex": float.fromhex,
        "inf": float("inf"),
        **_READERS,
    }
    exec(compile(source, "<ir text>", "exec"), namespace)
    made = [value for value in namespace.values() if isinstance(value, UOp)]
    if not made:
        raise ArgumentError(
            "the text builds no node",
            given=source[:80],
            wanted="lines like v1 = add(v0, v0)",
        )
    return made[-1]


def _reader(op: Ops) -> Callable[..., UOp]:
    def make(
        *src: UOp, dtype: DType | None = None, tag: object = None, **given: Any
    ) -> UOp:
        kind = dtype or natural_dtype(op, src)
        if kind is None:
            raise ArgumentError(f"{op.name.lower()} needs dtype=...")
        arg_type = _ARGS.get(op)
        return UOp(
            op,
            kind,
            src,
            arg_type(**given) if arg_type is not None and given else None,
            tag,
        )

    return make


def _read_constant(
    value: Any = None, *, bits: int | None = None, dtype: DType, tag: object = None
) -> UOp:
    exact = dt.to_bits(dtype, value) if bits is None else bits
    return UOp(Ops.CONST, dtype, (), ConstArg(exact), tag)


def _read_op(
    *src: UOp, name: str, attrs: Any = (), dtype: DType, tag: object = None
) -> UOp:
    return UOp(Ops.OP, dtype, src, OpArg(name, attrs), tag)


_READERS: dict[str, Any] = {
    **{spelling(op): _reader(op) for op in Ops},
    **{d.name: d for d in dt.ALL},
    "const": _read_constant,
    "op": _read_op,
    "LoopKind": LoopKind,
    "Scope": Scope,
}


# --- printing ---------------------------------------------------------------------------------------------------------

_TREES = frozenset(
    {Ops.KERNEL, Ops.LOOP, Ops.WHEN, Ops.STORE, Ops.STAGE, Ops.BARRIER, Ops.FOLD}
)


def shown(root: UOp) -> str:
    """What print shows: loops for a kernel tree, else lines, the last ones of a very long graph."""
    made = tree_text(root).split("\n") if root.op in _TREES else lines(root)
    if len(made) <= LONGEST:
        return "\n".join(made)
    return f"# {len(made) - LONGEST} lines before these\n" + "\n".join(
        made[-LONGEST:]
    )


provide(text=shown)
