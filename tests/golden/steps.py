"""Steps of several moves that more than one program takes."""

from __future__ import annotations

from ingot.kernel.moves import edge, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel
from ingot.kernel.reduction import rfactor

WIDE = 16


def vectors(k: Kernel, loop: str) -> Kernel:
    """for j: s   ->   16 neighbours at once; the last ones, under a mask, after all the others"""
    k = split(k, loop, WIDE, f"{loop}_o", f"{loop}_v")
    return edge(vector(k, f"{loop}_v"), f"{loop}_o", Edge.PEEL)


def lanes(k: Kernel, nest: str, loop: str, count: int) -> Kernel:
    """fold over j   ->   `count` x 16 folds side by side, then over the vectors, then over the lanes"""
    k = split(k, loop, count * WIDE, f"{loop}_o", f"{loop}_t")
    k = split(k, f"{loop}_t", WIDE, f"{loop}_u", f"{loop}_v")
    k = rfactor(k, nest, f"{loop}_u", f"{loop}_v", name=f"{nest}_parts")
    k = rfactor(k, nest, f"{loop}_v", name=f"{nest}_lanes")
    k = vector(unroll(k, f"{loop}_u"), f"{loop}_v")
    return edge(k, f"{loop}_o", Edge.PEEL)
