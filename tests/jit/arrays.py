"""Numbers for the tests beside this file."""

import numpy as np
from numpy.typing import NDArray

FACTOR = 1.0
_rng = np.random.default_rng(3)


def floats(*shape: int) -> NDArray[np.float32]:
    return _rng.standard_normal(shape, dtype=np.float32)
