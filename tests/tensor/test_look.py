"""Looking: schedules and graphs tell what would run, where it was written, and run nothing."""

import numpy as np
import pytest

import ingot as ig
from ingot.pipeline.session import session


def network() -> ig.Tensor:
    x = ig.tensor(np.ones((64, 128), np.float32))
    w = ig.tensor(np.ones((128, 32), np.float32))
    h = (x @ w).relu()  # first line
    return (ig.softmax(h) * 2.0).sum()  # second line


def test_a_schedule_is_a_pure_look() -> None:
    loss = network()
    before = session.forge().compiled
    items = loss.schedule()
    assert not loss.is_evaluated()
    assert session.forge().compiled == before
    assert loss.item() == pytest.approx(128)
    assert len(items) >= 1


def test_an_item_names_ops_lines_buffers_and_reasons() -> None:
    items = network().schedule()
    ops = {op.name: op.place for item in items for op in item.ops}
    assert {"matmul", "relu", "softmax", "mul", "sum"} <= set(ops)
    place = ops["matmul"]
    assert place is not None
    assert place.text.endswith("# first line")
    first = items[0]
    assert "matmul" in first.name
    assert [b.type for b in first.buffers if not b.writes] == [
        "f32[64, 128]",
        "f32[128, 32]",
    ]
    assert first.nbytes >= 4 * (64 * 128 + 128 * 32)
    assert first.flops >= 2 * 64 * 128 * 32
    assert all(item.why for item in items)
    assert items[-1].why == "asked for"
    assert items.flops >= first.flops


def test_what_is_in_memory_needs_nothing() -> None:
    x = ig.tensor([1.0, 2.0])
    assert x.schedule() == []
    y = (x * 2.0).realize()
    assert y.schedule() == []
    assert str(y.schedule()) == "nothing to compute"
    assert [item.name for item in (y + 1.0).schedule()] == ["add"]


def test_the_text_of_a_schedule_is_aligned() -> None:
    text = str(network().schedule())
    assert "computes" in text
    assert "FLOP" in text
    assert "# first line" in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_several_tensors_are_looked_at_together() -> None:
    x = ig.tensor([1.0, 2.0])
    shared = x.exp()
    both = (shared + 1.0).schedule(shared * 2.0)
    assert sum("exp" in item.name for item in both) >= 1


def test_a_graph_is_printed_as_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    x = ig.tensor(np.ones((2, 3), np.float32))
    y = x.exp()
    ig.print_graph((y + y * 2.0).sum())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("sum ")
    assert lines[1].startswith("└─ add")
    assert sum(line.lstrip("│├└─ ").startswith("exp") for line in lines) == 2
    assert any("as in" in line for line in lines)
    assert all("f32" in line for line in lines)
    assert "test_look.py" in lines[0]


def test_a_deep_graph_needs_no_stack(capsys: pytest.CaptureFixture[str]) -> None:
    y = x = ig.tensor([1.0])
    for _ in range(3000):
        y = y + x
    ig.print_graph(y)
    assert capsys.readouterr().out.count("add") == 3000


def test_loops_and_their_bodies_are_items() -> None:
    w = ig.ones((4, 4)).realize()
    x = ig.ones((5, 4)).realize()
    last, sums = ig.scan(lambda c, v: ((c @ w + v).tanh(), c.sum()), x[0], x)
    names = [item.name for item in last.schedule(sums)]
    assert any(name.startswith("scan") for name in names)
    assert any("tanh" in name and name.startswith("scan") for name in names)


def test_computed_sizes_are_told_by_their_limits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x = ig.tensor([1.0, -1.0, 2.0])
    found = x[x > 0.0]
    assert found.schedule()[-1].nbytes > 0
    ig.print_graph(found)
    assert "f32[<=3]" in capsys.readouterr().out
