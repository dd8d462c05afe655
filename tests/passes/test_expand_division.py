"""`expand-division` and the canonicalization of divisions, on every pair of 8-bit integers."""

import numpy as np
import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i1, i8, i32
from xdsl.ir import Block, Region
from xdsl.transforms.canonicalize import CanonicalizePass

from tilefuse.dialects.img.ops import DivOp, ModOp
from tilefuse.passes.expand_division import ExpandDivision
from tilefuse.passes.pipeline import new_context

ALL = np.arange(-128, 128, dtype=np.int64)
A, B = (grid.ravel() for grid in np.meshgrid(ALL, ALL, indexing="ij"))


def wrap(values):
    return (values + 128) % 256 - 128


def euclid(a, b):
    safe = np.where(b == 0, 1, b)
    rest = a % np.abs(safe)
    return np.where(b == 0, 0, (a - rest) // safe), np.where(b == 0, 0, rest)


def floor(a, b):
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b))


MEANINGS = {
    "div signed": lambda a, b: euclid(a, b)[0],
    "mod signed": lambda a, b: euclid(a, b)[1],
    "div unsigned": lambda a, b: floor(a & 255, b & 255),
    "mod unsigned": lambda a, b: euclid(a & 255, b & 255)[1],
    "floordivsi": floor,
    "ceildivsi": lambda a, b: -floor(-a, b),
}


def operation(kind, a, b):
    match kind.split():
        case ["div" | "mod" as name, sign]:
            return (DivOp if name == "div" else ModOp)(a, b, sign == "signed")
    return {"floordivsi": arith.FloorDivSIOp, "ceildivsi": arith.CeilDivSIOp}[kind](a, b)


def module_of(kind, divisor=None, dividend=None, type=i8):
    block = Block(arg_types=[type, type])
    a, b = block.args
    for number in (dividend, divisor):
        if number is not None:
            block.add_op(arith.ConstantOp(IntegerAttr(number, type)))
    constants = list(block.ops)
    if divisor is not None:
        b = constants[-1].result
    if dividend is not None:
        a = constants[0].result
    op = operation(kind, a, b)
    block.add_op(op)
    block.add_op(func.ReturnOp(op))
    return ModuleOp([func.FuncOp("f", ([type, type], [type]), Region(block))])


def body(module):
    return next(iter(module.body.block.ops)).body.block


def truncated(a, b):
    assert not np.any(b == 0), "division by zero"
    return np.trunc(a / b).astype(np.int64)


def truncated_signed(a, b):
    assert not np.any((a == -128) & (b == -1)), "INT_MIN / -1"
    return truncated(a, b)


COMPARE = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]


def run(module, a, b):
    """The result of the one function on 8-bit integers; fails where C or LLVM would be undefined."""
    block = body(module)
    values = dict(zip(block.args, (a, b), strict=True))
    for op in block.ops:
        x = [values[v] for v in op.operands]
        match op:
            case arith.ConstantOp():
                result = np.full_like(a, op.value.value.data)
            case arith.AddiOp():
                result = x[0] + x[1]
            case arith.SubiOp():
                result = x[0] - x[1]
            case arith.AndIOp():
                result = x[0] & x[1]
            case arith.OrIOp():
                result = x[0] | x[1]
            case arith.XOrIOp():
                result = x[0] ^ x[1]
            case arith.ShRSIOp():
                result = x[0] >> x[1]
            case arith.ShRUIOp():
                result = (x[0] & 255) >> x[1]
            case arith.CmpiOp():
                result = COMPARE[op.predicate.value.data](x[0], x[1])
            case arith.SelectOp():
                result = np.where(x[0], x[1], x[2])
            case arith.DivSIOp():
                result = truncated_signed(x[0], x[1])
            case arith.RemSIOp():
                result = x[0] - truncated_signed(x[0], x[1]) * x[1]
            case arith.DivUIOp():
                result = truncated(x[0] & 255, x[1] & 255)
            case arith.RemUIOp():
                result = (x[0] & 255) - truncated(x[0] & 255, x[1] & 255) * (x[1] & 255)
            case func.ReturnOp():
                return x[0]
        values[op.results[0]] = result if result.dtype == bool else wrap(result)
    raise AssertionError("no return")


@pytest.mark.parametrize("kind", MEANINGS)
def test_any_divisor(kind):
    module = module_of(kind)
    ExpandDivision().apply(new_context(), module)
    module.verify()
    np.testing.assert_array_equal(run(module, A, B), wrap(MEANINGS[kind](A, B)))


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("kind", MEANINGS)
def test_constant_divisor(kind, canonical):
    for divisor in ALL.tolist():
        module = module_of(kind, divisor)
        if canonical:
            CanonicalizePass().apply(new_context(), module)
        ExpandDivision().apply(new_context(), module)
        expected = wrap(MEANINGS[kind](ALL, np.full_like(ALL, divisor)))
        np.testing.assert_array_equal(run(module, ALL, ALL), expected, err_msg=f"divisor {divisor}")


@pytest.mark.parametrize("kind", [k for k in MEANINGS if "signed" in k])
def test_constants_fold(kind):
    corners = [-128, -127, -7, -2, -1, 0, 1, 2, 7, 127]
    for dividend in corners:
        for divisor in corners:
            module = module_of(kind, divisor, dividend)
            CanonicalizePass().apply(new_context(), module)
            constant, _ = body(module).ops
            assert isinstance(constant, arith.ConstantOp)
            expected = wrap(MEANINGS[kind](np.array([dividend]), np.array([divisor])))
            assert constant.value.value.data == expected[0], (dividend, divisor)


@pytest.mark.parametrize("kind", [k for k in MEANINGS if "signed" in k])
def test_a_dividend_of_zero_folds(kind):
    module = module_of(kind, dividend=0)
    CanonicalizePass().apply(new_context(), module)
    assert names(module) == ["constant"]
    np.testing.assert_array_equal(run(module, A, B), 0 * B)


def names(module):
    return [op.name.removeprefix("arith.") for op in body(module).ops][:-1]


@pytest.mark.parametrize("type", [i32, IndexType()])
def test_length_of_the_code(type):
    def expanded(kind, divisor):
        module = module_of(kind, divisor, type=type)
        ExpandDivision().apply(new_context(), module)
        return [n for n in names(module) if n != "constant"]

    def canonical(kind, divisor):
        module = module_of(kind, divisor, type=type)
        CanonicalizePass().apply(new_context(), module)
        return [n for n in names(module) if n != "constant"]

    assert expanded("floordivsi", 8) == ["shrsi"]
    assert expanded("floordivsi", 1) == []
    assert expanded("floordivsi", 3) == ["remsi", "cmpi", "divsi", "addi", "select"]
    if type == i32:
        assert expanded("div signed", 8) == ["shrsi"]
        assert expanded("mod signed", 8) == ["andi"]
        assert expanded("mod signed", 3) == ["remsi", "cmpi", "addi", "select"]
        assert expanded("div unsigned", 3) == ["divui"]
        assert canonical("div signed", 3) == ["floordivsi"]
        assert canonical("mod signed", 3) == ["img.mod"]
        assert canonical("div signed", 8) == ["shrsi"]
        assert canonical("mod signed", 8) == ["andi"]
        assert canonical("div unsigned", 3) == ["divui"]
        assert canonical("mod unsigned", 3) == ["remui"]
        for divisor in (0, 1, -1):
            assert canonical("mod signed", divisor) == []
        assert canonical("div signed", 0) == canonical("div signed", 1) == []
        assert canonical("div signed", -1) == ["subi"]
        # Read as unsigned, -1 is the largest number.
        assert canonical("div unsigned", -1) == ["divui"]


@pytest.mark.parametrize("signed", [False, True])
def test_bools(signed):
    block = Block(arg_types=[i1, i1])
    ops = [kind(*block.args, signed) for kind in (DivOp, ModOp)]
    block.add_ops([*ops, func.ReturnOp(*ops)])
    module = ModuleOp([func.FuncOp("f", ([i1, i1], [i1, i1]), Region(block))])
    ExpandDivision().apply(new_context(), module)
    module.verify()
    quotient, rest = body(module).last_op.operands
    assert isinstance(quotient.owner, arith.AndIOp)
    assert isinstance(rest.owner, arith.ConstantOp)
    assert rest.owner.value.value.data == 0


def test_places_and_names_are_kept():
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    module = module_of("div signed")
    op = next(op for op in body(module).ops if isinstance(op, DivOp))
    op.location = FileLineColLoc(StringAttr("f.py"), IntAttr(3), IntAttr(4))
    op.result.name_hint = "ratio"
    ExpandDivision().apply(new_context(), module)
    *made, last = body(module).ops
    assert all(o.location == op.location for o in made)
    assert last.operands[0].name_hint == "ratio"


def test_cost_grows_with_the_number_of_ops():
    """Thousands of divisions: one walk, so the number of visits per op does not depend on their count."""
    import time

    def seconds(n):
        block = Block(arg_types=[i32, i32])
        value = block.args[0]
        for _ in range(n):
            op = DivOp(value, block.args[1], True)
            block.add_op(op)
            value = op.result
        block.add_op(func.ReturnOp(value))
        module = ModuleOp([func.FuncOp("f", ([i32, i32], [i32]), Region(block))])
        start = time.perf_counter()
        ExpandDivision().apply(new_context(), module)
        return time.perf_counter() - start

    assert min(seconds(2000) for _ in range(3)) < 40 * min(seconds(200) for _ in range(3))
