"""Moves that are not legal say so, in words that tell what to do instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ingot.errors import MoveError
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.kernel.moves import (
    bind,
    detach,
    edge,
    fuse,
    group,
    reorder,
    split,
    unroll,
    vector,
)
from ingot.kernel.nest import Edge, Kernel
from ingot.kernel.pipeline import pipeline
from ingot.kernel.reduction import hold, online, rfactor
from ingot.kernel.specialise import at_most, multiple_of, predicate
from ingot.kernel.staging import compute_at, layout, share, stage
from ingot.kernel.tree import build
from tests.kernel.kernels import (
    argmax,
    column_sum,
    copy,
    full_sum,
    matmul_bias,
    softmax,
    transpose,
)
from tests.kernel.sketch import Sketch
from tests.kernel.test_moves import (
    loads,
    shared_rows,
    squares,
    staged_rows,
    tiled,
    two_copies,
    value_of,
)


def read_back() -> Kernel:
    """A nest that reads what another one stores."""
    s = Sketch("read_back")
    (n,) = s.sizes("n")
    x, out, twice = s.input(), s.output(), s.output()
    i, j = s.loops(i=n, j=n)
    s.store("out", (i,), out[i], x[i])
    s.store("twice", (j,), twice[j], out[j] + out[j])
    return s.kernel()


def row_sums() -> Kernel:
    s = Sketch("row_sums")
    m, n = s.sizes("m", "n")
    x, out = s.input(), s.output()
    i, k = s.loops(i=m, k=n)
    total = s.sum("total", (i,), (k,), x[i * n + k])
    s.store("out", (i,), out[i], total(i))
    return s.kernel()


def chunks(kernel: Kernel, *names: str) -> Kernel:
    for name in names:
        kernel = bind(kernel, name, LoopKind.CHUNK)
    return kernel


def running() -> Kernel:
    return online(shared_rows(softmax()), ("top", "total"), ("tj", "sj"))


def state_of(kernel: Kernel, nest: str) -> UOp:
    nodes = [u for e in kernel.nest(nest).expressions() for u in e.toposort()]
    return next(
        u
        for u in nodes
        if u.op is Ops.MUL and any(s.op is Ops.STATE for s in u.src)
    )


def scores_of(kernel: Kernel) -> Kernel:
    return stage(kernel, "total", value_of(kernel, "total"), None, "t")


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "reorder: not a permutation": (
        lambda: reorder(transpose(), "out", "i", "i"),
        r"reorder out: given loops \['i', 'i'\], wanted a permutation of \['i', 'j'\]",
    ),
    "reorder: an extent that is not known yet": (
        lambda: reorder(tiled(copy()), "out", "ii", "io"),
        "the extent of loop ii depends on a loop inside it; keep its outer tile outside",
    ),
    "vector: a run-time extent": (
        lambda: vector(copy(), "i"),
        "vector: loop i has a run-time extent; split it by a constant and vector the inner loop",
    ),
    "unroll: a run-time extent": (
        lambda: unroll(copy(), "i"),
        "unroll: loop i has a run-time extent",
    ),
    "bind: a reduction over the loop": (
        lambda: bind(full_sum(), "i", LoopKind.CHUNK),
        "bind i to chunk: total reduces over it; rfactor it first",
    ),
    "bind: a peeled loop": (
        lambda: bind(
            edge(vector(tiled(copy()), "ii"), "io", Edge.PEEL), "io", LoopKind.CHUNK
        ),
        "bind io to chunk: its last tile is peeled",
    ),
    "edge: a loop that is not unrolled": (
        lambda: edge(tiled(copy()), "ii", Edge.CLAMP),
        "edge: ii is loop; clamp unrolled loops",
    ),
    "edge: a loop of many threads": (
        lambda: edge(bind(tiled(copy()), "io", LoopKind.CHUNK), "io", Edge.PEEL),
        "edge: loop io is bound to chunk",
    ),
    "stage: a value that is not there": (
        lambda: stage(copy(), "out", UOp.axis(99), None, "t"),
        "stage t: the value does not occur in nest out",
    ),
    "stage: a loop that is not there": (
        lambda: stage(softmax(), "out", loads(softmax(), "out"), "ti", "t"),
        r"nest out has no loop ti; it has \['i', 'j'\]",
    ),
    "stage: a layout of other loops": (
        lambda: stage(
            transpose(),
            "out",
            loads(transpose(), "out"),
            None,
            "t",
            Scope.PACKED,
            ("i",),
        ),
        r"stage: layout \('i',\) must name the loops \['i', 'j'\], each once",
    ),
    "stage: part of a running state": (
        lambda: stage(running(), "total", state_of(running(), "total"), "i", "t"),
        "stage t: the value is part of the running state of total",
    ),
    "compute_at: another nest inside": (
        lambda: compute_at(
            stage(matmul_bias(), "dot", loads(matmul_bias(), "dot"), "di", "t"),
            "dot",
            "out",
            "j",
        ),
        "compute_at dot: t is inside its loops; compute it at out before that",
    ),
    "share: what is not staged": (
        lambda: share(softmax(), "top", "out", "j", "tj"),
        "share: top is not a staged value",
    ),
    "share: a value that is not there": (
        lambda: share(scores_of(shared_rows(softmax())), "t", "out", "i", "t.sj"),
        "share: what t holds does not occur in out",
    ),
    "share: before it is filled": (
        lambda: share(scores_of(shared_rows(softmax())), "t", "top", "tj", "t.sj"),
        "share: top does not run after t",
    ),
    "group: a value of another launch": (
        lambda: group(chunks(read_back(), "i", "j")),
        "group: twice reads what out writes; they must stay two launches",
    ),
    "fuse: not next to each other": (
        lambda: fuse(softmax(), "i", "tj", "c"),
        "fuse: nest top does not have tj directly inside i",
    ),
    "fuse: an extent that changes": (
        lambda: fuse(tiled(copy()), "io", "ii", "c"),
        "fuse: the extent of ii depends on other loops",
    ),
    "detach: a loop that is not there": (
        lambda: detach(softmax(), "out", "ti", "d"),
        "detach: nest out has no loop ti",
    ),
    "detach: a loop that others end by": (
        lambda: detach(split(row_sums(), "i", 4, "io", "ii"), "out", "io", "d"),
        r"detach io: the extents of \['ii'\] depend on it, and other nests share them; detach those first",
    ),
    "layout: not a permutation": (
        lambda: layout(
            stage(transpose(), "out", loads(transpose(), "out"), None, "t"),
            "t",
            "t.i",
        ),
        r"layout t: given \['t.i'\], wanted a permutation of \['t.i', 't.j'\]",
    ),
    "rfactor: all of the loops": (
        lambda: rfactor(full_sum(), "total", "i", "j", name="part"),
        r"rfactor total: given \['i', 'j'\], wanted some, not all, of the reduced loops \['i', 'j'\]",
    ),
    "rfactor: no reduction": (
        lambda: rfactor(transpose(), "out", "i", name="part"),
        "out is not a reduction",
    ),
    "rfactor: a running reduction": (
        lambda: rfactor(
            split(running(), "tj", 4, "to", "tt"), "total", "tt", name="part"
        ),
        "rfactor total: it is a running reduction",
    ),
    "hold: a tuple": (
        lambda: hold(argmax(), "best", "acc"),
        "hold best: wanted a reduction of one value, it has 2",
    ),
    "hold: a running reduction": (
        lambda: hold(running(), "top", "acc"),
        "hold top: it is a running reduction",
    ),
    "online: other loops": (
        lambda: online(
            split(shared_rows(softmax()), "sj", 4, "so", "st"),
            ("top", "total"),
            ("tj", "so"),
        ),
        r"online: loops \('tj', 'so'\) differ in extent",
    ),
    "online: apart from its readers": (
        lambda: online(softmax(), ("top", "total"), ("tj", "sj")),
        "online: top is not read in the loops that it is in",
    ),
    "online: twice": (
        lambda: online(running(), ("top", "total"), ("tj", "tj")),
        "online: top is not read|running reduction",
    ),
    "pipeline: what is not staged": (
        lambda: pipeline(softmax(), "top"),
        "pipeline: top is not a staged value",
    ),
    "pipeline: one tile": (
        lambda: pipeline(staged_rows(row_sums()), "t", 1),
        "pipeline t: given depth 1, wanted 2 or more",
    ),
    "pipeline: no loop around": (
        lambda: pipeline(squares(), "kept"),
        "pipeline kept: it shares no loop that runs in order with its readers",
    ),
    "pipeline: the same in every iteration": (
        lambda: pipeline(
            stage(matmul_bias(), "dot", loads(matmul_bias(), "dot", 1), "di", "t"),
            "t",
        ),
        "pipeline t: its value is the same in every iteration of di",
    ),
    "multiple_of: not a size": (
        lambda: multiple_of(copy(), UOp.axis(0), 4),
        "is not a size argument",
    ),
    "at_most: an extent that changes": (
        lambda: at_most(tiled(copy()), "ii", 4),
        "at_most: the extent of ii changes while the kernel runs",
    ),
    "predicate: a run-time capacity": (
        lambda: predicate(copy(), "i"),
        "predicate: loop i has no constant capacity; split it first or limit it with at_most",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_illegal_move_is_refused(name: str) -> None:
    attempt, message = REFUSED[name]
    with pytest.raises(MoveError, match=message):
        attempt()


# What only the finished schedule shows: later moves could still have made it legal.
UNFINISHED: dict[str, tuple[Callable[[], Kernel], str]] = {
    "a loop inside a vector": (
        lambda: reorder(
            vector(split(transpose(), "j", 4, "jo", "jv"), "jv"),
            "out",
            "jo",
            "jv",
            "i",
        ),
        "i is inside the vector jv; reorder the two",
    ),
    "two chunk loops": (
        lambda: chunks(transpose(), "i", "j"),
        "j is bound to chunks, but is inside i; fuse the two",
    ),
    "lanes that end where an inner loop says": (
        lambda: rfactor(
            split(column_sum(), "si", 4, "so", "st"), "total", "st", name="part"
        ),
        "st ends where so says, but is not inside it; unroll it or make it a vector",
    ),
    "everything added again": (
        lambda: reorder(
            compute_at(softmax(), "total", "out", "j"), "total", "i", "sj", "j"
        ),
        "total would add everything again in each iteration of j; reorder it outside",
    ),
    "a running reduction taken apart": (
        lambda: stage(
            running(), "total.part", loads(running(), "total.part"), "i", "t"
        ),
        "but runs in another loop over it|before it runs",
    ),
    "another nest in between": (
        lambda: compute_at(softmax(), "top", "out", "i"),
        "out reads top of the same iteration of i, but runs in another loop over it",
    ),
    "a vector and a loop in one reduction": (
        lambda: vector(split(full_sum(), "j", 4, "jo", "jv"), "jv"),
        "total reduces over a vector loop together with others; rfactor the vector loop first",
    ),
    "a pipeline whose loop has gone": (
        lambda: split(
            pipeline(staged_rows(row_sums()), "t"), "ko", 2, "koo", "koi"
        ),
        "t runs ahead in a loop that it shares no more; change that loop before pipeline",
    ),
}


@pytest.mark.parametrize("name", UNFINISHED)
def test_an_unfinished_schedule_is_refused(name: str) -> None:
    attempt, message = UNFINISHED[name]
    moved = attempt()
    with pytest.raises(MoveError, match=message):
        build(moved)


def test_names_that_are_not_there_list_those_that_are() -> None:
    with pytest.raises(
        KeyError, match=r"0 nests are called 'x' in copy; there are \['out'\]"
    ):
        copy().nest("x")
    with pytest.raises(
        KeyError, match=r"0 loops are called 'x' in copy; there are \['i'\]"
    ):
        copy().loop("x")


def test_two_launches_write_what_one_cannot() -> None:
    """group() is refused only because of the reads: the same kernel is legal as two launches."""
    assert len(build(chunks(read_back(), "i", "j")).launches) == 2
    assert len(build(group(chunks(two_copies(), "i", "j"))).launches) == 1
