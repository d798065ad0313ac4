"""`ingot env`: every setting, from the one table that also reads them; then what Ingot found out about this machine."""

import argparse
from collections.abc import Sequence

from ingot.pipeline.session import session
from ingot.runtime.calibrate import measure
from ingot.settings import TABLE, Settings, settings
from ingot.target import Target, costs_file, host, load_costs, save_costs

HEAD = ("variable", "value", "from", "meaning")


def run(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ingot env", description=__doc__)
    parser.add_argument(
        "--measure",
        action="store_true",
        help="measure what things cost here: fusion asks",
    )
    if parser.parse_args(words).measure:
        forge = session.forge()
        save_costs(
            settings.runtime.cache_dir,
            forge.library.target,
            measure(forge.library, session.pool()),
        )
    table = columns([HEAD, *setting_rows(settings)])
    machine = columns(machine_rows(host()))
    print(*table, "", *machine, sep="\n")
    return 0


def setting_rows(source: Settings) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for setting in TABLE:
        value = _shown(source.value(setting.field))
        origin = source.source(setting.field)
        rows.append((setting.env, value, origin, setting.meaning))
    return rows


def _shown(value: object) -> str:
    """As it would be written in the environment."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def machine_rows(target: Target) -> list[tuple[str, ...]]:
    directory = settings.runtime.cache_dir
    costs = load_costs(directory, target)
    known = "measured" if costs_file(directory, target).exists() else "assumed"
    caches = (target.l1, target.l2, target.l3)
    sizes = [f"{size >> 10} KiB" for size in caches]
    return [
        ("machine", target.model),
        (
            "target",
            f"{target.name}, {target.vector_bytes * 8}-bit vectors, {target.registers} registers",
        ),
        ("extensions", " ".join(target.features)),
        ("caches", " ".join(sizes)),
        ("fma peak", f"{costs.fma_gflops:.0f} GFLOP/s a core, {known}"),
        ("memory", f"{costs.memory_bytes_per_ns:.1f} GB/s a core, {known}"),
    ]


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Left-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = map(str.ljust, row, widths)
        lines.append("  ".join(cells).rstrip())
    return lines
