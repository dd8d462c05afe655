"""Boundary conditions against Halide's."""

import numpy as np
import pytest

from tilefuse.evaluator import EvaluationError, evaluate

hl = pytest.importorskip("halide")

KINDS = ["repeat_edge", "mirror_image", "mirror_interior", "repeat_image", "constant_exterior"]


def pipeline(kind, form="", element="ui8"):
    """A boundary in both dimensions, of the input's box or one given by `form`; "out" reads it 40 before."""
    value = "value %k" if kind == "constant_exterior" else ""
    return f"""img.pipeline @p {{
      %in = img.input "in" : !img.func<2x{element}>
      %k = arith.constant 77 : i8
      %n = arith.constant 2 : index
      %m = arith.constant 1 : index
      %b = img.boundary {kind} %in dims [0, 1] {form} {value} : !img.func<2x{element}>
      %o = img.stage "out" (%x, %y) -> {element} {{
        %v = img.read %b[%x - 40, %y - 40] : !img.func<2x{element}>
        img.yield %v : i8
      }}
      img.return "direct" = %b : !img.func<2x{element}>, "out" = %o : !img.func<2x{element}>
    }}"""


def by_halide(kind, photo, box=None):
    x, y = hl.Var(), hl.Var()
    buffer = hl.Buffer(photo)
    f = hl.Func()
    f[x, y] = buffer[x, y]
    bounds = box or [(0, photo.shape[1]), (0, photo.shape[0])]
    args = [hl.u8(77)] if kind == "constant_exterior" else []
    continued = getattr(hl.BoundaryConditions, kind)(f, *args, [tuple(map(hl.i32, b)) for b in bounds])
    g = hl.Func()
    g[x, y] = continued[x - 40, y - 40]
    return np.array(g.realize([81, 81]))


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (3, 1), (2, 5), (7, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_as_halide_several_periods_away(parse, kind, shape):
    photo = np.random.default_rng(0).integers(0, 70, shape, np.uint8)
    boxes = {"direct": [(-40, 81), (-40, 81)], "out": [(0, 81), (0, 81)]}
    got = evaluate(parse(pipeline(kind)), {"in": photo}, {}, boxes)
    np.testing.assert_array_equal(got["out"], by_halide(kind, photo))
    np.testing.assert_array_equal(got["direct"], got["out"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_box_of_its_own(parse, kind):
    """x in [1, 3), y in [2, 3): nothing of the input outside of it is read."""
    photo = np.random.default_rng(1).integers(0, 70, (4, 5), np.uint8)
    module = parse(pipeline(kind, "in [%m, %n] by [%n, %m]"))
    boxes = {"direct": [(-3, 9), (-3, 9)], "out": [(0, 81), (0, 81)]}
    got = evaluate(module, {"in": photo}, {}, boxes)
    np.testing.assert_array_equal(got["out"], by_halide(kind, photo, [(1, 2), (2, 1)]))
    cut = np.ascontiguousarray(photo[2:3, 1:3])
    again = evaluate(module, {"in": cut}, {}, boxes, {"in": [1, 2]})
    np.testing.assert_array_equal(again["out"], got["out"])


def test_one_dimension_only(parse):
    text = pipeline("repeat_edge").replace("dims [0, 1]", "dims [0]")
    photo = np.arange(6, dtype=np.uint8).reshape(2, 3)
    got = evaluate(parse(text), {"in": photo}, {}, {"direct": [(-1, 5), (0, 2)], "out": [(39, 1), (41, 1)]})
    assert got["direct"].tolist() == [[0, 0, 1, 2, 2], [3, 3, 4, 5, 5]]
    assert got["out"].tolist() == [[3]]
    with pytest.raises(EvaluationError, match=r"output 'direct' at \(-1, 2\) reads input 'in' at \(0, 2\)"):
        evaluate(parse(text), {"in": photo}, {}, {"direct": [(-1, 5), (0, 3)], "out": [(40, 1), (40, 1)]})


def test_nothing_is_read_where_an_exterior_decides_everywhere(parse):
    """The source may be undefined there: it is a shifted copy, and far from its box."""
    text = """img.pipeline @p {
      %in = img.input "in" : !img.func<1xsi16>
      %one = arith.constant 1 : index
      %zero = arith.constant 7 : i16
      %far = img.stage "far" (%x) -> si16 {
        %v = img.read %in[%x - 100] : !img.func<1xsi16>
        img.yield %v : i16
      }
      %b = img.boundary constant_exterior %far dims [0] in [%one] by [%one] value %zero : !img.func<1xsi16>
      img.return "out" = %b : !img.func<1xsi16>
    }"""
    photo = np.array([5], np.int16)
    assert evaluate(parse(text), {"in": photo}, {}, {"out": [(2, 3)]})["out"].tolist() == [7, 7, 7]
    with pytest.raises(EvaluationError, match=r"stage 'far' at \(1\) reads input 'in' at \(-99\)"):
        evaluate(parse(text), {"in": photo}, {}, {"out": [(0, 3)]})


def test_boundary_over_boundary(parse):
    text = pipeline("repeat_edge").replace(
        "%o = ",
        "%c = img.boundary constant_exterior %b dims [0, 1] in [%m, %m] by [%n, %n] value %k : !img.func<2xui8>\n%o = ",
    )
    text = text.replace('"direct" = %b', '"direct" = %c')
    photo = np.array([[1, 2], [3, 4]], np.uint8)
    boxes = {"direct": [(0, 4), (0, 4)], "out": [(40, 1), (40, 1)]}
    got = evaluate(parse(text), {"in": photo}, {}, boxes)["direct"]
    assert got.tolist() == [[77, 77, 77, 77], [77, 4, 4, 77], [77, 4, 4, 77], [77, 77, 77, 77]]


def test_an_empty_box_has_nothing_to_continue(parse):
    text = pipeline("mirror_image", "in [%m, %m] by [%m, %e]").replace("%n =", "%e = arith.constant 0 : index\n%n =")
    with pytest.raises(EvaluationError, match="mirror_image: 0 points in dimension 1"):
        evaluate(parse(text), {"in": np.zeros((3, 3), np.uint8)}, {}, {"direct": [(0, 1)] * 2, "out": [(0, 1)] * 2})
