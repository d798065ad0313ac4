"""Gradients of elementwise opcodes. In: a node and its cotangent, of one shape. Out: one gradient for each source.

Where a function has no derivative, the choice is that of PyTorch: abs has 0 at 0, of two equal operands of max or min each
gets half, sqrt has an infinite one at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.elementwise import constant
from ingot.ops.gradient import Cotangents, Gradients, Rule, only


def _number(like: UOp, value: float) -> UOp:
    return constant(value, like.dtype, like.shape)


def _scaled(g: UOp, factor: float) -> UOp:
    return g * _number(g, factor)


def _unary(gradient: Callable[[UOp, UOp, UOp], UOp]) -> Rule:
    """gradient(x, y, g) for y = f(x)."""

    def rule(node: UOp, cotangents: Cotangents) -> Gradients:
        return (gradient(node.src[0], node, only(cotangents)),)

    return rule


def cosine(x: UOp) -> UOp:
    """cos(x)."""
    return x.alu(Ops.COS)


def _tanh(x: UOp, y: UOp, g: UOp) -> UOp:
    return g * (_number(y, 1.0) - y * y)


def _erf(x: UOp, y: UOp, g: UOp) -> UOp:
    bell = (-(x * x)).alu(Ops.EXP)
    return g * _scaled(bell, 2 / math.sqrt(math.pi))


def _divide(node: UOp, cotangents: Cotangents) -> Gradients:
    g, b = only(cotangents), node.src[1]
    left = g / b
    return left, -(left * node)


def _extreme(ahead: Callable[[UOp, UOp], UOp]) -> Rule:
    """The one that was taken gets all; of equals each gets half. `ahead(a, b)`: b is taken rather than a."""

    def rule(node: UOp, cotangents: Cotangents) -> Gradients:
        g, (a, b) = only(cotangents), node.src
        zero = _number(g, 0.0)
        shared = a.eq(b).where(_scaled(g, 0.5), g)
        return ahead(a, b).where(zero, shared), ahead(b, a).where(zero, shared)

    return rule


def _pow(node: UOp, cotangents: Cotangents) -> Gradients:
    g, (a, b) = only(cotangents), node.src
    zero, one = _number(g, 0.0), _number(g, 1.0)
    slope = b * a.alu(Ops.POW, b - one)
    to_base = b.eq(zero).where(zero, g * slope)
    # 0 to a power above 0 stays 0, though log(0) is not finite.
    settled = a.eq(zero) & (zero < b)
    to_exponent = g * settled.where(zero, node * a.alu(Ops.LOG))
    return to_base, to_exponent


def _mod(node: UOp, cotangents: Cotangents) -> Gradients:
    """a - b floor(a / b)."""
    g, (a, b) = only(cotangents), node.src
    return g, -(g * (a / b).alu(Ops.FLOOR))


def _where(node: UOp, cotangents: Cotangents) -> Gradients:
    g, question = only(cotangents), node.src[0]
    zero = _number(g, 0.0)
    return None, question.where(g, zero), question.where(zero, g)


def _mulacc(node: UOp, cotangents: Cotangents) -> Gradients:
    g, (a, b, _) = only(cotangents), node.src
    return g * b, g * a, g


def _cast(node: UOp, cotangents: Cotangents) -> Gradients:
    return (only(cotangents).cast(node.src[0].dtype),)


def _binary(gradient: Callable[[UOp, UOp, UOp], Gradients]) -> Rule:
    """gradient(a, b, g) for y = f(a, b)."""

    def rule(node: UOp, cotangents: Cotangents) -> Gradients:
        a, b = node.src
        return gradient(a, b, only(cotangents))

    return rule


ARITHMETIC: dict[Ops, Rule] = {
    Ops.NEG: _unary(lambda x, y, g: -g),
    Ops.RECIP: _unary(lambda x, y, g: -(g * (y * y))),
    Ops.SQRT: _unary(lambda x, y, g: _scaled(g, 0.5) / y),
    Ops.EXP: _unary(lambda x, y, g: g * y),
    Ops.EXP2: _unary(lambda x, y, g: g * _scaled(y, math.log(2))),
    Ops.LOG: _unary(lambda x, y, g: g / x),
    Ops.LOG2: _unary(lambda x, y, g: g / _scaled(x, math.log(2))),
    Ops.SIN: _unary(lambda x, y, g: g * cosine(x)),
    Ops.COS: _unary(lambda x, y, g: g * x.alu(Ops.SIN).alu(Ops.NEG)),
    Ops.TANH: _unary(_tanh),
    Ops.ERF: _unary(_erf),
    Ops.ADD: _binary(lambda a, b, g: (g, g)),
    Ops.SUB: _binary(lambda a, b, g: (g, -g)),
    Ops.MUL: _binary(lambda a, b, g: (g * b, g * a)),
    Ops.FDIV: _divide,
    Ops.MAX: _extreme(lambda a, b: a < b),
    Ops.MIN: _extreme(lambda a, b: b < a),
    Ops.POW: _pow,
    Ops.MOD: _mod,
    Ops.WHERE: _where,
    Ops.MULACC: _mulacc,
    Ops.CAST: _cast,
}
