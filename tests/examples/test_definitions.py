"""What the examples compute, written again with SciPy in float64, independent of the algorithm text."""

import numpy as np
import pytest
from _all import EXAMPLES
from canny import STRONG, SWEEPS, WEAK
from scipy import ndimage
from unsharp import gauss
from variants import QUICK

LUMINANCE = [0.299, 0.587, 0.114]


def blur(f):
    return ndimage.uniform_filter(f, 3)[1:-1, 1:-1]


def harris(f):
    gray = f @ LUMINANCE
    ix, iy = ndimage.sobel(gray, 1) / 12, ndimage.sobel(gray, 0) / 12
    xx, yy, xy = (ndimage.uniform_filter(p, 3) * 9 for p in (ix * ix, iy * iy, ix * iy))
    return (xx * yy - xy * xy - 0.04 * (xx + yy) ** 2)[2:-2, 2:-2]


def unsharp(f):
    gray = f @ LUMINANCE
    weights = [gauss(i) for i in range(-3, 4)]
    blurred = ndimage.correlate1d(gray, weights, 0, mode="nearest")
    blurred = ndimage.correlate1d(blurred, weights, 1, mode="nearest")
    return ((2 * gray - blurred) / gray)[..., None] * f


def stencil9(f):
    for _ in range(4):
        f = ndimage.uniform_filter(f, 3, mode="constant")
    return f


@pytest.mark.parametrize(
    ("name", "definition", "bound"),
    [
        ("blur_f32", blur, 1e-6),
        ("harris", harris, 1e-7),
        ("unsharp", unsharp, 4e-6),
        ("stencil9", stencil9, 1e-6),
    ],
)
def test_floats(name, definition, bound, photo):
    array = EXAMPLES[name].prepare(photo(53, 71))
    ours = EXAMPLES[name].pipeline().compile("cpu")(array)
    np.testing.assert_allclose(ours, definition(array.astype(np.float64)), rtol=0, atol=bound)


@pytest.mark.parametrize("name", ["blur_u8", "blur_u16"])
def test_integer_blurs_round_down_twice(name, photo):
    array = EXAMPLES[name].prepare(photo(53, 71))
    rows = (array[:, :-2].astype(int) + array[:, 1:-1] + array[:, 2:]) // 3
    expected = (rows[:-2] + rows[1:-1] + rows[2:]) // 3
    np.testing.assert_array_equal(EXAMPLES[name].pipeline().compile("cpu")(array), expected)


def test_chain_wraps_at_16_bits(photo):
    array = QUICK["stencil_chain_4"].prepare(photo(53, 71))
    weights = np.outer(np.arange(1, 6), np.arange(1, 6))
    wide = np.pad(array.astype(np.int64), 8, mode="edge")
    for _ in range(4):
        wide = ndimage.correlate(wide, weights, mode="constant") % 65536
    np.testing.assert_array_equal(QUICK["stencil_chain_4"].pipeline().compile("cpu")(array), wide[8:-8, 8:-8])


def test_weak_edges_are_linked_to_strong_ones(photo):
    array = EXAMPLES["canny"].prepare(photo(140, 263))
    edges = EXAMPLES["canny"].pipeline().compile("cpu", strict_float=True)(np.pad(array, 16, mode="edge"))
    ring = np.ones((3, 3))
    expected = ndimage.binary_dilation(edges == 1, ring, iterations=SWEEPS, mask=edges > 0)[16:-16, 16:-16]
    found = EXAMPLES["canny_linked"].pipeline().compile("cpu", strict_float=True)(array)
    np.testing.assert_array_equal(found, expected)
    strong = (edges == 1)[16:-16, 16:-16].sum()
    assert strong < expected.sum() < (edges > 0).sum()


def test_canny(photo):
    array = EXAMPLES["canny"].prepare(photo(140, 263))
    f = np.pad(array.astype(np.float64), 8, mode="edge")
    for axis in (0, 1):
        f = ndimage.correlate1d(f, np.array([1, 4, 6, 4, 1]) / 16, axis)
    gy, gx = ndimage.sobel(f, 0), ndimage.sobel(f, 1)
    magnitude = np.hypot(gx, gy)
    # Sectors of 45 degrees around 0, 45, 90 and 135: the neighbours along the gradient.
    sector = np.rint(np.rad2deg(np.arctan2(gy, gx)) / 45).astype(int) % 4
    maximal = np.zeros_like(magnitude, bool)
    for number, (dy, dx) in enumerate([(0, 1), (1, 1), (1, 0), (1, -1)]):
        ahead, behind = np.roll(magnitude, (-dy, -dx), (0, 1)), np.roll(magnitude, (dy, dx), (0, 1))
        maximal |= (sector == number) & (magnitude >= ahead) & (magnitude >= behind)
    expected = np.where(maximal & (magnitude > STRONG), 1, np.where(maximal & (magnitude > WEAK), 0.5, 0))
    expected = expected[8:-8, 8:-8]
    assert set(np.unique(expected)) == {0.0, 0.5, 1.0}
    # A gradient on the border of two sectors, or a tie, falls either way.
    assert (EXAMPLES["canny"].pipeline().compile("cpu")(array) != expected).mean() < 0.002
