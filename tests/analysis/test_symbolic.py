"""Symbolic numbers are what the same steps give with ints, whatever form they are kept in."""

from random import Random

import pytest
from xdsl.parser import Parser

from tilefuse.dialects.img.region import RegionAttr
from tilefuse.dialects.img.symbolic import Role, evaluate_size, greatest, least, provably_le, symbol, symbols
from tilefuse.passes.pipeline import new_context

SYMBOLS = [
    symbol(Role.Output, "out"),
    symbol(Role.Output, "out", extent=True),
    symbol(Role.Input, "in", 1),
    symbol(Role.Input, "in", 1, extent=True),
    symbol(Role.Param, "k"),
]


def numbers(rng):
    """A value for every symbol; extents are positive."""
    (atoms,) = ([next(iter(symbols(s))) for s in SYMBOLS],)
    return {a: rng.randint(1, 9) if a.extent else rng.randint(-9, 9) for a in atoms}


def step(rng, pairs):
    """A new value from earlier ones: (symbolic, the same by ints)."""
    (a, x), (b, y) = rng.choice(pairs), rng.choice(pairs)
    n = rng.randint(1, 4)
    return rng.choice(
        [
            (a + b, [p + q for p, q in zip(x, y, strict=True)]),
            (a - b, [p - q for p, q in zip(x, y, strict=True)]),
            (3 - a, [3 - p for p in x]),
            (a + n, [p + n for p in x]),
            (a * n, [p * n for p in x]),
            (-2 * a, [-2 * p for p in x]),
            (a // n, [p // n for p in x]),
            (a % n, [p % n for p in x]),
            (least(a, b), [min(p, q) for p, q in zip(x, y, strict=True)]),
            (greatest(a, b, n), [max(p, q, n) for p, q in zip(x, y, strict=True)]),
        ]
    )


@pytest.mark.parametrize("seed", range(150))
def test_steps_agree_with_ints(seed):
    rng = Random(seed)
    worlds = [numbers(rng) for _ in range(40)]
    pairs = [(s, [w[next(iter(symbols(s)))] for w in worlds]) for s in SYMBOLS]
    pairs.append((5, [5] * len(worlds)))
    if seed % 3 == 0:
        a, b = rng.sample(pairs, 2)
        pairs.append((a[0] * b[0], [p * q for p, q in zip(a[1], b[1], strict=True)]))
        if not isinstance(b[0], int):
            quotient = [p // q if q else 0 for p, q in zip(a[1], b[1], strict=True)]
            pairs.append((a[0] // b[0], quotient))
            pairs.append((a[0] % b[0], [p % q if q else 0 for p, q in zip(a[1], b[1], strict=True)]))
    for _ in range(8):
        pairs.append(step(rng, pairs))
        value, expected = pairs[-1]
        assert [evaluate_size(value, w.__getitem__) for w in worlds] == expected
    for a, x in pairs:
        for b, y in pairs:
            if provably_le(a, b):
                assert all(p <= q for p, q in zip(x, y, strict=True))
    region = RegionAttr(tuple((value, value) for value, _ in pairs))
    assert Parser(new_context(), str(region)).parse_attribute() == region


def test_what_is_known_to_be_covered_goes():
    x, n = SYMBOLS[0], SYMBOLS[1]
    assert least(x - 1, x, x + n) == x - 1
    assert greatest(x, x + n - 1) == x + n - 1
    assert greatest(x // 2, (x + n) // 2) == (x + n) // 2
    assert (x + n) - x - n == 0
    # a clamp of a clamp by the same ends, moved between: the form does not grow
    first, last = SYMBOLS[2], SYMBOLS[2] + SYMBOLS[3] - 1
    value = x
    for _ in range(50):
        value = greatest(least(value, last), first) - 1
    assert str(value).count("Sum") == str(greatest(least(x, last), first) - 1).count("Sum")


def test_numbers_are_not_ordered_by_accident():
    with pytest.raises(TypeError):
        _ = SYMBOLS[0] < 3
