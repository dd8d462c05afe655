"""Stages that are read at multiples of a coordinate, in the registers of a thread."""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.dialects.img.attrs import Level, Memory
from tilefuse.dialects.img.ops import StageOp
from tilefuse.passes.pipeline import run_passes, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.program import compile_pipeline


def halved(factor=2, planes=0):
    """A picture whose rows, and then columns, are weighted around every `factor`-th, after a product."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    more = (c,) if planes else ()
    photo = hl.ImageParam(hl.Float(32), 2 + bool(planes), "photo")
    if planes:
        photo.dim(2).set_bounds(0, planes)
    clamped = hl.BoundaryConditions.repeat_edge(photo)
    scaled, across, down = hl.Func("scaled"), hl.Func("across"), hl.Func("down")
    scaled[(x, y, *more)] = hl.sqrt(clamped[(x, y, *more)]) * clamped[(x, y, *more)]
    across[(x, y, *more)] = (
        scaled[(factor * x - 1, y, *more)] + 2.0 * scaled[(factor * x, y, *more)]
        + scaled[(factor * x + 1, y, *more)]
    )  # fmt: skip
    down[(x, y, *more)] = (
        across[(x, factor * y - 1, *more)] + 2.0 * across[(x, factor * y, *more)]
        + across[(x, factor * y + 1, *more)]
    )  # fmt: skip
    if planes:
        down.bound(c, 0, planes)
    return hl.Pipeline(down).to_module()


def passes_with(vector, rows):
    tile = Tile(shape="block_tile", sizes=(32 * vector, 4 * rows), threads=(32, 4), vector=vector)
    return [tile if isinstance(p, Tile) else p for p in standard_passes("h200")]


@pytest.mark.parametrize(("vector", "rows", "in_registers"), [(2, 2, True), (4, 4, True), (2, 1, False), (1, 2, False)])
def test_stages_are_in_registers_where_threads_share_enough(vector, rows, in_registers):
    found = run_passes(halved(), passes_with(vector, rows))
    places = {s.sym_name.data: s.place for s in found.walk() if isinstance(s, StageOp)}
    expected = (Level.Thread, Memory.Register) if in_registers else (Level.Block, Memory.Shared)
    assert places["across"].where == expected if vector > 1 else places["scaled"].where == expected


def test_values_that_die_early_do_not_keep_stages_from_registers():
    """Of four planes a thread computes 400 values: few live at one time."""
    found = run_passes(halved(planes=4), standard_passes("h200", extent=(4096, 4096)))
    places = {s.sym_name.data: s.place for s in found.walk() if isinstance(s, StageOp) and s.place is not None}
    assert {name: place.where for name, place in places.items()} == {
        "scaled": (Level.Thread, Memory.Register),
        "across": (Level.Thread, Memory.Register),
    }


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
@pytest.mark.parametrize(
    ("factor", "vector", "rows", "planes"), [(2, 2, 2, 0), (2, 4, 4, 0), (3, 2, 4, 0), (2, 2, 2, 3), (2, 1, 2, 3)]
)
def test_values_are_the_definition_s(factor, vector, rows, planes, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    module = halved(factor, planes)
    program = compile_pipeline(module, "cpu", strict_float=True, passes=passes_with(vector, rows))
    expected = compile_pipeline(module, "reference")
    for width, height, least in ((256, 96, 0), (203, 61, -5)):
        photo = np.random.default_rng(width).random((planes, height, width)[not planes :], dtype=np.float32)
        sizes = (width // factor, height // factor, *[planes] * bool(planes))
        box = {"sizes": sizes, "mins": {"down": (least, least, *[0] * bool(planes))}}
        np.testing.assert_array_equal(program(photo, **box), expected(photo, **box))
    assert misaligned
    assert not any(misaligned)
