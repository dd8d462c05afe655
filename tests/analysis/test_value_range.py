"""Ranges of values against the evaluator, on expressions over every value of small ranges."""

from random import Random

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1, i8, i16, i32
from xdsl.ir import Block

from tilefuse.analysis.bounds import required_boxes
from tilefuse.analysis.value_range import is_unbounded, value_range
from tilefuse.dialects.img.ops import DivOp, ModOp
from tilefuse.dialects.parsing import LocatedParser
from tilefuse.evaluator.carriers import CARRIERS, carried_signed
from tilefuse.evaluator.table import compute
from tilefuse.passes.pipeline import new_context

BINARY = [
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.MinSIOp,
    arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp, arith.DivSIOp,
    arith.DivUIOp, arith.FloorDivSIOp, arith.RemSIOp, arith.RemUIOp,
    lambda a, b: DivOp(a, b, True), lambda a, b: DivOp(a, b, False),
    lambda a, b: ModOp(a, b, True), lambda a, b: ModOp(a, b, False),
]  # fmt: skip
COUNTS = [math.CtPopOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp]
WIDTHS = {i1: 1, i8: 8, i16: 16, i32: 32}


def carry(numbers, type):
    wide = np.asarray(numbers, np.int64)
    return (wide & 1).astype(bool) if type == i1 else wide.astype(CARRIERS[type])


class Checker:
    """Appends ops to a block; every result must lie in its range, on every value of the arguments."""

    def __init__(self, rng):
        self.rng = rng
        self.block = Block(arg_types=[i8, i8])
        self.known = {}
        axes = []
        for arg in self.block.args:
            low = rng.randint(-128, 127)
            self.known[arg] = (low, rng.randint(low, min(127, low + rng.choice([2, 30, 255]))))
            axes.append(np.arange(self.known[arg][0], self.known[arg][1] + 1))
        grids = np.meshgrid(*axes)
        self.arrays = {a: carry(g.ravel(), i8) for a, g in zip(self.block.args, grids, strict=True)}

    def emit(self, op):
        self.block.add_op(op)
        (result,) = op.results
        (self.arrays[result],) = compute(op, [self.arrays[v] for v in op.operands])
        low, high = value_range(result, self.known)
        values = carried_signed(self.arrays[result])
        assert low <= values.min(), f"{op}: {values.min()} is below {low}"
        assert values.max() <= high, f"{op}: {values.max()} is above {high}"
        return result

    def constant(self, type):
        half = 1 << (WIDTHS[type] - 1)
        number = self.rng.choice([0, 1, 2, 3, 7, 8, 40, -1, -7, half - 1, -half])
        return self.emit(arith.ConstantOp(IntegerAttr((number + half) % (2 * half) - half, type)))

    def any_value(self):
        return self.rng.choice(list(self.arrays))

    def as_type(self, value, type):
        have, want = WIDTHS[value.type], WIDTHS[type]
        if have == want:
            return value
        widen = self.rng.choice([arith.ExtSIOp, arith.ExtUIOp])
        return self.emit((widen if have < want else arith.TruncIOp)(value, type))

    def step(self):
        a = self.any_value()
        match self.rng.randrange(7):
            case 6:
                self.emit(self.rng.choice(COUNTS)(a))
            case 0:
                self.as_type(a, self.rng.choice([i1, i8, i16, i32]))
            case 1:
                condition = self.as_type(self.any_value(), i1)
                self.emit(arith.SelectOp(condition, a, self.as_type(self.any_value(), a.type)))
            case 2:
                index = self.emit(arith.IndexCastOp(a, IndexType()))
                del self.arrays[index]
            case _:
                b = self.constant(a.type) if self.rng.random() < 0.5 else self.any_value()
                self.emit(self.rng.choice(BINARY)(a, self.as_type(b, a.type)))


@pytest.mark.parametrize("seed", range(40))
def test_no_value_leaves_its_range(seed):
    rng = Random(seed)
    for _ in range(5):
        checker = Checker(rng)
        for _ in range(12):
            checker.step()


def ranges(*ops_of):
    """The range of the last of some ops on one i8 with values -3 to 100, or on the result before."""
    block = Block(arg_types=[i8])
    value = block.args[0]
    for make in ops_of:
        op = make(value, lambda n, t=value.type: _constant(block, n, t))
        block.add_op(op)
        value = op.results[0]
    return value_range(value, {block.args[0]: (-3, 100)})


def _constant(block, number, type):
    op = arith.ConstantOp(IntegerAttr(number, type))
    block.add_op(op)
    return op.result


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ([lambda v, c: arith.AddiOp(v, c(20))], (17, 120)),
        ([lambda v, c: arith.AddiOp(v, c(40))], (-128, 127)),
        ([lambda v, c: arith.ExtUIOp(v, i16)], (0, 255)),
        ([lambda v, c: arith.ExtSIOp(v, i32), lambda v, c: arith.MuliOp(v, c(-2))], (-200, 6)),
        ([lambda v, c: arith.MaxSIOp(v, c(0)), lambda v, c: arith.MinSIOp(v, c(9))], (0, 9)),
        ([lambda v, c: arith.MinUIOp(v, c(9))], (0, 9)),
        ([lambda v, c: arith.AndIOp(v, c(15))], (0, 15)),
        ([lambda v, c: arith.AndIOp(v, c(-16))], (-128, 127)),
        ([lambda v, c: arith.FloorDivSIOp(v, c(10))], (-1, 10)),
        ([lambda v, c: DivOp(v, c(10), True)], (-1, 10)),
        ([lambda v, c: DivOp(v, c(10), False)], (0, 25)),
        ([lambda v, c: ModOp(v, c(10), True)], (0, 9)),
        ([lambda v, c: arith.ShRUIOp(v, c(4))], (0, 15)),
        ([lambda v, c: arith.ShRSIOp(v, c(4))], (-1, 6)),
        ([lambda v, c: arith.TruncIOp(v, i1)], (-1, 0)),
    ],
)
def test_ranges_are_tight(ops, expected):
    assert ranges(*ops) == expected


def test_a_value_used_often_and_a_long_body():
    """Not exponential in the uses, and no recursion."""
    block = Block(arg_types=[i32])
    value = block.args[0]
    for _ in range(3000):
        op = arith.AddiOp(value, value)
        block.add_op(op)
        value = op.result
    assert value_range(value, {block.args[0]: (0, 0)}) == (0, 0)
    assert is_unbounded(value_range(value, {block.args[0]: (0, 1)}))


def test_pixels_are_read_as_the_body_reads_them():
    """A ui8 pixel as signed reaches below 0, and what it indexes must be computed there."""
    text = """img.pipeline @p {
      %in = img.input "in" : !img.func<1xui8>
      %lut = img.stage "lut" (%x) -> si32 {
        %r = arith.index_cast %x : index to i32
        img.yield %r : i32
      }
      %o = img.stage "out" (%x) -> si32 {
        %a = img.read %in[%x] : !img.func<1xui8>
        %s = arith.EXTEND %a : i8 to i32
        %i = arith.index_cast %s : i32 to index
        %r = img.read %lut[%i] : !img.func<1xsi32>
        img.yield %r : i32
      }
      img.return "out" = %o : !img.func<1xsi32>
    }"""
    for extend, box in {"extsi": (-128, 256), "extui": (0, 256)}.items():
        module = LocatedParser(new_context(), text.replace("EXTEND", extend), "p.mlir").parse_module()
        pipeline = module.body.block.first_op
        boxes = required_boxes(pipeline, {"out": ((0, 4),)}, {"in": ((0, 4),)}, {})
        (lut,) = [box for func, box in boxes.items() if func.name_hint == "lut"]
        assert lut == (box,)


@pytest.mark.parametrize("divisor", [1, 3, 5, 127])
def test_an_expanded_mod_has_the_range_of_mod(divisor):
    block = Block(arg_types=[i8])
    by, zero = (arith.ConstantOp(IntegerAttr(n, i8)) for n in (divisor, 0))
    remainder = arith.RemSIOp(block.args[0], by)
    less = arith.CmpiOp(remainder, zero, "slt")
    shifted = arith.AddiOp(remainder, by)
    found, other = arith.SelectOp(less, shifted, remainder), arith.SelectOp(less, remainder, shifted)
    block.add_ops([by, zero, remainder, less, shifted, found, other])
    assert value_range(remainder.result, {}) == (1 - divisor, divisor - 1)
    assert value_range(remainder.result, {block.args[0]: (-100, -1)}) == (1 - divisor, 0)
    assert value_range(found.result, {}) == (0, divisor - 1)
    low, high = value_range(other.result, {})
    assert low <= 1 - divisor
    assert high >= divisor - 1
