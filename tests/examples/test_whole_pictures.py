"""Algorithms with updates end to end on a photograph, on every back end, against NumPy, to the bit."""

import shutil

import numpy as np
import pytest
import short_algorithms
from emulated_cuda import emulate

from tilefuse.passes.pipeline import standard_passes

TARGETS = [
    "reference",
    "cpu",
    pytest.param("emulated", marks=pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")),
    pytest.param("cuda", marks=pytest.mark.gpu),
]
HEIGHT, WIDTH = 96, 150
EXAMPLES = {example.name: example for example in short_algorithms.EXAMPLES}
F32 = np.float32


def photograph():
    """(height, width, channel) of a face."""
    data = pytest.importorskip("skimage.data")
    return np.ascontiguousarray(data.astronaut()[60 : 60 + HEIGHT, 150 : 150 + WIDTH])


def whole_numbers(name):
    """Inputs whose sums are exact as floats, in any order."""
    photo = photograph()
    inputs = EXAMPLES[name].inputs(photo)
    if name in ("summed_area", "product"):
        return tuple(np.rint(a * 255).astype(F32) for a in inputs)
    return tuple(a[:20, :60] for a in inputs) if name == "dithered" else inputs


def equalised(p):
    running = np.cumsum(np.bincount(p.ravel(), minlength=256)).astype(F32)
    return (running[p] * (F32(255) / F32(p.size))).astype(np.uint8)


def summed_area(p):
    return p.cumsum(0).cumsum(1)


def recursive_blur(p):
    f = p.copy()
    for i in range(1, len(f)):
        f[i] = f[i - 1] * F32(0.7) + f[i] * F32(0.3)
    for i in range(len(f) - 2, -1, -1):
        f[i] = f[i + 1] * F32(0.7) + f[i] * F32(0.3)
    return f


def disk_minimum(p):
    height, width = p.shape
    padded = np.pad(p, 4, "edge")
    offsets = [(i, j) for i in range(-4, 5) for j in range(-4, 5) if i * i + j * j <= 16]
    return np.min([padded[4 + i : 4 + i + height, 4 + j : 4 + j + width] for i, j in offsets], axis=0)


def product(a, b):
    return a @ b


def brightest_channel(p):
    return p.argmax(0).astype(np.uint8)


def resized(p):
    height, width = p.shape
    one, half = F32(1), F32(0.5)
    at = [(np.arange(n * 3 // 4, dtype=F32) + half) / F32(0.75) - half for n in (width, height)]
    (i, u), (j, v) = ((np.floor(a).astype(int), a - np.floor(a)) for a in at)
    columns = [np.clip(i + k, 0, width - 1) for k in (0, 1)]
    lines = [p[np.clip(j + k, 0, height - 1)] for k in (0, 1)]
    rows = [line[:, columns[0]] * (one - u) + line[:, columns[1]] * u for line in lines]
    return rows[0] * (one - v)[:, None] + rows[1] * v[:, None]


def dithered(p):
    height, width = p.shape
    errors, dots = np.zeros((height + 1, width + 2), int), np.zeros((height, width), np.uint8)
    for j, i in np.ndindex(height, width):
        spread = errors[j + 1, i] * 7 + errors[j, i + 2] * 3 + errors[j, i + 1] * 5 + errors[j, i]
        value = int(p[j, i]) + spread // 16
        dots[j, i] = 255 if value > 127 else 0
        errors[j + 1, i + 1] = value - int(dots[j, i])
    return dots


EXPECTED = (
    equalised, summed_area, recursive_blur, disk_minimum, product, brightest_channel, resized, dithered,
)  # fmt: skip
"""By NumPy."""


def test_all_are_there():
    assert list(EXAMPLES) == [expected.__name__ for expected in EXPECTED]


@pytest.mark.sweep
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("expected", EXPECTED, ids=lambda f: f.__name__)
def test_as_numpy(expected, target, monkeypatch, tmp_path):
    example = EXAMPLES[expected.__name__]
    options = {"strict_float": True}
    if target == "emulated":
        emulate(monkeypatch, tmp_path)
        options["passes"] = standard_passes("h200")
    inputs = given = whole_numbers(example.name)
    if target == "cuda":
        import cupy

        given = tuple(cupy.asarray(a) for a in inputs)
    program = example.pipeline().compile("cpu" if target == "emulated" else target, **options)
    found = program(*given, **example.box(inputs[0].shape))
    np.testing.assert_array_equal(found.get() if target == "cuda" else found, expected(*inputs))


@pytest.mark.parametrize("name", EXAMPLES)
def test_runs_as_a_script(name, tmp_path):
    """On a small picture of one's own, with a picture out."""
    imageio = pytest.importorskip("imageio.v3")
    picture = tmp_path / "small.png"
    imageio.imwrite(picture, photograph()[:32, :40])
    out = tmp_path / "out.png"
    short_algorithms.main([EXAMPLES[name]], ["--target", "reference", "--input", str(picture), "--output", str(out)])
    assert imageio.imread(out).shape == {"product": (32, 32), "resized": (24, 30)}.get(name, (32, 40))
