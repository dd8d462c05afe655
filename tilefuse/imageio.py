"""`imread` and `imwrite` over the package imageio, for pictures as [c, y, x]; named as in `halide.imageio`."""

from __future__ import annotations

from typing import Any

import numpy as np

CHANNELS = (1, 2, 3, 4)


def is_interleaved(image: Any) -> bool:
    """Whether an array of three axes has the channels of a pixel adjacent, last."""
    array = np.asarray(image)
    return array.ndim == 3 and array.strides[2] == array.itemsize and array.shape[2] in CHANNELS


def copy_to_planar(image: Any) -> np.ndarray:
    """Copy an interleaved picture to a new array [c, y, x]; return any other unchanged."""
    array = np.asarray(image)
    return np.ascontiguousarray(np.moveaxis(array, 2, 0)) if is_interleaved(array) else array


def copy_to_interleaved(image: Any) -> np.ndarray:
    """Copy a picture [c, y, x] to a new array [y, x, c]; return any other unchanged."""
    array = np.asarray(image)
    if array.ndim == 3 and not is_interleaved(array):
        return np.ascontiguousarray(np.moveaxis(array, 0, 2))
    return array


def imread(uri: Any, format: str | None = None, **options: Any) -> np.ndarray:
    """Read a picture file, a colour picture as [c, y, x]. `options` are imageio's."""
    return copy_to_planar(_imageio().imread(uri, format, **options))


def imwrite(uri: Any, image: Any, format: str | None = None, **options: Any) -> None:
    """Write a picture, given as [y, x] or [c, y, x], to a file. `options` are imageio's."""
    _imageio().imwrite(uri, copy_to_interleaved(image), format, **options)


def _imageio() -> Any:
    try:
        import imageio.v2
    except ImportError as error:
        raise ImportError("tilefuse.imageio needs the package imageio: pip install 'tilefuse[examples]'") from error
    return imageio.v2
