"""The CPU back end computes what the evaluator does: every example, at small, odd and prime sizes."""

import re

import numpy as np
import pytest
from _run import as_bytes
from variants import INPUT_IS_LARGER, QUICK, SHAPES, SIZES, expected_shape

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.parsing import parse_module
from tilefuse.runtime.errors import CallError
from tilefuse.runtime.program import compile_pipeline


def pictures(name, photo, sizes=SIZES):
    more = INPUT_IS_LARGER.get(name, 0)
    return [photo(h + more, w + more) for h, w in sizes]


@pytest.mark.sweep
@pytest.mark.parametrize("name", QUICK)
def test_strict_programs_agree_bit_for_bit(name, photo):
    example = QUICK[name]
    on_cpu = example.pipeline().compile("cpu", strict_float=True)
    reference = example.pipeline().compile("reference")
    for picture in pictures(name, photo):
        array = example.prepare(picture)
        before = array.copy()
        ours, exact = on_cpu(array), reference(array)
        assert ours.shape == exact.shape == expected_shape(name, picture)
        assert ours.dtype == exact.dtype == array.dtype
        np.testing.assert_array_equal(ours, exact)
        np.testing.assert_array_equal(array, before)


# Warp tiles are unrolled, so the C compiler takes up to fifteen seconds for one of the larger examples.
FORCED = [
    *((name, "block_tile") for name in QUICK),
    *((name, shape) for name in ("blur_u8", "binomial", "unsharp") for shape in ("warp_tile", "warp_exchange")),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "shape"), FORCED)
def test_schedules_of_a_gpu_agree_bit_for_bit(name, shape, photo):
    # Blocks are loops here, and the phases of a block follow one another; test_on_gpu.py runs the same on a GPU.
    example, forced = QUICK[name], SHAPES[shape]
    program = example.pipeline().compile("cpu", strict_float=True, passes=forced.passes())
    text = program.ir("promote-memory")
    assert text.count(f"schedule #schedule.{forced.schedule}<") == len(re.findall(r"img\.group ", text)) > 0
    if (name, shape) != ("binomial", "warp_exchange"):  # sums along y, then x: no stage is read in other rows
        assert forced.place in text
    reference = example.pipeline().compile("reference")
    for picture in pictures(name, photo, [(2, 3), (67, 129), (140, 263)]):
        array = example.prepare(picture)
        np.testing.assert_array_equal(program(array), reference(array))


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["blur_f32", "harris", "unsharp", "stencil9"])
def test_contraction_stays_within_a_few_ulp_of_the_largest_value(name, photo):
    # A contracted product is rounded once less: each of at most some thirty roundings on the way to a result
    # moves it by half an ulp of what it is rounded at, which no intermediate of these exceeds by more than 4.
    example = QUICK[name]
    on_cpu, reference = example.pipeline().compile("cpu"), example.pipeline().compile("reference")
    for picture in pictures(name, photo, [(31, 61), (140, 263)]):
        array = example.prepare(picture)
        exact = reference(array)
        scale = np.abs(exact).max() if name != "harris" else harris_scale(array)
        np.testing.assert_allclose(on_cpu(array), exact, rtol=0, atol=64 * 2.0**-24 * float(scale))


def harris_scale(array):
    """The largest product of sums of squared gradients: the response is a difference of such products."""
    largest_gradient = np.ptp(array @ np.float32([0.299, 0.587, 0.114])) * 4 / 12
    return (9 * largest_gradient**2) ** 2


def test_contraction_moves_few_edges(photo):
    # Comparisons decide in Canny: a last place can turn an edge on or off, but only where values are equal.
    example = QUICK["canny"]
    array = example.prepare(photo(140, 263))
    ours, exact = example.pipeline().compile("cpu")(array), example.pipeline().compile("reference")(array)
    assert set(np.unique(exact)) == {0.0, 0.5, 1.0}
    assert (ours != exact).mean() < 0.001


@pytest.mark.parametrize("name", ["harris", "unsharp"])
def test_interleaved_planar_and_strided_pictures_give_the_same(name, photo):
    example = QUICK[name]
    program = example.pipeline().compile("cpu", strict_float=True)
    interleaved = example.prepare(photo(37, 53))
    planar = np.ascontiguousarray(np.moveaxis(interleaved, -1, 0))
    wide = np.zeros((37, 70, 3), np.float32)
    wide[:, 9:62] = interleaved
    expected = program(interleaved)
    np.testing.assert_array_equal(program(wide[:, 9:62]), expected)
    from_planar = program(planar)
    if name == "unsharp":
        assert from_planar.shape == (3, 37, 53)
        from_planar = np.moveaxis(from_planar, 0, -1)
    np.testing.assert_array_equal(from_planar, expected)


@pytest.mark.sweep
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_stencil9_takes_the_number_of_iterations(iterations, photo):
    import stencil9

    array = QUICK["stencil9"].prepare(photo(23, 29))
    expected = array
    for _ in range(iterations):
        p = np.pad(expected, 1)
        rows = p[:, :-2] + p[:, 1:-1] + p[:, 2:]
        expected = (rows[:-2] + rows[1:-1] + rows[2:]) * np.float32(1 / 9)
    ours = stencil9.pipeline(iterations).compile("cpu", strict_float=True)(array)
    np.testing.assert_array_equal(ours, expected)


def test_stencil9_without_an_iteration_is_refused():
    import stencil9

    with pytest.raises(PipelineError, match="output of a Pipeline is a Func"):
        stencil9.pipeline(0)


def test_unsharp_takes_three_channels():
    program = QUICK["unsharp"].pipeline().compile("cpu")
    with pytest.raises(CallError, match="image"):
        program(np.zeros((8, 8, 4), np.float32))


def test_schedules_by_hand_compute_the_blur(photo):
    from _run import HERE

    array = as_bytes(photo(135, 300)[..., 0]).astype(np.float32)
    expected = QUICK["blur_f32"].pipeline().compile("reference")(array)
    parts = (HERE / "hand_schedule.mlir").read_text().split("// -----")
    assert len(parts) == 2
    for text in parts:
        program = compile_pipeline(parse_module(text), "cpu", strict_float=True)
        np.testing.assert_array_equal(program(array), expected)
