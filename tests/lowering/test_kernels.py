"""Hand-written kernels: accepted by mlir-opt, compiled by NVRTC without spills, run as C against NumPy."""

import numpy as np
import pytest

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("name", ["blur", "sharpen_u8", "rows", "choose", "vectors", "phases"])
def test_every_kernel_is_mlir_and_compiles_for_the_gpu_without_spills(kernels, name):
    module = kernels(name)
    module.check_with_mlir_opt()
    for reports in (module.cuda(), module.cuda(index_bits=64)):
        for report in reports.values():
            assert set(report.stack_bytes.values()) == {0}


@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (8, 32), (41, 97)])
@pytest.mark.parametrize("index_bits", [32, 64])
def test_blur_with_a_shared_tile(kernels, shape, index_bits):
    big = RNG.random((shape[0], shape[1] + 5), dtype=np.float32)
    photo, out = big[:, : shape[1]], np.zeros(shape, np.float32)
    kernels("blur").c(index_bits=index_bits)("blur", photo, out)
    p = np.pad(photo, 1, mode="edge")
    three = np.float32(3)
    bx = ((p[:, :-2] + p[:, 1:-1]) + p[:, 2:]) / three
    expected = ((bx[:-2] + bx[1:-1]) + bx[2:]) / three
    np.testing.assert_array_equal(out, expected)


def test_blur_uses_the_shared_memory_that_its_arrays_have(kernels):
    for report in kernels("blur").cuda().values():
        assert report.shared_bytes == {"blur_fn": 4 * (10 * 34 + 10 * 33)}


def test_saturating_arithmetic_on_bytes(kernels):
    image = RNG.integers(0, 256, (13, 200), dtype=np.uint8)
    out, bright = np.zeros_like(image), np.zeros_like(image)
    run = kernels("sharpen_u8").c()
    left = np.concatenate([image[:, :1], image[:, :-1]], axis=1).astype(int)
    expected = np.clip(2 * image.astype(int) - left, 0, 255)
    for gain in (0.7, 3.1, -1.0, float("nan"), float("inf")):
        run("sharpen", image, out, bright, gain)
        np.testing.assert_array_equal(out, expected)
        with np.errstate(invalid="ignore"):
            scaled = image.astype(np.float32) * np.float32(gain)
        np.testing.assert_array_equal(bright, np.clip(np.nan_to_num(scaled, nan=0.0), 0, 255).astype(np.uint8))


def test_carried_values_are_assigned_at_once(kernels):
    rows = RNG.random((40, 77), dtype=np.float32)
    total, where, fib = np.zeros(40, np.float32), np.zeros(40, np.int32), np.zeros(40, np.int32)
    kernels("rows").c()("rows", rows, total, where, fib)
    np.testing.assert_array_equal(total, np.add.accumulate(rows, axis=1, dtype=np.float32)[:, -1])
    np.testing.assert_array_equal(where, rows.argmax(axis=1))
    a, b, expected = 0, 1, []
    for _ in range(40):
        expected.append(a)
        a, b = b, a + b
    np.testing.assert_array_equal(fib, expected)


def test_if_with_results(kernels):
    v = np.concatenate([RNG.normal(0, 2, 300).astype(np.float32), np.float32([0, 1, -0.0, np.nan])])
    out, low = np.zeros_like(v), np.zeros(v.shape, np.int32)
    kernels("choose").c()("choose", v, out, low)
    with np.errstate(invalid="ignore"):
        expected = np.where(v > 0, np.where(v > 1, np.sqrt(v), v), v * np.float32(-0.5))
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(low, ~(v > 0))


def test_vectors_and_views(kernels):
    image = RNG.random((3, 128), dtype=np.float32)
    out = np.zeros_like(image)
    raw, inverted = RNG.integers(0, 256, 512, dtype=np.uint8), np.zeros(512, np.uint8)
    kernels("vectors").c()("vectors", image, out, raw, inverted)
    four = image.reshape(3, 32, 4)
    expected = (four * np.float32(2) + (four[..., :1] + four[..., 3:]))[..., ::-1].reshape(3, 128)
    np.testing.assert_array_equal(out, expected)
    sixteen = raw.reshape(32, 16)
    np.testing.assert_array_equal(inverted, np.repeat(255 - sixteen[:, 0] + sixteen[:, 15], 16))


def test_loads_stay_before_the_stores_that_follow_them(kernels):
    x = RNG.random(64, dtype=np.float32)
    changed, summed = x.copy(), np.zeros_like(x)
    kernels("phases").c()("phases", changed, summed)
    mirrored = (x + np.arange(64, dtype=np.float32))[::-1]
    np.testing.assert_array_equal(changed, mirrored)
    np.testing.assert_array_equal(summed, x + mirrored)
