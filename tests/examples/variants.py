"""The stencils among the examples, the chain shorter; sizes of pictures; forced schedules."""

import dataclasses
from collections.abc import Callable

import random_programs
import stencil_chain
from _all import EXAMPLES, STENCIL_NAMES
from xdsl.passes import ModulePass

SHORT = dataclasses.replace(
    EXAMPLES["stencil_chain"],
    name="stencil_chain_4",
    pipeline=lambda: stencil_chain.pipeline(4),
    algorithm=lambda image, hl: stencil_chain.stencil_chain(image, hl, 4),
)
QUICK = {**{n: EXAMPLES[n] for n in STENCIL_NAMES if n != "stencil_chain"}, SHORT.name: SHORT}

INPUT_IS_LARGER = {"blur_f32": 2, "blur_u8": 2, "blur_u16": 2, "harris": 4}
"""By how many points in x and y, for those without a boundary condition."""

SIZES = [(1, 1), (2, 3), (7, 1), (31, 61), (67, 129), (140, 263)]
"""Of outputs, (height, width): one point, primes, odd sizes, several tiles."""


def expected_shape(name, photo):
    """Return the shape of the output for a photograph (height, width, 3)."""
    less = INPUT_IS_LARGER.get(name, 0)
    shape = (photo.shape[0] - less, photo.shape[1] - less)
    return (*shape, 3) if name == "unsharp" else shape


@dataclasses.dataclass(frozen=True)
class Forced:
    """Passes for an H200 with one execution model for all groups."""

    passes: Callable[[], list[ModulePass]]
    schedule: str = ""
    """Beginning of the schedule of every group."""
    place: str = ""
    """A place that some stage has, in an example of more than one stage."""


SHAPES = {
    "auto": Forced(lambda: random_programs.passes("h200")),
    "block_tile": Forced(lambda: random_programs.passes("h200", shape="block_tile"), "block_tile"),
    "warp_tile": Forced(
        lambda: random_programs.passes("h200", shape="warp_tile"), "warp_tile", "#img.place<warp, register>"
    ),
    "warp_exchange": Forced(
        lambda: random_programs.passes("h200", shape="warp_exchange"), "warp_tile", "#img.place<block, register>"
    ),
}
"""Each way to run a group. `auto` is what the search finds for each."""
