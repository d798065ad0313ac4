"""The official tests of the Python array API standard, over Ingot: `python -m tests.array_api.conformance FOLDER`.

FOLDER is a checkout of data-apis/array-api-tests with its submodule array-api. The suite runs on a copy, in which two
lines are changed: as published it cannot be imported for a library that has no complex type. What is skipped stands in
`SKIPS` with its reason; everything else counts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COMPLEX = "complex64 and complex128 are not there yet"
SKIPS = (
    (r"test_special_cases.*\[.*(real|imag)\(x_i\)", COMPLEX),
    (r"test_fft\.py|test_has_names\[fft-", f"fft: {COMPLEX}"),
    (r"test_vecdot_conj", COMPLEX),
    (r"test_has_names.*complex", COMPLEX),
    (
        r"(floor_divide|__i?floordiv__)\(isfinite\(x1_i\) and x1_i (> 0 and x2_i is -|< 0 and x2_i is \+)infinity",
        "1 // -inf is -1 as in NumPy and Python, the largest whole number not above the quotient; the standard says -0",
    ),
    (
        r"(floor_divide|__i?floordiv__)\(x1_i is [+-]infinity and isfinite\(x2_i\) and x2_i [<>] 0",
        "inf // 1 is NaN as in NumPy and Python; the standard says infinity",
    ),
)
CHANGES = (
    (
        "array_api_tests/dtype_helpers.py",
        "for dt in complex_dtypes], key=lambda x: x[1]",
        "for dt in complex_dtypes], key=lambda x: x[1], default=(None, 0)",
    ),
    (
        "array_api_tests/test_signatures.py",
        "cmplx_name = dh.dtype_to_name[dh.widest_complex_dtype]",
        'cmplx_name = "complex64"',
    ),
)


class Outcome(NamedTuple):
    """How many tests passed, failed, and were skipped, and what pytest printed."""

    passed: int
    failed: int
    skipped: int
    text: str

    @property
    def share(self) -> float:
        return self.passed / max(1, self.passed + self.failed)


def run(folder: Path, examples: int = 20, device: str = "CPU") -> Outcome:
    """Run the suite and count."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "suite"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".git"))
        for path, old, new in CHANGES:
            text = (copy / path).read_text(encoding="utf-8")
            (copy / path).write_text(text.replace(old, new), encoding="utf-8")
        (copy / "skips.txt").write_text(_skips(copy, device), encoding="utf-8")
        options = [f"--max-examples={examples}", "--disable-deadline", "--tb=line"]
        text = _pytest(copy, device, *options)
    counts = {
        word: int(number)
        for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", text)
    }
    failed = counts.get("failed", 0) + counts.get("error", 0)
    return Outcome(counts.get("passed", 0), failed, counts.get("skipped", 0), text)


def _skips(copy: Path, device: str) -> str:
    """The names of the tests to skip, below the reason."""
    names = _pytest(copy, device, "--collect-only").splitlines()
    lines = []
    for pattern, reason in SKIPS:
        found = [name for name in names if re.search(pattern, name)]
        lines += [f"# {reason}", *found]
    return "\n".join(lines) + "\n"


def _pytest(copy: Path, device: str, *options: str) -> str:
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": "ingot",
        "ARRAY_API_TESTS_VERSION": "2024.12",
        "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
        "DEVICE": device,
        "PYTHONPATH": os.pathsep.join(
            [str(ROOT), os.environ.get("PYTHONPATH", "")]
        ),
    }
    fixed = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "array_api_tests"]
    command = [sys.executable, "-m", "pytest", *fixed, *options]
    done = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True
    )
    return done.stdout


def main() -> int:
    examples = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    outcome = run(Path(sys.argv[1]), examples)
    print(outcome.text)
    print(
        f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped: "
        f"{100 * outcome.share:.2f}%"
    )
    return 0 if outcome.share >= 0.98 else 1


if __name__ == "__main__":
    sys.exit(main())
