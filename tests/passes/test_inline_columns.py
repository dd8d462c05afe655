"""`inline-columns`: what a stage reads in one column is computed there, to the bit, for all types and borders."""

from __future__ import annotations

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.analysis.row_sharing import row_instructions
from tilefuse.dialects.img.ops import SHARES_ROWS, StageOp
from tilefuse.passes.pipeline import run_passes, standard_passes

FAR = (16384, 16384)
"""Pictures that no cache holds."""


def window(image, rows=3, columns=3, edge=None):
    """A sum down of sums along rows, divided."""
    x, y = hl.Var("x"), hl.Var("y")
    source = image if edge is None else getattr(hl.BoundaryConditions, edge)(image)
    of_rows, out = hl.Func("of_rows"), hl.Func("out")

    def mean(values):
        total = sum(values[1:], values[0])
        return hl.cast(image.type(), total * hl.f32(1 / 3) if image.type().is_float() else total / 3)

    along = [source[x + i - columns // 2, y] for i in range(columns)]
    of_rows[x, y] = mean(along)
    down = [of_rows[x, y + j - rows // 2] for j in range(rows)]
    out[x, y] = mean(down)
    return hl.Pipeline(out)


def picture(type_, shape):
    values = np.random.default_rng(3).integers(0, 40, shape)
    return (values / 7).astype(np.float32) if type_.is_float() else values.astype(f"uint{type_.bits()}")


def scheduled_stages(pipeline, extent=FAR):
    module = run_passes(pipeline.to_module(), standard_passes("emerald_rapids", extent=extent))
    return [op for op in module.walk() if isinstance(op, StageOp)]


@pytest.mark.parametrize("edge", [None, "repeat_edge", "mirror_image"])
@pytest.mark.parametrize("type_", [hl.Float(32), hl.UInt(8), hl.UInt(16)], ids=str)
def test_results_are_those_of_the_definition(type_, edge):
    pipeline = window(hl.ImageParam(type_, 2, "image"), edge=edge)
    assert [s.sym_name.data for s in scheduled_stages(pipeline)] == ["out"]
    program = pipeline.compile("cpu", extent=FAR, strict_float=True)
    for shape in ((3, 3), (7, 70), (29, 141)):
        given = picture(type_, shape)
        np.testing.assert_array_equal(program(given), pipeline.compile("reference")(given))


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 2), (4, 3)])
def test_windows_of_other_sizes(rows, columns):
    pipeline = window(hl.ImageParam(hl.Float(32), 2, "image"), rows, columns, "repeat_edge")
    given = picture(hl.Float(32), (13, 81))
    program = pipeline.compile("cpu", extent=FAR, strict_float=True)
    np.testing.assert_array_equal(program(given), pipeline.compile("reference")(given))


def test_near_pictures_and_tall_windows_keep_rows():
    image = hl.ImageParam(hl.Float(32), 2, "image")
    assert len(scheduled_stages(window(image), (512, 512))) == 2
    assert len(scheduled_stages(window(image, rows=15))) == 2


def test_rows_count_once_what_they_share():
    (stage,) = scheduled_stages(window(hl.ImageParam(hl.Float(32), 2, "image")))
    assert SHARES_ROWS in stage.attributes
    one, four = row_instructions(stage, 1), row_instructions(stage, 4)
    # of four sums of three rows six rows are summed along, where one needs three
    assert four == pytest.approx(one / 4 * (1 + 6 / 4))


def test_rows_share_nothing_that_lies_elsewhere():
    x, y = hl.Var("x"), hl.Var("y")
    image, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("out")
    out[x, y] = (image[x, 2 * y] + 1.0) * (image[x, 2 * y + 1] + 2.0) + hl.cast(hl.Float(32), x)
    module = run_passes(hl.Pipeline(out).to_module(), [])
    (stage,) = [op for op in module.walk() if isinstance(op, StageOp)]
    # but the number that x is, which is two casts of it
    assert row_instructions(stage, 1) - row_instructions(stage, 2) == pytest.approx(1.0)
