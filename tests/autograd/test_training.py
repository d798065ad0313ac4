"""Training, compiled: parameters after 20 steps are those of PyTorch, gradients of layers too, and little is computed twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.ir.node import live_nodes
from ingot.ir.opcode import Ops
from ingot.ir.region import shallow
from ingot.pipeline.evaluation import Runner
from ingot.pipeline.normalise import normalise

RNG = np.random.default_rng(11)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def parameters() -> list[Any]:
    return [
        normal(32, 8) * 0.3,
        normal(32) * 0.1,
        normal(4, 32) * 0.3,
        normal(4) * 0.1,
    ]


def test_twenty_steps_of_sgd_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    start, x, target = parameters(), normal(64, 8), RNG.integers(0, 4, 64)
    ours = [ig.tensor(p, requires_grad=True) for p in start]
    theirs = [torch.tensor(p, requires_grad=True) for p in start]
    optimiser = torch.optim.SGD(theirs, lr=0.1)
    inputs, classes = ig.tensor(x), ig.tensor(target)
    losses = []
    for _ in range(20):
        w, b, v, c = ours
        hidden = ig.linear(inputs, w, b).relu()
        loss = ig.cross_entropy(ig.linear(hidden, v, c), classes)
        loss.backward()
        with ig.no_grad():
            for p in ours:
                assert p.grad is not None
                p -= 0.1 * p.grad
                p.grad = None
        losses.append(loss.item())
        optimiser.zero_grad()
        w, b, v, c = theirs
        hidden = torch.relu(torch.nn.functional.linear(torch.tensor(x), w, b))
        logits = torch.nn.functional.linear(hidden, v, c)
        torch.nn.functional.cross_entropy(logits, torch.tensor(target)).backward()
        optimiser.step()
    assert losses[-1] < 0.7 * losses[0]
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(
            p.numpy(), q.detach().numpy(), rtol=2e-5, atol=2e-6
        )


def test_a_loop_that_looks_only_at_its_loss_does_not_grow() -> None:
    w = ig.tensor(normal(8, 8), requires_grad=True)
    x = ig.tensor(normal(4, 8))
    counts = []
    for _ in range(12):
        loss = ((x @ w) ** 2).mean()
        loss.backward()
        with ig.no_grad():
            assert w.grad is not None
            w -= 0.01 * w.grad
            w.grad = None
        loss.item()
        counts.append(live_nodes())
    assert counts[-1] <= counts[4] + 8


# --- layers, compiled, against torch ---------------------------------------------------------------------------------


def layers() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], list[Any]]]:
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    q = normal(2, 3, 8, 16)
    return {
        "softmax": (
            lambda x: x.softmax(-1),
            lambda x: x.softmax(-1),
            [normal(6, 33)],
        ),
        "layer_norm": (
            lambda x, w, b: x.layer_norm(w, b),
            lambda x, w, b: F.layer_norm(x, (33,), w, b),
            [normal(6, 33), normal(33), normal(33)],
        ),
        "gelu": (lambda x: x.gelu(), lambda x: F.gelu(x), [normal(6, 33)]),
        "mlp": (
            lambda x, w, v: (x @ w).gelu() @ v,
            lambda x, w, v: F.gelu(x @ w) @ v,
            [normal(16, 8), normal(8, 32), normal(32, 4)],
        ),
        "attention": (
            lambda q, k, v: ig.scaled_dot_product_attention(q, k, v, causal=True),
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            [q, normal(2, 3, 8, 16), normal(2, 3, 8, 16)],
        ),
        "conv2d": (
            lambda x, w, b: ig.conv2d(x, w, b, stride=2, padding=1),
            lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
            [normal(2, 3, 9, 10), normal(4, 3, 3, 3), normal(4)],
        ),
        "max": (lambda x: ig.max(x, axis=1), lambda x: x.amax(1), [normal(6, 33)]),
        "windows": (
            lambda x: x[:, ::2][:, 3:9].flip(0).T.reshape(3, -1).exp(),
            lambda x: x[:, ::2][:, 3:9].flip(0).T.reshape(3, -1).exp(),
            [normal(6, 33)],
        ),
    }


NAMES = "softmax layer_norm gelu mlp attention conv2d max windows".split()


@pytest.mark.parametrize("name", NAMES)
def test_compiled_gradients_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    f, g, arrays = layers()[name]
    ours = [ig.tensor(a, requires_grad=True) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    y, z = f(*ours), g(*theirs)
    weights = normal(*z.shape)
    y.backward(ig.tensor(weights))
    z.backward(torch.tensor(weights))
    for a, b in zip(ours, theirs, strict=True):
        assert a.grad is not None
        want = b.grad.numpy()
        scale = np.abs(want).max()
        np.testing.assert_allclose(
            a.grad.numpy(), want, rtol=1e-4, atol=1e-5 * scale
        )


# --- checkpoints ----------------------------------------------------------------------------------------------------


def deep(
    block: Callable[[ig.Tensor, ig.Tensor], ig.Tensor],
) -> tuple[int, int, Any]:
    """Of a gradient through eight blocks: bytes of inner values kept at once, products outside of calls, the gradient."""
    rng = np.random.default_rng(5)
    w = ig.tensor(
        rng.standard_normal((16, 64)).astype(np.float32), requires_grad=True
    )
    x = ig.tensor(rng.standard_normal((128, 16)).astype(np.float32))
    for _ in range(8):
        x = block(x, w)
    (g,) = ig.grad((x * x).mean(), w)
    assert g is not None
    arena = Runner(*normalise([g.uop])).arena
    nodes = shallow(g.uop)
    products = sum(u.op is Ops.OP and u.arg.name == "matmul" for u in nodes)  # type: ignore[union-attr]
    return arena, products, g.numpy()


def test_a_checkpoint_keeps_only_what_goes_in() -> None:
    """A block works on 64 columns and hands on 16: kept are those, and the products are computed again in the calls."""

    def block(x: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
        return x + (x @ w).tanh() @ w.T * 0.01

    plain, saving = deep(block), deep(ig.checkpoint(block))
    wide = 128 * 64 * 4
    assert plain[0] > 8 * wide
    assert saving[0] < plain[0] - 6 * wide
    assert plain[1] > 16
    assert saving[1] == 0
    np.testing.assert_allclose(saving[2], plain[2], rtol=1e-5, atol=1e-6)
