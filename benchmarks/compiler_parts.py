"""Parts of the compiler that `without.py` leaves out, one at a time, each by the replacement of a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock


def _x_edge_only() -> Iterator[Any]:
    from tilefuse.execution.warp_tile.plan import WarpPlan

    yield mock.patch.object(WarpPlan, "_has_x_edge_version", return_value=False)


def _prefetch() -> Iterator[Any]:
    from dataclasses import replace

    from tilefuse.execution.warp_tile.candidate import WarpCandidate

    yield mock.patch.object(WarpCandidate, "by_itself", lambda c, alone: replace(c, prefetch_rows=0, prefetch_us=0.0))


def _packing() -> Iterator[Any]:
    from tilefuse.execution.warp_tile import counts, layout, pack_subwords

    yield mock.patch.object(pack_subwords, "_pack", return_value=None)
    for module in (counts, layout):
        yield mock.patch.object(module, "pair_instructions", return_value={})


def _pair_stride() -> Iterator[Any]:
    from tilefuse.execution.warp_tile import counts, pack_subwords

    for module in (counts, pack_subwords):
        yield mock.patch.object(module, "best_pair_stride", return_value=1)


def _vector_roots() -> Iterator[Any]:
    from tilefuse.execution.warp_tile import body, vector_roots

    for module in (body, vector_roots):
        yield mock.patch.object(module, "is_vector_root", return_value=False)


def _vector_quotients() -> Iterator[Any]:
    """Divisions alone: roots stay."""
    from xdsl.dialects import math as math_dialect

    from tilefuse.execution.warp_tile import body, vector_roots

    whole = vector_roots.is_vector_root
    for module in (body, vector_roots):
        yield mock.patch.object(module, "is_vector_root", lambda op: isinstance(op, math_dialect.SqrtOp) and whole(op))


def _masked_stores() -> Iterator[Any]:
    """Branches around the stores of bodies with vector roots, too."""
    from tilefuse.execution.warp_tile.register_body import RegisterBody

    never = property(lambda body: False, lambda body, value: None)
    yield mock.patch.object(RegisterBody, "masks_stores", never, create=True)


def _left_spill() -> Iterator[Any]:
    from tilefuse.execution.warp_tile import cost, layout

    lane_layout = layout.lane_layout

    def unshifted(*args: Any) -> Any:
        found = lane_layout(*args)
        if not found.left_spill:
            return found
        for footprint in found.stages.values():
            footprint.shifted = False
        return found.without_left_spill()

    for module in (layout, cost):
        yield mock.patch.object(module, "lane_layout", unshifted)


def _no_cse() -> Iterator[Any]:
    from tilefuse.execution.versions import Versions

    call = Versions.call
    yield mock.patch.object(Versions, "call", lambda self, *args, no_cse=False: call(self, *args))


def _late_launch() -> Iterator[Any]:
    from tilefuse.passes import validate_occupancy

    yield mock.patch.object(validate_occupancy, "mark_late_launches", return_value=None)


def _bounded() -> Iterator[Any]:
    """Long kernels are compiled without a bound first, as others are."""
    from tilefuse.execution.warp_tile import cost

    yield mock.patch.object(cost, "SLOW_TO_COMPILE", math.inf)


PARTS: dict[str, tuple[Callable[[], Iterator[Any]], Callable[[str, str], bool]]] = {
    "packing": (_packing, lambda ir, text: "i8" in ir or "i16" in ir),
    "pair_stride": (_pair_stride, lambda ir, text: "i8" in ir or "i16" in ir),
    "vector_roots": (_vector_roots, lambda ir, text: "sqrt" in ir or "divf" in ir),
    "vector_quotients": (_vector_quotients, lambda ir, text: "divf" in ir),
    "masked_stores": (_masked_stores, lambda ir, text: "sqrt" in ir or "divf" in ir),
    "prefetch": (_prefetch, lambda ir, text: "prefetch" in text),
    "x_edge_only": (_x_edge_only, lambda ir, text: "x_edge_only" in text),
    "left_spill": (_left_spill, lambda ir, text: True),
    "no_cse": (_no_cse, lambda ir, text: "tile" in text),
    "late_launch": (_late_launch, lambda ir, text: True),
    "bounded": (_bounded, lambda ir, text: True),
}
"""A part's replacements, and whether a pipeline (IR, CUDA text) may have it."""


@contextmanager
def without(part: str | None) -> Iterator[None]:
    """Switch a part off."""
    found = list(PARTS[part][0]()) if part is not None else []
    for patch in found:
        patch.start()
    try:
        yield
    finally:
        for patch in reversed(found):
            patch.stop()
