"""Minima and maxima with a known number, which are one comparison in C, are those of two unknown ones to the bit."""

import numpy as np

import tilefuse as hl

VALUES = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 255.0, 1e-40], np.float32)
KNOWN = (0.0, -0.0, 1.0, -3.0, float("inf"))


def test_known_numbers_are_like_others():
    x, y = hl.Var("x"), hl.Var("y")
    image, numbers = hl.ImageParam(hl.Float(32), 1, "image"), hl.ImageParam(hl.Float(32), 1, "numbers")
    funcs = []
    for join in (hl.min, hl.max):
        known, unknown = hl.Func(f"known_{join.__name__}"), hl.Func(f"unknown_{join.__name__}")
        first, *others = [join(image[x], hl.f32(k)) for k in KNOWN]
        for n, other in enumerate(others, 1):
            first = hl.select(y == n, other, first)
        known[x, y] = first
        unknown[x, y] = join(image[x], numbers[y])
        funcs += [known, unknown]
    program = hl.Pipeline(funcs).compile("cpu", strict_float=True)
    source = program.source()
    assert "num_by_f32" in source
    assert "num_by0_f32" in source
    found = program(VALUES, np.array(KNOWN, np.float32), sizes=(VALUES.size, len(KNOWN)))
    for known, unknown in (found[:2], found[2:]):
        np.testing.assert_array_equal(known.view(np.uint32), unknown.view(np.uint32))
