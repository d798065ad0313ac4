"""Tests mirror the package: tests/ir tests ingot/ir, and so on. tests/architecture tests the code as code."""
