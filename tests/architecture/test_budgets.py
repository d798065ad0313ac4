"""Budgets: short functions, short files, one idea a line, everything annotated, nothing left as a note to self."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

import pytest

from tests.architecture.sources import (
    FunctionNode,
    Source,
    docstring,
    package,
    python_files,
)

FUNCTION_MEDIAN, FUNCTION_P90, FUNCTION_MOST = 8, 25, 60
FILE_MEDIAN, FILE_P90, FILE_MOST = 200, 450, 600
TOKENS_A_LINE = 9.0
VAGUE_NAMES = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "misc",
    "core",
    "tools",
}
# Written with a gap, so that this file passes its own test.
NOTE_TO_SELF = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
LAYOUT_TOKENS = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def percentile(values: Sequence[int], share: float) -> int:
    return sorted(values)[int(share * (len(values) - 1))]


def length(function: FunctionNode) -> int:
    """Lines from `def` to the end, without the docstring: explaining is not what makes a function long."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    words = docstring(function)
    if words is None or words.end_lineno is None:
        return lines
    return lines - (words.end_lineno - words.lineno + 1)


def function_lengths(sources: Sequence[Source]) -> dict[str, int]:
    return {
        f"{s.path}:{f.lineno} {f.name}": length(f)
        for s in sources
        for f in s.functions()
    }


def longest(lengths: dict[str, int], count: int = 8) -> str:
    ordered = sorted(lengths.items(), key=lambda item: -item[1])
    return "\n".join(f"{lines:5} {where}" for where, lines in ordered[:count])


def test_functions_are_short() -> None:
    lengths = function_lengths(package())
    values = list(lengths.values())
    assert median(values) <= FUNCTION_MEDIAN
    assert percentile(values, 0.9) <= FUNCTION_P90, longest(lengths)
    assert max(values) <= FUNCTION_MOST, longest(lengths)


def test_files_are_short() -> None:
    lengths = {source.path: source.text.count("\n") for source in package()}
    values = list(lengths.values())
    assert median(values) <= FILE_MEDIAN
    assert percentile(values, 0.9) <= FILE_P90, longest(lengths)
    assert max(values) <= FILE_MOST, longest(lengths)


def whole_strings(
    tokens: Iterable[tokenize.TokenInfo],
) -> Iterator[tokenize.TokenInfo]:
    """An f-string is one token, also to the versions of Python that see through it."""
    depth = 0
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if depth == 0:
            yield token
        depth += (name == "FSTRING_START") - (name == "FSTRING_END")


def density(source: Source) -> tuple[int, int]:
    """Tokens of code and lines of code; comments and docstrings are neither."""
    words: set[int] = set()
    for node in ast.walk(source.tree):
        found = docstring(node)
        if found is not None and found.end_lineno is not None:
            words |= set(range(found.lineno, found.end_lineno + 1))
    code = [
        t
        for t in whole_strings(source.tokens())
        if t.type not in LAYOUT_TOKENS and t.start[0] not in words
    ]
    lines = {
        number
        for token in code
        for number in range(token.start[0], token.end[0] + 1)
    }
    return len(code), len(lines)


def test_lines_hold_one_idea() -> None:
    counts = {source.path: density(source) for source in package()}
    tokens = sum(count for count, _ in counts.values())
    lines = sum(count for _, count in counts.values())
    dense = sorted(
        counts, key=lambda path: -counts[path][0] / max(1, counts[path][1])
    )
    assert tokens / lines <= TOKENS_A_LINE, (
        f"{tokens / lines:.2f} tokens a line; densest: {dense[:8]}"
    )


def unannotated(function: FunctionNode) -> list[str]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    extra = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    missing = [
        one.arg
        for one in [*named, *extra]
        if one.annotation is None and one.arg not in ("self", "cls")
    ]
    return missing if function.returns is not None else [*missing, "return"]


def test_everything_is_annotated() -> None:
    wrong = [
        f"{s.path}:{f.lineno} {f.name}: {unannotated(f)}"
        for s in package()
        for f in s.functions()
    ]
    wrong = [line for line in wrong if not line.endswith("[]")]
    assert not wrong, "\n".join(wrong)


def notes_to_self(text: str) -> list[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        t.start[0]
        for t in tokens
        if NOTE_TO_SELF.search(t.string)
        and t.type in (tokenize.COMMENT, tokenize.STRING)
    ]


def test_no_notes_to_self() -> None:
    found = [
        f"{source.path}:{line}"
        for source in python_files()
        for line in notes_to_self(source.text)
    ]
    assert not found, found


def test_files_are_named_for_a_concept() -> None:
    vague = [
        source.path
        for source in package()
        if VAGUE_NAMES & set(source.module.split("."))
    ]
    assert not vague, f"name the concept, or put it where it is used: {vague}"


def test_every_file_says_what_it_is() -> None:
    silent = [
        source.path
        for source in package()
        if ast.get_docstring(source.tree) is None
    ]
    assert not silent, silent


# --- the measures themselves ---


def source_of(text: str) -> Source:
    return Source("ingot.x", "ingot/x.py", text)


def test_a_docstring_does_not_count_as_length() -> None:
    source = source_of(
        'def f():\n    """One\n    two."""\n    a = 1\n    return a\n'
    )
    assert list(function_lengths([source]).values()) == [3]


def test_an_f_string_is_one_token() -> None:
    assert density(source_of('x = f"a {y + 1} {z}"\n')) == (3, 1)


def test_density_counts_code_alone() -> None:
    text = '"""Words.\n\nMore."""\n# a comment\nx = 1  # another\n\ny = (x +\n     1)\n'
    assert density(source_of(text)) == (3 + 7, 3)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("def f(a, *b: int, c: int, **d): ...", ["a", "d", "return"]),
        ("def f(self, a: int) -> None: ...", []),
    ],
)
def test_missing_annotations_are_seen(text: str, missing: list[str]) -> None:
    (function,) = source_of(text).functions()
    assert unannotated(function) == missing


def test_notes_to_self_are_seen() -> None:
    assert notes_to_self("a = 1\nb = 2  # TO" + "DO: more\n") == [2]
