"""Ranges of floats against NumPy, on expressions over many values of small ranges; what they bound in a pipeline."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, f16, f32, f64, i32
from xdsl.ir import Block

import tilefuse as hl
from tilefuse.analysis import float_range
from tilefuse.analysis.value_range import value_range
from tilefuse.dialects.img.float_operations import FLOAT_OPERATIONS
from tilefuse.dialects.img.float_ranges import ANY_FLOAT
from tilefuse.evaluator.carriers import carried_signed
from tilefuse.evaluator.table import compute
from tilefuse.runtime.errors import CallError

TYPES = {f16: np.float16, f32: np.float32, f64: np.float64}
BINARY = [
    arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.MinnumfOp, arith.MaxnumfOp, arith.MinimumfOp,
    arith.MaximumfOp,
]  # fmt: skip
UNARY = [arith.NegfOp, math.AbsFOp, math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp]


class Checker:
    """Appends ops to a block; every result must lie in its range, on many values of the arguments, NaN among them."""

    def __init__(self, seed):
        self.rng = Random(seed)
        self.type = self.rng.choice(list(TYPES))
        self.block = Block(arg_types=[self.type] * 3)
        numbers = np.random.default_rng(seed)
        self.known, self.arrays = {}, {}
        for arg in self.block.args[:2]:
            low, high = sorted(self.rng.choice([-300.0, -2.5, -1.0, 0.0, 0.3, 1.0, 7.0, 900.0]) for _ in range(2))
            values = np.concatenate([[low, high], numbers.uniform(low, high, 60)]).astype(TYPES[self.type])
            self.known[arg], self.arrays[arg] = (float(values.min()), float(values.max())), values
        wild = numbers.choice([np.nan, np.inf, -np.inf, 0.0, 3.5], 62).astype(TYPES[self.type])
        self.known[self.block.args[2]], self.arrays[self.block.args[2]] = ANY_FLOAT, wild

    def emit(self, op):
        self.block.add_op(op)
        (result,) = op.results
        with np.errstate(all="ignore"):
            operands = [self.arrays[v] for v in op.operands]
            (self.arrays[result],) = compute(op, operands)
        low, high = value_range(result, self.known)
        values = np.broadcast_to(self.arrays[result], 62)
        if result.type == i32:
            values = carried_signed(values)
        elif (low, high) == ANY_FLOAT:
            return result
        assert not np.isnan(values).any(), f"{op}: NaN in {low} to {high}"
        assert low <= values.min(), f"{op}: {values.min()} is below {low}"
        assert values.max() <= high, f"{op}: {values.max()} is above {high}"
        return result

    def step(self):
        floats = [v for v in self.arrays if v.type == self.type]
        a, b = self.rng.choice(floats), self.rng.choice(floats)
        match self.rng.randrange(5):
            case 0:
                number = self.rng.choice([0.0, 0.1, -1.5, 10.0, 255.0, 1e-3])
                self.emit(arith.ConstantOp(FloatAttr(number, self.type)))
            case 1:
                self.emit(self.rng.choice(UNARY)(a))
            case 2:
                self.emit(arith.FPToSIOp(a, i32))
            case _:
                self.emit(self.rng.choice(BINARY)(a, b))


@pytest.mark.parametrize("seed", range(40))
def test_values_lie_in_their_ranges(seed):
    checker = Checker(seed)
    for _ in range(25):
        checker.step()


def test_a_product_contracted_with_its_sum_lies_in_the_range_too():
    # 0.1f * 10.000001f is rounded to 1: the sum of the exact product and -1 is not 0, as that of the rounded one.
    block = Block(arg_types=[f32, f32])
    a, b = block.args
    block.add_op(product := arith.MulfOp(a, b))
    block.add_op(one := arith.ConstantOp(FloatAttr(-1.0, f32)))
    block.add_op(total := arith.AddfOp(product.result, one.result))
    x, y = (float(np.float32(v)) for v in (0.1, 9.9999999))
    low, high = value_range(total.result, {a: (x, x), b: (y, y)})
    assert low <= x * y - 1 <= high


def pipeline_with(index, pixel=None):
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(pixel or hl.Float(32), 2, "image")
    table, out = hl.Func("table"), hl.Func("out")
    table[x] = x * 3
    out[x, y] = table[index(hl, image[x, y])]
    return hl.Pipeline(out)


PICTURE = np.array([[np.nan, -5, 0.2], [0.5, 0.999, np.inf]], np.float32)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_a_float_that_is_clamped_is_an_index(target):
    program = pipeline_with(lambda hl, p: hl.i32(hl.clamp(p, 0.0, 1.0) * 10.0 + 0.5)).compile(target)
    with np.errstate(invalid="ignore"):
        expected = (np.fmax(np.fmin(PICTURE, 1), 0) * np.float32(10) + np.float32(0.5)).astype(int) * 3
    np.testing.assert_array_equal(program(PICTURE), expected)


def test_a_parameter_that_is_a_float_bounds_it_with_the_number_of_the_call():
    step = hl.Param(hl.Float(32), "step")
    program = pipeline_with(lambda hl, p: hl.i32(hl.clamp(p, 0.0, 1.0) / step)).compile("reference")
    assert program(PICTURE, step=0.25)[1, 2] == 12
    with pytest.raises(CallError, match="nothing bounds"):
        program(PICTURE, step=0.0)


def test_a_float_that_nothing_bounds_is_refused():
    program = pipeline_with(lambda hl, p: hl.i32(p * 10.0)).compile("reference")
    with pytest.raises(CallError, match="nothing bounds"):
        program(PICTURE)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_an_integer_stage_bounds_what_reads_it(target):
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    where, table, out = hl.Func("where"), hl.Func("table"), hl.Func("out")
    where[x, y] = hl.clamp(image[x, y], 0, 5)
    table[x] = x * x
    out[x, y] = table[where[x, y]] + table[where[y, x]]
    picture = np.arange(9, dtype=np.int32).reshape(3, 3) - 1
    expected = picture.clip(0, 5) ** 2
    np.testing.assert_array_equal(hl.Pipeline(out).compile(target)(picture), expected + expected.T)


def test_the_value_outside_of_a_stage_is_no_value_of_it():
    x = hl.Var("x")
    image = hl.ImageParam(hl.Int(32), 1, "image")
    where, table, out = hl.Func("where"), hl.Func("table"), hl.Func("out")
    where[x] = hl.clamp(image[x], 0, 5)
    outside = hl.BoundaryConditions.constant_exterior(where, -(2**30), [(0, 3)])
    table[x] = x
    out[x] = table[outside[x - 1]]
    with pytest.raises(CallError, match="nothing bounds"):
        hl.Pipeline(out).compile("reference")(np.arange(3, dtype=np.int32))


def test_a_new_row_is_all_that_ranges_need(monkeypatch):
    block = Block(arg_types=[f32, f32])
    op = math.CopySignOp(*block.args)
    block.add_op(op)
    known = {block.args[0]: (-2.0, 3.0), block.args[1]: (0.0, 1.0)}
    assert value_range(op.result, known) == ANY_FLOAT
    (row,) = (row for row in FLOAT_OPERATIONS if row.op is math.CopySignOp)

    def span(a, b):
        far = max(-a[0], a[1])
        return -far, far

    monkeypatch.setitem(float_range._SPANS, math.CopySignOp, replace(row, span=span).span)
    assert value_range(op.result, known) == (-3.0, 3.0)
