"""The pipeline: from program graph to results. In: nodes. Out: memory. Next: tensor/ shows them to users."""

from ingot.pipeline.buffers import (
    buffer_node,
    gone,
    has_memory,
    memory,
    placeholder,
)
from ingot.pipeline.evaluation import explain, prepare, realize, size
from ingot.pipeline.sizes import settled, settled_shape

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
