"""The documents that run."""
