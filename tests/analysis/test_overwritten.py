"""Functions that updates write over unseen: no kernel fills them, and results are those of the definition."""

import numpy as np
import pytest

import tilefuse as hl

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
