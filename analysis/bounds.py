"""Bounds inference: which box of every function a call needs, backwards from the outputs.

Exact for affine accesses with one coordinate per index; the boxes are those of the call at hand, so one
compiled program serves any size. `default_output_boxes` goes the other way: the largest outputs whose
reads stay inside the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.index import GeneralIndex, Index, Span, classify, expr_span
from tilefuse.analysis.value_range import is_unbounded, value_range
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    ExtentOp,
    GroupOp,
    InputOp,
    MinOp,
    PipelineOp,
    ReadOp,
    ReturnOp,
    StageOp,
)

Box = tuple[tuple[int, int], ...]
"""(min, extent) per dimension, x first."""

Spans = list[Span]


def spans_of(box: Box) -> Spans:
    """(first, last) per dimension."""
    return [(low, low + extent - 1) for low, extent in box]


def box_of(spans: Spans) -> Box:
    """The inverse of `spans_of`."""
    return tuple((low, high - low + 1) for low, high in spans)


def union(a: Spans | None, b: Spans) -> Spans:
    """The smallest box around both."""
    if a is None:
        return list(b)
    return [(min(p[0], q[0]), max(p[1], q[1])) for p, q in zip(a, b, strict=True)]


def flat_ops(pipeline: PipelineOp) -> Iterator[Operation]:
    """The ops of a pipeline, groups opened, producers first."""
    for op in pipeline.body.block.ops:
        if isinstance(op, GroupOp):
            yield from op.body.block.ops
        yield op


def stage_name(value: SSAValue) -> str:
    """The name that a user knows a function by."""
    owner = value.owner
    while isinstance(owner, BoundaryOp):
        owner = owner.source.owner
    if isinstance(owner, StageOp | InputOp | GroupOp):
        return owner.sym_name.data
    return value.name_hint or "?"


def eval_index(value: SSAValue, boxes: Mapping[str, Box], scalars: Mapping[str, int | float]) -> int:
    """A scalar of type index (or an integer it comes from) that stands between the stages."""
    op = value.owner
    match op:
        case MinOp() | ExtentOp():
            source = op.input.owner
            assert isinstance(source, InputOp)
            return boxes[source.sym_name.data][op.dim.value.data][1 if isinstance(op, ExtentOp) else 0]
        case arith.ConstantOp(value=IntegerAttr() as attr):
            return int(attr.value.data)
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.ExtUIOp() | arith.TruncIOp():
            return eval_index(op.operands[0], boxes, scalars)
    if isinstance(op, Operation) and op.name == "img.param":
        return int(scalars[op.sym_name.data])  # type: ignore[attr-defined]
    if isinstance(op, Operation) and len(op.operands) == 2:
        a, b = (eval_index(v, boxes, scalars) for v in op.operands)
        match op:
            case arith.AddiOp():
                return a + b
            case arith.SubiOp():
                return a - b
            case arith.MuliOp():
                return a * b
            case arith.MinSIOp() | arith.MinUIOp():
                return min(a, b)
            case arith.MaxSIOp() | arith.MaxUIOp():
                return max(a, b)
            case arith.DivSIOp() if (a < 0) != (b < 0):
                return -(-a // b) if b else 0
            case arith.FloorDivSIOp() | arith.DivUIOp() | arith.DivSIOp():
                return a // b if b else 0
        if op.name == "img.div":
            return a // b if b > 0 else (-(a // -b) if b < 0 else 0)
        if op.name == "img.mod":
            return a % abs(b) if b else 0
    raise PipelineError(
        "the box of a boundary must be computed from sizes, params and constants by + - * / min max",
        op if isinstance(op, Operation) else None,
    )


def boundary_box(op: BoundaryOp, boxes: Mapping[str, Box], scalars: Mapping[str, int | float]) -> dict[int, Span]:
    """(first, last) of each dimension that `op` continues."""
    if op.mins:
        spans = {}
        for dim, low, extent in zip(op.dimensions, op.mins, op.extents, strict=True):
            first = eval_index(low, boxes, scalars)
            spans[dim] = (first, first + eval_index(extent, boxes, scalars) - 1)
        return spans
    source = op.source.owner
    assert isinstance(source, InputOp)
    box = spans_of(boxes[source.sym_name.data])
    return {d: box[d] for d in op.dimensions}


def read_spans(op: ReadOp, stage: StageOp, region: Spans) -> Spans:
    """The box that a read touches while the coordinates of `stage` run over `region`."""
    coordinates: dict[SSAValue, Span] = dict(zip(stage.body.block.args, region, strict=True))
    operands = []
    for value in op.indices:
        span = coordinates.get(value)
        if span is None:
            span = value_range(value, coordinates)
            if is_unbounded(span):
                raise PipelineError(
                    f"stage '{stage.sym_name.data}' reads '{stage_name(op.source)}' at an index computed "
                    "from data that nothing bounds; bound it with clamp(index, low, high)",
                    op,
                )
        operands.append(span)
    return [expr_span(e, operands) for e in op.map.data.results]


def through_boundary(kind: BoundaryKind, wanted: Span, box: Span) -> Span | None:
    """The coordinates inside `box` that a boundary reads for those of `wanted`; None if it reads none."""
    if box[1] < box[0]:
        return None
    low, high = max(wanted[0], box[0]), min(wanted[1], box[1])
    match kind:
        case BoundaryKind.ConstantExterior:
            return (low, high) if low <= high else None
        case BoundaryKind.RepeatEdge:
            return (min(low, box[1]), max(high, box[0]))
    # the mirrors and the repetition: exact while inside, else at most the box
    return wanted if (low, high) == wanted else box


def required_spans(
    pipeline: PipelineOp,
    output_boxes: Mapping[str, Box],
    input_boxes: Mapping[str, Box],
    scalars: Mapping[str, int | float],
) -> dict[SSAValue, Spans]:
    """(first, last) per dimension of every function that the outputs need; those not needed are absent."""
    needed: dict[SSAValue, Spans] = {}

    def need(value: SSAValue, spans: Spans) -> None:
        needed[value] = union(needed.get(value), spans)

    for op in reversed(list(flat_ops(pipeline))):
        match op:
            case ReturnOp():
                for name, func in op.outputs:
                    need(func, spans_of(output_boxes[name]))
            case GroupOp():
                asked = [needed[f] for f in op.funcs if f in needed]
                for result, inner in zip(op.funcs, op.yield_op.values, strict=True):
                    # one kernel computes all results of a stage over one box
                    for spans in asked:
                        need(result, spans)
                        need(inner, spans)
            case BoundaryOp() if op.func in needed:
                reached: Spans | None = list(needed[op.func])
                for dim, box in boundary_box(op, input_boxes, scalars).items():
                    inside = through_boundary(op.kind.data, needed[op.func][dim], box)
                    if inside is None:
                        reached = None
                        break
                    assert reached is not None
                    reached[dim] = inside
                if reached is not None:
                    need(op.source, reached)
            case StageOp():
                asked = [needed[f] for f in op.funcs if f in needed]
                if not asked:
                    continue
                region = asked[0]
                for other in asked[1:]:
                    region = union(region, other)
                for f in op.funcs:
                    needed[f] = region
                _check_declared(op, region)
                for inner in op.body.block.ops:
                    if isinstance(inner, ReadOp):
                        need(inner.source, read_spans(inner, op, region))
    return needed


def _check_declared(op: StageOp, region: Spans) -> None:
    for d, declared in enumerate(op.bounds.data if op.bounds is not None else ()):
        if declared is None:
            continue
        first, last = declared[0], declared[0] + declared[1] - 1
        if region[d][0] < first or region[d][1] > last:
            raise PipelineError(
                f"stage '{op.sym_name.data}' is needed at {region[d][0]}..{region[d][1]} in dimension {d}, "
                f"but is bound to {first}..{last}; widen its bound or read less",
                op,
            )


def required_boxes(
    pipeline: PipelineOp,
    output_boxes: Mapping[str, Box],
    input_boxes: Mapping[str, Box],
    scalars: Mapping[str, int | float],
) -> dict[SSAValue, Box]:
    """(min, extent) per dimension of every function that the outputs need. See `required_spans`."""
    spans = required_spans(pipeline, output_boxes, input_boxes, scalars)
    return {value: box_of(s) for value, s in spans.items()}


OpenSpan = tuple[int | None, int | None]
"""(first, last); None where nothing limits."""


def _invert(index: Index, limit: OpenSpan) -> OpenSpan:
    """The coordinates x with `limit[0] <= floor((num x + offset) / den) <= limit[1]`."""
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


def default_output_boxes(
    pipeline: PipelineOp,
    input_boxes: Mapping[str, Box],
    scalars: Mapping[str, int | float],
) -> dict[str, Box]:
    """The largest box of each output whose reads stay inside the inputs.

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
                args: dict[SSAValue, int] = {a: i for i, a in enumerate(op.body.block.args)}
                for inner in op.body.block.ops:
                    if not isinstance(inner, ReadOp):
                        continue
                    coords = [args.get(v) for v in inner.indices]
                    for expr, limit in zip(inner.map.data.results, valid[inner.source], strict=True):
                        index = classify(expr, coords)
                        if isinstance(index, Index) and index.var is not None:
                            spans[index.var] = _meet(spans[index.var], _invert(index, limit))
                        elif isinstance(index, GeneralIndex) and not index.data_dependent:
                            continue  # checked against the inputs once the box is chosen
                for d, declared in enumerate(op.bounds.data if op.bounds is not None else ()):
                    if declared is not None:
                        spans[d] = _meet(spans[d], (declared[0], declared[0] + declared[1] - 1))
                for f in op.funcs:
                    valid[f] = spans
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
                f"output '{name}' has no point left in dimension {d}: stage '{stage_name(func)}' reads more "
                "than the inputs hold; give a larger input or a boundary condition",
                pipeline.return_op,
            )
        box.append((low, high - low + 1))
    return tuple(box)
