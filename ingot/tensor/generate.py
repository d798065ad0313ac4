"""Writes methods.py and namespace.py from the registry: `python -m ingot.tensor.generate`. A test keeps them current.

In:  the declarations of ops/. Out: source text, so that people, editors and type checkers see every signature.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import ingot.ops  # noqa: F401  # fills the registry
from ingot.ops.op import Op, is_input, public_ops

_HEADER = '''"""{title} Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

'''
_HOMES = {
    "Axes": "ingot.ops.axis",
    "DType": "ingot.ir.dtype",
    "Dim": "ingot.ops.movement",
    "Padding": "ingot.ops.conv",
    "Pair": "ingot.ops.conv",
    "Ranges": "ingot.ops.movement",
    "Scalar": "ingot.ir.dtype",
    "Self": "typing",
    "Sequence": "collections.abc",
    "Sizes": "ingot.ops.movement",
    "Tensor": "ingot.tensor.tensor",
    "Widths": "ingot.ops.movement",
}
_FROM_HANDLE = (
    "Handle",
    "Value",
    "build",
    "node",
    "operand",
    "optional",
    "optional_operand",
    "spread",
)
_HOMES |= dict.fromkeys(_FROM_HANDLE, "ingot.tensor.handle")
_WIDTH = 120
_INPUTS = {  # annotation of a builder's input -> annotation for users, and the function that makes a node of it
    "UOp": ("Value", "node"),
    "UOp | None": ("Value | None", "optional"),
    "Operand": ("Value", "operand"),
    "Operand | None": ("Value | None", "optional_operand"),
}


def methods() -> str:
    """The text of methods.py."""
    head = 'class Methods(Handle):\n    """Every op as a method."""\n\n    __slots__ = ()\n'
    parts = [_method(op) for op in public_ops()] + [_aliases()]
    return _file(
        "The methods of a tensor.",
        "\n".join([head, *(textwrap.indent(part, "    ") for part in parts)]),
    )


def namespace() -> str:
    """The text of namespace.py."""
    parts = [_function(op) for op in public_ops()] + [_aliases()]
    return _file("The functions of the namespace.", "\n\n".join(parts))


def _file(title: str, text: str) -> str:
    imports = "\n".join(_imports(text))
    return _HEADER.format(title=title) + imports + "\n\n\n" + text


def _imports(text: str) -> Iterator[str]:
    """One line for each module whose names the text uses, the standard library first."""
    words = set(re.findall(r"\w+", text))
    homes: dict[str, list[str]] = {}
    for name, home in _HOMES.items():
        if name in words and f"class {name}" not in text:
            homes.setdefault(home, []).append(name)
    ours = sorted(home for home in homes if home.startswith("ingot"))
    others = sorted(set(homes) - set(ours))
    yield from (_import(home, homes[home]) for home in others)
    yield ""
    yield from (_import(home, homes[home]) for home in ours)


def _import(home: str, names: Iterable[str]) -> str:
    return f"from {home} import {', '.join(sorted(names, key=lambda n: (n[0].islower(), n)))}"


def _method(op: Op) -> str:
    _, *rest = op.signature.parameters.values()
    arguments = ["self.uop", *(_passed(op, p, spread=True) for p in rest)]
    parameters = ["self", *(_parameter(op, p, method=True) for p in rest)]
    return _definition(op, parameters, "Self", "self", arguments, _WIDTH - 4)


def _function(op: Op) -> str:
    given = op.signature.parameters.values()
    arguments = [_passed(op, p, spread=False) for p in given]
    parameters = [_parameter(op, p, method=False) for p in given]
    return _definition(op, parameters, "Tensor", "Tensor", arguments, _WIDTH)


def _aliases() -> str:
    return "".join(
        f"{alias} = {op.name}\n" for op in public_ops() for alias in op.aliases
    )


def _definition(
    op: Op,
    parameters: list[str],
    returns: str,
    maker: str,
    arguments: list[str],
    width: int,
) -> str:
    head = _wrapped(f"def {op.name}(", parameters, f") -> {returns}:", width)
    call = _wrapped(
        f'return {maker}.of(build["{op.name}"](', arguments, "))", width - 4
    )
    if "\n" in call:
        inner = _wrapped(f'build["{op.name}"](', arguments, ")", 0)
        call = f"return {maker}.of(\n" + textwrap.indent(inner, "    ") + "\n)"
    return head + "\n" + textwrap.indent(f'"""{op.doc}"""\n{call}\n', "    ")


def _wrapped(start: str, items: list[str], end: str, width: int) -> str:
    """On one line where that fits, else one item a line, as the formatter would have it."""
    line = start + ", ".join(items) + end
    if len(line) <= width:
        return line
    return start + "\n" + "".join(f"    {item},\n" for item in items) + end


def _parameter(op: Op, parameter: inspect.Parameter, *, method: bool) -> str:
    name, annotation = parameter.name, _annotation(parameter)
    if method and name == op.spread:
        element = "int" if annotation == "Sequence[int]" else "Dim"
        return f"*{name}: {element} | Sequence[{element}]"
    text = (
        f"{name}: {_INPUTS[annotation][0] if is_input(parameter) else annotation}"
    )
    default = (
        op.method_defaults.get(name, parameter.default)
        if method
        else parameter.default
    )
    return text if default is parameter.empty else f"{text} = {_literal(default)}"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _passed(op: Op, parameter: inspect.Parameter, *, spread: bool) -> str:
    name = parameter.name
    if is_input(parameter):
        return f"{_INPUTS[_annotation(parameter)][1]}({name})"
    if spread and name == op.spread:
        return f"{name}=spread({name})"
    return f"{name}={name}"


def _annotation(parameter: inspect.Parameter) -> str:
    return str(parameter.annotation)


def main() -> None:
    """Write both files beside this one."""
    here = Path(__file__).parent
    (here / "methods.py").write_text(methods(), encoding="utf-8")
    (here / "namespace.py").write_text(namespace(), encoding="utf-8")


if __name__ == "__main__":
    main()
