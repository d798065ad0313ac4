"""Eight processes on one cache, some of them killed at a random moment: whoever reads, reads whole entries."""

import random
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from ingot.runtime.cache import ObjectCache
from ingot.settings import child_environment

ROOT = Path(__file__).parents[2]
KEYS = [f"{number:016x}" for number in range(12)]

WRITER = """
import random, sys
from pathlib import Path
from ingot.runtime.cache import ObjectCache
from tests.runtime.test_cache_race import KEYS, contents
choose = random.Random(int(sys.argv[2]))
for turn in range(40):
    cache = ObjectCache(Path(sys.argv[1]), int(sys.argv[3]))
    for key in choose.sample(KEYS, 6):
        found = cache.get(key)
        assert found is None or found == contents(key), key
        if found is None or choose.random() < 0.3:
            cache.put(key, contents(key))
print("ok")
"""


def contents(key: str) -> bytes:
    return sha256(key.encode()).digest() * (100 + int(key, 16) * 50)


@pytest.mark.parametrize("limit", [1 << 26, 60_000])
def test_eight_processes_some_killed(tmp_path: Path, limit: int) -> None:
    environment = child_environment(PYTHONPATH=str(ROOT), PYTHONWARNINGS="error")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(seed), str(limit)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(8)
    ]
    moments = random.Random(3)
    for victim in processes[:3]:
        time.sleep(moments.uniform(0.1, 0.4))
        victim.kill()
    outputs = [process.communicate(timeout=60) for process in processes]
    for out, err in outputs[3:]:
        assert out == "ok\n", err
    cache = ObjectCache(tmp_path, limit)
    for entry in cache.entries():
        assert cache.get(entry.key) == contents(entry.key)
    assert cache.entries()
    assert sum(entry.nbytes for entry in cache.entries()) <= 2 * limit
