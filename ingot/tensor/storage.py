"""Files of tensors. In: a tree of tensors and plain values, and a path. Out: the file, and the tree again.

    ig.save({"w": w, "steps": 10}, "model.safetensors")
    ig.load("model.safetensors")                    tensors over the mapped file: nothing is read until it is used

The file is a safetensors file: eight bytes with the length of a header, the header in JSON, the values. What safetensors
has no place for (lists, numbers, nested dictionaries) stands in the header's own text for programs, as JSON too. Nothing in
a file is ever executed.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ingot import pipeline
from ingot.errors import ArgumentError, DTypeError, NoFileError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.spelling import hint
from ingot.tensor.computed import in_memory
from ingot.tensor.evaluate import evaluate
from ingot.tensor.handle import Array, array_node
from ingot.tensor.stored_tree import TREE, Packing, unpacked
from ingot.tensor.tensor import Tensor

__all__ = ["load", "save"]

FilePath = str | os.PathLike[str]
_TYPES = {
    "F64": dt.float64,
    "F32": dt.float32,
    "F16": dt.float16,
    "BF16": dt.bfloat16,
    "I64": dt.int64,
    "I32": dt.int32,
    "I16": dt.int16,
    "I8": dt.int8,
    "U64": dt.uint64,
    "U32": dt.uint32,
    "U16": dt.uint16,
    "U8": dt.uint8,
    "BOOL": dt.boolean,
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_LONGEST_HEADER = 100 << 20  # as in safetensors itself
_LINE = 64  # values start at whole cache lines


class Entry(NamedTuple):
    """Where a tensor lies among the values."""

    dtype: DType
    shape: tuple[int, ...]
    start: int
    end: int


# --- writing ----------------------------------------------------------------------------------------------------------


def save(obj: Any, path: FilePath) -> None:
    """Write tensors to a file: one tensor, or any nesting of dictionaries, lists and tuples, with plain values among them.

    Pending tensors are computed, all at once. NumPy arrays come back as arrays. The file appears whole or not at all: it
    is written beside its place and then moved there. Other programs read it as a safetensors file.
    """
    packing = Packing()
    tree = packing.packed(obj, ())
    evaluate([t for t in packing.found.values() if isinstance(t, Tensor)])
    values = {name: _values(value) for name, value in packing.found.items()}
    # The widest types come first, so that every tensor lies at a multiple of its own size.
    order = sorted(values, key=lambda name: (-values[name][1].itemsize, name))
    header = _header({name: values[name] for name in order}, tree)
    _write(Path(path), [header, *(_bytes(values[name][0]) for name in order)])


def _values(value: Tensor | Array) -> tuple[Array, DType]:
    """The memory of a tensor, and its type."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value), dt.from_numpy(value.dtype)
    node = in_memory(value.uop)
    shape = tuple(pipeline.size(n) for n in node.shape)
    stored = pipeline.memory(node).as_array(dt.to_numpy(node.dtype), shape)
    return stored, node.dtype


def _bytes(array: Array) -> memoryview:
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _header(values: Mapping[str, tuple[Array, DType]], tree: Any) -> bytes:
    """The length of the JSON text, and the text; spaces after it bring the values to a whole line."""
    content: dict[str, Any] = {
        "__metadata__": {"format": "ingot", TREE: json.dumps(tree)}
    }
    at = 0
    for name, (array, dtype) in values.items():
        content[name] = {
            "dtype": _NAMES[dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _LINE)
    return len(text).to_bytes(8, "little") + text


def _write(path: Path, parts: Sequence[bytes | memoryview]) -> None:
    """Beside its place, then moved there: nobody sees half a file."""
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    try:
        with open(beside, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


# --- reading ----------------------------------------------------------------------------------------------------------


def load(path: FilePath, *, copy: bool = False) -> Any:
    """What `save` wrote; of another safetensors file, a dictionary of its tensors.

    The file is mapped: values are read when they are used, and processes that load the same file share its pages. Replacing
    the file, as `save` does, leaves loaded tensors alone; cutting it off or writing into it does not. `copy=True` reads
    everything now, into memory of its own.
    """
    file = Path(path)
    mapped = _mapped(file)
    header, start = _parsed(file, mapped)
    notes = header.pop("__metadata__", {})
    entries = _entries(file, header, len(mapped) - start)
    arrays = {
        name: _array(mapped, start, entry, copy) for name, entry in entries.items()
    }
    made = {
        name: Tensor.of(array_node(arrays[name], entry.dtype, borrow=True))
        for name, entry in entries.items()
    }
    if TREE not in notes:
        return made
    return unpacked(str(file), notes[TREE], made, arrays)


def _no_file(file: Path) -> NoFileError:
    folder = file.parent
    others = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    what = "is a folder" if file.is_dir() else "does not exist"
    return NoFileError(
        f"load: {file} {what}",
        fix=hint(file.name, others)
        or f"paths start at the working directory; there is {'no such file in' if folder.is_dir() else 'no folder'} {folder}",
    )


def _mapped(file: Path) -> mmap.mmap | bytes:
    if not file.is_file():
        raise _no_file(file)
    with open(file, "rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        if size < 8:
            raise _foreign_file(file, opened.read(8))
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)


def _parsed(file: Path, mapped: mmap.mmap | bytes) -> tuple[dict[str, Any], int]:
    """The header, and where the values start."""
    length = int.from_bytes(mapped[:8], "little")
    if not 2 <= length <= _LONGEST_HEADER or mapped[8:9] != b"{":
        raise _foreign_file(file, bytes(mapped[:8]))
    if 8 + length > len(mapped):
        raise _cut_off(file, 8 + length, len(mapped))
    try:
        found = json.loads(bytes(mapped[8 : 8 + length]).decode())
    except ValueError as error:
        raise ArgumentError(
            f"load: the header of {file} is damaged: {error}"
        ) from None
    if not isinstance(found, dict):
        raise _foreign_file(file, bytes(mapped[:8]))
    return found, 8 + length


_OTHERS = {
    b"PK": "a zip archive, as torch.save and np.savez write: read it with those",
    b"\x80": "a pickle, which can run any code: Ingot does not read those",
    b"\x93NUMPY": "a .npy file: read it with np.load",
    b"GGUF": "a GGUF file",
    b"\x89HDF": "an HDF5 file",
}


def _foreign_file(file: Path, start: bytes) -> ArgumentError:
    known = [word for mark, word in _OTHERS.items() if start.startswith(mark)]
    what = (
        known[0]
        if known
        else f"something else, or damaged: it begins with {start!r}"
    )
    return ArgumentError(
        f"load: {file} is no safetensors file but {what}",
        wanted="a file that ig.save or safetensors has written",
    )


def _cut_off(file: Path, wanted: int, given: int) -> ArgumentError:
    return ArgumentError(
        f"load: {file} is cut off",
        given=f"{given} bytes",
        wanted=f"{wanted} bytes",
        fix="copy or save it again",
    )


def _entries(file: Path, header: Mapping[str, Any], size: int) -> dict[str, Entry]:
    """The tensors of a file: side by side, and nothing else."""
    found = {name: _entry(file, name, row) for name, row in header.items()}
    at = 0
    for name, entry in sorted(found.items(), key=lambda item: item[1][2:]):
        if entry.start != at:
            raise ArgumentError(
                f"load: {file} is damaged: {name} begins at {entry.start}, not at {at}"
            )
        at = entry.end
    if at > size:
        raise _cut_off(file, at, size)
    if at < size:
        raise ArgumentError(
            f"load: {file} is damaged: {size - at} bytes after the last tensor"
        )
    return found


def _entry(file: Path, name: str, row: Any) -> Entry:
    kind = row.get("dtype") if isinstance(row, dict) else row
    dtype = _TYPES.get(kind) if isinstance(kind, str) else None
    if dtype is None:
        raise DTypeError(
            f"load: {name} in {file} has a type that Ingot lacks",
            given=kind,
            wanted=", ".join(_TYPES),
        )
    numbers = [*_whole(row.get("shape")), *_whole(row.get("data_offsets"))]
    entry = (
        Entry(dtype, tuple(numbers[:-2]), *numbers[-2:])
        if len(numbers) > 1
        else None
    )
    if (
        entry is None
        or math.prod(entry.shape) * dtype.itemsize != entry.end - entry.start
    ):
        raise ArgumentError(
            f"load: {file} is damaged: {name} is {row}, whose sizes do not fit each other"
        )
    return entry


def _whole(numbers: Any) -> Iterator[int]:
    """The numbers of a list that are sizes."""
    given = numbers if isinstance(numbers, list) else []
    return (n for n in given if isinstance(n, int) and n >= 0)


def _array(
    mapped: mmap.mmap | bytes, start: int, entry: Entry, copy: bool
) -> Array:
    kind = dt.to_numpy(entry.dtype)
    count = math.prod(entry.shape)
    if count == 0:
        return np.zeros(entry.shape, kind)
    flat: Array = np.frombuffer(mapped, kind, count, start + entry.start)
    return (flat.copy() if copy else flat).reshape(entry.shape)
