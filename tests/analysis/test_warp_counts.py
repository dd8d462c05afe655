"""What the cost model says that a warp loads, against the loads that the lowering makes."""

import math

import pytest
from random_pipelines import random_pipeline
from random_programs import passes

from tilefuse.analysis.model import extract
from tilefuse.analysis.warp_counts import Rows, count
from tilefuse.analysis.warp_layout import group_layout
from tilefuse.dialects.img.attrs import Shape
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import LoadOp
from tilefuse.lowering import lowering_passes
from tilefuse.lowering.warp_schedule import layout_of
from tilefuse.passes.pipeline import run_passes


def test_rows():
    rows = Rows(40.0)
    rows.add(3, 5.0)
    rows.join(Rows(1.0, 2.0))
    assert rows == Rows(40.0 + 15.0 + 1.0, 7.0)
    assert rows.at(8) == 56.0 + 56.0


def groups(module):
    """The warp-tiled groups of a pipeline: members, output, layout, whether rows are exchanged."""
    pipeline = next(op for op in module.walk() if isinstance(op, PipelineOp))
    model = extract(pipeline)
    for group in (op for op in pipeline.walk() if isinstance(op, GroupOp)):
        if group.schedule is not None and group.schedule.execution is Shape.WarpTile:
            members = [model.node_of[s.funcs[0]] for s in group.stages]
            layout = group_layout(group, model)
            exchanges = any(held.exchanged for held in layout.stages.values())
            yield model, members, model.node_of[group.output_stage.funcs[0]], layout, exchanges


@pytest.mark.parametrize("shape", ["warp_tile", "warp_exchange"])
@pytest.mark.parametrize("seed", [1, 2, 23, 44, 300, 301, 302, 306, 307, 313, 319])
def test_bytes_loaded(seed, shape):
    scheduled = run_passes(random_pipeline(seed).module, passes("h200", shape=shape))
    said = 0.0
    for model, members, output, layout, exchanges in groups(scheduled):
        counts = count(model, members, output, layout, exchanges)
        said += counts.in_flight.at(layout.pitch)
        # nothing but how many rows it is asked about depends on the rows of the layout
        assert count(model, members, output, layout.of_size(layout.warps, layout.pitch + 24), exchanges) == counts
    lowered = run_passes(scheduled, lowering_passes(warps=True)[:1])
    made = 0
    for op in lowered.walk():
        if isinstance(op, LoadOp):
            at = layout_of(op.tile)
            points = at.height * math.prod(high - low for low, high in at.depth) * at.vector
            made += points * element_bytes(op.tile.type.element)
    assert made == said > 0
