"""UOp, the one node of the IR. In: opcode, dtype, sources, arg, tag. Out: the one object with that content.

Nodes are frozen, and the same content is the same object: `is` is equality, and a node is a cheap dictionary key.
Two worlds: program nodes are interned weakly for the whole process (a dropped graph is freed); nodes made inside
`with arena():` live in a plain dictionary that is thrown away whole when a kernel has been compiled.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.bounds import Bound, Interval, bounds_of
from ingot.ir.dtype import DType, Scalar
from ingot.ir.opcode import COMPARE, Arg, AxisArg, ConstArg, Ops, StateArg, VarArg
from ingot.ir.shape import SHAPE_RULES, Shape, Type, results_of
from ingot.place import Spot

Key = tuple[Ops, DType, tuple["UOp", ...], Arg | None, object]
Operand = "UOp | int | float | bool"
_UNSET: Any = object()


class _Ref(weakref.ref["UOp"]):
    """A weak reference that knows its key, so that the table forgets a node when nobody holds it."""

    __slots__ = ("key",)
    key: Key


_program: dict[Key, _Ref] = {}
_const_args: dict[tuple[DType, type, Scalar], ConstArg] = {}
_MOST_CONST_ARGS = 4096
_CACHED = frozenset({int, float, bool})


def _const_arg(dtype: DType, value: Scalar) -> ConstArg:
    """The bits of a value, remembered for those that `==` tells apart: not for float zeros, which have a sign."""
    made = ConstArg(dt.to_bits(dtype, value))
    if (
        type(value) is int
        or type(value) is bool
        or (type(value) is float and value and value == value)
    ):
        if len(_const_args) >= _MOST_CONST_ARGS:
            _const_args.clear()
        _const_args[dtype, type(value), value] = made
    return made


_lock = threading.RLock()


def _forget(ref: weakref.ref[UOp]) -> None:
    key = cast(_Ref, ref).key
    with _lock:
        if _program.get(key) is ref:
            del _program[key]


class _World(threading.local):
    """The thread's current arena, or None in the program world."""

    arena: dict[Key, UOp] | None = None


_world = _World()


@contextmanager
def arena() -> Iterator[None]:
    """Nodes made inside belong to one compilation."""
    before = _world.arena
    _world.arena = {}
    try:
        yield
    finally:
        _world.arena = before


def live_nodes() -> int:
    """How many program nodes are interned now."""
    return len(_program)


_SLOTS = (
    "_bounds",
    "_digest",
    "_form",
    "_results",
    "arg",
    "dtype",
    "op",
    "shape",
    "spot",
    "src",
    "tag",
)


class _Interned:
    """What both classes below stand on: only then do they share a layout."""

    __slots__ = ("__weakref__",)


class UOp(_Interned):
    """One immutable operation."""

    __slots__ = _SLOTS
    op: Ops
    dtype: DType
    src: tuple[UOp, ...]
    arg: Arg | None
    tag: object
    shape: Shape
    spot: Spot | None  # where the user's code first built it; no part of what it is

    def __new__(
        cls,
        op: Ops,
        dtype: DType,
        src: tuple[UOp, ...] = (),
        arg: Arg | None = None,
        tag: object = None,
    ) -> UOp:
        return uop(op, dtype, src, arg, tag)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"UOp is frozen: cannot set {name!r}; use .replace({name}=...) for a new node"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"UOp is frozen: cannot delete {name!r}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return UOp, (self.op, self.dtype, self.src, self.arg, self.tag)

    def __repr__(self) -> str:
        return _hooks.text(self)

    # --- making nodes ---------------------------------------------------------------------------------------------

    @staticmethod
    def const(dtype: DType, value: Scalar) -> UOp:
        """A constant, held as bits: 0.0 and -0.0 differ, nan is itself, 1 is not True."""
        known = (
            _const_args.get((dtype, type(value), value))
            if type(value) in _CACHED
            else None
        )
        return uop(Ops.CONST, dtype, (), known or _const_arg(dtype, value))

    @staticmethod
    def variable(name: str, lo: int, hi: int, dtype: DType = dt.index) -> UOp:
        """A symbolic size, lo <= value <= hi."""
        return UOp(Ops.DEFINE_VAR, dtype, (), VarArg(name, lo, hi))

    @staticmethod
    def axis(number: int, name: str = "", extent: UOp | None = None) -> UOp:
        """The counter of loop `number`; with an extent, algebra knows that it stays below that."""
        return UOp(
            Ops.AXIS,
            dt.index,
            () if extent is None else (extent,),
            AxisArg(number, name),
        )

    @staticmethod
    def state(dtype: DType, slot: int) -> UOp:
        """A placeholder in a combine expression."""
        return UOp(Ops.STATE, dtype, (), StateArg(slot))

    def sink(self, *others: UOp) -> UOp:
        """One root over several nodes."""
        return UOp(Ops.SINK, dt.void, (self, *others))

    def alu(self, op: Ops, *others: UOp) -> UOp:
        """An elementwise node over self and others; comparisons give bool, WHERE the type of its branches."""
        dtype = (
            dt.boolean
            if op in COMPARE
            else others[-1].dtype
            if op is Ops.WHERE
            else self.dtype
        )
        return uop(op, dtype, (self, *others))

    def replace(
        self,
        *,
        op: Ops = _UNSET,
        dtype: DType = _UNSET,
        src: tuple[UOp, ...] = _UNSET,
        arg: Arg | None = _UNSET,
        tag: object = _UNSET,
    ) -> UOp:
        """The node with some fields changed; what is not named, the tag too, is kept."""
        made = UOp(
            self.op if op is _UNSET else op,
            self.dtype if dtype is _UNSET else dtype,
            self.src if src is _UNSET else src,
            self.arg if arg is _UNSET else arg,
            self.tag if tag is _UNSET else tag,
        )
        if self.spot is not None and made.spot is None:
            set_spot(made, self.spot)
        return made

    def rtag(self, tag: object = True) -> UOp:
        """The same node under a tag."""
        return self.replace(tag=tag)

    # --- looking at nodes -----------------------------------------------------------------------------------------

    @property
    def value(self) -> Scalar:
        """The Python value of a CONST."""
        return dt.from_bits(self.dtype, cast(ConstArg, self.arg).bits)

    # Slots that are seldom asked for stay empty until then: filling them costs a fifth of making a node.

    @property
    def results(self) -> tuple[Type, ...]:
        """(dtype, shape) of every result."""
        if not hasattr(self, "_results"):
            _set_results(self, results_of(self))
        return self._results

    @property
    def bounds(self) -> Interval:
        """(vmin, vmax), inclusive."""
        try:
            return self._bounds
        except AttributeError:
            _fill_bounds(self)
            return self._bounds

    @property
    def digest(self) -> bytes:
        """16 bytes that depend on the content alone: equal in every process."""
        if not hasattr(self, "_digest"):
            _fill_digests(self)
        return self._digest

    @property
    def vmin(self) -> Bound:
        return self.bounds[0]

    @property
    def vmax(self) -> Bound:
        return self.bounds[1]

    def toposort(
        self, gate: Callable[[UOp], bool] | None = None
    ) -> dict[UOp, None]:
        """Every node below, sources first, self last; `gate` says whose sources are visited."""
        done: dict[UOp, None] = {}
        stack = [self]
        while stack:
            node = stack.pop()
            if node in done:
                continue
            src = node.src if gate is None or gate(node) else ()
            for source in src:
                if source not in done:
                    stack.append(node)
                    stack.extend(src[::-1])
                    break
            else:
                done[node] = None
        return done

    @property
    def backward_slice(self) -> dict[UOp, None]:
        """Every node that this one depends on, itself not included."""
        nodes = self.toposort()
        del nodes[self]
        return nodes

    def variables(self) -> list[UOp]:
        """The symbolic variables below, by name."""
        found = {u for u in self.toposort() if u.op is Ops.DEFINE_VAR}
        return sorted(found, key=lambda u: cast(VarArg, u.arg).name)

    @property
    def buf_uop(self) -> UOp:
        """The buffer that this node is a view or a later version of."""
        node = self
        while node.op is not Ops.BUFFER:
            if node.op not in _TO_BUFFER:
                raise RuntimeError(
                    f"{node.op.name} is not a view of a buffer: {node!r}"
                )
            node = node.src[0]
        return node

    # --- symbolic sizes -------------------------------------------------------------------------------------------

    def bind(self, value: int) -> UOp:
        """This variable with a value."""
        if self.op is not Ops.DEFINE_VAR:
            raise ValueError(f"only a variable can be bound, not {self.op.name}")
        if not self.vmin <= value <= self.vmax:
            name = cast(VarArg, self.arg).name
            raise ArgumentError(
                f"bind: {name} = {value} is outside {self.vmin}..{self.vmax}",
                fix=f"widen the variable: Variable({name!r}, low, high)",
            )
        return UOp(Ops.BIND, self.dtype, (self, UOp.const(self.dtype, value)))

    def unbind(self) -> tuple[UOp, int]:
        """(variable, value) of a BIND."""
        if self.op is not Ops.BIND or len(self.src) < 2:
            raise ValueError(
                f"unbind wants a variable that is bound to a value, got {self!r}"
            )
        return self.src[0], int(self.src[1].value)

    def simplify(self) -> UOp:
        """The same value, written shorter."""
        return (
            self
            if self.op in (Ops.CONST, Ops.AXIS, Ops.DEFINE_VAR)
            else _hooks.simplify(self)
        )

    # --- operators ------------------------------------------------------------------------------------------------

    def ufix(self, other: UOp | Scalar) -> UOp:
        """A Python number as a constant of this node's type."""
        return other if isinstance(other, UOp) else UOp.const(self.dtype, other)

    def __add__(self, other: UOp | Scalar) -> UOp:
        return uop(Ops.ADD, self.dtype, (self, self.ufix(other)))

    def __radd__(self, other: Scalar) -> UOp:
        return uop(Ops.ADD, self.dtype, (self.ufix(other), self))

    def __sub__(self, other: UOp | Scalar) -> UOp:
        return uop(Ops.SUB, self.dtype, (self, self.ufix(other)))

    def __rsub__(self, other: Scalar) -> UOp:
        return uop(Ops.SUB, self.dtype, (self.ufix(other), self))

    def __mul__(self, other: UOp | Scalar) -> UOp:
        return uop(Ops.MUL, self.dtype, (self, self.ufix(other)))

    def __rmul__(self, other: Scalar) -> UOp:
        return uop(Ops.MUL, self.dtype, (self.ufix(other), self))

    def __truediv__(self, other: UOp | Scalar) -> UOp:
        return self.alu(Ops.FDIV, self.ufix(other))

    def __rtruediv__(self, other: Scalar) -> UOp:
        return self.ufix(other).alu(Ops.FDIV, self)

    def __floordiv__(self, other: UOp | Scalar) -> UOp:
        return uop(Ops.IDIV, self.dtype, (self, self.ufix(other)))

    def __rfloordiv__(self, other: Scalar) -> UOp:
        return uop(Ops.IDIV, self.dtype, (self.ufix(other), self))

    def __mod__(self, other: UOp | Scalar) -> UOp:
        return uop(Ops.MOD, self.dtype, (self, self.ufix(other)))

    def __and__(self, other: UOp | Scalar) -> UOp:
        return self.alu(Ops.AND, self.ufix(other))

    def __or__(self, other: UOp | Scalar) -> UOp:
        return self.alu(Ops.OR, self.ufix(other))

    def __lt__(self, other: UOp | Scalar) -> UOp:
        return self.alu(Ops.CMPLT, self.ufix(other))

    def __neg__(self) -> UOp:
        return self.alu(Ops.NEG)

    def maximum(self, other: UOp | Scalar) -> UOp:
        return self.alu(Ops.MAX, self.ufix(other))

    def minimum(self, other: UOp | Scalar) -> UOp:
        return self.alu(Ops.MIN, self.ufix(other))

    def eq(self, other: UOp | Scalar) -> UOp:
        return self.alu(Ops.CMPEQ, self.ufix(other))

    def ne(self, other: UOp | Scalar) -> UOp:
        return self.alu(Ops.CMPNE, self.ufix(other))

    def where(self, yes: UOp, no: UOp) -> UOp:
        """`yes` where this condition holds, else `no`."""
        return UOp(Ops.WHERE, yes.dtype, (self, yes, no))

    def cast(self, dtype: DType) -> UOp:
        return self if dtype is self.dtype else UOp(Ops.CAST, dtype, (self,))

    def bitcast(self, dtype: DType) -> UOp:
        return self if dtype is self.dtype else UOp(Ops.BITCAST, dtype, (self,))

    if TYPE_CHECKING:
        _bounds: Interval
        _digest: bytes
        _form: object  # what ir/polynomial.py knows about an index expression
        _results: tuple[Type, ...]


_TO_BUFFER = frozenset(
    {
        *(
            Ops.RESHAPE,
            Ops.EXPAND,
            Ops.PERMUTE,
            Ops.FLIP,
            Ops.PAD,
            Ops.SHRINK,
            Ops.STRIDE,
            Ops.WINDOW,
        ),
        *(Ops.ASSIGN, Ops.AFTER, Ops.CONTIGUOUS, Ops.BITCAST),
    }
)


class _Hooks:
    """What later files of this folder add to a node: its text, its simplifier, and a check of each node made."""

    text: Callable[[UOp], str] = staticmethod(
        lambda node: f"UOp({node.op!r}, {node.dtype}, {len(node.src)} sources)"
    )
    simplify: Callable[[UOp], UOp] = staticmethod(lambda node: node)
    check: Callable[[UOp], None] | None = None


_hooks = _Hooks


def provide(
    *,
    text: Callable[[UOp], str] | None = None,
    simplify: Callable[[UOp], UOp] | None = None,
    check: Callable[[UOp], None] | None = _UNSET,
) -> None:
    """Called by ir/text.py, ir/algebra.py and ir/spec.py."""
    if text is not None:
        _Hooks.text = staticmethod(text)
    if simplify is not None:
        _Hooks.simplify = staticmethod(simplify)
    if check is not _UNSET:
        _Hooks.check = None if check is None else staticmethod(check)


class _Draft(_Interned):
    """A node while it is being filled; then it becomes a UOp. Setting slots past a frozen class takes twice as long."""

    __slots__ = _SLOTS


_set_bounds = UOp.__dict__["_bounds"].__set__
_set_digest = UOp.__dict__["_digest"].__set__
_set_results = UOp.__dict__["_results"].__set__
set_spot = UOp.__dict__["spot"].__set__


def _make(key: Key) -> UOp:
    draft: Any = _Draft()
    op, draft.dtype, src, arg, draft.tag = key
    draft.op = op
    draft.src = src
    draft.arg = arg
    rule = SHAPE_RULES[op]
    draft.shape = src[0].shape if rule is None else rule(src, arg)
    draft.spot = None
    draft.__class__ = UOp
    node: UOp = draft
    if _Hooks.check is not None:
        _Hooks.check(node)
    return node


def uop(
    op: Ops,
    dtype: DType,
    src: tuple[UOp, ...] = (),
    arg: Arg | None = None,
    tag: object = None,
) -> UOp:
    """UOp(...) as a plain function, which Python calls faster than a class."""
    key = (op, dtype, src, arg, tag)
    nodes = _world.arena
    if nodes is not None:
        node = nodes.get(key)
        if node is None:
            node = nodes[key] = _make(key)
        return node
    ref = _program.get(key)
    if ref is not None:
        found = ref()
        if found is not None:
            return found
    return _intern(key)


def _intern(key: Key) -> UOp:
    """A new node, or the one that another thread has made at the same time."""
    made = _make(key)
    fresh = _Ref(made, _forget)
    fresh.key = key
    with _lock:
        first = _program.setdefault(key, fresh)
        if first is fresh:
            return made
        found = first()
        if found is not None:
            return found
        # The dead node's own clean-up has not run yet; it will find that the entry is no longer its own.
        del _program[key]
        _program[key] = fresh
        return made


def _fill_bounds(root: UOp) -> None:
    """Bounds of everything below, sources first: no recursion, whatever the depth."""
    for node in root.toposort(lambda u: not hasattr(u, "_bounds")):
        if not hasattr(node, "_bounds"):
            _set_bounds(node, bounds_of(node))


def _fill_digests(root: UOp) -> None:
    for node in root.toposort(lambda u: not hasattr(u, "_digest")):
        if not hasattr(node, "_digest"):
            _set_digest(node, _digest_of(node))


def _digest_of(node: UOp) -> bytes:
    text = f"{node.op.name} {node.dtype.name} {_arg_text(node.arg)} {node.tag!r} "
    return blake2b(
        text.encode() + b"".join(s.digest for s in node.src), digest_size=16
    ).digest()


def _arg_text(arg: object) -> str:
    """An arg as text that is the same in every process; a kernel's arg holds nodes."""
    if isinstance(arg, UOp):
        return arg.digest.hex()
    if isinstance(arg, tuple):
        return f"{type(arg).__name__}({' '.join(_arg_text(part) for part in arg)})"
    return repr(arg)
