"""The pool in a rough world: fork, exit, signals, stops, more threads than CPUs. No hang, no crash, no lost chunk."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingot.settings import child_environment

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Filled once, so that no child compiles."""
    directory = tmp_path_factory.mktemp("children")
    finish("exit_parked", directory)
    return directory


@contextmanager
def child(scenario: str, directory: Path) -> Iterator[subprocess.Popen[str]]:
    command = [
        sys.executable,
        "-m",
        "tests.runtime.child",
        scenario,
        str(directory),
    ]
    environment = child_environment(PYTHONPATH=str(ROOT))
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finish(scenario: str, directory: Path) -> None:
    with child(scenario, directory) as process:
        ends_well(process)


def ends_well(process: subprocess.Popen[str]) -> None:
    """Reads to the end; a child that hangs is ended by its own watchdog."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    assert process.wait() == 0, err
    assert out.endswith("ok\n"), err


@pytest.mark.parametrize(
    "scenario",
    [
        "stress",
        "parking",
        "handler_evaluates",
        "forked",
        "forked_while_evaluating",
        "multiprocess",
    ],
)
def test_scenario(scenario: str, cache_directory: Path) -> None:
    finish(scenario, cache_directory)


@pytest.mark.parametrize(
    "scenario",
    ["exit_parked", "exit_spinning", "exit_evaluating", "exit_mid_command"],
)
def test_exit_is_clean(scenario: str, cache_directory: Path) -> None:
    for _ in range(4):
        finish(scenario, cache_directory)


def test_stop_and_continue(cache_directory: Path) -> None:
    moments = random.Random(7)
    with child("stopped", cache_directory) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(25):
            time.sleep(moments.uniform(0.0, 0.05))
            process.send_signal(signal.SIGSTOP)
            time.sleep(moments.uniform(0.0, 0.05))
            process.send_signal(signal.SIGCONT)
        ends_well(process)


def test_interrupt_within_a_fifth_of_a_second(cache_directory: Path) -> None:
    delays = [interrupt_delay(cache_directory) for _ in range(3)]
    assert min(delays) < 0.2, delays


def interrupt_delay(directory: Path) -> float:
    """Seconds from the signal to the KeyboardInterrupt."""
    with child("interrupted", directory) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.15)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        delay = time.monotonic() - started
        ends_well(process)
    return delay
