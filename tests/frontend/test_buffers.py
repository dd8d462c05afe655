"""Buffers for other libraries, and what notebooks show of them and of programs."""

import base64
import html
import io
import re

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.frontend import pictures

imageio = pytest.importorskip("imageio.v3")

RNG = np.random.default_rng(3)
RGB = RNG.integers(0, 256, (20, 30, 3)).astype(np.uint8)
GRAY = RGB[..., 0]


def shown(value):
    """(the picture, or None; the text) of what a notebook shows."""
    text = value._repr_html_()
    found = re.search(r'<img src="data:image/png;base64,([^"]*)">', text)
    picture = None if found is None else imageio.imread(io.BytesIO(base64.b64decode(found[1])), extension=".png")
    return picture, html.unescape(re.sub(r"<[^>]*>", "", text))


def test_an_undefined_buffer_says_so():
    assert shown(hl.Buffer()) == (None, "Buffer, undefined")


# --- DLPack -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("array", [GRAY, RGB, GRAY[::-1, ::2], GRAY > 7, RNG.random((4, 5)), np.array(3.0, np.float32)])
def test_a_buffer_is_no_copy_for_other_libraries(array):
    buffer = hl.Buffer(array)
    assert buffer.__dlpack_device__() == (1, 0)
    taken = np.from_dlpack(buffer)
    np.testing.assert_array_equal(taken, array)
    assert taken.dtype == array.dtype
    assert taken.__array_interface__["data"][0] == array.__array_interface__["data"][0]
    assert type(buffer.__dlpack__()).__name__ == "PyCapsule"
    assert type(buffer.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=None)).__name__ == "PyCapsule"
    copied = np.from_dlpack(buffer, copy=True)
    assert not np.shares_memory(copied, array)
    np.testing.assert_array_equal(copied, array)


def test_what_dlpack_cannot_do():
    with pytest.raises((BufferError, ValueError)):
        hl.Buffer(GRAY).__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError):
        hl.Buffer(GRAY).__dlpack__(None)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_programs_take_buffers(target):
    x, y = hl.vars("x y")
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("f")
    f[x, y] = 255 - image[x, y]
    program = hl.Pipeline(f).compile(target)
    frozen = GRAY.copy()
    frozen.flags.writeable = False
    for array in (GRAY, frozen, GRAY[::2, ::-1]):
        for _ in range(3):
            found = program(hl.Buffer(array))
            assert type(found) is np.ndarray
            np.testing.assert_array_equal(found, 255 - array)
    out = hl.Buffer(hl.UInt(8), [30, 20])
    assert program(GRAY, out=out) is out
    np.testing.assert_array_equal(out, 255 - GRAY)


# --- notebooks ----------------------------------------------------------------------------------------------


def test_pictures_are_shown_as_they_are():
    for array, wanted in (
        (GRAY, GRAY),
        (RGB, RGB),
        (RGB.transpose(2, 0, 1), RGB),
        (RGB[::-1, ::2], RGB[::-1, ::2]),
        (RGB[..., :1], GRAY),
        (GRAY > 99, (GRAY > 99) * np.uint8(255)),
        (np.uint8([[0, 1, 2, 255]]).view(bool), np.uint8([[0, 255, 255, 255]])),
        (GRAY / np.float32(255), GRAY),
        (RGB / 255, RGB),
    ):
        picture, text = shown(hl.Buffer(array, "photo"))
        np.testing.assert_array_equal(picture.reshape(wanted.shape), wanted)
        assert text.startswith("Buffer photo: ")
    assert shown(hl.Buffer(RGB, "photo"))[1] == "Buffer photo: uint8, 30 x 20 x 3"


def test_other_values_are_scaled():
    picture, text = shown(hl.Buffer(np.array([[-1.0, 0.0, 3.0]], np.float32), "b"))
    np.testing.assert_array_equal(picture, [[0, 64, 255]])
    assert text == "Buffer b: float32, 3 x 1, -1 to 3"
    picture, text = shown(hl.Buffer(np.array([[7, 7], [7, 7]], np.int16), "b"))
    assert not picture.any()
    picture, _ = shown(hl.Buffer(np.array([[np.nan, 0.5, np.inf, -np.inf]]), "b"))
    np.testing.assert_array_equal(picture, [[0, 128, 255, 0]])
    for array in (np.full((2, 2), np.nan), np.array([[2**64 - 1, 0]], np.uint64), np.array([[-1e308, 1e308]])):
        assert shown(hl.Buffer(array))[0].shape == array.shape


def test_large_pictures_are_shown_smaller():
    picture, text = shown(hl.Buffer(np.zeros((3000, 1100), np.uint8), "b"))
    assert max(picture.shape) <= 512
    assert "1100 x 3000" in text


@pytest.mark.parametrize(
    "array",
    [np.zeros(5, np.uint8), np.zeros((0, 4), np.uint8), np.zeros((4, 5, 6, 3)), np.zeros((7, 8, 9)), np.uint8(3)],
)
def test_what_is_no_picture(array):
    picture, text = shown(hl.Buffer(array, "b"))
    assert picture is None
    assert text.startswith("Buffer b: ")


def test_a_picture_that_may_be_read_two_ways():
    picture, text = shown(hl.Buffer(np.zeros((3, 2, 4), np.uint8), "b"))
    assert picture is None
    assert text == "Buffer b: uint8, shape (3, 2, 4)"
    assert shown(hl.Buffer(np.zeros((3, 2, 3), np.uint8), "b", layout="interleaved"))[0].shape == (3, 2, 3)


def test_text_is_escaped():
    text = pictures.array_html("<script>&", "<b>", np.zeros(3), None)
    assert "<script>" not in text
    assert "&lt;script&gt;&amp;" in text


@pytest.mark.parametrize("target", ["reference", "cpu", "h200"])
def test_a_program(target):
    program = hl.compile(
        """img.pipeline @twice {
          %in = img.input "in<&" : !img.func<2xui8>
          %out = img.stage "out" (%x, %y) -> ui8 {
            %a = img.read %in[%x, %y] : !img.func<2xui8>
            img.yield %a : i8
          }
          img.return "out" = %out : !img.func<2xui8>
        }""",
        target,
    )
    text = program._repr_html_()
    assert "in<&" not in text
    _, plain = shown(program)
    assert repr(program) in plain
    assert program.report() in plain
    if target != "reference":
        assert program.source() in plain
