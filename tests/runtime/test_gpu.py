"""Calling programs on a GPU: CuPy and torch arrays, streams, temporaries, refusals, the time of a call."""

import timeit

import numpy as np
import pytest
from runtime_pipelines import (
    AS_IT_IS,
    CHAIN,
    GRAY,
    SCALED,
    TWO_OUTPUTS,
    blur,
    blurred_edges,
    chained,
    invert,
)

from tilefuse.runtime.errors import CallError
from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(7)


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def on_gpu(parse):
    return lambda text, **options: compile_pipeline(parse(text), "cuda", **options)


def photo(*shape, dtype=np.float32):
    return (RNG.random(shape) * 255).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (131, 257), (512, 640), (1080, 1921)])
def test_any_size(cupy, on_gpu, shape):
    a = photo(*shape)
    result = on_gpu(blur())(cupy.asarray(a))
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_allclose(result.get(), blurred_edges(a), rtol=1e-5)


def test_strided_views(cupy, on_gpu):
    program = on_gpu(blur())
    a = cupy.asarray(photo(96, 90))
    for v in (a[::-1], a[:, ::-1], a[::2, ::3], a.T, a[3:, 5:], a[:, :1]):
        np.testing.assert_allclose(program(v).get(), blurred_edges(v.get()), rtol=1e-5)


def test_pictures(cupy, on_gpu):
    program = on_gpu(invert())
    for shape in [(40, 30, 3), (40, 30, 4), (3, 40, 30), (7, 9, 11)]:
        a = photo(*shape, dtype=np.uint8)
        np.testing.assert_array_equal(program(cupy.asarray(a)).get(), 255 - a)
    a = photo(20, 30, 3)
    np.testing.assert_allclose(on_gpu(GRAY)(cupy.asarray(a)).get(), a.sum(-1), rtol=1e-5)


def test_torch_tensors(torch, on_gpu):
    program = on_gpu(blur())
    a = photo(64, 100)
    tensor = torch.from_numpy(a).cuda()
    result = program(tensor)
    assert isinstance(result, torch.Tensor)
    assert result.device == tensor.device
    np.testing.assert_allclose(result.cpu().numpy(), blurred_edges(a), rtol=1e-5)
    out = torch.empty_like(tensor)
    assert program(tensor, out=out) is out
    assert torch.equal(out, result)
    with pytest.raises(CallError, match="input 'photo' requires grad"):
        program(tensor.clone().requires_grad_())
    with pytest.raises(CallError, match="input 'photo' is on the CPU"):
        program(tensor.cpu())


def test_torch_tensors_on_the_cpu(torch, parse):
    a = photo(64, 100)
    result = compile_pipeline(parse(blur()), "cpu")(torch.from_numpy(a))
    assert isinstance(result, torch.Tensor)
    np.testing.assert_allclose(result.numpy(), blurred_edges(a), rtol=1e-5)


def test_bfloat16(torch, on_gpu):
    tensor = torch.from_numpy(photo(9, 8)).cuda().to(torch.bfloat16)
    for result in on_gpu(AS_IT_IS.replace("f32", "bf16"))(tensor):
        assert result.dtype == torch.bfloat16
        assert torch.equal(result, tensor)


def test_arrays_on_the_wrong_side(cupy, on_gpu, parse):
    a = photo(8, 8)
    with pytest.raises(CallError, match=r"input 'photo' is on the CPU, .*cupy.asarray"):
        on_gpu(blur())(a)
    with pytest.raises(CallError, match=r"input 'photo' is on GPU 0, .*cupy.asnumpy"):
        compile_pipeline(parse(blur()), "cpu")(cupy.asarray(a))
    device = cupy.asarray(a)
    with pytest.raises(CallError, match="out= shares memory with input 'photo'"):
        on_gpu(blur())(device, out=device)
    np.testing.assert_array_equal(device.get(), a)


def test_streams_of_cupy(cupy, on_gpu):
    program = on_gpu(CHAIN, algorithm="none")
    a = photo(200, 300)
    device = cupy.asarray(a)
    program(device)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    given = program(device, stream=stream)
    with stream:
        current = program(device)
    stream.synchronize()
    for result in (given, current):
        np.testing.assert_allclose(result.get(), chained(a), rtol=1e-5, atol=1e-3)


def test_a_torch_stream_is_waited_for_only_by_its_own_work(torch, on_gpu):
    program = on_gpu(CHAIN, algorithm="none")
    a = photo(200, 300)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        tensor = torch.from_numpy(a).cuda()
        result = program(tensor)
        doubled = result * 2
    explicit = program(tensor, stream=stream)
    stream.synchronize()
    np.testing.assert_allclose(doubled.cpu().numpy(), 2 * chained(a), rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(explicit.cpu().numpy(), chained(a), rtol=1e-5, atol=1e-3)


def test_temporaries_come_from_the_pool_and_go_back(cupy, on_gpu):
    program = on_gpu(CHAIN, algorithm="none")
    device = cupy.asarray(photo(500, 512))
    pool = cupy.get_default_memory_pool()
    out = program(device)
    program(device, out=out)
    used, total = pool.used_bytes(), pool.total_bytes()
    for _ in range(10):
        program(device, out=out)
    assert (pool.used_bytes(), pool.total_bytes()) == (used, total)


def test_outputs_that_were_dropped_come_again(cupy, on_gpu):
    program = on_gpu(blur())
    a = cupy.asarray(RNG.random((64, 96)).astype(np.float32))
    expected = program(a).get()
    dropped = program(a).data.ptr
    assert program(a).data.ptr == dropped
    holds = [
        lambda y: y, lambda y: y[1:], lambda y: y.T, lambda y: y.reshape(-1)[5:], lambda y: y.view(cupy.uint32),
        lambda y: cupy.from_dlpack(y), lambda y: cupy.asarray(y), lambda y: y.data, lambda y: y.data.mem,
    ]  # fmt: skip
    held = [hold(program(a)) for hold in holds]
    addresses = [h.ptr if hasattr(h, "ptr") else h.data.mem.ptr for h in held]
    assert len({*addresses}) == len(holds)
    program(cupy.zeros_like(a))
    for h in held[:1] + held[6:7]:
        np.testing.assert_array_equal(h.get(), expected)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        elsewhere = program(a).data.ptr
        stream.synchronize()
    assert program(a).data.ptr != elsewhere
    # of another shape, it is its user's
    taken = program(a)
    taken.shape = (96, 64)
    del taken
    assert [program(a).shape for _ in range(2)] == [(64, 96)] * 2


def test_several_outputs_and_parameters(cupy, on_gpu):
    a = photo(20, 30)
    twice, step = on_gpu(TWO_OUTPUTS)(cupy.asarray(a), sizes=(8, 6))
    np.testing.assert_array_equal(twice.get(), (a + a)[:6, :8])
    np.testing.assert_array_equal(step.get(), np.diff(a + a)[:6, :8])
    b = photo(5, 6, dtype=np.uint8)
    scaled = on_gpu(SCALED)(cupy.asarray(b), gain=2.5, offset=-3)
    np.testing.assert_allclose(scaled.get(), b * np.float32(2.5) - 1, rtol=1e-6)


def test_foreign_gpu_arrays(cupy, on_gpu):
    class Interface:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__
            self.array = array

    class Pack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    a = photo(40, 50)
    for wrap in (Interface, Pack):
        result = on_gpu(blur())(wrap(cupy.asarray(a)))
        np.testing.assert_allclose(result.get(), blurred_edges(a), rtol=1e-5)


def test_buffers_beyond_31_bits(cupy, on_gpu):
    device = cupy.zeros((3, 2**30), np.uint8)
    device[:, -5:] = 7
    program = on_gpu(invert(rank=2))
    result = program(device)
    assert "long long" in program.source()
    assert int(result[2, -1]) == 248
    assert int(result[2, 0]) == 255


def test_a_call_costs_little(cupy, on_gpu):
    program = on_gpu(blur())
    device = cupy.zeros((64, 64), np.float32)
    out = program(device)
    cupy.cuda.Device().synchronize()
    seconds = [
        min(timeit.repeat(call, number=200, repeat=5)) / 200
        for call in (lambda: program(device, out=out), lambda: program(device))
    ]
    print("microseconds per call, with and without out=:", [round(s * 1e6, 1) for s in seconds])
    assert max(seconds) < 20e-6


def test_time_and_report(cupy, on_gpu):
    program = on_gpu(blur())
    device = cupy.zeros((1536, 2560), np.float32)
    seconds = program.time(device, repeat=5)
    assert 1e-6 < seconds < 1e-3
    [kernel] = program.kernels
    assert kernel.registers > 0
    assert kernel.grid is not None
    print(program.report())


def test_a_call_can_be_recorded_in_a_graph(cupy, on_gpu):
    program = on_gpu(CHAIN, algorithm="none")
    a = photo(50, 60)
    device = cupy.asarray(a)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        out = program(device)
        stream.synchronize()
        stream.begin_capture()
        program(device, out=out)
        graph = stream.end_capture()
        out[...] = 0
        graph.launch(stream)
    stream.synchronize()
    np.testing.assert_allclose(out.get(), chained(a), rtol=1e-5, atol=1e-3)


def test_magnitudes_of_16_bits_wrap(cupy):
    """|-32768| is -32768, also for what compares with it: ptxas takes abs.s16 for a positive number."""
    import tilefuse as hl

    x, y, a, b = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Int(16), 2, "a"), hl.ImageParam(hl.Int(16), 2, "b")
    size, least = hl.Func("size"), hl.Func("least")
    size[x, y] = hl.cast(hl.Int(16), hl.abs(a[x, y] - b[x, y]))
    least[x, y] = hl.min(b[x, y] ^ size[x, y], size[x, y])
    pipeline = hl.Pipeline(least)
    values = [-32768, -32767, -1, 0, 1, 32767]
    left, right = (np.array(p, np.int16) for p in np.meshgrid(np.repeat(values, 32), np.repeat(values, 8)))
    found = pipeline.compile("cuda")(cupy.asarray(left), cupy.asarray(right))
    np.testing.assert_array_equal(found.get(), pipeline.compile("reference")(left, right))
