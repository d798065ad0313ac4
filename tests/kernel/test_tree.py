"""From nests to trees: launches, storage, partial tiles. Each schedule here once gave a wrong tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, LoopKind, Ops, Scope, StageArg
from ingot.kernel.moves import (
    bind,
    detach,
    edge,
    fuse,
    reorder,
    split,
    unroll,
    vector,
)
from ingot.kernel.nest import Edge, Kernel, Reduce
from ingot.kernel.reduction import hold, online, rfactor
from ingot.kernel.staging import compute_at, stage
from tests.kernel.execute import built, interpret, number
from tests.kernel.kernels import (
    SMALL,
    Small,
    argmax,
    by_numpy,
    column_sum,
    copy,
    full_sum,
    matmul_bias,
    softmax,
    transpose,
)
from tests.kernel.sketch import Sketch
from tests.kernel.test_moves import loads, shared_rows, value_of


def in_vectors(k: Kernel, loop: str, by: int) -> Kernel:
    k = split(k, loop, by, f"{loop}o", f"{loop}v")
    return edge(vector(k, f"{loop}v"), f"{loop}o", Edge.PEEL)


def wide_reader() -> Kernel:
    """A row staged in tiles of 4 and read in tiles of 16."""
    k = shared_rows(softmax())
    k = stage(k, "total", value_of(k, "total"), "i", "row")
    k = in_vectors(k, "row.sj", 4)
    k = split(k, "sj", 16, "so", "st")
    k = rfactor(k, "total", "st", name="lanes")
    return edge(vector(k, "st"), "so", Edge.PEEL)


def peeled_fill() -> Kernel:
    """The last tile of a staged operand is filled as far as it is read."""
    k = compute_at(matmul_bias(), "dot", "out", "j")
    k = split(split(k, "i", 4, "io", "ii"), "k", 3, "ko", "ki")
    k = reorder(k, "dot", "io", "j", "ko", "ki", "ii")
    k = reorder(k, "out", "io", "j", "ii")
    body = k.nest("dot").body
    assert isinstance(body, Reduce)
    k = stage(
        k, "dot", body.values[0].src[0], "io", "a", Scope.PACKED, ("ko", "ki", "ii")
    )
    return edge(vector(unroll(k, "a.ii"), "ii"), "io", Edge.PEEL)


def tiles_of_tiles() -> Kernel:
    """Tiles of 4 in vectors of 3: a full tile has a partial vector in it."""
    k = split(split(copy(), "i", 4, "o", "t"), "t", 3, "u", "v")
    return edge(vector(k, "v"), "o", Edge.PEEL)


def tiles_in_tiles() -> Kernel:
    """Pairs of vectors: a full pair may end in a partial vector."""
    k = split(vector(split(copy(), "i", 4, "o", "v"), "v"), "o", 2, "p", "q")
    return edge(k, "p", Edge.PEEL)


def another_extent() -> Kernel:
    """A tile's axis that is read at a loop's counter, but ends elsewhere, keeps a loop of its own."""
    k = split(transpose(), "j", 16, "jo", "jt")
    k = stage(k, "out", loads(k, "out"), None, "t")
    k = split(k, "jo", 2, "joo", "joi")
    k = reorder(k, "out", "joo", "joi", "jt", "i")
    return compute_at(k, "t", "out", "jt")


def begun_anew() -> Kernel:
    """A reduction whose loop is also run for a tile before it: its state begins in its own."""
    k = split(
        hold(compute_at(softmax(), "total", "out", "i"), "total", "acc"),
        "i",
        3,
        "io",
        "ii",
    )
    k = stage(k, "acc", loads(k, "acc"), "sj", "first", Scope.STACK)
    nodes = [u for e in k.nest("acc").expressions() for u in e.toposort()]
    second = next(u for u in nodes if u.op is Ops.EXP)
    return stage(k, "acc", second, "io", "second", Scope.STACK)


def own_lanes() -> Kernel:
    """A nest gets tiles of its own; they end where its own loop says."""
    k = vector(split(copy(), "i", 3, "o", "v"), "v")
    return split(detach(k, "out", "o", "d"), "d", 2, "dd", "di")


def lanes_outside() -> Kernel:
    """An unrolled loop outside the one that says where it ends, and a tile between the two."""
    k = unroll(split(column_sum(), "sj", 4, "so", "st"), "st")
    k = reorder(k, "total", "st", "so", "si")
    return stage(k, "total", loads(k, "total"), "st", "t")


def tuple_between_launches() -> Kernel:
    return bind(argmax(), "i", LoopKind.CHUNK)


def broadcast_tile() -> Kernel:
    """A tile that does not vary along one of two loops that become one."""
    s = Sketch("copies")
    m, n = s.sizes("m", "n")
    x, out = s.input(), s.output()
    c, i, j = s.loops(c=3, i=m, j=n)
    s.store("out", (c, i, j), out[(c * m + i) * n + j], x[i * n + j])
    k = s.kernel()
    k = stage(k, "out", loads(k, "out"), "i", "t")
    return bind(fuse(k, "c", "i", "row"), "row", LoopKind.CHUNK)


def online_in_lanes() -> Kernel:
    k = split(
        split(shared_rows(softmax()), "tj", 8, "tb", "tk"), "sj", 8, "sb", "sk"
    )
    k = online(k, ("top", "total"), ("tb", "sb"))
    for nest, loop in (("top.part", "tk"), ("total.part", "sk")):
        k = vector(split(k, loop, 4, f"{loop}u", f"{loop}v"), f"{loop}v")
        k = rfactor(k, nest, f"{loop}v", name=f"{nest}.lanes")
    return k


COPIES = Small(
    broadcast_tile,
    lambda z: [(z["m"], z["n"]), (3, z["m"], z["n"])],
    ({"m": 3, "n": 5}, {"m": 1, "n": 1}),
)
SCHEDULES: dict[str, tuple[str, Callable[[], Kernel]]] = {
    "a tile read in wider tiles": ("softmax", wide_reader),
    "the last tile of an operand": ("matmul_bias", peeled_fill),
    "vectors that do not divide a tile": ("copy", tiles_of_tiles),
    "pairs of vectors": ("copy", tiles_in_tiles),
    "loops of different extents": ("transpose", another_extent),
    "a loop that is run twice": ("softmax", begun_anew),
    "detached tiles": ("copy", own_lanes),
    "an unrolled loop outside": ("column_sum", lanes_outside),
    "a tuple between launches": ("argmax", tuple_between_launches),
    "a running maximum in lanes": ("softmax", online_in_lanes),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_tree_computes_what_the_nests_say(name: str) -> None:
    small, made = SMALL[SCHEDULES[name][0]], built(SCHEDULES[name][1]())
    for sizes in small.sizes:
        got = small.arguments(sizes)
        interpret(made, got, sizes)
        want = by_numpy(SCHEDULES[name][0], got)
        np.testing.assert_allclose(got[-1], want, rtol=1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_naive_nests_compute_what_numpy_does(name: str) -> None:
    for sizes in SMALL[name].sizes:
        got = SMALL[name].arguments(sizes)
        interpret(SMALL[name].kernel(), got, sizes)
        np.testing.assert_allclose(got[-1], by_numpy(name, got), rtol=1e-5)


def test_a_tile_without_one_of_the_fused_axes() -> None:
    for sizes in COPIES.sizes:
        x, out = COPIES.arguments(sizes)
        interpret(broadcast_tile(), [x, out], sizes)
        np.testing.assert_array_equal(out, np.broadcast_to(x, out.shape))


def test_a_row_that_begins_with_minus_infinity() -> None:
    """While nothing but -inf was seen, the running maximum must not be subtracted from itself."""
    sizes = {"m": 1, "n": 19}
    x, out = SMALL["softmax"].arguments(sizes)
    x[0, :9] = -np.inf
    interpret(online_in_lanes(), [x, out], sizes)
    e = np.exp(x - x.max())
    np.testing.assert_allclose(out, e / e.sum(), rtol=1e-6)


def test_a_nest_between_two_others() -> None:
    """Two nests in loops over the same axis are not in one loop if another nest runs between them."""
    s = Sketch("between")
    (n,) = s.sizes("n")
    x, middle, out = s.input(), s.output(), s.output()
    i, j = s.loops(i=n, j=n)
    kept = s.map("kept", (i,), x[i] * x[i])
    s.store("middle", (j,), middle[j], x[j])
    s.store("out", (i,), out[i], kept(i))
    given = np.arange(5, dtype=np.float32)
    buffers = [given, np.zeros_like(given), np.zeros_like(given)]
    interpret(s.kernel(), buffers, {"n": 5})
    np.testing.assert_array_equal(buffers[2], given * given)


# --- what a tree says of itself ---------------------------------------------------------------------------------------


def scratch_bytes(kernel: UOp, sizes: dict[str, int]) -> int:
    """PACKED stages one after another, each from a multiple of 64."""
    stages = [
        u
        for u in kernel.toposort()
        if u.op is Ops.STAGE and cast(StageArg, u.arg).scope is Scope.PACKED
    ]
    return sum(
        -(-number(u.src[0], sizes) * u.dtype.itemsize // 64) * 64 for u in stages
    )


def test_scratch_has_room_for_every_packed_stage() -> None:
    kernel = built(wide_reader()).launches[0]
    for sizes in SMALL["softmax"].sizes:
        declared = number(cast(KernelArg, kernel.arg).scratch, sizes)
        assert declared == scratch_bytes(kernel, dict(sizes)) > 0


def test_values_cross_from_launch_to_launch_in_temporaries() -> None:
    k = split(full_sum(), "i", 2, "chunk", "in")
    k = bind(
        detach(rfactor(k, "total", "chunk", name="part"), "total", "chunk", "rest"),
        "chunk",
        LoopKind.CHUNK,
    )
    made = built(k)
    assert len(made.launches) == 2
    ((dtype, count),) = made.temporaries
    assert (dtype, number(count, {"m": 7, "n": 5})) == (dt.float32, 4)
    first, second = (cast(KernelArg, launch.arg) for launch in made.launches)
    assert first.params == second.params
    assert first.sizes == second.sizes
    assert (
        number(first.chunks, {"m": 7, "n": 5}),
        number(second.chunks, {"m": 7, "n": 5}),
    ) == (4, 1)


def scopes(kernel: Kernel) -> dict[str, Scope]:
    args = [
        cast(StageArg, u.arg)
        for k in built(kernel).launches
        for u in k.toposort()
        if u.op is Ops.STAGE
    ]
    return {arg.name: arg.scope for arg in args}


def test_where_a_value_is_kept_follows_from_its_loops() -> None:
    """Alone in a loop: a register. A constant number: the stack. A run-time number: scratch."""
    assert scopes(shared_rows(softmax())) == {
        "top": Scope.REGISTER,
        "total": Scope.REGISTER,
    }
    assert scopes(softmax()) == {"top": Scope.PACKED, "total": Scope.PACKED}
    k = split(copy(), "i", 8, "o", "t")
    assert scopes(stage(k, "out", loads(k, "out"), "o", "tile")) == {
        "tile": Scope.PACKED
    }
    assert scopes(stage(k, "out", loads(k, "out"), "o", "tile", Scope.STACK)) == {
        "tile": Scope.STACK
    }
