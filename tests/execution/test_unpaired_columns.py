"""Lanes with many columns of small elements, where no two points share a register."""

from dataclasses import replace

import pytest

from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.dialects.parsing import parse_module
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.features import predict
from tilefuse.execution.search import schedules
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.pipeline import run_passes

ON = machine("h200")
TEXT = """
img.pipeline @p {{
  %i = img.input "i" : !img.func<2xui8>
  {before}
  %r = img.stage "r" (%x, %y) -> ui8 {{
    %a = img.read %{of}[%x - 1, %y] : !img.func<2xui8>
    %b = img.read %{of}[%x + 1, %y] : !img.func<2xui8>
    %c = {op} %a, %b : i8
    img.yield %c : i8
  }}
  img.return "r" = %r : !img.func<2xui8>
}}
"""


STAGE = """
  %f{n} = img.stage "f{n}" (%x, %y) -> ui8 {{
    %a = img.read %{of}[%x - 1, %y] : !img.func<2xui8>
    %b = img.read %{of}[%x + 1, %y] : !img.func<2xui8>
    %c = arith.divui %a, %b : i8
    img.yield %c : i8
  }}
"""


def candidates(op, before=0):
    """The warp tiles of a stage of bytes that one operation computes, and of stages before it."""
    stages = "".join(STAGE.format(n=n, of=f"f{n - 1}" if n else "i") for n in range(before))
    text = TEXT.format(op=op, before=stages, of=f"f{before - 1}" if before else "i")
    module = run_passes(parse_module(text), [GroupStages(target="h200", algorithm="all")])
    pipeline = next(o for o in module.walk() if isinstance(o, PipelineOp))
    group = next(o for o in module.walk() if isinstance(o, GroupOp))
    found = schedules(GroupFacts.of(group, extract(pipeline), (4096, 4096)), ON)
    return [c for c in found if c.shape == "warp_tile"]


@pytest.mark.parametrize(("op", "share"), [("arith.maxui", True), ("arith.divui", False)])
def test_columns_without_a_partner_are_counted(op, share):
    found = candidates(op)
    assert {c.vector for c in found} >= {4, 8, 16}
    for c in found:
        assert c.features.unpaired_columns == (0 if share else c.vector)


@pytest.mark.parametrize(("before", "share"), [(0, 1), (1, 1), (2, 2 / 3), (3, 1 / 2)])
def test_beside_the_arithmetic_of_many_stages_they_count_less(before, share):
    for c in candidates("arith.divui", before):
        assert (c.features.unpaired_columns, c.features.unpaired_share) == (c.vector, share)


def test_eight_of_them_take_more_instructions():
    work = next(c.features for c in candidates("arith.divui") if c.vector == 16)
    work = replace(work, instructions=100 * work.instructions)  # the arithmetic is all that counts
    paired, four, eight = (predict(replace(work, unpaired_columns=n), ON) for n in (0, 4, 8))
    assert paired == four
    assert eight > 1.3 * four
    diluted = predict(replace(work, unpaired_columns=8, unpaired_share=0.5), ON)
    assert diluted - four == pytest.approx((eight - four) / 2, rel=0.02)
