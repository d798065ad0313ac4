"""Devices through tensors: CPU, PYTHON and NULL; others are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import ingot as ig
from ingot.errors import DeviceError, SettingError
from ingot.pipeline import memory, realize
from ingot.pipeline.session import Session
from ingot.settings import settings
from tests.pipeline.programs import array, layer, layer_wanted, tensor


def test_python_agrees_with_the_cpu(session: Session) -> None:
    on_cpu = layer().numpy()
    with settings.override(device="PYTHON"):
        by_interpreter = layer().numpy()
    np.testing.assert_allclose(on_cpu, layer_wanted(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(by_interpreter, layer_wanted(), rtol=1e-5, atol=1e-6)


def test_python_compiles_nothing(session: Session) -> None:
    with settings.override(device="PYTHON"):
        ig.softmax(tensor(3, 4), axis=-1).numpy()
    assert not session.forges


def test_several_results_on_python() -> None:
    with settings.override(device="PYTHON"):
        x = tensor(3, 4)
        total, most, same = x.sum(), x.max(), x.sum()
        ig.eval(total, most, same)
    np.testing.assert_allclose(total.numpy(), array(3, 4).sum(), rtol=1e-6)
    assert most.numpy() == array(3, 4).max()
    assert same.numpy() == total.numpy()


def test_null_compiles_and_runs_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ingot.runtime.evaluation.Program.run",
        lambda self, *words: pytest.fail("it ran"),
    )
    with settings.override(device="NULL"):
        made = layer().numpy()
        assert made.shape == (5, 9)
    assert session.forge().compiled == 1


@pytest.mark.parametrize("device", ["PYTHON", "NULL"])
def test_captured_functions_run_there_too(device: str, session: Session) -> None:
    with settings.override(device=device):
        twice = ig.jit(lambda x: (x * 2.0, x.sum()))
        doubled, total = twice(tensor(3, 4))
        if device == "PYTHON":
            np.testing.assert_allclose(doubled.numpy(), array(3, 4) * 2)
            np.testing.assert_allclose(total.numpy(), array(3, 4).sum(), rtol=1e-6)


@pytest.mark.parametrize("device", ["CUDA", "OPENCL"])
def test_a_device_that_is_not_here_is_refused(device: str) -> None:
    with settings.override(device=device):
        with pytest.raises(
            DeviceError,
            match=f"no device {device} here: wanted CPU, PYTHON or NULL",
        ):
            layer().numpy()
        with pytest.raises(DeviceError, match="set DEVICE=CPU"):
            ig.jit(lambda x: x + 1.0)(tensor(3))


def test_an_unknown_device_is_a_setting_error() -> None:
    with (
        pytest.raises(SettingError, match="one of CPU, CUDA"),
        settings.override(device="TPU"),
    ):
        pass


def test_evaluated_tensors_are_handed_through(session: Session) -> None:
    x = tensor(3)
    assert realize([x.uop]) == [memory(x.uop)]
