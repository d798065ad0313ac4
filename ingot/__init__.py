"""Ingot: one tensor program, forged into every target.

Public names, nothing else. Functions of tensors come from `tensor/namespace.py`, which `python -m ingot.tensor.generate`
writes: every op, and the `__all__` of the other files of tensor/. Each is imported when it is first asked for.
`ingot.tensor` is the function; the folder of that name is reached by `from ingot.tensor import ...`.
"""

__version__ = "0.1.0"

from typing import TYPE_CHECKING

from ingot.jit import jit as jit
from ingot.tensor.creation import tensor as tensor
from ingot.tensor.unknown import missing_name as _missing_name

if TYPE_CHECKING:
    from ingot import emit as emit
    from ingot.model import Input as Input
    from ingot.model import LogicalModel as LogicalModel
    from ingot.model import Output as Output
    from ingot.model import Parameter as Parameter
    from ingot.model import State as State
    from ingot.tensor.namespace import *  # noqa: F403
else:
    from importlib import import_module as _import_module

    from ingot.tensor.namespace import PLACES as _PLACES
    from ingot.tensor.namespace import look_up as _look_up

    _MODELS = ("Input", "LogicalModel", "Output", "Parameter", "State")
    __all__ = ["__version__", "jit", *_PLACES, *_MODELS, "emit"]

    def __getattr__(name: str) -> object:
        if name == "emit":
            return _import_module("ingot.emit")
        if name in _MODELS:
            found = getattr(_import_module("ingot.model"), name)
        elif name in _PLACES:
            found = _look_up(name)
        else:
            _missing_name(name, __all__)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return __all__
