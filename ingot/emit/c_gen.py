"""C. In: a model. Out: one file that needs no library: the compiler's own loop trees, and `int <model>_forward(...)`.

There is a section for each instruction set, chosen when the function is called; the last one is plain C for any machine.
Memory is static, one block for each thread; nothing is allocated by the call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from ingot.emit.c_expression import expression, scalar_word
from ingot.emit.c_interface import (
    HEADERS,
    SELF_CHECK_SIZE,
    Interface,
    checked,
    checking,
    cname,
    limits,
    main,
)
from ingot.emit.c_program import (
    Call,
    Check,
    Launch,
    Program,
    Variant,
    port_slot,
    program,
)
from ingot.emit.generator import CodeGenerator
from ingot.emit.plain_section import PlainSection
from ingot.emit.self_check import expected
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, Ops
from ingot.model.graph import Graph
from ingot.model.logical import LogicalModel
from ingot.render import c
from ingot.render.c_prelude import Prelude
from ingot.target import X86_LEVELS, Target

CHECKS = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "x86-64-v3": ("avx2", "fma", "bmi2"),
}
PRAGMAS = """\
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#pragma GCC diagnostic ignored "-Wpsabi"
#endif"""


class CGenerator(CodeGenerator):
    """Models as C11."""

    target = "c"
    honours = frozenset({"generate_header", "use_simd"})

    def source(self, graph: Graph) -> str:
        return CFile(checked(graph), use_simd=self.options.use_simd).text()

    def generate_with_header(self, model: LogicalModel) -> tuple[str, str]:
        """The file and its header."""
        made = CFile(checked(model.graph), use_simd=self.options.use_simd)
        return made.text(), made.interface.header()


class CFile:
    """The whole file of a model."""

    def __init__(self, graph: Graph, *, use_simd: bool) -> None:
        self.graph = graph
        self.interface = Interface(graph, limits(graph))
        levels = X86_LEVELS[: len(CHECKS)] if use_simd else ()
        self.sections = [Section(self.interface, level) for level in levels]
        self.plain = PlainSection(self.interface)

    def text(self) -> str:
        head = (
            f"static int {self.interface.name}_plain({self.interface.parameters()})"
        )
        parts = [
            self.interface.title,
            PRAGMAS,
            HEADERS,
            self.interface.declarations(),
            self._fast() if self.sections else "",
            self.plain.text(head),
            self._entry(),
            main(self.interface, expected(self.graph, SELF_CHECK_SIZE)),
        ]
        return "\n\n".join(part for part in parts if part)

    def _fast(self) -> str:
        """The sections for instruction sets that the machine may have."""
        name = self.interface.name
        written = [section.text() for section in self.sections]
        arena = max(64, *(s.program.arena for s in self.sections))
        scratch = max(64, *(s.program.scratch for s in self.sections))
        own = "static _Alignas(64) _Thread_local"
        parts = [
            "#if defined(__x86_64__)",
            "#include <immintrin.h>",
            f"{own} unsigned char {name}_arena[{arena}];",
            f"{own} char {name}_scratch[{scratch}];",
            *written,
            "#endif",
        ]
        return "\n\n".join(parts)

    def _entry(self) -> str:
        arguments = self.interface.arguments()
        lines = [
            f"int {self.interface.name}_forward({self.interface.parameters()})",
            "{",
            *self.interface.checks(),
        ]
        if self.sections:
            lines.append("#if defined(__x86_64__)")
            for section in self.sections:
                needed = CHECKS[section.target.name]
                tests = " && ".join(
                    f'__builtin_cpu_supports("{f}")' for f in needed
                )
                lines.append(f"    if ({tests})")
                lines.append(f"        return {section.entry}({arguments});")
            lines.append("#endif")
        last = f"    return {self.interface.name}_plain({arguments});"
        return "\n".join([*lines, last, "}"])


@dataclass
class Section:
    """The model for one instruction set."""

    interface: Interface
    target: Target
    functions: dict[UOp, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.suffix = self.target.name.removeprefix("x86-64-")
        graph, most = self.interface.graph, self.interface.most
        self.program: Program = program(graph, self.target, most, lowest=True)
        self.prelude = Prelude(self.target)

    @property
    def entry(self) -> str:
        return f"{self.interface.name}_{self.suffix}"

    def text(self) -> str:
        driver = self._driver()
        functions = [text for _, text in self.functions.values()]
        parts = ["#undef ON_TARGET", *self.prelude.parts(), *functions, driver]
        return _renamed(
            "\n".join(parts), {n: f"{n}_{self.suffix}" for n in self.prelude.names}
        )

    def _driver(self) -> str:
        name = self.interface.name
        lines = [
            f"static int {self.entry}({self.interface.parameters()})",
            "{",
            f"    unsigned char *const arena = {name}_arena;",
            f"    char *const scratch = {name}_scratch;",
            "    (void)arena;",
            "    (void)scratch;",
        ]
        for number, call in enumerate(self.program.calls):
            if isinstance(call, Check):
                lines += checking(self._address(call.flag))
            else:
                lines += self._call(number, call)
        return "\n".join([*lines, "    return 0;", "}"])

    def _call(self, number: int, call: Call) -> list[str]:
        """The variants of a kernel, each under its condition; the last one needs none."""
        lines = [f"    /* {call.name} */"]
        for place, variant in enumerate(call.variants):
            start = "    } else " if place else "    "
            always = variant.condition.op is Ops.CONST
            condition = "" if always else f"if ({expression(variant.condition)}) "
            lines += [
                f"{start}{condition}{{",
                *self._variant(number, call, variant),
            ]
        return [*lines, "    }"]

    def _variant(self, number: int, call: Call, variant: Variant) -> list[str]:
        places = [self._address(value) for value in call.values]
        offsets = self.program.offsets
        places += [
            f"arena + {offsets[number, t]}" for t in range(len(variant.temporaries))
        ]
        words = [f"(uint64_t)(uintptr_t)({place})" for place in places]
        words += [scalar_word(scalar) for scalar in variant.scalars]
        lines = ["        const uint64_t args[] = {"]
        lines += [f"            {word}," for word in words]
        lines.append("        };")
        for launch in variant.launches:
            lines += self._launch(call.name, launch)
        return lines

    def _launch(self, name: str, launch: Launch) -> list[str]:
        function = self._function(name, launch.kernel)
        chunks = expression(launch.chunks)
        if chunks == "1":
            return [f"        {function}(args, 0, scratch);"]
        return [
            f"        for (int64_t chunk = 0; chunk < {chunks}; chunk++)",
            f"            {function}(args, chunk, scratch);",
        ]

    def _function(self, name: str, kernel: UOp) -> str:
        """The function of a loop tree, written once."""
        if kernel not in self.functions:
            arg = cast(KernelArg, kernel.arg)
            called = (
                f"{self.interface.name}_{name}_{len(self.functions)}_{self.suffix}"
            )
            head, body = c.function(
                kernel.replace(arg=arg._replace(name=called)), self.prelude
            )
            own = head.replace("ON_TARGET int64_t", "ON_TARGET static int64_t", 1)
            self.functions[kernel] = called, f"{own}\n{body}"
        return self.functions[kernel][0]

    def _address(self, value: UOp) -> str:
        if value.op is Ops.PARAM:
            return self.interface.pointer(
                self.interface.graph.ports[port_slot(value)]
            )
        outputs = dict(
            zip(self.program.outputs, self.interface.graph.outputs, strict=False)
        )
        if value in outputs:
            return cname(outputs[value])
        return f"arena + {self.program.offsets[value]}"


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Each section has functions of its own."""
    if not names:
        return text
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    return pattern.sub(lambda found: names[found[1]], text)
