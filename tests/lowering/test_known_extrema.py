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


def _extrema_that_nan_wins(number):
    """A program of one stage for each of KNOWN and each operation; `number` gives the text of one by its place."""
    bodies, results = [], []
    for n in range(len(KNOWN) - 1):
        for kind in ("minimumf", "maximumf"):
            name = f"{kind}_{n}"
            bodies.append(
                f'%{name} = img.stage "{name}" (%x) -> f32 {{\n%v = img.read %a[%x] : !img.func<1xf32>\n'
                f"%k = {number(n)}\n%r = arith.{kind} %v, %k : f32\nimg.yield %r : f32\n}}"
            )
            results.append(f'"{name}" = %{name} : !img.func<1xf32>')
    inputs = "\n".join(f'%{name} = img.input "{name}" : !img.func<1xf32>' for name in "ab")
    stages = "\n".join(bodies)
    text = f"img.pipeline @p {{\n{inputs}\n{stages}\nimg.return {', '.join(results)}\n}}"
    return hl.compile(text, target="cpu", strict_float=True)


def test_known_numbers_that_nan_wins_are_like_others():
    known = _extrema_that_nan_wins(lambda n: f"arith.constant {KNOWN[n]} : f32")
    unknown = _extrema_that_nan_wins(lambda n: f"img.read %b[{n}] : !img.func<1xf32>")
    assert "imum_by0_f32" in known.source()
    numbers = np.array(KNOWN, np.float32)
    sizes = (VALUES.size,)
    for found, wanted in zip(known(VALUES, numbers, sizes=sizes), unknown(VALUES, numbers, sizes=sizes), strict=True):
        assert np.array_equal(np.isnan(found), np.isnan(wanted))
        kept = ~np.isnan(wanted)
        np.testing.assert_array_equal(found[kept].view(np.uint32), wanted[kept].view(np.uint32))
