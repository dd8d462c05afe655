"""Point counts of each function for a picture of nominal size, which weigh the cost of recomputing a stage.

Bounds inference (`analysis/bounds.py`) at sizes that are typical and not those of a call: outputs have the extent that
programs are optimised for, inputs and parameters too where nothing says their numbers. Where a read lands follows from
the access, from a clamp or from a type. Nothing is an error here: what cannot be bounded is as large as it can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.ir import SSAValue

from tilefuse.analysis.access import defining_op, reads
from tilefuse.analysis.bounds import coordinate_spans, flat_ops, through_boundary
from tilefuse.analysis.index import Span, expr_span
from tilefuse.analysis.scalars import boundary_box
from tilefuse.analysis.sizes import AnySpan
from tilefuse.analysis.value_range import value_range
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    Definition,
    GroupOp,
    InputOp,
    ParamOp,
    PipelineOp,
    ReadOp,
    ReturnOp,
    StageOp,
    UpdateOp,
    WriteOp,
)
from tilefuse.dialects.img.types import FuncType

Extents = tuple[int, ...]
"""Points per dimension, x first."""


def count_points(spans: Iterable[Span]) -> int:
    """Return the number of points in a region."""
    return math.prod(high - low + 1 for low, high in spans)


def nominal_extents(bounds: Sequence[tuple[int, int] | None], extent: Sequence[int]) -> Extents:
    """Return the extents of a picture: declared ones, else `extent`, else 1."""
    return tuple(
        declared[1] if declared is not None else (extent[d] if d < len(extent) else 1)
        for d, declared in enumerate(bounds)
    )


class NominalSizes:
    """Nominal sizes of inputs and parameters in a call for a picture of `extent`."""

    def __init__(self, extent: Sequence[int]):
        self._extent = extent

    def interval(self, op: InputOp, dim: int) -> tuple[int, int]:
        """Return (min, extent) of an input's dimension: declared, else estimated, else the picture's."""
        declared = _declared(op)[dim]
        if declared is None and op.estimate is not None:
            declared = op.estimate.data[dim]
        return declared if declared is not None else (0, nominal_extents((None,) * (dim + 1), self._extent)[dim])

    def param(self, op: ParamOp) -> int:
        """Return a parameter's nominal value: the picture size, since it may be a size."""
        return max(self._extent)

    def real(self, op: ParamOp) -> None:
        """Return None: a float parameter has no nominal value."""


def needed_extents(pipeline: PipelineOp, extent: Sequence[int]) -> dict[SSAValue, Extents]:
    """Compute the extents of every function that a picture of `extent` needs; unneeded functions are absent."""
    found = needed_spans(pipeline, extent)
    return {value: tuple(high - low + 1 for low, high in spans) for value, spans in found.items()}


def needed_spans(
    pipeline: PipelineOp, extent: Sequence[int], limit: Callable[[SSAValue, list[Span]], list[Span]] | None = None
) -> dict[SSAValue, list[Span]]:
    """Compute (first, last) per dimension of every function that a picture of `extent` needs.

    `limit`: gives what is computed of a group's result, of all that its readers need.
    """
    sizes = NominalSizes(extent)
    needed: dict[SSAValue, list[Span]] = {}

    def need(value: SSAValue, spans: Sequence[Span]) -> None:
        old = needed.get(value, spans)
        needed[value] = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, spans, strict=True)]

    for op in reversed(list(flat_ops(pipeline))):
        match op:
            case ReturnOp():
                for func in op.funcs:
                    need(func, _whole(func, extent))
            case GroupOp():
                for result, inner in zip(op.funcs, op.yield_op.values, strict=True):
                    if result in needed:
                        if limit is not None:
                            needed[result] = limit(result, list(needed[result]))
                        need(inner, needed[result])
            case BoundaryOp() if op.func in needed:
                need(op.source, _inside(op, needed[op.func], sizes))
            case StageOp() | UpdateOp() if any(f in needed for f in op.funcs):
                for spans in [needed[f] for f in op.funcs if f in needed]:
                    for f in op.funcs:
                        need(f, spans)
                region = _limited(needed[op.funcs[0]], _declared(op))
                for f in op.funcs:
                    needed[f] = region
                coordinates = _coordinates(op, region, sizes)
                own = op.currents if isinstance(op, UpdateOp) else ()
                for read in reads(op):
                    if read.source not in own:
                        need(read.source, _touched(read, coordinates, sizes))
                if isinstance(op, UpdateOp):
                    # what it reads of itself it also writes, or its old functions give
                    for old in op.old_funcs:
                        need(old, region)
                        need(old, _touched(op.write_op, coordinates, sizes))
    return needed


def nominal_domain(update: UpdateOp, needed: Extents, extent: Sequence[int]) -> Extents:
    """Count the points along each coordinate of an update, pure ones first, if `needed` points of its functions are."""
    known = _coordinates(update, [(0, n - 1) for n in needed], NominalSizes(extent))
    spans = [_numbers(known[c]) or (0, 0) for c in update.coordinates]
    return tuple(high - low + 1 for low, high in spans)


def _declared(op: InputOp | Definition) -> tuple[tuple[int, int] | None, ...]:
    if op.bounds is not None:
        return op.bounds.data
    type = op.results[0].type
    assert isinstance(type, FuncType)
    return (None,) * type.rank.data


def _whole(func: SSAValue, extent: Sequence[int]) -> list[Span]:
    """Return the box of an output, which begins at 0 where no bounds are declared."""
    owner = func.owner
    stage = defining_op(func) if isinstance(owner, GroupOp) else owner
    assert isinstance(func.type, FuncType)
    declared = _declared(stage) if isinstance(stage, InputOp | Definition) else (None,) * func.type.rank.data
    lows = [d[0] if d is not None else 0 for d in declared]
    return [(low, low + n - 1) for low, n in zip(lows, nominal_extents(declared, extent), strict=True)]


def _limited(region: Sequence[Span], declared: Sequence[tuple[int, int] | None]) -> list[Span]:
    """Clip a region to a declared box, which nominal sizes may exceed."""
    found = []
    for (low, high), box in zip(region, declared, strict=True):
        if box is not None:
            low = min(max(low, box[0]), box[0] + box[1] - 1)
            high = max(min(high, box[0] + box[1] - 1), low)
        found.append((low, high))
    return found


def _inside(op: BoundaryOp, wanted: Sequence[Span], sizes: NominalSizes) -> list[Span]:
    """Compute the box that a boundary needs of its source, at least one point."""
    found = list(wanted)
    try:
        boxes = boundary_box(op, sizes)
    except PipelineError:  # which whoever calls the program is told
        return found
    for dim, box in boxes.items():
        inside = _numbers(through_boundary(op.kind.data, wanted[dim], box) or (box[0], box[0]))
        found[dim] = inside if inside is not None else wanted[dim]
    return found


def _coordinates(op: Definition, region: Sequence[Span], sizes: NominalSizes) -> dict[SSAValue, AnySpan]:
    """Return the ranges of a body's coordinates; a reduction coordinate of unknown range stays at 0."""
    try:
        found = coordinate_spans(op, region, sizes)
    except PipelineError:  # which whoever calls the program is told
        found = None
    return found or {value: (0, 0) for value in op.body.block.args}


def _touched(op: ReadOp | WriteOp, known: Mapping[SSAValue, AnySpan], sizes: NominalSizes) -> list[Span]:
    """Return the box that a read or write touches while the coordinates of its body run over their spans."""
    operands = [known[v] if v in known else value_range(v, known, sizes) for v in op.indices]
    found = []
    for expr in op.map.data.results:
        span = _numbers(expr_span(expr, operands))
        assert span is not None  # numbers in, numbers out
        found.append(span)
    return found


def _numbers(span: AnySpan) -> Span | None:
    low, high = span
    return (low, max(low, high)) if isinstance(low, int) and isinstance(high, int) else None
