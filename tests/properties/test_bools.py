"""Bools as bytes of memory: any byte but 0 is true, on every back end; results are 0 or 1."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate
from random_programs import passes

import tilefuse as hl
from tilefuse.runtime.program import compile_pipeline

x, y = hl.vars("x y")

BYTES = np.random.default_rng(5).choice(np.array([0, 1, 2, 3, 128, 255], np.uint8), (37, 330))
"""What NumPy takes for bools under `view(bool)`, and torch and DLPack for theirs."""


def of(name, value):
    f = hl.Func(name)
    f[x, y] = value
    return f


def pipelines():
    image = hl.ImageParam(hl.Bool(), 2, name="image")
    b = hl.BoundaryConditions.repeat_edge(image)
    outside = hl.BoundaryConditions.constant_exterior(image, hl.cast(hl.Bool(), 1))
    return [
        of("copy", image[x, y]),
        of("edge", b[x, y]),
        of("shifted", b[x - 1, y + 1]),
        of("outside", outside[x - 2, y]),
        of("half", b[2 * x + 1, y]),
        of("number", hl.u8(b[x, y]) + 2 * hl.u8(b[x + 1, y])),
        of("float", hl.f32(b[x, y]) - hl.f32(b[x, y + 1])),
        of("not_", ~b[x, y]),
        of("and_", b[x, y] & b[x + 1, y]),
        of("or_", b[x, y] | b[x, y + 2]),
        of("equal", b[x, y] == b[x + 1, y]),
        of("different", b[x - 1, y] != b[x, y]),
        of("chosen", hl.select(b[x, y], b[x + 1, y], b[x, y + 1])),
        of("count", count(b)),
        stages(b),
    ]


def count(b):
    r = hl.RDom([(-1, 3), (-1, 3)])
    return hl.sum(hl.u8(b[x + r.x, y + r.y]))


def stages(b):
    first, second = hl.funcs("first second")
    first[x, y] = b[x, y] & b[x, y + 1]
    second[x, y] = first[x - 1, y] | first[x + 1, y]
    return second


def assert_right(program, funcs, image):
    """All outputs of `program`, byte for byte those of the evaluator for true and false."""
    sizes = {func.name(): (301, 29) for func in funcs}
    found = program(image, sizes=sizes)
    right = hl.Pipeline(funcs).compile("reference")(image.view(np.uint8).astype(bool), sizes=sizes)
    for func, got, wanted in zip(funcs, found, right, strict=True):
        got, wanted = (a.view(np.uint8) if a.dtype == bool else a for a in (got, wanted))
        np.testing.assert_array_equal(got, wanted, err_msg=func.name())


VIEWS = (BYTES.view(bool), BYTES.view(bool)[3:, 5:-2])


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_any_byte_but_0_is_true(target):
    funcs = pipelines()
    program = hl.Pipeline(funcs).compile(target)
    for image in VIEWS:
        assert_right(program, funcs, image)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("shape", ["auto", "block_tile", "warp_tile", "warp_exchange"])
def test_any_byte_but_0_is_true_on_an_emulated_gpu(shape, monkeypatch, tmp_path):
    funcs = pipelines()
    emulate(monkeypatch, tmp_path)
    program = compile_pipeline(hl.Pipeline(funcs).to_module(), "cpu", passes=passes("h200", shape=shape))
    for image in VIEWS:
        assert_right(program, funcs, image)
