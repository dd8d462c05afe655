"""Pipelines of every rank that there may be, on every back end."""

import shutil

import numpy as np
import pytest
import random_ranks
from emulated_cuda import emulate
from interior_spills import spilled_inside
from random_programs import passes

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.types import MAX_RANK
from tilefuse.passes.fit_registers import MOST_AT_BORDERS
from tilefuse.passes.tile import Tile
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, supported_archs

RANKS = range(1, MAX_RANK + 1)
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def chain(rank):
    """Two stages that read beside their points in the first and the last dimension."""
    point = [hl.Var(f"v{d}") for d in range(rank)]
    image = hl.ImageParam(hl.UInt(8), rank, "image", layout="planar" if rank == 3 else "auto")
    edge, first, second = hl.BoundaryConditions.repeat_edge(image), hl.Func("first"), hl.Func("second")
    first[tuple(point)] = hl.cast(hl.UInt(16), edge[(*point[:-1], point[-1] - 1)]) + edge[(point[0] + 1, *point[1:])]
    second[tuple(point)] = first[tuple(point)] + first[(point[0] - 1, *point[1:])] * 2
    return hl.Pipeline(second)


def picture(rank):
    shape = [3, 2, 5, 2, 1, 2, 3, 9][-rank:]
    return np.random.default_rng(rank).integers(0, 256, shape).astype(np.uint8)


@needs_cc
@pytest.mark.parametrize("rank", RANKS)
def test_on_a_cpu(rank):
    a = picture(rank)
    np.testing.assert_array_equal(chain(rank).compile("cpu")(a), chain(rank).compile("reference")(a))


@pytest.mark.sweep
@needs_gxx
@pytest.mark.parametrize("rank", RANKS)
def test_on_the_emulated_gpu(rank, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    a = picture(rank)
    program = chain(rank).compile("cpu", passes=passes("h200", algorithm="all"))
    np.testing.assert_array_equal(program(a), chain(rank).compile("reference")(a))
    assert misaligned == [0] * len(program.kernels)


@pytest.mark.sweep
@pytest.mark.parametrize("rank", RANKS)
def test_compiled_for_a_gpu(rank):
    try:
        supported_archs()
    except NvrtcNotFound as error:
        pytest.skip(str(error))
    program = chain(rank).compile("cuda:h200")
    built = program._current().kernels(32, "sm_90")
    spilled = [name for name, bytes in built.cubin.spill_bytes.items() if bytes]
    assert max(built.cubin.spill_bytes.values()) <= MOST_AT_BORDERS
    assert {spilled_inside(built.module, name, "sm_90") for name in spilled} <= {0}
    assert max(np.prod(k.tile[2:]) for k in program.kernels) <= 16, "points that one thread computes for nothing"


def test_more_dimensions_are_an_error():
    with pytest.raises(PipelineError, match="ImageParam 'image' has 0 to 8 dimensions, not 9"):
        chain(MAX_RANK + 1)
    point = [hl.Var(f"v{d}") for d in range(MAX_RANK + 1)]
    with pytest.raises(PipelineError, match="Func 'f' has 9 dimensions; at most 8 are possible"):
        hl.Func("f")[tuple(point)] = hl.Expr(1)


def planes():
    x, y, c, image, out = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.ImageParam(hl.UInt(8), 3, "image"), hl.Func("out")
    edge = hl.BoundaryConditions.repeat_edge(image)
    out[x, y, c] = edge[x, y, c] + edge[x, y - 1, c]
    return hl.Pipeline(out.bound(c, 0, 3))


def warps(depth):
    tile = Tile("h200", shape="warp_tile", sizes=(0, 0, depth), threads=(32, 4, 1), vector=4, more="rows = 4")
    return [tile if p.name == "tile" else p for p in passes("h200", algorithm="all")]


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_a_warp_tile_that_has_not_all_planes_is_refused(depth):
    """It computed all of them in each block along z."""
    message = rf"group 'out': a warp tile computes all 3 points of dimension 2, so its size there is 3, not {depth}"
    with pytest.raises(PipelineError, match=message):
        planes().compile("cuda:h200", passes=warps(depth))


def test_a_warp_tile_of_all_planes():
    assert planes().compile("cuda:h200", passes=warps(3)).kernels[0].tile[2] == 3


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(8))
def test_random_ranks(seed, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    random_ranks.check(seed)


def test_all_ranks_are_drawn():
    cases = [random_ranks.random_ranks(seed) for seed in range(60)]
    assert {a.ndim for case in cases for a in case.inputs.values()} == set(RANKS)
    assert {len(size) for case in cases for size in case.sizes.values()} == set(RANKS)


@pytest.mark.sweep
@needs_gxx
@pytest.mark.parametrize("seed", range(8))
def test_random_warp_tiles_of_any_rank(seed, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    assert random_ranks.check_warps(seed)
