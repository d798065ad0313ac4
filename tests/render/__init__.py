"""Tests of the renderers: hand-written kernel trees, compiled, run and compared with NumPy."""
