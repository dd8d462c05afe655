"""The execution model of examples/custom_execution_model, which tilefuse knows by its entry point alone."""

import importlib.util
import shutil
import sys
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
from emulated_cuda import emulate
from random_pipelines import random_pipeline
from random_programs import assert_equal, call, evaluated, passes

from tilefuse.analysis.machine import machine
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution import registry
from tilefuse.execution.candidate import SearchOptions
from tilefuse.execution.search import schedules
from tilefuse.passes.pipeline import run_passes, standard_passes
from tilefuse.passes.tile import CANDIDATES, Tile
from tilefuse.runtime.program import compile_pipeline
from tilefuse.tools.calibration.pipelines import Subject, grouped

FOLDER = Path(__file__).parents[2] / "examples" / "custom_execution_model"
LIT_TESTS = Path(__file__).parents[2] / "lit_tests" / "execution"


@pytest.fixture
def announced(monkeypatch, tmp_path):
    """The package on Python's path, as pip would lay it out."""
    spec = importlib.util.spec_from_file_location("installed", LIT_TESTS / "Inputs" / "installed.py")
    monkeypatch.setattr(sys, "argv", ["installed.py", str(FOLDER), str(tmp_path / "site")])
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    monkeypatch.syspath_prepend(tmp_path / "site")
    registry._from_outside.cache_clear()
    yield
    registry._from_outside.cache_clear()
    sys.modules.pop("point_per_thread", None)


def test_it_is_small():
    assert len((FOLDER / "point_per_thread.py").read_text().splitlines()) < 150


def test_it_is_unknown_without_its_entry_point():
    with pytest.raises(registry.UnknownModel, match=r"there are warp_tile, block_tile, .*in_order$"):
        registry.model_named("point_per_thread")


def test_it_is_compared_with_the_others(announced):
    facts = grouped(Subject("blur_f32").module(), "h200").facts((1536, 2560))
    assert registry.names()[-1] == "point_per_thread"
    assert {c.shape for c in schedules(facts, machine("h200"))} == {"warp_tile", "block_tile", "point_per_thread"}
    assert {c.shape for c in schedules(facts, machine("h200"), SearchOptions("point_per_thread"))} == {
        "point_per_thread"
    }


def _scheduled(module):
    """The schedule that `auto` gives the one group of a module, and the models that it names on it, by microseconds."""
    (group,) = (op for op in run_passes(module, [Tile(explain=True)]).walk() if isinstance(op, GroupOp))
    found = {}
    for line in group.attributes[CANDIDATES]:
        model, text = line.data.split(": ", 1)
        found[model] = float(text.partition(" us")[0])
    return group.schedule.model, found


def test_auto_lists_its_candidates_with_their_time_and_takes_the_cheapest(announced, monkeypatch):
    before = takewhile(lambda p: not isinstance(p, Tile), standard_passes("h200"))
    module = run_passes(Subject("blur_f32").module(), list(before))
    model = type(registry.model_named("point_per_thread"))
    features = model._features

    def found(factor):
        """Of the same model, had its kernels so many times the work."""

        def scaled(self, *of):
            counted = features(self, *of)
            return replace(counted, bytes=counted.bytes * factor, instructions=counted.instructions * factor)

        monkeypatch.setattr(model, "_features", scaled)
        return _scheduled(module.clone())

    (cheap, with_cheap), (dear, with_dear) = found(0.01), found(100.0)
    assert with_cheap.keys() == with_dear.keys() == {"warp_tile", "block_tile", "point_per_thread"}
    assert cheap == "point_per_thread" == min(with_cheap, key=with_cheap.get)
    assert dear == min(with_dear, key=with_dear.get) != "point_per_thread"
    assert with_cheap.pop("point_per_thread") < with_dear.pop("point_per_thread")
    assert with_cheap == with_dear, "the other models' times are their own"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
def test_random_pipelines(seed, announced, monkeypatch, tmp_path):
    ran = emulate(monkeypatch, tmp_path)
    case = random_pipeline(seed)
    try:
        program = compile_pipeline(
            case.module, "cpu", strict_float=True, passes=passes("h200", shape="point_per_thread")
        )
    except PipelineError as error:
        pytest.skip(str(error))
    assert_equal(call(program, case), evaluated(case), f"seed {seed}")
    assert ran, "no kernel ran"
