"""Stages of block tiles that only copy an input to shared memory: by asynchronous copies, bit for bit what is meant."""

import numpy as np
import pytest
from random_programs import pieces

import tilefuse as hl
from tilefuse.passes.tile import Tile
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, compile_report, supported_archs

TILES = {
    "points": Tile(sizes=(16, 8), threads=(8, 4)),
    "vectors": Tile(sizes=(16, 8), threads=(4, 4), vector=4),
    "unrolled": Tile(sizes=(64, 8), threads=(8, 4), vector=4, more="unroll = [1, 2]"),
}
TYPES = {"u8": hl.UInt(8), "u16": hl.UInt(16), "f32": hl.Float(32), "f64": hl.Float(64)}
SIZES = ((1, 1), (7, 5), (40, 96), (67, 129))
"""Of pictures, (height, width): most tiles at borders, rows of whole vectors, rows of none."""


def copied(kind: str) -> hl.Pipeline:
    """A stencil over a copy that is 0 outside of a box, so that the copy is a stage of its own."""
    x, y = hl.vars("x y")
    image = hl.ImageParam(TYPES[kind], 2, "image")
    copy, sums = hl.Func("copy"), hl.Func("sums")
    copy[x, y] = image[x, y]
    around = hl.BoundaryConditions.constant_exterior(
        copy, hl.cast(TYPES[kind], 0), [(0, image.width()), (0, image.height())]
    )
    sums[x, y] = around[x - 2, y] + around[x + 2, y + 2]
    return hl.Pipeline(sums)


def picture(kind: str, height: int, width: int) -> np.ndarray:
    dtype = {"u8": np.uint8, "u16": np.uint16, "f32": np.float32, "f64": np.float64}[kind]
    return np.random.default_rng(height).integers(0, 200, (height, width)).astype(dtype)


def check(target: str, tile: str, kind: str, array=np.asarray, back=np.asarray) -> None:
    program = copied(kind).compile(target, passes=pieces("h200", TILES[tile]))
    meaning = copied(kind).compile("reference")
    for size in SIZES:
        given = picture(kind, *size)
        np.testing.assert_array_equal(back(program(array(given))), meaning(given), err_msg=f"{kind}, {size}")
    assert "copy_async_" in program.source()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("tile", TILES)
def test_on_cpu(tile, kind):
    check("cpu", tile, kind)


@pytest.mark.parametrize("arch", ["sm_90", "sm_80", "sm_75"])
def test_nvrtc(arch):
    """Architectures before sm_80 have no such copies."""
    try:
        supported_archs()
    except NvrtcNotFound as error:
        pytest.skip(str(error))
    program = copied("f32").compile("cuda:h200", passes=pieces("h200", TILES["vectors"]))
    assert "copy_async_16_l2(" in program.source()
    assert set(compile_report(program.source(), arch).spill_bytes.values()) == {0}


@pytest.mark.gpu
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("tile", TILES)
def test_on_gpu(tile, kind):
    import cupy

    check("cuda", tile, kind, cupy.asarray, cupy.asnumpy)
