"""Arrays of other libraries, by the protocols that they share. In: a torch, JAX or CuPy array, a pandas table. Out: NumPy arrays.

DLPack hands memory over with a note on who frees it, so nothing is copied and nothing is freed too early. NumPy speaks it
for us, but knows no bfloat16: such memory is passed through NumPy under the name of 16-bit integers.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from ingot.errors import ArgumentError, DeviceError, DTypeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType

Array = np.ndarray[Any, Any]

CPU = (1, 0)  # DLPack's name for the memory of the host
_DEVICES = {2: "CUDA", 3: "pinned CUDA memory", 4: "OpenCL", 8: "Metal", 10: "ROCm"}


class Foreign(NamedTuple):
    """Memory as NumPy sees it, and the type of its elements."""

    array: Array
    dtype: DType


def is_foreign(value: object) -> bool:
    """An array of another library, or something that knows how to become one."""
    kind = type(value)
    speaks = hasattr(kind, "__dlpack__") or hasattr(kind, "__array__")
    return speaks or isinstance(value, memoryview)


def foreign(value: Any) -> Foreign:
    """The elements of a foreign array; shares its memory where it can."""
    if hasattr(type(value), "__dlpack__") and not isinstance(value, np.ndarray):
        return borrowed(value)
    array = np.asarray(value)
    if array.dtype.kind == "O":
        raise DTypeError(
            f"a {type(value).__name__} holds Python objects; wanted numbers",
            fix="choose the columns that hold numbers, or convert it with .astype(...)",
        )
    return Foreign(array, dt.from_numpy(array.dtype))


def is_dense(array: Array) -> bool:
    """The elements lie side by side, in some order of the axes."""
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    return bool(array.transpose(order).flags.c_contiguous)


# --- DLPack -----------------------------------------------------------------------------------------------------------


class _Type(ctypes.Structure):
    """How DLPack writes an element type."""

    _fields_ = (
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


_UNSIGNED, _BFLOAT = 1, 4
# Where the element type lies behind a capsule: after the address, the device and the rank; the newer form has a head.
_OFFSETS = {b"dltensor": 20, b"dltensor_versioned": 52}
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_address_of = ctypes.pythonapi.PyCapsule_GetPointer
_address_of.restype = ctypes.c_void_p
_address_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _type_in(capsule: object) -> _Type:
    """The element type, to read or to write."""
    name = _name_of(capsule)
    return _Type.from_address(_address_of(capsule, name) + _OFFSETS[name])


class _Handed:
    """A capsule on its way to NumPy."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **wanted: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


def borrowed(value: Any) -> Foreign:
    """The memory of anything that speaks DLPack: it lives as long as the array does."""
    if not hasattr(type(value), "__dlpack__"):
        raise DTypeError(
            f"from_dlpack: {type(value).__name__} does not speak DLPack",
            fix="make a copy of it with ig.tensor(...)",
        )
    kind, _ = value.__dlpack_device__()
    if kind != CPU[0]:
        name = _DEVICES.get(kind, f"device {kind} of DLPack")
        raise DeviceError(
            f"from_dlpack: the array lies on {name}",
            wanted="memory of the CPU",
            fix="copy it there first, for example with .cpu()",
        )
    capsule = _capsule_of(value)
    element = _type_in(capsule)
    is_bfloat16 = (element.code, element.bits) == (_BFLOAT, 16)
    if is_bfloat16:
        element.code = _UNSIGNED
    array = _array_of(capsule, value)
    return Foreign(
        array, dt.bfloat16 if is_bfloat16 else dt.from_numpy(array.dtype)
    )


def _capsule_of(value: Any) -> object:
    """The newer form, which can say that memory is only to be read; some know only the older one."""
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:
        return value.__dlpack__()


def _array_of(capsule: object, value: object) -> Array:
    try:
        return np.from_dlpack(_Handed(capsule))
    except (BufferError, RuntimeError, TypeError) as error:
        raise DTypeError(
            f"from_dlpack: NumPy cannot read the {type(value).__name__}: {error}"
        ) from error


class Asked(NamedTuple):
    """What the other side wants to be given."""

    stream: None
    max_version: tuple[int, int] | None
    dl_device: tuple[int, int] | None
    copy: bool | None


def handed_over(array: Array, dtype: DType, asked: Asked) -> object:
    """A capsule over an array's memory, which it keeps alive."""
    _check_asked(asked)
    shown = array.copy() if asked.copy else array
    if asked.max_version is None or asked.max_version < (1, 0):
        capsule = shown.__dlpack__()
    else:  # the newer form can say what is true of every tensor: its memory is not to be written
        shown = shown.view()
        shown.flags.writeable = bool(asked.copy)
        capsule = shown.__dlpack__(max_version=asked.max_version)
    if dtype is dt.bfloat16:
        _type_in(capsule).code = _BFLOAT
    return capsule


def _check_asked(asked: Asked) -> None:
    if asked.dl_device not in (None, CPU):
        raise DeviceError(
            "__dlpack__: values are handed over in the memory of the CPU",
            given=asked.dl_device,
            wanted=CPU,
        )
    if asked.stream is not None:
        raise ArgumentError(
            "__dlpack__: there are no streams on a CPU", given=asked.stream
        )
