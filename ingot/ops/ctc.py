"""ctc_loss: how likely a sequence of outputs spells a shorter sequence of labels. In: log-probabilities. Out: losses.

Between labels, before and after them, blanks may stand, and what is repeated counts once. The sum over all ways to spell
is one pass over time: a SCAN whose state holds, for every place in the labels, the probability of having come so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.region import function, param, scan
from ingot.ops import elementwise as ew
from ingot.ops.arranging import part
from ingot.ops.creation import counter, iota
from ingot.ops.elementwise import as_float, constant
from ingot.ops.gather import along_axis
from ingot.ops.joining import concat, known_size, stack
from ingot.ops.movement import broadcast_to, reshape, show
from ingot.ops.numeric import abs_, log1p
from ingot.ops.op import primitive
from ingot.ops.reduce import mean, sum_
from ingot.ops.sample import INF, floats, ints, sample

_NOWHERE = -1e30  # the logarithm of a probability of 0; finite, so that differences of two are numbers


def ctc_loss(
    log_probs: UOp,
    targets: UOp,
    input_lengths: UOp,
    target_lengths: UOp,
    *,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> UOp:
    """-log of the probability that outputs (time, rows, classes) spell the labels (rows, places)."""
    if len(log_probs.shape) != 3 or len(targets.shape) != 2:
        raise ShapeError(
            f"ctc_loss: log_probs are {show(log_probs.shape)}, targets are {show(targets.shape)}; "
            "wanted (time, rows, classes) and (rows, places)"
        )
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(
            f"ctc_loss: reduction is {reduction!r}; wanted 'mean', 'sum' or 'none'"
        )
    given = as_float(log_probs)
    labels = _with_blanks(targets.cast(dt.int64), blank)
    last = _run(given, labels, blank, input_lengths.cast(dt.int64))
    losses = ew.negative(_at_end(last, target_lengths.cast(dt.int64)))
    never = ew.greater(losses, -_NOWHERE / 2)
    losses = ew.where(never, 0.0 if zero_infinity else INF, losses)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return sum_(losses)
    lengths = ew.maximum(target_lengths, 1).cast(losses.dtype)
    return mean(ew.divide(losses, lengths))


def _with_blanks(targets: UOp, blank: int) -> UOp:
    """a b -> _ a _ b _"""
    rows, places = targets.shape[0], known_size("ctc_loss", targets, 1)
    empty = constant(blank, dt.int64, (rows, places))
    pairs = reshape(stack([empty, targets], 2), (rows, 2 * places))
    return concat(pairs, constant(blank, dt.int64, (rows, 1)), axis=1)


def _run(log_probs: UOp, labels: UOp, blank: int, lengths: UOp) -> UOp:
    """The state after the last output of each row."""
    time, rows, _ = log_probs.shape
    places = labels.shape[1]
    shape = (time, rows, places)
    at = broadcast_to(reshape(labels, (1, rows, places)), shape)
    emitted = along_axis(log_probs, at, 2)
    start = _start(emitted)
    step = iota(time).cast(dt.int64)
    body = _body(start, _may_skip(labels, blank), lengths)
    carry = (start, _may_skip(labels, blank), lengths)
    return scan(body, carry, (emitted, step))[0]


def _start(emitted: UOp) -> UOp:
    """Before the first output: at the first place, so that the first step leads to the first two."""
    shape = emitted.shape[1:]
    return ew.where(
        ew.equal(counter(shape, 1), 0),
        constant(0.0, emitted.dtype, shape),
        constant(_NOWHERE, emitted.dtype, shape),
    )


def _may_skip(labels: UOp, blank: int) -> UOp:
    """Whether a place can be reached from two before it: over a blank, between labels that differ."""
    before = _moved(labels, 2, blank)
    differs = ew.logical_and(
        ew.not_equal(labels, blank), ew.not_equal(labels, before)
    )
    return ew.logical_and(differs, ew.greater(counter(labels.shape, 1), 1))


def _moved(x: UOp, by: int, value: float) -> UOp:
    """x moved to the right, `value` coming in."""
    n = known_size("ctc_loss", x, 1)
    fresh = constant(value, x.dtype, (x.shape[0], min(by, n)))
    return concat(fresh, part(x, 1, 0, max(n - by, 0)), axis=1)


def _body(state: UOp, skip: UOp, lengths: UOp) -> UOp:
    """One output: (state, skip, lengths, emitted, time) -> the state after it, and what does not change."""
    now = param(0, state.dtype, state.shape)
    may_skip = param(1, skip.dtype, skip.shape)
    ends = param(2, lengths.dtype, lengths.shape)
    emitted = param(3, state.dtype, state.shape)
    step = param(4, dt.int64)
    one = _moved(now, 1, _NOWHERE)
    two = ew.where(may_skip, _moved(now, 2, _NOWHERE), _NOWHERE)
    # Before the first output nothing has been read: only its place and the next are open.
    stay = _log_sum(now, one)
    after = ew.maximum(ew.add(_log_sum(stay, two), emitted), _NOWHERE)
    runs = ew.less(broadcast_to(step, ends.shape), ends)
    kept = ew.where(reshape(runs, (*runs.shape, 1)), after, now)
    return function(
        "ctc_step", (now, may_skip, ends, emitted, step), (kept, may_skip, ends)
    )


def _log_sum(a: UOp, b: UOp) -> UOp:
    return ew.add(
        ew.maximum(a, b), log1p(ew.exp(ew.negative(abs_(ew.subtract(a, b)))))
    )


def _at_end(state: UOp, lengths: UOp) -> UOp:
    """The ways that end at the last label, or at the blank after it."""
    last = reshape(ew.multiply(lengths, 2), (*lengths.shape, 1))
    before = ew.maximum(ew.subtract(last, 1), 0)
    blank, label = (
        reshape(along_axis(state, at, 1), lengths.shape) for at in (last, before)
    )
    label = ew.where(ew.equal(lengths, 0), _NOWHERE, label)
    return _log_sum(blank, label)


def _reference(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Every row by itself, in probabilities."""
    losses = np.zeros(len(targets))
    for n, row in enumerate(targets):
        labels = [blank]
        for label in row[: target_lengths[n]]:
            labels += [label, blank]
        way = np.zeros(len(labels))
        way[0] = 1
        for t in range(input_lengths[n]):
            probs = np.exp(log_probs[t, n])
            after = np.zeros(len(labels))
            for s, label in enumerate(labels):
                after[s] = way[s] + (way[s - 1] if s else 0)
                if s > 1 and label not in (blank, labels[s - 2]):
                    after[s] += way[s - 2]
                after[s] *= probs[label]
            way = after
        losses[n] = -np.log(way[-1] + (way[-2] if len(way) > 1 else 0))
    if zero_infinity:
        losses[np.isinf(losses)] = 0
    if reduction == "mean":
        return (losses / np.maximum(target_lengths, 1)).mean()
    return losses.sum() if reduction == "sum" else losses


_PROBS = floats(6, 2, 4, low=-3, high=-0.1)
_LABELS, _LONG, _SHORT = (
    ints(2, 3, low=1, high=4),
    ints(2, low=5, high=7),
    ints(2, low=1, high=3),
)
primitive(
    "ctc_loss",
    ctc_loss,
    ref=_reference,
    samples=(
        sample(_PROBS, _LABELS, _LONG, _SHORT, reduction="none"),
        sample(_PROBS, _LABELS, _LONG, _SHORT),
        sample(
            _PROBS,
            ints(2, 3, low=0, high=3),
            _LONG,
            _SHORT,
            blank=3,
            reduction="sum",
        ),
    ),
    bad_samples=(
        (
            sample(floats(6, 4), _LABELS, _LONG, _SHORT),
            "ctc_loss: log_probs are (6, 4), targets are (2, 3)",
        ),
        (
            sample(_PROBS, _LABELS, _LONG, _SHORT, reduction="max"),
            "ctc_loss: reduction is 'max'",
        ),
    ),
    ulp=64,
    normwise=True,
)
