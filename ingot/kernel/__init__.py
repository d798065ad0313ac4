"""Kernels: loop nests, the moves that reshape them, and the loop trees that renderers print.

In: nests from schedule/. Out: KERNEL trees. Next: render/ writes them as source.
"""
