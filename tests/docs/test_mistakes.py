"""docs/mistakes.md: every program raises what the page says, and every error is one to learn from."""

import importlib.util
import re

import pytest

from ingot import errors
from ingot.errors import IngotError
from tests.architecture.sources import ROOT
from tests.docs.mistakes import Mistake, mistakes, raised, told

MISTAKES = mistakes()
_RENEW = "if the new text is better: `python -m tests.docs.mistakes`, then `python docs/make_errors.py`"
# Python itself finds these before Ingot is asked, and says what is wrong in its own words.
PYTHONS_OWN = {
    "A missing argument",
    "Too many arguments",
}


def test_there_are_many() -> None:
    assert len(MISTAKES) >= 60
    assert len({m.title for m in MISTAKES}) == len(MISTAKES)
    headings = (ROOT / "docs" / "mistakes.md").read_text(encoding="utf-8")
    assert len(re.findall("^### ", headings, re.MULTILINE)) == len(MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.title)
def test_the_error_is_the_one_on_the_page(mistake: Mistake) -> None:
    assert told(mistake.program) == mistake.error, _RENEW


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.title)
def test_the_error_is_ours_and_names_the_line(mistake: Mistake) -> None:
    error = raised(mistake.program)
    if mistake.title in PYTHONS_OWN:
        assert isinstance(error, TypeError)
        return
    assert isinstance(error, IngotError), repr(error)
    assert error.place is not None
    assert error.place.text in mistake.program
    assert not isinstance(error, errors.SpecError | errors.CompileError)


def test_errors_without_a_fix_are_few() -> None:
    """A fix may be left out where the sentence says it already; it should be rare."""
    found = [raised(m.program) for m in MISTAKES]
    bare = [e for e in found if isinstance(e, IngotError) and not e.fix]
    assert len(bare) <= len(MISTAKES) // 10, [str(e) for e in bare]


# --- errors.md ---


def test_the_page_of_errors_is_current() -> None:
    path = ROOT / "docs" / "make_errors.py"
    spec = importlib.util.spec_from_file_location("make_errors", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    written = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert written == made.page(), "run `python docs/make_errors.py`"
    assert all(f"## {name}\n" in written for name in errors.__all__)
