"""Random kernel trees that are sure to be legal: offsets stay inside, registers are filled before they are read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, Scope
from tests.render.trees import (
    axis,
    f32,
    fold,
    idx,
    kernel,
    load,
    loop,
    param,
    size,
    stage,
    store,
    unroll,
    vector,
    when,
)

LENGTH = 96  # elements of every buffer
TILE = 32  # elements of every register tile
N = size("n", 0, 8)


@dataclass
class Around:
    """Axes in scope with their greatest value, by the kind of loop."""

    loops: list[tuple[UOp, int]] = field(default_factory=list)
    unrolled: list[tuple[UOp, int]] = field(default_factory=list)
    lanes: tuple[UOp, int] | None = None
    made: list[UOp] = field(default_factory=list)  # values that mean something here

    def inside(self, **more: object) -> Around:
        return replace(self, made=list(self.made), **more)  # type: ignore[arg-type]


class Maker:
    """One random kernel."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.axes = 0
        self.stages = 0
        self.x, self.y = param(0), param(1, writable=True)
        self.tiles = [self._stage(TILE, Scope.REGISTER) for _ in range(2)]
        self.local = self._stage(
            LENGTH, self.random.choice((Scope.STACK, Scope.PACKED))
        )

    def _stage(self, elements: int, scope: Scope) -> UOp:
        self.stages += 1
        return stage(self.stages, elements, scope)

    def axis(self) -> UOp:
        self.axes += 1
        return axis(self.axes)

    def number(self, node: UOp) -> int:
        return int(node.arg.id)  # type: ignore[union-attr]

    def make(self) -> UOp:
        v, i = self.axis(), self.axis()
        fills = [
            vector(self.number(v), TILE, store(t, v, f32(float(n))))
            for n, t in enumerate(self.tiles)
        ]
        clear = loop(self.number(i), LENGTH, store(self.local, i, load(self.x, i)))
        outside = Around()
        body = [
            s
            for _ in range(self.random.randint(2, 4))
            for s in self.statements(outside, 3)
        ]
        out = [
            vector(self.number(v), TILE, store(self.y, v + n * TILE, load(t, v)))
            for n, t in enumerate(self.tiles)
        ]
        return kernel(
            *self.tiles,
            self.local,
            *fills,
            clear,
            *body,
            *out,
            params=(self.x, self.y),
            sizes=(N,),
        )

    # --- statements ---

    def statements(self, around: Around, depth: int) -> list[UOp]:
        count = self.random.randint(1, 3)
        return [self.statement(around, depth) for _ in range(count)]

    def statement(self, around: Around, depth: int) -> UOp:
        makers = (
            [self.put]
            if depth == 0
            else [
                self.loop,
                self.unroll,
                self.vector,
                self.when,
                self.fold,
                self.put,
            ]
        )
        if around.lanes is not None:
            makers = [self.put]
        return self.random.choice(makers)(around, depth - 1)

    def loop(self, around: Around, depth: int) -> UOp:
        a = self.axis()
        extent, most = self.random.choice(
            [(N, 7), (idx(3), 2), (idx(1), 0), (N // 2, 3), (N % 3, 1)]
        )
        inside = around.inside(loops=[*around.loops, (a, most)])
        return loop(self.number(a), extent, *self.statements(inside, depth))

    def unroll(self, around: Around, depth: int) -> UOp:
        a, extent = self.axis(), self.random.randint(1, 3)
        inside = around.inside(unrolled=[*around.unrolled, (a, extent - 1)])
        return unroll(self.number(a), extent, *self.statements(inside, depth))

    def vector(self, around: Around, depth: int) -> UOp:
        a, extent = self.axis(), self.random.choice((4, 8, 16))
        inside = around.inside(lanes=(a, extent))
        return vector(self.number(a), extent, *self.statements(inside, depth))

    def when(self, around: Around, depth: int) -> UOp:
        left = self.offset(around, LENGTH, lanes=False)
        condition = self.random.choice(
            (left < idx(self.random.randint(0, 9)), load(self.x, left) < 0.0)
        )
        return when(condition, *self.statements(around.inside(), depth))

    def fold(self, around: Around, depth: int) -> UOp:
        a, extent = self.axis(), self.random.choice((4, 8, 16))
        target = load(
            self.random.choice(self.tiles), self.register(around, lanes=False)
        )
        value = load(self.x, self.offset(around.inside(lanes=(a, extent)), LENGTH))
        left, right = UOp.state(dt.float32, 0), UOp.state(dt.float32, 1)
        return fold(
            self.number(a),
            extent,
            [target],
            [value],
            [self.random.choice((left + right, left.maximum(right)))],
        )

    def put(self, around: Around, depth: int) -> UOp:
        value = self.value(around, 2)
        mask = self.condition(around) if self.random.random() < 0.3 else None
        if self.random.random() < 0.5:
            return store(
                self.random.choice(self.tiles), self.register(around), value, mask
            )
        return store(
            self.random.choice((self.y, self.local)),
            self.target(around),
            value,
            mask,
        )

    # --- expressions ---

    def register(self, around: Around, lanes: bool = True) -> UOp:
        """A constant once loops are unrolled, plus a multiple of the lane."""
        total, room = idx(0), TILE - 1
        if lanes and around.lanes is not None:
            a, extent = around.lanes
            step = self.random.choice(
                [s for s in (1, 1, 2, 4, 8) if s * (extent - 1) <= room]
            )
            total, room = total + a * step, room - step * (extent - 1)
        for a, most in around.unrolled:
            step = self.random.choice(
                [s for s in (0, 1, 4, 8, 16) if s * most <= room]
            )
            total, room = total + a * step, room - step * most
        return total + self.random.choice(
            [c for c in (0, 0, 4, 8, 16) if c <= room]
        )

    def offset(self, around: Around, limit: int, lanes: bool = True) -> UOp:
        """Anything inside a buffer."""
        if self.random.random() < 0.2:
            return (self.offset(around, limit, lanes) * 3 + 5) % limit
        total, room = idx(self.random.randint(0, 9)), limit - 10
        pairs = around.loops + around.unrolled
        if lanes and around.lanes is not None:
            pairs = [*pairs, (around.lanes[0], around.lanes[1] - 1)]
        for a, most in pairs:
            step = self.random.choice(
                [s for s in (0, 1, 1, 2, 16) if s * most <= room]
            )
            total, room = total + a * step, room - step * most
            if 8 * most <= room and self.random.random() < 0.3:
                total, room = total + a * N, room - 8 * most
        return total

    def target(self, around: Around) -> UOp:
        """An offset that differs from lane to lane."""
        inside = self.offset(around, LENGTH // 2, lanes=False)
        if around.lanes is None:
            return inside
        return inside + around.lanes[0] * self.random.choice((1, 1, 2, 3))

    def condition(self, around: Around) -> UOp:
        left, right = self.offset(around, LENGTH), self.offset(around, 60)
        if self.random.random() < 0.3:
            return self.value(around, 1) < self.value(around, 1)
        made = left < right + N
        return made & (idx(2) < left) if self.random.random() < 0.5 else made

    def value(self, around: Around, depth: int) -> UOp:
        pick = self.random.random()
        if around.made and self.random.random() < 0.3:
            return self.random.choice(around.made)
        if depth == 0 or pick < 0.3:
            around.made.append(self.leaf(around))
            return around.made[-1]
        a, b = self.value(around, depth - 1), self.value(around, depth - 1)
        if pick < 0.4:
            return self.condition(around).where(a, b)
        return a.alu(
            self.random.choice((Ops.ADD, Ops.SUB, Ops.MUL, Ops.MAX, Ops.MIN)), b
        )

    def leaf(self, around: Around) -> UOp:
        pick = self.random.random()
        if pick < 0.2:
            return f32(self.random.choice((0.5, -1.0, 2.0)))
        if pick < 0.3:
            return self.offset(around, LENGTH).cast(dt.float32)
        if pick < 0.6:
            return load(self.random.choice(self.tiles), self.register(around))
        mask = self.condition(around) if self.random.random() < 0.3 else None
        return load(
            self.random.choice((self.x, self.y, self.local)),
            self.offset(around, LENGTH),
            mask,
            3.0,
        )
