"""Sizes of an ImageParam are Exprs, those of a Buffer numbers, as in Halide."""

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError

x, y = hl.vars("x y")


def test_a_buffer_knows_its_sizes():
    buffer = hl.Buffer(np.zeros((3, 4), np.uint8))
    sizes = (buffer.width(), buffer.height(), buffer.channels())
    assert sizes == (4, 3, 1)
    assert all(type(n) is int for n in sizes)
    assert (buffer.left(), buffer.right(), buffer.top(), buffer.bottom()) == (0, 3, 0, 2)
    assert (buffer.dim(1).min(), buffer.dim(1).extent(), buffer.dim(1).max()) == (0, 3, 2)


def test_an_image_param_does_not():
    image = hl.ImageParam(hl.UInt(8), 2)
    for size in (image.width(), image.left(), image.bottom(), image.channels(), image.dim(0).max()):
        assert isinstance(size, hl.Expr)


def test_bounds_that_are_set_count():
    buffer = hl.Buffer(np.zeros((3, 4), np.uint8))
    buffer.dim(0).set_bounds(-2, 4)
    assert (buffer.left(), buffer.right(), buffer.width()) == (-2, 1, 4)


@pytest.mark.parametrize(
    ("shape", "layout", "sizes"),
    [
        ((20, 30, 3), "auto", (30, 20, 3)),
        ((3, 20, 30), "auto", (30, 20, 3)),
        ((20, 30, 3), None, (3, 30, 20)),
        ((3, 2, 4), "planar", (4, 2, 3)),
        ((3, 2, 4), "interleaved", (2, 3, 4)),
    ],
)
def test_channels_of_a_buffer(shape, layout, sizes):
    buffer = hl.Buffer(np.zeros(shape, np.uint8), layout=layout)
    assert (buffer.width(), buffer.height(), buffer.channels()) == sizes


def test_a_shape_that_can_be_read_two_ways():
    buffer = hl.Buffer(np.zeros((3, 2, 4), np.uint8), name="small", layout="auto")
    with pytest.raises(PipelineError, match=r"Buffer 'small' of shape \(3, 2, 4\) may be planar"):
        buffer.width()
    buffer.dim(2).set_bounds(0, 3)
    assert buffer.width() == 4


def test_clamped_to_a_buffer():
    array = np.arange(12, dtype=np.uint8).reshape(3, 4)
    image = hl.Buffer(array)
    f = hl.Func("f")
    f[x, y] = image[hl.clamp(x + 1, 0, image.width() - 1), hl.clamp(y - 1, 0, image.height() - 1)]
    np.testing.assert_array_equal(f.realize([image.width(), image.height()]), array[[0, 0, 1]][:, [1, 2, 3, 3]])


def test_sizes_that_are_declared_are_numbers_when_a_program_is_scheduled():
    """A reduction over the channels of a picture is written out, and one program serves other numbers of them, too."""
    x, y = hl.vars("x y")
    image, f = hl.ImageParam(hl.UInt(8), 3, "image", layout="planar"), hl.Func("f")
    r = hl.RDom([(0, image.channels() - 1)])
    f[x, y] = hl.u8(hl.argmax(r, image[x, y, r.x + 1])[0])
    assert len(hl.Pipeline(f).compile("h200").kernels) == 1
    program = hl.Pipeline(f).compile("cpu")
    for channels in (3, 2, 6):
        picture = np.random.default_rng(channels).integers(0, 256, (channels, 9, 11), np.uint8)
        np.testing.assert_array_equal(program(picture), picture[1:].argmax(0))
