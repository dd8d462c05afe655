"""Whole pipelines: boxes, groups, scalars, indices computed from data, sizes, memory."""

import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tilefuse.evaluator import EvaluationError, evaluate

BLUR = """
  %bx = img.stage "bx" (%x, %y) -> f32 PLACE {
    %a = img.read %in[%x - 1, %y] : !img.func<2xf32>
    %b = img.read %in[%x + 1, %y] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  %by = img.stage "by" (%x, %y) -> f32 {
    %a = img.read %bx[%x, %y - 1] : !img.func<2xf32>
    %b = img.read %bx[%x, %y + 1] : !img.func<2xf32>
    %r = arith.mulf %a, %b : f32
    img.yield %r : f32
  }
"""
FLAT = f"""img.pipeline @blur {{
  %in = img.input "in" : !img.func<2xf32>
  {BLUR.replace("PLACE", "")}
  img.return "out" = %by : !img.func<2xf32>
}}"""
GROUPED = f"""img.pipeline @blur {{
  %in = img.input "in" : !img.func<2xf32>
  %g = img.group "by" schedule #schedule.block_tile<tile = [8, 8], threads = [8, 8]> {{
    {BLUR.replace("PLACE", "place #img.place<block, shared>")}
    img.yield %by : !img.func<2xf32>
  }} : !img.func<2xf32>
  img.return "out" = %g : !img.func<2xf32>
}}"""


def blurred(photo):
    rows = photo[:, :-2] + photo[:, 2:]
    return rows[:-2] * rows[2:]


@pytest.fixture
def photo():
    return np.random.default_rng(0).random((7, 9), np.float32)


@pytest.mark.parametrize("text", [FLAT, GROUPED], ids=["algorithm", "scheduled"])
def test_stencils_on_any_strides(parse, photo, text):
    expected = blurred(photo)
    views = [photo, np.asfortranarray(photo), np.repeat(photo, 2, axis=1)[:, ::2], photo[::-1].copy()[::-1]]
    for view in views:
        got = evaluate(parse(text), {"in": view}, {}, {"out": [(1, 7), (1, 5)]})["out"]
        assert got.dtype == np.float32
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, expected)


def test_mins_of_inputs_move_the_box(parse, photo):
    got = evaluate(parse(FLAT), {"in": photo}, {}, {"out": [(-9, 7), (101, 5)]}, {"in": [-10, 100]})
    np.testing.assert_array_equal(got["out"], blurred(photo))


def test_a_read_outside_names_stage_input_coordinates_and_box(parse, photo):
    with pytest.raises(EvaluationError) as caught:
        evaluate(parse(FLAT), {"in": photo}, {}, {"out": [(1, 8), (1, 5)]})
    assert "stage 'bx' at (8, 0) reads input 'in' at (9, 0), outside of its box [0, 9) x [0, 7)" in str(caught.value)


def test_unused_values_are_not_read(parse):
    text = FLAT.replace("%r = arith.addf", "%dead = img.read %in[%x + 1000, %y] : !img.func<2xf32>\n%r = arith.addf")
    photo = np.ones((3, 3), np.float32)
    assert evaluate(parse(text), {"in": photo}, {}, {"out": [(1, 1), (1, 1)]})["out"].tolist() == [[4.0]]


def test_accesses_scale_transpose_and_repeat(parse):
    text = """img.pipeline @p {
      %in = img.input "in" : !img.func<2xsi32>
      %o = img.stage "out" (%x, %y, %c) -> si32 {
        %v = img.read %in[2 * %y + 1, (%x + %c) floordiv 2] : !img.func<2xsi32>
        %w = img.read %in[%x mod 3, 2] : !img.func<2xsi32>
        %d = img.read %in[%x, %x] : !img.func<2xsi32>
        %i = img.read %in[-1 * %x + 4, %y ceildiv 2] : !img.func<2xsi32>
        %s = arith.addi %v, %w : i32
        %t = arith.addi %s, %d : i32
        %r = arith.muli %t, %i : i32
        img.yield %r : i32
      }
      img.return "out" = %o : !img.func<3xsi32>
    }"""
    a = np.random.default_rng(3).integers(-99, 99, (4, 5), np.int32)
    got = evaluate(parse(text), {"in": a}, {}, {"out": [(0, 4), (0, 2), (1, 3)]})["out"]
    expected = [
        [
            [(a[(x + c) // 2, 2 * y + 1] + a[2, x % 3] + a[x, x]) * a[-(-y // 2), 4 - x] for x in range(4)]
            for y in range(2)
        ]
        for c in range(1, 4)
    ]
    np.testing.assert_array_equal(got, expected)


def test_scalars_params_and_coordinates(parse):
    text = """img.pipeline @p {
      %in = img.input "in" : !img.func<1xui8>
      %k = img.param "k" of si8 : i8
      %n = img.extent 0 of %in : !img.func<1xui8>
      %m = img.min 0 of %in : !img.func<1xui8>
      %two = arith.constant 2 : index
      %half = arith.divsi %n, %two : index
      %o = img.stage "out" (%x) -> si64 {
        %a = arith.muli %x, %half : index
        %b = arith.addi %a, %m : index
        %c = arith.index_cast %b : index to i64
        %d = arith.extsi %k : i8 to i64
        %r = arith.addi %c, %d : i64
        img.yield %r : i64
      }
      img.return "out" = %o : !img.func<1xsi64>
    }"""
    photo = np.zeros(7, np.uint8)
    got = evaluate(parse(text), {"in": photo}, {"k": -5}, {"out": [(-1, 3)]}, {"in": [100]})["out"]
    assert got.tolist() == [92, 95, 98]
    for value in (200, 1.5):
        with pytest.raises(EvaluationError, match="param 'k' is of type si8"):
            evaluate(parse(text), {"in": photo}, {"k": value}, {"out": [(0, 1)]})
    with pytest.raises(EvaluationError, match="no value is given for param 'k'"):
        evaluate(parse(text), {"in": photo}, {}, {"out": [(0, 1)]})


def test_tuples_and_points(parse):
    text = """img.pipeline @p {
      %pair:2 = img.stage "pair" (%x) -> (si16, f32) {
        %i = arith.index_cast %x : index to i16
        %f = arith.sitofp %i : i16 to f32
        img.yield %i, %f : i16, f32
      }
      %o = img.stage "point" () -> f32 {
        %v = img.read %pair#1[3] : !img.func<1xf32>
        img.yield %v : f32
      }
      img.return "a" = %pair#0 : !img.func<1xsi16>, "o" = %o : !img.func<0xf32>
    }"""
    got = evaluate(parse(text), {}, {}, {"a": [(-2, 3)], "o": []})
    assert got["a"].tolist() == [-2, -1, 0]
    assert got["o"].shape == ()
    assert got["o"] == 3


CASCADE = """
  %s{k} = img.stage "s{k}" (%x) -> si32 {{
    %i = img.read %{source}[%x] : !img.func<1xsi32>
    %seven = arith.constant 7 : i32
    %j = arith.addi %i, %seven : i32
    %at = arith.index_cast %j : i32 to index
    %v = img.read %{source}[%at - 5] : !img.func<1xsi32>
    %one = arith.constant 1 : i32
    %r = arith.shrsi %v, %one : i32
    img.yield %r : i32
  }}"""


def test_indices_computed_from_data_of_stages(parse):
    """Every stage reads the one before at points that only its values say, and that no clamp bounds."""
    depth = 4
    text = 'img.pipeline @p {\n%base = img.stage "base" (%x) -> si32 {\n'
    text += "%i = arith.index_cast %x : index to i32\n%sq = arith.muli %i, %i : i32\nimg.yield %sq : i32\n}"
    text += "".join(CASCADE.format(k=k, source=f"s{k - 1}" if k else "base") for k in range(depth))
    text += f'\nimg.return "out" = %s{depth - 1} : !img.func<1xsi32>\n}}'

    def meaning(k, x):
        if k < 0:
            return x * x
        return meaning(k - 1, meaning(k - 1, x) + 2) >> 1

    def wrapped(v):
        return (v + 2**31) % 2**32 - 2**31

    depth_two = text.replace(f'"out" = %s{depth - 1}', '"out" = %s1')
    got = evaluate(parse(depth_two), {}, {}, {"out": [(-3, 7)]})["out"]
    assert got.tolist() == [wrapped(meaning(1, x)) for x in range(-3, 4)]
    with pytest.raises(EvaluationError, match=r"stage '.*' is asked for .* points, .* clamp the indices"):
        evaluate(parse(text), {}, {}, {"out": [(-30, 61)]})


def test_lookup_tables(parse):
    text = """img.pipeline @p {
      %in = img.input "in" : !img.func<2xui8>
      %lut = img.input "lut" : !img.func<1xui16>
      %twice = img.stage "twice" (%i) -> ui16 {
        %v = img.read %lut[%i] : !img.func<1xui16>
        %r = arith.addi %v, %v : i16
        img.yield %r : i16
      }
      %o = img.stage "out" (%x, %y) -> ui16 {
        %v = img.read %in[%x, %y] : !img.func<2xui8>
        %w = arith.extui %v : i8 to i32
        %i = arith.index_cast %w : i32 to index
        %a = img.read %twice[%i] : !img.func<1xui16>
        %b = img.read %lut[%i + 1] : !img.func<1xui16>
        %r = arith.addi %a, %b : i16
        img.yield %r : i16
      }
      img.return "out" = %o : !img.func<2xui16>
    }"""
    photo = np.array([[10, 254], [0, 200]], np.uint8)
    lut = np.arange(256, dtype=np.uint16) ** 2
    box = {"out": [(0, 2), (0, 2)]}
    wide = photo.astype(int)
    expected = (2 * lut[wide] + lut[wide + 1]).astype(np.uint16)
    np.testing.assert_array_equal(evaluate(parse(text), {"in": photo, "lut": lut}, {}, box)["out"], expected)
    photo[1, 0] = 255
    with pytest.raises(EvaluationError, match=r"stage 'out' at \(0, 1\) reads input 'lut' at \(256\)"):
        evaluate(parse(text), {"in": photo, "lut": lut}, {}, box)


def chain(stages):
    body = "".join(
        f'%s{k} = img.stage "s{k}" (%x) -> si32 {{\n%a = img.read %{f"s{k - 1}" if k else "in"}[%x]'
        f" : !img.func<1xsi32>\n%b = img.read %{f's{k - 1}' if k else 'in'}[%x + 1] : !img.func<1xsi32>\n"
        "%r = arith.addi %a, %b : i32\nimg.yield %r : i32 }\n"
        for k in range(stages)
    )
    return (
        f'img.pipeline @p {{ %in = img.input "in" : !img.func<1xsi32>\n{body}'
        f'img.return "out" = %s{stages - 1} : !img.func<1xsi32> }}'
    )


def test_a_chain_of_a_thousand_stages(parse):
    row = np.random.default_rng(4).integers(-(2**31), 2**31 - 1, 1003, np.int32)
    expected = row.copy()
    for _ in range(1000):
        expected = expected[:-1] + expected[1:]
    got = evaluate(parse(chain(1000)), {"in": row}, {}, {"out": [(0, 3)]})["out"]
    np.testing.assert_array_equal(got, expected)


def test_memory_is_freed_on_the_way(parse):
    text = chain(30).replace("(%x)", "(%x, %y)").replace("func<1x", "func<2x")
    text = text.replace("[%x]", "[%x, %y]").replace("[%x + 1]", "[%x + 1, %y]")
    module, picture = parse(text), np.zeros((1000, 1030), np.int32)
    tracemalloc.start()
    evaluate(module, {"in": picture}, {}, {"out": [(0, 1000), (0, 1000)]})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * picture.nbytes, "of 30 stages, a few live at once"


def test_bounds_are_promises(parse, photo):
    text = FLAT.replace(
        '%by = img.stage "by" (%x, %y) -> f32',
        '%by = img.stage "by" (%x, %y) -> f32 bounds #img.box<[1:7, *]>',
    )
    got = evaluate(parse(text), {"in": photo}, {}, {"out": [(1, 7), (1, 5)]})["out"]
    np.testing.assert_array_equal(got, blurred(photo))
    with pytest.raises(EvaluationError, match="stage 'by' is needed at 1 to 8 in dimension 0, but is bound to 1 to 7"):
        evaluate(parse(text), {"in": photo}, {}, {"out": [(1, 8), (1, 5)]})


def test_bad_arguments(parse, photo):
    module, box = parse(FLAT), {"out": [(1, 7), (1, 5)]}
    for inputs, boxes, mins, message in [
        ({}, box, {}, "no array is given for input 'in'"),
        ({"in": photo.astype(np.float64)}, box, {}, "takes an array of float32, not of float64"),
        ({"in": photo.astype(">f4")}, box, {}, "takes an array of float32, not of >f4"),
        ({"in": photo[0]}, box, {}, "has 2 dimensions, the array has 1"),
        ({"in": photo}, {}, {}, "no box is given for output 'out'"),
        ({"in": photo}, {"out": [(0, 1)]}, {}, "needs 2 dimensions"),
        ({"in": photo}, {"out": [(1, 0), (1, 1)]}, {}, "positive extents"),
        ({"in": photo}, box, {"in": [0]}, "1 mins for 2 dimensions"),
    ]:
        with pytest.raises(EvaluationError, match=message):
            evaluate(module, inputs, {}, boxes, mins)
    bound = parse(FLAT.replace('"in" :', '"in" bounds #img.box<[*, 0:6]> :'))
    with pytest.raises(EvaluationError, match="is bound to 6 points from 0 in dimension 1, the array has 7 from 0"):
        evaluate(bound, {"in": photo}, {}, box)
    with pytest.raises(EvaluationError, match="the module holds 0 pipelines"):
        evaluate(ModuleOp([]), {}, {}, {})
    odd = parse(
        FLAT.replace(
            "%r = arith.addf %a, %b : f32",
            "%w = arith.constant 1 : i24\n%s = arith.addi %w, %w : i24\n"
            "%t = arith.sitofp %s : i24 to f32\n%r = arith.addf %a, %t : f32",
        )
    )
    with pytest.raises(EvaluationError, match="values of type i24 cannot be computed"):
        evaluate(odd, {"in": photo}, {}, box)


def test_bfloat16_pixels_need_ml_dtypes(parse, photo, monkeypatch):
    """NumPy has no such dtype."""
    text = FLAT.replace(
        'img.return "out" = %by : !img.func<2xf32>',
        """%half = img.stage "half" (%x, %y) -> bf16 {
          %v = img.read %by[%x, %y] : !img.func<2xf32>
          %r = arith.truncf %v : f32 to bf16
          img.yield %r : bf16
        }
        img.return "out" = %half : !img.func<2xbf16>""",
    )
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(EvaluationError, match="output 'out' is bf16, which NumPy lacks; install ml_dtypes"):
        evaluate(parse(text), {"in": photo}, {}, {"out": [(1, 1), (1, 1)]})
    monkeypatch.setitem(sys.modules, "ml_dtypes", SimpleNamespace(bfloat16=np.float32))
    got = evaluate(parse(text), {"in": photo}, {}, {"out": [(1, 7), (1, 5)]})["out"]
    exact = blurred(photo)
    assert (got.view(np.uint32) & 0xFFFF == 0).all()
    np.testing.assert_allclose(got, exact, rtol=2.0**-8)


def test_a_function_read_at_computed_places_is_kept_for_them(parse):
    module = """img.pipeline @p {
      %a = img.stage "a" (%x) -> si32 {
        %v = arith.constant 8 : i32
        img.yield %v : i32
      }
      %b = img.stage "b" (%x) -> si32 {
        %v = img.read %a[%x] : !img.func<1xsi32>
        img.yield %v : i32
      }
      %c = img.stage "c" (%x) -> si32 {
        %v = img.read %b[%x] : !img.func<1xsi32>
        %i = arith.index_cast %v : i32 to index
        %zero = arith.constant 0 : index
        %at = arith.minsi %i, %zero : index
        %clamped = arith.maxsi %at, %zero : index
        %r = img.read %a[%clamped] : !img.func<1xsi32>
        img.yield %r : i32
      }
      img.return "c" = %c : !img.func<1xsi32>
    }"""
    np.testing.assert_array_equal(evaluate(parse(module), {}, {}, {"c": [(0, 5)]})["c"], [8] * 5)
