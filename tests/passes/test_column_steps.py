"""Steps of indices are found in time that grows with the operations, not with the ways through them."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block

from tilefuse.passes.column_steps import step


def test_values_that_an_index_uses_twice_are_looked_at_once():
    """A sum of a sum with itself, and so on, has twice as many ways to `x` with each: seed 75216 took minutes."""
    body = Block(arg_types=[IndexType()])
    index = body.args[0]
    for _ in range(200):
        body.add_op(made := arith.AddiOp(index, index))
        index = made.result
    assert step(index, body.args[0]) == 1 << 200
