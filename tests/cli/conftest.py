"""Commands that compile do so in a session of their own: what a test plants must not stay on disk."""

from tests.pipeline.conftest import session

__all__ = ["session"]
