"""Tests of fusion, drafting, families and the memory plan."""
