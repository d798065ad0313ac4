"""Tests of the stages together."""
