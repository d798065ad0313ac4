"""Every row of docs/neighbours.md, and what the tables cannot say: whose memory it is, and what is an error."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot import pipeline
from ingot.errors import ArgumentError, DeviceError, DTypeError
from tests.tensor.neighbours import PAGE, TABLES, Row, page

V = np.array([[0.5, 2.0, -1.0], [3.0, 1.5, 4.0]], np.float32)
A = np.array([[1.0, 0.25, 2.0], [3.0, 1.0, 0.5]])
ROWS = [
    pytest.param(package, row, id=f"{name}: {row.write}")
    for name, (package, rows) in TABLES.items()
    for row in rows
]


def names(package: str) -> dict[str, Any]:
    """What the expressions of a table speak of."""
    found: dict[str, Any] = {"np": np, "ig": ig, "a": A.copy(), "v": V.copy()}
    found["x"] = ig.tensor(V)
    module = found[package] = pytest.importorskip(package)
    if package == "torch":
        found["t"] = module.tensor(V + 1)
    if package == "jax":
        found["jnp"] = import_module("jax.numpy")
        found["j"] = found["jnp"].asarray(V + 1)
    if package == "cupy":
        found["c"] = module.asarray(V)
    if package == "pandas":
        found["pd"], found["s"] = module, module.Series([1.0, 2.0, 3.0])
        found["df"] = module.DataFrame({"one": [1.0, 2.0], "two": [3.0, 4.0]})
    if package == "matplotlib":
        module.use("Agg")
        found["plt"] = import_module("matplotlib.pyplot")
    return found


def kind(value: Any) -> str:
    """Its type, and that of its elements."""
    words = [type(value).__name__, str(getattr(value, "dtype", ""))]
    return "None" if value is None else " ".join(word for word in words if word)


@pytest.mark.parametrize(("package", "row"), ROWS)
def test_rows(package: str, row: Row) -> None:
    known = names(package)
    value = eval(row.write, known)
    assert kind(value) == row.gives
    wanted = eval(row.same, known)
    if isinstance(wanted, np.ndarray | np.generic):
        _same_values(value, wanted)
    elif not isinstance(value, ig.Tensor):
        assert value == wanted


def _same_values(value: Any, wanted: Any) -> None:
    if kind(value) == "Tensor torch.bfloat16":
        value = value.float()
    if isinstance(value, bytes):
        value = np.frombuffer(value, np.float32).reshape(wanted.shape)
    np.testing.assert_allclose(np.asarray(value), wanted, rtol=1e-6)


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run python -m tests.tensor.neighbours"
    )


@pytest.fixture(autouse=True)
def figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_numpy_functions_are_lazy() -> None:
    x: Any = ig.tensor(V) * 1.0
    made: list[Any] = [np.mean(np.exp(x)), np.concatenate([x, x]), x]
    assert not any(y.is_evaluated() for y in made)


# --- whose memory it is -----------------------------------------------------------------------------------------------


def test_a_borrowed_array_lives_as_long_as_its_tensor() -> None:
    array = np.ones(5)
    gone = weakref.ref(array)
    x = ig.from_dlpack(array)
    del array
    gc.collect()
    assert gone() is not None
    np.testing.assert_array_equal(x.numpy(), np.ones(5))
    del x
    gc.collect()
    assert gone() is None


def test_a_borrowed_torch_tensor_is_shared_and_freed() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.ones(5)
    x = ig.from_dlpack(theirs)
    theirs[0] = 7
    assert x.numpy()[0] == 7
    address = theirs.data_ptr()
    assert pipeline.memory(x.uop).address == address
    del theirs
    gc.collect()
    np.testing.assert_array_equal(x.numpy(), [7, 1, 1, 1, 1])


def _lease(x: ig.Tensor) -> Any:
    return pipeline.memory(x.realize().uop).owner


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_memory_handed_out_lives_as_long_as_its_reader(library: str) -> None:
    module = pytest.importorskip(library)
    reader = module.numpy if library == "jax" else module
    x = (ig.tensor(V) * 2).realize()
    owner = weakref.ref(_lease(x))
    theirs = reader.from_dlpack(x)
    del x
    gc.collect()
    assert owner() is not None
    np.testing.assert_array_equal(np.asarray(theirs), V * 2)
    del theirs
    gc.collect()
    assert owner() is None


def test_memory_handed_out_is_the_same_memory() -> None:
    x = ig.tensor(V).realize()
    array = np.from_dlpack(x)
    assert array.__array_interface__["data"][0] == pipeline.memory(x.uop).address
    assert not array.flags.writeable


def test_a_copy_is_asked_for() -> None:
    x = ig.tensor(V).realize()
    array = np.from_dlpack(x, copy=True)
    array[:] = 0
    np.testing.assert_array_equal(x.numpy(), V)


def test_arrays_beside_operators_are_copied() -> None:
    array = np.ones(3)
    y = ig.zeros(3) + array
    array[:] = 5
    np.testing.assert_array_equal(y.numpy(), np.ones(3))


def test_a_numpy_array_is_written_in_place() -> None:
    array = A.copy()
    same = array
    array += ig.tensor(V)
    assert array is same
    np.testing.assert_allclose(array, A + V)


def test_the_buffer_is_read_only() -> None:
    view = ig.tensor(V).data()
    assert (view.readonly, view.format, view.shape) == (True, "f", (2, 3))


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="Python 3.12 asks classes for buffers"
)
def test_the_buffer_protocol() -> None:
    x: Any = ig.tensor(V)
    view = memoryview(x)
    assert view.tolist() == V.tolist()


# --- errors -----------------------------------------------------------------------------------------------------------


class OnCuda:
    """An array on a GPU, as DLPack describes it."""

    def __dlpack__(self, **asked: Any) -> object:
        raise AssertionError("asked for memory that cannot be read")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def test_memory_of_a_gpu_is_refused() -> None:
    with pytest.raises(DeviceError, match="the array lies on CUDA"):
        ig.from_dlpack(OnCuda())


def test_what_speaks_no_dlpack_is_refused() -> None:
    with pytest.raises(DTypeError, match="list does not speak DLPack"):
        ig.from_dlpack([1, 2])


def test_gaps_are_copied_or_refused() -> None:
    array = np.arange(10.0)[::2]
    np.testing.assert_array_equal(ig.from_dlpack(array).numpy(), array)
    with pytest.raises(ArgumentError, match="the memory has gaps"):
        ig.from_dlpack(array, copy=False)


def test_numpy_keywords_without_a_meaning_are_named() -> None:
    x = ig.tensor(V)
    with pytest.raises(ArgumentError, match=r"np\.mean: where has no meaning"):
        np.mean(x, where=V > 0)
    with pytest.raises(ArgumentError, match="out is a tensor"):
        np.add(V, V, out=(x,))  # type: ignore[arg-type]


def test_an_array_without_a_copy_is_refused() -> None:
    with pytest.raises(ValueError, match="copy=False cannot be had"):
        np.asarray(ig.tensor(V), copy=False)


def test_tables_of_words_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DTypeError, match="a DataFrame holds Python objects"):
        ig.tensor(pandas.DataFrame({"a": ["x", "y"]}))


def test_einops_may_come_before_or_after_ingot() -> None:
    if find_spec("einops") is None:
        pytest.skip("einops is not installed")
    import subprocess

    for order in ("import ingot as ig, einops", "import einops, ingot as ig"):
        program = (
            f"{order}; print(einops.rearrange(ig.ones((2, 3)), 'a b -> b a').shape)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == "(3, 2)"
