"""A tour: one expression through every level of the compiler, from what you write to what the machine runs.

    python docs/tour.py

Each step prints what the compiler has made of `relu(x @ w + b)` by then, and runs it, so that every level is seen to
compute the same. The stages are those of `ingot/pipeline/stages.py`; `ingot show EXPR --stage NAME` prints one of them.
"""

import numpy as np

import ingot as ig
from ingot.ir.interpret import interpret
from ingot.ir.opcode import Ops
from ingot.ops.lower import lower
from ingot.pipeline import stages
from ingot.pipeline.host import evaluate, source
from ingot.pipeline.normalise import normalise
from ingot.pipeline.run_from import run_sources, run_trees
from ingot.pipeline.session import session
from ingot.target import host

LINES = 24  # of each level: a tour shows the shape of things, not every line


def title(text: str) -> None:
    print(f"\n{'=' * 100}\n{text}\n")


def show(text: str) -> None:
    lines = text.splitlines()
    print(*lines[:LINES], sep="\n")
    if len(lines) > LINES:
        print(f"... and {len(lines) - LINES} lines more")


def agrees(got: object, level: str) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    print(f"\n-> {level} computes what NumPy does")


# --- 1. What you write ----------------------------------------------------------------------------------------------

title(
    "1. The expression. Nothing is computed yet: a tensor is a handle on a node of a graph."
)

rng = np.random.default_rng(0)
a, c, d = (
    rng.standard_normal(shape).astype(np.float32)
    for shape in ((6, 20), (20, 40), (40,))
)
wanted = np.maximum(a.astype(np.float64) @ c + d, 0)
x, w, b = ig.from_numpy(a), ig.from_numpy(c), ig.from_numpy(d)
y = ig.relu(x @ w + b)
print("y = ig.relu(x @ w + b)   ", y.shape, y.dtype)

# --- 2. The program -------------------------------------------------------------------------------------------------

title(
    "2. The program graph. It keeps the operations that you wrote; buffers are numbered, so that all calls share it."
)

program, particulars = normalise([y.uop])
work = stages.Work(host())
show(stages.PROGRAM.text(stages.PROGRAM(program, work)))
params = {u: (a, c, d)[u.arg.slot] for u in program.toposort() if u.op is Ops.PARAM}
agrees(
    interpret(program, params, lower=lower)[0],
    "the program graph, by the interpreter,",
)

# --- 3. Primitives --------------------------------------------------------------------------------------------------

title(
    "3. The primitive graph. matmul is a product and a sum over its last axis; relu is a maximum."
)

lowered = stages.LOWER(program, work)
show(stages.LOWER.text(lowered))
agrees(interpret(lowered, params)[0], "the primitive graph")

# --- 4. Kernels -----------------------------------------------------------------------------------------------------

title(
    "4. Fusion. Movement is gone into index arithmetic; all of it is one kernel of two nests."
)

fusion = stages.FUSE(lowered, work)
(draft,) = fusion.drafts
show(stages.FUSE.text(fusion))
inputs = [params[u] for u in draft.buffers if u in params]


def run(built: stages.Built, sizes: dict[str, int | float]) -> np.ndarray:
    """Loop trees by their interpreter."""
    out = np.zeros((6, 40), np.float32)
    run_trees(built, [*inputs, out], sizes)
    return out


agrees(run(stages.build(draft.kernel), {}), "the kernel, as plain loops,")

# --- 5. A family ----------------------------------------------------------------------------------------------------

title(
    "5. The family. Sizes, strides and numbers become arguments: another shape is the same kernel."
)

family = stages.FAMILY(draft, work)
show(stages.FAMILY.text(family))
sizes = {variable.arg.name: value for variable, value in family.values.items()}

# --- 6. Moves -------------------------------------------------------------------------------------------------------

title(
    "6. Moves. Each rewrites the kernel into an equal one that runs otherwise; together they make it fast."
)

plan = stages.MOVES(family, work)
show("\n".join(plan.kernel.moves))
for variable, value in plan.extra.items():
    sizes[variable.arg.name] = evaluate(source(value), sizes)

# --- 7. Loop trees --------------------------------------------------------------------------------------------------

title(
    "7. Loop trees, one for each launch. Vectors and register tiles are loops with a kind."
)

built = stages.TREE(plan, work)
show(stages.TREE.text(built))
agrees(run(built, sizes), "the loop tree")
text = stages.TREE.text(built, exact=True)
assert stages.built_from_text(text).launches == built.launches
print(
    f"   and its exact text ({len(text.splitlines())} lines of Python) rebuilds it"
)

# --- 8. Machine operations ------------------------------------------------------------------------------------------

title(
    "8. Decomposed: only what the machine can do. (This expression has nothing to take apart; exp would be.)"
)

simple = stages.DECOMPOSE(built, work)
agrees(run(simple, sizes), "the decomposed tree")

# --- 9. Source ------------------------------------------------------------------------------------------------------

title(
    "9. Source: LLVM IR of the last launch. C and CUDA C are written from the same trees."
)

sources = stages.SOURCE(simple, work)
show(sources[-1])
for language in ("c", "cuda"):
    other = stages.Work(host(), language=language)
    print(
        f"\nIn {language}: {len(stages.dump(program, 'source', other).splitlines())} lines"
    )

# --- 10. Assembly ---------------------------------------------------------------------------------------------------

title("10. Assembly: the first fused multiply-adds.")

lines = stages.ASSEMBLY(sources, work)[-1].splitlines()
show("\n".join(line for line in lines if "fma" in line or "fmla" in line))

# --- 11. Running ----------------------------------------------------------------------------------------------------

title(
    "11. Machine code. This is what y.numpy() does: it is kept on disk, and the next process compiles nothing."
)

out = np.zeros((6, 40), np.float32)
run_sources(
    simple, sources, [*inputs, out], sizes, session.forge().library, session.pool()
)
agrees(out, "the machine code")
agrees(y.numpy(), "y.numpy()")
