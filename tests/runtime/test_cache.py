"""The cache keeps bytes, and survives everything that can be wrong with a directory."""

import errno
import os
import resource
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.errors import ArgumentError, CacheWarning
from ingot.runtime.cache import ObjectCache

LIMIT = 1 << 20
KEY, OTHER = "00000000000000c1", "00000000000000c2"
NOBODY = 65534


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache"


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_bytes_come_back_in_another_cache(directory: Path) -> None:
    ObjectCache(directory, LIMIT).put(KEY, b"code")
    again = ObjectCache(directory, LIMIT)
    assert again.get(KEY) == b"code"
    assert again.get(OTHER) is None
    assert files(directory) == [KEY + ".bin"]
    assert directory.stat().st_mode & 0o777 == 0o700


def test_empty_and_replaced_values(directory: Path) -> None:
    cache = ObjectCache(directory, LIMIT)
    cache.put(KEY, b"")
    assert cache.get(KEY) == b""
    cache.put(KEY, b"new")
    assert ObjectCache(directory, LIMIT).get(KEY) == b"new"


@pytest.mark.parametrize(
    "key",
    ["", "short", "../../../etc/passwd", "ABCDEF0123", "0" * 129, "00000000\n"],
)
def test_keys_are_digests(directory: Path, key: str) -> None:
    with pytest.raises(ArgumentError, match="hex digits"):
        ObjectCache(directory, LIMIT).get(key)


@pytest.mark.parametrize("limit", [0, LIMIT])
def test_no_directory_means_memory(directory: Path, limit: int) -> None:
    cache = ObjectCache(None if limit else directory, limit)
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"
    assert cache.entries() == []
    assert not directory.exists()


def test_remove_and_clear(directory: Path) -> None:
    cache = ObjectCache(directory, LIMIT)
    for key in (KEY, OTHER):
        cache.put(key, b"code")
    cache.remove(KEY)
    assert cache.get(KEY) is None
    assert [entry.key for entry in cache.entries()] == [OTHER]
    cache.clear()
    assert files(directory) == []


# --- damage ---


@pytest.mark.parametrize("damage", ["cut", "longer", "flipped", "empty", "garbage"])
def test_a_corrupt_entry_is_removed(directory: Path, damage: str) -> None:
    cache = ObjectCache(directory, LIMIT)
    cache.put(KEY, b"code" * 100)
    path = directory / (KEY + ".bin")
    raw = path.read_bytes()
    flipped = raw[:-5] + bytes([raw[-5] ^ 1]) + raw[-4:]
    wrong = {
        "cut": raw[:-1],
        "longer": raw + b"x",
        "flipped": flipped,
        "empty": b"",
        "garbage": b"x" * 1000,
    }
    path.write_bytes(wrong[damage])
    assert cache.get(KEY) is None
    assert not path.exists()
    cache.put(KEY, b"again")
    assert cache.get(KEY) == b"again"


# --- size ---


def test_the_least_recently_used_go_first(directory: Path) -> None:
    cache = ObjectCache(directory, 10_000)
    keys = [f"{number:016x}" for number in range(8)]
    for age, key in enumerate(keys):
        cache.put(key, bytes(1000))
        os.utime(directory / (key + ".bin"), (1e9 + age, 1e9 + age))
    assert cache.get(keys[0]) is not None, "reading marks the oldest as used"
    cache.put(KEY, bytes(3000))
    kept = {entry.key for entry in cache.entries()}
    assert {keys[0], keys[7], KEY} <= kept
    assert not {keys[1], keys[2]} & kept
    assert sum(entry.nbytes for entry in cache.entries()) <= 10_000


def test_what_other_processes_write_counts_too(directory: Path) -> None:
    one, two = ObjectCache(directory, 20_000), ObjectCache(directory, 20_000)
    for number in range(200):
        cache = two if number % 2 else one
        cache.put(f"{number:016x}", bytes(1000))
    assert sum(entry.nbytes for entry in one.entries()) <= 2 * 20_000


def test_an_entry_above_the_limit_stays_in_memory(directory: Path) -> None:
    cache = ObjectCache(directory, 1000)
    cache.put(KEY, bytes(2000))
    assert cache.get(KEY) == bytes(2000)
    assert cache.entries() == []


def test_abandoned_temporary_files_are_swept(directory: Path) -> None:
    directory.mkdir(parents=True)
    old, young = directory / ".c1.aa.tmp", directory / ".c1.bb.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    ObjectCache(directory, LIMIT).put(KEY, b"code")
    assert files(directory) == [young.name, KEY + ".bin"]


# --- directories that cannot be used: one warning, and work goes on ---


def works_in_memory(cache: ObjectCache) -> list[str]:
    """Puts and gets twice; the warnings that this gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for key in (KEY, OTHER):
            cache.put(key, b"code of " + key.encode())
            assert cache.get(key) == b"code of " + key.encode()
    assert all(warning.category is CacheWarning for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EIO]
)
def test_a_disk_that_refuses_writes(
    directory: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", refuse)
    messages = works_in_memory(ObjectCache(directory, LIMIT))
    assert len(messages) == 1
    assert os.strerror(number) in messages[0]
    assert files(directory) == [], "no temporary file stays behind"


def test_a_disk_that_fills_up_in_the_middle_of_a_write(directory: Path) -> None:
    cache = ObjectCache(directory, LIMIT)
    cache.put("00000000000000c0", b"")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, hard))
    try:
        messages = works_in_memory(cache)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(messages) == 1
    assert os.strerror(errno.EFBIG) in messages[0]
    assert files(directory) == ["00000000000000c0.bin"], (
        "no temporary file stays behind"
    )


def test_a_file_where_the_directory_should_be(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("not a directory")
    assert len(works_in_memory(ObjectCache(place, LIMIT))) == 1
    assert len(works_in_memory(ObjectCache(place / "below", LIMIT))) == 1
    assert place.read_text() == "not a directory"


def test_a_directory_that_everybody_can_write(directory: Path) -> None:
    directory.mkdir(parents=True)
    directory.chmod(0o777)
    messages = works_in_memory(ObjectCache(directory, LIMIT))
    assert len(messages) == 1
    assert "every user" in messages[0]
    assert files(directory) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_directory_of_somebody_else(directory: Path) -> None:
    ObjectCache(directory, LIMIT).put(KEY, b"theirs")
    os.chown(directory, NOBODY, NOBODY)
    messages = works_in_memory(ObjectCache(directory, LIMIT))
    assert len(messages) == 1
    assert f"belongs to user {NOBODY}" in messages[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else_is_not_read(directory: Path) -> None:
    cache = ObjectCache(directory, LIMIT)
    cache.put(KEY, b"theirs")
    os.chown(directory / (KEY + ".bin"), NOBODY, NOBODY)
    with pytest.warns(CacheWarning, match="belongs to user"):
        assert cache.get(KEY) is None


def test_a_link_is_not_followed(directory: Path, tmp_path: Path) -> None:
    cache = ObjectCache(directory, LIMIT)
    cache.put(KEY, b"code")
    (directory / (KEY + ".bin")).rename(tmp_path / "elsewhere")
    (directory / (KEY + ".bin")).symlink_to(tmp_path / "elsewhere")
    with pytest.warns(CacheWarning, match="cannot read"):
        assert cache.get(KEY) is None


@pytest.fixture
def ordinary_user(tmp_path: Path) -> Iterator[None]:
    """Root may write anywhere; for this test it steps down."""
    if os.geteuid() != 0:
        yield
        return
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o111)
    os.chown(tmp_path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.usefixtures("ordinary_user")
def test_a_read_only_directory(directory: Path) -> None:
    ObjectCache(directory, LIMIT).put("00000000000000c0", b"code")
    directory.chmod(0o500)
    cache = ObjectCache(directory, LIMIT)
    messages = works_in_memory(cache)
    assert len(messages) == 1
    assert "Permission denied" in messages[0]
    assert cache.get("00000000000000c0") == b"code", (
        "what is there can still be read"
    )


@pytest.mark.usefixtures("ordinary_user")
def test_a_directory_that_cannot_be_made(directory: Path) -> None:
    directory.parent.mkdir(mode=0o500)
    assert len(works_in_memory(ObjectCache(directory, LIMIT))) == 1


@pytest.mark.usefixtures("ordinary_user")
def test_a_directory_that_cannot_be_entered(directory: Path) -> None:
    ObjectCache(directory, LIMIT).put("00000000000000c0", b"code")
    directory.chmod(0o000)
    assert len(works_in_memory(ObjectCache(directory, LIMIT))) == 1
    directory.chmod(0o700)
