"""Algorithms that are no loops over one index space: sorting, selecting, scattering, compacting, searching.

In: an op of ops/algorithm.py with its inputs in memory. Out: loop trees written by hand in the kernel IR (write.py), for
any sizes, in a fixed order whoever computes them. `table.py` has one row an algorithm.
"""
