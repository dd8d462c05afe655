"""What the cost model says that a warp loads, against the loads that the lowering makes."""

import math

import pytest
import random_subwords
from random_pipelines import random_pipeline
from random_programs import passes, warp_tiles
from two_reads import two_reads, two_rows_a_warp
from xdsl.dialects import vector as vector_dialect
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import IfOp
from xdsl.ir import BlockArgument

from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp, InputOp, PipelineOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.parsing import parse_module
from tilefuse.dialects.warp import LoadOp
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.search import best_schedule
from tilefuse.execution.warp_tile import pack_subwords
from tilefuse.execution.warp_tile.counts import LinearInRows, count
from tilefuse.execution.warp_tile.layout import group_layout
from tilefuse.execution.warp_tile.schedule import layout_of
from tilefuse.execution.warp_tile.subwords import best_pair_stride
from tilefuse.passes.pipeline import lowering_passes, run_passes
from tilefuse.passes.promote_memory import PromoteMemory


def test_rows():
    rows = LinearInRows(40.0)
    rows.add(3, 5.0)
    rows.join(LinearInRows(1.0, 2.0))
    assert rows == LinearInRows(40.0 + 15.0 + 1.0, 7.0)
    assert rows.at(8) == 56.0 + 56.0


def groups(module):
    """The warp-tiled groups of a pipeline: members, layout, whether rows are exchanged."""
    pipeline = next(op for op in module.walk() if isinstance(op, PipelineOp))
    model = extract(pipeline)
    for group in (op for op in pipeline.walk() if isinstance(op, GroupOp)):
        if group.schedule is not None and group.schedule.model == "warp_tile":
            members = [model.node_of[s.funcs[0]] for s in group.stages]
            layout = group_layout(group, model)
            exchanges = any(held.exchanged for held in layout.stages.values())
            yield model, members, layout, exchanges


@pytest.mark.parametrize("shape", ["warp_tile", "warp_exchange"])
@pytest.mark.parametrize("seed", [1, 2, 23, 44, 300, 301, 302, 306, 307, 313, 319])
def test_bytes_loaded(seed, shape):
    scheduled = run_passes(random_pipeline(seed).module, passes("h200", shape=shape))
    said = 0.0
    for model, members, layout, exchanges in groups(scheduled):
        counts = count(model, members, layout, exchanges)
        said += counts.in_flight.at(layout.pitch)
        # nothing but how many rows it is asked about depends on the rows of the layout
        assert count(model, members, layout.of_size(layout.warps, layout.pitch + 24), exchanges) == counts
    lowered = run_passes(scheduled, lowering_passes(warps=True)[:1])
    made = 0
    for op in lowered.walk():
        if isinstance(op, LoadOp):
            at = layout_of(op.tile)
            points = at.height * math.prod(high - low for low, high in at.depth) * at.vector
            made += points * element_bytes(op.tile.type.element)
    assert made == said > 0


@pytest.mark.parametrize(
    ("element", "vector", "reach", "align", "accesses"),
    [
        ("f32", 4, 1, 16, 1),
        ("f32", 4, 1, 4, 2),  # pairs
        ("f32", 4, 4, 4, 4),  # the last lane needs all its columns: one by one
        ("f32", 2, 1, 4, 1),
        ("ui8", 8, 2, 1, 2),  # words
        ("ui8", 4, 2, 1, 2),  # the last lane needs what ends in the next word, so all load that
        ("ui16", 8, 1, 2, 2),  # two words at a time
    ],
)
def test_accesses_of_rows_that_lie_anywhere(element, vector, reach, align, accesses):
    module = two_reads(element, reach, reach, align=align)
    scheduled = run_passes(module, [two_rows_a_warp(vector), PromoteMemory()])
    ((model, members, layout, exchanges),) = groups(scheduled)
    counts = count(model, members, layout, exchanges)
    assert counts.touched.at(2) == accesses * counts.in_flight.at(2)
    assert counts.guarded == (align < 16)
    (held,) = layout.sources.values()
    if layout.in_pieces(held):
        lowered = run_passes(scheduled, lowering_passes(warps=True))
        (body,) = (f for f in lowered.walk() if isinstance(f, FuncOp) and "tile" in f.sym_name.data)
        loads = [op for op in body.walk() if isinstance(op, vector_dialect.LoadOp) and not _in_border(op)]
        assert len([op for op in loads if isinstance(op.base, BlockArgument)]) == accesses


def _in_border(op):
    """Whether an operation stands where `border` holds, in the first branch."""
    while not isinstance(parent := op.parent_op(), FuncOp):
        border = isinstance(parent, IfOp) and parent.cond.name_hint == "border"
        if border and op.parent_region() is parent.true_region:
            return True
        op = parent
    return False


def test_what_loads_nothing_waits_for_no_loads():
    module = parse_module("""
    img.pipeline @p {
      %out = img.stage "out" (%x, %y) -> ui8 {
        %c = arith.constant 7 : i8
        img.yield %c : i8
      }
      img.return "out" = %out : !img.func<2xui8>
    }""")
    model = extract(next(op for op in module.walk() if isinstance(op, PipelineOp)))
    (output,) = (n.id for n in model.nodes)
    best = best_schedule(GroupFacts(model, [output], output, (4096, 4096)), machine("h200"))
    # 16 MB go to the L2 cache in a few microseconds
    assert best.shape == "warp_tile"
    assert not best.features.loads
    assert best.microseconds < 10


@pytest.mark.parametrize("exchange", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_model_asks_as_the_pass_does(seed, exchange, monkeypatch):
    asked = []

    def spy(*of):
        asked.append(of)
        return best_pair_stride(*of)

    monkeypatch.setattr(pack_subwords, "best_pair_stride", spy)
    pipeline, _ = random_subwords.pipeline(seed)
    schedule = warp_tiles(8, 4, rows=6, exchange=exchange)
    module = pipeline.to_module()
    for op in module.walk():
        if isinstance(op, InputOp):
            op.attributes["img.align"] = IntegerAttr(1, 64)
    try:
        module = run_passes(module, schedule)
    except PipelineError as error:
        pytest.skip(str(error))
    said = []
    for model, members, layout, exchanges in groups(module):
        counts = count(model, members, layout, exchanges)
        said += [(layout.vector, counts.packed_gain.at(layout.pitch))] * counts.packed
    run_passes(module, [*lowering_passes(warps=True)[:1], pack_subwords.PackSubwords()])
    assert asked == said
