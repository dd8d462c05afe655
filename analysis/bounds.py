"""Bounds inference: which box of every function a call needs, backwards from the outputs.

Exact for affine accesses with one coordinate per index. One inference serves the numbers of a call
(`required_boxes`; so one compiled program serves any size) and the symbols of every call (`symbolic_regions`).
`default_output_boxes` goes the other way: the largest outputs whose reads stay inside the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import accesses, function_name, reads
from tilefuse.analysis.index import GeneralIndex, Index, Span, expr_span
from tilefuse.analysis.sizes import AnySizes, AnySpan, CallSizes, Sizes
from tilefuse.analysis.sizes import Box as Box
from tilefuse.analysis.value_range import is_unbounded, value_range
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    DivOp,
    ExtentOp,
    GroupOp,
    InputOp,
    MinOp,
    ModOp,
    ParamOp,
    PipelineOp,
    ReadOp,
    ReturnOp,
    StageOp,
)
from tilefuse.dialects.img.symbolic import Num, Role, greatest, is_sum, least, surely_le, symbol
from tilefuse.dialects.img.types import FuncType

Spans = list[AnySpan]


def spans_of(box: Box) -> list[Span]:
    """(first, last) per dimension."""
    return [(low, low + extent - 1) for low, extent in box]


def union(a: Spans | None, b: Spans) -> Spans:
    """The smallest box around both."""
    if a is None:
        return list(b)
    return [(least(p[0], q[0]), greatest(p[1], q[1])) for p, q in zip(a, b, strict=True)]


def flat_ops(pipeline: PipelineOp) -> Iterator[Operation]:
    """The ops of a pipeline, groups opened, producers first."""
    for op in pipeline.body.block.ops:
        if isinstance(op, GroupOp):
            yield from op.body.block.ops
        yield op


def computed_stages(pipeline: PipelineOp, needed: Mapping[SSAValue, Box]) -> Iterator[tuple[StageOp, Box]]:
    """Yield the stages that a call computes, in order, each with the box of it; `needed` as of `required_boxes`."""
    for op in flat_ops(pipeline):
        if isinstance(op, StageOp) and (box := needed.get(op.funcs[0])) is not None:
            yield op, box


def eval_index(value: SSAValue, sizes: Sizes) -> Num:
    """A scalar of type index (or an integer it comes from) that stands between the stages, read as signed.

    Numbers of a call wrap as their types do; PipelineError for an index beyond 64 bits.
    """
    number = _computed(value, sizes)
    if not isinstance(number, int):
        return number
    width = value.type.width.data if isinstance(value.type, IntegerType) else 64
    half = 1 << (width - 1)
    if -half <= number < half:
        return number
    if isinstance(value.type, IndexType):
        raise PipelineError(
            f"{number} in the box of a boundary is beyond 64 bits, which indices have",
            value.owner if isinstance(value.owner, Operation) else None,
        )
    return (number + half) % (2 * half) - half


def _unsigned(value: SSAValue, sizes: Sizes) -> Num:
    """Evaluate an index as `eval_index` does, and read its bits as an unsigned number."""
    number = eval_index(value, sizes)
    if isinstance(number, int) and isinstance(value.type, IntegerType):
        return int(number % (1 << value.type.width.data))
    return number


def _computed(value: SSAValue, sizes: Sizes) -> Num:
    op = value.owner
    match op:
        case MinOp() | ExtentOp():
            source = op.input.owner
            assert isinstance(source, InputOp)
            return sizes.interval(source, op.dim.value.data)[isinstance(op, ExtentOp)]
        case ParamOp():
            number = sizes.param(op)
            assert number is not None
            return number
        case arith.ConstantOp(value=IntegerAttr() as attr):
            return int(attr.value.data)
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
            return eval_index(op.operands[0], sizes)
        case arith.ExtUIOp():
            return _unsigned(op.input, sizes)
    if isinstance(op, Operation) and len(op.operands) == 2:
        read = _unsigned if _reads_unsigned(op) else eval_index
        a, b = (read(v, sizes) for v in op.operands)
        match op:
            case arith.AddiOp():
                return a + b
            case arith.SubiOp():
                return a - b
            case arith.MuliOp():
                return a * b
            case arith.MinSIOp() | arith.MinUIOp():
                return least(a, b)
            case arith.MaxSIOp() | arith.MaxUIOp():
                return greatest(a, b)
            case arith.FloorDivSIOp() | arith.DivUIOp():
                return a // b if b != 0 else 0
            case arith.DivSIOp() | DivOp() | ModOp():
                return _divided(op, a, b)
    raise PipelineError(
        "the box of a boundary must be computed from sizes, params and constants by + - * / min max",
        op if isinstance(op, Operation) else None,
    )


def _reads_unsigned(op: Operation) -> bool:
    if isinstance(op, DivOp | ModOp):
        return op.signed is None
    return isinstance(op, arith.MinUIOp | arith.MaxUIOp | arith.DivUIOp)


def _divided(op: Operation, a: Num, b: Num) -> Num:
    """The divisions that look at the sign of the divisor: towards zero, or with a remainder that is not negative."""
    if b == 0:
        return 0
    negative = surely_le(b, 0)
    if not negative and not surely_le(0, b):
        raise PipelineError(
            "the divisor of a boundary's box may be negative or positive; write which by max or min", op
        )
    by = -b if negative else b
    if isinstance(op, ModOp):
        return a % by
    # towards zero is: the positive part and the negative part by themselves
    quotient = a // by if isinstance(op, DivOp) else greatest(a, 0) // by - greatest(-a, 0) // by
    return -quotient if negative else quotient


def boundary_box(op: BoundaryOp, sizes: Sizes) -> dict[int, AnySpan]:
    """(first, last) of each dimension that `op` continues."""
    if op.mins:
        pairs = [(eval_index(m, sizes), eval_index(n, sizes)) for m, n in zip(op.mins, op.extents, strict=True)]
    else:
        source = op.source.owner
        assert isinstance(source, InputOp)
        pairs = [sizes.interval(source, d) for d in op.dimensions]
    return {d: (low, low + extent - 1) for d, (low, extent) in zip(op.dimensions, pairs, strict=True)}


def read_spans(op: ReadOp, stage: StageOp, region: Sequence[AnySpan], sizes: Sizes) -> Spans:
    """The box that a read touches while the coordinates of `stage` run over `region`."""
    coordinates: dict[SSAValue, AnySpan] = dict(zip(stage.body.block.args, region, strict=True))
    operands = []
    for value in op.indices:
        span = coordinates.get(value)
        if span is None:
            span = value_range(value, coordinates, sizes)
            if is_unbounded(span):
                raise PipelineError(
                    f"stage '{stage.sym_name.data}' reads '{function_name(op.source)}' at an index computed "
                    "from data that nothing bounds; bound it with clamp(index, low, high)",
                    op,
                )
        operands.append(span)
    return [expr_span(e, operands) for e in op.map.data.results]


def through_boundary(kind: BoundaryKind, wanted: AnySpan, box: AnySpan) -> AnySpan | None:
    """The coordinates inside `box` that a boundary reads for those of `wanted`; None if it reads none."""
    first, last = box
    low, high = wanted
    if surely_le(last + 1, first):
        return None

    def clamped(x: Num) -> Num:
        return greatest(least(x, last), first)

    # A reflection makes each end depend on both; of ends that are limited already the forms would grow without limit.
    exact = is_sum(low) and is_sum(high)
    match kind:
        case BoundaryKind.ConstantExterior:
            low, high = greatest(low, first), least(high, last)
            return None if surely_le(high + 1, low) else (low, high)
        case BoundaryKind.RepeatEdge:
            return (clamped(low), clamped(high))
        case BoundaryKind.MirrorImage if exact:
            # what lies outside on one side comes back from there, as far as it went
            return (clamped(least(low, 2 * last + 1 - high)), clamped(greatest(high, 2 * first - 1 - low)))
        case BoundaryKind.MirrorInterior if exact:
            return (clamped(least(low, 2 * last - high)), clamped(greatest(high, 2 * first - low)))
    # exact while inside, else at most the box
    return wanted if surely_le(first, low) and surely_le(high, last) else box


def required_spans(pipeline: PipelineOp, outputs: Mapping[str, Spans], sizes: Sizes) -> dict[SSAValue, Spans]:
    """(first, last) per dimension of every function that the outputs need; those not needed are absent.

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
                asked = [needed[f] for f in op.funcs if f in needed]
                for result, inner in zip(op.funcs, op.yield_op.values, strict=True):
                    # one kernel computes all results of a stage over one box
                    for spans in asked:
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
                for read in reads(op):
                    need(read.source, read_spans(read, op, region, sizes))
    return needed


def _check_declared(op: StageOp, region: Spans) -> None:
    for d, declared in enumerate(op.bounds.data if op.bounds is not None else ()):
        if declared is None:
            continue
        first, last = declared[0], declared[0] + declared[1] - 1
        low, high = region[d]
        if surely_le(low, first - 1) or surely_le(last + 1, high):
            raise PipelineError(
                f"stage '{op.sym_name.data}' is needed at {low}..{high} in dimension {d}, "
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
    outputs = {name: cast(Spans, spans_of(box)) for name, box in output_boxes.items()}
    spans = required_spans(pipeline, outputs, CallSizes(input_boxes, scalars))
    # numbers in, numbers out
    found = cast(dict[SSAValue, list[Span]], spans)
    return {value: tuple((low, high - low + 1) for low, high in s) for value, s in found.items()}


def symbolic_regions(pipeline: PipelineOp) -> dict[SSAValue, Spans]:
    """Infer the box of every function by the mins and extents of outputs and inputs, and the parameters, of any call.

    Never less than a call needs, and exactly that, unless it reads through `mod`, repeats an image, mirrors what
    another boundary limits, or asks nothing of what lies inside a constant exterior.
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
                for access in accesses(op):
                    for index, limit in zip(access.indices, valid[access.function], strict=True):
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
                f"output '{name}' has no point left in dimension {d}: stage '{function_name(func)}' reads more "
                "than the inputs hold; give a larger input or a boundary condition",
                pipeline.return_op,
            )
        box.append((low, high - low + 1))
    return tuple(box)
