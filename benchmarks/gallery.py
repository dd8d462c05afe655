"""Write docs/gallery.md: each example, its inputs and outputs, computed on the CPU.

python benchmarks/gallery.py [--only hist] [--target cpu]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import imageio.v3
import numpy as np
from skimage import data

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "examples")]
from _all import EXAMPLES  # noqa: E402

FOLDER = ROOT / "docs" / "gallery"
SIDE = 240
"""Pixels along the sides of a picture."""
MARGIN = 32
"""Pixels more, at each side, of what a pipeline gets that makes less than it takes."""
ABOUT = {
    "blur_f32": ("chelsea", 90, 20),
    "blur_u8": ("chelsea", 90, 20),
    "blur_u16": ("chelsea", 90, 20),
    "binomial": ("chelsea", 90, 20),
    "unsharp": ("coffee", 180, 60),
    "harris": ("motorcycle", 180, 80),
    "canny": ("motorcycle", 180, 80),
    "canny_linked": ("motorcycle", 180, 80),
    "stencil9": ("chelsea", 90, 20),
    "stencil_chain": ("astronaut", 90, 0),
    "hist": ("rocket", 200, 100),
    "bilateral_grid": ("chelsea", 90, 20),
    "iir_blur": ("coffee", 180, 60),
    "max_filter": ("coffee", 180, 60),
    "nl_means": ("astronaut", 90, 0),
    "bgu": ("rocket", 200, 100),
    "local_laplacian": ("rocket", 200, 100),
    "interpolate": ("coffee", 180, 60),
    "pyramid_blend": ("astronaut", 90, 0),
    "lens_blur": ("motorcycle", 180, 80),
    "camera_pipe": ("coffee", 150, 40),
    "mat_mul": ("astronaut", 0, 0),
    "conv_layer": ("astronaut", 90, 0),
    "depthwise_separable_conv": ("astronaut", 90, 0),
    "demosaic": ("coffee", 180, 60),
}
"""The sample of scikit-image's, and the left and upper end of the piece of it."""


def inputs_of(name: str) -> tuple[np.ndarray, ...]:
    """Return inputs of an example, made of a piece of its sample picture."""
    sample, x, y = ABOUT[name]
    side = SIDE + (MARGIN if name == "camera_pipe" else 0)
    piece = np.s_[y : y + side, x : x + side]
    example = EXAMPLES[name]
    if example.sample is not None:
        return tuple(np.ascontiguousarray(array[piece]) for array in example.sample())
    photo = data.stereo_motorcycle()[0] if sample == "motorcycle" else getattr(data, sample)()
    return example.inputs(np.ascontiguousarray(photo[piece]))


def as_seen(inputs: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the largest input pictures, joined horizontally if there are two small ones."""
    if inputs[0].ndim == 4:  # a layer's: three channels of the first picture
        piece = inputs[0][0, :, :, :3]
        return scaled(piece / piece.max())
    like = [a for a in inputs if a.ndim == inputs[0].ndim and a.dtype == inputs[0].dtype]
    largest = max((a.shape for a in like), key=lambda shape: shape[1])
    pictures = [scaled(a) for a in like if a.shape == largest]
    return np.hstack(pictures[:2]) if len(pictures) > 1 and largest[1] <= SIDE else pictures[0]


def scaled(picture: np.ndarray) -> np.ndarray:
    """Convert a picture to bytes without alpha: floats from 0 to 1, integers of 16 bits from 0 to their maximum."""
    if picture.ndim == 3 and picture.shape[2] == 4:
        picture = picture[:, :, :3]
    if picture.dtype == np.uint8:
        return picture
    values = picture.astype(np.float64)
    top = 1.0 if picture.dtype.kind == "f" else values.max()
    return np.rint(values.clip(0, top) / top * 255).astype(np.uint8)


def cut(picture: np.ndarray) -> np.ndarray:
    """Crop a picture to its middle if it is too large."""
    height, width = picture.shape[:2]
    y, x = max(0, (height - SIDE) // 2), max(0, (width - 2 * SIDE) // 2)
    return picture[y : y + SIDE, x : x + (2 * SIDE if width == 2 * SIDE else SIDE)]


def draw(name: str, target: str) -> None:
    """Compute one example, and write both pictures."""
    example, inputs = EXAMPLES[name], inputs_of(name)
    box: dict[str, Any] = example.box(inputs[0].shape)
    output = example.pipeline().compile(target)(*inputs, **box)
    shown = example.show(inputs[0], output)
    for what, picture in (("in", as_seen(inputs)), ("out", scaled(shown))):
        imageio.v3.imwrite(FOLDER / f"{name}-{what}.jpg", cut(picture), quality=82)


def page() -> str:
    """Return the text of docs/gallery.md."""
    lines = [
        "# Gallery",
        "",
        "The input and output of every example, on crops of photographs from scikit-image, computed on the CPU. To run",
        "an example on a whole picture, or on your own, use `python examples/<script>`. This page is written by",
        "`python benchmarks/gallery.py`.",
        "",
        "| pipeline | stages | in | out |",
        "|---|---|---|---|",
    ]
    for name, example in EXAMPLES.items():
        text = example.ir()
        stages = text.count(" = img.stage ") + text.count(" = img.update ")
        script = sys.modules[example.algorithm.__module__]
        about = (script.__doc__ or "").partition("\n")[0].rstrip(".")
        link = f"[`{name}`](../examples/{Path(script.__file__ or '').name})"
        pictures = " | ".join(f"![{what}](gallery/{name}-{what}.jpg)" for what in ("in", "out"))
        lines.append(f"| {link}<br>{about} | {stages} | {pictures} |")
    return "\n".join(lines) + "\n"


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=list(EXAMPLES), metavar="NAME")
    parser.add_argument("--target", default="cpu", help="cpu or reference")
    options = parser.parse_args(argv)
    FOLDER.mkdir(exist_ok=True)
    for name in options.only or EXAMPLES:
        draw(name, options.target)
        print(name, flush=True)
    (FOLDER.parent / "gallery.md").write_text(page())


if __name__ == "__main__":
    main()
