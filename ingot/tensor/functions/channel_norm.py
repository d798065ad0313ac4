"""Functions: channel_norm. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node, optional
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def batch_norm(
    x: Value,
    weight: Value | None = None,
    bias: Value | None = None,
    running_mean: Value | None = None,
    running_var: Value | None = None,
    eps: float = 1e-05,
    **unknown: Never,
) -> Tensor:
    """Each channel shifted and scaled by the given mean and variance, or by its own over the batch."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["batch_norm"](
        node(x),
        optional(weight),
        optional(bias),
        optional(running_mean),
        optional(running_var),
        eps=eps,
    ))


def group_norm(
    x: Value,
    groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-05,
    **unknown: Never,
) -> Tensor:
    """Groups of channels of each row shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["group_norm"](node(x), optional(weight), optional(bias), groups=groups, eps=eps))


def instance_norm(
    x: Value,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-05,
    **unknown: Never,
) -> Tensor:
    """Each channel of each row shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["instance_norm"](node(x), optional(weight), optional(bias), eps=eps))


