"""Functions: interpolation. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ops.interpolation import Factors, Outputs


def interpolate(
    x: Value,
    size: Outputs | None = None,
    scale_factor: Factors | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
    **unknown: Never,
) -> Tensor:
    """Images in another size: nearest, linear, bilinear, trilinear, bicubic or area."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["interpolate"](
        node(x),
        size=size,
        scale_factor=scale_factor,
        mode=mode,
        align_corners=align_corners,
    ))


