"""Blocks that a GPU starts one after the other: predicted times, and the tiles chosen where that takes longest."""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.analysis.machine import machine
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.block_tile.features import BlockFeatures
from tilefuse.execution.features import START_US, STORED_TAIL, predict, with_starts
from tilefuse.execution.warp_tile.features import WarpFeatures
from tilefuse.passes.pipeline import run_passes, standard_passes

ON = machine("h200")
COPY = WarpFeatures(
    blocks=65536, at_border=0.0, warps=4, resident_blocks=16, instructions=40.0, code=40.0, exchanges=0.0, barriers=0,
    own_bytes=64.0, other_bytes=0.0, stored_bytes=32.0, loads=True, loaded_bytes=4.0, touched_bytes=4.0,
    stored_again=0.0, guarded=False, row_bytes=128, rows=4,
)  # fmt: skip
ROWS = BlockFeatures(blocks=65536, bytes=256.0, instructions=1024.0, resident_threads=2048)
TYPES = {"u8": hl.UInt(8), "u16": hl.UInt(16), "f32": hl.Float(32), "f64": hl.Float(64)}
DTYPES = {"u8": np.uint8, "u16": np.uint16, "f32": np.float32, "f64": np.float64}
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.mark.parametrize("small", [COPY, ROWS])
def test_a_kernel_of_small_blocks_takes_as_long_as_their_starts(small):
    starts = small.blocks * START_US
    assert starts < predict(small, ON) < starts + 6.0
    half = replace(small, blocks=small.blocks // 2)
    assert predict(small, ON) - predict(half, ON) == pytest.approx(starts / 2, rel=0.05)


def test_starts_hide_behind_longer_work_where_blocks_wait_for_memory():
    assert with_starts(100.0, 8000, True) == pytest.approx(100.0)
    assert with_starts(100.0, 8000, False) == pytest.approx(100.0, rel=1e-3)
    even = with_starts(10.0, 8000, True), with_starts(10.0, 8000, False)
    assert even == (pytest.approx(10.0, rel=1e-5), pytest.approx(10.0 * 2 ** (1 / 3)))
    assert with_starts(9.0, 8000, True) < with_starts(9.5, 8000, True), "of equal starts the less work"


def test_the_last_stores_take_longer_the_more_a_thread_stores():
    """Of kernels that take what their arithmetic takes."""
    less = replace(COPY, blocks=1024, instructions=4000.0, loads=False, loaded_bytes=0.0, touched_bytes=0.0)
    more = replace(less, stored_bytes=less.stored_bytes + 32 * 64.0)
    longer = predict(more, ON) - predict(less, ON)
    assert STORED_TAIL * 64 <= longer < 3 * STORED_TAIL * 64


def chosen(pipeline, extent):
    """Return the schedule of the only group, and its blocks."""
    passes = standard_passes("h200", extent=extent)
    module = run_passes(pipeline.to_module(), passes[: [p.name for p in passes].index("tile") + 1])
    (group,) = (op for op in module.walk() if isinstance(op, GroupOp))
    tile = group.schedule.tile_sizes
    return group.schedule, math.prod(-(-n // t) for n, t in zip(extent, tile, strict=True))


def constant(type, rank):
    f = hl.Func("f")
    f[tuple(hl.Var(f"v{d}") for d in range(rank))] = hl.cast(TYPES[type], 7)
    return hl.Pipeline(f)


@pytest.mark.parametrize("extent", [(4096, 4096), (2560, 1536)])
@pytest.mark.parametrize(("type", "bytes"), [("f32", 4), ("u8", 1)])
def test_constants_are_stored_in_blocks_that_are_neither_small_nor_tall(type, bytes, extent):
    """Measured on an H200: tiles of so much take 1.00 to 1.02 times the fastest one, others up to 9 times."""
    schedule, blocks = chosen(constant(type, 2), extent)
    of_thread = math.prod(schedule.tile_sizes) * bytes / math.prod(schedule.thread_counts)
    assert 32 <= of_thread <= 64
    assert blocks * START_US < 0.7 * math.prod(extent) * bytes / ON.bytes_per_us + 1.0


def doubled(type):
    x, image, f = hl.Var("x"), hl.ImageParam(TYPES[type], 1, "image"), hl.Func("f")
    f[x] = image[x] + image[x + 1]
    return hl.Pipeline(f)


@pytest.mark.parametrize(("type", "bytes"), [("u8", 1), ("u16", 2), ("f32", 4), ("f64", 8)])
def test_one_dimension(type, bytes):
    """Blocks of so many bytes that their starts hide, if they can, and pieces of up to 16 bytes."""
    extent = (1 << 24,)
    schedule, blocks = chosen(doubled(type), extent)
    assert schedule.vector_width * bytes == (8 if type == "u8" else 16)
    traffic = 2 * extent[0] * bytes / ON.bytes_per_us
    assert blocks * START_US < 1.35 * traffic
    stored, blocks = chosen(constant(type, 1), extent)
    assert blocks * START_US < 1.35 * traffic / 2
    assert math.prod(stored.tile_sizes) * bytes / math.prod(stored.thread_counts) <= 32


@pytest.mark.sweep
@needs_gxx
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize(("size", "low"), [(20011, 3), (8192, 0), (7, 1)])
def test_values_in_one_dimension(type, size, low, monkeypatch, tmp_path):
    """Of sizes and first points that are no multiples of a vector, and of arrays that lie anywhere."""
    misaligned = emulate(monkeypatch, tmp_path)
    passes = standard_passes("h200", extent=(1 << 24,))
    bits = np.random.default_rng(5).integers(0, 200, size + low + 2)
    image = bits.astype(DTYPES[type])[1:]
    for pipeline, inputs in ((doubled(type), (image,)), (constant(type, 1), ())):
        program = pipeline.compile("cpu", passes=passes)
        box = {"mins": {"f": (low,)}, "sizes": [size - 2]}
        np.testing.assert_array_equal(program(*inputs, **box), pipeline.compile("reference")(*inputs, **box))
    assert not any(misaligned)
