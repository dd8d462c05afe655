"""Rules that join tuples: which are found to be associative and commutative, and what is said of their rounding."""

import pytest

import tilefuse as hl
from tilefuse.analysis.joined_tuple import joined_tuple
from tilefuse.dialects.img.ops import UpdateOp

A, B, C = (hl.ImageParam(hl.Float(32), 1, name) for name in "abc")
r = hl.RDom([(0, A.width())])


def complex_product(f, a, b):
    return f[0] * a - f[1] * b, f[0] * b + f[1] * a


def dual_product(f, a, b):
    return f[0] * a, f[0] * b + f[1] * a


def difference(f, a, b):
    return f[0] * f[1] - a, f[1] * a - b


def harmonic_sum(f, a, b):
    return f[0] * a / (f[0] + a), f[1] + b * f[0] / f[0]


def conjugate_product(f, a, b):
    """Associative if `b` stands for the real part, and `a` for the imaginary one."""
    return f[0] * a + f[1] * b, f[1] * a - f[0] * b


def affine_map(f, a, b):
    return f[0] * a, f[1] * a + b


def twice_the_sum(f, a, b):
    return 2.0 * (f[0] + a), f[1] + b * f[0] / f[0]


def three_terms(f, a, b):
    return f[0] * a + f[1] * C[r.x], f[1] * b


def root(f, a, b):
    return f[0] + hl.sqrt(a * f[0]), f[1] + b


def update_of(rule):
    f = hl.Func("f")
    f[()] = (hl.f32(1), hl.f32(0))
    f[()] = rule(f[()], A[r.x], B[r.x])
    module = hl.Pipeline(f).to_module()
    return next(op for op in module.walk() if isinstance(op, UpdateOp)), f


@pytest.mark.parametrize("rule", [complex_product, dual_product, conjugate_product, harmonic_sum])
def test_found(rule):
    found = joined_tuple(update_of(rule)[0])
    assert found is not None
    assert found.functions == (0, 1)


@pytest.mark.parametrize("rule", [difference, affine_map, twice_the_sum, three_terms, root])
def test_not_found(rule):
    """Not associative, or not commutative, or not of as many terms, or no sums and products."""
    assert joined_tuple(update_of(rule)[0]) is None


@pytest.mark.parametrize(
    ("rule", "bound"),
    [(complex_product, "within 4 * n * 2^-24 * |the same of magnitudes|"), (harmonic_sum, "quotients")],
)
def test_the_report_says_how_far_from_exact(rule, bound):
    assert bound in hl.Pipeline(update_of(rule)[1]).compile("cpu").report()
