"""jit: functions captured once and replayed. In: a function over tensors. Out: the same function without graph work."""

from ingot.jit.function import Jit, jit

__all__ = ["Jit", "jit"]
