"""Functions that are smaller than the picture: their tiles come from memory once, and then from a cache."""

import pytest

import tilefuse as hl
from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.candidate import SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.read_again import from_memory
from tilefuse.execution.search import schedules
from tilefuse.passes.pipeline import run_passes, standard_passes

EXTENT = (4096, 4096)
x, y = hl.Var("x"), hl.Var("y")


@pytest.mark.parametrize(
    ("needed", "points"),
    [(None, 64), ((64, 64), 64), ((32, 64), 64), ((16, 16), 4), ((1, 1), 1 / 64)],
    ids=["not known", "once", "twice", "16 times", "one point"],
)
def test_points_of_a_tile_from_memory(needed, points):
    assert from_memory(64, 64, needed) == points


def best(box, shape):
    """The cheapest schedule of a reader of a picture that repeats the edges of `box`, in an execution model."""
    image, inner, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("inner"), hl.Func("out")
    inner[x, y] = hl.sqrt(image[x, y])
    inner.compute_root()
    edges = hl.BoundaryConditions.repeat_edge(inner, box) if box else hl.BoundaryConditions.repeat_edge(image)
    out[x, y] = edges[x - 1, y] * edges[x + 1, y + 1]
    passes = standard_passes("h200", extent=EXTENT)
    module = run_passes(hl.Pipeline(out).to_module(), passes)
    (pipeline,) = (op for op in module.body.block.ops if isinstance(op, PipelineOp))
    group = [op for op in pipeline.body.block.ops if isinstance(op, GroupOp)][-1]
    facts = GroupFacts.of(group, extract(pipeline, EXTENT), EXTENT)
    return min(schedules(facts, machine("h200"), SearchOptions(shape)), key=lambda c: c.microseconds)


@pytest.mark.parametrize("shape", ["warp_tile", "block_tile"])
def test_a_small_picture_is_read_from_a_cache(shape):
    whole, small = best(None, shape), best([(0, 32), (0, 8)], shape)
    assert small.microseconds < 0.75 * whole.microseconds
