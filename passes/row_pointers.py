"""`row-pointers`: access each row of a column loop through a view of memory, and count the columns from 0.

    scf.for %x = %a to %b {                        %row = memref.subview %in[%first + %a][%n][1]
      %p = memref.load %in[%first + %x]            scf.for %k = 0 to %b - %a {
      %q = memref.load %in[%first + %x + 1]   =>     %p = memref.load %row[%k]
      ...                                            %q = memref.load %row[%k + 1]
    } {kernel.simd}                                } {kernel.simd}

Otherwise compilers compute an address for each of the reads, and have too few registers for the addresses of several
rows, since `first + x + 1` may wrap before it is extended to an address. For CPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from typing import cast as as_type

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType, ModuleOp, StridedLayoutAttr
from xdsl.ir import Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from tilefuse.analysis.dependence import is_defined_in
from tilefuse.dialects.constants import integer_constant
from tilefuse.passes.column_steps import SameIndices, counted_terms, step
from tilefuse.passes.row_parts import only_computes, vector_loops

FEWEST = 3
"""Fewest rows for which views pay: the addresses of fewer rows fit registers."""
MemoryAccess = memref.LoadOp | memref.StoreOp
AddressTerms = tuple[tuple[SSAValue, int], ...]
"""Values that are added up, each with its count."""


@dataclass(frozen=True)
class _AccessedRow:
    """A row of accessed memory: the last index is a sum of these terms and a number."""

    memory: SSAValue
    others: tuple[SSAValue, ...]
    """Indices of the other dimensions."""
    terms: AddressTerms
    accesses: list[tuple[MemoryAccess, int]]
    """Accesses of the row, each with its constant column offset."""

    @property
    def numbers(self) -> list[int]:
        return [number for _, number in self.accesses]


@dataclass(frozen=True)
class RowPointers(ModulePass):
    """Access rows through subviews, in loops marked `kernel.simd` over several rows."""

    name = "row-pointers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop, _ in vector_loops(op):
            if integer_constant(loop.step) == 1 and not loop.results and len(rows := _rows(loop)) >= FEWEST:
                _Views(loop).emit(rows)


def _rows(loop: scf.ForOp) -> list[_AccessedRow]:
    """Find the rows of a loop; none if it has other accesses, with which compilers vectorise it as it is."""
    found: dict[tuple[object, ...], _AccessedRow] = {}
    same = SameIndices()
    for op in loop.body.block.ops:
        if not isinstance(op, MemoryAccess):
            if not isinstance(op, scf.YieldOp) and not only_computes(op):
                return []
        elif (place := _place(op, loop)) is not None:
            others, terms, number = place
            alike = (op.memref, tuple(map(same.number, others)), frozenset((same.number(v), n) for v, n in terms))
            found.setdefault(alike, _AccessedRow(op.memref, others, terms, [])).accesses.append((op, number))
        elif any(step(index, loop.body.block.args[0]) != 0 for index in op.indices):
            return []
    return list(found.values())


def _place(op: MemoryAccess, loop: scf.ForOp) -> tuple[tuple[SSAValue, ...], AddressTerms, int] | None:
    """Return the outer indices, and the terms and constant of the last one, of an access of unit stride.

    None of all other accesses.
    """
    body = loop.body.block
    strides = as_type(MemRefType[Any], op.memref.type).get_strides()
    if not op.indices or is_defined_in(op.memref, body) or not strides or strides[-1] != 1:
        return None
    *others, last = op.indices
    counts, number = counted_terms(last, body)
    if counts.pop(body.args[0], 0) != 1 or any(is_defined_in(value, body) for value in (*others, *counts)):
        return None
    added_first = sorted(counts.items(), key=lambda term: term[1] < 0)
    return tuple(others), tuple(added_first), number


class _Views:
    """Emit the views before a loop, and replace its accesses by accesses to them."""

    def __init__(self, loop: scf.ForOp):
        self.loop, self.body = loop, loop.body.block
        self.start = loop.lb
        self.columns = self._sum([(loop.ub, 1), (loop.lb, -1)], 0)
        self.indices: dict[int, SSAValue] = {}
        """Indices of views: the loop variable plus a number, by the number."""
        self.last: Operation | None = None

    def emit(self, rows: Sequence[_AccessedRow]) -> None:
        """Emit all views; the loop then starts at 0."""
        for row in rows:
            view, least = self._view(row), min(row.numbers)
            for op, number in row.accesses:
                self._replace(op, view, number - least)
        self._start_at_zero()

    def _view(self, row: _AccessedRow) -> SSAValue:
        least = min(row.numbers)
        first = self._sum([*row.terms, (self.start, 1)], least)
        size = self._sum([(self.columns, 1)], max(row.numbers) - least)
        source = as_type(MemRefType[Any], row.memory.type)
        layout = StridedLayoutAttr([1], None)
        type = MemRefType(source.element_type, [DYNAMIC_INDEX], layout, source.memory_space)
        deep = len(row.others)
        view = memref.SubviewOp.get(row.memory, [*row.others, first], [*[1] * deep, size], [1] * (deep + 1), type)
        self._before(view)
        view.result.name_hint = f"{row.memory.name_hint or 'row'}_row"
        return view.result

    def _sum(self, terms: Sequence[tuple[SSAValue, int]], number: int) -> SSAValue:
        """Return a sum of values with multiplicities, and a number."""
        found: SSAValue | None = None
        for value, count in terms:
            if (known := integer_constant(value)) is not None:
                number += count * known
                continue
            if count in (1, -1) and found is not None:
                found = self._before((arith.AddiOp if count == 1 else arith.SubiOp)(found, value))
                continue
            part = value if count == 1 else self._before(arith.MuliOp(value, self._number(count)))
            found = part if found is None else self._before(arith.AddiOp(found, part))
        if found is None:
            return self._number(number)
        return found if number == 0 else self._before(arith.AddiOp(found, self._number(number)))

    def _number(self, number: int) -> SSAValue:
        return self._before(arith.ConstantOp(IntegerAttr(number, IndexType())))

    def _before(self, op: Operation) -> SSAValue:
        """Insert an operation before the loop."""
        outside = self.loop.parent
        assert outside is not None
        op.location = self.loop.location
        outside.insert_op_before(op, self.loop)
        return op.results[0]

    def _replace(self, op: MemoryAccess, view: SSAValue, number: int) -> None:
        """Access the view, `columns` to the right of the loop's variable."""
        at = self._index(number)
        stored = [op.value] if isinstance(op, memref.StoreOp) else []
        op.operands = [*stored, view, at]

    def _index(self, number: int) -> SSAValue:
        if number not in self.indices:
            k = self.body.args[0]
            if number == 0:
                self.indices[0] = k
            else:
                constant = arith.ConstantOp(IntegerAttr(number, IndexType()))
                self.indices[number] = self._first(arith.AddiOp(k, self._first(constant)))
        return self.indices[number]

    def _first(self, op: Operation) -> SSAValue:
        """Insert an operation at the start of the loop, after operations inserted earlier."""
        op.location = self.loop.location
        if self.last is None:
            first = self.body.first_op
            assert first is not None
            self.body.insert_op_before(op, first)
        else:
            self.body.insert_op_after(op, self.last)
        self.last = op
        return op.results[0]

    def _start_at_zero(self) -> None:
        """Start the loop at 0; operations on its variable get the sum with the first column."""
        for op in reversed(list(self.body.ops)):
            if op.results and not any(r.first_use for r in op.results) and is_side_effect_free(op):
                self.body.erase_op(op)
        k, own = self.body.args[0], {index.owner for index in self.indices.values()}
        if any(self._is_column(use, own) for use in k.uses):
            column = arith.AddiOp(k, self.start)
            column.result.name_hint = k.name_hint
            self._first(column)
            k.replace_uses_with_if(column.result, lambda use: self._is_column(use, {*own, column}))
        k.name_hint = "k"
        self.loop.operands[0], self.loop.operands[1] = self._number(0), self.columns

    @staticmethod
    def _is_column(use: Use, own: Collection[object]) -> bool:
        """Whether a use of the loop's variable is left from the original loop: neither an index nor an access."""
        return use.operation not in own and not isinstance(use.operation, MemoryAccess)
