"""Ingot: one tensor program, forged into every target.

Public names, nothing else: what a user may import stands in `__all__`.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
