"""Named ops over a batch. In: OP nodes. Out: the same op where it carries a batch by itself, else what it lowers to.

An op whose lowering works element by element carries any batch: that is found out, not declared. Others that do, each
in its own way, have a rule here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from ingot.autograd.batch_opcodes import one_by_one
from ingot.autograd.batch_regions import with_own_gradient
from ingot.autograd.lanes import Batch, Lane, every_result
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, Attr, OpArg, Ops
from ingot.ir.region import param
from ingot.ir.shape import Shape
from ingot.ops.creation import counter
from ingot.ops.elementwise import multiply
from ingot.ops.lower import lower, lower_all
from ingot.ops.movement import permute, reshape, transpose
from ingot.ops.op import find

Made = UOp | tuple[Lane, ...] | None  # a node: all its results have the batch
Named = Callable[[Batch, UOp], Made]  # None: lower it, in this case


def named(walk: Batch, node: UOp) -> UOp | tuple[Lane, ...]:
    """An OP node over the batch."""
    name = cast(OpArg, node.arg).name
    if name == "custom_gradient":
        return with_own_gradient(walk, node)
    rule = NAMED_RULES.get(name)
    made = None if rule is None else rule(walk, node)
    several = len(node.results) > 1
    if isinstance(made, UOp):
        return every_result(made) if several else made
    if made is not None:
        return made
    if is_elementwise(node):
        return node.replace(src=tuple(walk.full(s) for s in node.src))
    if find(name).basic:
        return one_by_one(walk, node)
    lowered = lower(node)
    walk.visit(lowered)
    return tuple(map(walk.lane, lowered.src)) if several else (walk.lane(lowered),)


# --- element by element -------------------------------------------------------------------------------------------


def is_elementwise(node: UOp) -> bool:
    """Each element of the result is made of the elements at its own place in the sources."""
    alone = len(node.results) == 1 and all(s.shape == node.shape for s in node.src)
    kinds = tuple(s.dtype for s in node.src)
    return alone and _works_on_elements(cast(OpArg, node.arg), kinds, node.shape)


@lru_cache(4096)
def _works_on_elements(arg: OpArg, kinds: tuple[DType, ...], shape: Shape) -> bool:
    inputs = tuple(param(slot, kind, shape) for slot, kind in enumerate(kinds))
    whole = lower_all(find(arg.name).node(inputs, dict(arg.attrs)))
    uniform: set[UOp] = set()  # one number, repeated
    for node in whole.toposort(lambda u: u.op is not Ops.PARAM):
        repeats = node.op in (Ops.RESHAPE, Ops.EXPAND) and node.src[0] in uniform
        if node.op is Ops.CONST or repeats:
            uniform.add(node)
        elif node.op not in ELEMENTWISE and node.op is not Ops.PARAM:
            return False
    return True


# --- ops with a rule of their own ---------------------------------------------------------------------------------


def _again(node: UOp, sources: Sequence[UOp], **changed: Attr) -> UOp:
    """The same op on other sources, some attributes changed."""
    arg = cast(OpArg, node.arg)
    return find(arg.name).node(tuple(sources), {**dict(arg.attrs), **changed})


def _attr(node: UOp, name: str) -> Any:
    return cast(OpArg, node.arg)[name]


def _along_axis(walk: Batch, node: UOp) -> UOp | None:
    """Axes counted from the front are one further back; all inputs have the same axes."""
    axis = _attr(node, "axis")
    if axis is None:
        return None
    axes = [
        a + 1 if a >= 0 else a
        for a in (axis if isinstance(axis, tuple) else (axis,))
    ]
    moved = tuple(axes) if isinstance(axis, tuple) else axes[0]
    return _again(node, [walk.full(s) for s in node.src], axis=moved)


def _any_front(walk: Batch, node: UOp) -> UOp:
    """It works along the last axes of all its inputs, whatever comes before them."""
    return _again(node, [walk.full(s) for s in node.src])


def _last_axes(walk: Batch, node: UOp) -> UOp | None:
    """The first input may have any number of axes in front; the others are the same for every example."""
    x, *rest = node.src
    if any(walk.is_batched(r) for r in rest):
        return None
    return _again(node, [walk.full(x), *(walk.lane(r).node for r in rest)])


def _matmul(walk: Batch, node: UOp) -> UOp | None:
    a, b = (walk.lane(s) for s in node.src)
    ranks = tuple(len(s.shape) for s in node.src)
    if a.batched and not b.batched and ranks[1] == 2:
        return _again(node, [a.node, b.node])  # a batch of vectors is a matrix
    if ranks == (2, 1) and not a.batched:
        return _again(node, [b.node, transpose(a.node)])
    left = _matrices(a, node.src[0], max(ranks), column=False)
    right = _matrices(b, node.src[1], max(ranks), column=True)
    return reshape(_again(node, [left, right]), walk.shape(node))


def _matrices(lane: Lane, old: UOp, rank: int, column: bool) -> UOp:
    """Stacks of matrices of one rank, behind the batch; a vector becomes a row or a column."""
    shape = old.shape
    if len(shape) == 1:
        shape = (*shape, 1) if column else (1, *shape)
    if not lane.batched:
        return reshape(lane.node, shape)
    ones = (1,) * (max(rank, 2) - len(shape))
    return reshape(lane.node, (lane.node.shape[0], *ones, *shape))


def _solve(walk: Batch, node: UOp) -> UOp | None:
    """Right sides as matrices, behind as many axes as the left sides have."""
    left, right = node.src
    rank = max(len(left.shape), len(right.shape))
    sides = [
        _matrices(Lane(walk.full(left), True), left, rank, column=False),
        _matrices(Lane(walk.full(right), True), right, rank, column=True),
    ]
    return reshape(_again(node, sides), walk.shape(node))


def _attention(walk: Batch, node: UOp) -> UOp | None:
    rank = max(len(s.shape) for s in node.src)
    lanes = [walk.lane(s) for s in node.src]
    if len(lanes) > 3:  # a mask has at most the axes of the scores
        lanes[0] = Lane(walk.spread(lanes[0]), True)
    if any(len(s.shape) < 2 for s in node.src):
        return None
    pairs = zip(lanes, node.src, strict=True)
    sources = [_matrices(lane, old, rank, False) for lane, old in pairs]
    return reshape(_again(node, sources), walk.shape(node))


def _rows(walk: Batch, node: UOp) -> UOp | None:
    """The first axis of the first input counts rows, which do not meet: more examples are more rows."""
    x, *rest = (walk.lane(s) for s in node.src)
    if any(r.batched for r in rest):
        return None
    rows = (walk.length * node.src[0].shape[0], *x.node.shape[2:])
    made = _again(node, [reshape(x.node, rows), *(r.node for r in rest)])
    return reshape(made, walk.shape(node))


def _conv2d(walk: Batch, node: UOp) -> UOp | None:
    x, weight, *bias = (walk.lane(s) for s in node.src)
    if weight.batched or any(b.batched for b in bias):
        return _conv2d_filters(walk, node, x, weight, bias)
    return _rows(walk, node)


def _conv2d_filters(
    walk: Batch, node: UOp, x: Lane, weight: Lane, bias: Sequence[Lane]
) -> UOp | None:
    """A filter for each example: as many more groups of channels."""
    n, groups = walk.length, _attr(node, "groups")
    if not isinstance(n, int) or bias:
        return None
    rows, channels, *image = node.src[0].shape
    outputs, *filters = node.src[1].shape
    images = permute(walk.spread(x), (1, 0, 2, 3, 4))
    wide = reshape(images, (rows, n * channels, *image))
    many = reshape(walk.spread(weight), (n * outputs, *filters))
    made = _again(node, [wide, many], groups=n * groups)
    split = reshape(made, (rows, n, outputs, *made.shape[2:]))
    return permute(split, (1, 0, 2, 3, 4))


def _scatter_rows(walk: Batch, node: UOp) -> UOp | None:
    """The rows of all examples as one pile; the places of each begin at its own rows."""
    base, index, updates = (walk.full(s) for s in node.src)
    rows, count = node.src[0].shape[0], node.src[1].shape[0]
    if not isinstance(rows, int):
        return None
    first = multiply(counter(index.shape, 0, index.dtype), rows)
    piled = [
        reshape(base, (walk.length * rows, *base.shape[2:])),
        reshape(index + first, (walk.length * count,)),
        reshape(updates, (walk.length * count, *updates.shape[2:])),
    ]
    return reshape(_again(node, piled), walk.shape(node))


def _pick(walk: Batch, node: UOp) -> Made:
    """Values where a mask holds, and their number, which is one for all if the mask is."""
    mask, _ = node.src
    if walk.is_batched(mask):
        return None
    values, _ = cast("tuple[Lane, ...]", one_by_one(walk, node))
    _, count = find("compact").results(walk.lane(mask).node)
    return values, Lane(count, False)


_AXIS = (
    *("softmax", "log_softmax", "mean", "var", "std", "logsumexp"),
    *("argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin"),
    *("logcumsumexp", "sort", "argsort", "concat"),
)
_POOLS = [
    name
    for n in (1, 2, 3)
    for name in (
        *(f"max_pool{n}d", f"avg_pool{n}d", f"lp_pool{n}d"),
        *(f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"),
        f"max_pool{n}d_with_indices",
    )
]
_MATRICES = (
    *("linalg_inv", "linalg_det", "linalg_pinv", "linalg_svdvals"),
    *("linalg_eigvalsh", "linalg_cholesky", "linalg_slogdet", "linalg_eigh"),
    *("linalg_qr", "linalg_full_qr", "linalg_svd", "linalg_full_svd"),
)
NAMED_RULES: dict[str, Named] = {
    **dict.fromkeys(_AXIS, _along_axis),
    **dict.fromkeys(("layer_norm", "rms_norm", "linear"), _last_axes),
    **dict.fromkeys(_POOLS, _last_axes),
    **dict.fromkeys(("group_norm", "instance_norm", "interpolate"), _rows),
    **dict.fromkeys(("sort_rows", "order_rows", "select_rows"), _any_front),
    "search_rows": _any_front,
    **dict.fromkeys(_MATRICES, _any_front),
    "linalg_solve": _solve,
    "scatter_rows": _scatter_rows,
    "pick": _pick,
    "matmul": _matmul,
    "scaled_dot_product_attention": _attention,
    "conv2d": _conv2d,
}
