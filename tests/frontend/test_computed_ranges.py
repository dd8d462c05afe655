"""Indices that arithmetic bounds, and no clamp: on all back ends as in Halide."""

import numpy as np
import pytest

import tilefuse

halide = pytest.importorskip("halide")

PIXELS = np.random.default_rng(5).integers(0, 256, 40).astype(np.uint8)
TABLE = np.arange(-60, 60, dtype=np.int32)


def by_a_func(hl):
    """A histogram at remainders that a Func has."""
    x, f, at, r = hl.Var("x"), hl.Func("f"), hl.Func("at"), hl.RDom([(0, 100)])
    at[x] = (x * x) % 5
    f[x] = 0
    f[hl.Expr(at[r])] += 1
    at.compute_root()
    return f, 5


def by_a_quotient(hl):
    """A table at quotients of numbers of either sign, which round down."""
    x, f, table = hl.Var("x"), hl.Func("f"), hl.Buffer(TABLE, "table")
    f[x] = table[(hl.i32(hl.Buffer(PIXELS, "pixels")[x]) - 128) / 3 + 50]
    return f, 40


def by_a_remainder(hl):
    """A histogram at remainders of numbers of either sign."""
    x, f, pixels, r = hl.Var("x"), hl.Func("f"), hl.Buffer(PIXELS, "pixels"), hl.RDom([(0, 40)])
    f[x] = 0
    f[(hl.i32(pixels[r]) - 128) % 7] += r
    return f, 7


@pytest.mark.filterwarnings("ignore::tilefuse.ScheduleWarning")
@pytest.mark.parametrize("define", [by_a_func, by_a_quotient, by_a_remainder])
@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_as_halide(define, target):
    theirs, size = define(halide)
    ours, _ = define(tilefuse)
    assert list(ours.realize([size], target)) == list(theirs.realize([size]))
