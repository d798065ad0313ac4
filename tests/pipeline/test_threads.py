"""The same bits with one thread or many: how a sum is cut into parts does not depend on who computes them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib
import numpy as np
import ingot as ig

draw = np.random.default_rng(7).standard_normal
x, w, b = (ig.from_numpy(draw(s, dtype=np.float32)) for s in ((300, 257), (257, 130), (130,)))
q, k, v = (ig.from_numpy(draw((2, 3, 70, 16), dtype=np.float32)) for _ in range(3))
image, filters = (ig.from_numpy(draw(s, dtype=np.float32)) for s in ((2, 5, 20, 23), (9, 5, 3, 3)))
big = ig.from_numpy(draw((1000, 1013), dtype=np.float32))
results = (
    ig.relu(x @ w + b), ig.relu(x @ w + b).sum(), ig.softmax(big, axis=-1), big.sum(), big.sum(0), big.mean(1),
    x[:7] @ w, x[:50] @ w, w.T[:50] @ x[:90].T, x[:1] @ w, ig.conv2d(image, filters, padding=1, stride=2),
    ig.layer_norm(big), ig.scaled_dot_product_attention(q, k, v), big.T.contiguous(), big.argmax(1),
)
for result in results:
    print(hashlib.sha256(result.numpy().tobytes()).hexdigest())
"""


def digests(threads: int) -> list[str]:
    environment = {**os.environ, "INGOT_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("threads", [2, 4])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    alone = digests(1)
    assert len(alone) == 15
    assert digests(threads) == alone
