"""Starting in the middle: the text of a stage, run. In: what `ingot show --exact` wrote, and arrays. Out: arrays.

A program or a primitive graph takes one array a parameter and gives its results. A loop tree takes the arrays of all
its buffers, outputs too, and writes them in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.interpret_tree import run_tree
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, VarArg
from ingot.kernel.launches import Built
from ingot.pipeline import stages
from ingot.pipeline.call import word
from ingot.pipeline.host import Number, evaluate, source
from ingot.pipeline.reference import numbers
from ingot.pipeline.report import Report
from ingot.pipeline.session import session
from ingot.runtime.buffer import Buffer
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool
from ingot.runtime.program import ProgramBuilder

Array = np.ndarray[Any, Any]


def run_from(
    stage: str,
    text: str,
    arrays: Sequence[Array],
    sizes: Mapping[str, Number] | None = None,
) -> list[Array]:
    """Go on from what `stage` made to machine code, and run it."""
    given = dict(sizes or {})
    if stage in ("program", "lower"):
        return run_graph(
            stages.find(stage).rebuilt(text),
            arrays,
            {name: int(n) for name, n in given.items()},
        )
    if stage not in ("tree", "decompose"):
        raise ArgumentError(
            f"cannot start from stage {stage}",
            wanted="program, lower, tree or decompose",
        )
    forge = session.forge()
    work = stages.Work(forge.library.target, forge.codegen)
    built = stages.find(stage).rebuilt(text)
    simple = stages.DECOMPOSE(built, work)
    run_sources(
        simple,
        stages.SOURCE(simple, work),
        arrays,
        given,
        forge.library,
        session.pool(),
    )
    return list(arrays)


def run_graph(
    sink: UOp, arrays: Sequence[Array], variables: Mapping[str, int]
) -> list[Array]:
    """The roots of a graph over numbered parameters."""
    schedule, bound = session.bound(sink, dict(variables), Report())
    inputs = [np.ascontiguousarray(arrays[slot]) for slot in schedule.recipe.inputs]
    outputs = [Buffer.allocate(size) for size in bound.outputs]
    arena = Buffer.allocate(bound.arena)
    addresses = (
        *(a.ctypes.data for a in inputs),
        *(b.address for b in outputs),
        arena.address,
    )
    bound.program.run(*addresses)
    made = zip(sink.src, schedule.recipe.roots, strict=True)
    return [
        outputs[n].as_array(dt.to_numpy(root.dtype), numbers(root, variables))
        for root, n in made
    ]


# --- kernels ----------------------------------------------------------------------------------------------------------


def temporaries(built: Built, sizes: Mapping[str, Number]) -> list[Array]:
    """Memory between the launches of a kernel."""
    return [
        np.zeros(evaluate(source(count), sizes), dt.to_numpy(t))
        for t, count in built.temporaries
    ]


def run_trees(
    built: Built, arrays: Sequence[Array], sizes: Mapping[str, Number]
) -> None:
    """A kernel by the interpreter of loop trees."""
    between = temporaries(built, sizes)
    for launch in built.launches:
        run_tree(launch, [*arrays, *between], sizes)


def run_sources(
    built: Built,
    sources: Sequence[str],
    arrays: Sequence[Array],
    sizes: Mapping[str, Number],
    library: Library,
    pool: Pool,
) -> None:
    """A kernel by its LLVM IR; `built` says how it is called."""
    between = temporaries(built, sizes)
    builder = ProgramBuilder()
    for launch, text in zip(built.launches, sources, strict=True):
        arg = cast(KernelArg, launch.arg)
        functions = library.functions(
            sha256(f"{library.target.key()}\n{text}".encode()).hexdigest(),
            text.__str__,
        )
        pointers = [a.ctypes.data for a in (*arrays, *between)]
        scalars = [_word(variable, sizes) for variable in arg.sizes]
        chunks, scratch = (
            evaluate(source(n), sizes) for n in (arg.chunks, arg.scratch)
        )
        builder.run(
            functions[arg.name],
            [*pointers, *scalars],
            chunks=chunks,
            scratch=scratch,
        )
    builder.finish(pool).run()


def _word(variable: UOp, sizes: Mapping[str, Number]) -> int:
    name = cast(VarArg, variable.arg).name
    if name not in sizes:
        raise ArgumentError(
            f"the kernel has an argument {name}",
            given="no value",
            wanted=f"sizes={{{name!r}: n}}",
        )
    return word(variable.dtype.name, sizes[name])
