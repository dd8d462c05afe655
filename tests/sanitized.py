"""Random programs of the language on a GPU under NVIDIA's compute-sanitizer, which finds what results do not show.

`memcheck(seed)` and `racecheck(seed)` start a process of their own under it, for some programs each: an access outside
of an array, or two threads at one place of shared memory with nothing between them, is a failure.

compute-sanitizer --tool memcheck python tests/sanitized.py 70000 4     # these seeds once more
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

PROGRAMS = 4
"""Of one seed: the sanitizer takes long to start."""
SECONDS = 200
FOUND = 9
"""Exit status of a process in which the sanitizer finds something."""


def memcheck(seed: int) -> Counter[str]:
    """Accesses of global and shared memory; each array has unused memory behind it."""
    return _under(["--tool", "memcheck", "--padding", "256"], seed)


def racecheck(seed: int) -> Counter[str]:
    """Accesses of shared memory by threads that do not wait for one another."""
    return _under(["--tool", "racecheck", "--racecheck-report", "all"], seed)


def _under(options: list[str], seed: int) -> Counter[str]:
    command = ["compute-sanitizer", "--error-exitcode", str(FOUND), "--report-api-errors", "no", *options]
    command += [sys.executable, str(Path(__file__)), str(seed * PROGRAMS), str(PROGRAMS)]
    with TemporaryDirectory() as cache:  # kernels that are compiled under it come without a report on registers
        environment = os.environ | {"TILEFUSE_CACHE_DIR": cache}
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
    if ended.returncode:
        raise AssertionError(f"{ended.stderr[-4000:]}\n{ended.stdout[-4000:]}\nexit status {ended.returncode}")
    counts: Counter[str] = Counter()
    for line in ended.stdout.splitlines():
        if line.startswith("{"):
            counts.update(json.loads(line))
    return counts


def main(first: int, count: int) -> None:
    """Check programs, and print what was counted."""
    import cupy
    from language_check import check_on_gpu

    cupy.cuda.set_allocator(None)  # each array by itself, and not a part of a pool's memory
    cupy.cuda.set_pinned_memory_allocator(None)
    for seed in range(first, first + count):
        print(json.dumps(check_on_gpu(seed)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
