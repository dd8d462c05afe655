"""Steps of indices are found in time that grows with the operations, not with the ways through them."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block

from tilefuse.passes.column_steps import SameIndices, step, terms_and_offset


def test_values_that_an_index_uses_twice_are_looked_at_once():
    """A sum of a sum with itself, and so on, has twice as many ways to `x` with each: seed 75216 took minutes."""
    body = Block(arg_types=[IndexType()])
    index = body.args[0]
    for _ in range(200):
        body.add_op(made := arith.AddiOp(index, index))
        index = made.result
    assert step(index, body.args[0]) == 1 << 200
    assert terms_and_offset(index, body) == (frozenset({(body.args[0], 1 << 200)}), 0)


def test_indices_that_differ_by_a_number_have_the_same_terms():
    """x + 2 - y, and x - (y - 1), of which one is the other's plus 1."""
    body = Block(arg_types=[IndexType(), IndexType()])
    x, y = body.args
    one, two = (arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (1, 2))
    right, less = arith.AddiOp(x, two), arith.SubiOp(y, one)
    a, b = arith.SubiOp(right, y), arith.SubiOp(x, less)
    body.add_ops([one, two, right, less, a, b])
    terms = frozenset({(x, 1), (y, -1)})
    assert [terms_and_offset(i.result, body) for i in (a, b)] == [(terms, 2), (terms, 1)]


def test_indices_that_are_computed_alike_have_one_number():
    """max(y + 2 - 1, 0) and max(y + 1, 0), but not max(y + 2, 0), nor of another y."""
    body = Block(arg_types=[IndexType(), IndexType()])
    y, other = body.args
    zero, one, two = numbers = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in range(3)]
    below = arith.AddiOp(y, two)
    rows = [arith.SubiOp(below, one), arith.AddiOp(one, y), below, arith.AddiOp(other, one)]
    clamped = [arith.MaxSIOp(row, zero) for row in rows]
    body.add_ops([*numbers, below, rows[0], rows[1], rows[3], *clamped])
    same = SameIndices()
    a, b, c, d = (same.number(op.result) for op in clamped)
    assert a == b
    assert len({a, c, d}) == 3


def test_products_of_products_are_numbered_once_each():
    """A product of a product with itself, and so on, is deep and has twice as many ways to `x` with each."""
    body = Block(arg_types=[IndexType()])
    ends = []
    for _ in range(2):
        index = body.args[0]
        for _ in range(3000):
            body.add_op(made := arith.MuliOp(index, index))
            index = made.result
        ends.append(index)
    same = SameIndices()
    assert same.number(ends[0]) == same.number(ends[1])
