"""The parts of the Python array API standard that are no ops: types, constants, what the namespace can do, asarray.

In: types, tensors, Python values. Out: answers about them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, DTypeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ops.promotion import (
    DEFAULT_FLOAT,
    DEFAULT_INT,
    meet,
    of_number,
    promote,
    resolve,
)
from ingot.tensor.handle import Handle
from ingot.tensor.tensor import Tensor

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "asarray",
    "can_cast",
    "e",
    "finfo",
    "iinfo",
    "inf",
    "isdtype",
    "nan",
    "newaxis",
    "pi",
    "result_type",
]

__array_api_version__ = "2024.12"
e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None

Typed = DType | str | Handle


def _type_of(given: Any) -> DType:
    if isinstance(given, Handle):
        return given.uop.dtype
    if isinstance(given, DType | str):
        return resolve(given)
    raise DTypeError(f"{given!r} is neither a type nor a tensor")


# --- limits -------------------------------------------------------------------------------------------------------


class finfo:
    """The limits of a float type."""

    def __init__(self, type: Typed) -> None:
        self.dtype = _type_of(type)
        if not self.dtype.is_float:
            raise DTypeError(
                f"finfo: {self.dtype} is no float type", fix="use iinfo"
            )
        self.bits = self.dtype.bits
        digits = _FRACTION[self.dtype]
        least = 1 - ((1 << (self.bits - 2 - digits)) - 1)
        top = dt.to_bits(self.dtype, math.inf) - 1
        self.max = float(dt.from_bits(self.dtype, top))
        self.min = -self.max
        self.eps = 2.0**-digits
        self.smallest_normal = 2.0**least

    def __repr__(self) -> str:
        return f"finfo({self.dtype}: {self.min:g}..{self.max:g}, eps {self.eps:g})"


_FRACTION = {dt.float16: 10, dt.bfloat16: 7, dt.float32: 23, dt.float64: 52}


class iinfo:
    """The limits of an integer type."""

    def __init__(self, type: Typed) -> None:
        self.dtype = _type_of(type)
        if not self.dtype.is_int:
            raise DTypeError(
                f"iinfo: {self.dtype} is no integer type", fix="use finfo"
            )
        self.bits = self.dtype.bits
        self.min, self.max = int(dt.least(self.dtype)), int(dt.greatest(self.dtype))

    def __repr__(self) -> str:
        return f"iinfo({self.dtype}: {self.min}..{self.max})"


# --- kinds and conversions ----------------------------------------------------------------------------------------

_KINDS: dict[str, tuple[Kind, ...]] = {
    "bool": (Kind.BOOL,),
    "signed integer": (Kind.INT,),
    "unsigned integer": (Kind.UINT,),
    "integral": (Kind.INT, Kind.UINT),
    "real floating": (Kind.FLOAT,),
    "complex floating": (),
    "numeric": (Kind.INT, Kind.UINT, Kind.FLOAT),
}


def isdtype(dtype: DType | str, kind: Any) -> bool:
    """Whether a type is of a kind: a name such as "integral", a type, or one of several."""
    given = resolve(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(given, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return given.kind in _KINDS[kind]
    if isinstance(kind, str) and kind not in {d.name for d in dt.ALL}:
        known = ", ".join(_KINDS)
        raise ArgumentError(
            f"isdtype: unknown kind {kind!r}; wanted a type or one of {known}"
        )
    return given is resolve(kind)


def can_cast(given: Typed, to: DType | str) -> bool:
    """Whether every value of one type, or of a tensor's type, can be held by another by the rules of promotion."""
    source, target = _type_of(given), resolve(to)
    if source.kind is not target.kind and Kind.BOOL in (source.kind, target.kind):
        return source is target
    if source.is_float and not target.is_float:
        return False
    if not source.is_float and target.is_float:
        return False
    try:
        return promote(source, target) is target
    except DTypeError:
        return False


def result_type(*given: Any) -> DType:
    """The type in which tensors, types and Python numbers meet."""
    if not given:
        raise ArgumentError(
            "result_type: nothing is given", fix="give types or tensors"
        )
    numbers = [x for x in given if isinstance(x, bool | int | float)]
    types = [_type_of(x) for x in given if not isinstance(x, bool | int | float)]
    if not types:
        found = of_number(numbers[0])
        return found
    found = types[0]
    for other in types[1:]:
        found = promote(found, other)
    for number in numbers:
        found = meet(found, number)
    return found


# --- from anything ------------------------------------------------------------------------------------------------


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | str | None = None,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A tensor of anything that looks like one. Tensors are immutable values, so one is shared unless copy=True."""
    target = None if dtype is None else resolve(dtype)
    if not isinstance(obj, Tensor):
        if copy is False and not isinstance(obj, np.ndarray):
            raise ArgumentError(
                f"asarray: copy=False, but {type(obj).__name__} has no memory of a tensor to share",
                fix="leave copy out",
            )
        return Tensor(obj, target, device=device)
    if target is None or target is obj.dtype:
        return Tensor.of(obj.uop) if copy else obj
    if copy is False:
        raise ArgumentError(
            f"asarray: copy=False, but {obj.dtype} has to be converted to {target}",
            fix="leave copy or dtype out",
        )
    return obj.astype(target)


# --- what the namespace can do ------------------------------------------------------------------------------------

_DTYPES = {
    name: dt.named(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "float32", "float64"),
    )
}


class __array_namespace_info__:
    """What this namespace can do, as the standard asks."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks and sizes that depend on data; up to 64 axes."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> str:
        """Where tensors are computed."""
        return Tensor(0).device

    def devices(self) -> list[str]:
        """All devices of this process."""
        return [self.default_device()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The types of Python numbers."""
        return {
            "real floating": DEFAULT_FLOAT,
            "complex floating": DEFAULT_FLOAT,
            "integral": DEFAULT_INT,
            "indexing": DEFAULT_INT,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The types of a kind, or all of them."""
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if kind is None:
            return dict(_DTYPES)
        return {
            n: d for n, d in _DTYPES.items() if any(isdtype(d, k) for k in kinds)
        }
