"""GCC and clang vectorise every loop over columns of the C of all examples and of random pipelines.

A scalar one takes several times as long. REASONS lists those that stay scalar.
"""

import re
import shutil
import subprocess

import pytest
from random_pipelines import random_pipeline
from small import SMALL
from variants import QUICK

import tilefuse as hl
from tilefuse.lowering.printers import print_c
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
from tilefuse.runtime.cpu.c_compiler import _CLANG_FLAGS, _FLAGS, _OPTIONAL_FLAGS, _accepted
from tilefuse.runtime.cpu.wheel_compiler import zig_command

REASONS = {
    r"\bpowf\(": "a function of the C library",
    r"(?s)\w+_ == \d+ \? .* \w+_ == \d+ \? ": "a choice by plane, alike for all columns, is no mask to GCC",
    r"unsigned (char|short) v_\w* = \w+\[[^;]*max_idx\(min_idx\([^;]*x_": "GCC gathers words and longer ones alone",
    r"(?s)(\w+\[[^=;]*\]).* \1 = ": "what is updated at places that data decide may be one place",
    r" % | / \(\w+ \? 1 : ": "there is no division of vectors of integers",
    r"\(x_ >> 1\)": "every second column within a block tile: strips take such rows",
    r"\w+\[[^][=]+\]\[\w+\] = -?0\.0f;": "a few vectors of zeros, which become no loop, or one call of memset",
    r"< \d\d; \+\+\w+\) \{\n +\w+\[[^=;]+\] = -?0\.0f;": "the same, in a strip of lines",
}
"""Loops over columns that GCC leaves scalar, by a pattern in their text, and why."""

CLANG_REASONS = {
    r"; \w+ < (\d|[1-5]\d|6[0-4]); ": "few rounds of a known number: written out, neighbours joined",
    r"; \w+ < \d+; \+\+\w+\) \{\n +\w+\[\w+\] = 0;\n +\}": "zeros of a known number: a call of memset",
}
"""The same of clang, which needs none of those of GCC."""
CLANG = ("clang",) if shutil.which("clang") else zig_command()
NAMES = [*QUICK, *SMALL]

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="GCC says which loops it vectorises")
needs_clang = pytest.mark.skipif(CLANG is None, reason="clang, also the one of ziglang, says which loops it vectorises")


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


def lines_of_clang(text, folder):
    """Lines at which clang says so: of the pragma or the loop. It takes no notice of flags of GCC."""
    source = folder / "kernels.c"
    source.write_text(text + "\n")
    of_clang = _accepted(tuple(CLANG), *_CLANG_FLAGS)
    flags = [*_FLAGS, *of_clang, "-march=native", "-mprefer-vector-width=512", "-fopenmp-simd", "-Rpass=loop-vectorize"]
    command = [*CLANG, *flags, "-o", folder / "kernels.so", source, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {int(n) for n in re.findall(r":(\d+):\d+: \w+: vectorized loop", done.stderr)}


def scalar_loops(text, vectorised, reasons=REASONS):
    """The texts of loops over columns with none of the lines that are vectorised, for none of the reasons."""
    lines = text.splitlines()
    # a pragma stands above its loop
    loops = [loop for loop in simd_loops(text) if not vectorised.intersection(range(loop[0] - 1, loop[1] + 1))]
    found = ["\n".join(lines[first - 1 : last]) for first, last in loops]
    return [loop for loop in found if not any(re.search(pattern, loop) for pattern in reasons)]


CPU = "emerald_rapids"
"""Row for which random pipelines are scheduled: one machine's schedules are not another's."""


def random_text(seed):
    passes = [*standard_passes(CPU), *lowering_passes(warps=False)]
    return print_c(run_passes(random_pipeline(seed, stages=5).module, passes))


@needs_gcc
@pytest.mark.parametrize("name", NAMES)
def test_every_loop_over_columns_is_vectorised(name, tmp_path):
    text = c_text(name)
    assert list(simd_loops(text)) or name == "mat_mul"
    assert scalar_loops(text, vectorised_lines(text, tmp_path)) == []


def update_of(shape):
    """A pipeline whose update has this shape, of 2560 lines of 1536 points."""
    x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")
    image, bytes_ = hl.ImageParam(hl.Float(32), 2, "image"), hl.ImageParam(hl.UInt(8), 2, "bytes")
    columns, rows = hl.RDom([(0, 1536)]), hl.RDom([(1, 2559)])
    f = hl.Func("f")
    if shape == "sums of rows":
        f[y] = 0.0
        f[y] += image[columns.x, y]
    elif shape == "sums of columns":
        f[x] = 0.0
        f[x] += image[x, rows.x]
    elif shape == "histogram":
        points = hl.RDom([(0, 1536), (0, 2560)])
        f[i] = hl.u32(0)
        f[hl.cast(hl.Int(32), bytes_[points.x, points.y])] += hl.u32(1)
        f.bound(i, 0, 256)
    elif shape == "lines along y":
        f[x, y] = 0.0
        f[x, rows.x] = f[x, rows.x - 1] + image[x, rows.x]
    elif shape == "lines along x":
        f[x, y] = 0.0
        f[rows.x, y] = f[rows.x - 1, y] + image[rows.x, y]
    elif shape == "matrix product":
        f[x, y] = 0.0
        f[x, y] += image[columns.x, y] * image[x, columns.x]
    return hl.Pipeline(f)


MODELS = {
    "sums of rows": "reduce",
    "sums of columns": "reduce",
    "histogram": "scatter",
    "lines along y": "scan",
    "lines along x": "scan",
    "matrix product": "gemm",
}


@needs_gcc
@pytest.mark.parametrize("shape", MODELS)
@pytest.mark.parametrize("target", ["zen4", "emerald_rapids"])
def test_every_shape_of_update_is_shared_out_and_has_vectors(shape, target, tmp_path):
    """Vectors, or lines along x side by side, in a loop over blocks that all threads share."""
    text = print_c(run_passes(update_of(shape).to_module(), [*standard_passes(target), *lowering_passes(warps=False)]))
    [kernel] = re.findall(rf"\n// f_update: #schedule\.{MODELS[shape]}<.*\n(?:.+\n)*", text)
    assert "#pragma omp parallel for" in kernel
    if shape == "lines along x":
        assert "width = 4" in kernel
    elif shape == "matrix product":
        assert "load_f32x" in kernel
    else:
        assert "#pragma omp simd" in kernel
    assert scalar_loops(text, vectorised_lines(text, tmp_path)) == []


TYPES = {
    **{f"u{bits}": hl.UInt(bits) for bits in (8, 16, 32, 64)},
    **{f"i{bits}": hl.Int(bits) for bits in (8, 16, 32, 64)},
    **{f"f{bits}": hl.Float(bits) for bits in (16, 32, 64)},
    "bf16": hl.BFloat(16),
    "bool": hl.Bool(),
}


def stencil_of(type):
    """Rows beside each other, then columns, of one element type, with comparisons and choices."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(type, 2, "image")
    mirrored = hl.BoundaryConditions.mirror_image(image)
    column, out = hl.Func("column"), hl.Func("out")
    if type == hl.Bool():
        column[x, y] = mirrored[x, y - 1] | mirrored[x, y + 1]
        both = column[x - 1, y] & column[x + 1, y]
        out[x, y] = hl.select(both, column[x, y] ^ image[x, y], mirrored[x - 1, y])
    else:
        column[x, y] = mirrored[x, y - 1] + mirrored[x, y] * hl.cast(type, 2) + mirrored[x, y + 1]
        near, other = hl.clamp(column[x - 1, y], hl.cast(type, 3), hl.cast(type, 90)), column[x + 1, y]
        out[x, y] = hl.select(near > other, near - column[x, y], hl.min(other, image[x, y]))
    return print_c(run_passes(hl.Pipeline(out).to_module(), [*standard_passes("cpu"), *lowering_passes(warps=False)]))


@needs_gcc
@pytest.mark.parametrize("type", TYPES)
def test_every_type_has_vectors(type, tmp_path):
    text = stencil_of(TYPES[type])
    assert list(simd_loops(text))
    assert scalar_loops(text, vectorised_lines(text, tmp_path)) == []


@needs_clang
@pytest.mark.parametrize("type", TYPES)
def test_clang_has_vectors_of_every_type(type, tmp_path):
    text = stencil_of(TYPES[type])
    assert scalar_loops(text, lines_of_clang(text, tmp_path), CLANG_REASONS) == []


@needs_clang
@pytest.mark.parametrize("name", NAMES)
def test_clang_vectorises_every_loop_over_columns(name, tmp_path):
    text = c_text(name)
    assert scalar_loops(text, lines_of_clang(text, tmp_path), CLANG_REASONS) == []


@needs_gcc
@pytest.mark.parametrize("seed", range(8))
def test_those_of_random_pipelines_are(seed, tmp_path):
    text = random_text(seed)
    assert scalar_loops(text, vectorised_lines(text, tmp_path)) == []


@needs_clang
@pytest.mark.parametrize("seed", range(8))
def test_clang_vectorises_those_of_random_pipelines(seed, tmp_path):
    text = random_text(seed)
    assert scalar_loops(text, lines_of_clang(text, tmp_path), CLANG_REASONS) == []


@pytest.mark.parametrize(
    "lines",
    [pytest.param(vectorised_lines, marks=needs_gcc), pytest.param(lines_of_clang, marks=needs_clang)],
)
def test_a_scalar_loop_is_found(lines, tmp_path):
    # a statement that compilers know nothing of
    text = (
        "void prefix(int n, int* restrict a) {\n  #pragma omp simd\n  for (int i = 1; i < n; ++i) {\n"
        '    if (a[i]) __asm__ volatile("");\n    a[i] += 1;\n  }\n}'
    )
    [loop] = simd_loops(text)
    assert not lines(text, tmp_path).intersection(range(loop[0] - 1, loop[1] + 1))
