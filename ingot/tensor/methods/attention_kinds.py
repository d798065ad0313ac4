"""Methods: attention_kinds. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, node, optional

if TYPE_CHECKING:
    from typing import Never, Self


class AttentionKindsMethods(Handle):
    """Ops of ops/attention_kinds.py as methods."""

    __slots__ = ()

    def grouped_query_attention(
        self,
        key: Value,
        value: Value,
        mask: Value | None = None,
        causal: bool = False,
        scale: float | None = None,
        window: int | None = None,
        **unknown: Never,
    ) -> Self:
        """Attention whose heads of queries share heads of keys; with a window, a query sees keys less than that far back."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["grouped_query_attention"](
            self.uop,
            node(key),
            node(value),
            optional(mask),
            causal=causal,
            scale=scale,
            window=window,
        ))

