"""`ingot why`: the kernels of an expression, why each is one, and what other choices would have cost."""

import argparse
from collections.abc import Iterator

from ingot.cli.expression import HELP, roots
from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, ExternArg, Ops
from ingot.ir.shape import product
from ingot.ir.text import type_text
from ingot.ops.lower import describe
from ingot.pipeline.host import Number, evaluate, source
from ingot.pipeline.normalise import normalise
from ingot.pipeline.stages import Work, fused
from ingot.schedule.estimate import elements, estimate
from ingot.schedule.fuse import Fusion
from ingot.schedule.label import inside, label
from ingot.schedule.nests import Draft
from ingot.schedule.prices import Prices, prices_of
from ingot.settings import settings
from ingot.target import host, load_costs

MOST_CHOICES = 6


def run(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ingot why", description=__doc__)
    parser.add_argument("expression", metavar="EXPR", help=HELP)
    options = parser.parse_args(words)
    sink, found = normalise(roots(options.expression))
    prices = prices_of(load_costs(settings.runtime.cache_dir, host()))
    fusion = fused(
        sink, Work(host(), settings.codegen, sizes=found.variables, prices=prices)
    )
    kernels = [
        (part, draft) for part in fusion.everywhere() for draft in part.drafts
    ]
    for number, (part, draft) in enumerate(kernels):
        why = Why(part, found.variables, prices)
        name = label(draft.outputs[0], part.reasons)
        place = "" if part is fusion else ", in a body"
        print(f"kernel {number + 1} of {len(kernels)}: {name}{place}")
        print(*(f"  {line}" for line in why.lines(draft)), sep="\n")
    externs = [
        node.arg.name for node in sink.toposort() if isinstance(node.arg, ExternArg)
    ]
    print(f"foreign code: {', '.join(externs) or 'none'}")
    return 0


class Why:
    """Explains the kernels of one program."""

    def __init__(
        self, fusion: Fusion, sizes: dict[str, int], prices: Prices
    ) -> None:
        self.fusion = fusion
        self.prices = prices
        self.sizes: dict[str, Number] = dict(sizes)

    def lines(self, draft: Draft) -> Iterator[str]:
        output = draft.outputs[0]
        yield f"computes   {describe(output)}  {type_text(output)}"
        yield f"stored     {self.fusion.reasons.get(output, 'asked for')}"
        costs = estimate(draft)
        yield f"moves      {_bytes(self._number(costs.nbytes))}: {', '.join(self._buffers(draft))}"
        yield f"work       {_count(self._number(costs.flops))}FLOP"
        for choice in self._choices(draft):
            yield f"not chosen {choice}"

    def _number(self, size: int | UOp) -> int:
        return size if isinstance(size, int) else evaluate(source(size), self.sizes)

    def _buffers(self, draft: Draft) -> Iterator[str]:
        for slot, count in elements(draft).items():
            node = draft.buffers[slot]
            verb = "writes" if node in draft.outputs else "reads"
            yield f"{verb} {_bytes(self._number(count) * node.dtype.itemsize)} of {type_text(node)}"

    def _choices(self, draft: Draft) -> Iterator[str]:
        """What else could have been done with this output, and with the values that live inside the kernel."""
        output = draft.outputs[0]
        if output not in self.fusion.roots:
            yield self._instead_of_storing(output)
        nodes = [u for u in inside(output, self.fusion.reasons) if u is not output]
        worth = [
            u
            for u in nodes
            if u.op is Ops.REDUCE or (u.op in ELEMENTWISE and u.shape)
        ]
        for node in worth[:MOST_CHOICES]:
            spent = self.prices.store(node) * self._number(product(node.shape))
            yield f"storing {describe(node)} {type_text(node)}: {_time(spent)} more for memory"
        if len(worth) > MOST_CHOICES:
            yield f"storing any of {len(worth) - MOST_CHOICES} more values"

    def _instead_of_storing(self, output: UOp) -> str:
        count = self._number(product(output.shape))
        again, stored = (
            self.prices.recompute(output) * count,
            self.prices.store(output) * count,
        )
        price = (
            _time(again)
            if again != float("inf")
            else "a reduction for every element"
        )
        return f"computing it in each reader again: {price}; storing it costs {_time(stored)}"


# --- numbers for people -----------------------------------------------------------------------------------------------


def _scaled(number: float, step: int, names: tuple[str, ...]) -> tuple[float, str]:
    for name in names[:-1]:
        if abs(number) < step:
            return number, name
        number /= step
    return number, names[-1]


def _bytes(count: int) -> str:
    number, unit = _scaled(count, 1024, ("B", "KiB", "MiB", "GiB"))
    return f"{number:.4g} {unit}"


def _count(count: int) -> str:
    number, unit = _scaled(count, 1000, ("", "K", "M", "G", "T"))
    return f"{number:.4g} {unit}"


def _time(nanoseconds: float) -> str:
    number, unit = _scaled(nanoseconds, 1000, ("ns", "us", "ms", "s"))
    return f"{number:.3g} {unit}"
