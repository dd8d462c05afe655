"""`interleave-planes`: gather corresponding points of several planes by vector loads from a copy with adjacent planes.

    scf.for %x = %a to %b {                        if the places that the row may read are few:
      %i = ... memref.load ...                       if the table has other planes or places:
      %p = memref.load %f[%c0, %i, %j]                 %table[(%i, %j) * 4 + 0, + 1] = %f[%c0, %i, %j], %f[%c1, %i, %j]
      %q = memref.load %f[%c1, %i, %j]       =>      scf.for %part = %a to %b step 512 {
      ...                                              for %x: %places[%x - %part] = the place of (%i, %j)
      memref.store %r, %out[%x]                        for %x: %points[0, 1][%x - %part] = %table[place + 0, + 1]
    } {kernel.simd}                                    for %x: the loop's body, with %points in place of gathers
                                                     }
                                                   else: the loop as it was

A gather takes a load for each element. Where a loop gathers from one function at places that data decide, in several
planes (or rows) that do not change along the loop, a vector holds the planes of one place: a load and permutations
take the place of as many gathers as planes. The copy pays where its places are few, as those of a grid that is coarser
than the picture are (bilateral grids). It stays until a row needs other planes. For CPUs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from tilefuse.analysis.dependence import depending, is_defined_in, operations_behind
from tilefuse.dialects.constants import integer_constant
from tilefuse.lowering.emit import INDEX, SHARED, Emitter, Num
from tilefuse.lowering.printers.interleaved import DEINTERLEAVE, TOGETHER
from tilefuse.passes.row_parts import number_width, only_computes, stores_at_end, vector_loops, whole_array

TABLE_BITS = 32
"""Bits of an element."""
LEAST_LOADS = 4
"""Gathers of a loop from which on a table pays."""
MOST_TABLE_PLANES = 32
"""Planes of a table: their permuted points stay in the first cache."""
TABLE_ELEMENTS = 1 << 14
"""Elements of a table, which stays in the second cache."""
PLACES_OF_COLUMN = 2
"""Places of a table for each column of the row at most: a copied place takes as long as some gathered elements."""
PART_ELEMENTS = 1 << 12
"""Elements that are kept for a part of a row."""
LEAST_KEPT_COLUMNS = 32
"""Columns of a part."""


@dataclass(frozen=True)
class InterleavePlanes(ModulePass):
    """Load planes at data-dependent places from an interleaved copy."""

    name = "interleave-planes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop, entry in vector_loops(op):
            if (table := table_of(loop, entry)) is not None:
                _Rewrite(loop, entry, table).emit()


@dataclass
class _GatherTable:
    """Gathers of one function at places that several planes share."""

    memory: SSAValue
    moving: tuple[int, ...]
    """The dimensions whose index changes along the loop."""
    planes: dict[Hashable, tuple[SSAValue, ...]] = field(default_factory=dict)
    """Indices in the other dimensions, of each plane."""
    places: dict[Hashable, tuple[SSAValue, ...]] = field(default_factory=dict)
    """Indices in the moving dimensions, of each place."""
    loads: dict[memref.LoadOp, tuple[int, int]] = field(default_factory=dict)
    """Number of the place, and of the plane, of each gather."""

    @property
    def pays(self) -> bool:
        """Whether there are enough gathers, and most planes are needed of most places."""
        return len(self.loads) >= LEAST_LOADS and 2 * len(self.loads) > len(self.places) * len(self.planes)

    def add(self, load: memref.LoadOp, numbers: Mapping[SSAValue, Hashable]) -> None:
        """Add a gather; `numbers`: equal ones of values that are equally computed."""
        moving = tuple(load.indices[d] for d in self.moving)
        fixed = tuple(i for d, i in enumerate(load.indices) if d not in self.moving)
        found = []
        for known, indices in ((self.places, moving), (self.planes, fixed)):
            key = tuple(numbers.get(i, i) for i in indices)
            known.setdefault(key, indices)
            found.append(list(known).index(key))
        self.loads[load] = (found[0], found[1])


def table_of(loop: scf.ForOp, entry: Block) -> _GatherTable | None:
    """Find the gathers of a loop that a table may serve; None if it has none that pay."""
    if not stores_at_end(loop):
        return None
    block, x = loop.body.block, loop.body.block.args[0]
    loads = [op for op in block.ops if isinstance(op, memref.LoadOp)]
    along_x, by_data = depending(block.ops, [x]), depending(block.ops, [op.res for op in loads])
    candidates = [op for op in loads if number_width(op.res.type) == TABLE_BITS and not by_data.isdisjoint(op.indices)]
    if len(candidates) < LEAST_LOADS:
        return None
    numbers, written = _value_numbers(loop, entry), _written(entry)
    found: dict[Hashable, _GatherTable] = {}
    for load in candidates:
        moving = tuple(d for d, i in enumerate(load.indices) if i in along_x)
        fixed = [i for d, i in enumerate(load.indices) if d not in moving]
        is_input = isinstance(load.memref, BlockArgument) and load.memref.owner is entry and load.memref not in written
        if is_input and not any(is_defined_in(i, block) for i in fixed):
            found.setdefault((load.memref, moving), _GatherTable(load.memref, moving)).add(load, numbers)
    tables = [t for t in found.values() if 1 < len(t.planes) <= MOST_TABLE_PLANES and t.pays]
    return max(tables, key=lambda t: len(t.loads), default=None)


def _value_numbers(loop: scf.ForOp, entry: Block) -> dict[SSAValue, Hashable]:
    """Number the values of a function up to a loop, whose effects are its last operations (value numbering)."""
    numbers: dict[Hashable, int] = {}
    found: dict[SSAValue, Hashable] = {}
    for op in entry.walk():
        if op is loop.body.block.last_op:
            break
        if op.regions or not (only_computes(op) or (isinstance(op, memref.LoadOp) and op.parent is loop.body.block)):
            continue
        given = tuple(sorted((name, str(a)) for name, a in {**op.attributes, **op.properties}.items()))
        key = (op.name, given, tuple(found.get(v, v) for v in op.operands), tuple(r.type for r in op.results))
        for result in op.results:
            found[result] = numbers.setdefault(key, len(numbers))
    return found


def _written(entry: Block) -> set[SSAValue]:
    """Return the arrays that a function stores to, or hands on."""
    others = [op for op in entry.walk() if not isinstance(op, memref.LoadOp | memref.DimOp | memref.SubviewOp)]
    return {whole_array(v) for op in others for v in op.operands if isinstance(v.type, MemRefType)}


class _Rewrite:
    """Emits the table, and the loops of a part, in front of a loop, which becomes the other branch."""

    def __init__(self, loop: scf.ForOp, entry: Block, table: _GatherTable):
        self.loop, self.entry, self.table = loop, entry, table
        self.body, self.x = loop.body.block, loop.body.block.args[0]
        self.e, self.start = Emitter(Block()), Emitter(Block())
        """In front of the loop, and at the start of the function."""
        self.spans: list[tuple[Num, Num]] = []
        """First and last index in each moving dimension."""
        self.extents: list[Num] = []
        self.pitch = -(-len(table.planes) // TOGETHER) * TOGETHER
        """Elements of a place."""
        kept = len(table.places) * self.pitch
        self.columns = max(LEAST_KEPT_COLUMNS, 1 << (PART_ELEMENTS // kept).bit_length() - 1)

    def emit(self) -> None:
        """Emit the code."""
        e, loop = self.e, self.loop
        self.spans = [self._span(d) for d in range(len(self.table.moving))]
        self.extents = [e.add(e.sub(high, low), 1) for low, high in self.spans]
        count: Num = 1
        for n in self.extents:
            count = e.mul(count, n)
        room = e.min(e.mul(e.max(e.sub(loop.ub, loop.lb), 0), PLACES_OF_COLUMN), TABLE_ELEMENTS // self.pitch)

        def with_table() -> None:
            table = self._array([TABLE_ELEMENTS], self.element, "table")
            self._fill(table)
            self._parts(table)

        e.choose(e.compare("sle", count, room), with_table, lambda: None)
        choice, first = e.block.last_op, self.entry.first_op
        assert isinstance(choice, scf.IfOp)
        assert first is not None
        self._put(self.start, first)
        self._put(e, loop)
        loop.detach()
        end = choice.false_region.block.last_op
        assert end is not None
        choice.false_region.block.insert_op_before(loop, end)

    def _put(self, emitted: Emitter, before: Operation) -> None:
        """Move operations in front of another one."""
        block = before.parent
        assert block is not None
        for op in emitted.block.walk():
            op.location = self.loop.location
        for op in list(emitted.block.ops):
            op.detach()
            block.insert_op_before(op, before)

    @property
    def element(self) -> Attribute:
        """Element type of the table."""
        return next(iter(self.table.loads)).res.type

    def _array(self, shape: Sequence[int], type: Attribute, name: str) -> SSAValue:
        """Allocate an array for the whole function."""
        return self.start.alloca(shape, type, SHARED, name)

    # --- places

    def _span(self, number: int) -> tuple[Num, Num]:
        """Return the first and last index of a moving dimension: the row's if it is monotone, else the function's."""
        e, indices = self.e, [place[number] for place in self.table.places.values()]
        if not all(_is_monotone(i, self.x) for i in indices):
            return 0, e.sub(e.dim(self.table.memory, self.table.moving[number]), 1)
        ends = [self._at(i, at) for i in indices for at in (self.loop.lb, e.sub(self.loop.ub, 1))]
        low = high = ends[0]
        for end in ends[1:]:
            low, high = e.min(low, end), e.max(high, end)
        return e.max(low, 0), high

    def _at(self, index: SSAValue, x: Num) -> Num:
        """Compute an index at a column."""
        values: dict[SSAValue, SSAValue] = {self.x: self.e.value(x)}
        self._compute(_sorted(self.body, [index]), values)
        return values.get(index, index)

    def _place(self, indices: Sequence[Num]) -> Num:
        """Compute the first element of a place."""
        e = self.e
        found: Num = 0
        for index, (low, _), extent in zip(indices, self.spans, self.extents, strict=True):
            found = e.add(e.mul(found, extent), e.sub(index, low))
        return e.mul(found, self.pitch)

    # --- the table

    def _fill(self, table: SSAValue) -> None:
        """Copy the planes, unless the table already has them."""
        e = self.e
        fixed = list(dict.fromkeys(i for plane in self.table.planes.values() for i in plane))
        needed = [n for n in (*fixed, *(end for span in self.spans for end in span)) if _known(n) is None]
        state = self._array([max(1, len(needed))], INDEX, "held")
        self.start.store(self.start.value(-1), state, [0])
        differs: SSAValue | None = None
        for number, value in enumerate(needed or [0]):
            other = e.compare("ne", e.load(state, [number]), value)
            differs = other if differs is None else e.either(differs, other)
        with e.when(differs):
            for number, value in enumerate(needed or [0]):
                e.store(e.value(value), state, [number])
            self._copy(table)

    def _copy(self, table: SSAValue) -> None:
        e, moving = self.e, self.table.moving

        def loops(indices: list[Num]) -> None:
            if len(indices) < len(moving):
                low, high = self.spans[len(indices)]
                with e.loop(e.add(high, 1), "i", start=low) as i:
                    loops([*indices, i])
                return
            first = self._place(indices)
            for number, plane in enumerate(self.table.planes.values()):
                rest, at = iter(plane), dict(zip(moving, indices, strict=True))
                index = [at[d] if d in at else next(rest) for d in range(len(plane) + len(moving))]
                e.store(e.load(self.table.memory, index), table, [e.add(first, number)])

        loops([])

    # --- the row

    def _parts(self, table: SSAValue) -> None:
        """Emit the loops of each part of the row."""
        e, loop, of_places = self.e, self.loop, list(self.table.places.values())
        places = [self._array([self.columns], INDEX, "places") for _ in of_places]
        points = [self._array([self.pitch, self.columns], self.element, "points") for _ in of_places]
        with e.loop(loop.ub, "part", start=loop.lb, step=self.columns) as part:
            end = e.min(e.add(part, self.columns), loop.ub)
            with e.loop(end, "x", start=part, simd=True) as x:
                values: dict[SSAValue, SSAValue] = {self.x: e.value(x)}
                self._compute(_sorted(self.body, [i for place in of_places for i in place]), values)
                for place, array in zip(of_places, places, strict=True):
                    number = self._place([values.get(i, i) for i in place])
                    e.store(e.value(number), array, [e.sub(x, part)])
            for array, rows in zip(places, points, strict=True):
                self._load_points(table, array, rows, e.sub(end, part))
            with e.loop(end, "x", start=part, simd=True) as x:
                self._finish(e.value(x), e.sub(x, part), points)

    def _finish(self, x: SSAValue, column: Num, points: Sequence[SSAValue]) -> None:
        """Emit the body of the loop with loaded points; `column`: of the part."""
        values: dict[SSAValue, SSAValue] = {self.x: x}
        for load, (place, plane) in self.table.loads.items():
            values[load.res] = self.e.load(points[place], [plane, column])
        stores = [op for op in self.body.ops if isinstance(op, memref.StoreOp)]
        wanted = [v for store in stores for v in store.operands]
        self._compute(_sorted(self.body, wanted, [load.res for load in self.table.loads]), values)
        self._compute(stores, values)

    def _compute(self, ops: Sequence[Operation], values: dict[SSAValue, SSAValue]) -> None:
        """Append copies of operations on `values`, to which their results are added."""
        for op in ops:
            if not any(r in values for r in op.results):
                self.e.effect(op.clone(values))

    def _load_points(self, table: SSAValue, places: SSAValue, points: SSAValue, count: Num) -> None:
        """Emit the loop that loads the planes of each place, which is printed as permutations of vectors."""
        e = self.e
        with e.loop(count, "i") as i:
            first = e.load(places, [i])
            for plane in range(self.pitch):
                e.store(e.load(table, [e.add(first, plane)]), points, [plane, i])
        of_points = e.block.last_op
        assert isinstance(of_points, scf.ForOp)
        of_points.attributes[DEINTERLEAVE] = UnitAttr()


def _sorted(body: Block, values: Sequence[SSAValue], ends: Sequence[SSAValue] = ()) -> list[Operation]:
    """Return the operations of a body that compute values, in program order."""
    found = set(operations_behind(values, body, ends))
    return [op for op in body.ops if op in found]


def _known(n: Num) -> int | None:
    return n if isinstance(n, int) else integer_constant(n)


_RISING = (arith.AddiOp, arith.SubiOp, arith.MinSIOp, arith.MaxSIOp)
_BY_CONSTANTS = (arith.MuliOp, arith.FloorDivSIOp, arith.ShRSIOp)


def _is_monotone(value: SSAValue, x: SSAValue) -> bool:
    """Whether an index only rises, or only falls, with x."""
    body = x.owner
    assert isinstance(body, Block)
    while value is not x:
        op = value.owner
        if not isinstance(op, Operation) or op.parent is not body or not isinstance(value.type, IndexType):
            return False
        inside = [v for v in op.operands if is_defined_in(v, body) and _known(v) is None]
        constant = all(_known(v) is not None for v in op.operands if v not in inside)
        if len(inside) != 1 or not (isinstance(op, _RISING) or (isinstance(op, _BY_CONSTANTS) and constant)):
            return False
        if isinstance(op, arith.FloorDivSIOp | arith.ShRSIOp) and op.lhs is not inside[0]:
            return False
        value = inside[0]
    return True
