"""`ingot cache`: how much compiled code is kept on disk, and a way to be rid of it."""

import argparse
from datetime import datetime

from ingot.runtime.cache import Entry, ObjectCache
from ingot.settings import settings


def run(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ingot cache", description=__doc__)
    parser.add_argument(
        "action", nargs="?", choices=("show", "clear"), default="show"
    )
    options = parser.parse_args(words)
    runtime = settings.runtime
    cache = ObjectCache(runtime.cache_dir, runtime.cache_limit)
    entries = cache.entries()
    print(summary(entries))
    if options.action == "clear":
        cache.clear()
        left = len(cache.entries())
        print(
            f"removed {len(entries) - left} entries"
            + (f", {left} could not be removed" if left else "")
        )
        return 1 if left else 0
    return 0


def summary(entries: list[Entry]) -> str:
    """Where, how many, how much of the limit, and since when."""
    runtime = settings.runtime
    used = sum(entry.nbytes for entry in entries)
    lines = [
        f"directory  {runtime.cache_dir}",
        f"entries    {len(entries)}",
        f"size       {_mebibytes(used)} of {_mebibytes(runtime.cache_limit)}",
    ]
    if entries:
        oldest = datetime.fromtimestamp(min(entry.modified for entry in entries))
        lines.append(
            f"last used  {oldest:%Y-%m-%d %H:%M} for the entry that would go first"
        )
    return "\n".join(lines)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
