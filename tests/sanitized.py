"""Random programs of the language under sanitizers, which find errors that results do not show.

`memcheck(seed)` and `racecheck(seed)` start a process of their own on a GPU under NVIDIA's compute-sanitizer, for some
programs each: an access outside of an array, or two threads at one place of shared memory with nothing between them, is
a failure. `addresses(seed)` looks for accesses outside of arrays without a GPU, by GCC's address sanitizer in the
emulated CUDA and in C. Each temporary has memory of its own there, with memory around that nobody may touch.

compute-sanitizer --tool memcheck python tests/sanitized.py 70000 4     # these programs once more
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

PROGRAMS = 4
"""Of one seed: the sanitizer takes long to start."""
SECONDS = 200
FOUND = 9
"""Exit status of a process in which the sanitizer finds something."""
APART = 2048
"""Bytes between arrays."""


def memcheck(seed: int) -> Counter[str]:
    """Return accesses of global and shared memory; each array has unused memory behind it."""
    return _under(["--tool", "memcheck", "--padding", "256"], seed)


def racecheck(seed: int) -> Counter[str]:
    """Return accesses of shared memory by threads without synchronisation."""
    return _under(["--tool", "racecheck", "--racecheck-report", "all"], seed)


def addresses(seed: int) -> Counter[str]:
    """Return accesses of global and shared memory, and of the C back end, under the address sanitizer."""
    return _counted([sys.executable, str(Path(__file__)), *_programs(seed), "addresses"], preloaded())


def preloaded() -> dict[str, str]:
    """Return the environment of a process in which `Addresses` can be entered."""
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    # what Python leaves behind is no leak
    options = f"detect_leaks=0:redzone={APART}:max_redzone={APART}:exitcode={FOUND}"
    return {"LD_PRELOAD": library.stdout.strip(), "ASAN_OPTIONS": options}


def _under(options: list[str], seed: int) -> Counter[str]:
    command = ["compute-sanitizer", "--error-exitcode", str(FOUND), "--report-api-errors", "no", *options]
    return _counted([*command, sys.executable, str(Path(__file__)), *_programs(seed)], {})


def _programs(seed: int) -> tuple[str, str]:
    return str(seed * PROGRAMS), str(PROGRAMS)


def _counted(command: list[str], environment: dict[str, str]) -> Counter[str]:
    with TemporaryDirectory() as cache:  # kernels that are compiled under it come without a report on registers
        environment = os.environ | environment | {"TILEFUSE_CACHE_DIR": cache}
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
    if ended.returncode:
        raise AssertionError(f"{ended.stderr[-4000:]}\n{ended.stdout[-4000:]}\nexit status {ended.returncode}")
    counts: Counter[str] = Counter()
    for line in ended.stdout.splitlines():
        if line.startswith("{"):
            counts.update(json.loads(line))
    return counts


def check_on_gpu(seed: int) -> Counter[str]:
    """Return a program on a GPU."""
    import cupy
    from language_check import check_on_gpu

    cupy.cuda.set_allocator(None)  # each array by itself, and not a part of a pool's memory
    cupy.cuda.set_pinned_memory_allocator(None)
    return check_on_gpu(seed)


def check_addresses(seed: int) -> Counter[str]:
    """Return a program by emulated CUDA and by C, both with the address sanitizer, which is loaded."""
    from language_check import by_us, module_of, way_on_gpu
    from random_language import random_language

    from tilefuse.passes.pipeline import standard_passes

    program = random_language(seed)
    with Addresses():
        by_us(program, module_of(program), "cpu", 2 if program.params else 1)
        with emulated_addresses():
            return way_on_gpu(program, seed, "cpu", passes=standard_passes("h200"))


def emulated_addresses() -> AbstractContextManager[list[int]]:
    """Emulated CUDA with the address sanitizer: see `emulated`."""
    from emulated_cuda import emulated

    # threads have stacks of their own there, of which the sanitizer knows nothing
    return emulated(flags=("-fsanitize=address", "--param=asan-stack=0"))


class Addresses:
    """While entered, C has the address sanitizer, and the temporaries of calls lie apart in their arena.

    Between them is memory that nobody may touch.
    """

    def __init__(self) -> None:
        self._gaps: dict[int, list[tuple[int, int]]] = {}
        """Of an arena of so many bytes: first byte and size of each."""

    def __enter__(self) -> None:
        from tilefuse.runtime.cpu import c_compiler
        from tilefuse.runtime.launch import plan
        from tilefuse.runtime.launch.cpu_runner import CpuRunner

        os.environ.pop("LD_PRELOAD", None)  # compilers need none of it
        flags = c_compiler.build_flags

        def build_flags(*options: Any) -> tuple[str, ...]:
            return (*flags(*options), "-O1", "-fsanitize=address")

        self._patches = (
            mock.patch.object(c_compiler, "build_flags", build_flags),
            mock.patch.object(plan, "place", self._place),
            mock.patch.object(CpuRunner, "_take_arena", lambda runner: self._arena(runner._plan.arena_bytes)),
        )
        for patch in self._patches:
            patch.start()

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()

    def _place(self, temporaries: Sequence[Any], hosts: Sequence[Any] = ()) -> tuple[list[Any], int]:
        from tilefuse.runtime.launch.arena import ARENA_ALIGNMENT, TemporaryPlace

        if not temporaries:
            return [], 0
        places, gaps, size = [], [(0, APART)], APART
        for temporary in temporaries:
            places.append(TemporaryPlace(None, size))
            end = size + temporary.size
            size = -(-(end + APART) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
            gaps.append((end, size - end))
        size += len(self._gaps)  # so each plan's arena has a size of its own
        self._gaps[size] = gaps
        return places, size

    def _arena(self, size: int) -> Any:
        import numpy as np

        from tilefuse.runtime.launch.arena import ARENA_ALIGNMENT

        if not size:
            return None
        arena = np.full(size + ARENA_ALIGNMENT, 0xA5, np.uint8)
        start = -(-arena.ctypes.data // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
        poison = getattr(ctypes.CDLL(None), "__asan_poison_memory_region")  # a class mangles the name
        for first, count in self._gaps[size]:
            poison(ctypes.c_void_p(start + first), ctypes.c_size_t(count))
        return arena


def main(first: int, count: int, check: Callable[[int], Counter[str]]) -> None:
    """Check programs, and print the counts."""
    for seed in range(first, first + count):
        print(json.dumps(check(seed)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), check_addresses if "addresses" in sys.argv else check_on_gpu)
