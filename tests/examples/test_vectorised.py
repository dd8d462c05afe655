"""GCC vectorises every loop over columns of the C of all examples and of random pipelines.

A scalar one takes several times as long. REASONS lists those that stay scalar.
"""

import re
import shutil
import subprocess

import pytest
from random_pipelines import random_pipeline
from small import SMALL
from variants import QUICK

from tilefuse.lowering.printers import print_c
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
from tilefuse.runtime.cpu.c_compiler import _FLAGS, _OPTIONAL_FLAGS

REASONS = {
    r"\bpowf\(": "a function of the C library",
    r"(?s)\w+_ == \d+ \? .* \w+_ == \d+ \? ": "a choice by plane, alike for all columns, is no mask to GCC",
    r"unsigned (char|short) v_\w* = \w+\[[^;]*max_idx\(min_idx\([^;]*x_": "GCC gathers words and longer ones alone",
    r"(?s)(\w+\[[^=;]*\]).* \1 = ": "what is updated at places that data decide may be one place",
    r" % | / \(\w+ \? 1 : ": "there is no division of vectors of integers",
    r"\(x_ >> 1\)": "every second column within a block tile: strips take such rows",
    r"\w+\[\w+\]\[\w+\] = -?0\.0f;": "a few vectors of zeros, which become no loop",
}
"""Loops over columns that GCC leaves scalar, by a pattern in their text, and why."""

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="GCC says which loops it vectorises")


def c_text(name):
    passes = [*standard_passes("cpu"), *lowering_passes(warps=False)]
    return print_c(run_passes((QUICK | SMALL)[name].pipeline().to_module(), passes))


def simd_loops(text):
    """(first line, last line) of each loop that is marked for it."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.lstrip() == "#pragma omp simd":
            end = line.replace("#pragma omp simd", "}")
            yield number + 1, next(n for n in range(number + 1, len(lines) + 1) if lines[n - 1] == end)


def vectorised_lines(text, folder):
    """Lines at which GCC says that it has vectorised a loop: of one of its statements, as a rule the first."""
    source = folder / "kernels.c"
    source.write_text(text + "\n")
    flags = [*_FLAGS, *_OPTIONAL_FLAGS, "-fopenmp", "-fopt-info-vec-optimized", "-fopt-info-loop-optimized"]
    command = ["gcc", *flags, "-o", folder / "kernels.so", source, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # a distributed one is a call of memset or memcpy
    found = re.findall(r":(\d+):\d+: optimized: +(?:loop vectorized|Loop \d+ distributed)", done.stderr)
    return {int(n) for n in found}


def scalar_loops(text, folder):
    """The texts of loops over columns that are scalar for none of REASONS."""
    lines, vectorised = text.splitlines(), vectorised_lines(text, folder)
    loops = [loop for loop in simd_loops(text) if not vectorised.intersection(range(loop[0], loop[1] + 1))]
    found = ["\n".join(lines[first - 1 : last]) for first, last in loops]
    return [loop for loop in found if not any(re.search(pattern, loop) for pattern in REASONS)]


@pytest.mark.parametrize("name", QUICK | SMALL)
def test_every_loop_over_columns_is_vectorised(name, tmp_path):
    text = c_text(name)
    assert list(simd_loops(text)) or name == "mat_mul"
    assert scalar_loops(text, tmp_path) == []


@pytest.mark.parametrize("seed", range(8))
def test_those_of_random_pipelines_are(seed, tmp_path):
    passes = [*standard_passes("cpu"), *lowering_passes(warps=False)]
    text = print_c(run_passes(random_pipeline(seed, stages=5).module, passes))
    assert scalar_loops(text, tmp_path) == []


def test_a_scalar_loop_is_found(tmp_path):
    # a statement that GCC knows nothing of
    text = (
        "void prefix(int n, int* restrict a) {\n  #pragma omp simd\n  for (int i = 1; i < n; ++i) {\n"
        '    if (a[i]) __asm__ volatile("");\n    a[i] += 1;\n  }\n}'
    )
    [loop] = simd_loops(text)
    assert not vectorised_lines(text, tmp_path).intersection(range(loop[0], loop[1] + 1))
