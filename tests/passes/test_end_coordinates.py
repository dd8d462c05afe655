"""Coordinates where functions begin to repeat themselves: their numbers are what their operations give."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp

from tilefuse.analysis.points import NominalSizes
from tilefuse.analysis.scalars import eval_index
from tilefuse.passes.end_coordinates import Emission, EndArithmetic

SIZES = NominalSizes((1536, 2560))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("affine"), st.integers(1, 3), st.integers(-9, 9), st.integers(1, 3)),
        st.tuples(st.just("sum"), st.integers(0, 99)),
        st.tuples(st.sampled_from(["least", "greatest"]), st.integers(0, 99), st.integers(0, 99)),
    ),
    max_size=12,
)


def scalars(module, numbers):
    """Constants at the start of a module, as coordinates."""
    values = [arith.ConstantOp.from_int_and_width(number, IndexType()) for number in numbers]
    module.body.block.add_ops(values)
    return [value.result for value in values]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=3), STEPS)
def test_numbers_are_those_of_the_operations(numbers, steps):
    module, ends = ModuleOp([]), EndArithmetic()
    values = scalars(module, numbers)
    last = arith.ConstantOp.from_int_and_width(0, IndexType())
    module.body.block.add_op(last)
    made = [ends.scalar(v, n, lambda _, v=v: v) for v, n in zip(values, numbers, strict=True)]
    expected = list(numbers)
    for kind, *options in steps:
        latest, a = made[-1], expected[-1]
        if kind == "affine":
            times, plus, by = options
            made.append(ends.affine(latest, times, plus, by))
            expected.append((times * a + plus) // by)
            continue
        others = [i % len(made) for i in options]
        if kind == "sum":
            made.append(ends.sum(latest, made[others[0]]))
            expected.append(a + expected[others[0]])
        else:
            made.append(ends.extreme([latest, *(made[i] for i in others)], least=kind == "least"))
            expected.append((min if kind == "least" else max)([a, *(expected[i] for i in others)]))
    emission = Emission(last)
    for end, number in zip(made, expected, strict=True):
        assert end.number == number
        assert eval_index(emission.end(end), SIZES) == number


@pytest.mark.parametrize("least", [True, False])
def test_coordinates_beside_one_another_are_compared_at_once(least):
    module, ends = ModuleOp([]), EndArithmetic()
    (value,) = scalars(module, [7])
    first = ends.scalar(value, 7, lambda _: value)
    assert ends.extreme([first.moved(-3), first.moved(5)], least=least) == first.moved(-3 if least else 5)


def test_an_extreme_moves_with_its_terms():
    module, ends = ModuleOp([]), EndArithmetic()
    a, b = (ends.scalar(v, n, lambda _, v=v: v) for v, n in zip(scalars(module, [7, 9]), (7, 9), strict=True))
    low = ends.extreme([a, b.moved(-4)], least=True)
    assert ends.extreme([a.moved(2), b.moved(-2)], least=True) == low.moved(2)
    assert ends.extreme([low, low.moved(-1), a], least=True) == low.moved(-1)
