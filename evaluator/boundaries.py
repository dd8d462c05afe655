"""Boundary conditions as maps of coordinates: where outside its box a function takes its values from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.elements import Array


def _repeat_edge(x: Array, first: int, extent: int) -> Array:
    return np.asarray(np.clip(x, first, first + extent - 1))


def _mirror_image(x: Array, first: int, extent: int) -> Array:
    t = (x - first) % (2 * extent)
    return np.asarray(first + np.minimum(t, 2 * extent - 1 - t))


def _mirror_interior(x: Array, first: int, extent: int) -> Array:
    period = max(2 * extent - 2, 1)
    t = (x - first) % period
    # One point has the period 1, and every t is 0.
    return np.asarray(first + np.minimum(t, period - t))


def _repeat_image(x: Array, first: int, extent: int) -> Array:
    return first + (x - first) % extent


CONTINUATIONS: dict[BoundaryKind, Callable[[Array, int, int], Array]] = {
    BoundaryKind.RepeatEdge: _repeat_edge,
    BoundaryKind.MirrorImage: _mirror_image,
    BoundaryKind.MirrorInterior: _mirror_interior,
    BoundaryKind.RepeatImage: _repeat_image,
}
"""(coordinates, first, extent) -> the coordinates in the box; `constant_exterior` has none."""
