"""The budget of written-out code: `fix` makes tiles smaller for it, and lets a pipeline compile where none is left."""

import tilefuse as hl
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
