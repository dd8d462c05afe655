"""What warps hold and exchange, against what the lowering gives them."""

import pytest
from random_pipelines import random_pipeline
from random_programs import passes
from two_reads import two_reads, two_rows_a_warp
from xdsl.dialects.memref import AllocaOp

from tilefuse.analysis.model import extract
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.dialects.parsing import parse_module
from tilefuse.dialects.warp.layout import Layout
from tilefuse.execution.warp_tile.layout import exchange_bytes, group_layout
from tilefuse.passes.pipeline import lowering_passes, run_passes
from tilefuse.passes.tile import Tile

BLUR = """
img.pipeline @p {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %out = img.group "blur" {
    %rows = img.stage "rows" (%x, %y) -> f32 {
      %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
      %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %blur = img.stage "blur" (%x, %y) -> f32 {
      %a = img.read %rows[%x, %y - 1] : !img.func<2xf32>
      %b = img.read %rows[%x, %y + 2] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %blur : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}
"""


def layouts(module):
    """Of each warp-tiled group: its layout and the bytes exchanged."""
    pipeline = next(op for op in module.walk() if isinstance(op, PipelineOp))
    model = extract(pipeline)
    for group in (op for op in pipeline.walk() if isinstance(op, GroupOp)):
        if group.schedule is not None and group.schedule.model == "warp_tile":
            layout = group_layout(group, model)
            yield layout, exchange_bytes(model, layout)


def blur(*, exchange):
    by_hand = Tile(
        sizes=(0, 0), threads=(32, 4), vector=4, shape="warp_tile", more=f"rows = 8, exchange = {int(exchange)}"
    )
    ((layout, shared),) = layouts(run_passes(parse_module(BLUR), [by_hand]))
    (rows,) = (held for held in layout.stages.values() if held.wide != (0, 0))
    return layout, rows, shared


def test_recomputed_rows():
    layout, rows, shared = blur(exchange=False)
    assert (rows.above, rows.below, rows.wide) == (1, 2, (1, 2))
    assert rows.rows(layout.pitch) == 8 + 3
    assert (layout.top, layout.bottom, layout.height) == (0, 0, 4 * 8)
    assert (layout.dead_left, layout.dead_right, layout.width) == (1, 1, 30 * 4)
    assert shared == 0


def test_exchanged_rows():
    layout, rows, shared = blur(exchange=True)
    assert (rows.above, rows.below, rows.wide) == (0, 0, (1, 2))
    assert rows.rows(layout.pitch) == 8
    # the block's first warp has no rows above it and its last none below
    assert (layout.top, layout.bottom, layout.height) == (1, 2, 4 * 8 - 3)
    assert shared == 4 * 3 * 32 * 4 * 4  # warps, rows, lanes, columns, bytes


@pytest.mark.parametrize(
    ("element", "reach", "odd_output", "side"),
    [
        ("f32", (1, 1), False, "right"),
        ("f32", (0, 4), False, None),
        ("f32", (1, 4), False, "left"),
        ("f32", (4, 4), True, "left"),
        ("f32", (4, 4), False, None),
        ("f64", (2, 1), True, "right"),
        ("ui8", (1, 1), False, "right"),
        ("ui8", (1, 2), False, None),
    ],
)
def test_pieces_lack_columns_where_these_are_not_needed(element, reach, odd_output, side):
    (left, right), vector = reach, 2 if element == "f64" else 4
    module = two_reads(element, left, right, output_align=1 if odd_output else 16)
    ((layout, _),) = layouts(run_passes(module, [two_rows_a_warp(vector)]))
    (held,) = layout.sources.values()
    assert layout.partial(held) == side
    assert layout.in_pieces(held) == (side is not None or element == "ui8")
    # what the lane beside has loaded is all that a lane needs but does not load
    undefined = held.piece - 1
    if side == "right":
        assert layout.dead_right * vector - right >= undefined
    elif side == "left":
        assert layout.dead_left * vector - left - layout.left_spill >= undefined


@pytest.mark.parametrize("seed", [23, 44, 300, 301, 302, 306, 307, 313, 319])
def test_shared_memory_is_what_the_lowering_allocates(seed):
    module = run_passes(random_pipeline(seed).module, passes("h200", shape="warp_exchange"))
    expected = [shared for _, shared in layouts(module)]
    assert any(expected)
    # versions of one tile function allocate alike
    found = {
        op.memref.type.get_shape()[0]
        for op in run_passes(module, lowering_passes(warps=True)).walk()
        if isinstance(op, AllocaOp) and op.memref.name_hint == "exchange"
    }
    assert found == {shared for shared in expected if shared}


@pytest.mark.parametrize(
    ("stride", "parts"),
    [
        (4, {-5: (-5,), -1: (-5, 3), 4: (0, 8)}),
        (1, {-2: (-2,), -1: (-2, 0), 7: (6, 8), 8: (8,)}),
        (2, {2: (0, 4), 9: (9,)}),
    ],
)
def test_registers_beside_a_lane_are_made_of_those_that_lanes_own(stride, parts):
    layout = Layout((0, 0), (32, 8), (1, 1), (-4, 12), (0, 1), packed=2, pair_stride=stride)
    assert {start: layout.parts(start) for start in parts} == parts
