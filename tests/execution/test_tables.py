"""Tables in shared memory: small stages that others of their group read where data say, computed by each block."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile

x, y, c, i = hl.vars("x y c i")
PHOTO = hl.ImageParam(hl.UInt(8), 2, "photo")
CURVES = hl.ImageParam(hl.Float(32), 2, "curves", layout="planar")


def smoothed():
    """A curve of bytes over a picture that is smoothed first, read at two places."""
    edges, g = hl.BoundaryConditions.repeat_edge(PHOTO), hl.Param(hl.Float(32), "g", 1.5)
    curve, smooth, out = hl.Func("curve"), hl.Func("smooth"), hl.Func("out")
    curve[i] = hl.u8(hl.clamp(hl.sqrt(hl.f32(i) / 255) * g * 150, 0, 255))
    smooth[x, y] = hl.u8((hl.u16(edges[x - 1, y]) + hl.u16(edges[x, y]) * 2 + hl.u16(edges[x + 1, y])) / 4)
    out[x, y] = curve[smooth[x, y]] + curve[smooth[x, y + 1]] / 2
    return out


def by_channel():
    """Curves from memory, as long as a parameter says, which is less than bytes may say; one for each channel."""
    most, curve, doubled, out = hl.Param(hl.UInt(8), "most", 9), hl.Func("curve"), hl.Func("doubled"), hl.Func("out")
    doubled[i, c] = CURVES[i, c] * 2
    curve[i, c] = doubled[i, c] + hl.f32(i)
    out[x, y, c] = curve[hl.min(PHOTO[x, y], most), c] + hl.f32(c)
    out.bound(c, 0, 3)
    return out


def passes(target, shape="auto", sizes=(), threads=()):
    """As few kernels as there can be, and nothing inlined."""
    tile = Tile(target, shape=shape, sizes=sizes, threads=threads)
    standard = [p for p in standard_passes(target, algorithm="all") if p.name != "inline-stages"]
    wanted = [replace(p, fuse_lookups=True) if isinstance(p, GroupStages) else p for p in standard]
    return [tile if isinstance(p, Tile) else p for p in wanted]


@pytest.fixture
def arguments():
    rng = np.random.default_rng(3)
    return {"photo": rng.integers(0, 256, (37, 61), dtype=np.uint8), "curves": rng.random((3, 10), dtype=np.float32)}


def given(func, arguments):
    return arguments if func.name() == "out" and len(func.args()) == 3 else {"photo": arguments["photo"]}


@pytest.mark.sweep
@pytest.mark.parametrize("define", [smoothed, by_channel])
@pytest.mark.parametrize("on", ["cpu", "h200"])
def test_tables_are_of_their_readers_kernel(define, on, arguments, monkeypatch, tmp_path):
    func = define()
    sizes = (32, 8, 3)[: len(func.args())]
    expected = hl.Pipeline(func).compile("reference")(**given(func, arguments))
    if on == "h200":
        if shutil.which("g++") is None:
            pytest.skip("needs g++")
        misaligned = emulate(monkeypatch, tmp_path)
        program = hl.Pipeline(func).compile("cpu", passes=passes(on))
    else:
        misaligned = []
        program = hl.Pipeline(func).compile("cpu", passes=passes(on, "block_tile", sizes, (1, 1, 1)[: len(sizes)]))
    assert program.ir("tile").count("img.group") == 1
    assert program.source().count("sh_curve") > 1
    np.testing.assert_array_equal(program(**given(func, arguments)), expected)
    assert not any(misaligned)


def test_points_that_the_call_does_not_need_are_read_inside_of_what_there_is():
    """Of 256 bytes a parameter lets through ten: the block computes all, in tiles inside of the picture, too."""
    text = hl.Pipeline(by_channel()).compile("h200", passes=passes("h200")).source()
    moved = [line for line in text.splitlines() if "curves_n1_ - 1" in line]
    assert moved
    assert not any("border_" in line for line in moved)


def test_they_are_chosen_where_a_launch_costs_more():
    """A curve of one addition is; one that takes long is not, with so many blocks."""

    def kernels(long):
        curve, out = hl.Func("curve"), hl.Func("out")
        value = hl.f32(i) + 1
        for _ in range(40 if long else 0):
            value = hl.pow(hl.abs(value) + 1, 0.5)
        curve[i] = value
        out[x, y] = curve[PHOTO[x, y]] * 2
        standard = [p for p in standard_passes("h200") if p.name != "inline-stages"]
        chosen = [replace(p, fuse_lookups=True) if isinstance(p, GroupStages) else p for p in standard]
        return hl.Pipeline(out).compile("h200", passes=chosen).ir("tile").count("img.group")

    assert (kernels(long=False), kernels(long=True)) == (1, 2)


def test_other_models_have_none():
    program = hl.Pipeline(smoothed()).compile("h200", passes=passes("h200"))
    text = program.ir("group-stages")
    with pytest.raises(
        PipelineError,
        match=r"'out' reads 'curve' at data-dependent places, which warp_tile cannot do inside a kernel; choose",
    ):
        hl.compile(text, target="h200", passes=[Tile("h200", shape="warp_tile")])
