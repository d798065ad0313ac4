"""Buffers and values of variables are taken off a program before its schedule is looked for, and put back."""

from __future__ import annotations

import pytest

import ingot as ig
from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.pipeline.normalise import normalise, restore
from tests.pipeline.programs import tensor

n = ig.Variable("n", 1, 16)


def shrunk(value: int, seed: int = 0) -> UOp:
    return (tensor(16, 4, seed=seed).shrink(((0, n.bind(value)), None)) * 2.0).uop


def test_programs_over_other_buffers_and_values_are_the_same() -> None:
    first, mine = normalise([shrunk(5)])
    second, theirs = normalise([shrunk(7, seed=1)])
    assert first is second
    assert (mine.variables, theirs.variables) == ({"n": 5}, {"n": 7})
    assert mine.buffers != theirs.buffers


def test_nothing_particular_is_left() -> None:
    sink, _ = normalise([shrunk(5)])
    nodes = sink.toposort()
    assert all(u.op is not Ops.BUFFER for u in nodes)
    assert [len(u.src) for u in nodes if u.op is Ops.BIND] == [1]


def test_restoring_gives_the_program_back() -> None:
    root = shrunk(5)
    sink, found = normalise([root])
    assert restore(sink, found).src == (root,)


def test_a_buffer_with_a_symbolic_size_is_known_by_itself() -> None:
    """An evaluated tensor may have a size that depends on a variable."""
    x = ig.Tensor.of(shrunk(5)).realize()
    sink, found = normalise([(x + 1.0).uop])
    assert found.buffers == [x.uop]
    assert found.variables == {"n": 5}
    assert restore(sink, found).src == ((x + 1.0).uop,)


def test_shared_buffers_have_one_slot() -> None:
    x = tensor(3)
    sink, found = normalise([(x + x).uop, (x * x).uop])
    assert len(found.buffers) == 1
    assert sum(u.op is Ops.PARAM for u in sink.toposort()) == 1


def test_a_variable_with_two_values_is_refused() -> None:
    with pytest.raises(ArgumentError, match="'n' is bound to 5 and to 7"):
        normalise([shrunk(5), shrunk(7)])
