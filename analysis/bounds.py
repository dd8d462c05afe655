"""Bounds inference: the box of every function that a call needs, computed from the outputs back to the inputs.

Exact for affine accesses with one coordinate per index. One inference serves the numbers of a call
(`required_boxes`; so one compiled program serves any size) and the symbols of every call (`symbolic_regions`).
`default_output_boxes` goes the other way: the largest outputs whose reads stay inside the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import accesses, function_name, outer_reads, own_reads
from tilefuse.analysis.dependence import depending
from tilefuse.analysis.index import GeneralIndex, Index, Span, expr_span
from tilefuse.analysis.scalars import boundary_box, domain_spans
from tilefuse.analysis.sizes import AnySizes, AnySpan, CallSizes, Sizes
from tilefuse.analysis.sizes import Box as Box
from tilefuse.analysis.value_range import is_unbounded, value_range
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    Definition,
    GroupOp,
    InputOp,
    PipelineOp,
    ReadOp,
    ReturnOp,
    StageOp,
    UpdateOp,
    WriteOp,
)
from tilefuse.dialects.img.symbolic import Role, SizeValue, greatest, is_sum, least, provably_le, symbol
from tilefuse.dialects.img.types import FuncType

Spans = list[AnySpan]

_ANYWHERE = (-(1 << 60), 1 << 60)
"""The span of a value that nothing bounds; a remainder of it is bounded all the same."""


def spans_of(box: Box) -> list[Span]:
    """Convert a box to (first, last) per dimension."""
    return [(low, low + extent - 1) for low, extent in box]


def union(a: Spans | None, b: Spans) -> Spans:
    """Return the smallest box that contains both."""
    if a is None:
        return list(b)
    return [(least(p[0], q[0]), greatest(p[1], q[1])) for p, q in zip(a, b, strict=True)]


def flat_ops(pipeline: PipelineOp) -> Iterator[Operation]:
    """Yield the operations of a pipeline, those inside groups included, producers first."""
    for op in pipeline.body.block.ops:
        if isinstance(op, GroupOp):
            yield from op.body.block.ops
        yield op


def computed_stages(pipeline: PipelineOp, needed: Mapping[SSAValue, Box]) -> Iterator[tuple[Definition, Box]]:
    """Yield the stages and updates that a call computes, in order, with their boxes; `needed`: of `required_boxes`."""
    for op in flat_ops(pipeline):
        if isinstance(op, Definition) and (box := needed.get(op.funcs[0])) is not None:
            yield op, box


def coordinate_spans(op: Definition, region: Sequence[AnySpan], sizes: Sizes) -> dict[SSAValue, AnySpan] | None:
    """Return the box of a body's coordinates while its functions are computed on `region`; None if certainly empty."""
    if isinstance(op, StageOp):
        return dict(zip(op.body.block.args, region, strict=True))
    domain = domain_spans(op, sizes)
    if any(provably_le(last + 1, first) for first, last in domain):
        return None
    return dict(zip(op.coordinates, [*(region[dim] for dim in op.pure_dims), *domain], strict=True))


def touched_spans(op: ReadOp | WriteOp, of: Definition, coordinates: Mapping[SSAValue, AnySpan], sizes: Sizes) -> Spans:
    """Return the box that a read or write in the body of `of` touches while the coordinates run over their spans."""
    operands: list[AnySpan] = []
    anywhere = False
    for value in op.indices:
        span = coordinates.get(value)
        if span is None:
            span = value_range(value, coordinates, sizes)
            if is_unbounded(span):
                span, anywhere = _ANYWHERE, True
        operands.append(span)
    spans = [expr_span(e, operands) for e in op.map.data.results]
    # compared only where it matters: symbolic spans take long to compare
    if anywhere and any(is_unbounded(span) for span in spans):
        what = f"{'stage' if isinstance(of, StageOp) else 'update'} '{of.sym_name.data}'"
        what = f"{what} writes" if isinstance(op, WriteOp) else f"{what} reads '{function_name(op.source)}'"
        raise PipelineError(
            f"{what} at an index computed from data that nothing bounds; bound it with clamp(index, low, high)", op
        )
    return spans


def updated_spans(op: UpdateOp, region: Spans, coordinates: Mapping[SSAValue, AnySpan] | None, sizes: Sizes) -> Spans:
    """Return the box of the old functions that an update needs: its own region, its reads of itself and its writes.

    Over a domain of no points nothing is written, but places that data, constants or a dimension that has points
    decide count, as in Halide: kernels load what they add to there, and store it, around the loops over the others.
    """
    if coordinates is None:
        domain = domain_spans(op, sizes)
        around = dict(zip(op.coordinates, [*(region[dim] for dim in op.pure_dims), *domain], strict=True))
        touched = touched_spans(op.write_op, op, cast(Mapping[SSAValue, AnySpan], around), sizes)
        computed = [inner for inner in op.body.block.ops if not isinstance(inner, ReadOp)]
        nowhere = [axis.coordinate for axis, (a, b) in zip(op.domain, domain, strict=True) if provably_le(b + 1, a)]
        follow = depending(computed, nowhere)
        at = [[op.write_op.indices[d] for d in e.used_dims()] for e in op.write_op.map.data.results]
        moved = [not follow.isdisjoint(indices) for indices in at]
        return union(region, [r if m else t for r, t, m in zip(region, touched, moved, strict=True)])
    own: list[ReadOp | WriteOp] = [*own_reads(op)]
    for touch in (*own, op.write_op):
        region = union(region, touched_spans(touch, op, coordinates, sizes))
    return region


def through_boundary(kind: BoundaryKind, wanted: AnySpan, box: AnySpan) -> AnySpan | None:
    """Map the coordinates `wanted` through a boundary to coordinates inside `box`; None if the boundary reads none."""
    first, last = box
    low, high = wanted
    if provably_le(last + 1, first):
        return None

    def clamped(x: SizeValue) -> SizeValue:
        return greatest(least(x, last), first)

    # A reflection makes each end depend on both; of ends that are limited already the forms would grow without limit.
    exact = is_sum(low) and is_sum(high)
    match kind:
        case BoundaryKind.ConstantExterior:
            low, high = greatest(low, first), least(high, last)
            return None if provably_le(high + 1, low) else (low, high)
        case BoundaryKind.RepeatEdge:
            return (clamped(low), clamped(high))
        case BoundaryKind.MirrorImage if exact:
            # what lies outside on one side comes back from there, as far as it went
            return (clamped(least(low, 2 * last + 1 - high)), clamped(greatest(high, 2 * first - 1 - low)))
        case BoundaryKind.MirrorInterior if exact:
            return (clamped(least(low, 2 * last - high)), clamped(greatest(high, 2 * first - low)))
    # exact while inside, else at most the box
    return wanted if provably_le(first, low) and provably_le(high, last) else box


def required_spans(pipeline: PipelineOp, outputs: Mapping[str, Spans], sizes: Sizes) -> dict[SSAValue, Spans]:
    """Compute (first, last) per dimension of every function that the outputs need; unneeded functions are absent.

    `outputs`: the same of the outputs, by name. By symbols, a function may be there that some calls do not need.
    """
    needed: dict[SSAValue, Spans] = {}

    def need(value: SSAValue, spans: Spans) -> None:
        needed[value] = union(needed.get(value), spans)

    for op in reversed(list(flat_ops(pipeline))):
        match op:
            case ReturnOp():
                for name, func in op.outputs:
                    need(func, outputs[name])
            case GroupOp():
                of_stage: dict[object, list[Spans]] = {}
                for result, inner in zip(op.funcs, op.yield_op.values, strict=True):
                    if result in needed:
                        of_stage.setdefault(inner.owner, []).append(needed[result])
                for result, inner in zip(op.funcs, op.yield_op.values, strict=True):
                    # a kernel computes all results of a stage over one box
                    for spans in of_stage.get(inner.owner, ()):
                        need(result, spans)
                        need(inner, spans)
            case BoundaryOp() if op.func in needed:
                reached: Spans | None = list(needed[op.func])
                for dim, box in boundary_box(op, sizes).items():
                    inside = through_boundary(op.kind.data, needed[op.func][dim], box)
                    if inside is None:
                        reached = None
                        break
                    assert reached is not None
                    reached[dim] = inside
                if reached is not None:
                    need(op.source, reached)
            case StageOp() | UpdateOp():
                regions = [needed[f] for f in op.funcs if f in needed]
                if not regions:
                    continue
                region = regions[0]
                for other in regions[1:]:
                    region = union(region, other)
                for f in op.funcs:
                    needed[f] = region
                _check_declared(op, region)
                coordinates = coordinate_spans(op, region, sizes)
                if isinstance(op, UpdateOp):
                    for old in op.old_funcs:
                        need(old, updated_spans(op, region, coordinates, sizes))
                if coordinates is None:
                    continue
                for read in outer_reads(op):
                    need(read.source, touched_spans(read, op, coordinates, sizes))
    return needed


def _check_declared(op: Definition, region: Spans) -> None:
    for d, declared in enumerate(op.bounds.data if op.bounds is not None else ()):
        if declared is None:
            continue
        first, last = declared[0], declared[0] + declared[1] - 1
        low, high = region[d]
        if provably_le(low, first - 1) or provably_le(last + 1, high):
            raise PipelineError(
                f"stage '{op.sym_name.data}' is needed at {low}..{high} in dimension {d}, "
                f"but is bound to {first}..{last}; widen its bound or read less (in Halide: Error: Bounds given for "
                f"{op.sym_name.data} in {_coordinate(op, d)} (from {first} to {last}) do not cover required region "
                f"(from {low} to {high}))",
                op,
            )


def _coordinate(op: Definition, dim: int) -> str:
    """Return the name of a coordinate for error messages."""
    if isinstance(op, StageOp):
        hint = op.body.block.args[dim].name_hint
    else:
        hint = next((c.name_hint for c, d in zip(op.pure, op.pure_dims, strict=True) if d == dim), None)
    return hint or f"dimension {dim}"


def required_boxes(
    pipeline: PipelineOp,
    output_boxes: Mapping[str, Box],
    input_boxes: Mapping[str, Box],
    scalars: Mapping[str, int | float],
) -> dict[SSAValue, Box]:
    """Compute (min, extent) per dimension of every function that the outputs need. See `required_spans`."""
    outputs = {name: cast(Spans, spans_of(box)) for name, box in output_boxes.items()}
    spans = required_spans(pipeline, outputs, CallSizes(input_boxes, scalars))
    # numbers in, numbers out
    found = cast(dict[SSAValue, list[Span]], spans)
    return {value: tuple((low, high - low + 1) for low, high in s) for value, s in found.items()}


def symbolic_regions(pipeline: PipelineOp) -> dict[SSAValue, Spans]:
    """Infer the box of every function as a formula of output boxes, input boxes and parameters, valid for any call.

    Never less than a call needs, and exactly that, unless it reads through `mod`, repeats an image, mirrors what
    another boundary limits, or needs no point inside the box of a constant exterior.
    """
    outputs: dict[str, Spans] = {}
    for name, func in pipeline.return_op.outputs:
        assert isinstance(func.type, FuncType)
        mins = [symbol(Role.Output, name, d) for d in range(func.type.rank.data)]
        extents = [symbol(Role.Output, name, d, extent=True) for d in range(func.type.rank.data)]
        outputs[name] = [(low, low + extent - 1) for low, extent in zip(mins, extents, strict=True)]
    return required_spans(pipeline, outputs, AnySizes())


OpenSpan = tuple[int | None, int | None]
"""(first, last); None where nothing limits."""


def _invert(index: Index, limit: OpenSpan) -> OpenSpan:
    """Return the coordinates x with `limit[0] <= floor((num x + offset) / den) <= limit[1]`."""
    num, offset, den = index.num, index.offset, index.den
    low, high = limit
    # floor(v / den) >= low  <=>  v >= low den;   floor(v / den) <= high  <=>  v <= high den + den - 1
    v_low = None if low is None else low * den - offset
    v_high = None if high is None else high * den + den - 1 - offset
    if num < 0:
        num = -num
        v_low, v_high = (None if v_high is None else -v_high), (None if v_low is None else -v_low)
    return (
        None if v_low is None else -(-v_low // num),
        None if v_high is None else v_high // num,
    )


def _meet(a: OpenSpan, b: OpenSpan) -> OpenSpan:
    lows = [v for v in (a[0], b[0]) if v is not None]
    highs = [v for v in (a[1], b[1]) if v is not None]
    return (max(lows) if lows else None, min(highs) if highs else None)


def _take(op: Definition, spans: list[OpenSpan], valid: dict[SSAValue, list[OpenSpan]]) -> None:
    """Record the region in which the functions of `op` can be computed: `spans`, cut to the declared bounds."""
    for d, declared in enumerate(op.bounds.data if op.bounds is not None else ()):
        if declared is not None:
            spans[d] = _meet(spans[d], (declared[0], declared[0] + declared[1] - 1))
    for f in op.funcs:
        valid[f] = spans


def default_output_boxes(pipeline: PipelineOp, input_boxes: Mapping[str, Box]) -> dict[str, Box]:
    """Compute the largest box of each output whose reads stay inside the inputs.

    A dimension that nothing limits takes its declared bound, else the extent of the same dimension of the
    first input of that rank. Raises PipelineError if a dimension has neither, or if the box is empty.
    """
    valid: dict[SSAValue, list[OpenSpan]] = {}
    for op in flat_ops(pipeline):
        match op:
            case InputOp():
                valid[op.func] = list(spans_of(input_boxes[op.sym_name.data]))
            case BoundaryOp():
                spans = list(valid[op.source])
                for dim in op.dimensions:
                    spans[dim] = (None, None)
                valid[op.func] = spans
            case StageOp():
                spans = [(None, None)] * op.rank
                for access in accesses(op):
                    for index, limit in zip(access.indices, valid[access.function], strict=True):
                        if isinstance(index, Index) and index.var is not None:
                            spans[index.var] = _meet(spans[index.var], _invert(index, limit))
                        elif isinstance(index, GeneralIndex) and not index.data_dependent:
                            continue  # checked against the inputs once the box is chosen
                _take(op, spans, valid)
            case UpdateOp():
                spans = [(None, None)] * op.rank
                for old in op.old_funcs:
                    spans = [_meet(*pair) for pair in zip(spans, valid[old], strict=True)]
                for access in accesses(op):
                    if access.function in op.currents:
                        continue
                    for index, limit in zip(access.indices, valid[access.function], strict=True):
                        if isinstance(index, Index) and index.var is not None and index.var < len(op.pure):
                            dim = op.pure_dims[index.var]
                            spans[dim] = _meet(spans[dim], _invert(index, limit))
                _take(op, spans, valid)
            case GroupOp():
                for result, inner_value in zip(op.funcs, op.yield_op.values, strict=True):
                    valid[result] = valid[inner_value]
    return {name: _close(name, pipeline, func, valid[func], input_boxes) for name, func in pipeline.return_op.outputs}


def _close(
    name: str,
    pipeline: PipelineOp,
    func: SSAValue,
    spans: list[OpenSpan],
    input_boxes: Mapping[str, Box],
) -> Box:
    inputs = [input_boxes[o.sym_name.data] for o in pipeline.body.block.ops if isinstance(o, InputOp)]
    like = next((b for b in inputs if len(b) == len(spans)), None)
    if like is None:
        like = next((b for b in inputs if len(b) > len(spans)), max(inputs, key=len, default=()))
    box = []
    for d, (low, high) in enumerate(spans):
        if low is None or high is None:
            if d >= len(like):
                raise PipelineError(
                    f"nothing says how large dimension {d} of output '{name}' is; give sizes=, out=, or "
                    "bound it with Func.bound",
                    pipeline.return_op,
                )
            if low is None and high is None:
                low, high = like[d][0], like[d][0] + like[d][1] - 1
            elif low is None:
                assert high is not None
                low = min(like[d][0], high)
            else:
                high = max(like[d][0] + like[d][1] - 1, low)
        if high < low:
            raise PipelineError(
                f"output '{name}' has no point left in dimension {d}: stage '{function_name(func)}' reads more "
                "than the inputs hold; give a larger input or a boundary condition",
                pipeline.return_op,
            )
        box.append((low, high - low + 1))
    return tuple(box)
