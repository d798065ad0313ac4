"""The base of every generator: options, and what a generator must be. In: a model. Out: source text.

A generator of one's own is a class with a table and a frame; see `library.py` for the frame that library targets share.
An option that a generator cannot honour is an error, never ignored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from ingot.errors import ArgumentError
from ingot.model.graph import Graph
from ingot.model.logical import LogicalModel


@dataclass(frozen=True)
class Options:
    """What users may ask for. A generator lists the ones that it honours."""

    optimize: bool = True
    debug: bool = False
    precision: str = "float32"
    generate_header: bool = False
    use_simd: bool = True
    threads: int = 1
    gradients: bool = False
    self_test: bool = False
    device: str = "cpu"
    custom_operator_mappings: Mapping[str, str] = field(default_factory=dict)
    template_path: str | None = None


DEFAULTS = Options()


class CodeGenerator(ABC):
    """Turns models into source for one target."""

    target: ClassVar[str]
    honours: ClassVar[frozenset[str]]

    def __init__(self, **options: Any) -> None:
        known = {f.name for f in fields(Options)}
        for name, value in options.items():
            if name not in known:
                raise ArgumentError(
                    f"{type(self).__name__} has no option {name!r}",
                    wanted=", ".join(sorted(self.honours)),
                )
            if name not in self.honours and value != getattr(DEFAULTS, name):
                raise ArgumentError(
                    f"{type(self).__name__} cannot honour {name}={value!r}",
                    wanted=", ".join(sorted(self.honours)),
                )
        self.options = Options(**options)

    def generate(self, model: LogicalModel) -> str:
        """The source of a model."""
        if not isinstance(model, LogicalModel):
            raise ArgumentError(
                f"{type(self).__name__}: the model is {type(model).__name__}",
                wanted="a LogicalModel",
            )
        return self.source(model.graph)

    def generate_with_header(self, model: LogicalModel) -> tuple[str, str]:
        """The source and its header, for targets that have one."""
        raise ArgumentError(
            f"{type(self).__name__} writes no header", fix="call generate(model)"
        )

    @abstractmethod
    def source(self, graph: Graph) -> str:
        """The source of a graph."""
