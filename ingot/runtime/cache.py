"""Compiled code on disk, shared by all processes of one user.

In:  a key (a hex digest that stands for everything that decides the bytes) and the bytes.
Out: the bytes again, or None. Trouble with the disk is at worst one CacheWarning: work goes on in memory.

An entry is written to a temporary file and renamed, so a reader sees all of it or none, whoever is killed when. Its
header holds length and digest; an entry that does not match is removed. What another user could have written is never
read, because it would be run.
"""

import errno
import os
import re
import stat
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ingot.errors import ArgumentError, CacheWarning

__all__ = ["Entry", "ObjectCache"]

_MAGIC = b"INGOTOB1"
_HEADER = struct.Struct("<8sQ32s")
_KEY = re.compile(r"[0-9a-f]{8,128}")
_SUFFIX, _TEMPORARY = ".bin", ".tmp"

_TOUCH_AFTER = 3600.0  # seconds: a younger entry is not marked as used again
_ABANDONED_AFTER = 600.0  # seconds: then a temporary file has no writer
_COUNT_EVERY = 64  # writes: other processes write too, so the directory is counted again now and then


class Entry(NamedTuple):
    """One file of the cache. `modified` is when it was written or last used, in seconds since 1970."""

    key: str
    nbytes: int
    modified: float


class ObjectCache:
    """Bytes by key in `directory`, at most `limit_bytes` of them; no directory or no limit means memory only."""

    def __init__(self, directory: Path | None, limit_bytes: int) -> None:
        self._directory = directory if limit_bytes > 0 else None
        self._limit = limit_bytes
        self._memory: dict[str, bytes] = {}
        self._trusted: bool | None = None  # None: not looked at, or not there yet
        self._warned = False
        self._writes = 0
        self._used = 0

    def get(self, key: str) -> bytes | None:
        """The bytes of `key`, or None."""
        _check_key(key)
        found = self._memory.get(key)
        if found is not None or not self._may_use():
            return found
        return self._read(key)

    def put(self, key: str, data: bytes) -> None:
        """Keeps the bytes: on disk if that works, for this process if not."""
        _check_key(key)
        if not self._may_use(create=True):
            self._memory[key] = data
            return
        try:
            self._write(key, data)
        except OSError as error:
            self._memory[key] = data
            self._warn(
                f"cannot write to {self._directory}: {os.strerror(error.errno or errno.EIO)}"
            )

    def remove(self, key: str) -> None:
        _check_key(key)
        self._memory.pop(key, None)
        if self._may_use():
            _unlink(self._path(key))

    def clear(self) -> None:
        """Removes every entry, on disk too."""
        for entry in self.entries():
            self.remove(entry.key)
        self._memory.clear()

    def entries(self) -> list[Entry]:
        """What is on disk, least recently used first."""
        if not self._may_use():
            return []
        found = [entry for entry in _scan(self._place()) if entry is not None]
        return sorted(found, key=lambda entry: entry.modified)

    # --- the directory ---

    def _place(self) -> Path:
        assert self._directory is not None
        return self._directory

    def _path(self, key: str) -> Path:
        return self._place() / (key + _SUFFIX)

    def _may_use(self, create: bool = False) -> bool:
        """Is there a directory, and is it ours? Looked at until it exists, then no more."""
        if self._directory is None:
            return False
        if self._trusted is None:
            self._look(create)
        return bool(self._trusted)

    def _look(self, create: bool) -> None:
        place = self._place()
        try:
            if create:
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
            problem = _distrust(os.stat(place), stat.S_ISDIR)
        except FileNotFoundError:
            return
        except OSError as error:
            problem = f"cannot be used: {os.strerror(error.errno or errno.EIO)}"
        self._trusted = not problem
        if problem:
            self._warn(f"{place} {problem}")

    def _warn(self, problem: str) -> None:
        if self._warned:
            return
        self._warned = True
        text = f"kernel cache: {problem}; kernels are compiled anew in each process (INGOT_CACHE_DIR names another)"
        warnings.warn(text, CacheWarning, stacklevel=4)

    # --- reading ---

    def _read(self, key: str) -> bytes | None:
        path = self._path(key)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(
                f"cannot read {path}: {os.strerror(error.errno or errno.EIO)}"
            )
            return None
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            problem = _distrust(status, stat.S_ISREG)
            if problem:
                self._warn(f"{path} {problem}")
                return None
            data = _unwrap(file.read())
        if data is None:
            _unlink(path)
        elif time.time() - status.st_mtime > _TOUCH_AFTER:
            _touch(path)
        return data

    # --- writing ---

    def _write(self, key: str, data: bytes) -> None:
        size = _HEADER.size + len(data)
        if size > self._limit:
            self._memory[key] = data
            return
        self._make_room(size)
        temporary = self._place() / f".{key}.{os.urandom(8).hex()}{_TEMPORARY}"
        try:
            _write_whole(temporary, _wrap(data))
            os.replace(temporary, self._path(key))
        except OSError:
            _unlink(temporary)
            raise
        self._used += size

    def _make_room(self, size: int) -> None:
        """Deletes the least recently used entries when the limit would be passed; down to 3/4, so that it is rare."""
        if self._writes % _COUNT_EVERY == 0:
            _sweep(self._place())
            self._used = sum(entry.nbytes for entry in self.entries())
        self._writes += 1
        if self._used + size <= self._limit:
            return
        entries = self.entries()
        self._used = sum(entry.nbytes for entry in entries)
        for entry in entries:
            if self._used + size <= self._limit * 3 // 4:
                break
            _unlink(self._path(entry.key))
            self._used -= entry.nbytes


def _check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise ArgumentError(
            "cache key", given=repr(key), wanted="8 to 128 lower-case hex digits"
        )


def _distrust(status: os.stat_result, is_kind: Callable[[int], bool]) -> str:
    """Why something in the file system must not be used, or nothing."""
    if not is_kind(status.st_mode):
        return "is not what a cache holds"
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}, not to you ({os.geteuid()})"
    if status.st_mode & stat.S_IWOTH:
        return "can be written by every user"
    return ""


def _wrap(data: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, len(data), sha256(data).digest()) + data


def _unwrap(raw: bytes) -> bytes | None:
    """The bytes of an entry if it is whole."""
    if len(raw) < _HEADER.size:
        return None
    magic, length, digest = _HEADER.unpack_from(raw)
    data = raw[_HEADER.size :]
    if magic != _MAGIC or length != len(data) or digest != sha256(data).digest():
        return None
    return data


def _write_whole(path: Path, raw: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:
        left = memoryview(raw)
        while left:
            left = left[file.write(left) :]


def _scan(directory: Path) -> Iterator[Entry | None]:
    """The entries of a directory that other processes change meanwhile; None for what is not an entry."""
    try:
        with os.scandir(directory) as files:
            for file in files:
                yield _entry(file)
    except OSError:
        return


def _entry(file: "os.DirEntry[str]") -> Entry | None:
    key, suffix = os.path.splitext(file.name)
    if suffix != _SUFFIX or not _KEY.fullmatch(key):
        return None
    try:
        status = file.stat(follow_symlinks=False)
    except OSError:
        return None
    return Entry(key, status.st_size, status.st_mtime)


def _sweep(directory: Path) -> None:
    """Removes temporary files whose writers were killed."""
    oldest = time.time() - _ABANDONED_AFTER
    for path in directory.glob(f".*{_TEMPORARY}"):
        try:
            abandoned = path.lstat().st_mtime < oldest
        except OSError:
            continue
        if abandoned:
            _unlink(path)


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # another owner, or a read-only disk: the entry is never trusted, only in the way


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        return  # a read-only disk
