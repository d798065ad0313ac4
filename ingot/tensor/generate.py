"""Writes what follows from the registry: `python -m ingot.tensor.generate`. Tests keep the files current.

    ops/families.py              which file declares which op: a family is imported when one of its ops is asked for
    tensor/methods/<family>.py   the methods of a tensor
    tensor/functions/<family>.py the functions of the namespace
    tensor/namespace.py          every public name: those functions, and what the other files of tensor/ export
    docs/ops.md, docs/names.md   tables for people (see pages.py)

In:  the declarations of ops/. Out: source text, so that people, editors and type checkers see every signature.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import ingot.ops
from ingot.ops.op import REGISTRY, Op, is_input
from ingot.tensor.arguments import SECOND_NAMES
from ingot.tensor.pages import names_page, ops_page

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
_WIDTH = 120
_HEADER = '''"""{title} Generated from the registry by `python -m ingot.tensor.generate`.

{inside} Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

'''
_INSIDE = "In: tensors and attributes. Out: tensors."
_HOMES = {
    "Dim": "ingot.ops.movement",
    "Never": "typing",
    "Self": "typing",
    "Sequence": "collections.abc",
    "Tensor": "ingot.tensor.tensor",
    "REQUIRED": "ingot.tensor.arguments",
    "given": "ingot.tensor.arguments",
    "one_of": "ingot.tensor.arguments",
    "unknown_argument": "ingot.tensor.arguments",
    "unset": "ingot.tensor.arguments",
    "nodes": "ingot.tensor.arguments",
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
_INPUTS = {  # annotation of a builder's input -> annotation for users, and the function that makes a node of it
    "UOp": ("Value", "node"),
    "UOp | None": ("Value | None", "optional"),
    "Operand": ("Value", "operand"),
    "Operand | None": ("Value | None", "optional_operand"),
    "Sequence[UOp]": ("Sequence[Value]", "nodes"),
}
Parameter = inspect.Parameter


# --- the families -------------------------------------------------------------------------------------------------


@cache
def declared() -> tuple[Op, ...]:
    """Every op of Ingot's own, family by family."""
    for module in pkgutil.iter_modules(ingot.ops.__path__):
        import_module(f"ingot.ops.{module.name}")
    own = [op for op in REGISTRY.values() if _module(op) is not None]
    return tuple(sorted(own, key=lambda op: op.family))


def _module(op: Op) -> str | None:
    path = Path(ingot.ops.__path__[0]) / f"{op.family}.py"
    return op.family if path.exists() else None


def public() -> dict[str, list[Op]]:
    """The ops that users call, by family."""
    found: dict[str, list[Op]] = {}
    for op in declared():
        if op.public:
            found.setdefault(op.family, []).append(op)
    return found


def families() -> str:
    """The text of ops/families.py."""
    rows = "".join(f'    "{op.name}": "{op.family}",\n' for op in declared())
    named = "".join(f'    "{op.name}",\n' for op in declared() if op.is_named)
    head = _HEADER.format(
        title="Which file declares which op.",
        inside="In: the name of an op. Out: its file; whether it is a node of programs.",
    )
    table = f"FAMILY: dict[str, str] = {{\n{rows}}}\n"
    return f"{head}{table}NODES: tuple[str, ...] = (\n{named})\n"


# --- methods and functions ----------------------------------------------------------------------------------------


def methods(family: str) -> str:
    """The methods of one family."""
    title = f"class {_class_name(family)}(Handle):\n"
    head = f'{title}    """Ops of ops/{family}.py as methods."""\n\n    __slots__ = ()\n'
    ops = [op for op in public()[family] if has_method(op)]
    parts = [_method(op) for op in ops] + [_aliases(ops)]
    text = "\n".join([head, *(textwrap.indent(part, "    ") for part in parts)])
    return _file(f"Methods: {family}.", text)


def all_methods() -> str:
    """The class of all methods."""
    kept = [family for family in public() if any(map(has_method, public()[family]))]
    imports = "".join(
        f"from ingot.tensor.methods.{family} import {_class_name(family)}\n"
        for family in kept
    )
    bases = "".join(f"    {_class_name(family)},\n" for family in kept)
    head = _HEADER.format(title="The methods of a tensor.", inside=_INSIDE)
    title = f"class Methods(\n{bases}):\n"
    body = '    """Every op as a method."""\n\n    __slots__ = ()\n'
    return f"{head}{imports}\n\n{title}{body}"


def _class_name(family: str) -> str:
    return "".join(word.capitalize() for word in family.split("_")) + "Methods"


def has_method(op: Op) -> bool:
    """Its first argument is one tensor, on which the others are called."""
    first = next(iter(op.signature.parameters.values()))
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    single = first.kind in kinds and "Sequence" not in _annotation(first)
    return is_input(first) and (single or op.bundled)


def functions(family: str) -> str:
    """The functions of one family."""
    ops = public()[family]
    parts = [_function(op) for op in ops] + [_aliases(ops)]
    return _file(f"Functions: {family}.", "\n\n".join(parts))


def _file(title: str, text: str) -> str:
    imports = "\n".join(_imports(text))
    head = _HEADER.format(title=title, inside=_INSIDE)
    return head + imports + "\n\n\n" + text


def _imports(text: str) -> Iterator[str]:
    """One line for each module whose names the text uses; types of ops/ are for type checkers alone."""
    code = re.sub(r'""".*?"""|"[^"]*"', "", text, flags=re.DOTALL)
    words = set(re.findall(r"\w+", code))
    homes: dict[str, list[str]] = {}
    for name, home in (_HOMES | _types()).items():
        if name in words and f"class {name}" not in text:
            homes.setdefault(home, []).append(name)
    needed = [home for home in sorted(homes) if home.startswith("ingot.tensor")]
    types = [home for home in sorted(homes) if home not in needed]
    if types:
        yield "from typing import TYPE_CHECKING\n"
    yield from (_import(home, homes[home]) for home in needed)
    if types:
        yield "\nif TYPE_CHECKING:"
    for home in sorted(types, key=lambda home: (home.startswith("ingot"), home)):
        yield textwrap.indent(_import(home, homes[home]), "    ")


@cache
def _types() -> dict[str, str]:
    """Where the types in annotations come from: the file that declares the op has them, or imports them."""
    found: dict[str, str] = {}
    for op in declared():
        source = import_module(f"ingot.ops.{op.family}")
        for parameter in op.signature.parameters.values():
            for word in re.findall(r"[A-Z]\w+", _annotation(parameter)):
                if word not in _HOMES and hasattr(source, word):
                    found.setdefault(word, _home(source.__name__, word))
    return found


def _home(module: str, name: str) -> str:
    """The file that defines a name which `module` has; follows `from ... import`."""
    path = inspect.getsourcefile(import_module(module)) or ""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            if any(alias.name == name for alias in node.names):
                is_ours = node.module.startswith("ingot")
                return _home(node.module, name) if is_ours else node.module
    return module


def _import(home: str, names: Iterable[str]) -> str:
    ordered = sorted(names, key=lambda n: (n[0].islower(), n))
    return _wrapped(f"from {home} import ", ordered, "", _WIDTH, "(", ")")


def _method(op: Op) -> str:
    first, *rest = op.signature.parameters.values()
    parameters = ["self", *_parameters(op, rest, method=True)]
    arguments = ["self.uop", *(_passed(op, p, method=True) for p in rest)]
    if op.bundled:
        parameters.insert(1, f"*{first.name}: Value")
        arguments.insert(1, f"*nodes({first.name})")
    return _definition(op, parameters, "Self", "self", arguments, _WIDTH - 4)


def _function(op: Op) -> str:
    given = list(op.signature.parameters.values())
    arguments = [_passed(op, p, method=False) for p in given]
    parameters = _parameters(op, given, method=False)
    return _definition(op, parameters, "Tensor", "Tensor", arguments, _WIDTH)


def _aliases(ops: Iterable[Op]) -> str:
    return "".join(f"{alias} = {op.name}\n" for op in ops for alias in op.aliases)


def _definition(
    op: Op,
    parameters: list[str],
    returns: str,
    maker: str,
    arguments: list[str],
    width: int,
) -> str:
    kind = (
        "list"
        if str(op.signature.return_annotation).startswith("list")
        else "tuple"
    )
    several = f"list[{returns}]" if kind == "list" else f"tuple[{returns}, ...]"
    result = several if op.several else returns
    # Whatever is misspelt arrives in `unknown`; to a type checker nothing may.
    is_open = any(p.startswith("**") for p in parameters)
    named = parameters if is_open else [*parameters, "**unknown: Never"]
    head = _wrapped(f"def {op.name}(", named, f") -> {result}:", width)
    start = f"{kind}(map({maker}.of, " if op.several else f"{maker}.of("
    end = "))" if op.several else ")"
    inner = f'build["{op.name}"]('
    call = _wrapped(f"return {start}{inner}", arguments, f"){end}", width - 4)
    method = maker == "self"
    chosen = [_chosen(op, p) for p in _renamed(op, method=method)]
    checked = [
        f'{name} = given("{op.name}", "{name}", {name})'
        for name in _late(op, method=method)
    ]
    refused = ["if unknown:", "    raise unknown_argument(unknown)"]
    refused = [] if is_open else refused
    lines = [f'"""{op.doc}"""', *refused, *chosen, *checked, call]
    return head + "\n" + textwrap.indent("\n".join(lines) + "\n", "    ")


def _wrapped(
    start: str,
    items: list[str],
    end: str,
    width: int,
    left: str = "",
    right: str = "",
) -> str:
    """On one line where that fits, else one item a line."""
    line = start + ", ".join(items) + end
    if len(line) <= width:
        return line
    rows = "".join(f"    {item},\n" for item in items)
    return f"{start}{left}\n{rows}{right}{end}"


# --- parameters ---------------------------------------------------------------------------------------------------


def _renamed(op: Op, *, method: bool) -> list[Parameter]:
    """The parameters that have a second name."""
    return [
        p
        for p in op.signature.parameters.values()
        if p.name in SECOND_NAMES
        and p.kind is not Parameter.VAR_KEYWORD
        and not (method and p.name == op.spread)
    ]


def _late(op: Op, *, method: bool) -> list[str]:
    """Parameters without a default that come after one with two names, which Python takes for a default."""
    required = [
        p
        for p in op.signature.parameters.values()
        if p.default is Parameter.empty
        and p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        and not (method and p.name == op.spread)
    ]
    twofold = [i for i, p in enumerate(required) if p.name in SECOND_NAMES]
    after = required[twofold[0] :] if twofold else []
    return [p.name for p in after if p.name not in SECOND_NAMES]


def _chosen(op: Op, parameter: Parameter) -> str:
    name, second = parameter.name, SECOND_NAMES[parameter.name]
    return f'{name} = one_of("{op.name}", "{name}", {name}, "{second}", {second})'


def _parameters(op: Op, given: list[Parameter], *, method: bool) -> list[str]:
    plain = [p for p in given if p.kind is not Parameter.VAR_KEYWORD]
    if not op.takes_any_number:  # what has to be given comes first
        plain.sort(key=lambda p: p.default is not Parameter.empty)
    words = [_parameter(op, p, method=method) for p in plain]
    second = [_second(op, p, method=method) for p in _renamed(op, method=method)]
    starred = any(word.startswith("*") for word in words) or (method and op.bundled)
    if second and not starred:
        words.append("*")
    rest = [p for p in given if p.kind is Parameter.VAR_KEYWORD]
    return words + second + [f"**{p.name}: {_annotation(p)}" for p in rest]


def _parameter(op: Op, parameter: Parameter, *, method: bool) -> str:
    name, annotation = parameter.name, _annotation(parameter)
    if method and name == op.spread:
        element = "int" if annotation == "Sequence[int]" else "Dim"
        return f"*{name}: {element} | Sequence[{element}]"
    kind = _INPUTS[annotation][0] if is_input(parameter) else annotation
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return f"{name}: Sequence[{kind}]" if op.bundled else f"*{name}: {kind}"
    return _with_default(op, parameter, f"{name}: {kind}", method)


def _second(op: Op, parameter: Parameter, *, method: bool) -> str:
    annotation = _annotation(parameter)
    kind = _INPUTS[annotation][0] if is_input(parameter) else annotation
    return _with_default(
        op, parameter, f"{SECOND_NAMES[parameter.name]}: {kind}", method
    )


def _with_default(op: Op, parameter: Parameter, text: str, method: bool) -> str:
    default = parameter.default
    if method:
        default = op.method_defaults.get(parameter.name, default)
    is_twofold = parameter.name in SECOND_NAMES
    if default is Parameter.empty:
        late = parameter.name in _late(op, method=method)
        return f"{text} = REQUIRED" if is_twofold or late else text
    literal = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"{text} = unset({literal})" if is_twofold else f"{text} = {literal}"


def _passed(op: Op, parameter: Parameter, *, method: bool) -> str:
    name = parameter.name
    if parameter.kind is Parameter.VAR_KEYWORD:
        return f"**{name}"
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return f"*nodes({name})"
    if is_input(parameter):
        return f"{_INPUTS[_annotation(parameter)][1]}({name})"
    if method and name == op.spread:
        return f"{name}=spread({name})"
    return name if _leads(op, parameter) else f"{name}={name}"


def _leads(op: Op, parameter: Parameter) -> bool:
    """It stands before a tensor or `*tensors`, so it can only be passed by position."""
    given = list(op.signature.parameters.values())
    after = given[given.index(parameter) + 1 :]
    return parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and any(
        map(is_input, after)
    )


def _annotation(parameter: Parameter) -> str:
    return str(parameter.annotation)


# --- every public name --------------------------------------------------------------------------------------------


_RENAMED = {"Tensor": "ingot.tensor.tensor:Tensor"}
_EXTENSIONS = ("linalg",)


def namespace() -> str:
    """The text of namespace.py: for type checkers stars, for Python a table of what to import when it is asked for."""
    homes = _written() | {
        f"ingot.tensor.functions.{family}": [
            name for op in ops for name in (op.name, *op.aliases)
        ]
        for family, ops in public().items()
    }
    written = {name for names in _written().values() for name in names}
    lines = [_star(home, names, written) for home, names in homes.items()]
    for name, place in _RENAMED.items():
        home, attribute = place.split(":")
        lines.append(f"    from {home} import {attribute} as {name}")
    for name in _EXTENSIONS:
        lines.append(f"    from ingot.tensor.extensions import {name} as {name}")
    return _NAMESPACE.format(
        stars="\n".join(lines), table=_table(homes), renamed=_mapping()
    )


def _star(home: str, names: list[str], written: set[str]) -> str:
    """All of a file; where people wrote some of its names anew, the others."""
    if ".functions." not in home or not written & set(names):
        return f"    from {home} import *"
    rest = sorted(f"{name} as {name}" for name in set(names) - written)
    return textwrap.indent(_import(home, rest), "    ")


def _table(homes: dict[str, list[str]]) -> str:
    """Which names each file has, the names of one file in a few lines."""
    rows = []
    for home, names in homes.items():
        words = textwrap.wrap(" ".join(sorted(names)), _WIDTH - 12)
        quoted = "".join(f'        "{line} "\n' for line in words)
        rows.append(f'    "{home}": (\n{quoted}    ),\n')
    return "".join(rows)


def _mapping() -> str:
    extensions = {n: f"ingot.tensor.extensions.{n}:" for n in _EXTENSIONS}
    return "".join(
        f'    "{name}": "{place}",\n'
        for name, place in (_RENAMED | extensions).items()
    )


_NAMESPACE = '''"""Every public name. Generated from the registry by `python -m ingot.tensor.generate`.

In: a name. Out: the function or type, whose file is imported when it is first asked for. Do not edit.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
{stars}

_NAMES = {{
{table}}}
PLACES: dict[str, str] = {{
    name: f"{{home}}:{{name}}" for home, names in reversed(_NAMES.items()) for name in names.split()
}}
PLACES |= {{
{renamed}}}


def look_up(name: str) -> Any:
    """What a public name stands for."""
    home, _, attribute = PLACES[name].partition(":")
    module = import_module(home)
    return getattr(module, attribute) if attribute else module


if not TYPE_CHECKING:
    __all__ = list(PLACES)

    def __getattr__(name: str) -> Any:
        if name not in PLACES:
            raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
        found = globals()[name] = look_up(name)
        return found
'''


def _written() -> dict[str, list[str]]:
    """What the files of tensor/ that people write export: the names in their `__all__`. They come before functions."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("*.py")):
        module = f"ingot.tensor.{path.stem}"
        if path.stem in ("generate", "namespace", "__init__"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if (
                isinstance(node, ast.Assign)
                and ast.unparse(node.targets[0]) == "__all__"
            ):
                found[module] = ast.literal_eval(node.value)
    return found


def files() -> dict[Path, str]:
    """Every generated file and its text."""
    made = {Path(ingot.ops.__path__[0]) / "families.py": families()}
    for family in public():
        if any(map(has_method, public()[family])):
            made[HERE / "methods" / f"{family}.py"] = methods(family)
        made[HERE / "functions" / f"{family}.py"] = functions(family)
    made[HERE / "methods" / "__init__.py"] = all_methods()
    made[HERE / "namespace.py"] = namespace()
    external = [op for op in declared() if op.family == "linalg"]
    made[DOCS / "ops.md"] = ops_page({**public(), "linalg": external})
    made[DOCS / "names.md"] = names_page()
    return made


def main() -> None:
    """Write the files; those of families that are gone go too."""
    made = files()
    for path, text in made.items():
        if path.suffix == ".py":
            compile(text, str(path), "exec")
    for folder in ("methods", "functions"):
        for path in (HERE / folder).glob("*.py"):
            if path not in made and path.stem != "__init__":
                path.unlink()
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
