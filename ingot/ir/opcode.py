"""The grammar of the IR on one page: every opcode, its sources and what its `arg` holds.

leaf
  CONST(; ConstArg bits)                       DEFINE_VAR(; VarArg name lo hi)      BIND(variable[, const])
  BUFFER(*dims; BufferArg id)                  PARAM(*dims; ParamArg slot)          STATE(; StateArg slot)
elementwise: all sources have one shape; kernel expressions have shape ()
  NEG RECIP SQRT EXP EXP2 LOG LOG2 SIN COS TANH ERF FLOOR TRUNC ROUND NOT       one source
  ADD SUB MUL FDIV IDIV MOD MAX MIN POW AND OR XOR SHL SHR CMPLT CMPEQ CMPNE  two
  WHERE(cond, a, b)  MULACC(a, b, c) = fma     CAST(x) BITCAST(x)           to the node's dtype
movement: sizes are `index` sources, so that rewriting reaches them
  RESHAPE(x, *dims) EXPAND(x, *dims) PERMUTE(x; AxesArg) FLIP(x; AxesArg)
  PAD(x, lo0, hi0, ...) SHRINK(x, start0, end0, ...) STRIDE(x, step0, ...)
  WINDOW(x, size; WindowArg axis)              x[..., o, ...] -> x[..., o + w, ...]: a new last axis w of `size`
  CONTIGUOUS(x)                                stored in memory before anyone reads it
  TAKE(x, i_0, ..; AxesArg axes)               result[s, r] = x[i_0[s] at axes[0], .., r]: the i have one shape, and are in range
reduction over tuple state (sum, max, argmax, mean+var, logsumexp, ...)
  REDUCE(v_0.., init_0.., combine_0..; ReduceArg axes n)   combine_j over STATE(0..n-1) left, STATE(n..2n-1) right
  PREFIX(v_0.., init_0.., combine_0..; PrefixArg axis n reverse)   as REDUCE, and keeps every state on the way (inclusive)
program
  OP(*inputs; OpArg name attrs)                a named operation: softmax, matmul, ...; typed by the registry
  RESULT(multi; ResultArg i)                   one result of a node that has several
  ASSIGN(buffer, value)  AFTER(value, *effects)  SINK(*roots)
  ASSERT(cond, *details; AssertArg error message)   an effect: an error with the details' values unless cond holds
  SIZE_OF(count, limit)                        a size that is computed: 0 <= count <= limit
regions
  FUNCTION(*results; FunctionArg name n_params)  closed: its leaves are PARAM, CONST, DEFINE_VAR
  CALL(function, *args)  IF(cond, then, else, *args)  WHILE(cond, body, *state)
  SCAN(body, *carry, *xs; ScanArg n_carry reverse)
                                               body(*carry, *slices of xs along axis 0) -> (*carry, *ys)
  EXTERN(*inputs; ExternArg name results)      host or vendor code
kernel statements
  KERNEL(*stmts; KernelArg)  LOOP(extent, *stmts; LoopArg axis kind)  WHEN(cond, *stmts)
  STAGE(size; StageArg id scope name)  STORE(buffer, offset, value[, mask])  BARRIER()
  FOLD(extent, target_0.., value_0.., combine_0..; FoldArg axis kind n)
kernel expressions
  AXIS([extent]; AxisArg id)  LOAD(buffer, offset[, mask, else])   and the elementwise opcodes
  VALUE(*indices; ValueArg nest slot)          a value of another nest, before it has storage (kernel/nest.py)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ingot.ir.node import UOp


class Ops(IntEnum):
    """Opcodes, in the order of the grammar above."""

    CONST = auto()
    DEFINE_VAR = auto()
    BIND = auto()
    BUFFER = auto()
    PARAM = auto()
    STATE = auto()
    NEG = auto()
    RECIP = auto()
    SQRT = auto()
    EXP = auto()
    EXP2 = auto()
    LOG = auto()
    LOG2 = auto()
    SIN = auto()
    COS = auto()
    TANH = auto()
    ERF = auto()
    FLOOR = auto()
    TRUNC = auto()
    ROUND = auto()
    NOT = auto()
    ADD = auto()
    SUB = auto()
    MUL = auto()
    FDIV = auto()
    IDIV = auto()
    MOD = auto()
    MAX = auto()
    MIN = auto()
    POW = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHL = auto()
    SHR = auto()
    CMPLT = auto()
    CMPEQ = auto()
    CMPNE = auto()
    WHERE = auto()
    MULACC = auto()
    CAST = auto()
    BITCAST = auto()
    RESHAPE = auto()
    EXPAND = auto()
    PERMUTE = auto()
    FLIP = auto()
    PAD = auto()
    SHRINK = auto()
    STRIDE = auto()
    WINDOW = auto()
    CONTIGUOUS = auto()
    TAKE = auto()
    REDUCE = auto()
    PREFIX = auto()
    OP = auto()
    RESULT = auto()
    ASSIGN = auto()
    AFTER = auto()
    SINK = auto()
    ASSERT = auto()
    SIZE_OF = auto()
    FUNCTION = auto()
    CALL = auto()
    IF = auto()
    WHILE = auto()
    SCAN = auto()
    EXTERN = auto()
    KERNEL = auto()
    LOOP = auto()
    WHEN = auto()
    STAGE = auto()
    STORE = auto()
    BARRIER = auto()
    FOLD = auto()
    AXIS = auto()
    LOAD = auto()
    VALUE = auto()

    def __repr__(self) -> str:
        return f"Ops.{self.name}"

    __hash__ = (
        int.__hash__
    )  # Enum's own is written in Python, and every node asks for it


for _op in Ops:
    # Python 3.11 looks members up through a property written in Python: 100 ns at every mention of an opcode.
    type.__setattr__(Ops, _op.name, _op)

UNARY = frozenset(Ops(i) for i in range(Ops.NEG, Ops.ADD))
BINARY = frozenset(Ops(i) for i in range(Ops.ADD, Ops.WHERE))
TERNARY = frozenset({Ops.WHERE, Ops.MULACC})
CASTS = frozenset({Ops.CAST, Ops.BITCAST})
COMPARE = frozenset({Ops.CMPLT, Ops.CMPEQ, Ops.CMPNE})
ELEMENTWISE = UNARY | BINARY | TERNARY | CASTS
COMMUTATIVE = frozenset(
    {
        Ops.ADD,
        Ops.MUL,
        Ops.MAX,
        Ops.MIN,
        Ops.AND,
        Ops.OR,
        Ops.XOR,
        Ops.CMPEQ,
        Ops.CMPNE,
    }
)
MOVEMENT = frozenset(Ops(i) for i in range(Ops.RESHAPE, Ops.CONTIGUOUS))
REGION = frozenset(Ops(i) for i in range(Ops.CALL, Ops.EXTERN + 1))
STATEMENTS = frozenset(
    {Ops.LOOP, Ops.WHEN, Ops.STAGE, Ops.STORE, Ops.BARRIER, Ops.FOLD}
)


class LoopKind(Enum):
    """How a loop is run."""

    LOOP = "loop"
    UNROLL = "unroll"
    VECTOR = "vector"
    CHUNK = "chunk"
    BLOCK = "block"
    WARP = "warp"
    LANE = "lane"


UNCACHED = "uncached"  # the tag of a STORE that goes past the caches


class Scope(Enum):
    """Where a staged buffer lives."""

    REGISTER = "register"
    STACK = "stack"
    PACKED = "packed"
    SHARED = "shared"


# --- args: named tuples, because they are made, hashed and compared for every node ------------------------------------


class ConstArg(NamedTuple):
    bits: int


class VarArg(NamedTuple):
    name: str
    lo: int
    hi: int


class BufferArg(NamedTuple):
    """A buffer by identity: the number is unique in the process and finds the memory in a side table."""

    id: int


class ParamArg(NamedTuple):
    slot: int
    writable: bool = False


class StateArg(NamedTuple):
    slot: int


class AxesArg(NamedTuple):
    axes: tuple[int, ...]


class WindowArg(NamedTuple):
    axis: int


class ReduceArg(NamedTuple):
    axes: tuple[int, ...]
    n: int = 1


class PrefixArg(NamedTuple):
    axis: int
    n: int = 1
    reverse: bool = False


Attr = None | bool | int | float | str | tuple["Attr", ...]


@dataclass(frozen=True, slots=True, eq=False)
class OpArg:
    """A named operation and its attributes. Equality looks at bits: 1, True and 1.0 stay apart, as do 0.0 and -0.0."""

    name: str
    attrs: tuple[tuple[str, Attr], ...] = ()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OpArg)
            and self.name == other.name
            and _exact(self.attrs) == _exact(other.attrs)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.attrs))

    def __getitem__(self, key: str) -> Attr:
        return dict(self.attrs)[key]


def _exact(value: Attr) -> object:
    if isinstance(value, tuple):
        return tuple(_exact(v) for v in value)
    if isinstance(value, float):
        return "float", value.hex()
    return type(value).__name__, value


class ResultArg(NamedTuple):
    index: int  # type: ignore[assignment]  # a tuple has a method of that name


class AssertArg(NamedTuple):
    """`error` names a class of errors.py; `message.format(*details)` is what it says."""

    error: str
    message: str


class FunctionArg(NamedTuple):
    name: str
    n_params: int


class ScanArg(NamedTuple):
    """`reverse`: from the last slice to the first; what is stacked keeps its place."""

    n_carry: int
    reverse: bool = False


class ExternArg(NamedTuple):
    """Host code by name; the types of its results are part of its identity."""

    name: str
    results: tuple[tuple[str, tuple[int, ...]], ...]


class AxisArg(NamedTuple):
    id: int
    name: str = ""


class ValueArg(NamedTuple):
    nest: int
    slot: int = 0


class LoopArg(NamedTuple):
    axis: int
    kind: LoopKind
    name: str = ""


class StageArg(NamedTuple):
    id: int
    scope: Scope
    name: str = ""


class FoldArg(NamedTuple):
    axis: int
    kind: LoopKind
    n: int


class KernelArg(NamedTuple):
    """The kernel's interface: buffer arguments in slot order, scalar arguments, number of chunks, bytes of scratch."""

    name: str
    params: tuple[UOp, ...]
    sizes: tuple[UOp, ...]
    chunks: UOp
    scratch: UOp


Arg = (
    ConstArg | VarArg | BufferArg | ParamArg | StateArg | AxesArg | WindowArg | ReduceArg | PrefixArg | OpArg | ResultArg
    | AssertArg | FunctionArg | ScanArg | ExternArg | AxisArg | ValueArg | LoopArg | StageArg | FoldArg | KernelArg
)  # fmt: skip
