"""Outputs that are updates: computed where the output lies, without a kernel that copies them, where that can be."""

import numpy as np
import pytest

import tilefuse as hl

PICTURE = np.arange(12, dtype=np.int32).reshape(3, 4)


def _program():
    """Running sums along x."""
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(1, 3)], "r")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    f = hl.Func("f")
    f[x, y] = image[x, y]
    f[r, y] += f[r - 1, y]
    return hl.Pipeline(f).compile("cpu")


def _launches(program) -> list[str]:
    return [launch.name for prepared in program._prepared.values() for launch in prepared.plan.launches]


def test_output_holds_the_update_from_the_start():
    program = _program()
    np.testing.assert_array_equal(program(PICTURE), np.cumsum(PICTURE, axis=1))
    assert len(_launches(program)) == 2  # the old values, and the update


@pytest.mark.parametrize("columns", ["part", "strided", "unaligned"])
def test_outputs_that_cannot_hold_it_get_a_copy(columns):
    program = _program()
    expected = np.cumsum(PICTURE, axis=1)
    if columns == "part":  # the update writes columns that the output has not
        np.testing.assert_array_equal(program(PICTURE, sizes=(3, 3)), expected[:, :3])
        assert len(_launches(program)) == 3
        return
    room = np.zeros((3, 9), np.int32)
    out = room[:, ::2][:, :4] if columns == "strided" else room.ravel()[1:13].reshape(3, 4)
    program(PICTURE, out=out)
    np.testing.assert_array_equal(out, expected)
