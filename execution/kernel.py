"""Emission of a tiled kernel's functions from its plan: the grid of blocks and the tile body.

The kernel finds the origin of its tile and whether the tile is interior: inside the output, with every
boundary's box around what it reads. It calls the tile body with flags that are constant, where they can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.naming import value_name
from tilefuse.execution.cover import end_covered, first_covered
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.few_tiles import parallel_threshold
from tilefuse.execution.interior import is_interior
from tilefuse.execution.plan import KernelPlan, TileFunction, argument_hint
from tilefuse.execution.reach import boundary_reach
from tilefuse.execution.versions import Versions
from tilefuse.lowering.abi import function_of, kernel_name, memref_type, threads
from tilefuse.lowering.buffers import KernelBuffer
from tilefuse.lowering.emit import INDEX, Emitter, Num
from tilefuse.lowering.reads import TileContext, shared_masks

REGISTER_BOUNDED = "register_bounded"
"""On a group: the compiler, left to itself, takes more registers than leave room for the schedule's `blocks`, or fewer
where there should be room for no more. So its kernel has a bound; others, if their plan says so."""


def emit_functions(plan: KernelPlan) -> list[func.FuncOp]:
    """Emit the functions, callees first: the plan's own, the tile body, the kernel."""
    return [*(_function_of_origin(plan, f) for f in plan.functions()), _tile_body(plan), _TiledKernel(plan).emit()]


class _Function:
    """Types and argument values of the kernel (and, with more arguments, of the tile body)."""

    def __init__(self, plan: KernelPlan, extra: Sequence[tuple[str, Attribute]] = ()):
        self.args = plan.args
        types: list[Attribute] = []
        hints: list[str] = []
        for arg in self.args:
            hint = argument_hint(arg.value)
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
        for hint, t in extra:
            types.append(t)
            hints.append(hint)
        self.types = types
        self.block = Block(arg_types=types)
        self.e = Emitter(self.block)
        for value, hint in zip(self.block.args, hints, strict=True):
            value.name_hint = value_name(hint)
        self.buffers: dict[SSAValue, KernelBuffer] = {}
        self.outputs: list[KernelBuffer] = []
        self.scalars: dict[SSAValue, SSAValue] = {}
        rest = iter(self.block.args)
        for arg in self.args:
            first = next(rest)
            if arg.kind == "scalar":
                self.scalars[arg.value] = first
                continue
            buffer = KernelBuffer(first, [self.e.add(next(rest), plane) for plane in arg.planes])
            if arg.kind == "output":
                self.outputs.append(buffer)
            else:
                self.buffers[arg.value] = buffer
        self.extra = list(rest)


def _tile_body(plan: KernelPlan) -> func.FuncOp:
    """Open the tile body: it takes the origin, and the flags of its version."""
    rank = plan.rank
    flags: list[tuple[str, Attribute]] = [(name, i1) for name in ("border", *plan.flags)]
    body = _Function(plan, [*_origin_arguments(plan), *flags])
    e = body.e
    tile = TileContext(
        list(body.extra[:rank]), body.extra[rank], body.buffers, body.scalars, masks=shared_masks(plan.group)
    )
    tile.known_reads = boundary_reach(plan)[1]
    tile.flags, tile.output = body.extra[rank + 1 :], body.outputs[plan.stored[0].first]
    plan.body(e, tile, body.outputs)
    return _inlined(function_of(plan.group, "tile"), body, e)


def _function_of_origin(plan: KernelPlan, function: TileFunction) -> func.FuncOp:
    """Open a function of a tile that takes only its origin."""
    body = _Function(plan, _origin_arguments(plan))
    e = body.e
    function.emit(e, TileContext(list(body.extra), e.true(), body.buffers, body.scalars), body.outputs)
    return _inlined(function_of(plan.group, function.role), body, e)


def _inlined(name: str, body: _Function, e: Emitter) -> func.FuncOp:
    e.effect(func.ReturnOp())
    function = func.FuncOp(name, (body.types, []), Region(body.block))
    function.attributes["kernel.inline"] = UnitAttr()
    return function


def _origin_arguments(plan: KernelPlan) -> list[tuple[str, Attribute]]:
    return [(f"{letter(d)}0", INDEX) for d in range(plan.rank)]


def _blocks(e: Emitter, scopes: ExitStack, along: Sequence[tuple[Num, str]]) -> list[Num]:
    """Open the loops over blocks, each given by count and name; the innermost varies fastest."""
    levels = ("block_z", "block_y", "block_x")
    return [
        scopes.enter_context(e.loop(count, name, level=level))
        for (count, name), level in zip(along, levels, strict=True)
    ]


class _TiledKernel:
    """Emit the kernel: loops over blocks, which the hardware runs concurrently, around calls of the tile body."""

    def __init__(self, plan: KernelPlan):
        self.plan = plan
        self.function = _Function(plan)
        self.e = self.function.e

    def emit(self) -> func.FuncOp:
        """Emit the function of the kernel."""
        e, plan = self.e, self.plan
        self._tile_counts()
        counts, rank = self.counts, plan.rank
        depth: Num = 1
        for n in counts[2:]:
            depth = e.mul(depth, n)
        along = [(depth, "bz"), (counts[1] if rank > 1 else 1, "by"), (counts[0] if rank > 0 else 1, "bx")]
        with ExitStack() as scopes:
            if plan.deep_first:
                by, bx, bz = _blocks(e, scopes, [*along[1:], along[0]])
            else:
                bz, by, bx = _blocks(e, scopes, along)
            self.column, self.deep = bx, self._deep(bz)
            plan.begin_block(self, by)
            self._call_tile_body(by)
        e.effect(func.ReturnOp())
        return self._finished()

    def _tile_counts(self) -> None:
        """Count the tiles (`counts`) and find the first origin (`firsts`), both per dimension."""
        e, plan, outputs = self.e, self.plan, self.function.outputs
        self.firsts = [
            e.mul(e.floordiv(first_covered(e, plan.stored, outputs, d), plan.align[d]), plan.align[d])
            for d in range(plan.rank)
        ]
        self.counts: list[Num] = []
        for d in range(plan.rank):
            extent = e.sub(end_covered(e, plan.stored, outputs, d), self.firsts[d])
            self.counts.append(e.ceildiv(extent, plan.sizes[d], f"tiles_{letter(d)}"))

    def _deep(self, bz: Num) -> list[Num]:
        """Return a block's tile in each dimension from the third on: blocks count all of them along z."""
        e, rest = self.e, bz
        deep: list[Num] = []
        for n in self.counts[2:-1]:
            quotient = e.op(arith.DivUIOp(e.value(rest), e.value(n)))
            deep.append(e.sub(rest, e.mul(quotient, n)))
            rest = quotient
        if self.plan.rank > 2:
            deep.append(rest)
        return deep

    def _origin(self, row: Num) -> list[Num]:
        """Return the origin of the tile in tile row `row`."""
        e, plan = self.e, self.plan
        places = [self.column, row, *self.deep][: plan.rank]
        origin = [e.add(self.firsts[d], e.mul(places[d], plan.sizes[d]), f"{letter(d)}0") for d in range(plan.rank)]
        return [*plan.moved_origin(self, origin)]

    def last_origin(self, d: int) -> Num:
        """Return the origin of the last tile in the picture; of the first tile if the picture is empty."""
        e, plan = self.e, self.plan
        return e.max(e.sub(end_covered(e, plan.stored, self.function.outputs, d), plan.sizes[d]), self.firsts[d])

    def call_of_origin(self, role: str, row: Num) -> func.CallOp:
        """Build the call of a `TileFunction` for the tile in tile row `row`, for later insertion."""
        operands = [*self.function.block.args, *(self.e.value(o) for o in self._origin(row))]
        return func.CallOp(SymbolRefAttr(function_of(self.plan.group, role)), operands, [])

    def _call_tile_body(self, row: Num) -> None:
        """Call the tile body in tile row `row`, with constant flags, so that each case gets its version."""
        e, plan, function = self.e, self.plan, self.function
        origin = self._origin(row)
        outputs = function.outputs
        if plan.one_version:
            versions = self._versions(origin)
            versions.call(versions.yes)
            return
        tile = TileContext(origin, e.true(), function.buffers, function.scalars)
        interior = is_interior(e, plan, tile, outputs)
        plan.emit_versions(self._versions(origin), interior, tile, outputs)

    def _versions(self, origin: Sequence[Num]) -> Versions:
        name = function_of(self.plan.group, "tile")
        return Versions(self.e, name, self.function.block.args, origin, self.last_origin)

    def _finished(self) -> func.FuncOp:
        group = self.plan.group
        result = func.FuncOp(kernel_name(group), (self.function.types, []), Region(self.function.block))
        result.attributes["kernel.threads"] = DenseArrayBase.from_list(i64, list(threads(group)))
        if REGISTER_BOUNDED in group.attributes or self.plan.register_bounded:
            bound(group, result)
        if math.prod(self.plan.schedule.thread_counts) == 1 and self.plan.rank:
            if math.isfinite(self.plan.model.parallel_instructions):
                least = parallel_threshold(GroupFacts.of(group, self.plan.model), tuple(self.plan.sizes))
                output = self.function.outputs[self.plan.stored[0].first].memref
                assert isinstance(output, BlockArgument)
                factors = [n for axis in range(self.plan.rank) for n in (output.index, axis)]
                result.attributes["kernel.parallel_threshold"] = DenseArrayBase.from_list(i64, [least, *factors])
            if self.plan.is_dynamic:
                result.attributes["kernel.dynamic_schedule"] = UnitAttr()
        chain = ", ".join(s.sym_name.data for s in group.stages)
        result.attributes["kernel.comment"] = StringAttr(f"{chain}: {group.schedule}")
        return result


def bound(group: GroupOp, kernel: func.FuncOp) -> None:
    """Bound the registers of a group's kernel so that the schedule's `blocks` are resident."""
    if group.schedule is not None and (blocks := group.schedule.resident_blocks):
        kernel.attributes["kernel.min_blocks"] = IntegerAttr(blocks, i64)
