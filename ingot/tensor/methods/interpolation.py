"""Methods: interpolation. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, build

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ops.interpolation import Factors, Outputs


class InterpolationMethods(Handle):
    """Ops of ops/interpolation.py as methods."""

    __slots__ = ()

    def interpolate(
        self,
        size: Outputs | None = None,
        scale_factor: Factors | None = None,
        mode: str = "nearest",
        align_corners: bool = False,
        **unknown: Never,
    ) -> Self:
        """Images in another size: nearest, linear, bilinear, trilinear, bicubic or area."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["interpolate"](
            self.uop,
            size=size,
            scale_factor=scale_factor,
            mode=mode,
            align_corners=align_corners,
        ))

