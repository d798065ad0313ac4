"""save and load, pickle, copies, and tensors on their way to other processes."""

from __future__ import annotations

import copy
import gc
import json
import math
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot import pipeline
from ingot.errors import ArgumentError, DTypeError

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
    *("uint64", "float16", "bfloat16", "float32", "float64"),
)


def kept(value: Any, tmp_path: Path) -> Any:
    path = tmp_path / "file.safetensors"
    ig.save(value, path)
    return ig.load(path)


def same(a: Any, b: Any) -> bool:
    """Equal in value, type and make; a tensor with its bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, ig.Tensor):
        return a.dtype is b.dtype and np.array_equal(a.numpy(), b.numpy())
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


def test_a_tree_comes_back(tmp_path: Path) -> None:
    tree = {
        "weights": [ig.ones((2, 3)), ig.arange(4)],
        "pair": (ig.tensor(2.5), np.arange(3, dtype=np.int16)),
        3: {True: "yes", None: b"\x00\xff", 1.5: ig.bfloat16},
        "numbers": [0.1, -0.0, math.nan, math.inf, 2**80, -7, True, None, "ä"],
        "empty": ({}, [], ()),
        "zeros": ig.zeros((0, 3)),
    }
    assert same(kept(tree, tmp_path), tree)


@pytest.mark.parametrize("name", NAMES)
def test_every_type_keeps_its_bits(name: str, tmp_path: Path) -> None:
    x = ig.tensor(np.array([[0, 1, 3], [2, 1, 100]])).astype(name)
    found = kept(x, tmp_path)
    assert found.dtype is x.dtype
    np.testing.assert_array_equal(found.numpy(), x.numpy())


def test_pending_tensors_are_computed_once_for_all(tmp_path: Path) -> None:
    x = ig.arange(5) + 1
    y = x * 2
    found = kept([x, y, x], tmp_path)
    assert found[0] is found[2]
    np.testing.assert_array_equal(found[1].numpy(), [2, 4, 6, 8, 10])


def test_names_that_meet_stay_apart(tmp_path: Path) -> None:
    tree = {"a.b": ig.ones(1), "a": {"b": ig.zeros(2)}, "__metadata__": ig.ones(3)}
    assert same(kept(tree, tmp_path), tree)


def test_a_loaded_tensor_lies_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    ig.save({"x": ig.arange(1000)}, path)
    x = ig.load(path)["x"]
    assert not pipeline.memory(x.uop).writable
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    assert str(path) in maps
    y = x + 1
    x += 1
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    np.testing.assert_array_equal(ig.load(path)["x"].numpy(), np.arange(1000))
    del x, y
    gc.collect()
    assert str(path) not in Path("/proc/self/maps").read_text(encoding="utf-8")


def test_a_copy_does_not_hold_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    ig.save(ig.arange(10), path)
    x = ig.load(path, copy=True)
    assert str(path) not in Path("/proc/self/maps").read_text(encoding="utf-8")
    assert x.tolist() == list(range(10))


def test_saving_over_what_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    ig.save(ig.arange(10), path)
    x = ig.load(path)
    ig.save(x * 2, path)
    assert x.tolist() == list(range(10))
    assert ig.load(path).tolist() == list(range(0, 20, 2))


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    ig.save(ig.arange(3), path)
    with pytest.raises(DTypeError, match=r"save: a\.0 is a object"):
        ig.save({"a": [object()]}, path)
    with pytest.raises(FileNotFoundError):
        ig.save(ig.arange(3), tmp_path / "nowhere" / "file")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _full)
        with pytest.raises(OSError, match="no space"):
            ig.save(ig.arange(5), path)
    assert ig.load(path).tolist() == [0, 1, 2]
    assert os.listdir(tmp_path) == ["file"]


def _full(number: int) -> None:
    raise OSError("no space")


# --- damaged files ----------------------------------------------------------------------------------------------------


def file_of(header: dict[str, Any], values: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + values


ROW = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
GOOD = file_of({"x": ROW}, bytes(8))
DAMAGED: list[tuple[bytes, str]] = [
    (b"", "no safetensors file"),
    (b"abc", "no safetensors file"),
    (b"PK\x03\x04 and so on", "a zip archive"),
    (b"\x80\x04\x95 and so on", "a pickle, which can run any code"),
    (b"\x93NUMPY and so on", "a .npy file"),
    (b"x" * 100, "something else"),
    (GOOD[:20], "is cut off"),
    (GOOD[:-1], "is cut off"),
    (GOOD + b"1", "1 bytes after the last tensor"),
    ((20).to_bytes(8, "little") + b"{" + b"x" * 30, "the header of"),
    (file_of({"x": ROW | {"dtype": "F8_E4M3"}}, bytes(8)), "F8_E4M3"),
    (file_of({"x": ROW | {"shape": [3]}}, bytes(8)), "sizes do not fit"),
    (file_of({"x": ROW | {"shape": [-2]}}, bytes(8)), "sizes do not fit"),
    (file_of({"x": ROW | {"data_offsets": [4, 12]}}, bytes(12)), "begins at 4"),
    (file_of({"x": 3}, bytes(8)), "a type that Ingot lacks"),
    (
        file_of({"x": ROW, "__metadata__": {"ingot.tree": "[3"}}, bytes(8)),
        "the tree in",
    ),
    (
        file_of(
            {"x": ROW, "__metadata__": {"ingot.tree": '["tensor", "y"]'}}, bytes(8)
        ),
        "the tree in",
    ),
]


@pytest.mark.parametrize(("content", "words"), DAMAGED)
def test_damage_is_named(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises((ArgumentError, DTypeError)) as caught:
        ig.load(path)
    assert words in str(caught.value)
    assert "file" in str(caught.value)


def test_every_cut_of_a_file_is_found(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    ig.save({"a": ig.arange(3), "b": [ig.ones(2), 5]}, whole)
    content = whole.read_bytes()
    part = tmp_path / "part"
    for length in range(0, len(content), 7):
        part.write_bytes(content[:length])
        with pytest.raises(ArgumentError):
            ig.load(part)


# --- other programs -----------------------------------------------------------------------------------------------------


def test_safetensors_reads_our_files(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "file"
    ig.save({"w": ig.ones((2, 3)), "deep": {"b": ig.arange(4)}, "n": 5}, path)
    found = library.load_file(path)
    assert sorted(found) == ["deep.b", "w"]
    np.testing.assert_array_equal(found["deep.b"], np.arange(4))


def test_safetensors_writes_files_for_us(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "file"
    arrays = {"w": np.ones((2, 3), np.float16), "b": np.arange(5)}
    library.save_file(arrays, path)
    found = ig.load(path)
    assert sorted(found) == ["b", "w"]
    assert found["w"].dtype is ig.float16
    np.testing.assert_array_equal(found["b"].numpy(), np.arange(5))


# --- pickle, copies, processes ------------------------------------------------------------------------------------------

COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    lambda x: pickle.loads(pickle.dumps(x)),
    lambda x: pickle.loads(pickle.dumps(x, protocol=2)),
]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("name", NAMES)
def test_copies_have_values_of_their_own(
    copied: Callable[[Any], Any], name: str
) -> None:
    x = (ig.arange(4) % 2).astype(name)
    y = copied(x)
    assert y is not x
    assert same(y, x)
    before = x.numpy()
    y[0] = 1
    np.testing.assert_array_equal(x.numpy(), before)


@pytest.mark.parametrize("copied", COPIES)
def test_copies_keep_what_a_tensor_is_for(copied: Callable[[Any], Any]) -> None:
    x = ig.Tensor([1.0, 2.0], requires_grad=True, name="weight")
    y = copied(x)
    assert (y.requires_grad, y.name) == (True, "weight")
    (y * y).sum().backward()
    assert y.grad is not None
    assert x.grad is None


def test_deepcopy_of_a_tree() -> None:
    tree = {"a": [ig.ones(2), ig.arange(3)], "b": 3}
    assert same(copy.deepcopy(tree), tree)


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.filterwarnings(
    "ignore:.*fork:RuntimeWarning"
)  # JAX warns, if another test loaded it
def test_tensors_go_to_other_processes(method: str) -> None:
    context = multiprocessing.get_context(method)
    x = ig.arange(6).astype("float32").reshape(2, 3) * 2
    with context.Pool(1) as pool:
        (found,) = pool.map_async(ig.sqrt, [x]).get(timeout=120)
    np.testing.assert_allclose(found.numpy(), np.sqrt(x.numpy()), rtol=1e-6)


def test_threads_save_and_load_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    ig.save(ig.full((100,), 0), path)
    wrong: list[Any] = []

    def work(number: int) -> None:
        for _ in range(10):
            ig.save(ig.full((100,), number), path)
            values = set(ig.load(path).tolist())
            wrong.extend([values] if len(values) > 1 else [])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
