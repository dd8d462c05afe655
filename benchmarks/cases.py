"""Measured cases: an example, its pictures, and a rival's computation."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rivals

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

SIZES = {"small": (1536, 2560), "large": (8192, 8192), "tiny": (93, 71)}
"""Width and height."""


@dataclass(frozen=True)
class Case:
    """One example with one set of arguments."""

    name: str
    example: str
    """The file in examples/ whose `pipeline(**arguments)` gives the Pipeline."""
    rival: Callable[..., Any] | None
    """The computation by arrays, see rivals.py; None if rivals lack it."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    pixel: tuple[str, int] | None = None
    """The argument `pixel`: the name of a type in tilefuse, and its bits."""
    channels: int = 0
    """0: a picture of two axes."""
    dtype: str = "float32"
    top: int = 0
    """Integers are below it. 0: all values of the type."""
    narrower: bool = True
    """Whether all of its pictures may have a column less."""
    differing: float = 0.0
    """Fraction of pixels that may differ: where a threshold turns rounding into another value."""

    def module(self) -> Any:
        """Import the script of the example."""
        path = EXAMPLES / f"{self.example}.py"
        if str(EXAMPLES) not in sys.path:
            sys.path.insert(0, str(EXAMPLES))  # they share a module
        spec = importlib.util.spec_from_file_location(f"example_{self.example}", path)
        if spec is None or spec.loader is None or not path.exists():
            raise FileNotFoundError(f"case '{self.name}' needs examples/{self.example}.py, which is not there")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def pipeline(self, size: str = "small") -> Any:
        """Return the Pipeline of the example."""
        import tilefuse

        arguments = dict(self.arguments)
        if self.pixel is not None:
            kind, bits = self.pixel
            arguments["pixel"] = getattr(tilefuse, kind)(bits)
        return self.module().pipeline(**arguments)

    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Width and height of the pictures of each size that is measured."""
        return SIZES

    def extent(self, size: str) -> tuple[int, ...]:
        """Return the extents of the output, for which the program is optimised."""
        return self.sizes()[size]

    def inputs(self, size: str, seed: int = 0) -> tuple[np.ndarray, ...]:
        """Return the inputs of the pipeline."""
        return (self.picture(size, seed),)

    def box(self, size: str) -> dict[str, Any]:
        """Return the keywords of a call that set the computed box of the output."""
        return {}

    def picture(self, size: str, seed: int = 0) -> np.ndarray:
        """Make a picture of a named size: noise over waves, so that edges are neither everywhere nor nowhere."""
        width, height = SIZES[size]
        shape = (self.channels, height, width) if self.channels else (height, width)
        random = np.random.default_rng(seed)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "u":
            return random.integers(0, self.top or 2 ** (8 * dtype.itemsize), shape, dtype)
        x, y = np.arange(width, dtype=dtype), np.arange(height, dtype=dtype)[:, None]
        picture = random.random(shape, dtype)
        picture -= dtype.type(0.5)
        picture *= dtype.type(0.3)
        picture += dtype.type(0.3) * np.sin(x * dtype.type(0.05)) * np.cos(y * dtype.type(0.04))
        picture += dtype.type(0.5)
        return picture


def disagreement(got: np.ndarray, expected: np.ndarray, case: Case, rtol: float = 1e-4) -> str | None:
    """Explain why a result is wrong; None if it is right. Integers must be equal.

    A float may be off by `rtol` of itself plus `rtol` of the largest: a difference of products, as in Harris,
    keeps no relative accuracy near 0.
    """
    if got.shape != expected.shape:
        return f"shape {got.shape} instead of {expected.shape}"
    if got.dtype.itemsize == expected.dtype.itemsize and expected.dtype.kind == "u":
        wrong = np.count_nonzero(got.view(expected.dtype) != expected)
        return f"{wrong} of {got.size} pixels differ" if wrong > case.differing * got.size else None
    if not np.isfinite(got).all():
        return f"{np.count_nonzero(~np.isfinite(got))} of {got.size} pixels are not finite"
    off = np.abs(got - expected)
    wrong = np.count_nonzero(off > rtol * (np.abs(expected) + np.abs(expected).max()))
    if wrong > case.differing * got.size:
        return f"{wrong} of {got.size} pixels differ, by up to {off.max():.3g}"
    return None


CASES = (
    Case("blur_f32", "blur", rivals.blur_float, pixel=("Float", 32)),
    # As from a camera, of 12 bits: sums of three fit in torch's int16.
    Case("blur_u16", "blur", rivals.blur_integer, pixel=("UInt", 16), dtype="uint16", top=4096),
    Case("blur_u8", "blur", rivals.blur_bytes, pixel=("UInt", 8), dtype="uint8"),
    Case("binomial", "binomial", rivals.binomial, dtype="uint8"),
    Case("unsharp", "unsharp", rivals.unsharp, channels=3),
    Case("harris", "harris", rivals.harris, channels=3),
    Case("canny", "canny", rivals.canny, differing=1e-4),
    Case("canny_linked", "canny", None, {"sweeps": 8}, differing=1e-3),
    Case("box_x4", "stencil9", rivals.box(4), {"iterations": 4}),
    Case("box_x16", "stencil9", rivals.box(16), {"iterations": 16}),
    Case("stencil_chain", "stencil_chain", rivals.stencil_chain(32), dtype="uint16"),
)
"""Stencils on one picture. Those of apps.py take what their example prepares."""
