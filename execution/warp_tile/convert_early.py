"""`convert-early`: convert floats to integers in the lane that owns them, before neighbours get them (level 4).

    %b = warp.neighbours %a : f32                %i = warp.map { arith.fptosi (warp.at %a[0, 0]) }
    %c = warp.map {                              %b = warp.neighbours %i : i32
      %l = warp.at %b[-1, 0]                     %c = warp.map {
      %li = arith.fptosi %l : f32 to i32    =>     %li = warp.at %b[-1, 0]
      ...                                          ...

GPUs convert floats to integers more slowly than they add, and a value that a lane gets from another would be converted
by both. Of loaded tiles all rows are converted before the sweep (`schedule.converts_loaded`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, IndexType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tilefuse.dialects.warp import AtOp, MapOp, NeighboursOp, WarpYieldOp
from tilefuse.dialects.warp.ops import tile_type
from tilefuse.execution.warp_tile.schedule import TO_INTEGER


@dataclass(frozen=True)
class ConvertEarly(ModulePass):
    """Convert tiles that are only read as integers before lanes and warps exchange them."""

    name = "convert-early"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for exchanged in [o for o in op.walk() if isinstance(o, NeighboursOp)]:
            if conversions := _conversions(exchanged.wider):
                _convert(exchanged, conversions)


def _conversions(tile: SSAValue) -> list[Operation]:
    """Return the conversions of all values read of a tile, if all convert to one type of integers; else none."""
    if not isinstance(tile_type(tile).element, Float32Type):
        return []
    found: list[Operation] = []
    for read in [use.operation for use in tile.uses]:
        if not isinstance(read, AtOp):
            return []
        found += [use.operation for use in read.value.uses]
    kinds = {(op.name, *(r.type for r in op.results), str(op.attributes)) for op in found}
    return found if len(kinds) == 1 and isinstance(found[0], TO_INTEGER) else []


def _convert(exchanged: NeighboursOp, conversions: list[Operation]) -> None:
    """Convert the tile in a map of its own, exchange the integers, and read these."""
    tile = exchanged.tile
    layout, element = tile_type(tile).spread, conversions[0].results[0].type
    block = Block(arg_types=[IndexType()] * (2 + len(layout.depth)))
    here = AtOp(tile, (0, 0), block.args[2:])
    converted = conversions[0].clone({conversions[0].operands[0]: here.value})
    converted.results[0].name_hint = None
    block.add_ops([here, converted, WarpYieldOp(*converted.results)])
    integers = MapOp(Region(block), [element], layout)
    wider = NeighboursOp(integers.tiles[0], tile_type(exchanged.wider).spread)
    integers.tiles[0].name_hint, wider.wider.name_hint = tile.name_hint, exchanged.wider.name_hint
    outside = exchanged.parent_block()
    assert outside is not None
    outside.insert_ops_before([integers, wider], exchanged)
    for old in conversions:
        read = old.operands[0].owner
        assert isinstance(read, AtOp)
        inside = read.parent_block()
        assert inside is not None
        new = AtOp(wider.wider, read.offsets, read.deep)
        inside.insert_op_before(new, read)
        old.results[0].replace_all_uses_with(new.value)
    for gone in [*conversions, *[use.operation for use in exchanged.wider.uses], exchanged]:
        gone.detach()
        gone.erase()
