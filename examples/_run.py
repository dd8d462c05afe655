"""Common parts of the examples: photograph input, compilation, picture output, and a report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tilefuse as hl
from tilefuse.runtime.errors import TargetError

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"


def as_shown(_: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return the output, which is a picture already."""
    return out


@dataclass(frozen=True)
class Example:
    """An example: a pipeline, how its inputs are made of a photograph, and how its output is shown."""

    name: str
    pipeline: Callable[[], hl.Pipeline]
    algorithm: Callable[..., Any]
    """(inputs, hl) -> the output Func; the same code on Halide's Python bindings, given as `hl`."""
    prepare: Callable[[np.ndarray], np.ndarray | tuple[np.ndarray, ...]]
    """From a photograph, (height, width, 3) of uint8, to the input, or to all of them."""
    show: Callable[[np.ndarray, np.ndarray], np.ndarray] = as_shown
    """From the first input and the output to a picture, floats in [0, 1] or uint8."""
    box: Callable[[tuple[int, ...]], dict[str, Any]] = lambda _: {}
    """From the shape of the first input to the keywords of a call that say what box of the output is computed."""

    sample: Callable[[], tuple[np.ndarray, ...]] | None = None
    """Inputs of scikit-image's for a call without a picture of one's own; None: made of its astronaut."""

    def inputs(self, photo: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the inputs of the pipeline for a photograph."""
        prepared = self.prepare(photo)
        return prepared if isinstance(prepared, tuple) else (prepared,)

    def ir(self) -> str:
        """Return the algorithm as IR of level 1: the text of `<name>.mlir`."""
        (pipeline,) = self.pipeline().to_module(self.name).ops
        return f"{str(pipeline).rstrip()}\n"


def rgb_floats(photo: np.ndarray) -> np.ndarray:
    """Return the photograph as f32 in [0, 1], interleaved as it is."""
    return photo.astype(np.float32) / np.float32(255)


def gray_floats(photo: np.ndarray) -> np.ndarray:
    """Return the luminance of the photograph as f32 in [0, 1]."""
    r, g, b = np.moveaxis(rgb_floats(photo), -1, 0)
    return np.float32(0.299) * r + np.float32(0.587) * g + np.float32(0.114) * b


def as_bytes(picture: np.ndarray) -> np.ndarray:
    """Return a picture of floats in [0, 1], or of bytes, as bytes."""
    if picture.dtype == np.uint8:
        return picture
    return np.rint(picture.clip(0, 1) * 255).astype(np.uint8)


def read_photo(path: str | None) -> np.ndarray:
    """Return (height, width, 3) of uint8: the file at `path`, or a photograph that comes with scikit-image."""
    if path is None:
        from skimage import data

        return np.asarray(data.astronaut())
    import imageio.v3

    photo = np.asarray(imageio.v3.imread(path))
    if photo.dtype != np.uint8:
        raise SystemExit(f"{path}: pixels are {photo.dtype}; the examples take pictures of 8 bits per channel")
    if photo.ndim == 2:
        return np.stack([photo] * 3, axis=-1)
    if photo.ndim == 3 and photo.shape[2] in (3, 4):
        return photo[:, :, :3]
    raise SystemExit(f"{path}: a gray, RGB or RGBA picture is needed, not an array of shape {photo.shape}")


def write_picture(path: Path, picture: np.ndarray) -> None:
    """Write a picture; the ending of `path` says the format."""
    import imageio.v3

    path.parent.mkdir(parents=True, exist_ok=True)
    imageio.v3.imwrite(path, as_bytes(picture))


def main(examples: Sequence[Example], argv: Sequence[str] | None = None) -> None:
    """Run an example's command line: run it on a photograph, or print its IR."""
    first = examples[0]
    doc = (first.algorithm.__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=f"{first.algorithm.__name__}: {doc}")
    if len(examples) > 1:
        names = [example.name for example in examples]
        parser.add_argument("--variant", choices=names, default=first.name, help=f"default: {first.name}")
    parser.add_argument("--target", default="auto", help="auto, cuda, cpu or reference (default: auto)")
    parser.add_argument("--input", help="a picture; without it, one that comes with scikit-image")
    parser.add_argument("--output", type=Path, help="the picture to write (default: out/<name>.png)")
    parser.add_argument("--mlir", action="store_true", help="print the algorithm as IR, and do not run it")
    arguments = parser.parse_args(argv)
    name = getattr(arguments, "variant", first.name)
    example = next(example for example in examples if example.name == name)
    if arguments.mlir:
        print(example.ir(), end="")
        return
    try:
        run(example, arguments.target, arguments.input, arguments.output or OUT / f"{name}.png")
    except (TargetError, ImportError, OSError) as error:  # what this machine, or the command, lacks
        raise SystemExit(f"error: {error}") from None


def run(example: Example, target: str, source: str | None, path: Path) -> None:
    """Compile, compute, measure, write and report."""
    photo = example.sample() if source is None and example.sample else example.inputs(read_photo(source))
    program = example.pipeline().compile(target)
    on_gpu = program.target.startswith("cuda")
    arrays: tuple[Any, ...] = photo
    if on_gpu:
        import cupy

        arrays = tuple(cupy.asarray(array) for array in photo)
    box = example.box(arrays[0].shape)
    result = program(*arrays, **box)
    if program.target != "reference":
        program.time(*arrays, **box)
    write_picture(path, example.show(photo[0], result.get() if on_gpu else result))
    print(program.report())
    print(f"picture of {result.shape[1]} x {result.shape[0]} pixels: {path}")
