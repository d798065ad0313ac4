"""The programs in PyTorch: eager, and through `torch.compile`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ingot.bench.libraries import Library

__all__ = ["build", "build_compiled"]


def build() -> Library:
    import torch

    torch.set_grad_enabled(False)
    return Library(
        version=torch.__version__,
        ops=_ops(torch),
        put=torch.from_numpy,
        get=lambda t: t.numpy(),
    )


def build_compiled() -> Library:
    import torch

    eager = build()
    compiled = {
        name: torch.compile(function) for name, function in eager.ops.items()
    }
    return replace(eager, ops=compiled)


def _ops(torch: Any) -> dict[str, Callable[..., Any]]:
    functional = torch.nn.functional

    def linear_relu(x: Any, w: Any, b: Any) -> Any:
        product = torch.addmm(b, x, w)
        return torch.relu(product)

    def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        hidden = linear_relu(x, w1, b1)
        return torch.addmm(b2, hidden, w2)

    def chain(x: Any, y: Any) -> Any:
        left = torch.tanh(x * 1.5 + y)
        return left * torch.sigmoid(x)

    return {
        "matmul": torch.matmul,
        "linear_relu": linear_relu,
        "mlp": mlp,
        "softmax": lambda x: torch.softmax(x, dim=-1),
        "layer_norm": lambda x, w, b: functional.layer_norm(x, w.shape, w, b),
        "attention": functional.scaled_dot_product_attention,
        "chain": chain,
        "sum_last": lambda x: x.sum(dim=-1),
        "sum_first": lambda x: x.sum(dim=0),
        "transpose": lambda x: x.T.contiguous(),
        "conv3x3": lambda x, w: functional.conv2d(x, w, padding=1),
        "add": torch.add,
    }
