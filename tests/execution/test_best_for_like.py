"""One schedule for groups that are alike: only where that is cheaper than to fetch the code of two kernels."""

import dataclasses

import pytest
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.dialects.func import FuncOp

import tilefuse as hl
from tilefuse.dialects.img.ops import GroupOp, InputOp, ReturnOp
from tilefuse.execution.candidate import Candidate
from tilefuse.execution.search import CODE_KEPT, FETCH_US, VERSIONS, best_for_like
from tilefuse.execution.warp_tile.features import WarpFeatures
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes

LONG, SHORT = CODE_KEPT / VERSIONS, 0.4 * CODE_KEPT / VERSIONS


def candidate(width, microseconds, code):
    facts = {f.name: 0 for f in dataclasses.fields(WarpFeatures)}
    return Candidate(
        "warp_tile", (width, 80), (32, 8), 4, {}, WarpFeatures(**{**facts, "code": code}), microseconds, blocks=3
    )


def chosen(*groups):
    return [c.tile[0] for c in best_for_like(groups)]


def test_each_its_cheapest():
    one, other = [candidate(112, 90.0, LONG), candidate(108, 91.0, LONG)], [candidate(112, 80.0, LONG)]
    assert chosen(one) == [112]
    assert chosen(one, other) == [112, 112]


def test_short_code_is_kept():
    assert chosen(
        [candidate(112, 90.0, SHORT), candidate(108, 91.0, SHORT)],
        [candidate(112, 81.0, SHORT), candidate(108, 80.0, SHORT)],
    ) == [112, 108]


@pytest.mark.parametrize(("dearer", "expected"), [(0.9, [112, 112]), (1.1, [112, 108])])
def test_long_code_is_fetched_at_each_change(dearer, expected):
    fetched = 2 * VERSIONS * LONG * FETCH_US
    one = [candidate(112, 90.0, LONG), candidate(108, 190.0, LONG)]
    assert chosen(one, [candidate(112, 80.0 + dearer * fetched, LONG), candidate(108, 80.0, LONG)]) == expected


def test_no_schedule_for_all():
    assert chosen([candidate(112, 90.0, LONG)], [candidate(108, 80.0, LONG)]) == [112, 108]


@pytest.mark.parametrize("extent", [(1535, 2560), (8191, 8192)])
def test_chain_in_arrays_that_lie_anywhere(extent):
    """What the first step reads, and the last one stores, does not start where vectors may; one kernel does both."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    current, box = image, [(0, image.width()), (0, image.height())]
    for i in range(16):
        around = hl.BoundaryConditions.constant_exterior(current, 0.0, box)
        rows, step = hl.Func(f"rows_{i}"), hl.Func(f"step_{i}")
        rows[x, y] = around[x - 1, y] + around[x, y] + around[x + 1, y]
        step[x, y] = (rows[x, y - 1] + rows[x, y] + rows[x, y + 1]) * (1 / 9)
        current = step
    module = hl.Pipeline(current).to_module()
    for op in module.walk():
        if isinstance(op, InputOp):
            op.attributes["img.align"] = IntegerAttr(4, i64)
        if isinstance(op, ReturnOp):
            op.attributes["output_aligns"] = DenseArrayBase.from_list(i64, [4])
    scheduled = run_passes(module, standard_passes("h200", extent=extent))
    groups = [op for op in scheduled.walk() if isinstance(op, GroupOp)]
    assert len(groups) == 2
    assert groups[0].schedule == groups[1].schedule
    lowered = run_passes(scheduled, lowering_passes(warps=True))
    assert sum(isinstance(op, FuncOp) and "kernel.threads" in op.attributes for op in lowered.walk()) == 1
