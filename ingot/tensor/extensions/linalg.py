"""Linear algebra: `ig.linalg`, as the array API has it. In: matrices (..., rows, columns). Out: matrices and numbers.

What LAPACK computes (inverses, factors, eigenvalues, solutions) goes through NumPy on the host and is an EXTERN node of
the program; products, norms and powers are Ingot's own kernels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ops import linalg as external
from ingot.ops.axis import Axes
from ingot.ops.creation import eye
from ingot.ops.elementwise import astype
from ingot.ops.movement import broadcast_to, reshape, show
from ingot.ops.op import Op
from ingot.tensor.functions.arranging import diagonal as _diagonal
from ingot.tensor.functions.elementwise import where as _where
from ingot.tensor.functions.matmul import matmul as matmul
from ingot.tensor.functions.movement import matrix_transpose as matrix_transpose
from ingot.tensor.functions.products import cross as cross
from ingot.tensor.functions.products import outer as _outer
from ingot.tensor.functions.products import tensordot as tensordot
from ingot.tensor.functions.products import vecdot as vecdot
from ingot.tensor.functions.reduce import max as _max
from ingot.tensor.functions.reduce import min as _min
from ingot.tensor.functions.reduce import sum as _sum
from ingot.tensor.functions.statistics import norm as _norm
from ingot.tensor.handle import Value, node
from ingot.tensor.tensor import Tensor

Type = Any


class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


def _one(op: Op, *inputs: Value) -> Tensor:
    return Tensor.of(op(*map(node, inputs)))


def _several(op: Op, x: Value) -> list[Tensor]:
    return [Tensor.of(part) for part in op.results(node(x))]


# --- through LAPACK -----------------------------------------------------------------------------------------------


def cholesky(x: Value, /, *, upper: bool = False) -> Tensor:
    """The triangle whose product with its transpose is x."""
    lower = _one(external.cholesky, x)
    return lower.mT if upper else lower


def det(x: Value, /) -> Tensor:
    """The determinant."""
    return _one(external.det, x)


def slogdet(x: Value, /) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its size."""
    return SlogdetResult(*_several(external.slogdet, x))


def inv(x: Value, /) -> Tensor:
    """The inverse."""
    return _one(external.inv, x)


def pinv(x: Value, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse; singular values below rtol times the largest count as 0."""
    if rtol is None:
        return _one(external.pinv, x)
    u, s, vh = svd(x, full_matrices=False)
    limit = _max(s, axis=-1, keepdims=True) * _column(rtol)
    inverse = _where(s > limit, 1 / s, 0.0)
    return vh.mT @ (inverse.reshape((*inverse.shape, 1)) * u.mT)


def solve(a: Value, b: Value, /) -> Tensor:
    """The x with a @ x = b."""
    return _one(external.solve, a, b)


def eigh(x: Value, /) -> EighResult:
    """The eigenvalues of a symmetric matrix, in order, and its eigenvectors as columns."""
    return EighResult(*_several(external.eigh, x))


def eigvalsh(x: Value, /) -> Tensor:
    """The eigenvalues of a symmetric matrix, in order."""
    return _one(external.eigvalsh, x)


def qr(x: Value, /, *, mode: str = "reduced") -> QRResult:
    """Columns at right angles, and the upper triangle that makes x of them."""
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"qr: mode is {mode!r}; wanted 'reduced' or 'complete'")
    op = external.qr if mode == "reduced" else external.full_qr
    return QRResult(*_several(op, x))


def svd(x: Value, /, *, full_matrices: bool = True) -> SVDResult:
    """Columns, singular values and rows whose product is x."""
    op = external.full_svd if full_matrices else external.svd
    return SVDResult(*_several(op, x))


def svdvals(x: Value, /) -> Tensor:
    """The singular values, from the largest."""
    return _one(external.svdvals, x)


def matrix_rank(x: Value, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are above rtol times the largest."""
    values = svdvals(x)
    given = node(x)
    factor = rtol
    if rtol is None:
        digits = {dt.float32: 23, dt.float64: 52}.get(values.dtype, 10)
        factor = (
            max(int(n) for n in given.shape[-2:] if isinstance(n, int))
            * 2.0**-digits
        )
    limit = _max(values, axis=-1, keepdims=True) * _column(factor)
    return _sum((values > limit).astype("int64"), axis=-1)


def _column(factor: Any) -> Any:
    if isinstance(factor, Tensor) and factor.ndim:
        return factor.reshape((*factor.shape, 1))
    return factor


# --- products, norms, powers --------------------------------------------------------------------------------------


def diagonal(x: Value, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes."""
    _check_matrix("diagonal", x)
    return _diagonal(x, offset, -2, -1)


def trace(x: Value, /, *, offset: int = 0, dtype: Type = None) -> Tensor:
    """The sum of a diagonal of the last two axes."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def outer(x1: Value, x2: Value, /) -> Tensor:
    """Every element of one vector times every element of the other."""
    for x in (x1, x2):
        if len(node(x).shape) != 1:
            raise ShapeError(
                f"outer: a vector is {show(node(x).shape)}; wanted one axis"
            )
    return _outer(x1, x2)


def matrix_power(x: Value, n: int, /) -> Tensor:
    """A square matrix times itself n times; its inverse where n is negative."""
    _check_matrix("matrix_power", x)
    base = Tensor.of(node(x)) if n >= 0 else inv(x)
    result = _identity(base)
    power = abs(n)
    while power:
        if power & 1:
            result = result @ base
        base = base @ base
        power >>= 1
    return result


def _identity(x: Tensor) -> Tensor:
    shape = x.shape
    square = astype(eye(int(shape[-1]), int(shape[-1])), x.dtype)  # type: ignore[arg-type]
    return Tensor.of(broadcast_to(square, shape))


def vector_norm(
    x: Value, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """The p-norm of vectors along axes; without axes, of all elements."""
    return _norm(x, ord, axis=axis, keepdims=keepdims)


def matrix_norm(x: Value, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices: Frobenius, nuclear, of rows (inf), of columns (1) or of singular values (2)."""
    _check_matrix("matrix_norm", x)
    found = _matrix_norm(Tensor.of(node(x)), ord)
    if not keepdims:
        return found
    return Tensor.of(reshape(found.uop, (*found.shape, 1, 1)))


def _matrix_norm(x: Tensor, ord: Any) -> Tensor:
    if ord == "fro":
        return _norm(x, 2, axis=(-2, -1))
    if ord == "nuc":
        return _sum(svdvals(x), axis=-1)
    fold = _max if (ord if isinstance(ord, int | float) else 0) > 0 else _min
    if ord in (2, -2):
        return fold(svdvals(x), axis=-1)
    if ord in (1, -1, math.inf, -math.inf):
        return fold(_sum(x.abs(), axis=-2 if abs(ord) == 1 else -1), axis=-1)
    raise ArgumentError(
        f"matrix_norm: ord is {ord!r}; wanted 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
    )


def _check_matrix(name: str, x: Value) -> None:
    if len(node(x).shape) < 2:
        raise ShapeError(
            f"{name}: x is {show(node(x).shape)}; wanted (..., rows, columns)"
        )
