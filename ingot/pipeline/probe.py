"""One operation at a time. In: a kernel that is wrong as a whole. Out: the operation of it that is wrong by itself.

Each kind of operation in the kernel is put into a tiny kernel of its own, as scalars and as vectors, over numbers of
all sorts; one level is compared with the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.interpret_tree import run_tree
from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, KernelArg, LoopArg, LoopKind, Ops, ParamArg
from ingot.ir.text import expr_text
from ingot.kernel.decompose import decompose
from ingot.kernel.launches import Built
from ingot.pipeline import stages
from ingot.pipeline.compare import Array, difference
from ingot.pipeline.run_from import run_sources
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool

ROWS, LANES = 8, 16
_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 3e4)
NOTHING = "no single operation is wrong by itself; it is the loops or the memory"


def undecomposed(built: Built) -> str:
    """The operation that `decompose` writes wrongly."""
    for node in kinds(built):
        kernel, inputs = alone(node, LoopKind.LOOP)
        wanted = _interpreted(kernel, inputs, node)
        got = _interpreted(decompose(kernel), inputs, node)
        if difference(got, wanted, node.dtype) is not None:
            return f"decomposing {_text(node)}"
    return NOTHING


def misrendered(
    built: Built, work: stages.Work, library: Library, pool: Pool
) -> str:
    """The operation that the renderer writes wrongly."""
    for node in kinds(built):
        for inner in (LoopKind.LOOP, LoopKind.VECTOR):
            kernel, inputs = alone(node, inner)
            wanted = _interpreted(kernel, inputs, node)
            got = _result(node)
            try:
                sources = stages.SOURCE(Built((kernel,), ()), work)
                run_sources(
                    Built((kernel,), ()), sources, [*inputs, got], {}, library, pool
                )
            except CompileError:
                continue
            if difference(got, wanted, node.dtype, exact=True) is not None:
                return f"rendering {_text(node)}{' on vectors' if inner is LoopKind.VECTOR else ''}"
    return NOTHING


def _text(node: UOp) -> str:
    types = ", ".join(s.dtype.short for s in node.src)
    return f"{node.op.name}({types}) -> {node.dtype.short}, as in {expr_text(node)[:80]}"


def kinds(built: Built) -> Iterator[UOp]:
    """One node of each kind of operation; what is only right for numbers in its range is left out."""
    seen: set[object] = set()
    for node in (u for launch in built.launches for u in launch.toposort()):
        if (
            node.op not in ELEMENTWISE
            or node.dtype is dt.index
            or node.tag is not None
        ):
            continue
        shape = (
            node.op,
            node.dtype,
            tuple(s if s.op is Ops.CONST else s.dtype for s in node.src),
        )
        if shape not in seen and all(
            s.op is not Ops.STATE and s.dtype is not dt.index for s in node.src
        ):
            seen.add(shape)
            yield node


def alone(node: UOp, inner: LoopKind) -> tuple[UOp, list[Array]]:
    """A kernel of just this operation, and its inputs."""
    row, lane = UOp.axis(0, "i"), UOp.axis(1, "j")
    offset = row * LANES + lane
    params: list[UOp] = []
    inputs: list[Array] = []
    sources: list[UOp] = []
    for source in node.src:
        if source.op is Ops.CONST:
            sources.append(source)
            continue
        params.append(UOp(Ops.PARAM, source.dtype, (), ParamArg(len(params))))
        inputs.append(_numbers(source.dtype, len(params)))
        sources.append(UOp(Ops.LOAD, source.dtype, (params[-1], offset)))
    out = UOp(Ops.PARAM, node.dtype, (), ParamArg(len(params), True))
    store = UOp(Ops.STORE, dt.void, (out, offset, node.replace(src=tuple(sources))))
    body = _loop(0, ROWS, LoopKind.LOOP, _loop(1, LANES, inner, store))
    one, zero = UOp.const(dt.index, 1), UOp.const(dt.index, 0)
    return UOp(
        Ops.KERNEL,
        dt.void,
        (body,),
        KernelArg("probe", (*params, out), (), one, zero),
    ), inputs


def _loop(axis: int, extent: int, kind: LoopKind, body: UOp) -> UOp:
    return UOp(
        Ops.LOOP,
        dt.void,
        (UOp.const(dt.index, extent), body),
        LoopArg(axis, kind, "ij"[axis]),
    )


def _numbers(dtype: dt.DType, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    count = ROWS * LANES
    if dtype is dt.boolean:
        return rng.integers(0, 2, count).astype(np.bool_)
    if not dtype.is_float:
        return rng.integers(0, 30, count).astype(dt.to_numpy(dtype))
    made = rng.normal(0, 3, count)
    made[: len(_SPECIAL)] = _SPECIAL
    if dtype is dt.bfloat16:
        return (made.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return cast(Array, made.astype(dt.to_numpy(dtype)))


def _result(node: UOp) -> Array:
    return np.zeros(ROWS * LANES, dt.to_numpy(node.dtype))


def _interpreted(kernel: UOp, inputs: Sequence[Array], node: UOp) -> Array:
    out = _result(node)
    run_tree(kernel, [*inputs, out])
    return out
