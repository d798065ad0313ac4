"""`ingot cache` shows and clears what the runtime keeps, and nothing else."""

from pathlib import Path

import pytest

from ingot.cli import main
from ingot.runtime.cache import ObjectCache
from ingot.settings import settings


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["cache", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_an_empty_cache_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with settings.override(cache_dir=tmp_path / "none", cache_limit=1 << 20):
        lines = shown(capsys)
    assert lines == [
        f"directory  {tmp_path / 'none'}",
        "entries    0",
        "size       0.0 MiB of 1.0 MiB",
    ]
    assert not (tmp_path / "none").exists()


def test_clear_removes_entries_and_leaves_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "cache"
    ObjectCache(place, 1 << 30).put("0123abcd", b"x" * (3 << 20))
    (place / "costs.json").write_text("{}")
    with settings.override(cache_dir=place):
        assert shown(capsys)[1:3] == [
            "entries    1",
            "size       3.0 MiB of 1024.0 MiB",
        ]
        assert shown(capsys, "clear")[-1] == "removed 1 entries"
    assert [path.name for path in place.iterdir()] == ["costs.json"]
