"""The pipeline: from program graph to results. In: nodes. Out: memory. Next: tensor/ shows them to users."""

from ingot.pipeline.buffers import buffer_node, memory, placeholder
from ingot.pipeline.realize import prepare, realize

__all__ = ["buffer_node", "memory", "placeholder", "prepare", "realize"]
