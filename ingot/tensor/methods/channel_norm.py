"""Methods: channel_norm. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, optional

if TYPE_CHECKING:
    from typing import Never, Self


class ChannelNormMethods(Handle):
    """Ops of ops/channel_norm.py as methods."""

    __slots__ = ()

    def batch_norm(
        self,
        weight: Value | None = None,
        bias: Value | None = None,
        running_mean: Value | None = None,
        running_var: Value | None = None,
        eps: float = 1e-05,
        **unknown: Never,
    ) -> Self:
        """Each channel shifted and scaled by the given mean and variance, or by its own over the batch."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["batch_norm"](
            self.uop,
            optional(weight),
            optional(bias),
            optional(running_mean),
            optional(running_var),
            eps=eps,
        ))

    def group_norm(
        self,
        groups: int,
        weight: Value | None = None,
        bias: Value | None = None,
        eps: float = 1e-05,
        **unknown: Never,
    ) -> Self:
        """Groups of channels of each row shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["group_norm"](self.uop, optional(weight), optional(bias), groups=groups, eps=eps))

    def instance_norm(
        self,
        weight: Value | None = None,
        bias: Value | None = None,
        eps: float = 1e-05,
        **unknown: Never,
    ) -> Self:
        """Each channel of each row shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["instance_norm"](self.uop, optional(weight), optional(bias), eps=eps))

