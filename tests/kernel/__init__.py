"""Tests of nests, moves and loop trees."""
