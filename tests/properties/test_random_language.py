"""Random programs of the whole language: what the halide wheel computes, and the same on every back end."""

from shutil import which

import pytest
import sanitized
from language_check import check, check_as_halide, check_on_gpu, standard_ways, way_as_halide, ways
from language_found import CASES
from language_program import text
from language_shrink import as_test, shrunk
from random_language import random_language


@pytest.mark.parametrize("seed", [*range(14), 909, 2030])
def test_as_halide(seed):
    pytest.importorskip("halide")
    check_as_halide(seed)


@pytest.mark.parametrize("seed", [*range(100, 106), 72081])
def test_on_all_back_ends(seed):
    check(seed)


@pytest.mark.skipif(not which("gcc") or not which("g++"), reason="no gcc")
@pytest.mark.parametrize("seed", [0, 990012, 990015, 991033])
def test_nothing_outside_of_arrays_is_touched(seed):
    """Of all but the first, memcheck found accesses before or behind arrays."""
    sanitized.addresses(seed)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(200, 260))
def test_on_gpu(seed):
    check_on_gpu(seed)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.define.__name__)
def test_found(case):
    """Programs of seeds that failed once, made small by the soak test."""
    standard_ways(case)
    ways(case, case.define.__name__)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.define.__name__)
def test_found_as_halide(case):
    pytest.importorskip("halide")
    way_as_halide(case)


def test_a_failure_is_made_small():
    """Of a program that fails for one operation in it hardly more than that is left."""

    def fails(program, way):
        if "hl.floor(" in text(program):
            raise ValueError("no floor")

    seed = next(s for s in range(100) if "hl.floor(" in text(random_language(s)))
    program, how = shrunk(random_language(seed), fails, 60)
    assert how.what.startswith("ValueError in fails")
    made = as_test(program, "language", seed, how.what)
    assert "hl.floor(" in made
    assert len(made.splitlines()) < 14, made
