"""Faults at evaluation name the operation and the line that built it, on every device, in replays and in bodies."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import AxisError, IngotError, KernelFault
from ingot.ir.region import extern, register_extern
from ingot.pipeline.blame import blame
from ingot.settings import settings
from ingot.tensor.tensor import Tensor


def table() -> ig.Tensor:
    return ig.tensor(np.arange(12, dtype=np.float32).reshape(3, 4))


def caught(function: Callable[[], Any]) -> IngotError:
    with pytest.raises(IngotError) as found:
        function()
    return found.value


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
def test_an_index_that_points_outside(device: str) -> None:
    def run() -> Any:
        rows = table()[ig.tensor([0, 7])]  # built
        scaled = rows * 2.0
        return scaled.sum().numpy()  # asked

    with settings.override(device=device):
        error = caught(run)
    assert isinstance(error, AxisError)
    assert error.place is not None
    assert error.place.text.endswith("# built")
    assert str(error).endswith("# asked")


def test_which_of_two_equal_checks_failed() -> None:
    x, good, bad = table(), ig.tensor([0, 1]), ig.tensor([0, 9])

    def run() -> Any:
        first = x[good] * 1.0
        second = x[bad] * 2.0  # this one
        return (first + second).numpy()

    error = caught(run)
    assert error.place is not None
    assert error.place.text.endswith("# this one")


def test_in_a_replay() -> None:
    @ig.jit
    def rows(x: ig.Tensor, i: ig.Tensor) -> ig.Tensor:
        return x[i] + 1.0  # inside

    x = table()
    rows(x, ig.tensor([0, 1]))
    error = caught(lambda: rows(x, ig.tensor([0, 9])))
    assert error.place is not None
    assert error.place.text.endswith("# inside")


def test_another_program_of_the_same_structure_has_its_own_line() -> None:
    def one() -> Any:
        return table()[ig.tensor([5])].numpy()  # one

    def two() -> Any:
        return table()[ig.tensor([6])].numpy()  # two

    found = [caught(function).place for function in (one, two, one)]
    assert [p.text[-5:] for p in found if p is not None] == [
        "# one",
        "# two",
        "# one",
    ]


def test_host_code_of_the_users() -> None:
    def broken(x: Any) -> Any:
        raise ZeroDivisionError("nothing left")

    register_extern("broken_for_a_test", broken)
    x = table()
    (node,) = extern("broken_for_a_test", (x.uop,), (("float32", (3, 4)),))
    y = Tensor.of(node)
    with pytest.raises(ZeroDivisionError) as found:
        (y + 1.0).numpy()
    assert any("broken_for_a_test" in note for note in found.value.__notes__)


def test_a_fault_of_a_kernel_names_its_operations() -> None:
    y = (table() * 2.0).relu()  # the kernel
    error = KernelFault("command 0 reported fault 3 in chunk 0")
    error.step = y.schedule()[0].name
    blame(error, [y.uop])
    assert "in the kernel of mul, relu" in str(error)
    assert error.place is not None
    assert error.place.text.endswith("# the kernel")


def test_an_unknown_step_changes_nothing() -> None:
    error = KernelFault("command 0 reported fault 3 in chunk 0")
    error.step = "no_such_step"
    before = str(error)
    blame(error, [(table() + 1.0).uop])
    assert str(error) == before
