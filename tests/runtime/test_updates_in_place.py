"""Outputs that are updates: computed where the output lies, without a kernel that copies them, where that can be."""

import numpy as np
import pytest

import tilefuse as hl

PICTURE = np.arange(12, dtype=np.int32).reshape(3, 4)


def _program():
    """Running sums along x, and a stage that reads them."""
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(1, 3)], "r")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image[x, y]
    f[r, y] += f[r - 1, y]
    g[x, y] = f[x, y] + 1
    return hl.Pipeline([f, g]).compile("cpu")


def _launches(program) -> list[str]:
    return [launch.name for prepared in program._prepared.values() for launch in prepared.plan.launches]


def test_output_holds_the_update_from_the_start():
    program = _program()
    f, g = program(PICTURE)
    np.testing.assert_array_equal(f, np.cumsum(PICTURE, axis=1))
    np.testing.assert_array_equal(g, np.cumsum(PICTURE, axis=1) + 1)
    assert len(_launches(program)) == 3  # the old values, the update, the stage


@pytest.mark.parametrize("columns", ["part", "strided", "unaligned"])
def test_outputs_that_cannot_hold_it_get_a_copy(columns):
    program = _program()
    expected = np.cumsum(PICTURE, axis=1)
    if columns == "part":  # the update writes columns that the output has not
        f, _ = program(PICTURE, sizes=(3, 3))
        np.testing.assert_array_equal(f, expected[:, :3])
        assert len(_launches(program)) == 4
        return
    room = np.zeros((3, 9), np.int32)
    out = room[:, ::2][:, :4] if columns == "strided" else room.ravel()[1:13].reshape(3, 4)
    program(PICTURE, out={"f": out})
    np.testing.assert_array_equal(out, expected)
