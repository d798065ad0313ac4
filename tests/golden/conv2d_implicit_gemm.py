"""A 2-D convolution as a matrix product: filters x (channel, row, column of the window) times windows x pixels.

The matrix of windows is never stored: a block of 16 pixels gathers its windows, padding included, as its
tile is staged.
"""

from __future__ import annotations

import numpy as np

from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel.moves import bind, fuse, reorder, split, unroll, vector
from ingot.kernel.nest import Kernel, Reduce
from ingot.kernel.staging import compute_at, layout, stage
from tests.golden.case import Array, Sizes
from tests.kernel.sketch import Sketch

SIZES: tuple[Sizes, ...] = (
    {
        "images": 1,
        "filters": 3,
        "channels": 2,
        "h": 4,
        "w": 5,
        "kh": 3,
        "kw": 3,
        "pad": 1,
        "rows": 4,
        "columns": 5,
    },
    {
        "images": 2,
        "filters": 5,
        "channels": 1,
        "h": 5,
        "w": 4,
        "kh": 1,
        "kw": 2,
        "pad": 0,
        "rows": 5,
        "columns": 3,
    },
)


def naive() -> Kernel:
    s = Sketch("conv2d")
    images, filters, channels, h, w = s.sizes(
        "images", "filters", "channels", "h", "w"
    )
    kh, kw, pad, rows, columns = s.sizes("kh", "kw", "pad", "rows", "columns")
    image, weight, out = s.input(), s.input(), s.output()

    def pixel(n: UOp, c: UOp, y: UOp, x: UOp) -> UOp:
        """An element of a padded image: 0 outside."""
        inside = (pad - 1 < y) & (y < pad + h) & (pad - 1 < x) & (x < pad + w)
        return image.where(inside, ((n * channels + c) * h + y - pad) * w + x - pad)

    n, o, y, x = s.loops(dot_n=images, dot_o=filters, dot_y=rows, dot_x=columns)
    c, ky, kx = s.loops(c=channels, ky=kh, kx=kw)
    window = pixel(n, c, y + ky, x + kx)
    dot = s.sum(
        "dot",
        (n, o, y, x),
        (c, ky, kx),
        weight[((o * channels + c) * kh + ky) * kw + kx] * window,
    )

    n, o, y, x = s.loops(n=images, o=filters, y=rows, x=columns)
    s.store(
        "out",
        (n, o, y, x),
        out[((n * filters + o) * rows + y) * columns + x],
        dot(n, o, y, x),
    )
    return s.kernel()


def program() -> Kernel:
    k = naive()
    k = compute_at(k, "dot", "out", "x")
    k = fuse(k, "y", "x", "pixel")
    k = fuse(fuse(k, "c", "ky", "plane"), "plane", "kx", "depth")

    k = split(k, "o", 4, "oo", "oi")
    k = split(k, "pixel", 16, "po", "pv")
    k = reorder(k, "dot", "n", "po", "oo", "depth", "oi", "pv")
    k = reorder(k, "out", "n", "po", "oo", "oi", "pv")

    body = k.nest("dot").body
    assert isinstance(body, Reduce)
    weight, window = body.values[0].src
    k = stage(
        k, "dot", weight, None, "filters", Scope.PACKED, ("oo", "depth", "oi")
    )
    k = stage(k, "dot", window, "po", "windows", Scope.PACKED, ("depth", "pv"))

    k = unroll(unroll(k, "oi"), "filters.oi")
    k = vector(vector(k, "pv"), "windows.pv")
    k = fuse(layout(k, "dot", "n", "po", "oo", "oi", "pv"), "n", "po", "block")
    return bind(bind(k, "block", LoopKind.CHUNK), "filters.oo", LoopKind.CHUNK)


def arguments(sizes: Sizes, rng: np.random.Generator) -> list[Array]:
    images, filters, channels, h, w, kh, kw, _, rows, columns = (
        int(v) for v in sizes.values()
    )
    image = rng.normal(0, 1, (images, channels, h, w)).astype(np.float32)
    weight = rng.normal(0, 1, (filters, channels, kh, kw)).astype(np.float32)
    return [image, weight, np.zeros((images, filters, rows, columns), np.float32)]


def wanted(buffers: list[Array], sizes: Sizes) -> dict[int, Array]:
    image, weight = (b.astype(np.float64) for b in buffers[:2])
    pad = int(sizes["pad"])
    padded = np.pad(image, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(
        padded, weight.shape[2:], (2, 3)
    )
    return {2: np.einsum("ncyxij,ocij->noyx", windows, weight)}
