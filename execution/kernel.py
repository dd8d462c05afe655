"""The kernel of a scheduled group, and its tile body.

The kernel finds the origin of its tile and whether the tile is interior: inside the output, with every
boundary's box around what it reads. It calls the tile body with flags that are constant, where they can be.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial, reduce

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import NotFusable
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import Shape
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.block_tile.emission import BlockTile
from tilefuse.execution.block_tile.placement import prefetched
from tilefuse.execution.block_tile.stream import emit_stream
from tilefuse.execution.interior import is_interior
from tilefuse.execution.places import check_places
from tilefuse.execution.warp_tile.emission import WarpTile
from tilefuse.lowering.abi import (
    block_tile,
    function_of,
    kernel_args,
    kernel_name,
    memref_type,
    origin_alignment,
    threads,
)
from tilefuse.lowering.emit import INDEX, SHARED, Emitter, Num
from tilefuse.lowering.reads import Buffer, Tile, shared_masks
from tilefuse.lowering.symbols import word

EXECUTION_MODELS: dict[Shape, type[BlockTile] | type[WarpTile]] = {
    Shape.BlockTile: BlockTile,
    Shape.WarpTile: WarpTile,
}
"""The class that emits the tile body, per execution model. A new one adds a row."""

HELD = "held"
"""On a group: the compiler, left to itself, takes more registers than leave room for the schedule's `blocks`, or fewer
where there should be room for no more. So its kernel has a bound, as have those with a version for the sides."""


def _hint(value: SSAValue, fallback: str) -> str:
    owner = value.owner
    name = getattr(owner, "sym_name", None)
    return word(name.data if name is not None else (value.name_hint or fallback))


class _Function:
    """Types and argument values of the kernel (and, with more arguments, of the tile body)."""

    def __init__(self, group: GroupOp, extra: list[tuple[str, Attribute]]):
        self.args = kernel_args(group)
        types: list[Attribute] = []
        hints: list[str] = []
        for arg in self.args:
            hint = _hint(arg.value, "value")
            if arg.kind == "scalar":
                types.append(arg.value.type)
                hints.append(hint)
                continue
            if arg.kind == "output":
                hint = f"out_{hint}"
            type = arg.value.type
            assert isinstance(type, FuncType)
            types.append(memref_type(arg.value))
            hints.append(hint)
            for d in range(type.rank.data):
                types.append(INDEX)
                hints.append(f"{hint}_min_{letter(d)}")
        self.abi_count = len(types)
        for hint, t in extra:
            types.append(t)
            hints.append(hint)
        self.types = types
        self.block = Block(arg_types=types)
        for value, hint in zip(self.block.args, hints, strict=True):
            value.name_hint = hint
        self.buffers: dict[SSAValue, Buffer] = {}
        self.outputs: list[Buffer] = []
        self.scalars: dict[SSAValue, SSAValue] = {}
        rest = iter(self.block.args)
        for arg in self.args:
            first = next(rest)
            if arg.kind == "scalar":
                self.scalars[arg.value] = first
                continue
            assert isinstance(arg.value.type, FuncType)
            buffer = Buffer(first, [next(rest) for _ in range(arg.value.type.rank.data)])
            if arg.kind == "output":
                self.outputs.append(buffer)
            else:
                self.buffers[arg.value] = buffer
        self.extra = list(rest)


def _model_of(group: GroupOp) -> type[BlockTile] | type[WarpTile]:
    assert group.schedule is not None
    return EXECUTION_MODELS[group.schedule.execution]


def lower_group(
    group: GroupOp, model: PipelineModel, differing: Collection[SSAValue] = frozenset()
) -> list[func.FuncOp]:
    """The tile body and the kernel of one group, `differing` as `_differing` finds it."""
    if group.schedule is None:
        raise PipelineError(f"group '{group.sym_name.data}' has no schedule; run tile, or write one by hand", group)
    check_places(group, model)
    try:
        emitted = [_body(group, model, differing, fetch=False), _kernel(group, model, differing)]
        if prefetched(group):
            emitted.insert(0, _body(group, model, differing, fetch=True))
        if _rows_ahead(group, model):
            emitted.insert(0, _ahead(group, model))
    except NotFusable as error:
        raise PipelineError(f"group '{group.sym_name.data}': {error}", group) from error
    return emitted


def _body(group: GroupOp, model: PipelineModel, differing: Collection[SSAValue], *, fetch: bool) -> func.FuncOp:
    """The tile body; with `fetch`, the copies of the inputs of a tile that is computed later."""
    rank = group.output_stage.rank
    ahead = _prefetch_arguments(group, model)
    asked = _model_of(group).asked(group, model, differing)
    one_by_one = [f"{_hint(value, 'value')}_aligned" for value in asked] if differing else []
    sides = ["sides"] if _model_of(group).has_sides(group, model, asked) else []
    flags: list[tuple[str, Attribute]] = [(name, i1) for name in ("border", "whole", *sides, *one_by_one)]
    body = _Function(group, [*_origin_arguments(group), *flags, *ahead])
    e = Emitter(body.block)
    tile = Tile(list(body.extra[:rank]), body.extra[rank], body.buffers, body.scalars, masks=shared_masks(group))
    tile.whole, tile.output = body.extra[rank + 1], body.outputs[0]
    if sides:
        tile.sides = body.extra[rank + 2]
    aligned = body.extra[rank + 2 + len(sides) : rank + len(flags)] if differing else [tile.whole] * len(asked)
    tile.aligned = dict(zip(asked, aligned, strict=True))
    if ahead:
        *tile.prefetched, tile.parity = body.extra[rank + len(flags) :]
    emitter = _model_of(group)(group, model, e, tile, body.outputs)
    if fetch:
        assert isinstance(emitter, BlockTile)
        emitter.emit_fetch()
    else:
        emitter.emit()
    return _inlined(function_of(group, "fetch") if fetch else function_of(group, "tile"), body, e)


def _inlined(name: str, body: _Function, e: Emitter) -> func.FuncOp:
    e.effect(func.ReturnOp())
    function = func.FuncOp(name, (body.types, []), Region(body.block))
    function.attributes["kernel.inline"] = UnitAttr()
    return function


def _origin_arguments(group: GroupOp) -> list[tuple[str, Attribute]]:
    return [(f"{letter(d)}0", INDEX) for d in range(group.output_stage.rank)]


def _rows_ahead(group: GroupOp, model: PipelineModel) -> int:
    return WarpTile.rows_ahead(group, model) if _model_of(group) is WarpTile else 0


def _ahead(group: GroupOp, model: PipelineModel) -> func.FuncOp:
    """Asks for a tile's part of what the tiles load, before it may be loaded."""
    body = _Function(group, _origin_arguments(group))
    e = Emitter(body.block)
    tile = Tile(list(body.extra), e.true(), body.buffers, body.scalars)
    WarpTile(group, model, e, tile, body.outputs).emit_ahead()
    return _inlined(function_of(group, "ahead"), body, e)


def _prefetch_arguments(group: GroupOp, model: PipelineModel) -> list[tuple[str, Attribute]]:
    arrays: list[tuple[str, Attribute]] = [*BlockTile.prefetch_arrays(group, model)] if prefetched(group) else []
    return [*arrays, ("parity", INDEX)] if arrays else []


def _kernel(group: GroupOp, model: PipelineModel, differing: Collection[SSAValue]) -> func.FuncOp:
    assert group.schedule is not None
    kernel = _Function(group, [])
    e = Emitter(kernel.block)
    rank = group.output_stage.rank
    sizes = block_tile(group)
    align = origin_alignment(group, model)
    out = kernel.outputs[0]  # all results of a stage have one box
    firsts = [e.mul(e.floordiv(out.mins[d], align[d]), align[d]) for d in range(rank)]
    counts: list[Num] = []
    for d in range(rank):
        extent = e.sub(e.add(out.mins[d], out.extent(d, e)), firsts[d])
        counts.append(e.ceildiv(extent, sizes[d], f"tiles_{letter(d)}"))
    stream = group.schedule.tiles_per_block
    shape = _model_of(group)
    asked = shape.asked(group, model, differing)
    has_sides = shape.has_sides(group, model, asked)
    ahead = BlockTile.prefetch_arrays(group, model) if prefetched(group) else []
    rows_ahead = _rows_ahead(group, model)
    depth: Num = 1
    for n in counts[2:]:
        depth = e.mul(depth, n)
    rows = e.ceildiv(counts[1], stream) if rank > 1 else 1
    with (
        e.loop(depth, "bz", level="block_z") as bz,
        e.loop(rows, "by", level="block_y") as by,
        e.loop(counts[0] if rank > 0 else 1, "bx", level="block_x") as bx,
    ):
        rest: Num = bz
        deep: list[Num] = []
        for n in counts[2:-1]:
            quotient = e.op(arith.DivUIOp(e.value(rest), e.value(n)))
            deep.append(e.sub(rest, e.mul(quotient, n)))
            rest = quotient
        if rank > 2:
            deep.append(rest)

        def origin_of(row: Num) -> list[Num]:
            places = [bx, row, *deep][:rank]
            return [e.add(firsts[d], e.mul(places[d], sizes[d]), f"{letter(d)}0") for d in range(rank)]

        def call(function: str, row: Num, more: Sequence[SSAValue] = ()) -> None:
            """Run a function for the tile in row `row` of tiles, with constants, so that each case has its version."""
            origin = origin_of(row)
            tile = Tile(origin, e.true(), kernel.buffers, kernel.scalars)
            interior = is_interior(e, group, model, shape, tile, out)
            starts = shape.aligned(group, model, e, asked, kernel.buffers, kernel.outputs, origin)
            # where launches differ, the body asks of each function as its rows are moved; else each case has a version
            one_by_one, aligned = (starts, None) if differing else ([], reduce(e.both, starts, None))
            yes, no = e.true(), e.false()

            def run(
                border: SSAValue, whole: SSAValue, origin: Sequence[Num], *, apart: bool = False, sides: bool = False
            ) -> None:
                flags = [border, whole, *([yes if sides else no] if has_sides else ()), *one_by_one]
                operands = [*kernel.block.args, *(e.value(o) for o in origin), *flags, *more]
                version = func.CallOp(SymbolRefAttr(function), operands, [])
                if apart:
                    # without it the compiler computes before the branch what versions have in common: it takes up to
                    # half as many registers again
                    version.attributes["kernel.apart"] = IntegerAttr(len(kernel.block.args), i64)
                e.effect(version)

            def run_either(border: SSAValue, whole: SSAValue | None, origin: Sequence[Num]) -> None:
                if whole is None:
                    run(border, no, origin)
                    return
                e.choose(whole, *(partial(run, border, flag, origin, apart=border is yes) for flag in (yes, no)))

            def at_border() -> None:
                moved = list(origin)
                if shape.moves_in(group, model, asked):
                    # the last tile of a row, so that all of it lies in the picture; what both have is the other one's
                    last = e.max(e.sub(e.add(out.mins[0], out.extent(0, e)), sizes[0]), firsts[0])
                    moved[0] = e.min(origin[0], last)
                tile = Tile(moved, yes, kernel.buffers, kernel.scalars)
                whole = shape.whole(group, model, e, tile, kernel.outputs)
                whole = None if whole is None else e.both(aligned, whole)
                if not has_sides:
                    run_either(yes, whole, moved)
                    return
                sides = e.both(whole, shape.at_sides(group, model, e, tile, kernel.outputs))
                assert sides is not None
                alone = partial(run, yes, yes, moved, apart=True, sides=True)
                e.choose(sides, alone, lambda: run_either(yes, whole, moved))

            e.choose(interior, lambda: run_either(no, aligned, origin), at_border)

        if rows_ahead:
            # blocks that come later have been asked for by those above them
            operands = [*kernel.block.args, *(e.value(o) for o in origin_of(by))]
            with e.when(e.compare("slt", by, rows_ahead)):
                e.effect(func.CallOp(SymbolRefAttr(function_of(group, "ahead")), operands, []))
        if stream == 1:
            call(function_of(group, "tile"), by)
        else:
            first = e.mul(by, stream)
            arrays = [e.alloca(t.get_shape(), t.element_type, SHARED, name) for name, t in ahead]
            emit_stream(
                e, first, e.min(e.sub(counts[1], first), stream), arrays,
                lambda row, more: call(function_of(group, "fetch"), row, more),
                lambda row, more: call(function_of(group, "tile"), row, more),
            )  # fmt: skip
    e.effect(func.ReturnOp())
    result = func.FuncOp(kernel_name(group), (kernel.types, []), Region(kernel.block))
    result.attributes["kernel.threads"] = DenseArrayBase.from_list(i64, list(threads(group)))
    if HELD in group.attributes or has_sides:  # a wave stays one only if none of the versions takes more registers
        bound(group, result)
    chain = ", ".join(s.sym_name.data for s in group.stages)
    result.attributes["kernel.comment"] = StringAttr(f"{chain}: {group.schedule}")
    return result


def bound(group: GroupOp, kernel: func.FuncOp) -> None:
    """Hold the compiler of a group's kernel to the registers that leave room for the schedule's `blocks`."""
    if group.schedule is not None and (blocks := group.schedule.resident_blocks):
        kernel.attributes["kernel.min_blocks"] = IntegerAttr(blocks, i64)
