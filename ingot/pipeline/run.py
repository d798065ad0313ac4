"""Running a bound program once. In: the memory of its inputs. Out: the memory of its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.pipeline.bind import Bound
from ingot.pipeline.host import evaluate
from ingot.pipeline.recipe import Recipe
from ingot.pipeline.report import Report
from ingot.runtime.buffer import Buffer
from ingot.settings import settings


class Run:
    """A program with everything but the memory of its inputs."""

    def __init__(
        self,
        recipe: Recipe,
        bound: Bound,
        variables: Mapping[str, int],
        report: Report,
    ) -> None:
        self.recipe = recipe
        self.bound = bound
        self.variables = variables
        self.report = report

    def __call__(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """The outputs; on the device NULL nothing is written to them."""
        outputs = [Buffer.allocate(size) for size in self.bound.outputs]
        arena = Buffer.allocate(self.bound.arena)
        words = (
            *(b.address for b in inputs),
            *(b.address for b in outputs),
            arena.address,
        )
        runs = settings.runtime.device != "NULL"
        if runs and self.report.level < 2:
            self.bound.program.run(*words)
        elif runs:
            _profiled(self.bound, words, self.variables, self.report)
        return outputs


def _profiled(
    bound: Bound,
    words: tuple[int, ...],
    variables: Mapping[str, int],
    report: Report,
) -> None:
    """Run, and tell how long each kernel took; all its launches and turns are one line."""
    seen = bound.program.observe(*words)
    times: dict[str, int] = {}
    for label, nanoseconds in zip(bound.program.labels, seen.times, strict=True):
        times[label] = times.get(label, 0) + nanoseconds
    for line in bound.lines:
        turns = 1 if line.turns is None else seen.cells[line.turns.number]
        flops, nbytes = (
            turns * evaluate(size, variables) for size in (line.flops, line.nbytes)
        )
        name = line.label if line.turns is None else f"{line.label} x{turns}"
        report.ran(name, times[line.label], flops, nbytes)
