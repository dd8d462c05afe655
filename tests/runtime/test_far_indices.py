"""Indices whose arithmetic leaves 32 bits: kernels then compute indices in 64, on the CPU as in CUDA."""

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.runtime.errors import CallError
from tilefuse.runtime.program import compile_pipeline

x, y = hl.vars("x y")
IMAGE = hl.ImageParam(hl.UInt(8), 2, name="image")
TABLE = hl.ImageParam(hl.UInt(8), 1, name="table")
PICTURE = np.random.default_rng(1).integers(0, 256, (30, 400), dtype=np.uint8)

AROUND = {
    "repeat_edge": hl.BoundaryConditions.repeat_edge,
    "repeat_image": hl.BoundaryConditions.repeat_image,
    "mirror_image": hl.BoundaryConditions.mirror_image,
    "mirror_interior": hl.BoundaryConditions.mirror_interior,
}
FAR = {
    "far to the right": lambda f: f[x + 2147483300, y],
    "far to the left": lambda f: f[x - 2147483600, y * 5],
    "far apart": lambda f: f[x * 16777216, y],
}


def looked_up(index):
    func = hl.Func("looked_up")
    func[x, y] = IMAGE[x, y] ^ TABLE[index]
    return hl.Pipeline(func)


@pytest.mark.parametrize(
    ("factor", "other", "modulus", "width"), [(1103515245, 12345, 251, 64), (40503, 0, 257, 70000)]
)
def test_a_table_read_at_a_remainder(factor, other, modulus, width):
    at = np.arange(width) * factor + np.arange(2)[:, None] * other
    table = np.arange(modulus).astype(np.uint8)
    program = looked_up((x * factor + y * other) % modulus).compile(target="cpu")
    np.testing.assert_array_equal(program(np.zeros((2, width), np.uint8), table), table[at % modulus])


@pytest.mark.parametrize("where", FAR)
@pytest.mark.parametrize("boundary", AROUND)
def test_boundaries_hold_at_any_distance(boundary, where):
    func = hl.Func("far")
    func[x, y] = FAR[where](AROUND[boundary](IMAGE))
    module = hl.Pipeline(func).to_module()
    got, want = (compile_pipeline(module, t)(PICTURE, sizes=(400, 30)) for t in ("cpu", "reference"))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("factor", "bits"), [(3, 32), (2047, 32), (40503, 64)])
def test_only_such_indices_take_64_bits(factor, bits):
    program = looked_up((x * factor) % 251).compile(target="cpu")
    program(np.zeros((2, 70000), np.uint8), np.arange(251, dtype=np.uint8))
    assert ("typedef int idx" in program.source()) == (bits == 32)


CLAMPED = """
img.pipeline @clamped {
  %%table = img.input "table" : !img.func<1xui8>
  %%at = img.input "at" : !img.func<1xsi64>
  %%r = img.stage "r" (%%x) -> ui8 {
    %%v = img.read %%at[%%x] : !img.func<1xsi64>
    %%n = arith.index_cast %%v : i64 to index
    %%most = arith.constant %d : index
    %%zero = arith.constant 0 : index
    %%last = arith.constant 7 : index
    %%a = arith.minsi %%n, %%most : index
    %%b = arith.maxsi %%a, %%zero : index
    %%c = arith.minsi %%b, %%last : index
    %%q = img.read %%table[%%c] : !img.func<1xui8>
    img.yield %%q : i8
  }
  img.return "r" = %%r : !img.func<1xui8>
}
"""
AT = np.array([3, 2**31, 2**32, 2**32 + 2, 2**62, -1, -(2**63), 2**63 - 1])


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("most", [2, 2147483648, 4294967290, 4294967299, 2**63 - 1, -(2**63)])
def test_indices_clamped_to_constants_beyond_32_bits(most, target):
    found = hl.compile(CLAMPED % most, target=target)(np.arange(8, dtype=np.uint8), AT)
    np.testing.assert_array_equal(found, [min(max(min(int(v), most), 0), 7) for v in AT])


CLAMPED_COORDINATE = """
img.pipeline @clamped {
  %%table = img.input "table" : !img.func<1xui8>
  %%r = img.stage "r" (%%x) -> ui8 {
    %%least = arith.constant %d : index
    %%most = arith.constant %d : index
    %%a = arith.maxsi %%x, %%least : index
    %%b = arith.minsi %%a, %%most : index
    %%q = img.read %%table[%%b] : !img.func<1xui8>
    img.yield %%q : i8
  }
  img.return "r" = %%r : !img.func<1xui8>
}
"""


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize(("least", "most"), [(0, 2**63 - 1), (-(2**62), 2**62), (-(2**63), 2**63 - 1), (-(2**63), 3)])
def test_coordinates_clamped_to_intervals_that_no_boundary_has(least, most, target):
    found = hl.compile(CLAMPED_COORDINATE % (least, most), target=target)(np.arange(8, dtype=np.uint8), sizes=(6,))
    np.testing.assert_array_equal(found, np.clip(np.arange(6), 0, most))


@pytest.mark.parametrize("most", [2**63, -(2**63) - 1, 10**40])
def test_index_constants_beyond_64_bits(most):
    with pytest.raises(PipelineError, match=f":8:5: error: {most} does not fit the 64 bits"):
        hl.compile(CLAMPED % most, target="reference")


def bounded(low, extent):
    source, func = hl.Func("source"), hl.Func("func")
    source[x] = hl.cast(hl.UInt(8), x)
    func[x] = hl.BoundaryConditions.repeat_edge(source, [(low, extent)])[x - 2]
    return hl.Pipeline(func)


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("by_param", [False, True])
@pytest.mark.parametrize("box", [(0, 2**32 - 6), (-(2**31), 2**33), (2**40 + 5, 7), (-(2**40), 2**40 + 2)])
def test_bounds_of_boundaries_beyond_32_bits(box, by_param, target):
    low, extent = box
    params = {"low": low, "extent": extent} if by_param else {}
    given = [hl.Param(hl.Int(64), name=name) for name in params] or box
    found = bounded(*given).compile(target=target)(**params, sizes=(5,))
    np.testing.assert_array_equal(found, [min(max(i - 2, low), low + extent - 1) & 255 for i in range(5)])


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_bounds_of_boundaries_that_64_bits_do_not_hold(target):
    with pytest.raises(CallError, match=r"indices of its reads, or the boxes of boundaries .* beyond 62 bits"):
        bounded(0, 2**62).compile(target=target)(sizes=(5,))


def test_bounds_that_are_unsigned_64_bit_numbers():
    with pytest.raises(PipelineError, match="is uint64; cast it to int64"):
        bounded(0, hl.Param(hl.UInt(64), name="n"))


WRITTEN = {
    "sum": (lambda x: x + 2**32, lambda i: i + 2**32),
    "difference": (lambda x: 2**33 - x, lambda i: 2**33 - i),
    "far to the left": (lambda x: x - 2**60, lambda i: i - 2**60),
    "factor": (lambda x: x * 2**35 + 5, lambda i: i * 2**35 + 5),
    "remainder": (lambda x: (x * 2**35) % (2**36 + 1), lambda i: (i * 2**35) % (2**36 + 1)),
    "quotient": (lambda x: (x + 2**40) / 2**39, lambda i: (i + 2**40) // 2**39),
    "clamp": (lambda x: hl.clamp(x + 2**40, 2**40 + 3, 2**40 + 9), lambda i: 2**40 + min(max(i, 3), 9)),
    "unsigned": (lambda _: hl.u32(3000000000), lambda _: 3000000000),
    "64-bit data": (lambda x: hl.i64(TABLE[x]) + 2**32, lambda i: i + 2**32),
}


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("index", WRITTEN)
def test_indices_beyond_32_bits_in_python(index, target):
    written, model = WRITTEN[index]
    func = hl.Func("func")
    func[x] = hl.BoundaryConditions.repeat_image(TABLE)[written(x)]
    found = hl.Pipeline(func).compile(target=target)(np.arange(37, dtype=np.uint8), sizes=(37,))
    np.testing.assert_array_equal(found, [model(i) % 37 for i in range(37)])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (lambda: x + 2**63, "9223372036854775808 is too large for a 64-bit integer"),
        (lambda: x * 2**40 * 2**40, f"{2**80} in an index does not fit the 64 bits of an index"),
        (lambda: x + 2**62 + 2**62, f"{2**63} in an index does not fit the 64 bits of an index"),
        (lambda: hl.u64(2**63), f"the index {2**63} is uint64; cast it to int64"),
    ],
)
def test_indices_beyond_64_bits_in_python(index, message):
    def compiled():
        func = hl.Func("func")
        func[x] = hl.BoundaryConditions.repeat_image(TABLE)[index()]
        return hl.Pipeline(func).compile(target="reference")

    with pytest.raises(PipelineError, match=rf"^[^\n]*test_far_indices.py:\d+:\d+: error: [^\n]*{message}$"):
        compiled()


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_factors_that_are_beyond_64_bits_when_two_stages_are_one(target):
    source, func = hl.Func("source"), hl.Func("func")
    source[x] = hl.BoundaryConditions.repeat_image(TABLE)[x * 2**40 + 5]
    func[x] = source[x * 2**40]
    program = hl.Pipeline(func).compile(target=target)
    np.testing.assert_array_equal(program(np.arange(37, dtype=np.uint8), sizes=(1,)), [5])
    with pytest.raises(CallError, match="beyond 62 bits"):
        program(np.arange(37, dtype=np.uint8), sizes=(2,))
