"""Reads at sums of coordinates, and where data say within limits: tiles in the middle need no border handling."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate
from guarded_memory import guarded

import tilefuse as hl
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile

x, y, z = hl.vars("x y z")
RNG = np.random.default_rng(5)
KINDS = ["repeat_edge", "mirror_interior", "repeat_image", "constant_exterior"]
SHAPES = ["block_tile", "warp_tile"]


def shifted(edges):
    """A picture minus others that begin elsewhere, one for each z."""
    f = hl.Func("f")
    f[x, y, z] = edges[x, y] - edges[x + z, y - 2 * z + 1]
    return f.bound(z, -1, 3)


def displaced(edges):
    """Data say how far to the side, and in which plane of a picture of half the size, which another kernel stores."""
    planes, f = hl.Func("planes"), hl.Func("f")
    total, r = hl.Func("total"), hl.RDom([(0, 300)])
    total[x] = hl.f32(0)
    total[x] += edges[x, r]
    planes[x, y, z] = edges[2 * x, 2 * y] * hl.f32(z) + total[x]
    far = hl.i32(hl.clamp(edges[x, y] * 8, -3, 4))
    f[x, y] = edges[x + far, y - 1] + planes[x / 2, y / 2, far + 3] + planes[x / 2 + 1, y / 2, 1]
    return f


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("define", [shifted, displaced])
@pytest.mark.parametrize("shape", SHAPES)
def test_as_the_evaluator(shape, define, kind, monkeypatch, tmp_path):
    """At the edge of memory that cannot be touched, at odd sizes, and where the picture lies elsewhere."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    boundary = getattr(hl.BoundaryConditions, kind)
    f = define(boundary(image, hl.f32(0.5)) if kind == "constant_exterior" else boundary(image))
    program = hl.Pipeline(f).compile("reference", strict_float=True)
    emulate(monkeypatch, tmp_path)
    passes = [Tile("h200", shape=shape) if p.name == "tile" else p for p in standard_passes("h200")]
    if define is displaced:
        passes = standard_passes("h200")
    tiled = hl.Pipeline(f).compile("cpu", passes=passes, strict_float=True)
    for size, at_end in (((211, 301), True), ((211, 301), False), ((37, 5), True)):
        picture = guarded(size, np.float32, at_end=at_end)
        picture[...] = RNG.integers(-8, 9, size) / 8
        for options in ({}, {"mins": {"f": (-3, 2, 0)[: len(f.args())]}, "sizes": (263, 97, 2)[: len(f.args())]}):
            if not options:
                options = {"sizes": (size[1], size[0], 2)[: len(f.args())]}
            np.testing.assert_array_equal(tiled(picture, **options), program(picture, **options))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_text_of_tiles_in_the_middle(shape):
    """The version for tiles in the middle has the place itself, where others have it moved into the box."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    edges, f = hl.BoundaryConditions.repeat_edge(image), hl.Func("f")
    f[x, y, z] = edges[x + z, y - 2 * z + 1]
    passes = [Tile("h200", shape=shape) if p.name == "tile" else p for p in standard_passes("h200")]
    source = hl.Pipeline(f.bound(z, -1, 3)).compile("h200", passes=passes).source()
    assert source.count("border_ ? ") >= 2  # along x and y; without that all tiles move the place
