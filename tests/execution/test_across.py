"""Reads across rows on a GPU: each is a load of its own, whose lanes lie in as many lines."""

import pytest

from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.dialects.parsing import parse_module
from tilefuse.execution.across import ACROSS_LOAD, is_across
from tilefuse.execution.candidate import SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.search import schedules


def facts(second: str) -> GroupFacts:
    """The facts of a stage that reads an input at its own point and at `second`."""
    module = parse_module(f"""
    img.pipeline @p {{
      %in = img.input "in" : !img.func<2xf32>
      %in_1 = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xf32>
      %out = img.stage "out" (%x, %y) -> f32 {{
        %a = img.read %in_1[%x, %y] : !img.func<2xf32>
        %b = img.read %in_1[{second}] : !img.func<2xf32>
        %c = arith.addf %a, %b : f32
        img.yield %c : f32
      }}
      img.return "out" = %out : !img.func<2xf32>
    }}""")
    model = extract(next(op for op in module.walk() if isinstance(op, PipelineOp)))
    return GroupFacts(model, [model.stages[0].id], model.stages[0].id, (4096, 4096))


@pytest.mark.parametrize(
    ("second", "across"),
    [("%y, %x", True), ("%x mod 4, %x + 3", True), ("%x + 1, %y", False), ("%x, %y mod 4", False), ("%y, %y", False)],
)
def test_neighbours_in_different_rows(second, across):
    of = facts(second)
    assert is_across(of.model.nodes[of.output].accesses[1]) == across


@pytest.mark.parametrize("shape", ["warp_tile", "block_tile"])
def test_a_load_across_rows_takes_longer(shape):
    # either is a load of its own, which no tile holds
    across, along = (
        schedules(facts(second), machine("h200"), SearchOptions(shape)) for second in ("%y, %x", "%x, %y mod 2")
    )
    found = {(c.tile, c.threads, c.vector): c.features.instructions for c in along}
    compared = 0
    for c in across:
        instructions = found.get((c.tile, c.threads, c.vector))
        if instructions is not None:
            points = c.tile[0] * c.tile[1]
            if shape == "warp_tile":  # its features are of one lane, with those that only help to load
                points = c.vector * c.tile[1] // c.threads[1]
            assert c.features.instructions - instructions >= 0.9 * ACROSS_LOAD * points
            compared += 1
    assert compared > 10


def test_an_input_that_is_loaded_into_tiles_is_read_across_all_the_same():
    def instructions(second: str) -> float:
        return min(
            c.features.instructions for c in schedules(facts(second), machine("h200"), SearchOptions("warp_tile"))
        )

    assert instructions("%y, %x") > instructions("%x, %y") + ACROSS_LOAD
