"""`_` for all remaining coordinates, and Funcs without any: as in Halide, on every back end."""

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse
from tilefuse.dialects.diagnostics import PipelineError

halide = pytest.importorskip("halide")

PICTURE = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


def image_of(hl):
    return hl.Buffer(PICTURE)


def all_of_it(hl, f, x, image):
    f[hl._] = image[hl._] + 1
    return [4, 3, 2]


def after_x(hl, f, x, image):
    f[x, hl._] = image[x, hl._] + hl.u8(x)
    return [4, 3, 2]


def before_x(hl, f, x, image):
    f[hl._, x] = image[hl._, x] * 2
    return [4, 3, 2]


def sliced(hl, f, x, image):
    f[x, hl._] = image[x, hl._, 1]
    return [4, 3]


def none_left(hl, f, x, image):
    f[x, hl._] = image[x, 1, 1]
    return [4]


def named_one_by_one(hl, f, x, image):
    f[hl._] = image[hl._1, hl._0, 0] + hl.u8(hl._1)
    return [3, 4]


@pytest.mark.parametrize("define", [all_of_it, after_x, before_x, sliced, none_left, named_one_by_one])
def test_as_halide(define):
    found = []
    for hl in (tilefuse, halide):
        f, x = hl.Func("f"), hl.Var("x")
        sizes = define(hl, f, x, image_of(hl))
        assert f.dimensions() == len(sizes)
        values = np.asarray(f.realize(sizes))
        found.append((values, [v.name() for v in f.args()]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("f[x] = image[x, _]", r"Func 'f' uses the Var '_0', which is not one of its coordinates \(x\); write _ among"),
        ("f[_] = image[_, _]", r"Buffer '\w+': _ stands 2 times between the brackets"),
        ("f[_, _] = image[_]", r"Func 'f': _ stands 2 times between the brackets"),
        ("f[_] = image[x, x, x, _]", r"Buffer '\w+' has 3 dimensions, but is called with 3|uses the Var 'x'"),
        ("f[x, _] = image[x, x, x, x, _]", r"Buffer '\w+' has 3 dimensions, but is called with 4 indices"),
    ],
)
def test_errors(definition, message):
    names = {"f": tilefuse.Func("f"), "x": tilefuse.Var("x"), "_": tilefuse._, "image": image_of(tilefuse)}
    with pytest.raises(PipelineError, match=message):
        exec(definition, names)


def test_vars_know_what_they_are():
    for hl in (tilefuse, halide):
        assert (hl._.is_placeholder(), hl._3.is_implicit(), hl._3.implicit_index()) == (True, True, 3)
        assert not hl.Var("x").is_implicit()
        assert hl.Var.implicit(2).name() == "_2"
        assert hl.Var("x").same_as(hl.Var("x"))
        assert not hl.Var("x").same_as(hl.Var("y"))


def test_funcs_of_images_and_expressions():
    for hl in (tilefuse, halide):
        x, y = hl.Var("x"), hl.Var("y")
        assert hl.Func(image_of(hl)).dimensions() == 3
        assert hl.Func(hl.ImageParam(hl.UInt(8), 2)).dimensions() == 2
        assert np.asarray(hl.Func(hl._0 + hl._1 * 2).realize([2, 2])).tolist() == [[0, 1], [2, 3]]
        assert np.asarray(hl.lambda_func(x, y, x * y).realize([3, 3]))[2, 2] == 4


@pytest.fixture(params=["reference", "cpu", "cuda"])
def target(request, monkeypatch, tmp_path):
    if request.param == "cuda":
        emulate(monkeypatch, tmp_path)
        return "cpu"
    return request.param


def test_funcs_without_coordinates(target):
    x, image = tilefuse.Var("x"), image_of(tilefuse)
    z, w, total = tilefuse.Func("z"), tilefuse.Func("w"), tilefuse.Func("total")
    z[()] = image[1, 2, 1] + 3
    w[x] = z[()] + tilefuse.u8(x)
    r = tilefuse.RDom([(0, 4)])
    total[()] = tilefuse.sum(w[r.x]), z[()]
    assert z.dimensions() == 0
    for sizes in (None, []):
        result = z.realize(sizes, target=target)
        assert (np.asarray(result).shape, result[()]) == ((), 24)
    assert list(w.realize([4], target=target)) == [24, 25, 26, 27]
    assert [v[()] for v in total.realize([], target=target)] == [102, 24]


def test_a_scalar_and_a_picture_from_one_call(target):
    x, z, f = tilefuse.Var("x"), tilefuse.Func("z"), tilefuse.Func("f")
    image = tilefuse.ImageParam(tilefuse.Float(32), 1, "image")
    z[()] = image[0] * 2
    f[x] = image[x] + z[()]
    program = tilefuse.Pipeline([f, z]).compile(target=target)
    found = program(np.arange(5, dtype=np.float32) + 1)
    assert found[0].tolist() == [3, 4, 5, 6, 7]
    assert float(found[1]) == 2
    out = (np.zeros(5, np.float32), np.zeros((), np.float32))
    program(np.ones(5, np.float32), out=out)
    assert (out[0].tolist(), float(out[1])) == ([3] * 5, 2)


def test_the_gpus_compiler_takes_it():
    z = tilefuse.Func("z")
    z[()] = image_of(tilefuse)[1, 2, 1] + 3
    assert "z_z" in tilefuse.Pipeline(z).compile(target="cuda:sm_90").source()
