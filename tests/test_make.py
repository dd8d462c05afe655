"""The targets of make that run tests: both halves run, and either may fail."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Stands for an environment's Python: notes the half it was asked for, and ends as told.
PYTHON = """#!/bin/sh
case "$*" in
*"-m slow"*) echo slow half; exit {slow} ;;
*) echo quick half; exit {quick} ;;
esac
"""


def _make(folder, target, quick, slow, *variables):
    python = folder / "bin/python"
    python.parent.mkdir()
    python.write_text(PYTHON.format(quick=quick, slow=slow))
    python.chmod(0o755)
    for stamp in (".with-test", ".with-test-all"):
        (folder / stamp).touch()
    command = ["make", "--no-print-directory", target, f"VENV={folder}", *variables]
    outside = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "PYTEST_ARGS")}
    done = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, timeout=60)
    halves = [line for line in done.stdout.splitlines() if line.endswith(" half")]
    return halves, done.returncode


@pytest.mark.parametrize(("quick", "slow", "given", "is_right"), [
    (0, 0, "", True),
    (1, 0, "", False),
    (0, 1, "", False),
    (0, 5, "", False),
    (5, 0, "", False),
    (0, 5, "-k blur", True),
    (5, 0, "-k blur", True),
    (5, 5, "-k blur", False),
    (1, 5, "-k blur", False),
    (5, 2, "-k blur", False),
])  # fmt: skip
def test_both_halves_run_and_either_may_fail(quick, slow, given, is_right, tmp_path):
    halves, status = _make(tmp_path, "test-all", quick, slow, f"PYTEST_ARGS={given}")
    assert halves == ["quick half", "slow half"]
    assert (status == 0) == is_right


@pytest.mark.parametrize("quick", [0, 1, 5])
def test_the_quick_half_alone(quick, tmp_path):
    halves, status = _make(tmp_path, "test", quick, 0)
    assert halves == ["quick half"]
    assert (status == 0) == (quick == 0)
