"""The GPU tier on a real GPU. In: a size. Out: a table of times, bandwidths as a share of this run's copy, and errors.

    python bench/gpu_tier.py [--size 16384] [--rounds 30] [--json FILE]

Programs go the whole way: named ops, primitives, fusion, families, moves, loop trees, CUDA C, NVRTC. Every round times
every program once, with a cold L2; the outputs that were timed are checked against float64. PyTorch gives the copy, the
clock and the references, and is timed beside us. The exit status is 1 if a result is wrong, or a program that moves
memory is slower than 0.75 of the copy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import BufferArg, KernelArg, Ops, VarArg
from ingot.kernel import gpu
from ingot.kernel.decompose import decompose
from ingot.kernel.launches import Built
from ingot.kernel.tree import build
from ingot.ops import activation, elementwise, matmul, movement, norm, reduce
from ingot.ops.lower import lower_all
from ingot.pipeline.host import evaluate, source
from ingot.render.cuda import geometry, render_cuda
from ingot.runtime.cuda import Call, Device, compile_cubin
from ingot.schedule.family import family
from ingot.schedule.fuse import fuse

Tensor = Any
FLOOR = 0.75  # of the copy's bandwidth
FLUSH_BYTES = 256 << 20
WARM_UP = 5  # rounds that are not counted


# --- one program ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiled:
    """A program's launches, with their arguments; `buffers` keeps the memory that they point to."""

    calls: list[Call]
    buffers: list[Tensor]

    def __call__(self) -> None:
        stream = torch.cuda.current_stream().cuda_stream
        for call in self.calls:
            call.launch(stream)


def compiled(
    device: Device, root: Callable[..., UOp], inputs: list[Tensor], result: Tensor
) -> Compiled:
    """The whole way from a program to loaded kernels."""
    nodes = [_node(number, x) for number, x in enumerate(inputs)]
    (draft,) = fuse((lower_all(root(*nodes)),)).drafts
    made = family(draft)
    hints = {
        v: int(cast(int, n)) for v, n in made.values.items() if v.dtype is dt.index
    }
    trees = build(gpu.choose(made.kernel, hints))
    sizes = {
        cast(VarArg, v.arg).name: cast("int | float", n)
        for v, n in made.values.items()
    }
    by_node = dict(zip(nodes, inputs, strict=True))
    buffers = [by_node[b] for b in draft.buffers[:-1]] + [
        result,
        *_between(trees, sizes),
    ]
    return Compiled(
        [_call(device, tree, sizes, buffers) for tree in trees.launches], buffers
    )


def _node(number: int, tensor: Tensor) -> UOp:
    dims = tuple(UOp.const(dt.index, n) for n in tensor.shape)
    return UOp(Ops.BUFFER, dt.float32, dims, BufferArg(1_000_000 + number))


def _between(trees: Built, sizes: dict[str, int | float]) -> list[Tensor]:
    counts = [evaluate(source(count), sizes) for _, count in trees.temporaries]
    return [torch.empty(count, device="cuda") for count in counts]


def _call(
    device: Device, tree: UOp, sizes: dict[str, int | float], buffers: list[Tensor]
) -> Call:
    arg = cast(KernelArg, tree.arg)
    cubin = compile_cubin(render_cuda(decompose(tree)))
    shape = geometry(tree)
    grid = shape.blocks({name: int(n) for name, n in sizes.items()})
    scalars = [
        dt.to_numpy(s.dtype).type(sizes[cast(VarArg, s.arg).name])
        for s in arg.sizes
    ]
    function = device.load(cubin, arg.name)
    return function.prepare(
        grid, shape.threads, [b.data_ptr() for b in buffers], scalars
    )


@dataclass
class Row:
    """A program, what it must move or compute, its reference and its peer; and what was measured."""

    name: str
    root: Callable[..., UOp]
    inputs: list[Tensor]
    result: Tensor
    exact: Callable[..., Tensor]  # in float64
    peer: Callable[[], Tensor]
    nbytes: int = 0
    flops: int = 0
    tolerance: float = 1e-5  # the largest error, as a share of the largest value
    seconds: list[float] = field(default_factory=list)
    peer_seconds: list[float] = field(default_factory=list)
    error: float = float("nan")

    def check(self) -> None:
        wanted = self.exact(*(x.double() for x in self.inputs))
        self.error = float(
            (self.result.double().reshape(wanted.shape) - wanted).abs().max()
            / wanted.abs().max()
        )

    @property
    def is_right(self) -> bool:
        return self.error <= self.tolerance


# --- the programs -----------------------------------------------------------------------------------------------------


def chain(x: UOp, b: UOp) -> UOp:
    moved = elementwise.add(elementwise.multiply(x, 1.5), b)
    return elementwise.multiply(elementwise.tanh(moved), activation.sigmoid(x))


def rows(n: int) -> list[Row]:
    """The programs that move memory, at n * n."""
    f = torch.nn.functional
    x, b = (torch.randn(n, n, device="cuda") for _ in range(2))
    w, c = (torch.randn(n, device="cuda") for _ in range(2))
    plane = x.numel() * 4
    return [
        Row(
            "chain",
            chain,
            [x, b],
            torch.empty_like(x),
            lambda x, b: torch.tanh(x * 1.5 + b) * torch.sigmoid(x),
            lambda: torch.tanh(x * 1.5 + b) * torch.sigmoid(x),
            3 * plane,
        ),
        Row(
            "softmax",
            activation.softmax,
            [x],
            torch.empty_like(x),
            lambda x: torch.softmax(x, -1),
            lambda: torch.softmax(x, -1),
            2 * plane,
        ),
        Row(
            "layer_norm",
            norm.layer_norm,
            [x, w, c],
            torch.empty_like(x),
            lambda x, w, c: f.layer_norm(x, (n,), w, c),
            lambda: f.layer_norm(x, (n,), w, c),
            2 * plane,
        ),
        Row(
            "transpose",
            lambda x: movement.permute(x, (1, 0)),
            [x],
            torch.empty_like(x),
            lambda x: x.t(),
            lambda: x.t().contiguous(),
            2 * plane,
            tolerance=0.0,
        ),
        Row(
            "row sum",
            lambda x: reduce.sum_(x, axis=-1),
            [x],
            torch.empty(n, device="cuda"),
            lambda x: x.sum(-1),
            lambda: x.sum(-1),
            plane,
        ),
        Row(
            "total",
            reduce.sum_,
            [x.abs()],
            torch.empty(1, device="cuda"),
            lambda x: x.sum(),
            lambda: x.sum(),
            plane,
        ),
    ]


def products(*shapes: tuple[int, int, int]) -> list[Row]:
    """Matrix products m * k * n."""
    made = []
    for m, k, n in shapes:
        a, b = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
        result = torch.empty(m, n, device="cuda")
        peer = _product_of(a, b)
        made.append(
            Row(
                f"gemm {m}x{k}x{n}",
                matmul.matmul,
                [a, b],
                result,
                torch.matmul,
                peer,
                flops=2 * m * k * n,
            )
        )
    return made


def _product_of(a: Tensor, b: Tensor) -> Callable[[], Tensor]:
    return lambda: a @ b


def ragged(shapes: list[tuple[int, int]]) -> list[Row]:
    """Sizes that are multiples of nothing: checked, not timed for the table."""
    made = []
    for m, n in shapes:
        x, w, c = (
            torch.randn(m, n, device="cuda"),
            torch.randn(n, device="cuda"),
            torch.randn(n, device="cuda"),
        )
        made += [
            Row(
                f"softmax {m}x{n}",
                activation.softmax,
                [x],
                torch.empty_like(x),
                lambda x: torch.softmax(x, -1),
                _nothing,
            ),
            Row(
                f"layer_norm {m}x{n}",
                norm.layer_norm,
                [x, w, c],
                torch.empty_like(x),
                _layer_norm,
                _nothing,
            ),
            Row(
                f"transpose {m}x{n}",
                _turn,
                [x],
                torch.empty(n, m, device="cuda"),
                lambda x: x.t(),
                _nothing,
            ),
            Row(
                f"total {m}x{n}",
                reduce.sum_,
                [x.abs()],
                torch.empty(1, device="cuda"),
                lambda x: x.sum(),
                _nothing,
            ),
        ]
    return made


def _softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def _turn(x: UOp) -> UOp:
    return movement.permute(x, (1, 0))


def _layer_norm(x: Tensor, w: Tensor, c: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), w, c)


def _nothing() -> None:
    return None


# --- measuring --------------------------------------------------------------------------------------------------------


class Clock:
    """Times one call with a cold L2."""

    def __init__(self) -> None:
        self.flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def __call__(self, call: Callable[[], object]) -> float:
        self.flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(end)) * 1e-3


def measure(
    table: list[Row], programs: list[Compiled], rounds: int, n: int
) -> float:
    """Fills the rows; returns the copy's bytes per second."""
    clock = Clock()
    x = torch.randn(n, n, device="cuda")
    y = torch.empty_like(x)
    copies = []
    for number in range(WARM_UP + rounds):
        copied = clock(lambda: y.copy_(x))
        times = [
            (clock(program), clock(row.peer))
            for row, program in zip(table, programs, strict=True)
        ]
        if number >= WARM_UP:
            copies.append(copied)
            for row, (own, peer) in zip(table, times, strict=True):
                row.seconds.append(own)
                row.peer_seconds.append(peer)
    return 2 * int(x.nbytes) / statistics.median(copies)


def show(table: list[Row], copy: float) -> None:
    print(
        f"\ncopy {copy / 1e9:.0f} GB/s, {torch.cuda.get_device_name()}, torch {torch.__version__}"
    )
    heads = (
        ("us", 9),
        ("GB/s", 8),
        ("of copy", 9),
        ("TFLOP/s", 9),
        ("torch us", 10),
        ("x torch", 9),
        ("error", 10),
    )
    print(f"{'program':<22}" + "".join(f"{head:>{width}}" for head, width in heads))
    for row in table:
        own, peer = (
            statistics.median(row.seconds),
            statistics.median(row.peer_seconds),
        )
        rate = (
            f"{row.nbytes / own / 1e9:>8.0f}{row.nbytes / own / copy:>9.3f}"
            if row.nbytes
            else f"{'':>17}"
        )
        flops = f"{row.flops / own / 1e12:>9.1f}" if row.flops else f"{'':>9}"
        verdict = "" if row.is_right else "  WRONG"
        beside = f"{peer * 1e6:>10.1f}{peer / own:>9.2f}{row.error:>10.1e}{verdict}"
        print(f"{row.name:<22}{own * 1e6:>9.1f}{rate}{flops}{beside}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")
    device = Device()
    table = rows(options.size) + products(
        (options.size // 4,) * 3, (1000, 1013, 997)
    )
    odd = ragged([(37, 1013), (1000, 40001), (3, 5)])
    for row in table + odd:
        row.result.fill_(float("nan"))
    programs = [
        compiled(device, row.root, row.inputs, row.result) for row in table + odd
    ]
    copy = measure(table, programs[: len(table)], options.rounds, options.size)
    for program in programs[len(table) :]:
        program()
    torch.cuda.synchronize()
    for row in table + odd:
        row.check()
    show(table, copy)
    wrong = [row.name for row in table + odd if not row.is_right]
    slow = [
        r.name
        for r in table
        if r.nbytes and r.nbytes / statistics.median(r.seconds) < FLOOR * copy
    ]
    right = sum(row.is_right for row in odd)
    print(f"odd sizes: {right} of {len(odd)} right; wrong: {wrong}; slow: {slow}")
    if options.json:
        options.json.write_text(
            json.dumps(
                {"copy": copy, "rows": [_plain(row) for row in table + odd]},
                indent=1,
            )
        )
    return 1 if wrong or slow else 0


def _plain(row: Row) -> dict[str, Any]:
    keys = ("name", "nbytes", "flops", "seconds", "peer_seconds", "error")
    return {key: getattr(row, key) for key in keys}


if __name__ == "__main__":
    sys.exit(main())
