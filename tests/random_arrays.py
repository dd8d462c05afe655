"""Random pictures in the layouts that users have: contiguous, cut out, strided, flipped, interleaved."""

from collections.abc import Sequence
from random import Random

import numpy as np
from xdsl.ir import Attribute

from tilefuse.dialects.img.elements import ELEMENTS, array_dtype
from tilefuse.dialects.img.types import f32


def _values(rng: Random, shape: Sequence[int], element: Attribute, whole: bool) -> np.ndarray:
    dtype = array_dtype(ELEMENTS[element].dtype)
    random = np.random.default_rng(rng.getrandbits(32))
    if element == f32:
        if whole:
            return random.integers(0, 256, shape).astype(dtype)
        return random.uniform(-1.0, 1.0, shape).astype(dtype)
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def random_array(
    rng: Random, shape: Sequence[int], element: Attribute, *, whole: bool, interleaved: bool
) -> np.ndarray:
    """Return an array of this shape, often a view. `interleaved`: the last axis is channels, and is kept dense."""
    shape = list(shape)
    rows = len(shape) - (2 if interleaved else 1)
    match rng.choice(["contiguous", "contiguous", "cut", "stepped", "flipped", "transposed", "offset"]):
        case "cut":
            # Part of a larger picture: the rows are further apart than they are long.
            around = [n + rng.randrange(0, 4) for n in shape]
            first = [rng.randrange(0, b - n + 1) for b, n in zip(around, shape, strict=True)]
            whole_picture = _values(rng, around, element, whole)
            return whole_picture[tuple(slice(f, f + n) for f, n in zip(first, shape, strict=True))]
        case "stepped" if rows >= 0:
            axis = rng.randrange(rows + 1)
            shape[axis] *= 2
            return _values(rng, shape, element, whole)[(slice(None),) * axis + (slice(None, None, 2),)]
        case "flipped" if rows >= 0:
            return np.flip(_values(rng, shape, element, whole), axis=rng.randrange(rows + 1))
        case "transposed" if len(shape) == 2:
            return _values(rng, shape[::-1], element, whole).T
        case "offset":
            # One pixel into a buffer: not aligned to what vector loads need.
            size = int(np.prod(shape))
            return _values(rng, [size + 1], element, whole)[1:].reshape(shape)
    return _values(rng, shape, element, whole)
