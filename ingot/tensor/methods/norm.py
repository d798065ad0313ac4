"""Methods: norm. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, optional

if TYPE_CHECKING:
    from typing import Never, Self


class NormMethods(Handle):
    """Ops of ops/norm.py as methods."""

    __slots__ = ()

    def layer_norm(
        self,
        weight: Value | None = None,
        bias: Value | None = None,
        eps: float = 1e-05,
        axes: int = unset(1),
        *,
        dims: int = unset(1),
        **unknown: Never,
    ) -> Self:
        """The last axes shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
        if unknown:
            raise unknown_argument(unknown)
        axes = one_of("layer_norm", "axes", axes, "dims", dims)
        return self.of(build["layer_norm"](self.uop, optional(weight), optional(bias), eps=eps, axes=axes))

    def rms_norm(
        self,
        weight: Value | None = None,
        eps: float = 1e-05,
        axes: int = unset(1),
        *,
        dims: int = unset(1),
        **unknown: Never,
    ) -> Self:
        """The last axes scaled to mean square 1, then times weight."""
        if unknown:
            raise unknown_argument(unknown)
        axes = one_of("rms_norm", "axes", axes, "dims", dims)
        return self.of(build["rms_norm"](self.uop, optional(weight), eps=eps, axes=axes))

