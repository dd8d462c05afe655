"""Updates: the order of the domain, what is asked of the old function, and boxes that only data decide."""

import numpy as np
import pytest

from tilefuse.evaluator import EvaluationError, evaluate
from tilefuse.evaluator.updates import _slabs

START = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = img.extent 0 of %in : !img.func<1xsi32>
  %f0 = img.stage "f0" (%x) -> si32 {
    %z = arith.index_cast %x : index to i32
    img.yield %z : i32
  }
"""


def updated(parse, update, values, box, params=""):
    text = f"""img.pipeline @p {{
  %in = img.input "in" : !img.func<1xsi32>
  {params}{START}
  %f1 = {update}
  img.return "f" = %f1 : !img.func<1xsi32>
}}"""
    return evaluate(parse(text), {"in": np.asarray(values, np.int32)}, {}, {"f": [box]})["f"]


def test_the_last_of_several_writes_stays(parse):
    update = """img.update "f1" () over (%r in [%c0, %n]) of (%f = %f0 : !img.func<1xsi32>) {
      %v = img.read %in[%r] : !img.func<1xsi32>
      img.write %v at [%r mod 2] : i32
    }"""
    np.testing.assert_array_equal(updated(parse, update, [5, 6, 7, 8, 9], (0, 3)), [9, 8, 2])


def test_an_empty_domain_reads_nothing(parse):
    update = """img.update "f1" () over (%r in [%c1, %c0]) of (%f = %f0 : !img.func<1xsi32>) {
      %v = img.read %in[%r + 1000] : !img.func<1xsi32>
      img.write %v at [%r] : i32
    }"""
    np.testing.assert_array_equal(updated(parse, update, [5], (3, 2)), [3, 4])


def test_outside_of_the_box_that_is_asked_for(parse):
    """A running sum needs all that comes before."""
    update = """img.update "f1" () over (%r in [%c1, %n]) of (%f = %f0 : !img.func<1xsi32>) combine [add] {
      %v = img.read %f[%r - 1] : !img.func<1xsi32>
      img.write %v at [%r] : i32
    }"""
    np.testing.assert_array_equal(updated(parse, update, np.zeros(20), (15, 3)), np.cumsum(np.arange(20))[15:18])


def test_reads_of_itself_that_data_decide(parse):
    """The box of the old function grows with what is read of it."""
    update = """img.update "f1" () over (%r in [%c0, %n]) of (%f = %f0 : !img.func<1xsi32>) {
      %v = img.read %in[%r] : !img.func<1xsi32>
      %i = arith.index_cast %v : i32 to index
      %w = img.read %f[%i] : !img.func<1xsi32>
      %j = arith.index_cast %w : i32 to index
      %u = img.read %f[%j + 1] : !img.func<1xsi32>
      img.write %u at [%r] : i32
    }"""
    expected = np.arange(-100, 100)
    for r, i in enumerate([40, -30, 0, 2]):
        expected[100 + r] = expected[100 + expected[100 + i] + 1]
    np.testing.assert_array_equal(updated(parse, update, [40, -30, 0, 2], (0, 5)), expected[100:105])


def test_writes_that_data_decide_and_a_predicate_leaves_out(parse):
    update = """img.update "f1" () over (%r in [%c0, %n]) of (%f = %f0 : !img.func<1xsi32>) combine [max] {
      %v = img.read %in[%r] : !img.func<1xsi32>
      %i = arith.index_cast %v : i32 to index
      %z = arith.constant 0 : i32
      %k = arith.constant 7 : i32
      %p = arith.cmpi sge, %v, %z : i32
      img.write %k at [%i] where %p : i32
    }"""
    np.testing.assert_array_equal(updated(parse, update, [2, -(2**31), 1, 30], (0, 4)), [0, 7, 7, 3])


def test_a_read_outside_of_an_input_names_the_update(parse):
    update = """img.update "f1" () over (%r in [%c0, %n]) of (%f = %f0 : !img.func<1xsi32>) {
      %v = img.read %in[%r + 1] : !img.func<1xsi32>
      img.write %v at [%r] : i32
    }"""
    with pytest.raises(EvaluationError, match=r"update 'f1' at \(2\) reads input 'in' at \(3\), outside of its box"):
        updated(parse, update, [1, 2, 3], (0, 3))


def test_floats_are_added_in_order(parse):
    values = np.array([1e8, 1, -1e8, 1, 3], np.float32)
    text = """img.pipeline @p {
      %in = img.input "in" : !img.func<1xf32>
      %c0 = arith.constant 0 : index
      %n = img.extent 0 of %in : !img.func<1xf32>
      %f0 = img.stage "f0" () -> f32 {
        %z = arith.constant 0.0 : f32
        img.yield %z : f32
      }
      %f1 = img.update "f1" () over (%r in [%c0, %n]) of (%f = %f0 : !img.func<0xf32>) combine [add] {
        %v = img.read %in[%r] : !img.func<1xf32>
        img.write %v at [] : f32
      }
      img.return "f" = %f1 : !img.func<0xf32>
    }"""
    total = np.float32(0)
    for value in values:
        total = np.float32(total + value)
    assert evaluate(parse(text), {"in": values}, {}, {"f": []})["f"] == total


@pytest.mark.parametrize("pure", [1, 1000, 2**22])
def test_slabs_cover_a_domain_in_order(pure):
    domain = ((2, 3), (-1, 4), (0, 700), (5, 2))
    points = []
    for slab in _slabs(domain, pure):
        ranges = [range(low, low + n) for low, n in slab]
        points += [(a, b, c, d) for d in ranges[3] for c in ranges[2] for b in ranges[1] for a in ranges[0]]
    ranges = [range(low, low + n) for low, n in domain]
    assert points == [(a, b, c, d) for d in ranges[3] for c in ranges[2] for b in ranges[1] for a in ranges[0]]
