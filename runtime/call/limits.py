"""Limits on the numbers of a call: boundaries need points to continue, coordinates must fit their integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.ir import SSAValue

from tilefuse.analysis.access import function_name, reads
from tilefuse.analysis.bounds import Box, computed_stages, flat_ops, spans_of
from tilefuse.analysis.index import Span
from tilefuse.analysis.scalars import boundary_box
from tilefuse.analysis.sizes import CallSizes
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    GroupOp,
    PipelineOp,
    ReturnOp,
    StageOp,
    UpdateOp,
)
from tilefuse.runtime.call.scalars import Scalar
from tilefuse.runtime.errors import CallError

FARTHEST_COORDINATE = 2**61
"""Largest magnitude of a coordinate: differences of two, and twice one, fit 64 bits."""


def check_mins(name: str, mins: Sequence[int]) -> None:
    """Raise CallError if `mins=` of an input or output exceed the range of coordinates."""
    if any(abs(m) > FARTHEST_COORDINATE for m in mins):
        raise CallError(f"mins= of '{name}' are {tuple(mins)}; coordinates go from -2^61 to 2^61")


def check_limits(
    pipeline: PipelineOp,
    needed: Mapping[SSAValue, Box],
    inputs: Mapping[str, Box],
    params: Mapping[str, Scalar],
) -> None:
    """Raise CallError if a boundary that is read has no points to continue, or a coordinate is too far away.

    `needed`: the boxes of the functions that the call computes.
    """
    read = list(_boundaries_read(pipeline, needed))
    try:
        _check_boundaries(read, inputs, params)
        _check_coordinates(pipeline, needed)
    except PipelineError as error:
        raise CallError(str(error)) from None


def _boundaries_read(pipeline: PipelineOp, needed: Mapping[SSAValue, Box]) -> Iterator[BoundaryOp]:
    """Yield the boundaries that computed stages read through, even boundaries hidden by an exterior around them."""
    required: set[SSAValue] = set()
    for op in reversed(list(flat_ops(pipeline))):
        match op:
            case ReturnOp():
                required |= {*op.funcs}
            case GroupOp() if required & {*op.funcs}:
                required |= {*op.yield_op.values}
            case StageOp() | UpdateOp() if any(f in needed for f in op.funcs):
                required |= {*(op.old_funcs if isinstance(op, UpdateOp) else ()), *(read.source for read in reads(op))}
            case BoundaryOp() if op.func in required:
                required.add(op.source)
                yield op


def _check_boundaries(
    boundaries: Sequence[BoundaryOp], inputs: Mapping[str, Box], params: Mapping[str, Scalar]
) -> None:
    sizes = CallSizes(inputs, params)
    for op in boundaries:
        what = f"img.boundary {op.kind.data.value} of '{function_name(op.source)}'"
        for dim, (first, last) in cast(Mapping[int, Span], boundary_box(op, sizes)).items():  # numbers in, numbers out
            extent = last - first + 1
            if extent <= 0 and op.kind.data is not BoundaryKind.ConstantExterior:
                raise PipelineError(
                    f"{what} has {extent} points in dimension {dim}, so there is nothing to extend; give it an "
                    "extent of at least 1",
                    op,
                )
            if max(abs(first), abs(last + 1)) > FARTHEST_COORDINATE:
                raise PipelineError(
                    f"{what} goes from {first} to {last} in dimension {dim}; coordinates go from -2^61 to 2^61",
                    op,
                )


def _check_coordinates(pipeline: PipelineOp, needed: Mapping[SSAValue, Box]) -> None:
    for stage, box in computed_stages(pipeline, needed):
        for dim, (low, high) in enumerate(spans_of(box)):
            if max(-low, high) > FARTHEST_COORDINATE:
                raise PipelineError(
                    f"stage '{stage.sym_name.data}' is needed at {low} to {high} in dimension {dim}; coordinates go "
                    "from -2^61 to 2^61",
                    stage,
                )
