"""What works between Ingot and its neighbours with no call between: one table, for the test and for docs/neighbours.md.

python -m tests.tensor.neighbours        writes docs/neighbours.md anew
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "neighbours.md"

HEAD = """# Neighbours

What works between Ingot and other libraries with no call between. Every row of these tables is run by
`tests/tensor/test_neighbours.py`, which also keeps this page current (`python -m tests.tensor.neighbours` writes it).

In the examples `x` is an Ingot tensor of float32, shape (2, 3); `a` is a NumPy array of float64, `t` a torch tensor,
`j` a JAX array, `s` a pandas Series and `df` a DataFrame of floats.

- **Types.** Floats of other libraries take the tensor's type, as Python's numbers do: float32 is never widened by an
  array or a scalar of float64 beside it.
- **Lazy.** A result that is a `Tensor` is pending, as every other; a result of another library is computed at once.
- **Memory.** `ig.tensor(y)` copies. `ig.from_numpy`, `ig.from_dlpack` and `__dlpack__` share memory, which lives as long
  as anybody holds it. Memory that a tensor hands out is to be read: where the protocol can say so, it does.
- **NumPy's functions** that are ops of Ingot give tensors. Others are computed by NumPy and give its arrays; a keyword
  that the op does not have (`out=`, `where=`) is an error that says so. `array += x` writes to the array.
- **torch's functions** and operators with a torch tensor on the left give torch tensors. A gradient of torch does not
  reach through Ingot, nor Ingot's through torch.
- **JAX** takes no foreign objects in `jnp` functions: write `jnp.asarray(x)`. Operators give Ingot's tensors.
- **einops** is loaded by whoever uses it; its functions then know tensors.
"""


class Row(NamedTuple):
    """An expression, the type of its value, and the same value in NumPy."""

    write: str
    gives: str
    same: str


Table = dict[str, list[Row]]

NUMPY = [
    Row("np.asarray(x)", "ndarray float32", "v"),
    Row("np.asarray(x, dtype=np.float64)", "ndarray float64", "v"),
    Row("np.array([x, x])", "ndarray float32", "np.array([v, v])"),
    Row("x + a", "Tensor float32", "v + a"),
    Row("a + x", "Tensor float32", "a + v"),
    Row("a @ x.T", "Tensor float32", "a @ v.T"),
    Row("a < x", "Tensor bool", "a < v"),
    Row("np.float64(2) * x", "Tensor float32", "2 * v"),
    Row("x ** np.float64(2)", "Tensor float32", "v ** 2"),
    Row("x / np.int64(4)", "Tensor float32", "v / 4"),
    Row("x[np.array([1, 0])]", "Tensor float32", "v[[1, 0]]"),
    Row("x[a > 1]", "Tensor float32", "v[a > 1]"),
    Row("ig.tensor(a)", "Tensor float64", "a"),
    Row("ig.from_numpy(a)", "Tensor float64", "a"),
    Row("ig.concat([a, x])", "Tensor float64", "np.concatenate([a, v])"),
    Row("np.zeros(3, dtype=x.dtype)", "ndarray float32", "np.zeros(3)"),
    Row("np.testing.assert_allclose(x, v)", "None", "None"),
    Row("np.exp(x)", "Tensor float32", "np.exp(v)"),
    Row("np.add(a, x)", "Tensor float32", "a + v"),
    Row("np.maximum(x, 1)", "Tensor float32", "np.maximum(v, 1)"),
    Row("np.arctan2(x, a)", "Tensor float32", "np.arctan2(v, a)"),
    Row("np.matmul(x, a.T)", "Tensor float32", "v @ a.T"),
    Row("np.isnan(x)", "Tensor bool", "np.isnan(v)"),
    Row("np.add.reduce(x)", "Tensor float32", "v.sum(0)"),
    Row("np.maximum.reduce(x, axis=1)", "Tensor float32", "v.max(1)"),
    Row("np.mean(x)", "Tensor float32", "v.mean()"),
    Row("np.sum(x, axis=0)", "Tensor float32", "v.sum(0)"),
    Row("np.sum(x, 1, keepdims=True)", "Tensor float32", "v.sum(1, keepdims=True)"),
    Row("np.sum(x, dtype=np.float64)", "Tensor float64", "v.sum()"),
    Row("np.prod(x, 0)", "Tensor float32", "v.prod(0)"),
    Row("np.std(x, ddof=1)", "Tensor float32", "v.std(ddof=1)"),
    Row("np.var(x, axis=1)", "Tensor float32", "v.var(1)"),
    Row("np.max(x, axis=1)", "Tensor float32", "v.max(1)"),
    Row("np.amin(x)", "Tensor float32", "v.min()"),
    Row("np.argmax(x, axis=1)", "Tensor int64", "v.argmax(1)"),
    Row("np.any(x > 1, axis=0)", "Tensor bool", "(v > 1).any(0)"),
    Row("np.all(x > 1)", "Tensor bool", "(v > 1).all()"),
    Row("np.count_nonzero(x)", "Tensor int64", "np.count_nonzero(v)"),
    Row("np.nansum(x)", "Tensor float32", "v.sum()"),
    Row("np.ptp(x, axis=0)", "Tensor float32", "np.ptp(v, axis=0)"),
    Row("np.cumsum(x, axis=1)", "Tensor float32", "v.cumsum(1)"),
    Row("np.sort(x, axis=0)", "Tensor float32", "np.sort(v, axis=0)"),
    Row("np.argsort(x, axis=1)", "Tensor int64", "np.argsort(v, axis=1)"),
    Row(
        "np.concatenate([x, a], axis=1)",
        "Tensor float32",
        "np.concatenate([v, a], 1)",
    ),
    Row("np.stack((x, x))", "Tensor float32", "np.stack((v, v))"),
    Row("np.vstack([x, x])", "Tensor float32", "np.vstack([v, v])"),
    Row("np.hstack([x, a])", "Tensor float32", "np.hstack([v, a])"),
    Row("np.where(x > 2, x, 0)", "Tensor float32", "np.where(v > 2, v, 0)"),
    Row("np.clip(x, 1, 3)", "Tensor float32", "np.clip(v, 1, 3)"),
    Row("np.clip(x, min=1)", "Tensor float32", "np.clip(v, 1, None)"),
    Row("np.round(x)", "Tensor float32", "np.round(v)"),
    Row("np.isclose(x, a)", "Tensor bool", "np.isclose(v, a)"),
    Row("np.allclose(x, x)", "Tensor bool", "np.True_"),
    Row("np.reshape(x, (3, 2))", "Tensor float32", "v.reshape(3, 2)"),
    Row("np.ravel(x)", "Tensor float32", "v.ravel()"),
    Row("np.transpose(x)", "Tensor float32", "v.T"),
    Row("np.transpose(x, (1, 0))", "Tensor float32", "v.T"),
    Row("np.swapaxes(x, 0, 1)", "Tensor float32", "v.T"),
    Row("np.moveaxis(x, 0, 1)", "Tensor float32", "v.T"),
    Row("np.expand_dims(x, 0)", "Tensor float32", "v[None]"),
    Row("np.squeeze(x[:1])", "Tensor float32", "v[0]"),
    Row(
        "np.broadcast_to(x, (4, 2, 3))",
        "Tensor float32",
        "np.broadcast_to(v, (4, 2, 3))",
    ),
    Row("np.flip(x, axis=0)", "Tensor float32", "v[::-1]"),
    Row("np.roll(x, 1, axis=1)", "Tensor float32", "np.roll(v, 1, 1)"),
    Row("np.tile(x, 2)", "Tensor float32", "np.tile(v, 2)"),
    Row("np.repeat(x, 2, axis=0)", "Tensor float32", "np.repeat(v, 2, 0)"),
    Row("np.pad(x, 1)", "Tensor float32", "np.pad(v, 1)"),
    Row("np.diff(x, axis=1)", "Tensor float32", "np.diff(v, axis=1)"),
    Row("np.diag(x)", "Tensor float32", "np.diag(v)"),
    Row("np.tril(x)", "Tensor float32", "np.tril(v)"),
    Row("np.take(x, [2, 0], axis=1)", "Tensor float32", "v[:, [2, 0]]"),
    Row("np.dot(x, a.T)", "Tensor float32", "v @ a.T"),
    Row("np.tensordot(x, a, axes=2)", "Tensor float32", "np.tensordot(v, a, 2)"),
    Row("np.linalg.norm(x)", "Tensor float32", "np.linalg.norm(v)"),
    Row("np.shape(x)", "tuple", "(2, 3)"),
    Row("np.copy(x)", "Tensor float32", "v"),
    Row("np.histogram(x, 3)[0]", "ndarray int64", "np.histogram(v, 3)[0]"),
    Row("np.fft.fft(x)", "ndarray complex64", "np.fft.fft(v)"),
    Row("np.linalg.svd(x)[1]", "ndarray float32", "np.linalg.svd(v)[1]"),
    Row("np.from_dlpack(x)", "ndarray float32", "v"),
]
PYTHON = [
    Row("memoryview(x.data())", "memoryview", "v"),
    Row("bytes(x.data())", "bytes", "v.tobytes()"),
    Row("x.tolist()", "list", "v.tolist()"),
    Row("[float(n) for n in x[0]]", "list", "v[0].tolist()"),
    Row("sum(x)", "Tensor float32", "v.sum(0)"),
    Row("ig.tensor(memoryview(a))", "Tensor float64", "a"),
]
TORCH = [
    Row("torch.from_dlpack(x)", "Tensor torch.float32", "v"),
    Row("torch.as_tensor(x)", "Tensor torch.float32", "v"),
    Row("ig.from_dlpack(t)", "Tensor float32", "t.numpy()"),
    Row("ig.from_dlpack(t.T)", "Tensor float32", "t.numpy().T"),
    Row("ig.from_dlpack(t.bfloat16())", "Tensor bfloat16", "t.numpy()"),
    Row("torch.from_dlpack(x.bfloat16())", "Tensor torch.bfloat16", "v"),
    Row("ig.tensor(t)", "Tensor float32", "t.numpy()"),
    Row("x + t", "Tensor float32", "v + t.numpy()"),
    Row("x @ t.T.double()", "Tensor float32", "v @ t.numpy().T"),
    Row("x == t", "Tensor bool", "v == t.numpy()"),
    Row("ig.maximum(x, t)", "Tensor float32", "np.maximum(v, t.numpy())"),
    Row("t + x", "Tensor torch.float32", "t.numpy() + v"),
    Row("torch.sin(x)", "Tensor torch.float32", "np.sin(v)"),
    Row(
        "torch.cat([t, x])",
        "Tensor torch.float32",
        "np.concatenate([t.numpy(), v])",
    ),
    Row("torch.nn.functional.relu(x)", "Tensor torch.float32", "np.maximum(v, 0)"),
]
JAX = [
    Row("jnp.asarray(x)", "ArrayImpl float32", "v"),
    Row("jnp.from_dlpack(x)", "ArrayImpl float32", "v"),
    Row("ig.from_dlpack(j)", "Tensor float32", "np.asarray(j)"),
    Row("ig.from_dlpack(j.astype('bfloat16'))", "Tensor bfloat16", "np.asarray(j)"),
    Row("ig.tensor(j)", "Tensor float32", "np.asarray(j)"),
    Row("x + j", "Tensor float32", "v + np.asarray(j)"),
    Row("j - x", "Tensor float32", "np.asarray(j) - v"),
]
CUPY = [
    Row("ig.tensor(c.get())", "Tensor float32", "c.get()"),
]
PANDAS = [
    Row("ig.tensor(df)", "Tensor float64", "df.to_numpy()"),
    Row("ig.tensor(s)", "Tensor float64", "s.to_numpy()"),
    Row("pd.DataFrame(x)", "DataFrame", "v"),
    Row("pd.DataFrame({'p': x[0], 'q': x[1]})", "DataFrame", "v.T"),
    Row("pd.Series(x[0])", "Series float32", "v[0]"),
    Row("x[0] + s", "Tensor float32", "v[0] + s.to_numpy()"),
    Row("s + x[0]", "Series float32", "s.to_numpy() + v[0]"),
    Row("ig.mean(df)", "Tensor float64", "df.to_numpy().mean()"),
]
MATPLOTLIB = [
    Row("plt.plot(x[0])[0].get_ydata()", "Tensor float32", "v[0]"),
    Row("plt.plot(x[0], x[1])[0].get_xdata()", "Tensor float32", "v[0]"),
    Row("plt.scatter(x[0], x[1]).get_offsets()", "MaskedArray float64", "v.T"),
    Row("plt.imshow(x).get_array()", "MaskedArray float32", "v"),
    Row("plt.hist(x[0], bins=3)[0]", "ndarray float64", "np.histogram(v[0], 3)[0]"),
    Row("len(plt.bar(x[0], x[1]))", "int", "3"),
]
EINOPS = [
    Row("einops.rearrange(x, 'a b -> (b a)')", "Tensor float32", "v.T.ravel()"),
    Row("einops.reduce(x, 'a b -> b', 'mean')", "Tensor float32", "v.mean(0)"),
    Row(
        "einops.repeat(x, 'a b -> a b c', c=2)",
        "Tensor float32",
        "np.stack([v, v], 2)",
    ),
    Row(
        "einops.rearrange([x, x], 'k a b -> a b k')",
        "Tensor float32",
        "np.stack([v, v], 2)",
    ),
    Row(
        "einops.pack([x, x], '* b')[0]", "Tensor float32", "np.concatenate([v, v])"
    ),
    Row("einops.einsum(x, x, 'a b, c b -> a c')", "Tensor float32", "v @ v.T"),
    Row("einops.parse_shape(x, 'a b')", "dict", "{'a': 2, 'b': 3}"),
]
# The package that a table needs, beside NumPy.
TABLES: dict[str, tuple[str, list[Row]]] = {
    "NumPy": ("numpy", NUMPY),
    "Python": ("numpy", PYTHON),
    "torch": ("torch", TORCH),
    "JAX": ("jax", JAX),
    "CuPy": ("cupy", CUPY),
    "pandas": ("pandas", PANDAS),
    "matplotlib": ("matplotlib", MATPLOTLIB),
    "einops": ("einops", EINOPS),
}


def page() -> str:
    """docs/neighbours.md."""
    return HEAD + "".join(
        _section(name, rows) for name, (_, rows) in TABLES.items()
    )


def _section(name: str, rows: list[Row]) -> str:
    lines = [
        f"| `{row.write.replace('|', chr(92) + '|')}` | {row.gives} |"
        for row in rows
    ]
    return "\n".join(
        ["", f"## {name}", "", "| write | gives |", "|---|---|", *lines, ""]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
