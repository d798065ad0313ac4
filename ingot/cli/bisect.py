"""`ingot bisect`: run a program at every level of the compiler, and name the step where its numbers first change.

The program is an expression, or a Python file, of which everything that it evaluates is looked at.
"""

import argparse
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ingot.cli.expression import HELP, roots
from ingot.cli.show import replacements
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.pipeline.bisect import Finding, bisect
from ingot.pipeline.session import session


def run(words: list[str]) -> int:
    """Exit status 1 where something is wrong."""
    options = parser().parse_args(words)
    replaced = replacements(options.replace)
    findings: list[Finding] = []
    progress = _loud if options.verbose else _silent

    def look(nodes: Sequence[UOp]) -> None:
        waiting = [u for u in nodes if u.op is not Ops.BUFFER]
        found = (
            bisect(waiting, progress, replaced)
            if waiting and not findings
            else None
        )
        if found is not None:
            findings.append(found)

    if Path(options.program).is_file():
        run_file(options.program, look)
    else:
        look(roots(options.program))
    print(findings[0] if findings else "every level computes the same")
    return 1 if findings else 0


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="ingot bisect", description=__doc__)
    out.add_argument(
        "program", metavar="FILE_OR_EXPR", help=f"a Python file, or {HELP}"
    )
    out.add_argument(
        "--replace",
        metavar="STAGE=FILE",
        action="append",
        help="take a stage's result from a file",
    )
    out.add_argument(
        "--verbose", action="store_true", help="print each level as it runs"
    )
    return out


def run_file(path: str, look: Callable[[Sequence[UOp]], None]) -> None:
    """Run a file as the main program, looking at everything that it evaluates before it is evaluated."""
    session.watch = look
    try:
        runpy.run_path(path, run_name="__main__")
    finally:
        session.watch = None


def _loud(line: str) -> None:
    print(line, file=sys.stderr)


def _silent(line: str) -> None:
    return None
