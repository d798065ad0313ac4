"""Targets: the row that a machine's own description leads to, and costs that survive on disk."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from ingot.errors import CacheWarning
from ingot.target import (
    SM90A,
    Costs,
    costs_file,
    default_costs,
    describe,
    host,
    load_costs,
    read_caches,
    save_costs,
)

V2 = "fpu sse sse2 cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"
V3 = V2 + " avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
V4 = V3 + " avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni amx_int8"


def x86(flags: str) -> str:
    return f"processor\t: 0\nmodel name\t: Some CPU @ 2.80GHz\nflags\t\t: {flags}\nbugs\t\t: none\n"


@pytest.mark.parametrize(
    ("flags", "name", "vector_bytes"),
    [
        ("fpu sse sse2", "x86-64", 16),
        (V2, "x86-64-v2", 16),
        (V3, "x86-64-v3", 32),
        (V3.replace("fma ", ""), "x86-64-v2", 16),
        (V4, "x86-64-v4", 64),
        (V4.replace("avx512vl", ""), "x86-64-v3", 32),
        ("", "x86-64", 16),
    ],
)
def test_x86_levels(flags: str, name: str, vector_bytes: int) -> None:
    target = describe("x86_64", x86(flags))
    assert (target.name, target.vector_bytes) == (name, vector_bytes)
    assert target.cpu == name


def test_extensions_are_named_as_llvm_does() -> None:
    target = describe("x86_64", x86(V4))
    assert target.features == ("amx-int8", "avx512vnni")
    assert target.key() == "x86_64-unknown-linux-gnu;x86-64-v4;amx-int8;avx512vnni"
    assert target.lanes(4) == 16


def test_aarch64() -> None:
    target = describe(
        "aarch64",
        "processor\t: 0\nFeatures\t: fp asimd asimddp bf16\nCPU part\t: 0xd40\n",
    )
    assert (target.name, target.vector_bytes, target.registers, target.fma) == (
        "aarch64",
        16,
        32,
        True,
    )
    assert target.features == ("dotprod", "bf16")
    assert target.model == "0xd40"


def test_the_key_knows_what_changes_code_and_no_more() -> None:
    target = describe("x86_64", x86(V3))
    assert replace(target, cores=64, l2=1, model="other").key() == target.key()
    assert describe("x86_64", x86(V4)).key() != target.key()


def test_caches_are_read_by_level(tmp_path: Path) -> None:
    for index, (level, kind, size) in enumerate(
        [(1, "Data", 48), (1, "Instruction", 32), (2, "Unified", 1280)]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        (folder / "level").write_text(f"{level}\n")
        (folder / "type").write_text(f"{kind}\n")
        (folder / "size").write_text(f"{size}K\n")
    assert read_caches(tmp_path) == {1: 48 << 10, 2: 1280 << 10}
    assert read_caches(tmp_path / "nowhere") == {}


def test_the_host_is_sound() -> None:
    target = host()
    assert target.cores >= 1
    assert 0 < target.l1 <= target.l2
    assert target.vector_bytes in (16, 32, 64)


def test_the_gpu_row() -> None:
    assert SM90A.block_threads % SM90A.warp == 0
    assert SM90A.shared_static < SM90A.shared_block < SM90A.shared_sm
    assert SM90A.key() == "cuda;sm_90a"


def test_costs_survive_on_disk(tmp_path: Path) -> None:
    target = describe("x86_64", x86(V4))
    assert load_costs(tmp_path, target) == default_costs(target)
    measured = Costs(fma_gflops=184.5, barrier_ns=310.0)
    save_costs(tmp_path / "new", target, measured)
    assert load_costs(tmp_path / "new", target) == measured
    assert load_costs(
        tmp_path / "new", replace(target, model="another CPU")
    ) == default_costs(target)
    assert [path.name for path in (tmp_path / "new").iterdir()] == [
        "costs-Some-CPU-2-80GHz-1.json"
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"fma_gflops": 1.0}', "\x00"])
def test_a_damaged_file_is_a_warning(tmp_path: Path, text: str) -> None:
    target = describe("x86_64", x86(V4))
    costs_file(tmp_path, target).write_text(text)
    with pytest.warns(CacheWarning, match="delete it to measure again"):
        assert load_costs(tmp_path, target) == default_costs(target)


@pytest.mark.parametrize(
    "value", ["0", "-1.0", '"fast"', "null", "true", "1e300", "NaN"]
)
def test_impossible_costs_are_refused(tmp_path: Path, value: str) -> None:
    target = describe("x86_64", x86(V4))
    numbers = ", ".join(f'"{f.name}": {value}' for f in fields(Costs))
    costs_file(tmp_path, target).write_text("{" + numbers + "}")
    with pytest.warns(CacheWarning):
        load_costs(tmp_path, target)
