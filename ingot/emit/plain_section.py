"""A model as plain loops in C: a section that any compiler takes. In: a graph. Out: functions, one of which runs all."""

from __future__ import annotations

from typing import cast

from ingot.emit.c99 import C99, TARGET
from ingot.emit.c_interface import Interface, checking, cname, vname
from ingot.emit.c_program import Call, Check, port_slot, program
from ingot.emit.loops import INDENT, LoopWriter
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, Ops
from ingot.ir.rewrite import substitute
from ingot.render.c_text import scalar_type


class PlainSection:
    """Kernels as functions over pointers and sizes; values between them lie in a static block of memory."""

    def __init__(self, interface: Interface, *, fuse: bool = True) -> None:
        self.interface = interface
        self.graph = interface.graph
        self.language = C99()
        self.program = program(
            self.graph, TARGET, interface.most, plain=True, fuse=fuse
        )
        self.arena = f"{interface.name}_memory"

    def text(self, entry: str) -> str:
        """The functions; `entry` is the head of the one that runs them."""
        calls = [c for c in self.program.calls if not isinstance(c, Check)]
        kernels = [self._kernel(call) for call in calls]
        parts = [
            self._memory(),
            *self.language.texts.values(),
            *kernels,
            self._driver(entry),
        ]
        return "\n\n".join(part for part in parts if part)

    def _memory(self) -> str:
        if not self.program.arena:
            return ""
        size = f"unsigned char bytes[{self.program.arena}];"
        return f"static union {{\n    double aligned;\n    {size}\n}} {self.arena};"

    def _kernel(self, call: Call) -> str:
        (variant,) = call.variants
        (launch,) = variant.launches
        arg = cast(KernelArg, launch.kernel.arg)
        *read, written = arg.params
        names = {p: f"x{n}" for n, p in enumerate(read)} | {written: "out"}
        sizes = [vname(v) for v in self.graph.variables]
        tree = substitute(
            launch.kernel, dict(zip(arg.sizes, variant.scalars, strict=True))
        )
        body = LoopWriter(self.language, names, sizes).statements(tree.src)
        given = [f"const {scalar_type(p.dtype)} *{names[p]}" for p in read]
        given.append(f"{scalar_type(written.dtype)} *out")
        given += [f"int64_t {size}" for size in sizes]
        unused = [s for s in sizes if not any(_mentions(ln, s) for ln in body)]
        lines = [*(f"(void){s};" for s in unused), *body]
        inside = "\n".join(INDENT + line for line in lines)
        head = f"static void {self._called(call)}({', '.join(given)})"
        return f"{head}\n{{\n{inside}\n}}"

    def _called(self, call: Call) -> str:
        return f"{self.interface.name}_{call.name}"

    def _driver(self, entry: str) -> str:
        lines = [entry, "{", *self.interface.checks()]
        for call in self.program.calls:
            if isinstance(call, Check):
                lines += checking(self._address(call.flag))
                continue
            places = [self._address(value) for value in call.values]
            places += [vname(v) for v in self.graph.variables]
            lines.append(f"    {self._called(call)}({', '.join(places)});")
        return "\n".join([*lines, "    return 0;", "}"])

    def _address(self, value: UOp) -> str:
        if value.op is Ops.PARAM:
            return self.interface.pointer(self.graph.ports[port_slot(value)])
        outputs = dict(zip(self.program.outputs, self.graph.outputs, strict=False))
        if value in outputs:
            return cname(outputs[value])
        kind = scalar_type(value.dtype)
        return f"({kind} *)({self.arena}.bytes + {self.program.offsets[value]})"


def _mentions(line: str, name: str) -> bool:
    words = "".join(c if c.isalnum() or c == "_" else " " for c in line).split()
    return name in words
