"""`expand-shifts` on every pair of 8-bit integers, and on other types' corners, by the evaluator."""

import numpy as np
import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i1, i8, i64
from xdsl.ir import Block, Region

from tilefuse.evaluator.carriers import CARRIERS
from tilefuse.evaluator.table import compute
from tilefuse.passes.expand_shifts import ExpandShifts
from tilefuse.passes.pipeline import new_context

SHIFTS = [arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp]
LIMITS = {i1: 1, i8: 8, i64: 64, IndexType(): 64}


def module_of(kind, type, count=None):
    block = Block(arg_types=[type, type])
    by = block.args[1]
    if count is not None:
        block.add_op(constant := arith.ConstantOp(IntegerAttr(count, type)))
        by = constant.result
    block.add_op(op := kind(block.args[0], by))
    block.add_op(func.ReturnOp(op.result))
    return ModuleOp([func.FuncOp("f", ([type, type], [type]), Region(block))])


def ops(module):
    return list(module.body.block.first_op.body.block.ops)


def run(module, a, b):
    """The result; fails where MLIR would leave a shift undefined."""
    block = module.body.block.first_op.body.block
    values = dict(zip(block.args, (a, b), strict=True))
    for op in block.ops:
        operands = [values[v] for v in op.operands]
        if isinstance(op, func.ReturnOp):
            return np.broadcast_to(operands[0], a.shape)
        if isinstance(op, tuple(SHIFTS)):
            count = operands[1].view(f"u{operands[1].dtype.itemsize}")
            assert count.max() < LIMITS[op.result.type], "shift by the width or more"
        (values[op.results[0]],) = compute(op, operands)
    raise AssertionError("no return")


def expanded(kind, type, count=None):
    module = module_of(kind, type, count)
    ExpandShifts().apply(new_context(), module)
    module.verify()
    return module


def meaning(kind, a, b, width):
    """Of Python integers: `a` read as `kind` reads it, `b` unsigned."""
    if kind is arith.ShLIOp:
        return a << b if b < width else 0
    return a >> min(b, width)


def grids(type):
    if type == i8:
        numbers = np.arange(256)
    elif type == i1:
        numbers = np.arange(2)
    else:
        numbers = np.array([0, 1, 5, 31, 32, 33, 63, 64, 65, 2**32, 2**62, -1, -64, -(2**63)])
    return [g.ravel().astype(CARRIERS[type]) for g in np.meshgrid(numbers, numbers)]


@pytest.mark.parametrize("type", [i8, i1, i64, IndexType()])
@pytest.mark.parametrize("kind", SHIFTS)
def test_any_count(kind, type):
    a, b = grids(type)
    width = LIMITS[type]
    mask = 2**width - 1
    expected = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        x, y = int(x) & mask, int(y) & mask
        if kind is arith.ShRSIOp and x >> (width - 1):
            x -= mask + 1
        expected.append(meaning(kind, x, y, width) & mask)
    got = run(expanded(kind, type), a, b)
    assert [int(v) & mask for v in got.tolist()] == expected


@pytest.mark.parametrize("kind", SHIFTS)
def test_constant_count(kind):
    a = np.arange(256, dtype=np.uint8)
    for count in range(-128, 128):
        module = expanded(kind, i8, count)
        read = a.view(np.int8) if kind is arith.ShRSIOp else a
        expected = [meaning(kind, x, count % 256, 8) % 256 for x in read.tolist()]
        assert run(module, a, a).tolist() == expected
        if 0 <= count < 8:
            assert len(ops(module)) == 3, "it stays as it was"


@pytest.mark.parametrize(
    ("make", "number", "stays"),
    [
        (arith.AndIOp, 7, True),
        (arith.AndIOp, 15, False),
        (arith.AndIOp, -8, False),
        (arith.MinUIOp, 7, True),
        (arith.MinUIOp, 8, False),
        (arith.MinSIOp, 7, False),
        (arith.RemUIOp, 8, True),
        (arith.RemUIOp, 9, False),
    ],
)
def test_counts_that_are_held_below_the_width_cost_nothing(make, number, stays):
    module = module_of(arith.ShLIOp, i8)
    shift, _ = ops(module)
    constant = arith.ConstantOp(IntegerAttr(number, i8))
    held = make(shift.rhs, constant.result)
    shift.parent.insert_ops_before([constant, held], shift)
    shift.operands[1] = held.results[0]
    ExpandShifts().apply(new_context(), module)
    assert (len(ops(module)) == 4) == stays


def test_the_cpu_shifts_as_the_evaluator_does():
    from tilefuse.dialects.parsing import LocatedParser
    from tilefuse.evaluator import evaluate
    from tilefuse.runtime.program import compile_pipeline

    numbers = np.array([0, 1, 31, 32, 33, 63, 64, 2**31 - 1, -1, -(2**31), 2**40, -(2**63), 2**63 - 1])
    text = """img.pipeline @p {
      %in_a = img.input "a" : !img.func<1xT>
      %in_b = img.input "b" : !img.func<1xT>
      %o:3 = img.stage "out" (%x) -> (T, T, T) {
        %a = img.read %in_a[%x] : !img.func<1xT>
        %b = img.read %in_b[%x] : !img.func<1xT>
        %l = arith.shli %a, %b : I
        %u = arith.shrui %a, %b : I
        %s = arith.shrsi %a, %b : I
        img.yield %l, %u, %s : I, I, I
      }
      img.return "l" = %o#0 : !img.func<1xT>, "u" = %o#1 : !img.func<1xT>, "s" = %o#2 : !img.func<1xT>
    }"""
    for bits in (32, 64):
        a, b = (np.ascontiguousarray(g.ravel().astype(f"i{bits // 8}")) for g in np.meshgrid(numbers, numbers))
        written = text.replace("T", f"si{bits}").replace("I", f"i{bits}")
        module = LocatedParser(new_context(), written, "p.mlir").parse_module()
        expected = evaluate(module, {"a": a, "b": b}, {}, {name: [(0, a.size)] for name in "lus"})
        for name, got in zip("lus", compile_pipeline(module, "cpu")(a, b), strict=True):
            np.testing.assert_array_equal(got, expected[name])
