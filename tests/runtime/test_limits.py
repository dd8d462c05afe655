"""Numbers of a call that nothing can be computed from: refused by every back end, before anything is written."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate
from random_programs import passes

import tilefuse as hl
from tilefuse.dialects.parsing import parse_module
from tilefuse.runtime.errors import CallError, CallMemoryError, CallTypeError
from tilefuse.runtime.program import compile_pipeline

KINDS = ("repeat_edge", "repeat_image", "mirror_image", "mirror_interior")
IMAGE = np.arange(24, dtype=np.uint8).reshape(4, 6)


def continued(kind, target, extent=None, first=0):
    """Two points beside each, under a boundary of `width` columns, or of as many as `extent` makes of the image's."""
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    width = hl.Param(hl.Int(32), "width", 1)
    exterior = [hl.u8(9)] if kind == "constant_exterior" else []
    columns = width if extent is None else extent(image)
    edges = getattr(hl.BoundaryConditions, kind)(image, *exterior, [(first, columns), (0, image.height())])
    f = hl.Func("f")
    f[x, y] = edges[x - 1, y] + 3 * edges[x + 1, y] + hl.u8(width)
    return hl.Pipeline(f).compile(target)


@pytest.fixture(params=["reference", "cpu"])
def target(request):
    return request.param


@pytest.mark.parametrize("kind", KINDS)
def test_a_boundary_of_no_points(kind, target):
    program, out = continued(kind, target), np.full((4, 6), 77, np.uint8)
    for width in (3, 0, 2, -1, 0, -(2**31)):
        if width > 0:
            program(IMAGE, width=width, out=out)
            out[:] = 77
            continue
        message = rf"test_limits.py:\d+:\d+: error: img.boundary {kind} of 'image' has {width} points in dimension 0"
        for arguments in ({"out": out}, {"sizes": (3, 2)}, {}):
            with pytest.raises(CallError, match=message):
                program(IMAGE, width=width, **arguments)
    assert (out == 77).all()


@pytest.mark.parametrize("kind", KINDS)
def test_no_points_because_of_the_size_of_an_image(kind, target):
    program = continued(kind, target, lambda image: image.width() - 4, first=2)
    assert program(IMAGE).shape == (4, 6)
    with pytest.raises(CallError, match="has 0 points in dimension 0"):
        program(IMAGE[:, :4])
    with pytest.raises(CallError, match="has -3 points in dimension 0"):
        program(IMAGE[:, :1])


def test_a_constant_exterior_of_no_points(target):
    """All points are outside of it."""
    program = continued("constant_exterior", target)
    for width in (2, 0, -1, 2, -(2**31)):
        found = program(IMAGE, width=width)
        inside = np.zeros((4, 8), bool)
        inside[:, 1 : 1 + max(width, 0)] = True
        values = np.where(inside, np.pad(IMAGE, ((0, 0), (1, 1))), np.uint8(9))
        np.testing.assert_array_equal(found, values[:, :-2] + np.uint8(3) * values[:, 2:] + np.uint8(width % 256))


def test_boundaries_that_no_result_needs():
    """A stage that is not computed may read what it likes."""
    text = """img.pipeline @p {
      %image = img.input "image" : !img.func<2xui8>
      %width = img.param "width" of si32 : i32
      %zero = arith.constant 0 : index
      %extent = arith.index_cast %width : i32 to index
      %part = img.boundary repeat_image %image dims [0] in [%zero] by [%extent] : !img.func<2xui8>
      %unused = img.stage "unused" (%x, %y) -> ui8 {
        %a = img.read %part[%x, %y] : !img.func<2xui8>
        img.yield %a : ui8
      }
      %same = img.stage "same" (%x, %y) -> ui8 {
        %a = img.read %image[%x, %y] : !img.func<2xui8>
        img.yield %a : ui8
      }
      img.return "same" = %same : !img.func<2xui8>
    }""".replace("img.yield %a : ui8", "img.yield %a : i8")
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(compile_pipeline(parse_module(text), target)(IMAGE, width=0), IMAGE)


def test_a_boundary_whose_box_wraps_around(target):
    """Four times 2^30 is 0 in 32 bits, for the check as for the kernels."""
    text = """img.pipeline @p {
      %image = img.input "image" : !img.func<2xui8>
      %width = img.param "width" of si32 : i32
      %zero = arith.constant 0 : index
      %many = arith.constant 1073741824 : i32
      %wide = arith.muli %width, %many : i32
      %extent = arith.index_cast %wide : i32 to index
      %part = img.boundary repeat_image %image dims [0] in [%zero] by [%extent] : !img.func<2xui8>
      %f = img.stage "f" (%x, %y) -> ui8 {
        %a = img.read %part[%x, %y] : !img.func<2xui8>
        img.yield %a : i8
      }
      img.return "f" = %f : !img.func<2xui8>
    }"""
    program = compile_pipeline(parse_module(text), target)
    with pytest.raises(CallError, match=r"repeat_image of 'image' has 0 points in dimension 0"):
        program(IMAGE, width=4, sizes=(6, 4))


@pytest.mark.parametrize("name", ["image", "f"])
def test_mins_far_away(name, target):
    program = continued("mirror_image", target, lambda image: image.width())
    for least in (2**61 + 1, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**80)):
        with pytest.raises(CallError, match=rf"mins= of '{name}' are .*{least}.*; coordinates go from -2\^61 to 2\^61"):
            program(IMAGE, mins={name: (least, 0)})
        with pytest.raises(CallError, match="mins= of"):
            program(IMAGE, mins={name: (0, least)}, sizes=(2, 2))


def test_coordinates_far_away():
    for least in (2**31 - 3, -(2**31) - 2, 2**40, 2**60, -(2**61) + 2**13, 2**61 - 2**13):
        found = [
            continued("mirror_image", t, lambda i: i.width())(IMAGE, mins={"f": (least, -3)}, sizes=(9, 8))
            for t in ("reference", "cpu")
        ]
        np.testing.assert_array_equal(*found)


def test_indices_that_leave_64_bits(target):
    x, y = hl.vars("x y")
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("f")
    f[x, y] = hl.BoundaryConditions.repeat_image(image)[x * 1000003, y]
    program = hl.Pipeline(f).compile(target)
    assert program(IMAGE, mins={"f": (2**40, 0)}, sizes=(5, 4)).shape == (4, 5)
    with pytest.raises(CallError, match=r"stage 'f': in this call indices of its reads, .* may go beyond 62 bits"):
        program(IMAGE, mins={"f": (2**55, 0)}, sizes=(5, 4))


@pytest.mark.parametrize("sizes", [(True, True), True, (2.0, 2), "22", 0, False, np.array([2, 2])])
def test_sizes_that_are_none(sizes, target):
    with pytest.raises(CallTypeError, match="sizes= of 'f' takes a tuple of integers, x first, not"):
        continued("repeat_edge", target)(IMAGE, sizes=sizes)


def test_mins_that_are_none(target):
    program = continued("repeat_edge", target)
    for mins in ({"f": (True, 0)}, {"f": np.array([1, 2])}, {"f": 0}):
        with pytest.raises(CallTypeError, match="mins= of 'f' takes a tuple of integers, x first, not"):
            program(IMAGE, mins=mins)
    for mins in (np.array([1, 2]), 0, (0, 0), False):
        with pytest.raises(CallTypeError, match="mins= takes a dict by name"):
            program(IMAGE, mins=mins)
    with pytest.raises(CallError, match="sizes of output 'f' take 2 numbers, not 0"):
        program(IMAGE, sizes=())
    assert program(IMAGE, sizes={}, mins={}).shape == (4, 6)
    assert program(IMAGE, sizes=(np.int8(3), np.uint64(2))).shape == (2, 3)


def test_more_memory_than_there_is(target):
    program = continued("repeat_edge", target)
    with pytest.raises(CallMemoryError, match=r"output 'f', \(10000000, 10000000\) of uint8, takes more memory"):
        program(IMAGE, sizes=(10**7, 10**7))
    everywhere = np.broadcast_to(np.uint8(1), (10**7, 10**7))
    for _ in range(3):
        with pytest.raises(CallMemoryError, match=r"output.*, \(10000000, 10000000\) of uint8, takes more memory"):
            program(everywhere)
    with pytest.raises(CallError, match=r"too large for an array|coordinates go from"):
        program(IMAGE, sizes=(2**60, 2**60))


def test_temporaries_that_take_more_memory_than_there_is(target, monkeypatch):
    program, out = continued("repeat_edge", target), np.full((4, 6), 77, np.uint8)
    program(IMAGE)

    def run(*of):
        raise MemoryError("of 3 TiB")

    monkeypatch.setattr(type(program._last), "run", run)
    with pytest.raises(
        CallMemoryError, match=r"the temporaries of this call take more memory than there is \(of 3 TiB\)"
    ):
        program(IMAGE, out=out)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("shape", ["block_tile", "warp_tile", "warp_exchange"])
def test_a_constant_exterior_of_no_points_on_an_emulated_gpu(shape, monkeypatch, tmp_path):
    x, y = hl.vars("x y")
    image, width = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Int(32), "width")
    part = hl.BoundaryConditions.constant_exterior(image, hl.u8(9), [(3, width), (0, image.height())])
    f = hl.Func("f")
    f[x, y] = part[x - 1, y] + 3 * part[x + 1, y]
    reference = hl.Pipeline(f).compile("reference")
    emulate(monkeypatch, tmp_path)
    program = hl.Pipeline(f).compile("cpu", passes=passes("h200", shape=shape))
    picture = np.random.default_rng(1).integers(0, 256, (20, 300)).astype(np.uint8)
    for width in (200, 0, -1, -40, 7, -(2**31)):
        np.testing.assert_array_equal(program(picture, width=width), reference(picture, width=width))


def test_temporaries_larger_than_any_memory():
    """Two outputs, of which the other reads all points between them of the first."""
    x, y = hl.vars("x y")
    image, first, second = hl.ImageParam(hl.Float(64), 2, "image"), hl.Func("first"), hl.Func("second")
    first[x, y] = hl.BoundaryConditions.repeat_edge(image)[x, y] + 1.0
    second[x, y] = first[x + 1, y]
    program = hl.Pipeline([first, second]).compile("cpu")
    for far in (2**32, 2**44, 2**59):
        with pytest.raises(
            CallMemoryError, match=r"take more memory than there is \(.*\), most of it for 'first'; ask"
        ):
            program(np.zeros((4, 4)), sizes=(3, 2), mins={"first": (0, 0), "second": (far, far)})
