"""Linear algebra through LAPACK. In: matrices (..., rows, columns). Out: EXTERN nodes that NumPy computes on the host.

These are the only ops that leave Ingot's own kernels; `ingot ops` lists them as such. Their names begin with `linalg_`;
users call them as `ig.linalg.inv` and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ingot.errors import ShapeError
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.region import extern, register_extern
from ingot.ir.shape import Shape, Type
from ingot.ops import elementwise as ew
from ingot.ops.elementwise import as_float
from ingot.ops.gradient import Cotangents, Gradients, Rule, only
from ingot.ops.matmul import matmul, promoted
from ingot.ops.movement import (
    broadcast_shape,
    broadcast_to,
    reshape,
    show,
    transpose,
)
from ingot.ops.op import Accepted, Op, op
from ingot.ops.sample import Recipe, floats, sample

_NO_RULE = "computed by LAPACK; no rule for its gradient is written"
Shapes = Callable[..., tuple[Shape, ...]]


def _known(name: str, shape: Shape) -> tuple[int, ...]:
    if not all(isinstance(n, int) for n in shape):
        raise ShapeError(
            f"{name}: {show(shape)} has a symbolic size; wanted known ones"
        )
    return tuple(cast(int, n) for n in shape)


def _check(name: str, x: UOp, square: bool) -> None:
    if len(x.shape) < 2 or (square and x.shape[-1] != x.shape[-2]):
        wanted = "(..., n, n)" if square else "(..., rows, columns)"
        raise ShapeError(f"{name}: x is {show(x.shape)}; wanted {wanted}")


def _call(name: str, shapes: Shapes, *inputs: UOp) -> tuple[UOp, ...]:
    """The EXTERN node; its results have the type of the first input."""
    kind: DType = inputs[0].dtype
    found = [(kind.name, _known(name, shape)) for shape in shapes(*inputs)]
    return extern(f"linalg.{name}", inputs, found)


def _declare(
    name: str,
    run: Callable[..., Any],
    shapes: Shapes,
    lower: Callable[..., Any],
    given: tuple[Recipe, ...],
    *,
    ref: Any = None,
    square: bool = True,
    grad: Rule | None = None,
) -> Op:
    """An op of one matrix that NumPy computes. `ref` says what of the result is unique."""
    register_extern(f"linalg.{name}", run)

    def types(x: UOp) -> Any:
        _check(name, x, square)
        found = tuple((x.dtype, shape) for shape in shapes(x))
        return found if len(found) > 1 else found[0]

    return op(
        f"linalg_{name}",
        types=types,
        accept=_floats,
        lower=lower,
        ref=ref or run,
        samples=[sample(x) for x in given],
        bad_samples=((sample(floats(3)), f"{name}: x is (3,); wanted (..."),),
        grad=grad,
        no_grad_reason="" if grad else _NO_RULE,
        public=False,
        ulp=4096,
        normwise=True,
    )


def _floats(x: UOp) -> Accepted:
    return (as_float(x),), {}


# --- one result ---------------------------------------------------------------------------------------------------

_SQUARES = (floats(3, 3), floats(2, 4, 4))
_WIDE = (floats(3, 4), floats(2, 4, 3))


def _same(x: UOp) -> tuple[Shape, ...]:
    return (x.shape,)


def _batch(x: UOp) -> tuple[Shape, ...]:
    return (x.shape[:-2],)


def _turned(x: UOp) -> tuple[Shape, ...]:
    return ((*x.shape[:-2], x.shape[-1], x.shape[-2]),)


def _inv(x: UOp) -> UOp:
    """The inverse."""
    return _call("inv", _same, x)[0]


def _inv_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """d(inverse) = -inverse @ dx @ inverse."""
    turned = transpose(node)
    return (ew.negative(matmul(matmul(turned, only(cotangents)), turned)),)


def _det(x: UOp) -> UOp:
    """The determinant."""
    return _call("det", _batch, x)[0]


def _det_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    scale = ew.multiply(only(cotangents), node)
    spread = reshape(scale, (*scale.shape, 1, 1))
    return (ew.multiply(spread, transpose(inv(node.src[0]))),)


def _pinv(x: UOp) -> UOp:
    """The pseudo-inverse."""
    return _call("pinv", _turned, x)[0]


def _cholesky(x: UOp) -> UOp:
    """The lower triangle whose product with its transpose is x."""
    return _call("cholesky", _same, x)[0]


def _eigvalsh(x: UOp) -> UOp:
    """The eigenvalues of a symmetric matrix, in order."""
    return _call("eigvalsh", _values, x)[0]


def _values(x: UOp) -> tuple[Shape, ...]:
    return (x.shape[:-1],)


def _smaller(x: UOp) -> int:
    return min(_known("svd", x.shape)[-2:])


def _singular(x: UOp) -> tuple[Shape, ...]:
    return ((*x.shape[:-2], _smaller(x)),)


def _svdvals(x: UOp) -> UOp:
    """The singular values, from the largest."""
    return _call("svdvals", _singular, x)[0]


def _svdvals_run(x: Any) -> Any:
    return np.linalg.svd(x, compute_uv=False)


def _positive(x: Any) -> Any:
    """A symmetric matrix with positive eigenvalues."""
    return x @ np.swapaxes(x, -1, -2) + 4 * np.eye(x.shape[-1])


inv = _declare("inv", np.linalg.inv, _same, _inv, _SQUARES, grad=_inv_grad)
det = _declare("det", np.linalg.det, _batch, _det, _SQUARES, grad=_det_grad)
pinv = _declare("pinv", np.linalg.pinv, _turned, _pinv, _WIDE, square=False)
svdvals = _declare(
    "svdvals", _svdvals_run, _singular, _svdvals, _WIDE, square=False
)
# LAPACK reads the lower triangle alone, so any square will do for eigenvalues.
eigvalsh = _declare("eigvalsh", np.linalg.eigvalsh, _values, _eigvalsh, _SQUARES)
cholesky = _declare(
    "cholesky", np.linalg.cholesky, _same, _cholesky, (floats(1, 1, low=1),)
)


# --- several results ----------------------------------------------------------------------------------------------


def _slogdet(x: UOp) -> tuple[UOp, UOp]:
    """The sign of the determinant, and the logarithm of its size."""
    sign, size = _call("slogdet", _twice, x)
    return sign, size


def _twice(x: UOp) -> tuple[Shape, ...]:
    return x.shape[:-2], x.shape[:-2]


def _slogdet_run(x: Any) -> Any:
    return tuple(np.linalg.slogdet(x))


def _slogdet_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    g = cotangents[1]
    if g is None:
        return (None,)
    spread = reshape(g, (*g.shape, 1, 1))
    return (ew.multiply(spread, transpose(inv(node.src[0]))),)


def _eigh(x: UOp) -> tuple[UOp, UOp]:
    """The eigenvalues of a symmetric matrix, in order, and its eigenvectors as columns."""
    values, vectors = _call("eigh", _pairs, x)
    return values, vectors


def _pairs(x: UOp) -> tuple[Shape, ...]:
    return x.shape[:-1], x.shape


def _eigh_run(x: Any) -> Any:
    return tuple(np.linalg.eigh(x))


def _qr_shapes(x: UOp) -> tuple[Shape, ...]:
    rows, columns = x.shape[-2:]
    n = _smaller(x)
    return (*x.shape[:-2], rows, n), (*x.shape[:-2], n, columns)


def _qr(x: UOp) -> tuple[UOp, UOp]:
    """Columns at right angles, and the upper triangle that makes x of them."""
    q, r = _call("qr", _qr_shapes, x)
    return q, r


def _qr_run(x: Any) -> Any:
    return tuple(np.linalg.qr(x))


def _svd_shapes(x: UOp) -> tuple[Shape, ...]:
    rows, columns = x.shape[-2:]
    n = _smaller(x)
    front = x.shape[:-2]
    return (*front, rows, n), (*front, n), (*front, n, columns)


def _svd(x: UOp) -> tuple[UOp, UOp, UOp]:
    """Columns, singular values and rows whose product is x; as many as the smaller side has."""
    u, s, vh = _call("svd", _svd_shapes, x)
    return u, s, vh


def _svd_run(x: Any) -> Any:
    return tuple(np.linalg.svd(x, full_matrices=False))


def _full_svd_shapes(x: UOp) -> tuple[Shape, ...]:
    rows, columns = x.shape[-2:]
    front = x.shape[:-2]
    return (*front, rows, rows), (*front, _smaller(x)), (*front, columns, columns)


def _full_svd(x: UOp) -> tuple[UOp, UOp, UOp]:
    """svd with square matrices of columns and rows."""
    u, s, vh = _call("full_svd", _full_svd_shapes, x)
    return u, s, vh


def _full_svd_run(x: Any) -> Any:
    return tuple(np.linalg.svd(x, full_matrices=True))


def _full_qr_shapes(x: UOp) -> tuple[Shape, ...]:
    rows, columns = x.shape[-2:]
    return (*x.shape[:-2], rows, rows), (*x.shape[:-2], rows, columns)


def _full_qr(x: UOp) -> tuple[UOp, UOp]:
    """qr with a square matrix of columns."""
    q, r = _call("full_qr", _full_qr_shapes, x)
    return q, r


def _full_qr_run(x: Any) -> Any:
    return tuple(np.linalg.qr(x, "complete"))


_ONE = (floats(1, 1, low=1),)
slogdet = _declare(
    "slogdet", _slogdet_run, _twice, _slogdet, _SQUARES, grad=_slogdet_grad
)
eigh = _declare("eigh", _eigh_run, _pairs, _eigh, _ONE)
qr = _declare("qr", _qr_run, _qr_shapes, _qr, _WIDE, square=False)
full_qr = _declare(
    "full_qr",
    _full_qr_run,
    _full_qr_shapes,
    _full_qr,
    (floats(3, 2),),
    square=False,
)
svd = _declare("svd", _svd_run, _svd_shapes, _svd, _ONE, square=False)
full_svd = _declare(
    "full_svd", _full_svd_run, _full_svd_shapes, _full_svd, _ONE, square=False
)


# --- systems of equations -----------------------------------------------------------------------------------------


def _accept_solve(a: UOp, b: UOp) -> Accepted:
    (left, right), _ = promoted(as_float(a), as_float(b))
    assert left is not None
    assert right is not None
    _check("solve", left, square=True)
    if len(right.shape) == 1:
        return (left, right), {}
    front = broadcast_shape("solve", left.shape[:-2], right.shape[:-2])
    matrices = broadcast_to(left, (*front, *left.shape[-2:]))
    return (matrices, broadcast_to(right, (*front, *right.shape[-2:]))), {}


def _solve_shapes(a: UOp, b: UOp) -> tuple[Shape, ...]:
    if len(b.shape) == 1:
        return ((*a.shape[:-2], b.shape[0]),)
    return (b.shape,)


def _solve_type(a: UOp, b: UOp) -> Type:
    rows = b.shape[0] if len(b.shape) == 1 else b.shape[-2]
    if rows != a.shape[-1]:
        raise ShapeError(
            f"solve: a is {show(a.shape)}, b is {show(b.shape)}: {a.shape[-1]} unknowns meet {rows} rows"
        )
    return a.dtype, _solve_shapes(a, b)[0]


def _solve(a: UOp, b: UOp) -> UOp:
    """The x with a @ x = b."""
    return _call("solve", _solve_shapes, a, b)[0]


def _solve_run(a: Any, b: Any) -> Any:
    if b.ndim == 1:
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


def _solve_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """To b the solution of the transposed system; to a its product with the result."""
    a, b = node.src
    g = only(cotangents)
    to_b = solve(transpose(a), g)
    if len(b.shape) == 1:
        column, row = (
            reshape(to_b, (*to_b.shape, 1)),
            reshape(node, (*node.shape[:-1], 1, node.shape[-1])),
        )
        return ew.negative(matmul(column, row)), to_b
    return ew.negative(matmul(to_b, transpose(node))), to_b


register_extern("linalg.solve", _solve_run)
solve = op(
    "linalg_solve",
    types=_solve_type,
    accept=_accept_solve,
    lower=_solve,
    ref=_solve_run,
    samples=(
        sample(floats(3, 3), floats(3)),
        sample(floats(3, 3), floats(3, 2)),
        sample(floats(2, 3, 3), floats(3, 2)),
    ),
    bad_samples=(
        (
            sample(floats(3, 3), floats(2)),
            "solve: a is (3, 3), b is (2,): 3 unknowns",
        ),
        (sample(floats(3, 2), floats(3)), "solve: x is (3, 2); wanted (..., n, n)"),
    ),
    grad=_solve_grad,
    public=False,
    ulp=4096,
    normwise=True,
)
