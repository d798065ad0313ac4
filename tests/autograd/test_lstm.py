"""An LSTM by scan, compiled: forward and backward are those of PyTorch, and any length is the same program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.ir.opcode import Ops
from ingot.ir.region import shallow

ROWS, INPUTS, HIDDEN = 3, 5, 8


def lstm(x: ig.Tensor, w: ig.Tensor, u: ig.Tensor, b: ig.Tensor) -> ig.Tensor:
    """Gates in PyTorch's order: input, forget, cell, output."""
    from_inputs = ig.linear(x, w, b)

    def step(state: Any, gates: ig.Tensor) -> Any:
        h, c = state
        z = gates + ig.linear(h, u)
        i, f, g, o = (z[:, k * HIDDEN : (k + 1) * HIDDEN] for k in range(4))
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return (h, c), h

    zeros = ig.zeros(ROWS, HIDDEN)
    stacked: ig.Tensor = ig.scan(step, (zeros, zeros), from_inputs)[1]
    return stacked


def weights() -> list[Any]:
    rng = np.random.default_rng(2)
    shapes = ((4 * HIDDEN, INPUTS), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,))
    return [rng.uniform(-0.5, 0.5, s).astype(np.float32) for s in shapes]


@pytest.mark.parametrize("steps", [1, 200])
def test_forward_and_backward_are_those_of_torch(steps: int) -> None:
    torch = pytest.importorskip("torch")
    w, u, b = weights()
    sequence = np.random.default_rng(4).standard_normal((steps, ROWS, INPUTS))
    x = sequence.astype(np.float32)
    ours = [ig.tensor(a, requires_grad=True) for a in (x, w, u, b)]
    ys = lstm(*ours)
    loss = (ys * ys).mean()
    loss.backward()

    module = torch.nn.LSTM(INPUTS, HIDDEN)
    with torch.no_grad():
        module.weight_ih_l0.copy_(torch.tensor(w))
        module.weight_hh_l0.copy_(torch.tensor(u))
        module.bias_ih_l0.copy_(torch.tensor(b))
        module.bias_hh_l0.zero_()
    inputs = torch.tensor(x, requires_grad=True)
    wanted, _ = module(inputs)
    (wanted * wanted).mean().backward()
    np.testing.assert_allclose(
        ys.numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    theirs = (inputs, module.weight_ih_l0, module.weight_hh_l0, module.bias_ih_l0)
    for a, t in zip(ours, theirs, strict=True):
        assert a.grad is not None
        want = t.grad.numpy()
        scale = float(np.abs(want).max())
        np.testing.assert_allclose(
            a.grad.numpy(), want, rtol=1e-4, atol=1e-5 * scale
        )


def test_a_step_back_stacks_no_weights() -> None:
    """Of 200 steps: states and gates are stacked, 200 x 3 x 8 and 200 x 3 x 32; a weight would be 200 x 32 x 8."""
    w, u, b = (ig.tensor(a, requires_grad=True) for a in weights())
    x = ig.tensor(np.zeros((200, ROWS, INPUTS), np.float32))
    lstm(x, w, u, b).sum().backward()
    assert u.grad is not None
    loops = [n for n in shallow(u.grad.uop) if n.op is Ops.SCAN]
    shapes = {shape for loop in loops for _, shape in loop.results}
    assert {(200, ROWS, HIDDEN), (200, ROWS, 4 * HIDDEN)} <= shapes
    assert (200, 4 * HIDDEN, HIDDEN) not in shapes
