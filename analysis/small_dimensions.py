"""Inference of small dimensions, of which every call needs the same few points: channels, planes chosen by a clamp.

They are like dimensions that the pipeline declares small (`bound`), only that nobody wrote it. Bounds inference by
numbers: what a call decides counts as the whole grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from tilefuse.analysis.access import defining_op, functions_read, reads
from tilefuse.analysis.bounds import flat_ops
from tilefuse.analysis.index import Span, expr_span
from tilefuse.analysis.regions import SMALL_DIMENSION, is_small
from tilefuse.analysis.value_range import value_range
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    Definition,
    InputOp,
    ParamOp,
    PipelineOp,
    ReadOp,
    ReturnOp,
    StageOp,
    UpdateOp,
)
from tilefuse.dialects.img.types import FuncType

KnownBox = tuple[tuple[int, int] | None, ...]
"""(min, extent) per dimension, x first; None where it is open."""

_ANYWHERE = (-(1 << 60), 1 << 60)


class _OfACall(Exception):
    """Error: a number was needed that only a call knows."""


class _NoSizes:
    """Sizes that know the declared numbers alone, and no call."""

    def interval(self, op: InputOp, dim: int) -> tuple[int, int]:
        """Return the declared extent of a dimension of an input."""
        if op.bounds is not None and (declared := op.bounds.data[dim]) is not None:
            return declared
        raise _OfACall

    def param(self, op: ParamOp) -> None:
        """Return None: a parameter is not known."""

    def real(self, op: ParamOp) -> None:
        """Return None: a float is not known."""


def inferred_bounds(pipeline: PipelineOp) -> Mapping[StageOp, KnownBox]:
    """Infer the bounds of stages whose dimensions after x and y have the same few points in every call.

    Those that are declared are among them. Absent are stages that need no more than is declared, and those of which a
    thread would have more points in all than of a small dimension.
    """
    found: dict[StageOp, KnownBox] = {}
    for op, spans in _needed(pipeline).items():
        declared = _declared(op)
        bounds = tuple(
            known if known is not None or d < 2 else _few(span)
            for d, (known, span) in enumerate(zip(declared, spans, strict=True))
        )
        points = math.prod(b[1] for b in bounds[2:] if b is not None)
        if isinstance(op, StageOp) and bounds != declared and points <= SMALL_DIMENSION:
            found[op] = bounds
    return found


def bounds_of(pipeline: PipelineOp, op: Definition) -> KnownBox:
    """Return the bounds of a function, those inferred for its dimensions after x and y included."""
    declared = _declared(op)
    spans = _needed(pipeline).get(op, [_ANYWHERE] * len(declared))
    return tuple(
        known if known is not None or d < 2 else _few(span)
        for d, (known, span) in enumerate(zip(declared, spans, strict=True))
    )


def _needed(pipeline: PipelineOp) -> dict[InputOp | Definition, list[Span]]:
    """Bound the coordinates that calls need of each function; the pipeline is at level 1, without groups."""
    needed: dict[InputOp | Definition, list[Span]] = {}

    def need(function: SSAValue, spans: Sequence[Span]) -> None:
        op = defining_op(function)
        old = needed.get(op, spans)
        needed[op] = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, spans, strict=True)]

    for op in reversed(list(flat_ops(pipeline))):
        match op:
            case ReturnOp():
                for function in op.funcs:
                    need(function, _declared_spans(function))
            case BoundaryOp():
                # where it lands beside its box, and whether the box is a call's, does not matter
                need(op.func, [_ANYWHERE] * _rank(op.func))
            case StageOp() if op in needed:
                coordinates: dict[SSAValue, Span] = dict(zip(op.body.block.args, needed[op], strict=True))
                for read in reads(op):
                    need(read.source, _touched(read, coordinates))
            case UpdateOp():
                for function in functions_read(op):
                    need(function, [_ANYWHERE] * _rank(function))
    return needed


def _touched(read: ReadOp, coordinates: Mapping[SSAValue, Span]) -> list[Span]:
    operands = [coordinates[v] if v in coordinates else _range(v, coordinates) for v in read.indices]
    found = [expr_span(expr, operands) for expr in read.map.data.results]
    return [(low, high) if isinstance(low, int) and isinstance(high, int) else _ANYWHERE for low, high in found]


def _range(value: SSAValue, coordinates: Mapping[SSAValue, Span]) -> Span:
    try:
        low, high = value_range(value, coordinates, _NoSizes())
    except _OfACall:
        return _ANYWHERE
    return (low, high) if isinstance(low, int) and isinstance(high, int) else _ANYWHERE


def _declared_spans(function: SSAValue) -> list[Span]:
    return [(d[0], d[0] + d[1] - 1) if d is not None else _ANYWHERE for d in _declared(defining_op(function))]


def _declared(op: InputOp | Definition) -> KnownBox:
    return op.bounds.data if op.bounds is not None else (None,) * _rank(op.results[0])


def _rank(function: SSAValue) -> int:
    assert isinstance(function.type, FuncType)
    return function.type.rank.data


def _few(span: Span) -> tuple[int, int] | None:
    found = (span[0], span[1] - span[0] + 1)
    return found if is_small(found) else None
