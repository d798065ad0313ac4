"""The registry: everything Ingot knows about an operation, in one declaration.

    softplus = op(
        "softplus",
        types=same_type,                                     # (dtype, shape) of each result, or an error to read
        lower=lambda x: add(maximum(x, 0), log1p(exp(neg(abs_(x))))),
        ref=lambda x: np.logaddexp(0, x),                    # independent NumPy meaning
        samples=(sample(floats(3, 4)),),
        bad_samples=((sample(ints(3)), "softplus: wanted floats"),),
    )

In:  declarations, Ingot's own and a user's.
Out: callables that build nodes; `lower`, which takes a node one level down; the table that tests, Tensor methods,
     documentation and code generators read. A declaration made outside this package is no different from one inside.

Two kinds. `op` keeps the name in the program graph as an OP node until it is lowered. `primitive` describes a function
that builds opcodes at once (add, reshape, sum): it has no node of its own.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import (
    Callable,
    ItemsView,
    Iterator,
    Mapping,
    Sequence,
    ValuesView,
)
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, cast

from ingot.errors import ArgumentError, DTypeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr, OpArg, Ops, ResultArg
from ingot.ir.shape import NAMED, Type
from ingot.ops.families import FAMILY, NODES
from ingot.ops.sample import Sample
from ingot.spelling import hint

Types = Callable[..., "Type | tuple[Type, ...]"]
Lower = Callable[..., "UOp | tuple[UOp, ...] | list[UOp]"]
Accepted = tuple[tuple["UOp | None", ...], dict[str, Attr]]
Accept = Callable[..., Accepted]
Reference = Callable[..., Any]
Bad = tuple[Sample, str]


class Registry(dict[str, "Op"]):
    """Declarations by name. Ingot's own are made when first asked for: a family is a module, imported then."""

    def __missing__(self, name: str) -> Op:
        if name not in FAMILY:
            raise KeyError(name)
        import_module(f"ingot.ops.{FAMILY[name]}")
        return dict.__getitem__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in FAMILY

    def __iter__(self) -> Iterator[str]:
        return iter(self.loaded())

    def __len__(self) -> int:
        return len(self.loaded())

    def values(self) -> ValuesView[Op]:  # type: ignore[override]  # a view, of a plain copy
        return self.loaded().values()

    def items(self) -> ItemsView[str, Op]:  # type: ignore[override]  # a view, of a plain copy
        return self.loaded().items()

    def loaded(self) -> dict[str, Op]:
        """All of them: every family is imported first."""
        for family in dict.fromkeys(FAMILY.values()):
            import_module(f"ingot.ops.{family}")
        names: Iterator[str] = dict.__iter__(self)
        return {name: self[name] for name in names}


REGISTRY = Registry()


@dataclass(frozen=True, eq=False)
class Op:
    """One declaration. Call it to build the node: inputs by position, attributes by keyword."""

    name: str
    build: Lower  # a primitive's builder, or the lowering of a named op
    types: Types | None  # None: a primitive
    accept: (
        Accept | None
    )  # what a user may give -> inputs and attributes in their one normal form
    ref: Reference
    samples: tuple[Sample, ...]
    bad_samples: tuple[Bad, ...]
    ulp: float  # allowed distance from `ref` in float64, in units of the last place
    normwise: bool  # that unit is taken at the largest value of the result, not at each element
    grad: Callable[..., Any] | None
    aliases: tuple[str, ...]
    method_defaults: Mapping[
        str, Attr
    ]  # where the method's default differs from the function's
    spread: str  # the parameter that the method also takes as separate arguments: x.reshape(2, 3)
    public: bool
    basic: bool  # kernels know it: `lower_all` leaves it, and its lowering only says what it means
    no_grad_reason: str  # why there is no gradient, where there is none
    bundled: bool  # the function takes its inputs as one sequence: concat([a, b])
    family: str  # the module that declares it

    @cached_property
    def signature(self) -> inspect.Signature:
        """What users may pass. Worked out at the first use: importing Ingot does not wait for it."""
        return inspect.signature(self.build)

    @cached_property
    def inputs(self) -> dict[str, bool]:
        """The names of the inputs, and whether each has to be given."""
        return {
            p.name: p.default is p.empty
            for p in self.signature.parameters.values()
            if is_input(p)
        }

    @cached_property
    def operands(self) -> frozenset[str]:
        """The inputs that may be Python numbers; `accept` makes tensors of them."""
        parameters = self.signature.parameters.values()
        return frozenset(
            p.name for p in parameters if "Operand" in str(p.annotation)
        )

    @cached_property
    def takes_any_number(self) -> bool:
        """Its inputs are `*tensors`."""
        kinds = (p.kind for p in self.signature.parameters.values())
        return inspect.Parameter.VAR_POSITIONAL in kinds

    @cached_property
    def defaults(self) -> dict[str, Attr]:
        """The attributes and their defaults."""
        return {
            p.name: p.default
            for p in self.signature.parameters.values()
            if not is_input(p)
        }

    @cached_property
    def several(self) -> bool:
        """It gives a tuple of results."""
        annotation = str(self.signature.return_annotation)
        return annotation.startswith(("tuple", "list"))

    @property
    def is_named(self) -> bool:
        """The program graph keeps this op as a node."""
        return self.types is not None

    @property
    def doc(self) -> str:
        """One line that says what it computes."""
        return (inspect.getdoc(self.build) or "").split("\n")[0]

    def __call__(self, *inputs: Any, **attrs: Any) -> UOp:
        """The node of this op, after checking what was given."""
        if self.types is None:
            return cast(UOp, self.build(*inputs, **attrs))
        given: tuple[UOp | None, ...] = self._checked(inputs)
        named = self._filled(attrs)
        if self.accept is not None:
            given, named = self.accept(*given, **named)
        return self.node(given, named)

    def node(self, inputs: Sequence[UOp | None], attrs: Mapping[str, Attr]) -> UOp:
        """The OP node over accepted inputs; a node with several results has no dtype of its own."""
        sources = tuple(x for x in inputs if x is not None)
        arg = OpArg(self.name, tuple(attrs.items()))
        results = NAMED[self.name](arg, sources)
        return UOp(
            Ops.OP, results[0][0] if len(results) == 1 else dt.void, sources, arg
        )

    def results(self, *inputs: Any, **attrs: Any) -> tuple[UOp, ...]:
        """One node per result."""
        node: Any = self(*inputs, **attrs)
        if isinstance(node, tuple | list):
            return tuple(node)
        if len(node.results) == 1:
            return (node,)
        return tuple(result(node, i) for i in range(len(node.results)))

    def _checked(self, inputs: tuple[Any, ...]) -> tuple[UOp | None, ...]:
        if self.takes_any_number:
            return tuple(_tensor(self.name, x) for x in inputs)
        needed = list(self.inputs.values())
        if not sum(needed) <= len(inputs) <= len(needed):
            wanted = ", ".join(self.inputs)
            raise ArgumentError(
                f"{self.name}: {len(inputs)} inputs were given; it takes {wanted}"
            )
        for (name, need), value in zip(self.inputs.items(), inputs, strict=False):
            is_number = name in self.operands and not isinstance(value, str | None)
            if isinstance(value, UOp) or is_number:
                continue
            if need or value is not None:
                raise _not_a_tensor(self.name, name, value)
        self._check_gap(inputs)
        return inputs

    def _check_gap(self, inputs: tuple[Any, ...]) -> None:
        """Optional inputs are dropped from the end, so one that is given needs those before it."""
        missing = ""
        for name, value in zip(self.inputs, inputs, strict=False):
            if value is None:
                missing = missing or name
            elif missing:
                raise ArgumentError(
                    f"{self.name}: {name} is given without {missing}",
                    fix=f"pass a {missing} too",
                )

    def _filled(self, attrs: Mapping[str, Attr]) -> dict[str, Attr]:
        unknown = [name for name in attrs if name not in self.defaults]
        if unknown:
            known = ", ".join(self.defaults) or "no attributes"
            raise ArgumentError(
                f"{self.name}: unknown argument {unknown[0]!r}; it takes {known}"
            )
        filled: dict[str, Any] = {**self.defaults, **attrs}
        for name, value in filled.items():
            if value is inspect.Parameter.empty:
                raise ArgumentError(
                    f"{self.name}: {name} is missing", fix=f"pass {name}=..."
                )
        return filled


class ForeignOp(Op):
    """An op that was declared outside of this package: it has no generated function, so it takes tensors itself."""

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """Of tensors a tensor, or a tuple of them; of nodes the node."""
        tensors = [x for x in inputs if hasattr(x, "uop")]
        if not tensors:
            return super().__call__(*inputs, **attrs)
        nodes = [x.uop if hasattr(x, "uop") else x for x in inputs]
        kind: Any = type(tensors[0])
        made = [kind.of(node) for node in self.results(*nodes, **attrs)]
        return made[0] if len(made) == 1 else tuple(made)


def _tensor(op_name: str, value: object) -> UOp:
    if not isinstance(value, UOp):
        raise _not_a_tensor(op_name, "an input", value)
    return value


def _not_a_tensor(op_name: str, input_name: str, value: object) -> DTypeError:
    return DTypeError(
        f"{op_name}: {input_name} is {type(value).__name__}; wanted a tensor",
        fix="make one with ig.tensor(...)",
    )


def op(
    name: str,
    *,
    types: Types,
    ref: Reference,
    lower: Lower,
    accept: Accept | None = None,
    samples: Sequence[Sample] = (),
    bad_samples: Sequence[Bad] = (),
    ulp: float = 4,
    normwise: bool = False,
    grad: Callable[..., Any] | None = None,
    aliases: Sequence[str] = (),
    method_defaults: Mapping[str, Attr] | None = None,
    spread: str = "",
    public: bool = True,
    basic: bool = False,
    no_grad_reason: str = "",
    bundled: bool = False,
) -> Op:
    """Declare an operation that stays a node of the program until it is lowered.

    `lower` takes the inputs by position and the attributes by keyword and returns the result (a tuple if there are
    several) in terms of other ops; its signature is the public one.
    """
    made = _declare(
        name=name,
        build=lower,
        types=types,
        accept=accept,
        ref=ref,
        samples=tuple(samples),
        bad_samples=tuple(bad_samples),
        ulp=ulp,
        normwise=normwise,
        grad=grad,
        aliases=tuple(aliases),
        method_defaults=method_defaults or {},
        spread=spread,
        public=public,
        basic=basic,
        no_grad_reason=no_grad_reason,
        bundled=bundled,
    )
    NAMED[name] = _rule(types)
    return made


def primitive(
    name: str,
    build: Lower,
    *,
    ref: Reference,
    samples: Sequence[Sample] = (),
    bad_samples: Sequence[Bad] = (),
    ulp: float = 0.5,
    normwise: bool = False,
    aliases: Sequence[str] = (),
    method_defaults: Mapping[str, Attr] | None = None,
    spread: str = "",
    public: bool = True,
    no_grad_reason: str = "",
    bundled: bool = False,
) -> Op:
    """Declare a function that builds opcodes at once."""
    return _declare(
        name=name,
        build=build,
        types=None,
        accept=None,
        ref=ref,
        samples=tuple(samples),
        bad_samples=tuple(bad_samples),
        ulp=ulp,
        normwise=normwise,
        grad=None,
        aliases=tuple(aliases),
        method_defaults=method_defaults or {},
        spread=spread,
        public=public,
        basic=False,
        no_grad_reason=no_grad_reason,
        bundled=bundled,
    )


def _declare(*, name: str, **rest: Any) -> Op:
    family = _declaring_module()
    is_foreign = "ingot.ops." + family not in sys.modules
    if dict.__contains__(REGISTRY, name) or (is_foreign and name in FAMILY):
        raise ArgumentError(
            f"the op {name!r} is declared already", fix="choose another name"
        )
    kind = ForeignOp if is_foreign else Op
    made = REGISTRY[name] = kind(name=name, family=family, **rest)
    return made


def _declaring_module() -> str:
    """The file that is being imported now, whoever helps it to declare."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    module: str = frame.f_globals["__name__"]
    return module.removeprefix("ingot.ops.")


def _later(name: str) -> Callable[[OpArg, tuple[UOp, ...]], tuple[Type, ...]]:
    """The type rule of an op whose family is not imported yet."""

    def rule(arg: OpArg, sources: tuple[UOp, ...]) -> tuple[Type, ...]:
        import_module(f"ingot.ops.{FAMILY[name]}")
        return NAMED[name](arg, sources)

    return rule


NAMED.update({name: _later(name) for name in NODES})


def is_input(parameter: inspect.Parameter) -> bool:
    """This parameter takes a tensor: it is not keyword-only, and its annotation, if any, says node."""
    if parameter.kind is parameter.KEYWORD_ONLY:
        return False
    annotation = parameter.annotation
    return annotation is parameter.empty or any(
        word in str(annotation) for word in ("UOp", "Operand")
    )


def _rule(types: Types) -> Callable[[OpArg, tuple[UOp, ...]], tuple[Type, ...]]:
    def rule(arg: OpArg, sources: tuple[UOp, ...]) -> tuple[Type, ...]:
        found = types(*sources, **dict(arg.attrs))
        if isinstance(found[0], dt.DType):
            return (found,)
        return found

    return rule


def find(name: str) -> Op:
    """The declaration called `name`."""
    found: Op | None = REGISTRY.get(name)
    if found is None:
        raise ArgumentError(
            f"there is no op called {name!r}",
            fix=hint(name, REGISTRY) or "`ingot ops` lists them all",
        )
    return found


def apply(name: str, *inputs: Any, **attrs: Any) -> UOp:
    """Build the op called `name`."""
    return find(name)(*inputs, **attrs)


def public_ops() -> Iterator[Op]:
    """The ops that users call, in order of declaration."""
    return (op for op in REGISTRY.values() if op.public)


def result(node: UOp, index: int) -> UOp:
    """One result of a node that has several."""
    return UOp(Ops.RESULT, node.results[index][0], (node,), ResultArg(index))
