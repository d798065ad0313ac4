"""Methods: attention. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, node, optional

if TYPE_CHECKING:
    from typing import Never, Self


class AttentionMethods(Handle):
    """Ops of ops/attention.py as methods."""

    __slots__ = ()

    def scaled_dot_product_attention(
        self,
        key: Value,
        value: Value,
        mask: Value | None = None,
        causal: bool = False,
        scale: float | None = None,
        **unknown: Never,
    ) -> Self:
        """softmax(query @ key.T * scale) @ value. A mask says which keys a query sees; causal: those not after it."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["scaled_dot_product_attention"](
            self.uop,
            node(key),
            node(value),
            optional(mask),
            causal=causal,
            scale=scale,
        ))

