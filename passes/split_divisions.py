"""`split-divisions`: take the terms of a sum that are multiples of the divisor out of its floor division.

    %s = arith.addi %x0, %v : index                    // %x0 is a multiple of 2
    %q = arith.floordivsi %s, %c2 : index
      =>
    %h = arith.floordivsi %x0, %c2 : index
    %r = arith.floordivsi %v, %c2 : index
    %q = arith.addi %h, %r : index

Of `f(x / 2, y / 2)` several points of a thread read the same place. The compiler of kernels unrolls the loops over a
thread's points, so that %r is a constant, and loads each place once. That a term is a multiple follows from products,
sums, the bounds of loops, and for an argument of a function from all its calls. Divisions that are part of a remainder
stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass

from tilefuse.dialects.constants import integer_constant

Multiples = dict[SSAValue, int]


class _Divisors:
    """Find divisors of index values: 0 for zero, which all numbers divide, and 1 where nothing is known."""

    def __init__(self, module: ModuleOp):
        self._calls: dict[str, list[func.CallOp]] = {}
        for op in module.walk():
            if isinstance(op, func.CallOp):
                self._calls.setdefault(op.callee.root_reference.data, []).append(op)
        self._known: dict[SSAValue, int] = {}

    def of(self, value: SSAValue) -> int:
        """Return a number that divides `value` wherever it is computed."""
        if value not in self._known:
            self._known[value] = 1  # of what depends on itself
            self._known[value] = self._find(value)
        return self._known[value]

    def _find(self, value: SSAValue) -> int:
        if (number := integer_constant(value)) is not None:
            return abs(number)
        if isinstance(value, BlockArgument):
            return self._of_argument(value)
        match value.owner:
            case arith.MuliOp(lhs=a, rhs=b):
                return self.of(a) * self.of(b)
            case arith.AddiOp(lhs=a, rhs=b) | arith.SubiOp(lhs=a, rhs=b):
                return math.gcd(self.of(a), self.of(b))
            case arith.MinSIOp(lhs=a, rhs=b) | arith.MaxSIOp(lhs=a, rhs=b) | arith.SelectOp(lhs=a, rhs=b):
                return math.gcd(self.of(a), self.of(b))
        return 1

    def _of_argument(self, value: BlockArgument) -> int:
        match value.block.parent_op():
            case scf.ForOp() as loop if value.index == 0:
                return math.gcd(self.of(loop.lb), self.of(loop.step))
            case func.FuncOp() as function:
                calls = self._calls.get(function.sym_name.data, [])
                found = [self.of(call.operands[value.index]) for call in calls]
                return math.gcd(*found) if found else 1
        return 1


@dataclass(frozen=True)
class SplitDivisions(ModulePass):
    """Move multiples of the divisor out of floor divisions of indices, so that the rest may be a constant."""

    name = "split-divisions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        divisions = [d for d in op.walk() if isinstance(d, arith.FloorDivSIOp) and isinstance(d.result.type, IndexType)]
        if not divisions:
            return
        divisors = _Divisors(op)
        for division in divisions:
            by = integer_constant(division.rhs)
            if by is not None and by > 1 and not _is_of_remainder(division, by):
                _split(division, by, divisors)


def _is_of_remainder(division: arith.FloorDivSIOp, by: int) -> bool:
    """Whether a division is part of `a - floor(a / n) * n`, of which compilers make a mask if they see it."""
    users = [use.operation for use in division.result.uses]
    return any(isinstance(op, arith.MuliOp) and by in map(integer_constant, op.operands) for op in users)


def _split(division: arith.FloorDivSIOp, by: int, divisors: _Divisors) -> None:
    terms, constant = _terms(division.lhs)
    divisible = {v: n for v, n in terms.items() if n * divisors.of(v) % by == 0}
    is_one_term = terms == divisible and constant % by == 0 and len(terms) == 1
    if not divisible or (is_one_term and [*divisible.values()] == [1]):
        return
    block = division.parent
    assert block is not None
    emit = _IndexEmitter(block, division)
    parts: list[tuple[SSAValue, int]] = []
    for value, times in divisible.items():
        # of the factor as much as it has, of the value the rest
        shared = math.gcd(times, by)
        parts.append((value if shared == by else emit.floordiv(value, by // shared), times // shared))
    if rest := [(v, n) for v, n in terms.items() if v not in divisible]:
        parts.append((emit.floordiv(emit.sum(rest, constant % by), by), 1))
    division.result.replace_all_uses_with(emit.sum(parts, constant // by))
    block.erase_op(division)


def _terms(value: SSAValue) -> tuple[Multiples, int]:
    """Split an index into the multiplicity of each term, and a constant."""
    if (number := integer_constant(value)) is not None:
        return {}, number
    match value.owner:
        case arith.AddiOp(lhs=a, rhs=b):
            return _added(_terms(a), _terms(b), 1)
        case arith.SubiOp(lhs=a, rhs=b):
            return _added(_terms(a), _terms(b), -1)
        case arith.MuliOp(lhs=a, rhs=b):
            for factor, other in ((a, b), (b, a)):
                if (number := integer_constant(factor)) is not None:
                    return _added(({}, 0), _terms(other), number)
    return {value: 1}, 0


def _added(
    a: tuple[Mapping[SSAValue, int], int], b: tuple[Mapping[SSAValue, int], int], times: int
) -> tuple[Multiples, int]:
    terms = dict(a[0])
    for value, n in b[0].items():
        terms[value] = terms.get(value, 0) + times * n
    return {v: n for v, n in terms.items() if n}, a[1] + times * b[1]


class _IndexEmitter:
    """Emit index arithmetic before an operation."""

    def __init__(self, block: Block, anchor: arith.FloorDivSIOp):
        self._block, self._anchor = block, anchor

    def _op(self, op: arith.ConstantOp | arith.AddiOp | arith.MuliOp | arith.FloorDivSIOp) -> SSAValue:
        op.location = self._anchor.location
        self._block.insert_op_before(op, self._anchor)
        return op.results[0]

    def _constant(self, number: int) -> SSAValue:
        return self._op(arith.ConstantOp.from_int_and_width(number, IndexType()))

    def floordiv(self, value: SSAValue, by: int) -> SSAValue:
        """Emit floor(value / by)."""
        return self._op(arith.FloorDivSIOp(value, self._constant(by)))

    def sum(self, terms: Sequence[tuple[SSAValue, int]], constant: int) -> SSAValue:
        """Emit the sum of values, each times a number, and a constant."""
        first, *rest = [value if n == 1 else self._op(arith.MuliOp(value, self._constant(n))) for value, n in terms]
        for value in rest:
            first = self._op(arith.AddiOp(first, value))
        return self._op(arith.AddiOp(first, self._constant(constant))) if constant else first
