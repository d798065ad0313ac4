"""The extensions of the array API standard, each a namespace of its own: `ig.linalg`, `ig.fft`."""
