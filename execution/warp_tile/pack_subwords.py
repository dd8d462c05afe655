"""`pack-subwords`: compute tiles of 8 and 16 bits two points per register (level 4).

A `warp.map` whose values all fit half a register (`subwords.py`) computes in i16, exactly; sums that
cannot wrap say so (`overflow<nuw>`). Its tiles, and the loaded ones that it reads, get the layout `packed = 2`:
of neighbouring columns (`pair_stride = 1`), or for all of a function of columns half of a lane's apart, where these
take fewer permutations and shuffles.

    warp.map { %a = warp.at %in[-1, 0] : !warp.tile<i8, #warp.layout<..., rows = [-2, 6]>>
               %b = arith.extui %a : i8 to i32 ... arith.addi %b, %c : i32 ... }
      =>
    warp.map { %a = warp.at %in[-1, 0] : !warp.tile<i8, #warp.layout<..., rows = [-2, 6], packed = 2>>
               %b = arith.extui %a : i8 to i16 ... arith.addi %b, %c overflow<nuw> : i16 ... }
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, i8, i16
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilefuse.analysis.index import Span
from tilefuse.dialects.img.ops import DivOp, ModOp
from tilefuse.dialects.img.types import element_bytes
from tilefuse.dialects.warp import AtOp, LoadOp, MapOp, NeighboursOp, StoreOp, WarpYieldOp
from tilefuse.dialects.warp.layout import Layout, TileType
from tilefuse.execution.warp_tile.pairs import NO_WRAP
from tilefuse.execution.warp_tile.schedule import layout_of, reads_of, unwidened
from tilefuse.execution.warp_tile.subwords import (
    HALF,
    best_pair_stride,
    constant_of,
    gain_beside,
    gain_in_memory,
    of_type,
    pairs_pay,
    subword_intervals,
)

_RING = {arith.AddiOp: arith.AddiOp, arith.SubiOp: arith.SubiOp, arith.MuliOp: arith.MuliOp}
_SAME = {
    arith.MinUIOp: arith.MinUIOp, arith.MinSIOp: arith.MinUIOp, arith.MaxUIOp: arith.MaxUIOp,
    arith.MaxSIOp: arith.MaxUIOp, arith.AndIOp: arith.AndIOp, arith.OrIOp: arith.OrIOp, arith.XOrIOp: arith.XOrIOp,
}  # fmt: skip
_QUOTIENTS = (arith.DivUIOp, arith.DivSIOp, arith.FloorDivSIOp, DivOp)
_RESTS = (arith.RemUIOp, arith.RemSIOp, ModOp)
_EXTENSIONS = (arith.ExtUIOp, arith.ExtSIOp)


@dataclass(frozen=True)
class PackSubwords(ModulePass):
    """Pack two points of 8 or 16 bits into a register, if the arithmetic allows it."""

    name = "pack-subwords"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.body.block.ops):
            if isinstance(function, func.FuncOp) and function.body.blocks:
                _pack(function.body.block)


def _pack(block: Block) -> None:
    ops = [op for op in block.ops if isinstance(op, LoadOp | MapOp | NeighboursOp | StoreOp)]
    tiles = _tiles(ops)
    # what a loop written by hand carries stays as it is
    widest = {r: max(max(layout_of(t).reach) for t in same) for r, same in tiles.items() if _stays_here(same)}
    span_of: dict[SSAValue, Span] = {}
    packed: dict[MapOp, dict[SSAValue, Span]] = {}

    def read(op: Operation) -> Span | None:
        return span_of.get(unwidened(op.tile)) if isinstance(op, AtOp) else None

    for op in ops:
        if isinstance(op, LoadOp) and (span := of_type(op.tile.type.element)) is not None:
            span_of[op.tile] = span
        if not isinstance(op, MapOp):
            continue
        spans = subword_intervals(op.body.block, read)
        halves = [of_type(t.type.element) for t in op.tiles]
        close = all(r in widest and 2 * widest[r] <= op.layout.vector for r in _read_by(op, op.tiles))
        if spans and None not in halves and close and _has_full_registers(op) and pairs_pay(op.body.block, spans):
            packed[op] = spans
            last = op.body.block.last_op
            assert isinstance(last, WarpYieldOp)
            span_of.update({t: spans[v] for t, v in zip(op.tiles, last.values, strict=True)})
        else:
            span_of.update({t: half for t, half in zip(op.tiles, halves, strict=True) if half is not None})
    for op, spans in packed.items():
        _compute_in_halves(op, spans)
    chosen: set[SSAValue] = {t for op in packed for t in op.tiles}
    chosen |= {r for op in packed for r in _read_by(op) if isinstance(r.owner, LoadOp)}
    stride = _pair_stride({r: tiles[r] for r in chosen}, ops)
    for r in chosen:
        for tile in tiles[r]:
            assert isinstance(tile.type, TileType)
            type = TileType(tile.type.element, replace(layout_of(tile), packed=2, pair_stride=stride))
            Rewriter.replace_value_with_new_type(tile, type)


def _pair_stride(tiles: Mapping[SSAValue, Sequence[SSAValue]], ops: Sequence[Operation]) -> int:
    """Choose the column distance of a register's points; `tiles`: all packed tiles."""
    if not tiles:
        return 0
    layouts = [max((layout_of(t) for t in same), key=lambda layout: sum(layout.reach)) for same in tiles.values()]
    vector = layouts[0].vector
    gain = sum(gain_beside(vector, layout.reach) * _rows(layout) for layout in layouts)
    for op in ops:
        if isinstance(op, LoadOp | StoreOp) and unwidened(op.tile) in tiles:
            gain += gain_in_memory(vector, element_bytes(_element(op.tile))) * _rows(layout_of(op.tile))
    return best_pair_stride(vector, gain)


def _rows(layout: Layout) -> int:
    """Count the rows of a lane, over all further dimensions."""
    return math.prod(layout.shape[:-1])


def _tiles(ops: Sequence[Operation]) -> dict[SSAValue, list[SSAValue]]:
    """Map each root tile to itself and the tiles that widen it."""
    found: dict[SSAValue, list[SSAValue]] = {}
    for op in ops:
        for tile in op.results:
            found.setdefault(unwidened(tile), []).append(tile)
    return found


def _stays_here(tiles: Sequence[SSAValue]) -> bool:
    """Whether all uses of tiles are operations on tiles."""
    return all(isinstance(use.operation, AtOp | NeighboursOp | StoreOp) for tile in tiles for use in tile.uses)


def _read_by(op: MapOp, more: Sequence[SSAValue] = ()) -> set[SSAValue]:
    """Return the root tiles that a map reads, and `more`."""
    return {unwidened(t) for t, _ in reads_of(op)} | set(more)


def _element(tile: SSAValue) -> Attribute:
    assert isinstance(tile.type, TileType)
    return tile.type.element


def _has_full_registers(op: MapOp) -> bool:
    """Whether lanes have only full registers: even counts of columns, of bytes multiples of four."""
    bytes = any(_element(t) == i8 for t in _read_by(op, op.tiles))
    return op.layout.vector % (4 if bytes else 2) == 0


def _compute_in_halves(op: MapOp, spans: dict[SSAValue, Span]) -> None:
    """Rewrite the body of a map in i16, with equal values."""
    body = op.body.block
    halves: dict[SSAValue, SSAValue] = {}
    last = body.last_op
    assert isinstance(last, WarpYieldOp)

    def emit(new: Operation, like: SSAValue | None = None) -> SSAValue:
        body.insert_op_before(new, last)
        if like is not None:
            new.results[0].name_hint = like.name_hint
        return new.results[0]

    old = [o for o in body.ops if o is not last]
    for o in old:
        result = o.results[0]
        if isinstance(result.type, IndexType):
            o.detach()
            emit(o)
            continue
        if isinstance(o, AtOp):
            o.detach()
            value = emit(o)
            halves[result] = value if value.type == i16 else emit(arith.ExtUIOp(value, i16), value)
            continue
        of = [halves[v] for v in o.operands]
        # what would be without the type's wrapping
        high, low = _exact(o, spans)
        new = _half_of(o, of, NO_WRAP if 0 <= low and high <= HALF else None, emit)
        type_ = result.type
        assert isinstance(type_, IntegerType)
        if type_.width.data == 8 and not (0 <= low and high <= 0xFF):
            new = emit(arith.AndIOp(new, _constant(0xFF, emit)), result)
        halves[result] = new
    for i, value in enumerate(last.values):
        half = halves[value]
        last.operands[i] = half if value.type == i16 else emit(arith.TruncIOp(half, i8), value)
    for o in reversed(old):
        if not isinstance(o, AtOp) and not isinstance(o.results[0].type, IndexType):
            o.detach()
            o.erase()


class _Emit(Protocol):
    def __call__(self, new: Operation, like: SSAValue | None = None) -> SSAValue: ...


def _constant(number: int, emit: _Emit) -> SSAValue:
    return emit(arith.ConstantOp(IntegerAttr(number if number <= HALF >> 1 else number - HALF - 1, i16)))


def _half_of(o: Operation, of: list[SSAValue], safe: arith.IntegerOverflowAttr | None, emit: _Emit) -> SSAValue:
    """Emit an operation on the halves `of` its operands; `safe`: the flags that it may have if it does not wrap."""
    result = o.results[0]
    flags = {} if safe is None else {"overflow": safe}
    match o:
        case arith.ConstantOp():
            number = constant_of(result)
            assert number is not None
            return _constant(number, emit)
        case arith.AddiOp() | arith.SubiOp() | arith.MuliOp():
            return emit(_RING[type(o)](of[0], of[1], **flags), result)
        case arith.ShLIOp():
            by = constant_of(o.rhs)
            assert by is not None
            return emit(arith.MuliOp(of[0], _constant(1 << by, emit), **flags), result)
        case arith.ShRUIOp() | arith.ShRSIOp():
            return emit(arith.ShRUIOp(of[0], of[1]), result)
        case _ if isinstance(o, _QUOTIENTS):
            return emit(arith.DivUIOp(of[0], of[1]), result)
        case _ if isinstance(o, _RESTS):
            product = emit(arith.MuliOp(emit(arith.DivUIOp(of[0], of[1])), of[1], overflow=NO_WRAP))
            return emit(arith.SubiOp(of[0], product, overflow=NO_WRAP), result)
        case _ if type(o) in _SAME:
            return emit(_SAME[type(o)](of[0], of[1]), result)  # type: ignore[index]
        case _:
            assert isinstance(o, _EXTENSIONS) or isinstance(o, arith.TruncIOp)
            return of[0]


def _exact(op: Operation, spans: dict[SSAValue, Span]) -> tuple[int, int]:
    """Return (high, low) bounds of an operation's result if nothing wraps."""
    of = [spans[v] for v in op.operands if v in spans]
    match op:
        case arith.AddiOp():
            return of[0][1] + of[1][1], of[0][0] + of[1][0]
        case arith.SubiOp():
            return of[0][1] - of[1][0], of[0][0] - of[1][1]
        case arith.MuliOp():
            return of[0][1] * of[1][1], of[0][0] * of[1][0]
        case arith.ShLIOp():
            return of[0][1] << of[1][0], of[0][0] << of[1][0]
        case arith.TruncIOp():
            return of[0][1], of[0][0]
    low, high = spans[op.results[0]]
    return high, low
