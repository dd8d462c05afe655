"""`merge-sums`: merge a sum of row sums into one sum over all points.

    %r1 = img.update "rows" (%y) over (%x in [%x0, %w]) of (%r = %r0 : ...) combine [add] {      // %r0 is 0
      ... img.write %v at [%i, %y]
    }
    %h1 = img.update "all" (%i) over (%y in [%y0, %n]) of (%h = %h0 : ...) combine [add] {
      %v = img.read %r1[%i, %y]
      img.write %v at [%i]
    }
    =>
    %h1 = img.update "all" () over (%x in [%x0, %w], %y in [%y0, %n]) of (%h = %h0 : ...) combine [add] {
      ... img.write %v at [%i]
    }

Halide's users write histograms and sums in this form, for schedules that run rows in parallel. Here execution models
split a domain themselves, and a table per row would be filled, stored and loaded. Only for integers, of widths whose
sums wrap in any order; also for `min max and or xor`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from tilefuse.analysis.updates import UpdateFacts, starts_neutral
from tilefuse.dialects.img.ops import PipelineOp, ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.ops.update import plain_indices
from tilefuse.dialects.img.types import MAX_RANK, FuncType
from tilefuse.dialects.memref_atomics import ATOMIC_WIDTHS

_COMBINERS = ("add", "min", "max", "and", "or", "xor")


@dataclass(frozen=True)
class MergeSums(ModulePass):
    """Merge an update with the update that sums its results."""

    name = "merge-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                for update in [u for u in pipeline.body.block.ops if isinstance(u, UpdateOp)]:
                    _merge(update)


def _merge(outer: UpdateOp) -> None:
    """Replace `outer` and the update whose results it sums by one update, if there is such an update."""
    read = _only_read(outer)
    inner = read.source.owner if read is not None else None
    if read is None or not isinstance(inner, UpdateOp) or not _may_merge(inner, outer):
        return
    # per dimension of the inner function, the outer coordinate that it is read at
    positions = plain_indices(read.map.data, list(read.indices))
    if None in positions or len(set(positions)) != len(positions) or set(positions) != set(outer.coordinates):
        return
    summed = {d: p for d, p in enumerate(positions) if p not in outer.pure}
    if any(d not in inner.pure_dims for d in summed) or len(inner.domain) + len(outer.domain) > MAX_RANK:
        return
    _replace(inner, outer, [p for p in positions if p is not None])


def _only_read(update: UpdateOp) -> ReadOp | None:
    """Return the read of an update that only adds its value, at the update's pure coordinates."""
    read, *rest = update.body.block.ops
    if len(rest) != 1 or not isinstance(read, ReadOp) or not isinstance(write := rest[0], WriteOp):
        return None
    plain = write.predicate is None and list(write.values) == [read.value]
    return read if plain and len(update.pure) == update.rank else None


def _may_merge(inner: UpdateOp, outer: UpdateOp) -> bool:
    """Whether both updates have one integer combiner, and the inner starts neutral and is read by the outer only."""
    if (
        len(inner.old_funcs) != 1
        or len(outer.old_funcs) != 1
        or inner.combiners != outer.combiners
        or inner.bounds is not None
    ):
        return False
    old, type = inner.old_funcs[0], outer.old_funcs[0].type
    assert isinstance(type, FuncType)
    element = type.element
    if inner.combiners[0] not in _COMBINERS or not isinstance(element, IntegerType):
        return False
    alone = len(list(inner.funcs[0].uses)) == 1 and len(list(old.uses)) == 1
    same = isinstance(old.type, FuncType) and old.type.element == element and element.width.data in ATOMIC_WIDTHS
    return alone and same and UpdateFacts(inner).commutes and starts_neutral(inner, 0)


def _replace(inner: UpdateOp, outer: UpdateOp, positions: list[SSAValue]) -> None:
    """Replace both updates by one; `positions` gives the outer coordinate per dimension of the inner function."""
    pure = [c for c, d in zip(inner.pure, inner.pure_dims, strict=True) if positions[d] in outer.pure]
    summed = [c for c, d in zip(inner.pure, inner.pure_dims, strict=True) if positions[d] not in outer.pure]
    domain = [*inner.domain, *outer.domain]
    block = Block(arg_types=[*(c.type for c in pure), *(d.coordinate.type for d in domain), outer.old_funcs[0].type])
    new = dict(zip([*pure, *(d.coordinate for d in domain)], block.args, strict=False))
    for coordinate, dim in zip(inner.pure, inner.pure_dims, strict=True):
        if coordinate in summed:
            new[coordinate] = new[positions[dim]]
    for old, made in new.items():
        if isinstance(made, BlockArgument) and made.name_hint is None:
            made.name_hint = old.name_hint
    mapper: dict[SSAValue, SSAValue] = dict(new)
    for op in inner.body.block.ops:
        if not isinstance(op, WriteOp):
            block.add_op(op.clone(mapper))
    write = inner.write_op
    # the outer function's dimensions are those of the inner one that are not summed, in the order of its coordinates
    order = [positions.index(c) for c in outer.write_op.positions if c is not None]
    results = tuple(write.map.data.results[d] for d in order)
    values, indices = ([mapper.get(v, v) for v in operands] for operands in (write.values, write.indices))
    predicate = mapper.get(write.predicate, write.predicate) if write.predicate is not None else None
    block.add_op(WriteOp(values, indices, AffineMap(write.map.data.num_dims, 0, results), predicate))
    merged = UpdateOp(
        outer.sym_name.data, list(outer.old_funcs), [(d.min, d.extent) for d in domain], Region(block), outer.combiners,
        outer.bounds, outer.inline is not None,
    )  # fmt: skip
    merged.location = outer.location
    parent, start = outer.parent_block(), inner.old_funcs[0].owner
    assert parent is not None
    parent.insert_op_before(merged, outer)
    outer.funcs[0].replace_all_uses_with(merged.funcs[0])
    for op in (outer, inner, start):
        assert not isinstance(op, Block)
        op.detach()
        op.erase()
