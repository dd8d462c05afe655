"""Every pass of the standard order leaves what a random pipeline computes as it was, by the evaluator."""

import numpy as np
import pytest
from random_pipelines import random_pipeline

from tilefuse.dialects.verification import verify
from tilefuse.evaluator import evaluate
from tilefuse.passes.expand_division import ExpandDivision
from tilefuse.passes.expand_shifts import ExpandShifts
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.pipeline import new_context, standard_passes
from tilefuse.passes.promote_memory import PromoteMemory
from tilefuse.passes.tile import Tile

pytestmark = pytest.mark.sweep


def results(case, module):
    return evaluate(module, case.grids, case.params, case.output_boxes, case.mins)


def assert_same(case, module, expected, where):
    found = results(case, module)
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        got = found[name]
        assert got.dtype == wanted.dtype
        if got.dtype.kind == "f" and case.tolerance[name]:
            np.testing.assert_allclose(got, wanted, rtol=0, atol=case.tolerance[name], err_msg=where)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=where)


def run_and_compare(seed, passes):
    case = random_pipeline(seed)
    module = case.module.clone()
    expected = results(case, module)
    context = new_context()
    for p in passes:
        p.apply(context, module)
        verify(module)
        assert_same(case, module, expected, f"seed {seed} after {p.name}")


@pytest.mark.parametrize("seed", range(60))
def test_standard_order(seed):
    run_and_compare(seed, standard_passes("h200"))


@pytest.mark.parametrize("seed", range(100, 120))
@pytest.mark.parametrize("algorithm", ["dp", "none", "all"])
def test_other_groupings(seed, algorithm):
    run_and_compare(seed, [GroupStages(target="h200", algorithm=algorithm), Tile(target="h200"), PromoteMemory()])


@pytest.mark.parametrize("seed", range(200, 230))
def test_divisions_and_shifts_expanded(seed):
    run_and_compare(seed, [ExpandDivision(), ExpandShifts()])
