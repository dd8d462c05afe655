"""`strict_float(e)`: the operations of one expression are rounded one by one, whatever the compilers may contract."""

import beside_halide
import numpy as np
import pytest

import tilefuse as hl

RNG = np.random.default_rng(3)


def arrays(dtype):
    return [RNG.standard_normal(4096).astype(dtype) for _ in range(3)]


def combined(h, a, b, c):
    return [h.strict_float(a * b + c), h.strict_float(c - a * b), h.strict_float((a * b) % (c + 1))]


NAMES = ["a * b + c", "c - a * b", "%"]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_operation_is_rounded(dtype, monkeypatch, tmp_path):
    given = arrays(dtype)
    pipeline = hl.Pipeline(beside_halide.define(hl, given, combined))
    inputs = {f"in_{i}": array for i, array in enumerate(given)}
    # without strict_float=True
    found = pipeline.compile(target="cpu")(**inputs)
    beside_halide.assert_same(found, beside_halide.by_us(given, combined, "reference"), NAMES, f"cpu: {dtype}")
    beside_halide.assert_back_ends_agree(given, combined, NAMES, dtype, monkeypatch, tmp_path)


def test_what_stands_outside_may_be_contracted():
    given = arrays("f4")

    def both(h, a, b, c):
        return [h.strict_float(a * b + c), a * c + b]

    source = hl.Pipeline(beside_halide.define(hl, given, both)).compile(target="cuda:sm_90").source()
    assert source.count("__fmul_rn(") == 1 == source.count("__fadd_rn(")
    assert " * " in source.split("__global__")[1]


def test_it_is_an_attribute_of_the_ir(build):
    x, image, f = hl.Var("x"), hl.ImageParam(hl.Float(32), 1, "image"), hl.Func("f")
    product = image[x] * image[x + 1]
    f[x] = hl.strict_float(hl.select(product > 1, product + image[x], 0.5)) - product
    text = str(build(f))
    assert text.count("img.strict") == 2  # the product in it, and the sum; not the product and difference outside
    assert text.count("arith.mulf") == 2


def test_a_strict_sum_is_not_regrouped():
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    r = hl.RDom([(-3, 7), (-3, 7)])

    def stages(wrap):
        f = hl.Func("f")
        f[x, y] = wrap(hl.sum(hl.BoundaryConditions.repeat_edge(image)[x + r.x, y + r.y]))
        return hl.Pipeline(f).compile(target="cpu", fast_math=True).ir("canonicalize-stages")

    assert stages(lambda e: e).count("img.stage") == 2
    assert stages(hl.strict_float).count("addf") == 49
    assert stages(hl.strict_float).count("img.strict") == 49


def test_integers_are_left_alone(build):
    x, image, f = hl.Var("x"), hl.ImageParam(hl.UInt(8), 1, "image"), hl.Func("f")
    f[x] = hl.strict_float(image[x] * 2 + 1)
    assert "img.strict" not in str(build(f))
