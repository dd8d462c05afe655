"""GCC vectorises every loop over columns of the examples' C: a scalar one takes several times as long."""

import re
import shutil
import subprocess

import pytest
from small import SMALL
from variants import QUICK

from tilefuse.lowering.printers import print_c
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
from tilefuse.runtime.cpu.c_compiler import _FLAGS, _OPTIONAL_FLAGS

NAMES = (
    "blur_f32", "blur_u16", "blur_u8", "binomial", "unsharp", "harris", "canny", "stencil9",
    pytest.param("canny_linked", marks=pytest.mark.slow),
    pytest.param("pyramid_blend", marks=pytest.mark.slow),
)  # fmt: skip

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
    flags = [*_FLAGS, *_OPTIONAL_FLAGS, "-fopenmp", "-fopt-info-vec-optimized"]
    command = ["gcc", *flags, "-o", folder / "kernels.so", source, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {int(n) for n in re.findall(r":(\d+):\d+: optimized: +loop vectorized", done.stderr)}


@pytest.mark.parametrize("name", NAMES)
def test_every_loop_over_columns_is_vectorised(name, tmp_path):
    text = c_text(name)
    loops, lines = list(simd_loops(text)), vectorised_lines(text, tmp_path)
    assert loops
    assert [loop for loop in loops if not lines.intersection(range(loop[0], loop[1] + 1))] == []


def test_a_scalar_loop_is_found(tmp_path):
    # a statement that GCC knows nothing of
    text = (
        "void prefix(int n, int* restrict a) {\n  #pragma omp simd\n  for (int i = 1; i < n; ++i) {\n"
        '    if (a[i]) __asm__ volatile("");\n    a[i] += 1;\n  }\n}'
    )
    [loop] = simd_loops(text)
    assert not vectorised_lines(text, tmp_path).intersection(range(loop[0], loop[1] + 1))
