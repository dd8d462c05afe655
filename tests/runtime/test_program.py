"""Calling programs on the CPU: kinds of array, layouts, sizes, and every way in which a call is refused."""

import numpy as np
import pytest
from runtime_pipelines import (
    AS_IT_IS,
    CHAIN,
    GRAY,
    SCALED,
    TWO_OUTPUTS,
    blur,
    blurred,
    blurred_edges,
    chained,
    invert,
)

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.runtime.errors import CallError, CallTypeError
from tilefuse.runtime.program import compile_pipeline

RNG = np.random.default_rng(7)


@pytest.fixture(params=["cpu", "reference"])
def compiled(request, parse):
    """A text as a program, on each target that needs no GPU."""
    return lambda text, **options: compile_pipeline(parse(text), request.param, **options)


@pytest.fixture
def on_cpu(parse):
    return lambda text, **options: compile_pipeline(parse(text), "cpu", **options)


def photo(*shape, dtype=np.float32):
    return (RNG.random(shape) * 255).astype(dtype)


# --- layouts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 3), (131, 257), (64, 640)])
def test_any_size(compiled, shape):
    a = photo(*shape)
    np.testing.assert_allclose(compiled(blur())(a), blurred_edges(a), rtol=1e-6)


def test_strided_views_are_read_where_they_lie(compiled):
    program = compiled(blur())
    a = photo(96, 90)
    frozen = np.broadcast_to(a[0], (5, 90))
    for v in (a[::-1], a[:, ::-1], a[::2, ::3], a.T, a[3:, 5:], a[:, :1], np.asfortranarray(a), frozen):
        np.testing.assert_allclose(program(v), blurred_edges(v), rtol=1e-6)


def test_interleaved_and_planar_pictures(compiled):
    program = compiled(invert())
    for shape in [(40, 30, 3), (40, 30, 4), (3, 40, 30), (1, 40, 30), (40, 30, 1), (7, 9, 11)]:
        a = photo(*shape, dtype=np.uint8)
        result = program(a)
        assert result.shape == shape
        assert result.flags.c_contiguous
        np.testing.assert_array_equal(result, 255 - a)


def test_interleaved_pictures_make_kernels_with_fixed_strides(on_cpu):
    program = on_cpu(invert())
    program(photo(40, 30, 3, dtype=np.uint8))
    text = program.ir("input")
    assert "layout strided<[3, ?, 1]>" in text
    assert "bounds #img.box<[*, *, 0:3]>" in text
    assert "output_layouts = [strided<[3, ?, 1]>]" in text
    assert "img.align = 1 : i64" in text  # rows of 90 bytes are not aligned
    program(photo(40, 32, 3, dtype=np.uint8))
    assert "img.align = 16 : i64" in program.ir("input")


def test_channels_of_a_larger_picture_are_no_copy(compiled):
    rgba = photo(40, 30, 4, dtype=np.uint8)
    np.testing.assert_array_equal(compiled(invert())(rgba[..., :3]), 255 - rgba[..., :3])


def test_an_interleaved_picture_reads_channels_by_constant_index(compiled):
    a = photo(20, 30, 3)
    program = compiled(GRAY)
    np.testing.assert_allclose(program(a), a.sum(-1, dtype=np.float32), rtol=1e-6)
    planar = np.moveaxis(a, -1, 0)
    np.testing.assert_allclose(program(planar), a.sum(-1, dtype=np.float32), rtol=1e-6)
    copied = np.ascontiguousarray(planar)
    np.testing.assert_allclose(program(copied), a.sum(-1, dtype=np.float32), rtol=1e-6)


def test_a_picture_that_may_be_both_is_planar_if_its_reads_fit(compiled):
    program = compiled(GRAY)
    a = photo(3, 5, 4)
    np.testing.assert_allclose(program(a), a.sum(0), rtol=1e-6)
    with pytest.raises(CallError, match=r"shape \(2, 5, 3\).*layout='interleaved'"):
        program(photo(2, 5, 3))


def test_a_declared_layout_decides(compiled):
    a = photo(3, 5, 3, dtype=np.uint8)
    for layout in ("planar", "interleaved", "auto"):
        np.testing.assert_array_equal(compiled(invert(layout))(a), 255 - a)
    with pytest.raises(CallError, match="layout 'hwc' is unknown; use auto, planar, interleaved"):
        compiled(invert("hwc"))(a)


def test_declared_channels_decide(compiled):
    program = compiled(invert(bounds="bounds #img.box<[*, *, 0:5]>"))
    for shape in [(5, 8, 9), (8, 9, 5)]:
        a = photo(*shape, dtype=np.uint8)
        np.testing.assert_array_equal(program(a), 255 - a)
    with pytest.raises(CallError, match=r"dimension 2 \(z\) is bound to 5 points from 0, but .* has 3"):
        program(photo(3, 8, 9, dtype=np.uint8))


# --- outputs ------------------------------------------------------------------------------------------------


def test_without_a_boundary_the_output_is_what_the_input_allows(compiled):
    a = photo(20, 30)
    result = compiled(blur(None))(a)
    assert result.shape == (18, 28)
    np.testing.assert_allclose(result, blurred(a), rtol=1e-6)


def test_sizes_and_mins(compiled):
    program = compiled(blur(None))
    a = photo(20, 30)
    whole = blurred(a)
    np.testing.assert_allclose(program(a, sizes=(5, 4)), whole[:4, :5], rtol=1e-6)
    np.testing.assert_allclose(program(a, sizes=(5, 4), mins={"blur_y": (3, 2)}), whole[1:5, 2:7], rtol=1e-6)
    np.testing.assert_allclose(program(a, mins={"blur_y": (3, 2)}), whole[1:, 2:], rtol=1e-6)
    np.testing.assert_allclose(program(a, sizes=(5, 4), mins={"photo": (-9, 6)}), whole[:4, :5], rtol=1e-6)
    np.testing.assert_allclose(program(a, sizes={"blur_y": [5, 4]}), whole[:4, :5], rtol=1e-6)


def test_out_is_written_in_place(compiled):
    program = compiled(blur())
    a = photo(20, 30)
    expected = blurred_edges(a)
    for out in (
        np.empty((20, 30), np.float32),
        np.empty((30, 20), np.float32).T,
        np.empty((40, 60), np.float32)[::2, ::-2],
    ):
        assert program(a, out=out) is out
        np.testing.assert_allclose(out, expected, rtol=1e-6)
    part = np.zeros((10, 30), np.float32)
    program(a, out=part)
    np.testing.assert_allclose(part, expected[:10], rtol=1e-6)


def test_an_interleaved_half_of_a_buffer_is_no_overlap(compiled):
    both = photo(20, 30, 2)
    expected = blurred_edges(both[..., 0].copy())
    compiled(blur())(both[..., 0], out=both[..., 1])
    np.testing.assert_allclose(both[..., 1], expected, rtol=1e-6)


def test_several_outputs_of_different_extent(compiled):
    program = compiled(TWO_OUTPUTS)
    a = photo(20, 30)
    twice, step = program(a)
    assert (twice.shape, step.shape) == ((20, 30), (20, 29))
    np.testing.assert_array_equal(twice, a + a)
    np.testing.assert_array_equal(step, np.diff(a + a))
    # Here more of `twice` is needed than is asked for.
    twice, step = program(a, sizes=(8, 6))
    np.testing.assert_array_equal(twice, (a + a)[:6, :8])
    np.testing.assert_array_equal(step, np.diff(a + a)[:6, :8])
    out = {"step": np.empty((6, 8), np.float32)}
    twice, step = program(a, out=out, sizes={"twice": (4, 3)})
    assert step is out["step"]
    np.testing.assert_array_equal(twice, (a + a)[:3, :4])
    np.testing.assert_array_equal(step, np.diff(a + a)[:6, :8])


def test_inputs_and_boundaries_may_be_outputs(compiled):
    a = photo(5, 6)
    results = compiled(AS_IT_IS)(a)
    assert len({r.__array_interface__["data"][0] for r in (a, *results)}) == 4
    for result in results:
        np.testing.assert_array_equal(result, a)


def test_temporaries_live_no_longer_than_needed(on_cpu):
    a = photo(50, 60)
    program = on_cpu(CHAIN, algorithm="none")
    np.testing.assert_allclose(program(a), chained(a), rtol=1e-5, atol=1e-3)
    assert [k.stages for k in program.kernels] == [("s1",), ("s2",), ("s3",)]
    # The first one lives where the result will be.
    assert program._last.plan.arena_bytes == 50 * 60 * 4


# --- parameters ---------------------------------------------------------------------------------------------


def test_parameters(compiled):
    program = compiled(SCALED)
    a = photo(5, 6, dtype=np.uint8)
    for gain, offset in ((2.5, -3), (np.float32(0.5), np.int16(7)), (1, 32765)):
        expected = a * np.float32(gain) + np.float32(offset + 2)
        np.testing.assert_allclose(program(a, gain=gain, offset=offset), expected, rtol=1e-6)
    wrapped = a * np.float32(1) + np.float32(32767 + 2 - 65536)
    np.testing.assert_allclose(program(a, gain=1, offset=32767), wrapped, rtol=1e-6)


def test_a_program_shows_how_it_is_called(parse):
    source = SCALED.replace('"gain" of f32', '"gain" of f32 {img.default = 2.5 : f64}')
    program = compile_pipeline(parse(source), "reference")
    assert repr(program) == (
        "<tilefuse.Program (photo: uint8 2d, gain: f32 = 2.5, offset: si16) -> scaled: float32 2d, for reference>"
    )


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"gain": 1.0}, "param 'offset' is missing: pass offset=..."),
        ({}, "params 'gain', 'offset' are missing: pass gain=..., offset=..."),
        ({"gain": 1.0, "offset": 40000}, "param 'offset' is 40000, outside of si16: -32768 to 32767"),
        ({"gain": 1.0, "offset": 1.5}, "param 'offset' takes an integer of type si16, not 1.5"),
        ({"gain": "2", "offset": 1}, "param 'gain' takes a number of type f32, not a str"),
        ({"gain": 1e39, "offset": 1}, r"param 'gain' is 1e\+39, outside of f32"),
        ({"gain": 1.0, "offset": 1, "gamma": 2}, "no input or param is called 'gamma'; there are 'photo', "),
    ],
)
def test_bad_parameters(compiled, named, message):
    with pytest.raises(CallError, match=message):
        compiled(SCALED)(photo(5, 6, dtype=np.uint8), **named)


# --- refusals -----------------------------------------------------------------------------------------------


def read_only(a):
    a.flags.writeable = False
    return a


A = np.ones((20, 30), np.float32)


@pytest.mark.parametrize(
    ("arrays", "named", "message"),
    [
        ((), {}, "input 'photo' is missing: pass an array for it"),
        ((A, A), {}, r"2 arrays given, but there is 1 input \('photo'\)"),
        ((A,), {"photo": A}, "input 'photo' is given twice"),
        ((A.astype(np.float64),), {}, "input 'photo' takes float32, not float64"),
        ((A.astype(">f4"),), {}, "input 'photo' takes float32, not >f4"),
        ((A[0],), {}, r"input 'photo' takes 2 dimensions, not 1 \(30,\)"),
        (([[1.0, 2.0]],), {}, r"input 'photo' is a list, not an array; pass numpy.asarray"),
        ((np.ma.masked_less(A, 2),), {}, "input 'photo' is a masked array"),
        (
            (np.frombuffer(bytes(81), np.uint8)[1:].view("f4").reshape(4, 5),),
            {},
            "do not lie at multiples of",
        ),
        ((A[:2],), {}, r"input 'photo' is too small: 2 points in dimension 1 \(y\), .* needs 3"),
        ((A[:0],), {}, r"input 'photo' is too small: 0 points in dimension 1 \(y\), .* needs 3"),
        ((A,), {"sizes": (40, 4)}, r"'photo' is read at 0 to 41 in dimension 0 \(x\), but holds 0 to 29"),
        ((A,), {"sizes": (4,)}, "sizes of output 'blur_y' take 2 numbers, not 1"),
        ((A,), {"sizes": (4.0, 4)}, r"sizes= of 'blur_y' takes a tuple of integers, x first, not \(4.0, 4\)"),
        ((A,), {"sizes": (0, 4)}, r"sizes of output 'blur_y' are \(0, 4\); they must be positive"),
        ((A,), {"sizes": "big"}, "sizes= of 'blur_y' takes a tuple of integers, x first, not 'big'"),
        ((A,), {"sizes": {"blur": (3, 3)}}, "sizes=: no output is called 'blur'; there are 'blur_y'"),
        ((A,), {"mins": (1, 1)}, "mins= takes a dict by name of 'photo', 'blur_y'"),
        ((A,), {"mins": {"blur_y": (40, 1)}}, "output 'blur_y': from mins .* no point can be computed"),
        ((A,), {"stream": 0}, "stream= is for arrays on a GPU"),
        ((A,), {"out": np.empty((18, 28))}, "output 'blur_y' takes float32, not float64"),
        ((A,), {"out": np.empty((18, 28, 1), np.float32)}, "output 'blur_y' takes 2 dimensions, not 3"),
        ((A,), {"out": np.empty((20, 28), np.float32)}, r"'photo' is read at 0 to 21 in dimension 1 \(y\)"),
        ((A,), {"out": [A, A]}, "out= gives 2, but there is 1 output: 'blur_y'"),
        ((A,), {"out": read_only(np.empty((18, 28), np.float32))}, "out= is read-only"),
        ((A,), {"out": A[1:-1, 1:-1]}, "output 'blur_y': the array given as out= shares memory with input"),
        (
            (A,),
            {"out": np.lib.stride_tricks.as_strided(np.empty(60, np.float32), (18, 28), (8, 4))},
            r"elements of the array given as out= share memory \(strides \(8, 4\)\)",
        ),
        ((A,), {"out": np.empty((18, 28), np.float32), "sizes": (4, 4)}, "but sizes= asks for"),
    ],
)
def test_refused_calls_write_nothing(compiled, arrays, named, message):
    before = A.copy()
    outs = [o for o in named.get("out", ()) if isinstance(o, np.ndarray)]
    contents = [o.copy() for o in outs]
    with pytest.raises(CallError, match=message):
        compiled(blur(None))(*arrays, **named)
    np.testing.assert_array_equal(A, before)
    for o, content in zip(outs, contents, strict=True):
        np.testing.assert_array_equal(o, content)


def test_two_outputs_may_not_share_memory(compiled):
    a, buffer = photo(20, 30), np.zeros((20, 30), np.float32)
    with pytest.raises(CallError, match="output 'step': the array given as out= shares memory with output 'twice'"):
        compiled(TWO_OUTPUTS)(a, out=(buffer, buffer[:, 1:]))
    assert not buffer.any()


def test_a_type_error_is_one():
    assert issubclass(CallTypeError, TypeError)
    assert issubclass(CallTypeError, ValueError)


@pytest.mark.parametrize("name", ["out", "stream"])
def test_names_of_keywords_are_taken(compiled, name):
    with pytest.raises(PipelineError, match=f"'{name}' is a keyword of a call"):
        compiled(blur().replace('"photo"', f'"{name}"'))


def test_a_module_needs_one_pipeline(compiled):
    with pytest.raises(PipelineError, match="this module has 0"):
        compiled("builtin.module {}")
    with pytest.raises(PipelineError, match="this module has 2"):
        compiled(blur() + invert())


# --- what is compiled, and how often ------------------------------------------------------------------------


def test_sizes_share_what_is_compiled(on_cpu):
    program = on_cpu(blur())
    for shape in [(16, 64), (33, 64), (100, 8)]:
        program(photo(*shape))
    assert len(program._compiled) == 1  # the one that was compiled ahead
    program(photo(16, 63))
    assert len(program._compiled) == 2  # rows that are not aligned
    assert len(program._prepared) == 4


def test_inspection(on_cpu):
    program = on_cpu(blur(), verify=True)
    assert program.passes[0] == "input"
    assert "lower-groups" in program.passes
    assert "img.group" not in program.ir("input")
    assert "img.group" in program.ir("tile")
    assert "func.func @blur_blur_y" in program.ir()
    with pytest.raises(ValueError, match="no pass 'tiles' ran; the passes were input, "):
        program.ir("tiles")
    assert "#pragma omp parallel for" in program.source()
    assert program.kernels[0].grid is None
    assert "not timed yet" in program.report()
    a = photo(64, 64)
    assert program.time(a, repeat=2) > 0
    [kernel] = program.kernels
    assert kernel.stages == ("blur_x", "blur_y")
    assert kernel.grid is not None
    assert kernel.name in program.report()
    assert "not timed yet" not in program.report()


def test_the_report_says_how_far_sums_of_floats_are_from_exact():
    x, n, image = hl.Var("x"), hl.Param(hl.Int(32), "n"), hl.ImageParam(hl.Float(32), 2, "p")
    every, product, count = hl.Func("every"), hl.Func("product"), hl.Func("count")
    r, q = hl.RDom([(0, image.width()), (0, n)]), hl.RDom([(0, 70)])
    every[()] = hl.f32(0)
    every[()] += image[r.x, r.y]
    product[x] = hl.f64(1)
    product[x] *= hl.f64(image[q.x, x])
    count[()] = hl.i32(0)
    count[()] += hl.i32(image[r.x, r.y])
    pipeline = hl.Pipeline([every, product, count])
    program = pipeline.compile("cpu")
    of_sum = (
        "every_update: sums of f32 in another order than the domain's (run_to_run), "
        "within n * 2^-24 * (|t1| + ... + |tn| + |old|), n = "
    )
    assert of_sum + "p.extent(0) * n\n" in program.report()
    assert "within n * 2^-53 * |product|, n = 70" in program.report()
    assert "count_update: " not in program.report()
    program(np.ones((9, 70), np.float32), n=3, sizes={"product": (9,)})
    assert of_sum + "70 * n\n" in program.report()
    in_order = pipeline.compile("cpu", determinism="gpu_to_gpu").report()
    assert "every_update: sums of f32 in the order of the domain, within" in in_order


def test_the_reference_has_no_kernels(parse):
    program = compile_pipeline(parse(blur()), "reference")
    assert program.kernels == []
    assert "0 kernels" in program.report()
    with pytest.raises(CallError, match="there are no kernels"):
        program.source()


def test_the_reference_runs_no_passes(parse):
    program = compile_pipeline(parse(blur()), "reference")
    assert program.passes == ["input"]
    assert program.ir() == program.ir("input")
    assert 'img.stage "blur_y"' in program.ir()
    with pytest.raises(ValueError, match="no pass 'tile' ran; the passes were input"):
        program.ir("tile")


def test_the_module_is_left_as_it_is(parse):
    module = parse(AS_IT_IS)
    before = str(module)
    compile_pipeline(module, "cpu")(photo(4, 4))
    assert str(module) == before


def test_a_pipeline_without_inputs(compiled):
    text = """
img.pipeline @ramp {
  %ramp = img.stage "ramp" (%x, %y) -> si32 {
    %a = arith.index_cast %x : index to i32
    %b = arith.index_cast %y : index to i32
    %r = arith.addi %a, %b : i32
    img.yield %r : i32
  }
  img.return "ramp" = %ramp : !img.func<2xsi32>
}
"""
    result = compiled(text)(sizes=(5, 3), mins={"ramp": (-1, 10)})
    np.testing.assert_array_equal(result, np.add.outer(np.arange(10, 13), np.arange(-1, 4)))


def test_many_threads_share_a_program(on_cpu):
    from concurrent.futures import ThreadPoolExecutor

    program = on_cpu(CHAIN, algorithm="none")
    photos = [photo(30, 40) for _ in range(16)]
    with ThreadPoolExecutor(4) as pool:
        for a, result in zip(photos, pool.map(program, photos), strict=True):
            np.testing.assert_allclose(result, chained(a), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "f2", "f8", "bool"])
def test_every_dtype_is_carried(compiled, dtype):
    elements = {"u1": "ui8", "i2": "si16", "u4": "ui32", "i8": "si64", "f2": "f16", "f8": "f64", "bool": "i1"}
    text = AS_IT_IS.replace("f32", elements[dtype])
    a = photo(7, 9).astype(dtype)
    for result in compiled(text)(a):
        assert result.dtype == a.dtype
        np.testing.assert_array_equal(result, a)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_any_rank(compiled, rank):
    a = photo(*(5, 4, 3, 6)[:rank], dtype=np.uint8)
    result = compiled(invert(rank=rank))(a)
    assert result.shape == a.shape
    np.testing.assert_array_equal(result, 255 - a)
