"""Nodes: interning by bits, frozen, freed when dropped, safe between threads."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.node import UOp, arena, live_nodes
from ingot.ir.opcode import BufferArg, OpArg, Ops

X = UOp.variable("x", 0, 10)


def test_same_content_is_the_same_object() -> None:
    assert UOp.const(dt.float32, 1.5) is UOp.const(dt.float32, 1.5)
    assert X + 1 is X + 1
    assert X + 1 is not X + 2
    assert UOp.variable("x", 0, 10) is X


@pytest.mark.parametrize(
    ("dtype", "a", "b"),
    [
        (dt.float32, 0.0, -0.0),
        (dt.float32, -0.0, 0),
        (dt.float64, np.float64(0.0), np.float64(-0.0)),
        (dt.float32, np.float32(0.0), np.float32(-0.0)),
        (dt.float64, 1.0, 1.0000000000000002),
        (dt.int32, 0, 1),
        (dt.float16, 65504.0, 65536.0),
    ],
)
def test_constants_differ_by_bits(dtype: dt.DType, a: float, b: float) -> None:
    assert UOp.const(dtype, a) is not UOp.const(dtype, b)


def test_nan_is_itself_and_types_stay_apart() -> None:
    nan = float("nan")
    assert UOp.const(dt.float32, nan) is UOp.const(dt.float32, nan)
    ones = {
        UOp.const(dt.int32, 1),
        UOp.const(dt.boolean, True),
        UOp.const(dt.float32, 1.0),
        UOp.const(dt.index, 1),
    }
    assert len(ones) == 4


def test_constant_cache_tells_int_float_and_bool_apart() -> None:
    made = [
        UOp.const(dt.float64, 1),
        UOp.const(dt.float64, True),
        UOp.const(dt.float64, 1.0),
    ]
    assert made[0] is made[1] is made[2]
    assert UOp.const(dt.int8, 200).value == -56
    assert UOp.const(dt.uint8, -1).value == 255


def test_attributes_of_operations_compare_by_bits() -> None:
    zero, minus = OpArg("f", (("a", 0.0),)), OpArg("f", (("a", -0.0),))
    assert zero != minus
    assert OpArg("f", (("a", 1),)) != OpArg("f", (("a", True),))


def test_a_node_cannot_be_changed() -> None:
    node = X + 1
    with pytest.raises(AttributeError, match="frozen"):
        node.op = Ops.MUL
    with pytest.raises(AttributeError, match="frozen"):
        setattr(node, "extra", 1)  # noqa: B010
    with pytest.raises(AttributeError, match="frozen"):
        del node.src
    assert node.op is Ops.ADD


def test_replace_keeps_the_tag() -> None:
    tagged = (X + 1).rtag("seen")
    assert tagged is not X + 1
    assert tagged.replace(src=(X, X)).tag == "seen"
    assert tagged.replace(tag=None) is X + 1
    assert (X + 1).rtag().tag is True


def test_dropped_graphs_are_freed() -> None:
    gc.collect()
    before = live_nodes()
    graph = X
    for k in range(100):
        graph = graph * 3 + k + 1000
    ref = weakref.ref(graph)
    assert live_nodes() > before + 100
    del graph
    gc.collect()
    assert ref() is None
    assert live_nodes() == before


def test_a_deep_graph_is_freed_without_recursion() -> None:
    gc.collect()
    before = live_nodes()
    graph = X
    for _ in range(150_000):
        graph = UOp(Ops.NEG, dt.index, (graph,))
    assert len(graph.toposort()) == 150_001
    del graph
    gc.collect()
    assert live_nodes() == before


def test_an_arena_is_thrown_away_whole() -> None:
    before = live_nodes()
    with arena():
        one = UOp.const(dt.index, 12345) + 1
        assert one is UOp.const(dt.index, 12345) + 1
        ref = weakref.ref(one)
        assert live_nodes() == before
    del one
    gc.collect()
    assert ref() is None


def test_arenas_nest_and_do_not_share() -> None:
    with arena():
        outer = UOp.const(dt.index, 7)
        with arena():
            assert UOp.const(dt.index, 7) is not outer
        assert UOp.const(dt.index, 7) is outer


def test_threads_make_one_node() -> None:
    """Eight threads intern the same fresh graphs at once, again and again; dropped nodes die in between."""
    start = threading.Barrier(8)
    found: list[list[UOp]] = [[] for _ in range(8)]

    def build(me: int) -> None:
        for turn in range(60):
            start.wait()
            graph = X
            for k in range(40):
                graph = graph + (turn * 1000 + k)
            found[me].append(graph)

    threads = [threading.Thread(target=build, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for turn in range(60):
        assert len({row[turn] for row in found}) == 1


def test_threads_that_drop_and_make_the_same_nodes() -> None:
    wrong: list[str] = []

    def churn() -> None:
        for k in range(3000):
            node = UOp(Ops.BUFFER, dt.float32, (), BufferArg(k % 7))
            if node is not UOp(Ops.BUFFER, dt.float32, (), BufferArg(k % 7)):
                wrong.append(f"two live nodes for {k % 7}")
            del node

    threads = [threading.Thread(target=churn) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_pickle_gives_the_same_node() -> None:
    node = (X * 3 + 1).cast(dt.int32)
    assert pickle.loads(pickle.dumps(node)) is node


def test_digest_depends_on_content_alone() -> None:
    source = "from ingot.ir.node import UOp; x = UOp.variable('x', 0, 10); print((x * 3 + 1).digest.hex())"
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        cwd=root,
        check=True,
    )
    assert done.stdout.strip() == (X * 3 + 1).digest.hex()
    assert (X * 3 + 1).digest != (X * 3 + 2).digest


def test_bind_and_unbind() -> None:
    bound = X.bind(3)
    assert bound.unbind() == (X, 3)
    assert bound.bounds == (3, 3)
    with pytest.raises(ValueError, match=r"outside 0\.\.10"):
        X.bind(11)
    with pytest.raises(ValueError, match="only a variable"):
        bound.bind(1)
    with pytest.raises(ValueError, match="unbind wants"):
        X.unbind()


def test_variables_are_found_by_name() -> None:
    y = UOp.variable("a", 1, 5)
    assert (X + y * X).variables() == [y, X]


def test_toposort_and_slice() -> None:
    node = (X + 1) * (X + 1)
    order = list(node.toposort())
    assert order[-1] is node
    assert all(order.index(s) < order.index(u) for u in order for s in u.src)
    assert node not in node.backward_slice
    assert X in node.backward_slice
    assert list(node.toposort(gate=lambda u: u is node)) == [X + 1, node]


def test_buf_uop_walks_to_the_buffer() -> None:
    size = UOp.const(dt.index, 4)
    buffer = UOp(Ops.BUFFER, dt.float32, (size,), BufferArg(990_001))
    written = UOp(Ops.ASSIGN, dt.float32, (buffer, buffer))
    after = UOp(Ops.AFTER, dt.float32, (buffer, written))
    assert after.buf_uop is buffer
    assert UOp(Ops.RESHAPE, dt.float32, (after, size)).buf_uop is buffer
    with pytest.raises(RuntimeError, match="not a view"):
        _ = (X + 1).buf_uop


def test_sizes_are_symbolic() -> None:
    n = UOp.variable("n", 1, 64)
    x = UOp(Ops.PARAM, dt.float32, (n, UOp.const(dt.index, 3)))
    assert x.shape == (n, 3)
    assert UOp(Ops.NEG, dt.float32, (x,)).shape == (n, 3)


@pytest.mark.parametrize(
    ("node", "bounds"),
    [
        (X + 5, (5, 15)),
        (X - X * 2, (-20, 10)),
        (X * -3, (-30, 0)),
        (X // 4, (0, 2)),
        (X % 4, (0, 3)),
        (X % 100, (0, 10)),
        (X.minimum(3), (0, 3)),
        (X.maximum(3), (3, 10)),
        (-X, (-10, 0)),
        (X < 11, (1, 1)),
        (X < 0, (0, 0)),
        (UOp.const(dt.int8, 127) + UOp.const(dt.int8, 1), (-128, 127)),
    ],
)
def test_bounds(node: UOp, bounds: tuple[int, int]) -> None:
    assert node.bounds == bounds


def test_bounds_of_a_deep_graph() -> None:
    graph = X
    for _ in range(50_000):
        graph = graph + 1
    assert graph.vmax == 50_010
