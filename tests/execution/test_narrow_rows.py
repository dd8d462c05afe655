"""Rows of less than 16 bytes per lane: all functions in memory count, not the one with the widest elements alone."""

import tilefuse as hl
from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.candidate import SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.search import schedules
from tilefuse.passes.pipeline import run_passes, standard_passes

EXTENT = (4096, 4096)


def candidates(element):
    """Warp tiles of a kernel that reads a picture of these elements, and stores floats."""
    x, y = hl.Var("x"), hl.Var("y")
    image, out = hl.BoundaryConditions.repeat_edge(hl.ImageParam(element, 2, "image")), hl.Func("out")
    out[x, y] = hl.sqrt(hl.f32(image[x - 1, y]) + hl.f32(image[x + 1, y + 1]))
    module = run_passes(hl.Pipeline(out).to_module(), standard_passes("h200", extent=EXTENT))
    (pipeline,) = (op for op in module.body.block.ops if isinstance(op, PipelineOp))
    (group,) = (op for op in pipeline.body.block.ops if isinstance(op, GroupOp))
    facts = GroupFacts.of(group, extract(pipeline, EXTENT), EXTENT)
    return list(schedules(facts, machine("h200"), SearchOptions("warp_tile")))


def test_rows_of_all_functions_count():
    for element, bytes in ((hl.UInt(8), 1), (hl.UInt(16), 2), (hl.Float(32), 4)):
        assert {c.features.row_bytes / (32 * c.vector) for c in candidates(element)} == {(bytes + 4) / 2}
