"""The exception tree: messages, builtin parents, and the drawing in the docstring."""

import pickle
import re

import pytest

from ingot import errors
from ingot.errors import IngotError, IngotWarning, ShapeError, SpecError


def all_classes() -> list[type[BaseException]]:
    return [getattr(errors, name) for name in errors.__all__]


def test_the_message_says_given_wanted_fix_and_place() -> None:
    error = ShapeError(
        "reshape", given="(2, 3)", wanted="6 elements", fix="write x.reshape(6)"
    )
    error.add_context("at train.py:41, h = x.reshape(7)")
    assert str(error).splitlines() == [
        "reshape: given (2, 3), wanted 6 elements.",
        "  write x.reshape(6)",
        "  at train.py:41, h = x.reshape(7)",
    ]


def test_a_plain_message_stays_as_it_is() -> None:
    assert (
        str(ShapeError("matmul: 50 columns do not meet 60 rows."))
        == "matmul: 50 columns do not meet 60 rows."
    )


def test_given_may_be_falsy() -> None:
    assert str(ShapeError("size", given=0, wanted=1)) == "size: given 0, wanted 1."


def test_a_spec_fault_begins_as_promised() -> None:
    error = SpecError(
        "ADD of float32 and int32",
        stage="lower",
        rule="algebra.py:12",
        around="> v3 = add(v1, v2)",
    )
    assert isinstance(error, RuntimeError)
    assert str(error).splitlines() == [
        "SPEC ISSUE lower: ADD of float32 and int32",
        "  last rule: algebra.py:12",
        "> v3 = add(v1, v2)",
    ]


@pytest.mark.parametrize(
    "error",
    [
        ShapeError("a", given=1, wanted=2, fix="b").add_context("c"),
        SpecError("a", stage="b", rule="c", around="d").add_context("e"),
    ],
)
def test_errors_cross_processes(error: IngotError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.args == error.args


def test_the_drawing_is_the_tree() -> None:
    assert errors.__doc__ is not None
    drawn = re.findall(
        r"(\w+(?:Error|Fault|Package|Warning)) (?:\((\w+)\))?", errors.__doc__
    )
    parents = {name: parent for name, parent in drawn if name in errors.__all__}
    assert set(parents) == set(errors.__all__)
    for cls in all_classes():
        parent = parents[cls.__name__]
        assert not parent or parent in {base.__name__ for base in cls.__mro__}


def test_everything_has_one_root() -> None:
    assert all(issubclass(cls, IngotError | IngotWarning) for cls in all_classes())
