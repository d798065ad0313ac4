"""Every move as its docstring draws it: the loops before, the move, the loops after; and both compute the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent

import numpy as np
import pytest

from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.ir.text import tree_text
from ingot.kernel.moves import (
    bind,
    detach,
    edge,
    fuse,
    group,
    reorder,
    split,
    uncached,
    unroll,
    vector,
)
from ingot.kernel.nest import Edge, Kernel, Reduce
from ingot.kernel.pipeline import pipeline
from ingot.kernel.reduction import hold, online, rfactor
from ingot.kernel.specialise import at_most, equal_to, multiple_of, predicate
from ingot.kernel.staging import compute_at, layout, share, stage
from ingot.kernel.tree import build
from tests.kernel.execute import built, interpret
from tests.kernel.kernels import SMALL, Small
from tests.kernel.sketch import Sketch


def loops(kernel: Kernel) -> str:
    """The statements of all launches, without their interfaces."""
    parts = [
        tree_text(launch).partition("\n")[2] for launch in build(kernel).launches
    ]
    return "\n--\n".join(dedent(part) for part in parts)


def loads(kernel: Kernel, nest: str, slot: int = 0) -> UOp:
    """The load of one argument in a nest."""
    nodes = [u for e in kernel.nest(nest).expressions() for u in e.toposort()]
    return next(
        u
        for u in nodes
        if u.op is Ops.LOAD and u.src[0].arg == kernel.params[slot].arg
    )


def value_of(kernel: Kernel, nest: str) -> UOp:
    body = kernel.nest(nest).body
    assert isinstance(body, Reduce)
    return body.values[0]


# --- kernels of one idea ----------------------------------------------------------------------------------------------


def two_copies() -> Kernel:
    s = Sketch("two_copies")
    m, n = s.sizes("m", "n")
    x, y, first, second = s.input(), s.input(), s.output(), s.output()
    (i,) = s.loops(i=m)
    s.store("first", (i,), first[i], x[i])
    (j,) = s.loops(j=n)
    s.store("second", (j,), second[j], y[j])
    return s.kernel()


def squares() -> Kernel:
    """A value kept between two loops."""
    s = Sketch("squares")
    (n,) = s.sizes("n")
    x, out = s.input(), s.output()
    (i,) = s.loops(i=n)
    kept = s.map("kept", (i,), x[i] * x[i])
    (j,) = s.loops(j=n)
    s.store("out", (j,), out[j], kept(j) + x[j])
    return s.kernel()


def row_sums() -> Kernel:
    """Sums of rows, each read in the same loop."""
    s = Sketch("row_sums")
    m, n = s.sizes("m", "n")
    x, out = s.input(), s.output()
    i, k = s.loops(i=m, k=n)
    total = s.sum("total", (i,), (k,), x[i * n + k])
    s.store("out", (i,), out[i], total(i))
    return s.kernel()


def one_row(kernel: Callable[[], Kernel]) -> Small:
    return Small(
        kernel, lambda z: [(z["n"],), (z["n"],)], ({"n": 0}, {"n": 3}, {"n": 9})
    )


SIMPLE = {
    **SMALL,
    "two_copies": Small(
        two_copies,
        lambda z: [(z["m"],), (z["n"],), (z["m"],), (z["n"],)],
        ({"m": 5, "n": 9}, {"m": 0, "n": 3}, {"m": 8, "n": 1}),
        ("float32", "float32"),
    ),
    "squares": one_row(squares),
    "row_sums": Small(
        row_sums,
        lambda z: [(z["m"], z["n"]), (z["m"],)],
        ({"m": 3, "n": 5}, {"m": 4, "n": 16}),
    ),
}


@dataclass(frozen=True)
class Drawn:
    """A move on a kernel, and the loops that it gives; `fits` says which sizes its guards let in."""

    kernel: str
    move: Callable[[Kernel], Kernel]
    after: str
    fits: Callable[[dict[str, int]], bool] = lambda sizes: True


def tiled(kernel: Kernel) -> Kernel:
    return split(kernel, "i", 4, "io", "ii")


def shared_rows(kernel: Kernel) -> Kernel:
    """softmax with its nests in one loop over rows."""
    return compute_at(compute_at(kernel, "total", "out", "i"), "top", "out", "i")


def staged_rows(kernel: Kernel) -> Kernel:
    kernel = split(kernel, "k", 4, "ko", "ki")
    return stage(kernel, "total", value_of(kernel, "total"), "ko", "t", Scope.STACK)


def rows_and_columns(kernel: Kernel) -> Kernel:
    """argmax with 4 columns at a time."""
    kernel = split(compute_at(kernel, "best", "out", "i"), "rj", 4, "ro", "rv")
    return unroll(kernel, "rv")


MOVES: dict[str, Drawn] = {
    "split": Drawn(
        "copy",
        tiled,
        """\
        for io in range((n + 3)//4):
          for ii in range(min(4, n - io*4)):
            p1[io*4 + ii] = p0[io*4 + ii]""",
    ),
    "reorder": Drawn(
        "transpose",
        lambda k: reorder(k, "out", "j", "i"),
        """\
        for j in range(n):
          for i in range(m):
            p1[i*n + j] = p0[j*m + i]""",
    ),
    "vector": Drawn(
        "copy",
        lambda k: vector(tiled(k), "ii"),
        """\
        for io in range((n + 3)//4):
          for ii in range(4):  # vector
            p1[io*4 + ii] = (p0[io*4 + ii] if ii < min(4, n - io*4) else 0.0) if ii < min(4, n - io*4)""",
    ),
    "unroll": Drawn(
        "copy",
        lambda k: unroll(tiled(k), "ii"),
        """\
        for io in range((n + 3)//4):
          for ii in range(4):  # unroll
            p1[io*4 + ii] = (p0[io*4 + ii] if ii < min(4, n - io*4) else 0.0) if ii < min(4, n - io*4)""",
    ),
    "bind": Drawn(
        "copy",
        lambda k: bind(tiled(k), "io", LoopKind.CHUNK),
        """\
        for io in range((n + 3)//4):  # chunk
          for ii in range(min(4, n - io*4)):
            p1[io*4 + ii] = p0[io*4 + ii]""",
    ),
    "edge that clamps": Drawn(
        "copy",
        lambda k: edge(unroll(tiled(k), "ii"), "ii", Edge.CLAMP),
        """\
        for io in range((n + 3)//4):
          for ii in range(4):  # unroll
            p1[io*4 + ii] = p0[io*4 + min(ii, min(4, n - io*4) - 1)] if ii < min(4, n - io*4)""",
    ),
    "uncached": Drawn(
        "copy",
        lambda k: uncached(k, "out"),
        """\
        for i in range(n):
          p1[i] = p0[i]""",
    ),
    "equal_to": Drawn(
        "copy",
        lambda k: equal_to(k, k.loop("i").extent, 13),
        """\
        for i in range(13):
          p1[i] = p0[i]""",
        fits=lambda sizes: sizes["n"] == 13,
    ),
    "edge": Drawn(
        "copy",
        lambda k: edge(vector(tiled(k), "ii"), "io", Edge.PEEL),
        """\
        for io in range(n//4):
          for ii in range(4):  # vector
            p1[io*4 + ii] = p0[io*4 + ii]
        if n//4 < (n + 3)//4:
          for ii in range(4):  # vector
            p1[n//4*4 + ii] = (p0[n//4*4 + ii] if ii < min(4, n - n//4*4) else 0.0) if ii < min(4, n - n//4*4)""",
    ),
    "edge of an unrolled loop": Drawn(
        "copy",
        lambda k: edge(unroll(tiled(k), "ii"), "io", Edge.PEEL),
        """\
        for io in range(n//4):
          for ii in range(4):  # unroll
            p1[io*4 + ii] = p0[io*4 + ii]
        if n//4 < (n + 3)//4:
          for ii_rest in range(min(4, n - n//4*4)):
            p1[n//4*4 + ii_rest] = p0[n//4*4 + ii_rest]""",
    ),
    "stage": Drawn(
        "row_sums",
        staged_rows,
        """\
        for i in range(m):
          total0 = f32[1]  # register
          total0[0] = 0.0
          for ko in range((n + 3)//4):
            t32 = f32[4]  # stack
            for t.ki in range(min(4, n - ko*4)):
              t32[t.ki] = p0[i*n + (ko*4 + t.ki)]
            for ki in range(min(4, n - ko*4)):
              total0[0] = total0[0] + t32[ki]
          p1[i] = total0[0]""",
    ),
    "stage of everything": Drawn(
        "transpose",
        lambda k: stage(
            k, "out", loads(k, "out"), None, "t", Scope.PACKED, ("j", "i")
        ),
        """\
        t16 = f32[m*n]  # packed
        for t.j in range(n):
          for t.i in range(m):
            t16[t.j*m + t.i] = p0[t.j*m + t.i]
        for i in range(m):
          for j in range(n):
            p1[i*n + j] = t16[j*m + i]""",
    ),
    "stage with padded rows": Drawn(
        "transpose",
        lambda k: stage(
            k,
            "out",
            loads(k, "out"),
            None,
            "t",
            Scope.PACKED,
            ("j", "i"),
            pad=(0, 1),
        ),
        """\
        t16 = f32[m*n + n]  # packed
        for t.j in range(n):
          for t.i in range(m):
            t16[t.j*m + t.j + t.i] = p0[t.j*m + t.i]
        for i in range(m):
          for j in range(n):
            p1[i*n + j] = t16[j*m + i + j]""",
    ),
    "share": Drawn(
        "squares",
        lambda k: share(
            stage(k, "kept", loads(k, "kept"), None, "t"), "t", "out", "j", "t.i"
        ),
        """\
        kept0 = f32[n]  # packed
        t32 = f32[n]  # packed
        for t.i in range(n):
          t32[t.i] = p0[t.i]
        for i in range(n):
          kept0[i] = t32[i]*t32[i]
        for j in range(n):
          p1[j] = kept0[j] + t32[j]""",
    ),
    "compute_at": Drawn(
        "squares",
        lambda k: compute_at(k, "kept", "out", "j"),
        """\
        for j in range(n):
          kept0 = f32[1]  # register
          kept0[0] = p0[j]*p0[j]
          p1[j] = kept0[0] + p0[j]""",
    ),
    "detach": Drawn(
        "row_sums",
        lambda k: detach(k, "out", "i", "d"),
        """\
        total0 = f32[m]  # packed
        for i in range(m):
          total0[i] = 0.0
          for k in range(n):
            total0[i] = total0[i] + p0[i*n + k]
        for d in range(m):
          p1[d] = total0[d]""",
    ),
    "fuse": Drawn(
        "transpose",
        lambda k: fuse(k, "i", "j", "c"),
        """\
        for c in range(m*n):
          p1[c//n*n + c%n] = p0[c%n*m + c//n]""",
    ),
    "layout": Drawn(
        "transpose",
        lambda k: layout(
            stage(k, "out", loads(k, "out"), None, "t"), "t", "t.j", "t.i"
        ),
        """\
        t16 = f32[m*n]  # packed
        for t.i in range(m):
          for t.j in range(n):
            t16[t.j*m + t.i] = p0[t.j*m + t.i]
        for i in range(m):
          for j in range(n):
            p1[i*n + j] = t16[j*m + i]""",
    ),
    "group": Drawn(
        "two_copies",
        lambda k: group(bind(bind(k, "i", LoopKind.CHUNK), "j", LoopKind.CHUNK)),
        """\
        for chunk in range(m + n):  # chunk
          if chunk < m:
            p2[chunk] = p0[chunk]
          if (m < chunk + 1) & (chunk < m + n):
            p3[chunk - m] = p1[chunk - m]""",
    ),
    "rfactor": Drawn(
        "full_sum",
        lambda k: rfactor(k, "total", "j", name="part"),
        """\
        total0 = f32[1]  # register
        part32 = f32[n]  # packed
        for j in range(n):
          part32[j] = 0.0
        for i in range(m):
          for j in range(n):
            part32[j] = part32[j] + p0[i*n + j]
        total0[0] = 0.0
        for j in range(n):
          total0[0] = total0[0] + part32[j]
        p1[0] = total0[0]""",
    ),
    "rfactor of a tuple": Drawn(
        "argmax",
        lambda k: rfactor(rows_and_columns(k), "best", "rv", name="part"),
        """\
        for i in range(m):
          best00 = f32[1]  # register
          best11 = i64[1]  # register
          best0_next8 = f32[1]  # register
          best1_next9 = i64[1]  # register
          part032 = f32[4]  # register
          part133 = i64[4]  # register
          part0_next40 = f32[1]  # register
          part1_next41 = i64[1]  # register
          for rv in range(4):  # unroll
            part032[rv] = (-inf)
            part133[rv] = 9223372036854775807
          for ro in range((n + 3)//4): """,
    ),
    "hold": Drawn(
        "column_sum",
        lambda k: hold(k, "total", "acc"),
        """\
        total0 = f32[n]  # packed
        for sj in range(n):
          acc32 = f32[1]  # register
          acc32[0] = 0.0
          for si in range(m):
            acc32[0] = acc32[0] + p0[si*n + sj]
          total0[sj] = acc32[0]
        for j in range(n):
          p1[j] = total0[j]""",
    ),
    "online": Drawn(
        "softmax",
        lambda k: online(shared_rows(k), ("top", "total"), ("tj", "sj")),
        """\
        for i in range(m):
          top0 = f32[1]  # register
          total16 = f32[1]  # register
          total16[0] = 0.0
          top0[0] = (-inf)
          for tj in range(n):
            total.part64 = f32[1]  # register
            top.scale96 = f32[1]  # register
            top.next80 = f32[1]  # register
            top.part48 = f32[1]  # register
            top.part48[0] = p0[i*n + tj]
            top.next80[0] = max(top0[0], top.part48[0])
            top.scale96[0] = exp(top0[0] - where(top.next80[0] == (-inf), 0.0, top.next80[0]))
            total.part64[0] = exp(p0[i*n + tj] - where(top.next80[0] == (-inf), 0.0, top.next80[0]))
            total16[0] = total16[0]*top.scale96[0] + total.part64[0]
            top0[0] = top.next80[0]
          for j in range(n):
            p1[i*n + j] = exp(p0[i*n + j] - top0[0])/total16[0]""",
    ),
    "pipeline": Drawn(
        "row_sums",
        lambda k: pipeline(staged_rows(k), "t", 2),
        """\
        for i in range(m):
          total0 = f32[1]  # register
          t32 = f32[8]  # stack
          if 0 < (n + 3)//4:
            for t.ki in range(min(4, n)):
              t32[t.ki] = p0[i*n + t.ki]
          total0[0] = 0.0
          for ko in range((n + 3)//4):
            if ko + 1 < (n + 3)//4:
              for t.ki in range(min(4, n - ko*4 + (-4))):
                t32[(ko + 1)%2*4 + t.ki] = p0[i*n + ko*4 + t.ki + 4]
            for ki in range(min(4, n - ko*4)):
              total0[0] = total0[0] + t32[ko%2*4 + ki]
          p1[i] = total0[0]""",
    ),
    "multiple_of": Drawn(
        "copy",
        lambda k: tiled(multiple_of(k, k.loop("i").extent, 4)),
        """\
        for io in range(n//4):
          for ii in range(4):
            p1[io*4 + ii] = p0[io*4 + ii]""",
        lambda sizes: sizes["n"] % 4 == 0,
    ),
    "at_most": Drawn(
        "copy",
        lambda k: unroll(at_most(k, "i", 16), "i"),
        """\
        for i in range(16):  # unroll
          p1[i] = (p0[i] if i < n else 0.0) if i < n""",
        lambda sizes: sizes["n"] <= 16,
    ),
    "predicate": Drawn(
        "copy",
        lambda k: predicate(tiled(k), "ii"),
        """\
        for io in range((n + 3)//4):
          for ii in range(4):
            p1[io*4 + ii] = (p0[io*4 + ii] if io*4 + ii < n else 0.0) if io*4 + ii < n""",
    ),
}


@pytest.mark.parametrize("name", MOVES)
def test_the_move_gives_the_loops_it_draws(name: str) -> None:
    drawn = MOVES[name]
    made = loops(drawn.move(SIMPLE[drawn.kernel].kernel()))
    wanted = dedent(drawn.after).rstrip()
    assert made.startswith(wanted) if drawn.after[-1] == " " else made == wanted


@pytest.mark.parametrize("name", MOVES)
def test_the_move_keeps_the_meaning(name: str) -> None:
    drawn = MOVES[name]
    small = SIMPLE[drawn.kernel]
    before, after = built(small.kernel()), built(drawn.move(small.kernel()))
    for sizes in small.sizes:
        if not drawn.fits(dict(sizes)):
            continue
        plain, moved = small.arguments(sizes), small.arguments(sizes)
        interpret(before, plain, sizes)
        interpret(after, moved, sizes)
        for want, got in zip(plain, moved, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("name", MOVES)
def test_the_move_notes_itself(name: str) -> None:
    before = SIMPLE[MOVES[name].kernel].kernel()
    assert not before.moves
    word = name.split()[0]
    assert any(
        note.startswith(f"{word}(") for note in MOVES[name].move(before).moves
    )


def test_guards_say_what_a_move_relies_on() -> None:
    copy = SMALL["copy"].kernel()
    n = copy.loop("i").extent
    assert multiple_of(copy, n, 4).guards == ((n % 4).eq(0),)
    assert at_most(copy, "i", 16).guards == (n < 17,)
    assert equal_to(copy, n, 3).guards == (n.eq(3),)
