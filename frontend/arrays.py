"""Arrays of the language's types: zeros in a storage order, and shapes without memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilefuse.dialects.img.axes import planar
from tilefuse.dialects.img.elements import ELEMENTS
from tilefuse.frontend.errors import fail
from tilefuse.frontend.types import Type


def dtype_of(type: Type) -> np.dtype:
    """Return NumPy's dtype of a pixel type; PipelineError if there is none."""
    type.check_pixel("a Buffer")
    facts = ELEMENTS[type.element]
    if not facts.in_numpy:
        fail(f"NumPy has no {facts.dtype}")
    return np.dtype(facts.dtype)


def zeros(type: Type, sizes: Sequence[int], order: Sequence[int] | None = None) -> np.ndarray:
    """Make zeros with x as the last axis; `order`: the dimensions by how near their points are in memory."""
    order = range(len(sizes)) if order is None else order
    if sorted(order) != list(range(len(sizes))):
        fail(f"Buffer(type, sizes, storage_order): {list(order)} is no order of {len(sizes)} dimensions")
    stored = [int(d) for d in reversed(order)]
    array = np.zeros(tuple(int(sizes[d]) for d in stored), dtype_of(type))
    return array.transpose([stored.index(d) for d in planar(len(sizes))])


def no_memory(type: Type, sizes: Sequence[int]) -> np.ndarray:
    """Make an array of these sizes, x first, without memory: it has a shape, and is neither read nor written."""
    return np.broadcast_to(np.zeros((), dtype_of(type)), tuple(int(n) for n in reversed(sizes)))
