"""Host code and failed checks, as the native program calls them. In: steps of a recipe. Out: functions of addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ingot.errors import DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.assertion import failure
from ingot.ir.region import EXTERNS
from ingot.pipeline.host import evaluate
from ingot.pipeline.recipe import Array, Check, Host

Memory = np.ndarray[Any, Any]


def view(address: int, dtype: str, shape: tuple[int, ...]) -> Memory:
    """The memory at an address."""
    kind = dt.to_numpy(dt.named(dtype))
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.zeros(shape, kind)
    words = (ctypes.c_ubyte * (count * kind.itemsize)).from_address(address)
    whole: Memory = np.frombuffer(memoryview(words), kind)
    return whole.reshape(shape)


def host_call(step: Host, variables: Mapping[str, int]) -> Callable[..., None]:
    """Host code over memory: arrays to read, then arrays to fill. It is looked up when it runs."""
    arrays = (*step.inputs, *step.outputs)
    shapes = [tuple(evaluate(n, variables) for n in a.shape) for a in arrays]
    count = len(step.inputs)

    def call(*addresses: int) -> None:
        views = [
            view(address, array.dtype, shape)
            for address, array, shape in zip(addresses, arrays, shapes, strict=True)
        ]
        for given in views[:count]:
            given.flags.writeable = False
        made = EXTERNS[step.name](*views[:count])
        results = made if isinstance(made, tuple) else (made,)
        _deliver(step, results, views[count:])

    return call


def _deliver(step: Host, results: tuple[Any, ...], places: list[Memory]) -> None:
    if len(results) != len(places):
        raise ShapeError(
            f"host code {step.name}: results",
            given=len(results),
            wanted=len(places),
        )
    for number, (result, place) in enumerate(zip(results, places, strict=True)):
        made = np.asarray(result)
        if made.shape != place.shape:
            raise ShapeError(
                f"host code {step.name}: result {number}",
                given=made.shape,
                wanted=place.shape,
            )
        if made.dtype != place.dtype:
            raise DTypeError(
                f"host code {step.name}: result {number}",
                given=made.dtype,
                wanted=step.outputs[number].dtype,
            )
        if made.size:
            np.copyto(place, made)


def checker(step: Check) -> Callable[..., None]:
    """What is called when a check fails: reads the details, and raises."""

    def fail(*addresses: int) -> None:
        numbers = [
            _scalar(address, dtype)
            for address, (_, dtype) in zip(addresses, step.details, strict=True)
        ]
        raise failure(step.error, step.message, numbers)

    return fail


def _scalar(address: int, dtype: str) -> Any:
    value = view(address, dtype, ())
    if dtype == "bfloat16":
        return dt.from_bits(dt.bfloat16, int(value))
    return value.item()


def size_in_bytes(array: Array) -> str:
    """As Python over the program's variables."""
    width = dt.to_numpy(dt.named(array.dtype)).itemsize
    return " * ".join((str(width), *(f"({n})" for n in array.shape)))
