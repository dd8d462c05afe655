"""Lowering of `img.read` to an index into global, shared or register memory, with border handling.

All border handling hangs on the tile's `border` flag, so the compiler drops it from interior tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tilefuse.analysis.access import behind_boundaries, coordinates, indices_of, reads
from tilefuse.analysis.index import AnyIndex, BoundedIndex, GeneralIndex, Index, Movement, at_phase, is_staged, movement
from tilefuse.analysis.regions import Follow
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import BoundaryOp, ExtentOp, GroupOp, PrintOp, ReadOp, StageOp, YieldOp
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import Emitter, Num


@dataclass(frozen=True)
class Phase:
    """The columns `count * k + number` over all `k`: within a phase, fractional reads move by whole points."""

    k: Num
    count: int
    number: int

    def x(self, e: Emitter) -> Num:
        """Return the column."""
        return e.add(e.mul(self.k, self.count), self.number)

    def linear(self, op: ReadOp, coordinate: Mapping[SSAValue, int]) -> list[tuple[int, int] | None]:
        """Return the factor of k and the offset of each index of a read; None if an index is not linear in k alone."""
        xs = [position for position, value in enumerate(op.indices) if coordinate.get(value) == 0]
        return [at_phase(expr, xs, self.count, self.number) for expr in op.map.data.results]


@dataclass
class TileContext:
    """Context of a tile body: its input values."""

    origin: list[Num]
    border: SSAValue
    buffers: dict[SSAValue, KernelBuffer]
    scalars: dict[SSAValue, SSAValue]
    resident: dict[SSAValue, Resident] = field(default_factory=dict)
    """Functions computed by the group so far, by the inner SSA value."""
    staged: dict[SSAValue, Resident] = field(default_factory=dict)
    """Inputs on chip, by the function as it is read, boundaries applied (see `is_staged`)."""
    cached: Mapping[SSAValue, Resident] = field(default_factory=dict)
    """Inputs on chip, by the function as it is read, too: of these `Resident.load` takes coordinates on the grid."""
    windows: Mapping[tuple[SSAValue, Movement], Resident] = field(default_factory=dict)
    """Inputs and stages on chip around a thread's points, by the way of the read, too."""
    masks: Mapping[SSAValue, Sequence[BoundaryOp]] = field(default_factory=dict)
    """Functions of the group whose values are replaced outside a box once, as they are computed (`shared_masks`)."""
    flags: Sequence[SSAValue] = ()
    """Further facts on the tile that the version of the body is told, as `KernelPlan.flags` names them."""
    known_reads: Collection[ReadOp] = ()
    """Reads at general indices, in several coordinates or where data say, of which the border flag speaks too."""
    safe_reads: bool = False
    """Whether interior tiles, too, compute points that nobody needs: reads of global memory are clamped to buffers."""
    output: KernelBuffer | None = None
    """Buffer of the group's output."""
    free_x: bool = False
    """Whether indices that move to the right with x (`moves_right`) are inside of all boundaries and buffers."""
    phase: Phase | None = None
    """Which columns are computed, if of several side by side each by itself; then such indices move with its k."""
    moved_rows: Mapping[BoundaryOp, Num] = field(default_factory=dict)
    """Rows that boundaries read, where these have been moved already (`FoldedRows`)."""

    def absolute(self, e: Emitter, follow: Follow, relative: Num) -> Num:
        """Convert a tile-relative coordinate to an absolute one."""
        if follow.dim is None:
            return relative
        ratio: Fraction = follow.ratio
        start = e.floordiv(e.mul(self.origin[follow.dim], ratio.numerator), ratio.denominator)
        return e.add(start, relative)


@dataclass
class Resident:
    """On-chip values of a stage: a function that loads the value at tile-relative coordinates."""

    load: Callable[[Emitter, Sequence[Num]], SSAValue]


@dataclass
class Point:
    """A point of a stage: tile-relative coordinates, and how each follows the tile."""

    follow: Sequence[Follow]
    relative: Sequence[Num]


def shared_masks(group: GroupOp) -> dict[SSAValue, Sequence[BoundaryOp]]:
    """Return the constant exteriors through which all consumers read a stage, outermost first.

    It is cheaper to apply these where a value is computed than at each of its reads. But what is stored is stored as it
    is.
    """
    found: dict[SSAValue, Sequence[BoundaryOp] | None] = {}
    inside = {f for s in group.stages for f in s.funcs}
    for stage in group.stages:
        for read in reads(stage):
            base, boundaries = behind_boundaries(read.source)
            if base in inside and _same(found.setdefault(base, boundaries), boundaries) is False:
                found[base] = None
    stored = {*group.yield_op.values}
    return {f: boundaries for f, boundaries in found.items() if boundaries and f not in stored}


def _same(a: Sequence[BoundaryOp] | None, b: Sequence[BoundaryOp]) -> bool:
    def facts(op: BoundaryOp) -> object:
        return (op.kind, op.dims, tuple(op.mins), tuple(op.extents), op.exterior)

    return a is not None and [facts(op) for op in a] == [facts(op) for op in b]


def moves_right(index: AnyIndex) -> bool:
    """Whether an index increases with x and does not depend on y: the middle of a row is then free of borders."""
    if isinstance(index, GeneralIndex):
        factors = dict(index.terms)
        return factors.get(0, 0) > 0 and 1 not in factors
    return isinstance(index, Index) and index.var == 0 and index.num > 0


def _free(tile: TileContext, indices: Sequence[AnyIndex]) -> Collection[int]:
    """Return the dimensions in which a read certainly lies inside the function."""
    return [d for d, index in enumerate(indices) if moves_right(index)] if tile.free_x else ()


def _masked(
    e: Emitter,
    tile: TileContext,
    boundaries: Sequence[BoundaryOp],
    where: Sequence[Num],
    value: SSAValue,
    free: Collection[int],
) -> SSAValue:
    """Apply constant exteriors, the only boundaries over a group's stage, to `value`, computed at `where`."""
    for b in reversed(boundaries):  # an outer one hides the inner ones
        _, conditions = _apply_boundary(e, tile, b, list(where), tile.border, free)
        condition = all_of(e, conditions.values())
        if condition is None:
            continue
        assert b.exterior is not None
        value = e.select(condition, value, _exterior(e, tile, b.exterior))
    return value


def emit_stage(e: Emitter, tile: TileContext, stage: StageOp, point: Point) -> list[SSAValue]:
    """Emit the values of `stage` at `point`."""
    absolute = [tile.absolute(e, f, r) for f, r in zip(point.follow, point.relative, strict=True)]
    if tile.phase is not None:
        absolute[0] = tile.phase.x(e)
    values: dict[SSAValue, SSAValue] = dict(tile.scalars)
    coordinate = coordinates(stage)

    def number(value: SSAValue) -> SSAValue:
        if value in coordinate:
            return e.value(absolute[coordinate[value]])
        if value not in values:
            # a constant that stands between the stages
            assert isinstance(value.owner, arith.ConstantOp)
            values[value] = e.op(value.owner.clone())
        return values[value]

    for op in stage.body.block.ops:
        if isinstance(op, YieldOp):
            free = (0,) if tile.free_x else ()
            return [
                _masked(e, tile, tile.masks.get(f, ()), absolute, number(v), free)
                for f, v in zip(stage.funcs, op.values, strict=True)
            ]
        if isinstance(op, ReadOp):
            values[op.value] = _emit_read(e, tile, op, point, absolute, coordinate, number)
            continue
        copy = op.clone({v: number(v) for v in op.operands})
        if isinstance(copy, PrintOp) and stage.parent_op().anchor is stage:  # type: ignore[union-attr]
            copy.operands[1] = _where_stored(e, tile, absolute, copy.condition)
        e.effect(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            values[old] = new
            new.name_hint = old.name_hint
    raise AssertionError("a stage ends in img.yield")


def _where_stored(e: Emitter, tile: TileContext, where: Sequence[Num], condition: SSAValue) -> SSAValue:
    """Combine `condition` with the test that `where` lies in the output: tiles may reach beyond it."""
    assert tile.output is not None
    found: SSAValue | None = condition
    for d, (x, low) in enumerate(zip(where, tile.output.mins, strict=True)):
        found = e.both(found, e.within(e.sub(x, low), tile.output.extent(d, e)))
    assert found is not None
    return found


def _emit_read(
    e: Emitter,
    tile: TileContext,
    op: ReadOp,
    point: Point,
    absolute: Sequence[Num],
    coordinate: dict[SSAValue, int],
    number: Callable[[SSAValue], SSAValue],
) -> SSAValue:
    indices = indices_of(op, coordinate)
    operands: list[Num] = [absolute[coordinate[v]] if v in coordinate else number(v) for v in op.indices]
    # The border flag speaks of indices that follow the tile, and of these; others are handled in every tile.
    always = op not in tile.known_reads and any(not isinstance(i, Index | BoundedIndex) for i in indices)
    where = [e.affine(x, operands) for x in op.map.data.results]
    free = _free(tile, indices)
    if tile.phase is not None:
        linear = tile.phase.linear(op, coordinate)
        where = [w if at is None else e.add(e.mul(tile.phase.k, at[0]), at[1]) for w, at in zip(where, linear)]
        free = [d for d, at in enumerate(linear) if at is not None and at[0] > 0]
    if tile.windows and (of := movement(indices)) is not None and (op.source, of) in tile.windows:
        return tile.windows[op.source, of].load(e, _relative(e, indices, point, where))
    if op.source in tile.cached:
        return tile.cached[op.source].load(e, where)
    if op.source in tile.staged and is_staged(indices):
        return tile.staged[op.source].load(e, _relative(e, indices, point, where))
    base, boundaries = behind_boundaries(op.source)
    resident = tile.resident.get(base)
    if resident is None:
        # where the boundary is a clamp to the buffer, that is all there is to do in any tile
        clamped = tile.safe_reads and all(b.kind.data is BoundaryKind.RepeatEdge and not b.mins for b in boundaries)
        return read_global(e, tile, op.source, where, None if always or clamped else tile.border, free)
    value = resident.load(e, _relative(e, indices, point, where))
    return value if base in tile.masks else _masked(e, tile, boundaries, where, value, free)


def _relative(e: Emitter, indices: Sequence[AnyIndex], point: Point, where: Sequence[Num]) -> list[Num]:
    """Convert an access's absolute coordinates `where` to tile-relative ones."""
    return [
        i.offset
        if isinstance(i, Index) and i.var is None
        else e.floordiv(e.add(e.mul(point.relative[i.var], i.num), i.offset), i.den)
        if isinstance(i, Index) and i.var is not None
        else w
        for i, w in zip(indices, where, strict=True)
    ]


@dataclass
class Located:
    """Memory location of a point of an input."""

    index: list[Num]
    """memref indices."""
    inside: list[tuple[dict[int, SSAValue], SSAValue]]
    """Per constant exterior, outermost first: what must hold per dimension, and the value where it does not."""


def locate(
    e: Emitter,
    tile: TileContext,
    source: SSAValue,
    where: Sequence[Num],
    border: SSAValue | None,
    free: Collection[int] = (),
    *,
    needed: bool = False,
) -> Located:
    """Locate a point of `source`, a function in global memory under boundaries, from absolute coordinates.

    With `border` None the boundaries are always applied. The index is inside the buffer in border tiles; so it is of
    points that the call has `needed`, but for those that an exterior replaces. `free`: dimensions in which it lies
    inside of all there is.
    """
    base, boundaries = behind_boundaries(source)
    exteriors: list[tuple[dict[int, SSAValue], SSAValue]] = []
    in_box: set[int] = set(range(len(where))) if needed else set()
    where = list(where)
    for b in boundaries:
        if b.kind.data is BoundaryKind.ConstantExterior:
            in_box -= set(b.dimensions)
        elif not b.mins:
            in_box |= set(b.dimensions)
        where, conditions = _apply_boundary(e, tile, b, where, border, free)
        if conditions:
            assert b.exterior is not None
            exteriors.append((conditions, _exterior(e, tile, b.exterior)))
    buffer = tile.buffers[base]
    index = buffer.index(where, e)
    rank = len(index)
    for axis in range(rank):
        d = rank - 1 - axis
        if d in free or (d in in_box and (border is None or not tile.safe_reads)):
            continue
        # memory-safe in border tiles: points that nobody needs may lie outside the buffer
        clamped = e.clamp(index[axis], 0, e.sub(buffer.extent(d, e), 1))
        if border is None:
            index[axis] = clamped
            continue
        # in interior ones such points, if there are any, are beyond the boundaries, which move no other
        at_border = index[axis] if d in in_box else clamped
        index[axis] = e.pick(border, at_border, clamped if tile.safe_reads else index[axis])
    return Located(index, exteriors)


def read_global(
    e: Emitter,
    tile: TileContext,
    source: SSAValue,
    where: Sequence[Num],
    border: SSAValue | None,
    free: Collection[int] = (),
    *,
    needed: bool = False,
) -> SSAValue:
    """Load `source`, a function in global memory under boundaries, at absolute coordinates (see `locate`)."""
    at = locate(e, tile, source, where, border, free, needed=needed)
    value = e.load(tile.buffers[behind_boundaries(source)[0]].memref, at.index)
    # an outer constant exterior hides the inner ones
    for conditions, other in reversed(at.inside):
        condition = all_of(e, conditions.values())
        assert condition is not None
        value = e.select(condition, value, other)
    return value


def all_of(e: Emitter, conditions: Iterable[SSAValue]) -> SSAValue | None:
    """Emit the conjunction of conditions; None if there are none."""
    result: SSAValue | None = None
    for condition in conditions:
        result = e.both(result, condition)
    return result


def _exterior(e: Emitter, tile: TileContext, value: SSAValue) -> SSAValue:
    if value in tile.scalars:
        return tile.scalars[value]
    assert isinstance(value.owner, arith.ConstantOp)
    return e.op(value.owner.clone())


def _apply_boundary(
    e: Emitter,
    tile: TileContext,
    op: BoundaryOp,
    where: list[Num],
    border: SSAValue | None,
    free: Collection[int] = (),
) -> tuple[list[Num], dict[int, SSAValue]]:
    """Return the coordinates that `op` reads for `where`; for a constant exterior, per dimension, the inside test.

    It does nothing in the dimensions that are `free` of it.
    """
    where = list(where)
    conditions: dict[int, SSAValue] = {}
    kind = op.kind.data
    for position, d in enumerate(op.dimensions):
        if d in free:
            continue
        if d == 1 and op in tile.moved_rows:
            where[d] = tile.moved_rows[op]
            continue
        first, extent = boundary_span(e, tile, op, position)
        x = where[d]
        last = e.sub(e.add(first, extent), 1)
        if kind is BoundaryKind.ConstantExterior:
            ok = e.within(e.sub(x, first), extent)
            conditions[d] = ok if border is None else e.either(e.negate(border), ok)
            continue
        moved = _MOVES[kind](e, x, first, extent, last)
        where[d] = moved if border is None else e.pick(border, moved, x)
    return where, conditions


def boundary_span(e: Emitter, tile: TileContext, op: BoundaryOp, position: int) -> tuple[Num, Num]:
    """Return (first, extent) of a boundary's box in the dimension at `position` of its list."""
    if op.mins:
        first, extent = (scalar_index(e, tile, v[position]) for v in (op.mins, op.extents))
        if op.kind.data is BoundaryKind.ConstantExterior and not isinstance(op.extents[position].owner, ExtentOp):
            extent = e.max(extent, 0)  # the other kinds have a point (`runtime/call/limits.py`)
        return first, extent
    buffer, d = tile.buffers[op.source], op.dimensions[position]
    return buffer.mins[d], buffer.extent(d, e)


def scalar_index(e: Emitter, tile: TileContext, value: SSAValue) -> Num:
    """Emit a scalar of type index from between the stages inside the kernel."""
    if isinstance(value.owner, arith.ConstantOp):
        return int(value.owner.value.value.data)  # type: ignore[union-attr]
    return tile.scalars[value]


def _repeat_edge(e: Emitter, x: Num, first: Num, extent: Num, last: Num) -> Num:
    return moved_into(e, x, first, e.sub(last, first))


def moved_into(e: Emitter, x: Num, first: Num, most: Num) -> Num:
    """Clamp x to first..first + most."""
    # counted from the box's first, which is the buffer's as a rule: then nothing is added and taken off again
    return e.add(first, e.clamp(e.sub(x, first), 0, most))


def floor_mod(e: Emitter, a: Num, b: Num) -> Num:
    """Emit a mod b in 0..b-1 for b > 0, by the remainder that hardware has."""
    r = e.op(arith.RemSIOp(e.value(a), e.value(b)))
    return e.pick(e.compare("slt", r, 0), e.add(r, b), r)


def _repeat_image(e: Emitter, x: Num, first: Num, extent: Num, last: Num) -> Num:
    return e.add(first, floor_mod(e, e.sub(x, first), extent))


def mirrored_period(e: Emitter, kind: BoundaryKind, extent: Num) -> Num:
    """Emit the period of a boundary that mirrors a picture of `extent` points."""
    twice = e.mul(extent, 2)
    return twice if kind is BoundaryKind.MirrorImage else e.max(e.sub(twice, 2), 1)


def _mirror_image(e: Emitter, x: Num, first: Num, extent: Num, last: Num) -> Num:
    # ... c b a | a b c | c b a ...: period 2 n
    period = mirrored_period(e, BoundaryKind.MirrorImage, extent)
    t = floor_mod(e, e.sub(x, first), period)
    return e.add(first, e.min(t, e.sub(e.sub(period, 1), t)))


def _mirror_interior(e: Emitter, x: Num, first: Num, extent: Num, last: Num) -> Num:
    # ... c b | a b c | b a ...: period 2 n - 2, and 1 for a single point
    period = mirrored_period(e, BoundaryKind.MirrorInterior, extent)
    t = floor_mod(e, e.sub(x, first), period)
    return e.add(first, e.min(t, e.sub(period, t)))


_MOVES = {
    BoundaryKind.RepeatEdge: _repeat_edge,
    BoundaryKind.RepeatImage: _repeat_image,
    BoundaryKind.MirrorImage: _mirror_image,
    BoundaryKind.MirrorInterior: _mirror_interior,
}
