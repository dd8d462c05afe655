"""Reductions over few points as stages: in how many kernels, and the same bits."""

import numpy as np
import pytest
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

import tilefuse as hl
from tilefuse.evaluator import evaluate
from tilefuse.passes.pipeline import run_passes
from tilefuse.passes.unroll_reductions import UnrollReductions

x, y = hl.Var("x"), hl.Var("y")


def pipelines():
    """A box and what is made of it; the tap of the least value, where a predicate leaves out some."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    around = hl.BoundaryConditions.repeat_edge(image)
    box, bright, least = hl.Func("box"), hl.Func("bright"), hl.Func("least")
    r = hl.RDom([(-1, 3), (-1, 3)])
    box[x, y] = hl.f32(0)
    box[x, y] += around[x + r.x, y + r.y]
    bright[x, y] = box[x, y] * 0.125 + 1.0
    q = hl.RDom([(-1, 3)])
    q.where(q.x != 0)
    least[x, y] = hl.Tuple(hl.i32(7), hl.f32(2))
    v = around[x + q.x, y]
    least[x, y] = hl.Tuple(*(hl.select(v < least[x, y][1], a, b) for a, b in zip((q.x, v), least[x, y], strict=True)))
    return bright, least


@pytest.mark.parametrize(("number", "kernels"), [(0, 1), (1, 1)], ids=["box", "least"])
def test_fused_and_the_same_bits(number, kernels):
    func = pipelines()[number]
    program = hl.Pipeline(func).compile("cpu", strict_float=True)
    assert len(program.kernels) == kernels
    photo = np.random.default_rng(5).random((21, 40), np.float32)
    found, expected = program(photo), hl.Pipeline(func).compile("reference")(photo)
    for a, b in zip(found if number else [found], expected if number else [expected], strict=True):
        np.testing.assert_array_equal(a, b)


def written_out(value, **options):
    """The IR of a stage with a reduction in its expression."""
    f = hl.Func("f")
    f[x, y] = value
    return str(run_passes(hl.Pipeline(f).to_module(), [UnrollReductions(**options)]))


def test_what_does_not_depend_on_the_point_is_there_once():
    p, r = hl.ImageParam(hl.Float(32), 2, "p"), hl.RDom([(0, 4)])
    text = written_out(hl.sum(hl.exp(p[x, y]) * p[x + r, y]))
    assert [text.count(op) for op in ("math.exp", "img.read", "addf", "img.stage")] == [1, 5, 3, 1]


def test_first_dimension_is_innermost_and_what_the_point_decides_is_a_number():
    p, r = hl.ImageParam(hl.Float(32), 2, "p"), hl.RDom([(0, 3), (0, 2)])
    r.where(r.x != 2 * r.y)
    text = written_out(hl.maximum(hl.select(r.x == 1, p[x + r.x, y + r.y], p[x, 0] * hl.f32(r.x + r.y))))
    text = text.replace("%x_1", "%x").replace("%y_1", "%y")
    reads = [line.split("%p[")[1].split("]")[0] for line in text.splitlines() if "img.read %p" in line]
    assert reads == ["%x, 0", "%x + 1, %y", "%x + 1, %y + 1"]
    assert not any(op in text for op in ("cmpi", "select", "sitofp", "img.update"))
    constants = [line.split("constant ")[1] for line in text.splitlines() if "constant" in line and ": f32" in line]
    assert sorted(constants) == ["0xff800000 : f32", "1.000000e+00 : f32", "2.000000e+00 : f32"]


def test_over_many_points_stays_an_update():
    p, r = hl.ImageParam(hl.Float(32), 2, "p"), hl.RDom([(0, 40)])
    assert "img.update" in written_out(hl.sum(p[x + r, y]), max_stencil_instructions=119)
    assert "img.update" not in written_out(hl.sum(p[x + r, y]), max_stencil_instructions=120)


@pytest.mark.parametrize(
    ("weight", "is_written_out"),
    [
        (lambda weights, r: hl.f32(r.x), True),
        (lambda weights, r: weights[r.x + 2, r.y + 2], True),
        (lambda weights, r: weights[r.x + 2, x], False),
    ],
    ids=["numbers", "the same for all points", "other ones for each column"],
)
def test_a_window_is_written_out_and_a_product_of_matrices_is_not(weight, is_written_out):
    p, weights, f = hl.ImageParam(hl.Float(32), 2, "p"), hl.ImageParam(hl.Float(32), 2, "weights"), hl.Func("f")
    r = hl.RDom([(-2, 5), (-2, 5)])
    f[x, y] = hl.f32(0)
    f[x, y] += p[x + r.x, y + r.y] * weight(weights, r)
    module = run_passes(hl.Pipeline(f).to_module(), [UnrollReductions(windows=True)])
    assert ("img.update" not in str(module)) is is_written_out


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("element", [hl.Float(32), hl.UInt(8)])
def test_many_weights_that_are_read_are_an_updates_where_its_rows_are_vectors(element, edges):
    p, weights, f = hl.ImageParam(element, 2, "p"), hl.ImageParam(hl.Float(32), 2, "weights"), hl.Func("f")
    near, r = hl.BoundaryConditions.repeat_edge(p) if edges else p, hl.RDom([(0, 9), (0, 9)])
    f[x, y] = hl.f32(0)
    f[x, y] += hl.f32(near[x + r.x, y + r.y]) * weights[r.x, r.y]
    module = run_passes(hl.Pipeline(f).to_module(), [UnrollReductions(windows=True)])
    assert ("img.update" in str(module)) is not (edges and element == hl.UInt(8))


@pytest.mark.parametrize("element", ["float32", "uint8", "int16"])
def test_a_convolution_by_weights_of_run_time_is_a_stencil(element):
    types = {"float32": hl.Float(32), "uint8": hl.UInt(8), "int16": hl.Int(16)}
    image, weights = hl.ImageParam(types[element], 2, "image"), hl.ImageParam(hl.Float(32), 2, "weights")
    f, edge, r = hl.Func("f"), hl.BoundaryConditions.repeat_edge(image), hl.RDom([(0, 3), (0, 3)])
    f[x, y] = hl.f32(0)
    f[x, y] += hl.f32(edge[x + r.x - 1, y + r.y - 1]) * weights[r.x, r.y]
    program = hl.Pipeline(f).compile("cpu", strict_float=True)
    assert "#schedule.row_strip" in program.source()
    rng = np.random.default_rng(1)
    for shape in ((5, 7), (40, 150)):
        a = rng.integers(0, 100, shape).astype(element), rng.random((3, 3), np.float32)
        np.testing.assert_array_equal(program(*a), hl.Pipeline(f).compile("reference")(*a))


def test_a_value_that_is_two_indices_of_a_read():
    """Pixels on a diagonal that data choose: the second index was taken for the one after it."""
    image, place = hl.ImageParam(hl.Int(32), 4, "image"), hl.ImageParam(hl.UInt(8), 2, "place")
    f, r = hl.Func("f"), hl.RDom([(0, 2)])
    at, alike = (hl.cast(hl.Int(32), place[x, y]) for _ in range(2))
    f[x, y] = hl.i32(0)
    f[x, y] += image[at, alike, r.x, hl.cast(hl.Int(32), place[y, x])]
    pictures = {
        "image": np.random.default_rng(1).integers(0, 1 << 30, (5, 2, 5, 5)).astype(np.int32),
        "place": np.random.default_rng(2).integers(0, 5, (16, 16)).astype(np.uint8),
    }
    module = run_passes(hl.Pipeline(f).to_module(), [CommonSubexpressionElimination(), UnrollReductions()])
    assert "img.update" not in str(module)
    boxes = {"f": [(0, 16), (0, 16)]}
    found, expected = (evaluate(m, pictures, output_boxes=boxes)["f"] for m in (module, hl.Pipeline(f).to_module()))
    np.testing.assert_array_equal(found, expected)
