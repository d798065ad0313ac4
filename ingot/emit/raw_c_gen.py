"""Raw C. In: a model. Out: plain C99 for small machines: loops that a person reads, no library, no vector, no malloc."""

from __future__ import annotations

from ingot.emit.c_interface import (
    HEADERS,
    SELF_CHECK_SIZE,
    Interface,
    checked,
    limits,
    main,
)
from ingot.emit.generator import CodeGenerator
from ingot.emit.plain_section import PlainSection
from ingot.emit.self_check import expected
from ingot.model.graph import Graph
from ingot.model.logical import LogicalModel


class RawCGenerator(CodeGenerator):
    """Models as plain C99. Without `optimize` there is one loop nest for each operation."""

    target = "raw_c"
    honours = frozenset({"optimize", "generate_header"})

    def source(self, graph: Graph) -> str:
        interface = Interface(checked(graph), limits(graph))
        head = f"int {interface.name}_forward({interface.parameters()})"
        parts = [
            interface.title,
            HEADERS,
            interface.declarations(),
            PlainSection(interface, fuse=self.options.optimize).text(head),
            main(interface, expected(graph, SELF_CHECK_SIZE)),
        ]
        return "\n\n".join(parts)

    def generate_with_header(self, model: LogicalModel) -> tuple[str, str]:
        """The file and its header."""
        interface = Interface(model.graph, limits(model.graph))
        return self.generate(model), interface.header()
