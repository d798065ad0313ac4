"""The tour runs, shows every stage, and every level of it agrees with NumPy."""

from __future__ import annotations

import subprocess
import sys

from ingot.pipeline.stages import STAGES
from ingot.settings import child_environment
from tests.architecture.sources import ROOT


def test_the_tour_runs_to_its_end() -> None:
    environment = child_environment(PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, "docs/tour.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("computes what NumPy does") == 7
    assert "define i64 @" in done.stdout


def test_the_tour_takes_every_stage() -> None:
    text = (ROOT / "docs" / "tour.py").read_text(encoding="utf-8")
    assert all(f"stages.{stage.name.upper()}(" in text for stage in STAGES)
