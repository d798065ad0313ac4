"""The nearest word."""

import pytest

from ingot.spelling import distance, hint, nearest

WORDS = ["softmax", "softplus", "fmax", "max", "float32", "relu"]


@pytest.mark.parametrize(
    ("first", "second", "slips"),
    [
        ("softmax", "softmax", 0),
        ("sofmax", "softmax", 1),
        ("flaot32", "float32", 1),
        ("Relu", "relu", 0),
        ("", "abc", 3),
        ("kitten", "sitting", 3),
    ],
)
def test_distance(first: str, second: str, slips: int) -> None:
    assert distance(first, second) == distance(second, first) == slips


def test_the_nearest_word_is_told() -> None:
    assert nearest("sofmax", WORDS) == "softmax"
    assert hint("flaot32", WORDS) == "did you mean float32?"


def test_nothing_near_is_no_hint() -> None:
    assert hint("convolution", WORDS) == ""
    assert nearest("x", []) == ""
