"""NumPy's functions on tensors. In: the function and what it was called with. Out: a lazy tensor where Ingot has the op.

A row of the table below names the op and NumPy's own order of parameters, under Ingot's names for them. A function without
a row is computed by NumPy itself on the values, and gives NumPy's array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir.dtype import from_numpy
from ingot.ops.op import REGISTRY, Op
from ingot.tensor.handle import Handle, beside, build
from ingot.tensor.tree import leaves, mapped

_REDUCE = "x axis dtype out keepdims initial where"
_ORDER = "x axis out keepdims where"
_SPREAD = "x axis dtype out correction keepdims where mean"
_POSITION = "x axis out keepdims"

# NumPy's name -> the op, and NumPy's parameters in order. `*tensors` takes a sequence.
FUNCTIONS: dict[str, tuple[str, str]] = {
    "sum": ("sum", _REDUCE),
    "prod": ("prod", _REDUCE),
    "mean": ("mean", "x axis dtype out keepdims where"),
    "std": ("std", _SPREAD),
    "var": ("var", _SPREAD),
    "max": ("max", "x axis out keepdims initial where"),
    "amax": ("max", "x axis out keepdims initial where"),
    "min": ("min", "x axis out keepdims initial where"),
    "amin": ("min", "x axis out keepdims initial where"),
    "any": ("any", _ORDER),
    "all": ("all", _ORDER),
    "argmax": ("argmax", _POSITION),
    "argmin": ("argmin", _POSITION),
    "count_nonzero": ("count_nonzero", "x axis"),
    "nansum": ("nansum", _REDUCE),
    "nanmean": ("nanmean", "x axis dtype out keepdims where"),
    "nanmax": ("nanmax", "x axis out keepdims initial where"),
    "nanmin": ("nanmin", "x axis out keepdims initial where"),
    "ptp": ("ptp", "x axis out keepdims"),
    "cumsum": ("cumulative_sum", "x axis dtype out"),
    "cumprod": ("cumulative_prod", "x axis dtype out"),
    "cumulative_sum": ("cumulative_sum", "x axis dtype out include_initial"),
    "cumulative_prod": ("cumulative_prod", "x axis dtype out include_initial"),
    "concatenate": ("concat", "*tensors axis out dtype"),
    "stack": ("stack", "*tensors axis out dtype"),
    "hstack": ("hstack", "*tensors dtype"),
    "vstack": ("vstack", "*tensors dtype"),
    "where": ("where", "condition yes no"),
    "clip": ("clip", "x min max out"),
    "round": ("round", "x decimals out"),
    "around": ("round", "x decimals out"),
    "nan_to_num": ("nan_to_num", "x copy nan posinf neginf"),
    "isclose": ("isclose", "a b rtol atol equal_nan"),
    "allclose": ("allclose", "a b rtol atol equal_nan"),
    "reshape": ("reshape", "x shape order"),
    "ravel": ("ravel", "x order"),
    "transpose": ("permute", "x axes"),
    "permute_dims": ("permute", "x axes"),
    "matrix_transpose": ("transpose", "x"),
    "swapaxes": ("transpose", "x first second"),
    "moveaxis": ("moveaxis", "x source destination"),
    "squeeze": ("squeeze", "x axis"),
    "expand_dims": ("unsqueeze", "x axis"),
    "broadcast_to": ("expand", "x shape subok"),
    "flip": ("flip", "x axis"),
    "flipud": ("flipud", "x"),
    "fliplr": ("fliplr", "x"),
    "roll": ("roll", "x shift axis"),
    "rot90": ("rot90", "x k axes"),
    "tile": ("tile", "x repetitions"),
    "repeat": ("repeat", "x repeats axis"),
    "pad": ("pad", "x widths mode"),
    "diff": ("diff", "x n axis prepend append"),
    "diagonal": ("diagonal", "x offset axis1 axis2"),
    "diag": ("diag", "x offset"),
    "tril": ("tril", "x diagonal"),
    "triu": ("triu", "x diagonal"),
    "take": ("take", "x indices axis out"),
    "take_along_axis": ("take_along_axis", "x indices axis"),
    "sort": ("sort", "x axis"),
    "argsort": ("argsort", "x axis"),
    "dot": ("matmul", "left right out"),
    "outer": ("outer", "a b out"),
    "tensordot": ("tensordot", "a b axes"),
    "linalg.norm": ("norm", "x ord axis keepdims"),
}
# NumPy's words for a parameter -> ours.
_WORDS = {
    **dict.fromkeys(("a", "arr", "m", "v", "array", "ary", "A"), "x"),
    "a_min": "min",
    "a_max": "max",
    "ddof": "correction",
    "newshape": "shape",
    "pad_width": "widths",
    "reps": "repetitions",
    "constant_values": "value",
    "axis1": "first",
    "axis2": "second",
}
# Values that say nothing: NumPy passes them on, and so may users.
_SILENT: dict[str, Any] = {
    "decimals": 0,
    "order": "C",
    "mode": "constant",
    "copy": True,
    "subok": False,
    "where": True,
}

# Universal functions whose op has another name.
_UFUNCS = {
    "true_divide": "divide",
    "power": "pow",
    "float_power": "pow",
    "absolute": "abs",
    "fabs": "abs",
    "rint": "round",
    "invert": "bitwise_invert",
    "bitwise_not": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "conjugate": "conj",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    **{
        f"arc{name}": f"a{name}"
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    "arctan2": "atan2",
}
_FOLDS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logaddexp": "logsumexp",
}
# Asked of an array as a whole, without its values.
_LOOKS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: x.shape,
    "ndim": lambda x: len(x.shape),
    "size": lambda x: x.size,
    "copy": lambda x: x.of(x.uop),
}


# --- universal functions ----------------------------------------------------------------------------------------------


def ufunc_op(name: str) -> str | None:
    """The op of a universal function."""
    found = _UFUNCS.get(name, name)
    return found if found in REGISTRY and REGISTRY[found].public else None


def universal(
    own: Handle,
    ufunc: Any,
    method: str,
    inputs: Sequence[Any],
    named: dict[str, Any],
) -> Any:
    """np.add(x, y), np.add.reduce(x) and `array += x`."""
    targets = named.pop("out", None)
    if targets is not None:
        return _written(ufunc, method, inputs, named, targets)
    said = {
        k: v for k, v in named.items() if v is not None and v is not np._NoValue
    }
    if method == "reduce" and ufunc.__name__ in _FOLDS:
        return _folded(own, _FOLDS[ufunc.__name__], inputs, said)
    name = ufunc_op(ufunc.__name__)
    if method != "__call__" or name is None:
        return by_numpy(getattr(ufunc, method), inputs, said)
    dtype = said.pop("dtype", None)
    _refuse(f"np.{ufunc.__name__}", [k for k in said if k != "casting"])
    values = [beside(own, value) for value in inputs]
    made = build[name](*values)
    return own.of(made if dtype is None else made.cast(from_numpy(np.dtype(dtype))))


def _folded(
    own: Handle, name: str, inputs: Sequence[Any], said: dict[str, Any]
) -> Any:
    axis = said.pop("axis", 0) if len(inputs) < 2 else inputs[1]
    keepdims = bool(said.pop("keepdims", False))
    _refuse(f"the reduction {name}", list(said))
    return own.of(build[name](own.uop, axis=axis, keepdims=keepdims))


def _written(
    ufunc: Any,
    method: str,
    inputs: Sequence[Any],
    named: dict[str, Any],
    targets: Any,
) -> Any:
    """`array += x` writes into the array, which is NumPy's."""
    if any(isinstance(target, Handle) for target in targets):
        raise ArgumentError(
            f"np.{ufunc.__name__}: out is a tensor, whose values do not change",
            fix="use the result, or write x[...] = result",
        )
    return by_numpy(getattr(ufunc, method), inputs, {**named, "out": targets})


# --- functions --------------------------------------------------------------------------------------------------------


def name_of(function: Any) -> str:
    """`mean`, `linalg.norm`."""
    module = getattr(function, "__module__", None) or "numpy"
    parts = [*module.split(".")[1:], function.__name__]
    return ".".join(part for part in parts if not part.startswith("_"))


def called(own: Handle, function: Any, args: Sequence[Any], named: Any) -> Any:
    """np.mean(x, axis=0): the op, or NumPy on the values."""
    name = name_of(function)
    if name in _LOOKS and len(args) == 1 and not named:
        return _LOOKS[name](args[0])
    row = FUNCTIONS.get(name)
    if row is None or row[0] not in REGISTRY:
        return by_numpy(function, args, named)
    op, order = REGISTRY[row[0]], row[1].split()
    given = _named_arguments(f"np.{name}", op, order, args, named)
    dtype = given.pop("dtype", None)
    made = _built(own, op, given)
    if dtype is not None:
        made = made.cast(from_numpy(np.dtype(dtype)))
    return own.of(made)


def _named_arguments(
    name: str,
    op: Op,
    order: Sequence[str],
    args: Sequence[Any],
    named: Mapping[str, Any],
) -> dict[str, Any]:
    """What was given, under the op's names, without what says nothing."""
    words = [word.lstrip("*") for word in order]
    known = {_ours(word, words): value for word, value in named.items()}
    given = {**dict(zip(words, args, strict=False)), **known}
    said = {k: v for k, v in given.items() if not _is_silent(k, v)}
    takes = {*op.signature.parameters, "dtype"}
    _refuse(name, [k for k in said if k not in takes])
    return said


def _ours(word: str, words: Sequence[str]) -> str:
    return word if word in words else _WORDS.get(word, word)


def _is_silent(word: str, value: Any) -> bool:
    if value is None or value is np._NoValue:
        return True
    silent = _SILENT.get(word, np._NoValue)
    return type(value) is type(silent) and bool(value == silent)


def _built(own: Handle, op: Op, given: dict[str, Any]) -> Any:
    """The node of an op over tensors, arrays and numbers by name."""
    first = next(iter(op.signature.parameters.values()))
    if first.kind is first.VAR_POSITIONAL:
        several = [_input(own, value) for value in given.pop(first.name)]
        return build[op.name](*several, **given)
    if op.name == "permute" and "axes" not in given:
        given["axes"] = tuple(range(len(given["x"].shape)))[::-1]
    values = {
        word: _input(own, given.pop(word)) for word in op.inputs if word in given
    }
    if op.is_named:
        return build[op.name](*values.values(), **given)
    return build[op.name](**values, **given)


def _input(own: Handle, value: Any) -> Any:
    """A node or a number; NumPy takes lists, too."""
    array = np.asarray(value) if isinstance(value, list | tuple) else value
    return beside(own, array)


def _refuse(name: str, words: Sequence[str]) -> None:
    if words:
        raise ArgumentError(
            f"{name}: {words[0]} has no meaning for a tensor",
            fix=f"leave it out, or let NumPy compute: {name}(np.asarray(x), ...)",
        )


def by_numpy(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """NumPy's own result, on the values."""
    values, words = mapped(_value, (tuple(args), dict(named)))
    return function(*values, **words)


def _value(leaf: Any) -> Any:
    return np.asarray(leaf) if isinstance(leaf, Handle) else leaf


def first_tensor(args: Any, named: Any) -> Handle:
    """The tensor that NumPy found among the arguments."""
    return next(v for v in leaves((args, named)) if isinstance(v, Handle))
