"""Run scripts written for Halide's Python bindings as they are, with tilefuse as their `halide`: a table of which run.

    python tests/run_halide_scripts.py FOLDER [FOLDER ...] [--module halide] [--only lesson_0] [--limit 600]

Each script runs in a process of its own, in an empty folder, with nothing changed in it but what its `import halide`
gives. The table is Markdown. `--module halide` runs them with Halide itself.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

_RUN = """
import importlib, os, runpy, sys
module, script = sys.argv[1:]
sys.argv = [script]
sys.path[0] = os.path.dirname(script)
if module != "halide":
    sys.modules["halide"] = importlib.import_module(module)
    sys.modules["halide.imageio"] = importlib.import_module(module + ".imageio")
runpy.run_path(script, run_name="__main__")
"""


class Outcome(NamedTuple):
    """Result of one script."""

    script: str
    runs: bool
    seconds: float
    error: str
    """The last line that it says, if it does not run."""


def run(script: Path, module: str, limit: float) -> Outcome:
    """Run one script with a module as its `halide`."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", _RUN, module, str(script.resolve())],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(script.name, False, limit, f"takes more than {limit:g} s")
    said = done.stderr.strip().splitlines()
    error = said[-1] if said else f"exit status {done.returncode}"
    return Outcome(script.name, done.returncode == 0, time.perf_counter() - start, error if done.returncode else "")


def main() -> None:
    """Run the scripts of folders, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--module", default="tilefuse", help="what `import halide` gives")
    parser.add_argument("--only", default="", help="scripts whose name has this in it")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a script may take")
    given = parser.parse_args()
    scripts = [s for folder in given.folders for s in sorted(folder.glob("*.py")) if given.only in s.name]
    print("| script | runs | s | why not |\n|---|---|---|---|", flush=True)
    good = 0
    for script in scripts:
        outcome = run(script, given.module, given.limit)
        good += outcome.runs
        error = outcome.error.replace("|", "\\|")[:160]
        row = (f"`{outcome.script}`", "yes" if outcome.runs else "no", f"{outcome.seconds:.1f}", error)
        print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{good} of {len(scripts)} run with {given.module}.")


if __name__ == "__main__":
    main()
