"""A row of the table of execution models can go: other models run the groups, and nothing else names the model."""

import pytest
from _all import EXAMPLES

import tilefuse as hl
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.rows import MODELS
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes

FALLBACKS = {"block_tile": "stages that read where data say, on GPUs", "in_order": "updates of any kind"}
"""Models that alone run some groups, and which."""


def sums_of_rows():
    image, y = hl.ImageParam(hl.Float(32), 2, "image"), hl.Var("y")
    found, r = hl.Func("found"), hl.RDom([(0, image.width())])
    found[y] = hl.sum(image[r.x, y])
    return hl.Pipeline(found)


PROGRAMS = [sums_of_rows, *(EXAMPLES[name].pipeline for name in ("harris", "hist", "iir_blur", "mat_mul"))]
"""Sums, stencils, scatters and scans."""


@pytest.fixture
def table():
    """The table as it is after the test: in its order, which is the order of preference."""
    rows = dict(MODELS)
    yield
    MODELS.clear()
    MODELS.update(rows)


def schedules():
    found = set()
    for program in PROGRAMS:
        for target in ("h200", "cpu"):
            scheduled = run_passes(program().to_module(), standard_passes(target))
            run_passes(scheduled, lowering_passes(warps=target != "cpu"))
            found |= {op.schedule.model for op in scheduled.walk() if isinstance(op, GroupOp)}
    return found


@pytest.mark.parametrize("name", [m for m in MODELS if m not in FALLBACKS])
def test_others_run_its_groups(name, table):
    del MODELS[name]
    found = schedules()
    assert name not in found
    assert found <= set(MODELS)


def test_each_of_them_runs_some():
    assert set(MODELS) - schedules() <= set(FALLBACKS)
