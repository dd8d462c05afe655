"""Cases with several inputs, or with sizes of their own: Halide's apps and similar, as the examples prepare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import rivals
from cases import CASES, SIZES, Case

LARGE = SIZES["large"]
SMALL = SIZES["small"]


@dataclass(frozen=True)
class App(Case):
    """An example with inputs that it prepares from a photograph of noise over waves."""

    pictures: Mapping[str, tuple[int, int]] = field(default_factory=lambda: {"small": SMALL, "large": LARGE})
    """Width and height of the photograph, by size; sizes that are not there are not measured."""
    extents: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Extents of the output, x first, by size; by default those of the photograph."""
    at: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments of `pipeline`, by size."""
    given: Callable[[Any, np.ndarray, str], tuple[np.ndarray, ...]] | None = None
    """(script, photograph, size) -> the inputs; None: as the example prepares them."""

    def pipeline(self, size: str = "small") -> Any:
        """Return the Pipeline of the example at a size."""
        return self.module().pipeline(**self.at.get(size, {}))

    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Width and height of the pictures of each size that is measured."""
        return {**self.pictures, "tiny": SIZES["tiny"]}

    def extent(self, size: str) -> tuple[int, ...]:
        """Return the extents of the output, for which the program is optimised."""
        return self.extents.get(size, self.sizes()[size])

    def inputs(self, size: str, seed: int = 0) -> tuple[np.ndarray, ...]:
        """Return the inputs of the pipeline: pictures are planar."""
        module, photo = self.module(), photograph(*self.sizes()[size], seed)
        found = module.EXAMPLES[0].inputs(photo) if self.given is None else self.given(module, photo, size)
        return tuple(np.ascontiguousarray(np.moveaxis(a, -1, 0)) if is_picture(a) else a for a in found)

    def box(self, size: str) -> dict[str, Any]:
        """Return the output's box, as the example defines it."""
        width, height = self.sizes()[size]
        return dict(self.module().EXAMPLES[0].box((height, width)))


def is_picture(array: np.ndarray) -> bool:
    """Whether channels are the last of three axes."""
    return array.ndim == 3 and array.shape[-1] in (3, 4)


def photograph(width: int, height: int, seed: int) -> np.ndarray:
    """Make (height, width, 3) of uint8: noise over waves and steps."""
    random = np.random.default_rng(seed)
    x, y = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None]
    photo = np.empty((height, width, 3), np.uint8)
    steps = 40 * ((x // 61 + y // 47) % 2)
    for c in range(3):
        waves = 110 + 60 * np.sin(x * np.float32(0.05) + c) * np.cos(y * np.float32(0.04)) + steps
        photo[:, :, c] = waves + random.integers(-30, 30, (height, width), np.int8)
    return photo


def _matrices(module: Any, photo: np.ndarray, size: str) -> tuple[np.ndarray, ...]:
    found: tuple[np.ndarray, ...] = module.matrices(photo, MATRICES[size])
    return found


def _layer(module: Any, photo: np.ndarray, size: str) -> tuple[np.ndarray, ...]:
    found: tuple[np.ndarray, ...] = module.layer(photo, (BATCHES[size], *module.SHAPE[1:]))
    return found


MATRICES = {"small": 1024, "large": 4096, "tiny": 67}
BATCHES = {"small": 4, "large": 256, "tiny": 1}
ONCE = {"small": SMALL}

APPS = (
    # Of integers cut from floats, some are others where a product and its sum are rounded once.
    App("hist", "hist", rivals.hist, dtype="uint8", differing=0.02),
    App("bilateral_grid", "bilateral_grid", None),
    App("iir_blur", "iir_blur", None),
    App("max_filter", "max_filter", rivals.max_filter(26)),
    App("local_laplacian", "local_laplacian", None, dtype="uint16", differing=0.05),
    App("interpolate", "interpolate", None),
    App(
        "camera_pipe",
        "camera_pipe",
        None,
        dtype="uint16",
        narrower=False,
        differing=0.001,
        pictures={"small": (2592, 1968), "large": (8224, 8216)},
    ),
    App("nl_means", "nl_means", None, pictures={"small": SMALL, "large": (4096, 4096)}),
    App("bgu", "bgu", None, narrower=False, at={"large": {"photo": LARGE}}),
    App("lens_blur", "lens_blur", None, pictures=ONCE, differing=0.001, at={"tiny": {"levels": 5}}),
    App("pyramid_blend", "pyramid_blend", None),
    App("demosaic", "demosaic", rivals.demosaic, pictures=ONCE, narrower=False),
    App(
        "depthwise_separable_conv",
        "depthwise_separable_conv",
        rivals.depthwise_separable_conv,
        pictures=dict.fromkeys(BATCHES, (512, 512)),
        extents={size: (16, 112, 112, n) for size, n in BATCHES.items()},
        given=_layer,
        narrower=False,
    ),
    App("conv_layer", "conv_layer", rivals.conv_layer, pictures={"small": (512, 512)}, narrower=False),
    App(
        "mat_mul",
        "mat_mul",
        rivals.mat_mul,
        pictures=dict.fromkeys(MATRICES, (512, 512)),
        at={size: {"size": n} for size, n in MATRICES.items()},
        given=_matrices,
        narrower=False,
    ),
)
ALL = (*CASES, *APPS)
