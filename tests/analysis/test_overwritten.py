"""Functions that updates write over unseen: no kernel fills them, and results are those of the definition."""

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.runtime.launch import plan

PICTURE = np.arange(1, 61, dtype=np.int32).reshape(6, 10)


def filtered(first=0, last=0, before=0, where=False):
    """Running sums along x, begun at `first` columns from the start and ended `last` before the end."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    f, out = hl.Func("f"), hl.Func("out")
    r = hl.RDom([(1, image.dim(0).extent() - 1 - last)], "r")
    if where:
        r.where(image[r.x, 0] != 5)
    f[x, y] = 7
    f[first, y] = image[0, y]
    f[r.x, y] = f[r.x - 1 + before, y] + image[r.x, y]
    out[x, y] = f[x, y] + f[x, y]
    return hl.Pipeline(out)


@pytest.mark.parametrize(
    ("given", "kernels"),
    [
        ({}, 3),
        ({"first": 1}, 4),  # the first column is read, and nobody writes it
        ({"last": 1}, 4),  # the last column stays as it was
        ({"before": 2}, 4),  # what is read is not written by then
        ({"where": True}, 4),
    ],
)
def test_fills(given, kernels):
    pipeline = filtered(**given)
    program = pipeline.compile("cpu")
    sizes = {"sizes": (8, 6)} if given.get("before") else {}
    found = program(PICTURE, **sizes)
    np.testing.assert_array_equal(found, pipeline.compile("reference")(PICTURE, **sizes))
    launches = [launch.name for prepared in program._prepared.values() for launch in prepared.plan.launches]
    assert len(launches) == kernels


def planes(down=1, low=1, where=False):
    """Planes of maxima, each of two rows of the one before it; the first is the picture."""
    x, y, t = hl.Var("x"), hl.Var("y"), hl.Var("t")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    edge = hl.BoundaryConditions.repeat_edge(image)
    f, out = hl.Func("f"), hl.Func("out")
    r = hl.RDom([(0, image.dim(1).extent()), (low, 5 - low)], "r")
    if where:
        r.where(r.x != 3)
    f[x, y, t] = edge[x, y] * (t + 1)
    f[x, r.x, r.y] = hl.max(f[x, r.x, r.y - 1], f[x, r.x + down, r.y - 1]) - 3
    out[x, y] = f[x - 1, y - 2, 4] + f[x + 1, y + 3, 2] + f[x, y, 1]
    return hl.Pipeline(out)


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        ({}, [(1, 11, 12), (4, 2, 12), (4, 3, 12)]),  # the first plane, and rows above and below the picture
        ({"low": 3}, [(2, 11, 12), (2, 2, 12), (2, 3, 12)]),  # two planes stay, and the second of them is read
        ({"down": -1}, [(1, 11, 12), (4, 2, 12), (4, 3, 12)]),
        ({"where": True}, [(5, 11, 12)]),
    ],
)
def test_fills_parts(given, filled, monkeypatch):
    monkeypatch.setattr(plan, "_SAVED_BYTES", 0)
    pipeline = planes(**given)
    program = pipeline.compile("cpu")
    np.testing.assert_array_equal(program(PICTURE), pipeline.compile("reference")(PICTURE))
    launches = [launch for prepared in program._prepared.values() for launch in prepared.plan.launches]
    assert [launch.words[7:10] for launch in launches if "_f_kernel" in launch.name] == filled
    whole = planes(**given).compile("cpu")
    monkeypatch.undo()
    np.testing.assert_array_equal(whole(PICTURE), program(PICTURE))
    assert len([launch for p in whole._prepared.values() for launch in p.plan.launches]) == 3
