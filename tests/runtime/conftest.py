"""A library of test kernels in a cache of its own, and pools that end with the test."""

import faulthandler
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool, Tuning
from ingot.target import host
from tests.runtime.kernels import PLAIN, PLAIN_KEY

# Everything is worth the pool and worth waking for: what the tests want to see happens at once.
EAGER = Tuning(wake_ns=0, solo_ns=0)

MakePool = Callable[..., Pool]

WATCHDOG = 300.0  # seconds: a test that takes longer hangs


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """A thread that waits for ever in native code ends the run with a traceback instead of blocking it."""
    faulthandler.dump_traceback_later(WATCHDOG, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("objects")


@pytest.fixture(scope="session")
def library(cache_directory: Path) -> Library:
    return Library(ObjectCache(cache_directory, 1 << 28), host())


@pytest.fixture(scope="session")
def kernels(library: Library) -> Mapping[str, int]:
    return library.functions(PLAIN_KEY, lambda: PLAIN)


@pytest.fixture
def make_pool(library: Library) -> Iterator[MakePool]:
    made: list[Pool] = []

    def make(threads: int, tuning: Tuning = EAGER) -> Pool:
        made.append(Pool(threads, library, tuning))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


@pytest.fixture(params=[1, 2, 4])
def pool(request: pytest.FixtureRequest, make_pool: MakePool) -> Pool:
    return make_pool(request.param)
