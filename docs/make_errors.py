"""Writes errors.md from ingot/errors.py: `python docs/make_errors.py`. A test keeps it current.

In:  the tree at the top of errors.py, the classes and their docstrings, and the mistakes of mistakes.md.
Out: one page: the tree, then each class, what it means, how to catch it, and mistakes that raise it.
"""

import inspect
import re
from pathlib import Path

from ingot import errors

HERE = Path(__file__).resolve().parent
HEAD = """# Errors

Made from `ingot/errors.py` by `python docs/make_errors.py`. Do not edit.

Everything that Ingot raises on purpose is an `IngotError`, and also the Python exception that fits, so `except ValueError`
keeps working. A message has up to four parts: what is wrong and what was wanted; how to fix it; the line of yours that built
it; and, if it only showed when the value was computed, the line that asked for the value.

```text
AxisError: index: index 7 is outside an axis of 3 elements, which takes -3..2
  at train.py:12, vectors = table[words]
  computed at train.py:40, print(loss.item())
```

`error.place` holds the line as data (`file`, `line`, `text`), `error.fix` the fix. `DEBUG_NAN=1` turns the first NaN or
infinity into an error of this kind. Programs that make mistakes, and what they are told, are in [mistakes.md](mistakes.md).

"""
MOST_EXAMPLES = 4


def page() -> str:
    """The text of errors.md."""
    parts = [HEAD, "```text\n", _tree(), "```\n"]
    examples = _examples()
    for name in _order():
        parts.append(_entry(getattr(errors, name), examples.get(name, [])))
    return "".join(parts)


def _tree() -> str:
    lines = (errors.__doc__ or "").splitlines()
    drawn = [line[4:] for line in lines if re.match(r"    (Ingot|[├└│])", line)]
    return "\n".join(drawn) + "\n"


def _order() -> list[str]:
    """The classes as the tree draws them."""
    words = re.findall(r"\w+", _tree())
    return list(dict.fromkeys(word for word in words if word in errors.__all__))


def _entry(kind: type[BaseException], examples: list[str]) -> str:
    lines = [f"\n## {kind.__name__}\n", f"{inspect.getdoc(kind)}\n"]
    builtin = next(b for b in kind.__mro__ if b.__module__ == "builtins")
    if builtin not in (Exception, BaseException):
        lines.append(f"`except {builtin.__name__}` catches it too.\n")
    if examples:
        links = [f"- [{title}](mistakes.md#{anchor(title)})" for title in examples]
        lines.append("\n".join(links[:MOST_EXAMPLES]) + "\n")
    return "\n".join(lines)


def anchor(title: str) -> str:
    """A heading's name in links: small letters, no signs, hyphens for spaces."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")


def _examples() -> dict[str, list[str]]:
    """Mistakes by the error that they raise."""
    text = (HERE / "mistakes.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    pattern = re.compile(
        r"^### ([^\n]*)\n.*?^```text\n(\w+):", re.MULTILINE | re.DOTALL
    )
    for title, name in pattern.findall(text):
        found.setdefault(name, []).append(title)
    return found


if __name__ == "__main__":
    (HERE / "errors.md").write_text(page(), encoding="utf-8")
