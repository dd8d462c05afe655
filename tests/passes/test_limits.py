"""Numbers in schedules and options that nobody means: refused at once, with the number and the remedy."""

import time
from itertools import takewhile

import pytest
from xdsl.context import Context

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.execution.warp_tile.roll_stages import RollStages
from tilefuse.passes.inline_stages import InlineStages
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes
from tilefuse.passes.separate_kernels import SeparateKernels
from tilefuse.passes.separate_steps import SeparateSteps
from tilefuse.passes.tile import Tile
from tilefuse.passes.unroll_reductions import UnrollReductions
from tilefuse.passes.validate_occupancy import ValidateOccupancy

x, y = hl.vars("x y")


def module(rows=1):
    image = hl.ImageParam(hl.Float(32), 2, name="image")
    around = hl.BoundaryConditions.repeat_edge(image)
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = around[x, y] + around[x + 1, y] + around[x, y + 1]
    g[x, y] = hl.sqrt(f[x, y]) + f[x, y + rows]
    return hl.Pipeline(g).to_module()


def validated(tile, target, rows=1, *, fix=False):
    scheduled = module(rows)
    for p in standard_passes(target):
        if p.name == "validate-occupancy":
            ValidateOccupancy(target=target, fix=fix).apply(Context(), scheduled)
            return scheduled
        (tile if p.name == "tile" else p).apply(Context(), scheduled)
    raise AssertionError("the standard passes validate")


def before_validation(target):
    return list(takewhile(lambda p: p.name != "validate-occupancy", standard_passes(target)))


@pytest.mark.parametrize(
    ("target", "tile"),
    [
        ("h200", Tile(shape="warp_tile", sizes=(0, 16384), threads=(32, 1))),
        ("h200", Tile(shape="warp_tile", sizes=(0, 512), threads=(32, 1))),
        ("h200", Tile(sizes=(512, 256), threads=(32, 8), vector=4)),
        ("cpu", Tile(target="cpu", sizes=(512, 256), threads=(32, 8), vector=4)),
        ("cpu", Tile(target="cpu", sizes=(512, 256), threads=(1, 1), more="unroll = [512, 256]")),
    ],
)
def test_schedules_with_too_much_code_are_refused_at_once(target, tile):
    began = time.process_time()
    with pytest.raises(PipelineError, match=r"about \d+ operations are written out .* 12000 are the most; a smaller"):
        validated(tile, target)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("target", "tile"),
    [
        ("h200", Tile(shape="warp_tile", sizes=(0, 16384), threads=(32, 1))),
        ("h200", Tile(sizes=(512, 256), threads=(32, 8), vector=4)),
        ("cpu", Tile(target="cpu", sizes=(513, 257), threads=(1, 1), more="unroll = [513, 257]")),
    ],
)
def test_lowering_refuses_too_much_code_that_nobody_validated(target, tile):
    scheduled = run_passes(module(), [tile if p.name == "tile" else p for p in before_validation(target)])
    began = time.process_time()
    with pytest.raises(PipelineError, match=r"test_limits.py.*'g': about \d+ operations .* 12000 are the most"):
        run_passes(scheduled, lowering_passes(warps=target != "cpu"))
    assert time.process_time() - began < 5


def test_warp_tiles_are_loops_on_a_cpu_however_high_they_are():
    tile = Tile(target="cpu", shape="warp_tile", sizes=(0, 4096), threads=(32, 1))
    scheduled = run_passes(module(), [tile if p.name == "tile" else p for p in before_validation("cpu")])
    assert "func.func @g_g_tile1" in str(run_passes(scheduled, lowering_passes(warps=False)))


def test_schedules_with_too_much_code_get_smaller_where_they_may():
    scheduled = validated(Tile(shape="warp_tile", sizes=(0, 16384), threads=(32, 1)), "h200", fix=True)
    assert "tile = [31, 256]" in str(scheduled)


def test_what_a_cpu_does_in_loops_is_not_written_out():
    validated(Tile(target="cpu", sizes=(512, 256), threads=(1, 1)), "cpu")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (RollStages(min_repetitions=-1), "roll-stages: min_repetitions is -1; give 2 or more"),
        (RollStages(unroll=0), "roll-stages: unroll is 0; give 1 or more"),
        (RollStages(min_instructions=-5), "roll-stages: min_instructions is -5; give 0 or more"),
        (SeparateKernels(min_saving=-1), "separate-kernels: min_saving is -1; give 0 or more"),
        (SeparateSteps(max_steps=-1), "separate-steps: max_steps is -1; give 0 or more"),
        (UnrollReductions(max_instructions=-1), "unroll-reductions: max_instructions is -1; give 0 or more"),
        (InlineStages(max_instructions=float("nan")), "inline-stages: max_instructions is nan; give 0 or more"),
        (InlineStages(max_reads=-2), "inline-stages: max_reads is -2; give 0 or more"),
        (Tile(sizes=(-32, 8), threads=(32, 1)), "tile: sizes is -32,8; give 0 or more"),
        (Tile(sizes=(32, 8), threads=(32, 1), blocks=-1), "tile: blocks is -1; give 0 or more"),
        (Tile(sizes=(32, 10**40), threads=(32, 1)), "and less than 2147483648"),
        (Tile(extent=(1536, 10**40)), "has less than 2147483648 points in a dimension"),
    ],
)
def test_options_that_are_no_sensible_numbers(given, message):
    with pytest.raises(PipelineError, match=message):
        given.apply(Context(), module())
