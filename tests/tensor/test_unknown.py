"""Names and arguments that do not exist: the nearest is told, protocols are left alone, methods belong to Tensor."""

import copy
import pickle

import pytest

import ingot as ig
from ingot.errors import ArgumentError, UnknownNameError


def test_the_nearest_method_is_told() -> None:
    with pytest.raises(UnknownNameError, match="did you mean softmax"):
        ig.ones(3).sofmax()  # type: ignore[attr-defined]


def test_the_nearest_function_is_told() -> None:
    with pytest.raises(UnknownNameError, match="did you mean softplus"):
        ig.sofplus(ig.ones(3))  # type: ignore[attr-defined]


def test_other_ways_of_thinking_are_explained() -> None:
    with pytest.raises(UnknownNameError, match=r"ig\.cat"):
        ig.ones(3).append(1)  # type: ignore[attr-defined]


def test_asking_whether_a_name_exists_works_as_ever() -> None:
    assert not hasattr(ig.ones(3), "sofmax")
    assert not hasattr(ig, "sofplus")
    assert not hasattr(ig, "__nothing__")
    assert getattr(ig.ones(3), "nothing", 7) == 7
    with pytest.raises(ImportError):
        exec("from ingot import sofplus")


def test_copies_and_pickles_do_not_stumble() -> None:
    x = ig.tensor([1.0, 2.0])
    assert copy.deepcopy(x).tolist() == pickle.loads(pickle.dumps(x)).tolist()
    relu = pickle.loads(pickle.dumps(ig.Tensor.relu))
    assert relu(ig.tensor([-1.0])).item() == 0


def test_methods_belong_to_tensor() -> None:
    with pytest.raises(
        TypeError, match=r"Tensor\.relu\(\) takes 1 positional argument"
    ):
        ig.ones(3).relu(2)  # type: ignore[call-arg]

    class Mine(ig.Tensor):
        def twice(self) -> ig.Tensor:
            return self * 2.0

    assert Mine.twice.__qualname__.endswith("Mine.twice")


def test_unknown_arguments_name_those_that_exist() -> None:
    with pytest.raises(ArgumentError, match="it takes axis, keepdims") as caught:
        ig.ones(3).sum(axs=0)  # type: ignore[arg-type]
    assert caught.value.fix == "did you mean axis?"
    with pytest.raises(ArgumentError, match="relu: unknown argument 'inplace'"):
        ig.relu(ig.ones(3), inplace=True)  # type: ignore[arg-type]
