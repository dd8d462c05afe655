"""`separate-kernels`: which kernels are products, and that sums keep their value: integers bit for bit."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tilefuse as hl
from tilefuse.analysis.linear import factors
from tilefuse.dialects.img.ops import PipelineOp, StageOp
from tilefuse.dialects.verification import verify
from tilefuse.passes.pipeline import new_context, run_passes, standard_passes
from tilefuse.passes.separate_kernels import SeparateKernels
from tilefuse.runtime.program import compile_pipeline

x, y = hl.Var("x"), hl.Var("y")

WEIGHTS = st.lists(st.integers(-40, 300), min_size=1, max_size=5)
INTEGERS = st.sampled_from([hl.UInt(8), hl.Int(8), hl.UInt(16), hl.Int(16), hl.UInt(32), hl.Int(32), hl.Int(64)])


def stages(module):
    (pipeline,) = [op for op in module.body.block.ops if isinstance(op, PipelineOp)]
    return [op.sym_name.data for op in pipeline.body.block.ops if isinstance(op, StageOp)]


def separated(pipeline, **options):
    """The module before and after."""
    module = pipeline.to_module()
    after = run_passes(module, [SeparateKernels(**options)])
    verify(after)
    return module, after


def evaluated(module, *arrays):
    return compile_pipeline(module, "reference")(*arrays)


def weighted(image, weights_x, weights_y, wide=None, scale=1, wrap=None):
    """The sum over a rectangle, as a user writes it: one term per point, zeros and all."""
    total = None
    for j, b in enumerate(weights_y):
        for i, a in enumerate(weights_x):
            read = image[scale * x + i, y + j]
            term = (hl.cast(wide, read) if wide else read) * (wrap(a * b) if wrap else a * b)
            total = term if total is None else total + term
    return total


def picture(type, seed, shape=(13, 17)):
    random = np.random.default_rng(seed)
    if type.is_float():
        return random.standard_normal(shape).astype(np.float32)
    dtype = np.dtype(f"{'u' if type.is_uint() else 'i'}{type.bytes()}")
    return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@settings(max_examples=40, deadline=None)
@given(INTEGERS, WEIGHTS, WEIGHTS, st.sampled_from([1, 2]), st.integers(0, 99))
@example(hl.UInt(8), [1, 1], [0, 1, 1], 1, 0)
def test_integers_keep_every_bit(type, weights_x, weights_y, scale, seed):
    image, f = hl.ImageParam(type, 2, "image"), hl.Func("f")
    low = 0 if type.is_uint() else -(2 ** (type.bits() - 1))

    def wrap(weight):
        return (weight - low) % 2 ** type.bits() + low

    f[x, y] = hl.cast(type, weighted(image, weights_x, weights_y, scale=scale, wrap=wrap)) ^ hl.cast(type, x)
    module, after = separated(hl.Pipeline(f), min_saving=1)
    found, wanted = (  # what is multiplied by 0 is read no more, so that more points could be computed
        compile_pipeline(m, "reference")(picture(type, seed), sizes=(4, 5), mins={"f": (0, 0)}) for m in (after, module)
    )
    np.testing.assert_array_equal(found, wanted)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=5), st.lists(st.integers(1, 9), min_size=4, max_size=5))
def test_products_are_found_whatever_their_weights(weights_x, weights_y):
    image, f = hl.ImageParam(hl.UInt(32), 2, "image"), hl.Func("f")
    f[x, y] = weighted(image, weights_x, weights_y)
    _, after = separated(hl.Pipeline(f))
    assert stages(after) == ["image_along_y", "f"]
    sums = [str(op).count("img.read") for op in after.walk() if isinstance(op, StageOp)]
    assert sums == [len(weights_y), len(weights_x)]


@pytest.mark.parametrize("wide", [hl.Int(32), hl.UInt(32), hl.UInt(16)])
def test_what_is_widened_and_narrowed_again(wide):
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("f")
    binomial = [1, 4, 6, 4, 1]
    total = weighted(image, binomial, binomial, wide)
    f[x, y] = hl.cast(hl.UInt(8), (total + 128) >> 8) + hl.cast(hl.UInt(8), total)
    module, after = separated(hl.Pipeline(f))
    assert stages(after) == ["image_along_y", "f"]
    given_picture = picture(hl.UInt(8), 1)
    np.testing.assert_array_equal(evaluated(after, given_picture), evaluated(module, given_picture))


@pytest.mark.parametrize(
    ("source", "wide", "weights", "element"),
    [
        (hl.UInt(8), hl.UInt(32), [1, 4, 6, 4, 1], "ui16"),
        (hl.UInt(8), hl.Int(32), [1, 255, 1], "ui16"),
        (hl.UInt(8), hl.Int(32), [1, 256, 1], "ui32"),  # up to 65790
        (hl.UInt(8), hl.Int(32), [-1, 2, -1], "si16"),
        (hl.Int(8), hl.Int(32), [1, 254, 1], "si16"),  # down to -32768
        (hl.Int(8), hl.Int(64), [1, 255, 1], "ui64"),
        (hl.UInt(16), hl.UInt(32), [1, 1, 1], "ui32"),
    ],
)
@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_sums_of_bytes_are_stored_in_16_bits_if_they_fit(source, wide, weights, element, target):
    image, f = hl.ImageParam(source, 2, "image"), hl.Func("f")
    f[x, y] = weighted(hl.BoundaryConditions.repeat_edge(image), [3, 1, 2], weights, wide)
    module, after = separated(hl.Pipeline(f))
    (stage,) = [op for op in after.walk() if isinstance(op, StageOp) and op.sym_name.data == "image_along_y"]
    assert str(stage.funcs[0].type.element) == element
    # ends of the source's range beside one another, where sums are least and largest
    ends = [np.iinfo(f"{'u' if source.is_uint() else 'i'}{source.bytes()}").min, 0, -1]
    p = np.tile(np.array(ends).astype(picture(source, 0).dtype), (9, 4))
    p[3:] = np.iinfo(p.dtype).max
    p[6:] = ends[0]
    found = compile_pipeline(after, target)(p)
    np.testing.assert_array_equal(found, evaluated(module, p))


def in_rows(type, weights_x, weights_y, wide=None, also=None):
    """Sums along x, then of these along y; `also`: what else is read of them, and how it comes in."""
    image = hl.BoundaryConditions.repeat_edge(hl.ImageParam(type, 2, "image"))
    rows, out = hl.Func("rows"), hl.Func("out")
    rows[x, y] = sum(image[x + i, y] * hl.cast(type, a) for i, a in enumerate(weights_x))
    element = (lambda e: hl.cast(wide, e)) if wide else (lambda e: e)
    total = sum(element(rows[x, y + j]) * hl.cast(wide or type, b) for j, b in enumerate(weights_y))
    out[x, y] = also(total, element(rows[x + 1, y])) if also else total
    return hl.Pipeline(out)


@settings(max_examples=40, deadline=None)
@given(INTEGERS, WEIGHTS, WEIGHTS, st.integers(0, 99))
@example(hl.UInt(8), [1, 1, 1, 1], [0, 1, 1], 0)
def test_sums_change_places(type, weights_x, weights_y, seed):
    module, after = separated(in_rows(type, weights_x, weights_y))
    image = picture(type, seed)
    np.testing.assert_array_equal(evaluated(after, image), evaluated(module, image))
    # zeros are no terms
    terms = [sum(w % (1 << type.bits()) != 0 for w in weights) for weights in (weights_x, weights_y)]
    saves = (terms[0] - 1) * (terms[1] - 1) >= 3
    assert (stages(after) == ["image_along_y", "out"]) == (saves and type.bits() < 32)


def test_sums_stay_where_to_change_places_would_change_them():
    bytes, box = hl.UInt(8), [1, 1, 1]
    for pipeline in (
        in_rows(bytes, box, box, also=lambda total, more: total + more),  # rows are read for themselves, too
        in_rows(bytes, box, box, also=hl.max),
        in_rows(bytes, box, box, wide=hl.UInt(16)),  # rows wrap around in 8 bits, their sum in 16
        in_rows(bytes, [1, 1], [1, 1]),  # saves too little
        in_rows(hl.Float(32), box, box),
    ):
        _, after = separated(pipeline)
        assert stages(after) == ["rows", "out"]
    for word in (hl.Float(32), hl.Int(32)):  # it would gain nothing
        _, after = separated(in_rows(word, box, box), float=True)
        assert stages(after) == ["rows", "out"]


def test_what_is_no_product_stays():
    image, f = hl.ImageParam(hl.UInt(16), 2, "image"), hl.Func("f")
    laplacian = {(i, j): 1 for i in range(3) for j in range(3)} | {(1, 1): 7}
    f[x, y] = sum(image[x + i, y + j] * w for (i, j), w in laplacian.items())
    module, after = separated(hl.Pipeline(f), min_saving=1)
    assert str(after) == str(module)


def test_floats_stay_unless_asked():
    image, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("f")
    f[x, y] = weighted(image, [0.25, 0.5, 0.25], [0.25, 0.5, 0.25])
    module, after = separated(hl.Pipeline(f))
    assert str(after) == str(module)
    _, after = separated(hl.Pipeline(f), float=True)
    assert stages(after) == ["image_along_y", "f"]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.floats(-2, 2, width=32).filter(lambda w: abs(w) > 0.01), min_size=3, max_size=5),
    st.lists(st.floats(-2, 2, width=32).filter(lambda w: abs(w) > 0.01), min_size=3, max_size=5),
    st.integers(0, 99),
)
def test_floats_stay_within_their_rounding(weights_x, weights_y, seed):
    image, other, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.ImageParam(hl.Float(32), 2, "other"), hl.Func("f")
    f[x, y] = weighted(image, weights_x, weights_y) / 3 - other[x, y]
    module, after = separated(hl.Pipeline(f), float=True)
    assert len(stages(after)) == 2
    p = picture(hl.Float(32), seed)
    found, wanted = evaluated(after, p, p), evaluated(module, p, p)
    # each of up to 26 terms is rounded a few times on its way, and weights were rounded to f32
    largest = (sum(map(abs, weights_x)) * sum(map(abs, weights_y)) + 1) * np.abs(p).max()
    assert np.abs(found - wanted).max() <= 40 * np.finfo(np.float32).eps * largest


def test_equal_sums_share_a_stage():
    image, f, g = hl.ImageParam(hl.UInt(32), 2, "image"), hl.Func("f"), hl.Func("g")
    f[x, y] = weighted(image, [1, 2, 1], [1, 3, 1])
    g[x, y] = weighted(image, [5, 1, 1, 7], [2, 6, 2]) + f[x, y]
    module, after = separated(hl.Pipeline([f, g]))
    assert stages(after) == ["image_along_y", "f", "g"]
    p = picture(hl.UInt(32), 3)
    for found, wanted in zip(evaluated(after, p), evaluated(module, p), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_other_terms_and_a_shared_part_stay():
    image, other = hl.ImageParam(hl.Int(32), 2, "image"), hl.ImageParam(hl.Int(32), 2, "other")
    f = hl.Func("f")
    box = weighted(image, [1, 1, 1], [1, 1, 1])
    f[x, y] = 7 - box + other[y, x] * 3 + other[x, y] + hl.select(box > 0, box, 4) - (x << 2)
    module, after = separated(hl.Pipeline(f))
    assert stages(after) == ["image_along_y", "f"]
    arrays = [picture(hl.Int(32), seed, (15, 15)) for seed in (1, 2)]
    np.testing.assert_array_equal(evaluated(after, *arrays), evaluated(module, *arrays))


def test_a_stage_placed_by_hand_stays():
    image, f = hl.ImageParam(hl.UInt(16), 2, "image"), hl.Func("f")
    f[x, y] = weighted(image, [1, 2, 1], [1, 2, 1])
    grouped = run_passes(hl.Pipeline(f).to_module(), standard_passes("h200")[3:])
    assert str(run_passes(grouped, [SeparateKernels()])) == str(grouped)


@pytest.mark.parametrize(
    ("kernel", "along", "across"),
    [
        ({(0, 0): 2, (0, 1): 4, (1, 0): 3, (1, 1): 6}, {0: 1, 1: 2}, {(0, 0): 2, (1, 0): 3}),
        ({(0, 0): -2, (0, 1): 4, (1, 0): 3, (1, 1): -6}, {0: 1, 1: -2}, {(0, 0): -2, (1, 0): 3}),
        ({(0, -1): 0.25, (0, 1): 0.5}, {-1: 1.0, 1: 2.0}, {(0, 0): 0.25}),
        ({(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 2}, None, None),
        ({(0, 0): 1, (0, 1): 1, (1, 0): 1}, None, None),
    ],
)
def test_factors(kernel, along, across):
    found = factors(kernel, 1)
    assert (found and found.along, found and found.across) == (along, across)


# --- the option ------------------------------------------------------------------------------------------------------


def gaussian():
    image, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("f")
    f[x, y] = weighted(hl.BoundaryConditions.mirror_image(image), [0.1, 0.2, 0.4, 0.2, 0.1], [0.1, 0.2, 0.4, 0.2, 0.1])
    return hl.Pipeline(f)


def test_fast_math_separates_floats_and_stays_near():
    fast, exact = (gaussian().compile("cpu", fast_math=fast) for fast in (True, False))
    assert "along_y" in fast.ir("separate-kernels")
    assert "along_y" not in exact.ir("separate-kernels")
    p = picture(hl.Float(32), 4, (61, 53))
    np.testing.assert_allclose(fast(p), exact(p), rtol=0, atol=1e-5)


def test_fast_math_is_no_option_beside_strictness_or_passes_given():
    with pytest.raises(ValueError, match="strict_float=True forbids it"):
        gaussian().compile("cpu", fast_math=True, strict_float=True)
    with pytest.raises(ValueError, match=r"SeparateKernels\(float=True\)"):
        gaussian().compile("cpu", fast_math=True, passes=standard_passes("cpu"))


def test_chains_of_separable_stencils_take_fewer_kernels():
    """The 5 x 5 chain of the examples: two passes of 5 instead of 25 products let more stages share a kernel."""
    current = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.UInt(16), 2, "image"))
    for i in range(8):
        f = hl.Func(f"f{i}")
        f[x, y] = weighted(current, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
        current = f
    pipeline = hl.Pipeline(current)
    kinds = {}
    for name, passes in (("separated", standard_passes("h200")), ("as is", standard_passes("h200"))):
        kept = [p for p in passes if name == "separated" or not isinstance(p, SeparateKernels)]
        module = pipeline.to_module()
        for p in kept:
            p.apply(new_context(), module)
        kinds[name] = str(module).count("img.group")
    assert kinds["separated"] < kinds["as is"]


def test_parameters_are_terms_like_others():
    image, gain, f = hl.ImageParam(hl.UInt(32), 2, "image"), hl.Param(hl.UInt(32), "gain"), hl.Func("f")
    f[x, y] = weighted(image, [1, 1, 1], [1, 1, 1]) - gain + gain * 3
    module, after = separated(hl.Pipeline(f))
    assert stages(after) == ["image_along_y", "f"]
    p = picture(hl.UInt(32), 5)
    wanted = np.lib.stride_tricks.sliding_window_view(p, (3, 3)).sum((2, 3), np.uint32) + np.uint32(14)
    for m in (after, module):
        np.testing.assert_array_equal(compile_pipeline(m, "reference")(p, gain=7), wanted)
