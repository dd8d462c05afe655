"""Resolution of a read through groups and boundary conditions to the input or stage with the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.elements import Array
from tilefuse.dialects.img.ops import BoundaryOp, GroupOp, InputOp
from tilefuse.evaluator.arguments import Box, describe_box
from tilefuse.evaluator.boundaries import CONTINUATIONS
from tilefuse.evaluator.errors import EvaluationError
from tilefuse.evaluator.gather import gather

Ranges = tuple[tuple[int, int], ...]
"""(first, last) per dimension, x first."""


class Exterior(NamedTuple):
    """A constant exterior on the way: where the read is inside, and the value elsewhere."""

    inside: Array
    value: Array


@dataclass(frozen=True)
class ReadGrid:
    """Points of a function that a grid of indices reads."""

    func: SSAValue
    indices: list[Array]
    """Coordinates in `func`, x first; where an exterior decides, those of some other point of the grid."""
    exteriors: list[Exterior]
    """Outermost first."""
    spans: Ranges | None
    """The box around the points that are read; None if the exterior decides everywhere."""


def resolve_access(
    source: SSAValue,
    indices: Sequence[Array],
    boxes: Mapping[SSAValue, Box],
    scalars: Mapping[SSAValue, Array],
) -> ReadGrid:
    """Resolve the read of `source` at `indices` (x first) to an access."""
    func, at = source, list(indices)
    exteriors: list[Exterior] = []
    while True:
        match func.owner:
            case GroupOp() as group:
                func = group.yield_op.values[group.funcs.index(func)]
            case BoundaryOp(kind=kind) as op if kind.data is BoundaryKind.ConstantExterior:
                assert op.exterior is not None
                exterior = _inside(at, _continued(op, boxes, scalars), scalars[op.exterior])
                exteriors.append(exterior)
                func = op.source
                if not exterior.inside.any():
                    return ReadGrid(func, at, exteriors, None)
            case BoundaryOp() as op:
                for dim, (first, extent) in _continued(op, boxes, scalars).items():
                    if extent <= 0:
                        raise EvaluationError(
                            f"img.boundary {op.kind.data.value}: {extent} points in dimension {dim}, "
                            "so there is nothing to extend",
                            op,
                        )
                    at[dim] = np.asarray(CONTINUATIONS[op.kind.data](at[dim], first, extent))
                func = op.source
            case _:
                return ReadGrid(func, at, exteriors, tuple((int(i.min()), int(i.max())) for i in at))


def _continued(
    op: BoundaryOp, boxes: Mapping[SSAValue, Box], scalars: Mapping[SSAValue, Array]
) -> dict[int, tuple[int, int]]:
    """Return (first, extent) of the dimensions that `op` continues."""
    if op.mins:
        bounds = zip(op.mins, op.extents, strict=True)
        return {d: (int(scalars[m]), int(scalars[e])) for d, (m, e) in zip(op.dimensions, bounds, strict=True)}
    return {d: boxes[op.source][d] for d in op.dimensions}


def _inside(at: list[Array], continued: dict[int, tuple[int, int]], value: Array) -> Exterior:
    """Return the part of the grid inside; `at` then holds indices of inside points only."""
    inside = np.array(True)
    for dim, (first, extent) in continued.items():
        index = at[dim]
        here = np.asarray((index >= first) & (index < first + extent))
        inside = np.asarray(inside & here)
        if here.any() and not here.all():
            points = index[here]
            at[dim] = np.clip(index, points.min(), points.max())
    return Exterior(inside, value)


def values_at(
    access: ReadGrid, values: Array | None, box: Box | None, grid: Box, reader: Operation, reader_name: str
) -> Array:
    """Return the values of an access, broadcastable to the grid of the box `grid`.

    `values` are those of `access.func` on `box`. EvaluationError if a point outside of them is read.
    """
    if access.spans is None:
        found = access.exteriors[-1].value
    else:
        assert values is not None
        assert box is not None
        indices = access.indices
        spans = zip(access.spans, box, strict=True)
        if any(first < low or last >= low + extent for (first, last), (low, extent) in spans):
            _check_points(access, box, grid, reader, reader_name)
            # Only an exterior's points are outside; any point does for them.
            indices = [np.clip(i, low, low + n - 1) for i, (low, n) in zip(indices, box, strict=True)]
        found = gather(values, [i - low for i, (low, _) in zip(indices, box, strict=True)], len(grid))
    for exterior in reversed(access.exteriors):
        if not exterior.inside.all():
            found = np.asarray(np.where(exterior.inside, found, exterior.value))
    return found


def _check_points(access: ReadGrid, box: Box, grid: Box, reader: Operation, reader_name: str) -> None:
    shape = tuple(extent for _, extent in reversed(grid))
    bad = np.zeros((1,) * len(shape), np.bool_)
    for index, (low, extent) in zip(access.indices, box, strict=True):
        bad = bad | (index < low) | (index >= low + extent)
    for exterior in access.exteriors:
        bad = bad & exterior.inside
    if not bad.any():
        return
    first = np.unravel_index(int(np.argmax(np.broadcast_to(bad, shape))), shape)
    read = tuple(int(np.broadcast_to(i, shape)[first]) for i in access.indices)
    point = tuple(int(p) + low for p, (low, _) in zip(reversed(first), grid, strict=True))
    source = access.func.owner
    assert isinstance(source, InputOp)
    raise EvaluationError(
        f"{reader_name} at {_point(point)} reads input '{source.sym_name.data}' at {_point(read)}, "
        f"outside of its box {describe_box(box)}; give a larger input, ask for "
        "less, or put a boundary condition between",
        reader,
    )


def _point(coordinates: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, coordinates))})"
