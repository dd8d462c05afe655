"""The three promises about the order of sums of floats, each by what docs/semantics.md says of it."""

import shutil
from fractions import Fraction

import numpy as np
import pytest
from emulated_cuda import emulated

import tilefuse as hl
from tilefuse.passes.pipeline import DETERMINISM, standard_passes

x, y = hl.vars("x y")
HEIGHT, WIDTH, BINS = 24, 200, 8


def image():
    return hl.ImageParam(hl.Float(32), 2, "image")


def whole():
    """A sum of all points."""
    p, f = image(), hl.Func("f")
    r = hl.RDom(p)
    f[()] = hl.f32(0)
    f[()] += p[r.x, r.y]
    return f


def scatter():
    """Sums of points by their value."""
    p, f = image(), hl.Func("f")
    r = hl.RDom(p)
    f[x] = hl.f32(0)
    f[hl.clamp(hl.i32(hl.abs(p[r.x, r.y])), 0, BINS - 1)] += p[r.x, r.y]
    return f


def running():
    """Sums of all points of a row up to each."""
    p, f = image(), hl.Func("f")
    r = hl.RDom([(1, p.width() - 1)])
    f[x, y] = p[x, y]
    f[r.x, y] += f[r.x - 1, y]
    return f


SIZES = {whole: (), scatter: (BINS,), running: (WIDTH, HEIGHT)}


def picture():
    """Numbers of both signs and of many magnitudes: sums of them in two orders differ."""
    rng = np.random.default_rng(7)
    numbers = rng.standard_normal((HEIGHT, WIDTH)) * 10.0 ** rng.integers(-3, 5, (HEIGHT, WIDTH))
    return numbers.astype(np.float32)


def found(make, target, **options):
    """The result of a new program, called twice with the same bits."""
    if target == "emulated":
        with emulated():
            passes = standard_passes("h200", determinism=options.pop("determinism", "run_to_run"))
            return found(make, "cpu", passes=passes, **options)
    program, given = hl.Pipeline(make()).compile(target, **options), picture()
    first, second = (np.asarray(program(given, sizes=SIZES[make])) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    return first


TARGETS = ["cpu", pytest.param("emulated", marks=pytest.mark.skipif(not shutil.which("g++"), reason="needs g++"))]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("make", SIZES)
def test_run_to_run(make, target):
    """Another program, on another day, gives the same bits."""
    np.testing.assert_array_equal(found(make, target), found(make, target, determinism="run_to_run"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("make", SIZES)
def test_gpu_to_gpu(make, target):
    """The order of the domain: with `strict_float` the bits of the evaluator, which goes point by point."""
    expected = found(make, "reference")
    np.testing.assert_array_equal(found(make, target, determinism="gpu_to_gpu", strict_float=True), expected)


def exact(make):
    """Sums without rounding, with those of magnitudes and the number of terms."""
    given = picture()
    if make is running:
        yield from (((j, i), given[j, : i + 1]) for j in range(0, HEIGHT, 5) for i in range(0, WIDTH, 9))
        return
    bins = np.minimum(np.abs(given).astype(int), BINS - 1)
    for n in range(BINS) if make is scatter else [None]:
        yield ((), given.ravel()) if n is None else ((n,), given[bins == n])


@pytest.mark.parametrize("determinism", DETERMINISM)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("make", SIZES)
def test_within_the_bound(make, target, determinism):
    """Whatever is promised: `n * 2^-24 * (|t1| + ... + |tn|)` from the exact sum, and that is small."""
    sums = found(make, target, determinism=determinism)
    for place, terms in exact(make):
        total = sum((Fraction(float(t)) for t in terms), Fraction(0))
        magnitude = float(sum(abs(Fraction(float(t))) for t in terms))
        assert abs(Fraction(float(sums[place])) - total) <= len(terms) * 2.0**-24 * magnitude


@pytest.mark.parametrize("determinism", DETERMINISM)
def test_the_report_names_the_promise(determinism):
    report = hl.Pipeline(whole()).compile("cpu", determinism=determinism).report()
    order = "in the order of the domain" if determinism == "gpu_to_gpu" else f"the domain's ({determinism})"
    assert order in report
    assert "within n * 2^-24 * (|t1| + ... + |tn| + |old|), n = image.extent(0) * image.extent(1)" in report


def atomics(func, determinism):
    """The atomic operations of a program's kernels."""
    program = hl.Pipeline(func).compile("h200", determinism=determinism, extent=(4096, 4096))
    return [line for line in program.ir().splitlines() if "memref.atomic_rmw" in line]


@pytest.mark.parametrize("determinism", ["run_to_run", "gpu_to_gpu"])
def test_no_scatter_of_floats_adds_by_atomics(determinism):
    """Their order would be that in which threads come; those of integers, of any order, do."""
    p, counts = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("counts")
    r = hl.RDom(p)
    counts[x] = hl.u32(0)
    counts[p[r.x, r.y]] += hl.u32(1)
    assert any("%table" in line for line in atomics(counts, determinism))
    assert not [line for line in atomics(scatter(), determinism) if "%tickets" not in line]


def test_no_other_promise():
    with pytest.raises(ValueError, match="determinism"):
        hl.Pipeline(whole()).compile("cpu", determinism="always")
