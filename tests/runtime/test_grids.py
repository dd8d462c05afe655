"""Grids at the limits of a GPU and beyond them: by counting launches, and on the emulated GPU."""

import shutil

import numpy as np
import pytest
from emulated_cuda import MOST_BLOCKS, emulate
from random_programs import passes, pieces

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.lowering.abi import groups_of
from tilefuse.passes.tile import Tile
from tilefuse.runtime.arrays.layouts import contiguous, planar
from tilefuse.runtime.call.boxes import CallBoxes
from tilefuse.runtime.compile.backend import find_backend
from tilefuse.runtime.compile.compiled import Compiled, Settings
from tilefuse.runtime.errors import CallError
from tilefuse.runtime.launch.grids import fits, fold_plan
from tilefuse.runtime.launch.plan import Plan, make_plan
from tilefuse.runtime.program import compile_pipeline
from tilefuse.targets.gpus import gpu

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def stencil(rank, element=None):
    """The sum of a point and its neighbour in the last dimension."""
    image = hl.ImageParam(element or hl.UInt(8), rank, "image", layout="planar" if rank == 3 else "auto")
    point = [hl.Var(f"v{d}") for d in range(rank)]
    edge, out = hl.BoundaryConditions.repeat_edge(image), hl.Func("out")
    out[tuple(point)] = edge[tuple(point)] + edge[(*point[:-1], point[-1] - 1)] * 2
    return hl.Pipeline(out)


def tile(*sizes, threads=None):
    return pieces("h200", Tile(sizes=sizes, threads=threads or (1,) * len(sizes)))


@pytest.fixture
def plan_of():
    """The plan of a call on a GPU that is not there: for sizes, x first, nothing is allocated or run."""

    def plan(pipeline, sizes, schedule) -> Plan:
        settings = Settings(find_backend("cuda:h200"), passes=schedule)
        compiled = Compiled(pipeline.to_module(), settings)
        box = tuple((0, n) for n in sizes)
        order = planar(len(sizes))
        boxes = CallBoxes({"image": box}, {"out": box}, {"image": order}, {"out": order}, {"out": box})
        picture = contiguous(sizes, order, 1)
        return make_plan(compiled.pipeline, boxes, [picture], [picture], {})

    return plan


MOST = gpu("h200").max_grid


def test_limits_are_data_of_the_target():
    assert MOST == (2**31 - 1, 65535, 65535) == MOST_BLOCKS


@pytest.mark.parametrize(
    ("sizes", "shape", "within"),
    [
        ((32, 65535 * 8), (32, 8), True),
        ((32, 65535 * 8 + 1), (32, 8), False),
        ((32, 3_000_000), (32, 8), False),
        ((32, 8, 65535), (32, 8, 1), True),
        ((32, 8, 65536), (32, 8, 1), False),
        ((32, 8, 300, 300), (32, 8, 1, 1), False),
        ((32 * 70_000, 8), (32, 8), True),
        ((2**31 - 1,), (1,), True),
        ((2**20, 2**12), (32, 8), True),
    ],
)
def test_grids_at_and_over_the_limits(plan_of, sizes, shape, within):
    plan = plan_of(stencil(len(sizes)), sizes, tile(*shape))
    assert fits(plan, MOST) == within
    assert fits(plan, None)
    [before], [after] = plan.launches, fold_plan(plan, MOST).launches
    assert after.grid == (np.prod(before.grid, dtype=object), 1, 1)
    assert fits(fold_plan(plan, MOST), MOST)


def test_points_beyond_31_bits_have_wide_indices(plan_of):
    assert plan_of(stencil(2), (2**20, 2**12), tile(32, 8)).index_bits == 64


@pytest.mark.parametrize("sizes", [(2**31,), (2**16, 2**15), (4, 2**10, 2**10, 2**10)])
def test_more_blocks_than_any_grid_has(plan_of, sizes):
    plan = plan_of(stencil(len(sizes)), sizes, tile(*(1,) * len(sizes)))
    with pytest.raises(
        CallError, match=r"group '.*': tiles of 1.* take \d+ blocks .* at most 2147483647; give .* larger"
    ):
        fold_plan(plan, MOST)


@pytest.mark.parametrize(("deep", "fits_block"), [(64, True), (65, False), (128, False)])
def test_threads_along_z(plan_of, deep, fits_block):
    schedule = tile(4, 1, deep, threads=(4, 1, deep))
    if fits_block:
        assert plan_of(stencil(3), (9, 9, 200), schedule).launches[0].threads == (4, 1, deep)
        return
    with pytest.raises(PipelineError, match=f"group 'out': {deep} threads along z, where a block has 64 at most"):
        plan_of(stencil(3), (9, 9, 200), schedule)


@pytest.mark.sweep
@needs_compiler
@pytest.mark.parametrize("most", [(2**31 - 1, 1, 1), (2**31 - 1, 4, 2)])
@pytest.mark.parametrize(
    ("sizes", "shape"),
    [((5, 300), "block_tile"), ((300, 40), "warp_tile"), ((300, 33, 5), "auto"), ((40, 9, 3, 17), "auto")],
)
def test_folded_grids_give_equal_pictures(shape, most, sizes, monkeypatch, tmp_path):
    emulate(monkeypatch, tmp_path, most_blocks=most)
    pipeline = stencil(len(sizes))
    picture = np.random.default_rng(0).integers(0, 256, sizes[::-1]).astype(np.uint8)
    program = pipeline.compile("cpu", passes=passes("h200", shape=shape))
    np.testing.assert_array_equal(program(picture), pipeline.compile("reference")(picture))
    [kernel] = program.kernels
    assert all(n <= m for n, m in zip(kernel.grid, most, strict=True))


@needs_compiler
def test_tall_pictures_run(monkeypatch, tmp_path):
    """A grid over the real limit, in blocks of one point."""
    emulate(monkeypatch, tmp_path)
    pipeline = stencil(2)
    picture = np.random.default_rng(0).integers(0, 256, (70_000, 2)).astype(np.uint8)
    program = pipeline.compile("cpu", passes=tile(1, 1))
    np.testing.assert_array_equal(program(picture), pipeline.compile("reference")(picture))
    assert program.kernels[0].grid == (140_000, 1, 1)
    # one program serves both; what fits is not folded
    np.testing.assert_array_equal(program(picture[:300]), pipeline.compile("reference")(picture[:300]))
    assert program.kernels[0].grid == (2, 300, 1)


@needs_compiler
def test_a_folded_kernel_is_launched_folded_by_all_its_groups(monkeypatch, tmp_path):
    """Two steps of which one is beyond the limits, and both have one kernel."""
    emulate(monkeypatch, tmp_path, most_blocks=(2**31 - 1, 20, 20))
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    x, y, current = hl.Var("x"), hl.Var("y"), hl.BoundaryConditions.repeat_edge(image)
    for number in range(3):
        step = hl.Func(f"step_{number}")
        step[x, y] = current[x, y - 1] + current[x, y + 1] // 2
        current = step
    pipeline = hl.Pipeline(current)
    picture = np.random.default_rng(1).integers(0, 256, (61, 9)).astype(np.uint8)
    schedule = [p for p in passes("h200", algorithm="none") if p.name != "inline-stages"]
    schedule = [Tile(sizes=(8, 3), threads=(8, 1)) if p.name == "tile" else p for p in schedule]
    program = pipeline.compile("cpu", passes=schedule)
    np.testing.assert_array_equal(program(picture), pipeline.compile("reference")(picture))
    assert {k.grid[1:] for k in program.kernels} == {(1, 1)}


def test_kernels_that_fit_are_not_folded():
    compiled = compile_pipeline(stencil(3).to_module(), "cuda:h200", passes=passes("h200"))._current()
    assert "blockIdx.y" in compiled.kernels(32).source
    text = compiled.kernels(32, folded=True).source
    assert "blockIdx.x" in text
    assert "blockIdx.y" not in text
    assert "blockIdx.z" not in text
    assert len(groups_of(compiled.pipeline)) == 1
