"""The budget of written-out code: `fix` makes tiles smaller for it, and lets a pipeline compile where none is left."""

import math

import tilefuse as hl
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.written_out import MOST_WRITTEN_OUT
from tilefuse.passes.pipeline import run_passes, standard_passes


def test_a_schedule_that_the_search_chose_never_fails_for_its_length(monkeypatch):
    monkeypatch.setattr("tilefuse.execution.code_length.MOST_WRITTEN_OUT", 1)
    x, y = hl.Var("x"), hl.Var("y")
    current = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image"))
    for i in range(4):
        stage = hl.Func(f"stage_{i}")
        stage[x, y] = current[x - 1, y] + current[x, y + 1] * 0.5
        current = stage
    module = run_passes(hl.Pipeline(current).to_module(), standard_passes("h200"))
    assert "occupancy" in str(module)


def test_the_address_of_a_read_from_anywhere_is_code():
    # 53 reads of a table of columns for each point: nvcc took more than eight minutes for 24 points of a thread.
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image, heights = hl.ImageParam(hl.Float(32), 4, "image"), hl.ImageParam(hl.Int(32), 1, "heights")
    taps = hl.RDom([(-26, 53)])
    largest = hl.Func("largest")
    largest[x, y, c] = hl.maximum(taps, image[x + taps.x, y, c, hl.clamp(heights[taps.x], 0, 27)])
    largest.bound(c, 0, 3)
    module = run_passes(hl.Pipeline(largest).to_module(), standard_passes("h200"))
    (group,) = [op for op in module.walk() if isinstance(op, GroupOp)]
    tile, threads = group.schedule.tile_sizes, group.schedule.thread_counts
    points = math.prod(tile) // math.prod(threads)
    assert points * 53 * 10 < MOST_WRITTEN_OUT
