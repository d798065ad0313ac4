"""Algorithms written by hand: the tree interpreter, LLVM and C against NumPy, for every variant, also cut into many parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.spec import KERNEL, verify
from ingot.ir.text import eval_text, text
from ingot.kernel.skeleton import compact, grouped, local, scatter, search, table
from ingot.kernel.skeleton.form import Skeleton
from tests.kernel.execute import Native, interpret

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)
SHAPES = [(1, 0), (3, 2), (2, 17), (1, 150)]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few elements, so that small rows have several."""
    monkeypatch.setattr(grouped, "PART", 64)
    monkeypatch.setattr(grouped, "BIN_BITS", dict.fromkeys((1, 2, 4, 8), 7))
    monkeypatch.setattr(compact, "PART", 48)
    monkeypatch.setattr(search, "PART", 24)
    monkeypatch.setattr(scatter, "DEALT", 32)
    monkeypatch.setattr(scatter, "COPIED", 40)


def skeleton(
    name: str,
    variant: str,
    types: tuple[dt.DType, ...],
    outputs: int = 1,
    **options: Any,
) -> Skeleton:
    return Skeleton(
        name,
        {},
        (),
        (),
        types=types,
        outputs=outputs,
        options=tuple(options.items()),
        variant=variant,
    )


def keys(kind: dt.DType, shape: tuple[int, int], spread: str) -> Array:
    """Rows of keys: anything, few different ones, one, or the ends of the type."""
    top = 2 ** (8 * kind.itemsize) - 1
    few = {
        "few": [7, 8, 9],
        "one": [5],
        "ends": [0, 1, top - 1, top],
    }
    array = (
        RNG.integers(0, top, shape, np.uint64, endpoint=True)
        if spread == "any"
        else RNG.choice(np.array(few[spread], np.uint64), shape)
    )
    return array.astype(dt.to_numpy(kind))


def sizes_of(*numbers: int) -> dict[str, int | float]:
    return {f"n{i}": n for i, n in enumerate(numbers)}


class Everywhere:
    """One kernel by interpreter and compiled code."""

    def __init__(self, kernel: Skeleton, languages: tuple[str, ...]) -> None:
        self.kernel = kernel
        self.natives = [Native(kernel, language) for language in languages]

    def check(
        self, inputs: list[Array], outputs: list[Array], *numbers: int
    ) -> None:
        """`outputs` is what should come out; where it is shorter than its memory the rest is left over."""
        ways: list[Callable[[list[Array], dict[str, int | float]], None]] = [
            lambda buffers, sizes: interpret(self.kernel, buffers, sizes),
            *(native.run for native in self.natives),
        ]
        for run in ways:
            made = [np.zeros_like(out) for out in outputs]
            run([*inputs, *made], sizes_of(*numbers))
            for got, want in zip(made, outputs, strict=True):
                np.testing.assert_array_equal(got, want)


VARIANTS = ["vectors", "cache", "groups"]
KINDS = [dt.uint8, dt.uint32, dt.uint64]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_sorted_rows(kind: dt.DType, variant: str) -> None:
    languages = ("llvm", "c") if kind is dt.uint32 else ("llvm",)
    ways = Everywhere(skeleton("sort_rows", variant, (kind, kind)), languages)
    for shape in SHAPES:
        for spread in ("any", "few", "ends"):
            given = keys(kind, shape, spread)
            ways.check([given], [np.sort(given, -1)], *shape)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_orders_are_stable(kind: dt.DType, variant: str) -> None:
    languages = ("llvm", "c") if kind is dt.uint64 else ("llvm",)
    ways = Everywhere(skeleton("order_rows", variant, (kind, dt.int32)), languages)
    for shape in SHAPES:
        for spread in ("any", "few"):
            given = keys(kind, shape, spread)
            want = np.argsort(given, -1, kind="stable").astype(np.int32)
            ways.check([given], [want], *shape)


def test_long_keys_that_differ_in_lower_bits_alone() -> None:
    """Sorting by the upper bits leaves nearly everything to the turns after it, and then to all bits."""
    kind = dt.uint64
    ways = Everywhere(skeleton("sort_rows", "cache", (kind, kind)), ("llvm",))
    upper = RNG.integers(0, 2, (1, 200), np.uint64) << np.uint64(62)
    given = upper | RNG.integers(0, 2**30, (1, 200), np.uint64)
    ways.check([given], [np.sort(given, -1)], 1, 200)
    assert local.TURNS < 100  # fewer turns than items that are out of place


@pytest.mark.parametrize("variant", ["vectors", "bins"])
@pytest.mark.parametrize("kind", [dt.uint32, dt.uint64], ids=str)
def test_first_places(kind: dt.DType, variant: str) -> None:
    ways = Everywhere(skeleton("select_rows", variant, (kind, dt.int32)), ("llvm",))
    for shape in SHAPES[1:]:
        for count in {1, shape[1] // 2, shape[1]}:
            for spread in ("any", "one"):
                given = keys(kind, shape, spread)
                order = np.argsort(given, -1, kind="stable").astype(np.int32)
                want = np.ascontiguousarray(order[:, :count])
                ways.check([given], [want], *shape, count)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("kind", [dt.float32, dt.int64], ids=str)
def test_searching(kind: dt.DType, right: bool) -> None:
    types = (kind, kind, dt.int64)
    ways = Everywhere(
        skeleton("search_rows", "halves", types, right=right), ("llvm", "c")
    )
    side: Any = "right" if right else "left"
    for rows, length, count in [(1, 0, 3), (1, 1, 5), (2, 7, 40), (1, 64, 33)]:
        given = np.sort(RNG.integers(-9, 9, (rows, length)), -1).astype(
            dt.to_numpy(kind)
        )
        values = RNG.integers(-11, 11, (rows, count)).astype(dt.to_numpy(kind))
        if kind.is_float and length > 1:
            given[:, -1], values[:, 0] = np.nan, np.nan
        want = np.stack(
            [
                np.searchsorted(g, v, side)
                for g, v in zip(given, values, strict=True)
            ]
        )
        ways.check([given, values], [want], rows, length, count)


MODES: dict[str, Any] = {
    "set": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(
    ("variant", "width"),
    [("plain", 3), ("columns", 40), ("columns", 9), ("ranges", 1)],
)
def test_scattering_in_the_order_of_indices(
    variant: str, width: int, mode: str
) -> None:
    types = (dt.float32, dt.int64, dt.float32, dt.float32)
    languages = ("llvm", "c") if mode == "add" else ("llvm",)
    ways = Everywhere(
        skeleton("scatter_rows", variant, types, mode=mode), languages
    )
    for rows, count in [(5, 0), (7, 100), (200, 70)]:
        base = RNG.standard_normal((rows, width), np.float32)
        places = RNG.integers(0, rows, count)
        updates = RNG.standard_normal((count, width), np.float32)
        want = base.copy()
        for at, update in zip(places, updates, strict=True):
            want[at] = MODES[mode](want[at], update)
        ways.check([base, places, updates], [want], rows, width, count)


def test_scattering_wide_values_in_ranges() -> None:
    types = (dt.int64, dt.int64, dt.int64, dt.int64)
    ways = Everywhere(
        skeleton("scatter_rows", "ranges", types, mode="add"), ("llvm",)
    )
    places, updates = RNG.integers(0, 90, 300), RNG.integers(-9, 9, (300, 1))
    want = np.zeros((90, 1), np.int64)
    np.add.at(want, places, updates)
    ways.check([np.zeros((90, 1), np.int64), places, updates], [want], 90, 1, 300)


def test_compacting() -> None:
    types = (dt.boolean, dt.int64, dt.int64)
    kernel = skeleton("compact", "parts", types, outputs=2)
    natives = [Native(kernel, language) for language in ("llvm", "c")]
    for count, likely in [
        (0, 0.5),
        (1, 1.0),
        (47, 0.0),
        (200, 0.4),
        (200, 1.0),
        (333, 0.1),
    ]:
        mask = RNG.random(count) < likely
        want = np.flatnonzero(mask)
        for run in (
            lambda b, s: interpret(kernel, b, s),
            *(n.run for n in natives),
        ):
            places, total = np.full(count, -1), np.zeros(1, np.int64)
            run([mask, places, total], sizes_of(count))
            assert total[0] == len(want)
            np.testing.assert_array_equal(places[: len(want)], want)


@pytest.mark.parametrize("name", list(table.ALGORITHMS))
def test_trees_keep_the_rules_and_have_a_text(name: str) -> None:
    types = {
        "scatter_rows": (dt.float32, dt.int64, dt.float32, dt.float32),
        "compact": (dt.boolean, dt.int64, dt.int64),
        "pick": (dt.boolean, dt.float32, dt.float32, dt.int64),
        "search_rows": (dt.float32, dt.float32, dt.int64),
        "sort_rows": (dt.uint32, dt.uint32),
    }.get(name, (dt.uint32, dt.int32))
    options: dict[str, dict[str, Any]] = {
        "scatter_rows": {"mode": "add"},
        "search_rows": {"right": False},
    }
    for variant in table.ALGORITHMS[name].variants:
        kernel = skeleton(
            name,
            variant.name,
            types,
            1 + (name in ("compact", "pick")),
            **options.get(name, {}),
        )
        for launch in table.build(kernel).launches:
            verify(launch, KERNEL)
            assert eval_text(text(launch)) is launch
