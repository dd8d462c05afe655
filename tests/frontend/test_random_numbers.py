"""Random numbers: functions of seed and coordinates, the same on every back end, in every schedule; spread evenly."""

import beside_halide
import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError

X, Y = hl.Var("x"), hl.Var("y")


def mix(h):
    for by, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        h = (h ^ h >> by) * factor % 2**32
    return h ^ h >> 16


def number(seed, *coordinates):
    """The definition in docs/semantics.md."""
    h = mix(1)
    for key in (seed, *coordinates):
        h = mix((h + key) % 2**32)
    return h


def noise(make):
    f = hl.Func("noise")
    f[X, Y] = make()
    return f


@pytest.mark.parametrize("target", ["reference", "cpu", "cuda"])
def test_it_is_what_is_documented(target, monkeypatch, tmp_path):
    f = noise(lambda: hl.random_uint(7))
    expected = np.array([[number(7, x, y) for x in range(-3, 7)] for y in range(5)], np.uint32)
    program = hl.Pipeline(f).compile(target="cpu" if target == "cuda" else target)
    if target == "cuda":
        emulate(monkeypatch, tmp_path)
        program = hl.Pipeline(f).compile(target="cpu")
    np.testing.assert_array_equal(program(sizes=(10, 5), mins={"noise": (-3, 0)}), expected)


def test_kinds(monkeypatch, tmp_path):
    seeds = [np.arange(64, dtype=np.int32) - 9]

    def kinds(hl, seed):
        return [hl.random_uint(seed), hl.random_int(seed), hl.random_float(seed), hl.random_float(3)]

    names = ["uint", "int", "float", "constant seed"]
    whole, signed, fraction, _ = beside_halide.by_us(seeds, kinds, "reference")
    np.testing.assert_array_equal(whole, [number(int(s), x) for x, s in enumerate(seeds[0])])
    np.testing.assert_array_equal(signed, whole.view(np.int32))
    np.testing.assert_array_equal(fraction, ((whole >> 8) / 2.0**24).astype(np.float32))
    beside_halide.assert_back_ends_agree(seeds, kinds, names, "kinds", monkeypatch, tmp_path)


def test_calls_without_a_seed_differ_and_one_call_is_one_number():
    once = hl.random_float()
    same = np.asarray(noise(lambda: once - once).realize([16, 16], target="reference"))
    other = np.asarray(noise(lambda: once - hl.random_float()).realize([16, 16], target="reference"))
    assert not same.any()
    assert np.count_nonzero(other) > 250
    with_seed_zero = np.asarray(
        noise(lambda: hl.random_float(0) - hl.random_float(0)).realize([8, 8], target="reference")
    )
    assert not with_seed_zero.any()


def test_a_stage_that_is_computed_again_gives_the_same_numbers():
    f, g = noise(lambda: hl.random_int(5)), hl.Func("g")
    g[X, Y] = f[X - 1, Y] ^ f[X + 1, Y + 2]
    expected = hl.Pipeline(g).compile(target="reference")(sizes=(70, 40))
    np.testing.assert_array_equal(hl.Pipeline(g).compile(target="cpu")(sizes=(70, 40)), expected)


def test_points_of_a_reduction_differ():
    r = hl.RDom([(0, 400)])
    f = hl.Func("f")
    f[X] = hl.sum(r, hl.select(X < 1000, hl.random_float(1), 0.0))
    sums = np.asarray(f.realize([50], target="reference"))
    # 200, and less than five standard deviations of the sum away
    assert np.all(np.abs(sums - 200) < 5 * np.sqrt(400 / 12))
    assert len(set(sums.tolist())) > 45


def test_a_reduction_without_vars_is_one_number():
    """As in Halide: a reduction is a Func of its own, of the Vars that stand in it."""
    f = hl.Func("f")
    f[X] = hl.sum(hl.RDom([(0, 4)]), hl.random_float(1))
    assert len(set(np.asarray(f.realize([50], target="reference")).tolist())) == 1


def test_a_param_as_seed():
    seed = hl.Param(hl.UInt(32), "seed", 3)
    program = hl.Pipeline(noise(lambda: hl.random_uint(seed))).compile(target="cpu")
    assert program(sizes=(1, 1))[0, 0] == number(3, 0, 0)
    assert program(sizes=(1, 1), seed=4_000_000_000)[0, 0] == number(4_000_000_000, 0, 0)


def test_bits_are_even_and_independent_of_their_neighbours():
    numbers = np.asarray(noise(lambda: hl.random_uint(11)).realize([512, 512], target="reference"))
    bits = np.unpackbits(numbers.view(np.uint8)).reshape(512, 512, 32).astype(float) - 0.5
    n = 512 * 512
    # each mean of n coins of +-1/2 within five standard deviations
    assert np.abs(bits.mean(axis=(0, 1))).max() < 5 * 0.5 / np.sqrt(n)
    for shifted in (bits[:, 1:] * bits[:, :-1], bits[1:] * bits[:-1], bits[..., 1:] * bits[..., :-1]):
        assert np.abs(shifted.mean()) < 5 * 0.25 / np.sqrt(shifted.size)


def test_errors():
    with pytest.raises(PipelineError, match=r"the seed of a random number is an int32 or uint32, not float32: 1.5; c"):
        hl.random_float(1.5)
    image = hl.ImageParam(hl.Float(32), 2, "image")
    with pytest.raises(PipelineError, match=r"come before pixels; they have no random numbers"):
        hl.BoundaryConditions.constant_exterior(image, hl.random_float(1))
