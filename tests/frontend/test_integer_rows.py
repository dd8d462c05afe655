"""An operation on integers is one row of a table: the front end and the range analysis read its row, and name none."""

import ast
from pathlib import Path

import pytest
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Block

from tilefuse.analysis import value_range as ranges
from tilefuse.dialects.img.float_operations import FLOAT_OPERATIONS
from tilefuse.dialects.img.integer_operations import INTEGER_OPERATIONS, IntegerOperation, Reading
from tilefuse.frontend import emit
from tilefuse.frontend.expr import Expr, constant, node
from tilefuse.frontend.types import Int, UInt

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("type", [Int(32), UInt(32)])
def test_a_new_row_is_all_that_the_front_end_needs(monkeypatch, type):
    row = IntegerOperation(arith.CeilDivSIOp, Reading.SIGNED, lambda a, b: -(-a // b), name="ceiling")
    monkeypatch.setattr(emit, "_INTEGER", emit.integer_builders([row]))
    block = Block(arg_types=[i32, i32])
    e: Expr = node("ceiling", type, (constant(type, 7), constant(type, 2)))
    found = emit.BodyEmitter(block).node(e, block.args)
    assert isinstance(found.owner, arith.CeilDivSIOp)
    assert tuple(found.owner.operands) == tuple(block.args)


def test_rows_of_one_name_differ_in_sign():
    rows = [
        IntegerOperation(arith.CeilDivSIOp, Reading.SIGNED, lambda a, b: a, name="ceiling"),
        IntegerOperation(arith.CeilDivUIOp, Reading.UNSIGNED, lambda a, b: a, name="ceiling"),
    ]
    expected = {("ceiling", True): arith.CeilDivSIOp, ("ceiling", False): arith.CeilDivUIOp}
    assert emit.integer_builders(rows) == expected


def test_a_new_row_is_all_that_the_range_analysis_needs(monkeypatch):
    a, b = test.TestOp(result_types=[IndexType(), IndexType()]).results
    op = arith.CeilDivSIOp(a, b)
    known = {a: (10, 20), b: (3, 3)}
    assert ranges.is_unbounded(ranges.value_range(op.result, known))

    def span(width, a, b):
        return -(-a[0] // b[1]), -(-a[1] // b[0])

    row = IntegerOperation(arith.CeilDivSIOp, Reading.SIGNED, lambda a, b: -(-a // b), span=span)
    monkeypatch.setitem(ranges._ROWS, arith.CeilDivSIOp, row)
    assert ranges.value_range(op.result, known) == (4, 7)


def spelled(path: str) -> set[str]:
    """Return the classes of operations that a file names, as in `arith.AddiOp`."""
    tree = ast.parse((ROOT / path).read_text())
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} | {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name)
    }


def test_operations_of_rows_are_spelled_in_the_table_alone():
    named = {row.op.__name__ for row in INTEGER_OPERATIONS if row.name}
    assert named
    assert named & spelled("frontend/emit.py") == set()


SPELLED_BY_RANGES = {
    "AddiOp": "the `select` of sums and remainders that `img.mod` is expanded to",
    "RemSIOp": "the `select` of sums and remainders that `img.mod` is expanded to",
    "ExtUIOp": "of an unsigned parameter, whose number the call gives",
    "FPToSIOp": "between floats and integers: its row has no range",
    "FPToUIOp": "between floats and integers: its row has no range",
    "SIToFPOp": "between floats and integers: its row has no range",
    "UIToFPOp": "between floats and integers: its row has no range",
}
"""Operations of rows that `analysis/value_range.py` and `analysis/float_range.py` name, each with its reason."""


def test_ranges_of_operations_are_in_their_rows():
    rows = {row.op.__name__ for row in (*INTEGER_OPERATIONS, *FLOAT_OPERATIONS)}
    named = spelled("analysis/value_range.py") | spelled("analysis/float_range.py")
    assert rows & named == set(SPELLED_BY_RANGES)
