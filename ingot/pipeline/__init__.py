"""The pipeline: from program graph to results. In: nodes. Out: memory. Next: tensor/ shows them to users.

What runs programs is imported by the first one that runs.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ingot.pipeline.buffers import (
    buffer_node,
    gone,
    has_memory,
    memory,
    placeholder,
)

if TYPE_CHECKING:
    from ingot.pipeline.evaluation import explain, prepare, realize, size
    from ingot.pipeline.sizes import settled, settled_shape
else:
    _PLACES = {
        "explain": "ingot.pipeline.evaluation",
        "prepare": "ingot.pipeline.evaluation",
        "realize": "ingot.pipeline.evaluation",
        "settled": "ingot.pipeline.sizes",
        "settled_shape": "ingot.pipeline.sizes",
        "size": "ingot.pipeline.evaluation",
    }

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(_import_module(_PLACES[name]), name)
        globals()[name] = found
        return found


__all__ = [
    "buffer_node",
    "explain",
    "gone",
    "has_memory",
    "memory",
    "placeholder",
    "prepare",
    "realize",
    "settled",
    "settled_shape",
    "size",
]
