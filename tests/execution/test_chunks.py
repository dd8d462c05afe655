"""Running sums whose lines blocks share out, on the emulated GPU against the evaluator; and which there are."""

import shutil
from dataclasses import dataclass

import numpy as np
import pytest
from emulated_cuda import emulate
from xdsl.parser import Parser
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.analysis.running_sums import RunningSum, running_sum
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp, UpdateOp
from tilefuse.passes.pipeline import new_context, standard_passes
from tilefuse.passes.tile import Tile

x, y, c = hl.vars("x y c")
WHOLE, FLOAT = hl.Int(32), hl.Float(32)


def line(type, define):
    image, f = hl.ImageParam(type, 1, "image"), hl.Func("f")
    f[x] = image[x]
    define(f, image, hl.RDom([(1, image.width() - 1)]).x)
    return f


def sums(f, image, r):
    f[r] += f[r - 1]


def written_out(f, image, r):
    f[r] = f[r - 1] + f[r]


def maxima_of_a_term(f, image, r):
    f[r] = hl.max(image[r] * 3 - 5, f[r - 1])


def downwards(f, image, r):
    n = image.width()
    f[n - 1 - r] += f[n - r]


def columns(type, define):
    """Lines along y, of each x and channel."""
    image, f = hl.ImageParam(type, 3, "image", layout="planar"), hl.Func("f")
    f[x, y, c] = image[x, y, c]
    r = hl.RDom([(1, image.height() - 1)]).x
    f[x, r, c] += f[x, r - 1, c]
    return f


def deep(type, define):
    """Lines along the last dimension, downwards, of terms of their own."""
    image, f = hl.ImageParam(type, 3, "image", layout="planar"), hl.Func("f")
    n = image.channels()
    f[x, y, c] = image[x, y, c]
    r = hl.RDom([(1, n - 1)]).x
    f[x, y, n - 1 - r] = hl.max(f[x, y, n - r], image[x, y, n - 1 - r])
    return f


def some_rows(type, define):
    """Lines of a domain, fewer than the function has."""
    image, f = hl.ImageParam(type, 2, "image"), hl.Func("f")
    f[x, y] = image[x, y]
    r = hl.RDom([(1, image.height() - 1), (3, 40)])
    f[r.y, r.x] += f[r.y, r.x - 1]
    return f


def rows(type, define):
    image, f = hl.ImageParam(type, 2, "image"), hl.Func("f")
    f[x, y] = image[x, y]
    r = hl.RDom([(1, image.width() - 1)]).x
    f[r, y] = f[r - 1, y] + f[r, y] * image[r, y]
    return f


@dataclass(frozen=True)
class Given(ModulePass):
    """Gives the update a schedule, if there is one: over no points that are known to be none it is dropped."""

    name = "given"
    text: str = ""

    def apply(self, ctx, op):
        for group in [g for g in op.walk() if isinstance(g, GroupOp) and g.update is not None]:
            group.schedule = Parser(new_context(), self.text).parse_attribute()


def passes(lines, others="rows = 32, chunk = 4"):
    given = Given(f"#schedule.scan<threads = [{lines}], {others}>")
    return [p for q in standard_passes("h200") for p in ((given, q) if isinstance(q, Tile) else (q,))]


CASES = [
    (line, FLOAT, sums), (line, WHOLE, maxima_of_a_term), (line, hl.UInt(32), downwards), (rows, WHOLE, None),
]  # fmt: skip
OTHERS = {
    "uint8": hl.UInt(8), "int8": hl.Int(8), "uint16": hl.UInt(16), "int64": hl.Int(64), "uint64": hl.UInt(64),
    "float16": hl.Float(16), "float64": hl.Float(64),
}  # fmt: skip
"""Types that are not of 32 bits, by their dtypes."""


def compiled(func, lines, others, monkeypatch, tmp_path):
    """The function on the emulated GPU and by the evaluator."""
    misaligned = emulate(monkeypatch, tmp_path)
    program = hl.Pipeline(func).compile("cpu", passes=passes(lines, others))
    assert "chunk = " in program.ir("tile")
    return program, hl.Pipeline(func).compile("reference"), misaligned


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(("make", "type", "define"), CASES)
def test_as_in_order(make, type, define, monkeypatch, tmp_path):
    """Lines of one point, of less than a chunk, of chunks to the point, and several; floats whose sums are exact.

    The longest has three windows of 32 chunks. Parts of a line need all that lies before them.
    """
    lines = "1" if make is rows else ""
    program, reference, misaligned = compiled(make(type, define), lines, "rows = 32, chunk = 4", monkeypatch, tmp_path)
    rng = np.random.default_rng(2)
    for n in (1, 2, 100, 129, 700, 8500):
        shape = (3, n) if make is rows else (n,)
        image = rng.integers(0, 9, shape).astype({FLOAT: np.float32, WHOLE: np.int32}.get(type, np.uint32))
        np.testing.assert_array_equal(program(image), reference(image))
    part = {"mins": {"f": (6000, 0)[: image.ndim]}, "sizes": (30, 2)[: image.ndim]}
    np.testing.assert_array_equal(program(image, **part), reference(image, **part))
    assert not any(misaligned)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("dtype", OTHERS)
def test_any_type(dtype, monkeypatch, tmp_path):
    """Elements of 64 bits are left in two words; floats of few values, whose sums are exact."""
    func = line(OTHERS[dtype], sums)
    program, reference, _ = compiled(func, "", "rows = 32, chunk = 4", monkeypatch, tmp_path)
    rng = np.random.default_rng(3)
    for n in (1, 300, 5000):
        image = (rng.integers(0, 40, n) == 0).astype(dtype)
        if image.dtype.kind in "iu":
            image = rng.integers(0, np.iinfo(dtype).max >> 2, n, dtype)
        np.testing.assert_array_equal(program(image), reference(image))


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
@pytest.mark.parametrize("make", [columns, deep, some_rows])
def test_lines_across_memory(make, dtype, monkeypatch, tmp_path):
    """Lines side by side, not as many as a block has or more; chunks, windows of four of them, parts of them."""
    func = make({"float32": FLOAT, **OTHERS}[dtype], None)
    lines = "32" if make is some_rows else "32, 1"
    program, reference, misaligned = compiled(func, lines, "rows = 4, chunk = 2", monkeypatch, tmp_path)
    rng = np.random.default_rng(4)
    for width, height, channels in ((1, 1, 1), (33, 50, 2), (70, 9, 3), (31, 3, 70), (64, 161, 1)):
        shape = (height, max(width, 43)) if make is some_rows else (channels, height, width)
        image = rng.integers(0, 9, shape).astype(dtype)
        np.testing.assert_array_equal(program(image), reference(image))
    part = {"mins": {"f": (40, 20, 0)[: image.ndim]}, "sizes": (3, 2, 1)[: image.ndim]}
    np.testing.assert_array_equal(program(image, **part), reference(image, **part))
    assert not any(misaligned)


def facts(func):
    return UpdateFacts(next(op for op in hl.Pipeline(func).to_module().walk() if isinstance(op, UpdateOp)))


def test_which_there_are():
    found = [running_sum(facts(make(type, define))) for make, type, define in CASES]
    assert all(isinstance(f, RunningSum) for f in found)
    assert [f.way for f in found] == ["add", "max", "add", "add"]

    def filtered(f, image, r):
        f[r] = f[r - 1] / 2 + image[r]

    def two_back(f, image, r):
        f[r] = f[r - 2] + image[r]

    def further_on(f, image, r):
        f[r] = f[r - 1] + f[r + 1]

    for define in (filtered, two_back, further_on):
        assert isinstance(running_sum(facts(line(FLOAT, define))), str)


def test_floats_come_in_another_order_and_others_have_no_chunks():
    program = hl.Pipeline(line(FLOAT, sums)).compile("h200", passes=passes(""))
    assert any(k.reorders for k in program.kernels)

    def filtered(f, image, r):
        f[r] = f[r - 1] / 2 + image[r]

    report = hl.Pipeline(line(FLOAT, written_out)).compile("h200", extent=(1 << 20,)).report()
    assert "sums of f32 in another order than the domain's (run_to_run), within n * 2^-24" in report

    with pytest.raises(PipelineError, match="blocks cannot share its lines: it does not only combine each point"):
        hl.Pipeline(line(FLOAT, filtered)).compile("h200", passes=passes(""))
    with pytest.raises(Exception, match="chunk needs slice = 0, and 1 for width, unroll, buffers"):
        hl.Pipeline(line(FLOAT, sums)).compile("h200", passes=passes("", "rows = 32, chunk = 4, unroll = 8"))


@pytest.mark.parametrize(
    ("make", "extent", "chosen"),
    [
        (line, (1 << 26,), True),
        (line, (1 << 12,), True),
        (line, (64,), False),
        (rows, (1 << 22, 16), True),
        (rows, (64, 8192), False),
    ],
)
def test_few_long_lines_are_shared_out(make, extent, chosen):
    """Blocks take lines apart that are too few, or too long, for a thread each."""
    program = hl.Pipeline(make(FLOAT, sums)).compile("h200", extent=extent)
    assert ("chunk = " in program.ir("tile")) is chosen
    assert any(k.reorders for k in program.kernels) is chosen


def test_chunks_that_shared_memory_does_not_hold_are_halved():
    program = hl.Pipeline(line(hl.Float(64), sums)).compile("h200", passes=passes("", "rows = 256, chunk = 64"))
    assert "rows = 256, chunk = 16>" in program.ir("validate-occupancy")


def test_floats_in_order_are_not():
    """A promise about the order of floats is kept."""
    options = {"determinism": "gpu_to_gpu"}, {"strict_float": True}
    for option in options:
        assert "chunk = " not in hl.Pipeline(line(FLOAT, sums)).compile("h200", extent=(1 << 22,), **option).ir("tile")
        for type, define in ((WHOLE, sums), (FLOAT, maxima_of_a_term)):
            program = hl.Pipeline(line(type, define)).compile("h200", extent=(1 << 22,), **option)
            assert "chunk = " in program.ir("tile")
            assert not any(k.reorders for k in program.kernels)


@pytest.mark.parametrize("dtype", ["float32", *OTHERS])
def test_few_long_columns_are_shared_out(dtype):
    """Of any type, 32 side by side."""
    func = columns({"float32": FLOAT, **OTHERS}[dtype], None)
    assert "threads = [32, 1], rows = " in hl.Pipeline(func).compile("h200", extent=(64, 1 << 22, 1)).ir("tile")
