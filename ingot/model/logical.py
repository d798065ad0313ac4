"""LogicalModel: a program with named ends, written once. In: tensor code in a `with` block. Out: a model to call or emit.

    with ig.LogicalModel("mlp") as mlp:
        x = ig.Input(shape=(None, 784), name="input")
        w = ig.Parameter(shape=(784, 10), name="w")
        ig.Output(ig.softmax(x @ w), name="output")

    mlp(images, w=weights)            runs
    mlp.summary()                     tells what it holds
    PythonGenerator().generate(mlp)   is source code

The operations are the ordinary ones: `Input` and the others give tensors that have a shape and no value.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir import region
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.model import compose, gradient, text
from ingot.model.graph import Array, Graph, Kind, Port, closed
from ingot.model.summary import summary
from ingot.ops.promotion import DEFAULT_FLOAT, resolve
from ingot.tensor import naming
from ingot.tensor.handle import Handle
from ingot.tensor.tensor import Tensor

Size = int | str | UOp | None
LONGEST = 1 << 31  # an unknown size is below this


class _Open(threading.local):
    """The models whose blocks this thread is in, the innermost last."""

    def __init__(self) -> None:
        self.models: list[LogicalModel] = []


_open = _Open()


class LogicalModel:
    """A model. Its block may be entered once; afterwards it does not change."""

    def __init__(self, name: str = "model") -> None:
        self.name = identifier("a model", name)
        self._building = Building(self.name)
        self._graph: Graph | None = None

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """The model of a graph."""
        made = cls(graph.name)
        made._graph = graph
        return made

    def __enter__(self) -> Self:
        if self._graph is not None or self in _open.models:
            raise ArgumentError(
                f"model {self.name}: its block has been entered before",
                fix="make a new LogicalModel",
            )
        _open.models.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        _open.models.remove(self)
        if kind is None:
            self._graph = self._building.finish()

    @property
    def graph(self) -> Graph:
        """The closed graph."""
        if self._graph is None:
            raise ArgumentError(
                f"model {self.name} is not finished",
                fix="leave its `with` block first",
            )
        return self._graph

    @property
    def inputs(self) -> dict[str, Port]:
        """What every call gives."""
        return {p.name: p for p in self.graph.of(Kind.INPUT)}

    @property
    def parameters(self) -> dict[str, Port]:
        """What is learnt."""
        return {p.name: p for p in self.graph.of(Kind.PARAMETER)}

    @property
    def outputs(self) -> dict[str, UOp]:
        """What every call computes."""
        return dict(self.graph.outputs)

    # --- using it -------------------------------------------------------------------------------------------------

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The outputs for these inputs, parameters and states. Inside another model's block this is a part of it."""
        return call(self, inputs, named)

    def __or__(self, other: LogicalModel) -> LogicalModel:
        """The outputs of this model feed the inputs of the other."""
        return LogicalModel.of(compose.chained(self.graph, other.graph))

    def with_shapes(self, **shapes: Sequence[int | None]) -> LogicalModel:
        """The same model with sizes set: model.with_shapes(input=(8, 784))."""
        return LogicalModel.of(compose.with_shapes(self.graph, shapes))

    def extract_subgraph(
        self, names: Sequence[str], outputs: Sequence[str] | None = None
    ) -> LogicalModel:
        """The part between named tensors: from the first to the last, or from all of `names` to all of `outputs`."""
        starts, ends = (
            (names[:-1], names[-1:]) if outputs is None else (names, outputs)
        )
        if not starts or not ends:
            raise ArgumentError(
                f"extract_subgraph: {list(names)}",
                wanted="where the part begins, then where it ends",
            )
        return LogicalModel.of(compose.part(self.graph, starts, ends))

    def with_gradients(
        self, of: str | None = None, wrt: Sequence[str] | None = None
    ) -> LogicalModel:
        """The model with gradients of the sum of an output as further outputs, `<name>_grad`: of all parameters, or of `wrt`."""
        return LogicalModel.of(gradient.with_gradients(self.graph, of, wrt))

    def init(self, seed: int = 0) -> dict[str, Tensor]:
        """Values for the parameters: uniform, small enough that signals keep their size; vectors are zero."""
        rng = np.random.default_rng(seed)
        return {p.name: _initial(p, rng) for p in self.graph.of(Kind.PARAMETER)}

    def summary(self) -> str:
        """Operations, shapes, types, parameters and arithmetic, as a table."""
        return summary(self.graph)

    def to_json(self) -> str:
        """The model as text; `LogicalModel.from_json` reads it."""
        return text.to_json(self.graph)

    @staticmethod
    def from_json(given: str) -> LogicalModel:
        """The model of a text that `to_json` wrote."""
        return LogicalModel.of(text.from_json(given))

    def __repr__(self) -> str:
        if self._graph is None:
            return f"LogicalModel({self.name!r}, unfinished)"
        ends = (", ".join(names) for names in (self.inputs, self.outputs))
        return "LogicalModel({!r}: {} -> {})".format(self.name, *ends)


def _initial(port: Port, rng: np.random.Generator) -> Tensor:
    if any(isinstance(n, UOp) for n in port.shape):
        raise ArgumentError(
            f"parameter {port.name!r} has a size that is not known",
            fix="set it with with_shapes",
        )
    shape = tuple(int(n) for n in port.shape)  # type: ignore[arg-type]  # all are ints
    if len(shape) < 2:
        return Tensor(np.zeros(shape, np.float32), port.dtype)
    limit = (3.0 / max(1, math.prod(shape) // max(shape[0], shape[-1]))) ** 0.5
    drawn = rng.uniform(-limit, limit, shape).astype(np.float32)
    return Tensor(drawn, port.dtype)


class Building:
    """A model while its block runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ports: dict[str, Port] = {}
        self.outputs: dict[str, UOp] = {}
        self.updates: dict[str, UOp] = {}
        self.names: dict[str, UOp] = {}
        self.sizes: dict[str, UOp] = {}
        self.parts: dict[str, int] = {}

    def port(
        self,
        kind: Kind,
        name: str,
        shape: Sequence[Size],
        dtype: DType,
        value: Array | None = None,
    ) -> Tensor:
        """A new port, as a tensor without a value."""
        dims = tuple(self._size(size, name, k) for k, size in enumerate(shape))
        node = pipeline.placeholder(dtype, dims)
        self.ports[self._free(name)] = Port(name, kind, node, value)
        self.names[name] = node
        return Tensor.of(node)

    def _size(self, size: Size, port: str, axis: int) -> int | UOp:
        if size is None:
            first = not self.ports and axis == 0
            return self._variable("batch" if first else f"{port}_{axis}")
        if isinstance(size, str):
            return self._variable(size)
        if isinstance(size, int) and size < 0:
            raise ArgumentError(
                f"{self.name}: size {size} of {port!r}",
                wanted="0 or more, or None for a size that is not known yet",
            )
        return size

    def _variable(self, name: str) -> UOp:
        found = self.sizes.get(name)
        if found is None:
            found = UOp.variable(identifier("a size", name), 0, LONGEST - 1)
            self.sizes[name] = found
        return found

    def _free(self, name: str) -> str:
        """The name, if nothing in the model has it yet."""
        if identifier("a tensor", name) in self.names:
            raise ArgumentError(
                f"model {self.name} has a tensor called {name!r} already",
                fix="choose another name",
            )
        return name

    def prefix(self, name: str) -> str:
        """What the parameters of a part are called after: its name, with a number from the second on."""
        count = self.parts[name] = self.parts.get(name, 0) + 1
        return name if count == 1 else f"{name}_{count}"

    def named(self, name: str, node: UOp) -> None:
        """Give a tensor a name."""
        self.names[self._free(name)] = node

    def output(self, name: str, node: UOp) -> None:
        """A result of the model. A tensor may be named and be an output of the same name."""
        if self.names.get(name) is not node:
            self.named(name, node)
        self.outputs[name] = node

    def finish(self) -> Graph:
        if not self.outputs:
            raise ArgumentError(
                f"model {self.name} has no output",
                fix="call ig.Output(tensor, name=...)",
            )
        missing = [
            p.name
            for p in self.ports.values()
            if p.kind is Kind.STATE and p.name not in self.updates
        ]
        if missing:
            raise ArgumentError(
                f"model {self.name}: state {missing[0]!r} is never updated",
                fix="call .update(...) on it, or make it a Parameter",
            )
        self._take_constants()
        return closed(
            self.name,
            list(self.ports.values()),
            self.outputs,
            self.updates,
            self.names,
        )

    def _take_constants(self) -> None:
        """Tensors with values that the block used are constants of the model."""
        roots = (*self.outputs.values(), *self.updates.values())
        known = {port.node for port in self.ports.values()}
        for node in UOp(Ops.SINK, dt.void, roots).toposort():
            if node.op is Ops.BUFFER and node not in known:
                name = f"constant_{sum(p.kind is Kind.CONSTANT for p in self.ports.values())}"
                value = Tensor.of(node).numpy()
                self.ports[self._free(name)] = Port(
                    name, Kind.CONSTANT, node, value
                )


# --- calling ----------------------------------------------------------------------------------------------------------


def call(
    model: LogicalModel, inputs: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """A model on tensors; inside another model's block, as one function of it."""
    graph = model.graph
    given = _arguments(graph, inputs, named)
    outer = current()
    if outer is None:
        made = graph.applied({n: _node(graph, n, v) for n, v in given.items()})
    else:
        made = _nested(outer._building, graph, given)
    tensors = [Tensor.of(u) for u in made]
    outputs = tensors[: len(graph.outputs)]
    result = outputs[0] if len(outputs) == 1 else tuple(outputs)
    if not graph.updates:
        return result
    return result, dict(zip(graph.updates, tensors[len(outputs) :], strict=True))


def _arguments(
    graph: Graph, inputs: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """What is given for each port, by name; states begin where they began."""
    wanted = [p.name for p in graph.of(Kind.INPUT)]
    if len(inputs) > len(wanted):
        raise ArgumentError(
            f"{graph.name}: {len(inputs)} inputs were given",
            wanted=", ".join(wanted) or "none",
        )
    unknown = [name for name in named if name not in graph.by_name]
    if unknown:
        raise ArgumentError(
            f"{graph.name} has no port {unknown[0]!r}",
            wanted="one of " + ", ".join(graph.by_name),
        )
    given = dict(zip(wanted, inputs, strict=False))
    twice = [name for name in given if name in named]
    if twice:
        raise ArgumentError(f"{graph.name}: input {twice[0]!r} is given twice")
    start = {p.name: p.value for p in graph.ports if p.value is not None}
    return {**start, **given, **named}


def _node(graph: Graph, name: str, value: Any) -> UOp:
    if isinstance(value, Tensor):
        return value.uop
    return Tensor(value, graph.by_name[name].dtype).uop


def _nested(
    building: Building, graph: Graph, given: Mapping[str, Any]
) -> tuple[UOp, ...]:
    """A call of the graph's function; parameters that are not given become parameters of the outer model."""
    nodes = {}
    prefix = building.prefix(graph.name)
    for port in graph.ports:
        if port.name in given:
            nodes[port.name] = _node(graph, port.name, given[port.name])
        elif port.kind is Kind.PARAMETER:
            own = building.port(
                port.kind, f"{prefix}.{port.name}", port.shape, port.dtype
            )
            nodes[port.name] = own.uop
    sized = graph.mapped(graph.sizes(nodes))
    body = region.function(graph.name, [p.node for p in sized.ports], sized.results)
    return region.call(body, *(nodes[p.name] for p in sized.ports))


def identifier(what: str, name: Any) -> str:
    """The name, if it is a word: letters, digits, `_`, and `.` between words."""
    if not isinstance(name, str) or not all(
        part.isidentifier() for part in name.split(".")
    ):
        raise ArgumentError(
            f"{what} is called {name!r}",
            wanted="a word of letters, digits and _, not beginning with a digit",
        )
    return str(name)


def _listen(tensor: Handle, name: str) -> None:
    """A tensor that is named inside a block has its name in the model."""
    found = current()
    if found is not None:
        found._building.named(name, tensor.uop)


naming.listeners.append(_listen)


def current() -> LogicalModel | None:
    """The model whose block this thread is in."""
    return _open.models[-1] if _open.models else None


def building(what: str) -> Building:
    """The innermost model under construction."""
    found = current()
    if found is None:
        raise ArgumentError(
            f"{what} stands outside a model",
            fix="write it inside `with ig.LogicalModel(...):`",
        )
    return found._building


# --- what stands in a block -------------------------------------------------------------------------------------------


def Input(
    shape: Sequence[Size], name: str, dtype: DType | str = DEFAULT_FLOAT
) -> Tensor:
    """A tensor that every call gives. None is a size that is not known yet; a word names such a size."""
    return building("Input").port(Kind.INPUT, name, shape, resolve(dtype))


def Parameter(
    shape: Sequence[Size], name: str, dtype: DType | str = DEFAULT_FLOAT
) -> Tensor:
    """A tensor that is learnt: the same in every call."""
    return building("Parameter").port(Kind.PARAMETER, name, shape, resolve(dtype))


def Output(tensor: Tensor, name: str = "output") -> Tensor:
    """A result of the model."""
    if not isinstance(tensor, Tensor):
        raise ArgumentError(
            f"Output {name!r} is {type(tensor).__name__}", wanted="a tensor"
        )
    building("Output").output(name, tensor.uop)
    return tensor


class Carried(Tensor):
    """A tensor whose value goes from one call to the next."""

    __slots__ = ("name", "owner")
    name: str
    owner: Building

    def update(self, value: Tensor) -> None:
        """What it will be in the next call."""
        if value.shape != self.shape or value.dtype is not self.dtype:
            raise ArgumentError(
                f"state {self.name!r}",
                given=f"{value.dtype} {value.shape}",
                wanted=f"{self.dtype} {self.shape}",
            )
        self.owner.updates[self.name] = value.uop


def State(
    shape: Sequence[int],
    name: str,
    dtype: DType | str = DEFAULT_FLOAT,
    initial: Any = 0,
) -> Carried:
    """A tensor that the model carries from call to call; `update` says what it becomes."""
    kind = resolve(dtype)
    start = np.broadcast_to(np.asarray(initial, dt.to_numpy(kind)), tuple(shape))
    owner = building("State")
    plain = owner.port(Kind.STATE, name, shape, kind, np.ascontiguousarray(start))
    made = Carried.of(plain.uop)
    made.name = name
    made.owner = owner
    return made
