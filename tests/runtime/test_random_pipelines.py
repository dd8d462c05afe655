"""Random pipelines on the CPU give what the evaluator gives: integers exactly, floats within their bound."""

import numpy as np
import pytest
from random_pipelines import random_pipeline

from tilefuse.evaluator import evaluate
from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.sweep


def check(seed, **options):
    """Compare on the CPU; with `strict_float` to the bit."""
    case = random_pipeline(seed)
    wanted = evaluate(case.module, case.grids, case.params, case.output_boxes, case.mins)
    program = compile_pipeline(case.module, "cpu", **options)
    found = program(*case.inputs.values(), **case.params, sizes=case.sizes, mins=case.mins)
    for (name, expected), got in zip(wanted.items(), found if isinstance(found, tuple) else (found,), strict=True):
        if got.shape != expected.shape:
            got = np.moveaxis(got, 2, 0)  # an interleaved picture
        assert got.dtype == expected.dtype
        if (tolerance := case.tolerance[name]) and not options.get("strict_float"):
            np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance, err_msg=f"seed {seed}, {name}")
        else:
            np.testing.assert_array_equal(got, expected, err_msg=f"seed {seed}, {name}")


@pytest.mark.parametrize("seed", range(8))
def test_standard_passes(seed):
    check(seed)


@pytest.mark.parametrize("seed", [100, 315])
@pytest.mark.parametrize("algorithm", ["dp", "none", "all"])
def test_other_groupings(seed, algorithm):
    """Seed 315 reads a stage only outside of the box of its constant_exterior: nothing computes it."""
    check(seed, algorithm=algorithm)


@pytest.mark.parametrize("seed", range(400, 405))
def test_strict_floats(seed):
    check(seed, strict_float=True)
