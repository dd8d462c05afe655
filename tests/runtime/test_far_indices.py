"""Indices whose arithmetic leaves 32 bits: kernels then compute indices in 64, on the CPU as in CUDA."""

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.runtime.program import compile_pipeline

x, y = hl.vars("x y")
IMAGE = hl.ImageParam(hl.UInt(8), 2, name="image")
TABLE = hl.ImageParam(hl.UInt(8), 1, name="table")
PICTURE = np.random.default_rng(1).integers(0, 256, (30, 400), dtype=np.uint8)

AROUND = {
    "repeat_edge": hl.BoundaryConditions.repeat_edge,
    "repeat_image": hl.BoundaryConditions.repeat_image,
    "mirror_image": hl.BoundaryConditions.mirror_image,
    "mirror_interior": hl.BoundaryConditions.mirror_interior,
}
FAR = {
    "far to the right": lambda f: f[x + 2147483300, y],
    "far to the left": lambda f: f[x - 2147483600, y * 5],
    "far apart": lambda f: f[x * 16777216, y],
}


def looked_up(index):
    func = hl.Func("looked_up")
    func[x, y] = IMAGE[x, y] ^ TABLE[index]
    return hl.Pipeline(func)


@pytest.mark.parametrize(
    ("factor", "other", "modulus", "width"), [(1103515245, 12345, 251, 64), (40503, 0, 257, 70000)]
)
def test_a_table_read_at_a_remainder(factor, other, modulus, width):
    at = np.arange(width) * factor + np.arange(2)[:, None] * other
    table = np.arange(modulus).astype(np.uint8)
    program = looked_up((x * factor + y * other) % modulus).compile(target="cpu")
    np.testing.assert_array_equal(program(np.zeros((2, width), np.uint8), table), table[at % modulus])


@pytest.mark.parametrize("where", FAR)
@pytest.mark.parametrize("boundary", AROUND)
def test_boundaries_hold_at_any_distance(boundary, where):
    func = hl.Func("far")
    func[x, y] = FAR[where](AROUND[boundary](IMAGE))
    module = hl.Pipeline(func).to_module()
    got, want = (compile_pipeline(module, t)(PICTURE, sizes=(400, 30)) for t in ("cpu", "reference"))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("factor", "bits"), [(3, 32), (2047, 32), (40503, 64)])
def test_only_such_indices_take_64_bits(factor, bits):
    program = looked_up((x * factor) % 251).compile(target="cpu")
    program(np.zeros((2, 70000), np.uint8), np.arange(251, dtype=np.uint8))
    assert ("typedef int idx" in program.source()) == (bits == 32)
