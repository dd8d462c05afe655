"""What realize refuses as sizes: habits of Halide that have another form here."""

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError

x, y = hl.vars("x y")


def brighter() -> tuple[hl.Func, hl.Buffer]:
    photo = hl.Buffer(np.zeros((3, 4), np.uint8))
    f = hl.Func("brighter")
    f[x, y] = photo[x, y] + 1
    return f, photo


def test_extents_of_an_image_param_are_no_sizes():
    f, _ = brighter()
    photo = hl.ImageParam(hl.UInt(8), 2)
    with pytest.raises(PipelineError, match=r"is an Expr; take them from the shape of the array"):
        f.realize([photo.width(), photo.height()])


def test_sizes_are_one_list():
    with pytest.raises(PipelineError, match=r"one list, x first: realize\(\[width, height\]\)"):
        brighter()[0].realize(4, 3)
