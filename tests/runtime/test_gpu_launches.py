"""Pipelines of several kernels on a GPU: changing arrays, parameters, streams, threads; calls that are recorded."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from runtime_pipelines import CHAIN, TWO_OUTPUTS, chained

import tilefuse as hl
from tilefuse.runtime.errors import CallError
from tilefuse.runtime.launch import cuda_runner
from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(11)

GAINS = """
img.pipeline @gains {
  %photo = img.input "photo" : !img.func<2xf32>
  %gain = img.param "gain" of f32 : f32
  %bias = img.param "bias" of f32 : f32
  %a = img.stage "a" (%x, %y) -> f32 {
    %v = img.read %photo[%x, %y] : !img.func<2xf32>
    %r = arith.mulf %v, %gain : f32
    img.yield %r : f32
  }
  %w = img.extent 0 of %photo : !img.func<2xf32>
  %h = img.extent 1 of %photo : !img.func<2xf32>
  %zero = arith.constant 0 : index
  %c = img.boundary repeat_edge %a dims [0, 1] in [%zero, %zero] by [%w, %h] : !img.func<2xf32>
  %b = img.stage "b" (%x, %y) -> f32 {
    %v = img.read %c[%x, %y] : !img.func<2xf32>
    %r = arith.addf %v, %bias : f32
    img.yield %r : f32
  }
  img.return "b" = %b : !img.func<2xf32>
}
"""


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


@pytest.fixture
def on_gpu(parse):
    return lambda text: compile_pipeline(parse(text), "cuda", algorithm="none")


def photo(*shape):
    return (RNG.random(shape) * 255).astype(np.float32)


def right(result, a):
    np.testing.assert_allclose(result.get(), chained(a), rtol=1e-5, atol=1e-3)


def test_one_graph_serves_changing_arrays(cupy, on_gpu, monkeypatch):
    program = on_gpu(CHAIN)
    photos = [photo(100, 128) for _ in range(4)]
    devices = [cupy.asarray(a) for a in photos]
    outs = [cupy.full((100, 128), np.nan, np.float32) for _ in range(6)]
    program(devices[0], out=outs[0])
    runner = program._last._runner
    [graph] = runner._graphs.values()
    launches = []
    launch = runner._launch_graph
    monkeypatch.setattr(runner, "_launch_graph", lambda *call: launches.append(call) or launch(*call))
    for i in range(24):
        right(program(devices[i % 4], out=outs[i % 6]), photos[i % 4])
    assert launches == [(graph.handle, 0)] * 24
    assert list(runner._graphs.values()) == [graph]

    results = [program(d) for d in devices]
    held = [cupy.zeros(n * 1000) for n in range(1, 9)]
    results += [program(d) for d in devices]
    for result, a in zip(results, photos * 2, strict=True):
        right(result, a)
    assert len(program._last._runner._graphs) == 1
    assert len(held) == 8


def test_kernels_may_overlap_where_the_gpu_can(cupy, on_gpu):
    program = on_gpu(CHAIN)
    a = photo(300, 512)
    right(program(cupy.asarray(a)), a)
    able = int(cupy.cuda.Device().compute_capability) >= 90
    assert program._last._runner._overlapping == able
    assert program.source().count("griddepcontrol_launch_dependents();") == 3


def test_changing_parameters(cupy, on_gpu):
    program = on_gpu(GAINS)
    a = photo(40, 64)
    device, out = cupy.asarray(a), cupy.empty((40, 64), np.float32)
    for gain, bias in [(2.0, 0.0), (3.0, 0.0), (3.0, 1.0), (3.0, 1.0), (0.5, -1.0)]:
        np.testing.assert_array_equal(
            program(device, gain=gain, bias=bias, out=out).get(), a * np.float32(gain) + np.float32(bias)
        )
    # Equal as numbers, but not the same.
    zeros = cupy.zeros((4, 4), np.float32)
    for gain, bias, negative in [(0.0, -0.0, False), (-0.0, -0.0, True), (0.0, -0.0, False)]:
        assert np.signbit(program(zeros, gain=gain, bias=bias).get()).all() == negative
    assert np.isnan(program(device, gain=float("nan"), bias=0.0).get()).all()


@pytest.mark.parametrize("most", [4, 32])
def test_streams_beside_each_other(cupy, on_gpu, monkeypatch, most):
    """Temporaries are not shared, also with more streams than a plan keeps graphs for."""
    monkeypatch.setattr(cuda_runner, "_MOST_GRAPHS", most)
    program = on_gpu(CHAIN)
    photos = [photo(600, 640) for _ in range(12)]
    devices = [cupy.asarray(a) for a in photos]
    outs = [cupy.full((600, 640), np.nan, np.float32) for _ in photos]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in photos]
    cupy.cuda.Device().synchronize()
    for _ in range(5):
        for device, out, stream in zip(devices, outs, streams, strict=True):
            program(device, out=out, stream=stream)
    for stream in streams:
        stream.synchronize()
    for a, out in zip(photos, outs, strict=True):
        right(out, a)
    assert len(program._last._runner._graphs) == min(most, 12)


def test_one_array_through_many_streams_in_turn(cupy, on_gpu):
    program = on_gpu(CHAIN)
    a = photo(257, 300)
    device = cupy.asarray(a)
    for _ in range(20):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            cupy.cuda.Device().synchronize()
            result = program(device)
            noise = cupy.full((257, 300), 7, np.float32)  # what went back to the pool is used again
            stream.synchronize()
        right(result, a)
        assert float(noise[0, 0]) == 7


@pytest.mark.parametrize("own_stream", [False, True])
def test_threads(cupy, on_gpu, own_stream):
    program = on_gpu(CHAIN)
    gains = on_gpu(GAINS)
    start = threading.Barrier(6)

    def work(seed):
        rng = np.random.default_rng(seed)
        start.wait()
        stream = cupy.cuda.Stream(non_blocking=True) if own_stream else cupy.cuda.Stream.null
        with stream:
            for i in range(12):
                a = rng.random((64 + 32 * (i % 2), 128), dtype=np.float32)
                device = cupy.asarray(a)
                result, scaled = program(device), gains(device, gain=seed, bias=i)
                stream.synchronize()
                right(result, a)
                np.testing.assert_array_equal(scaled.get(), a * np.float32(seed) + np.float32(i))
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


def test_a_thread_that_never_used_the_gpu(cupy, on_gpu):
    program = on_gpu(CHAIN)
    a = photo(64, 64)
    device = cupy.asarray(a)
    outs = [cupy.full((64, 64), np.nan, np.float32) for _ in range(3)]
    program(device, out=outs[0])
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    failures = []

    def work(out, pointer):
        try:
            program(device, out=out, stream=pointer)
        except Exception as error:
            failures.append(error)

    for out, pointer in ((outs[1], None), (outs[2], stream.ptr)):
        thread = threading.Thread(target=work, args=(out, pointer))
        thread.start()
        thread.join()
    assert not failures
    cupy.cuda.Device().synchronize()
    for out in outs:
        right(out, a)


def test_a_recorded_call_owns_its_temporaries(cupy, on_gpu):
    program = on_gpu(CHAIN)
    photos = [photo(200, 256) for _ in range(2)]
    devices = [cupy.asarray(a) for a in photos]
    outs = [program(d) for d in devices]
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        for device, out in zip(devices, outs, strict=True):
            program(device, out=out)
        graph = stream.end_capture()
        # Whatever the pool gives out now may be where temporaries of plain calls are.
        held = [cupy.full((200, 256), 5, np.float32) for _ in range(6)]
        del program
        gc.collect()
        for _ in range(3):
            for out in outs:
                out.fill(np.nan)
            graph.launch(stream)
            stream.synchronize()
            for a, out in zip(photos, outs, strict=True):
                right(out, a)
    assert all(bool((h == 5).all()) for h in held)


def test_calls_between_and_after_recording(cupy, on_gpu):
    program = on_gpu(CHAIN)
    a = photo(90, 100)
    device = cupy.asarray(a)
    out, other = program(device), program(device)
    stream, beside = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    cupy.cuda.Device().synchronize()
    stream.begin_capture()
    program(device, out=out, stream=stream)
    program(device, out=other, stream=beside)
    graph = stream.end_capture()
    out.fill(0)
    cupy.cuda.Device().synchronize()
    right(other, a)
    graph.launch(stream)
    program(device, out=other, stream=stream)
    stream.synchronize()
    right(out, a)
    right(other, a)


def test_a_graph_of_torch(cupy, on_gpu):
    torch = pytest.importorskip("torch")
    program = on_gpu(CHAIN)
    a = photo(96, 128)
    tensor = torch.from_numpy(a).cuda()
    out = torch.empty_like(tensor)
    program(tensor, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        program(tensor, out=out)
    other = photo(96, 128)
    tensor.copy_(torch.from_numpy(other))
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    np.testing.assert_allclose(out.cpu().numpy(), chained(other), rtol=1e-5, atol=1e-3)


def test_outputs_wider_than_asked_for_are_copied(cupy, on_gpu):
    program = on_gpu(TWO_OUTPUTS)
    a = photo(20, 32)
    for _ in range(3):
        twice, step = program(cupy.asarray(a), sizes=(8, 6))
        np.testing.assert_array_equal(twice.get(), (a + a)[:6, :8])
        np.testing.assert_array_equal(step.get(), np.diff(a + a)[:6, :8])


def test_refused_calls_write_nothing(cupy, on_gpu):
    program = on_gpu(CHAIN)
    a = photo(64, 96)
    device = cupy.asarray(a)
    good, narrow, block = (cupy.full((64, 96), np.nan, t) for t in ("f4", "f8", "f4"))
    block[:] = device
    for _ in range(2):
        good.fill(np.nan)
        right(program(device, out=good), a)
        with pytest.raises(CallError, match="out= shares memory with input 'photo'"):
            program(device, out=device)
        with pytest.raises(CallError, match="out= shares memory with input 'photo'"):
            program(block[:40], out=block[20:60])
        with pytest.raises(CallError, match="takes float32, not float64"):
            program(device, out=narrow)
        with pytest.raises(CallError, match="takes 2 dimensions"):
            program(device[None], out=good)
        np.testing.assert_array_equal(device.get(), a)
        np.testing.assert_array_equal(block.get(), a)
        right(good, a)


def test_other_sizes_between(cupy, on_gpu):
    program = on_gpu(CHAIN)
    for shape in [(64, 96), (65, 96), (64, 96), (1, 7), (64, 96)]:
        a = photo(*shape)
        right(program(cupy.asarray(a)), a)


def test_unaligned_outputs(cupy, on_gpu):
    program = on_gpu(CHAIN)
    a = photo(31, 45)
    device = cupy.asarray(a)
    flat = cupy.full(31 * 45 + 2, -1, np.float32)
    for _ in range(2):
        right(program(device, out=flat[1:-1].reshape(31, 45)), a)
        assert flat[0] == flat[-1] == -1


MEAN = """
img.pipeline @mean {
  %photo = img.input "photo" : !img.func<2xf32>
  %w = img.extent 0 of %photo : !img.func<2xf32>
  %h = img.extent 1 of %photo : !img.func<2xf32>
  %zero = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %c = img.boundary repeat_edge %photo dims [0, 1] in [%zero, %zero] by [%w, %h] : !img.func<2xf32>
  %a = img.stage "a" (%x, %y) -> f32 {
    %l = img.read %c[%x - 40, %y - 600] : !img.func<2xf32>
    %r = img.read %c[%x + 40, %y + 600] : !img.func<2xf32>
    %sum = arith.addf %l, %r : f32
    %mean = arith.mulf %sum, %half : f32
    img.yield %mean : f32
  }
  img.return "a" = %a : !img.func<2xf32>
}
"""
"""Of points far away: a kernel that does not wait for the one before reads what is not there yet."""


def mean(a):
    padded = np.pad(a, ((600, 600), (40, 40)), "edge")
    return (padded[:-1200, :-80] + padded[1200:, 80:]) * np.float32(0.5)


def captured(stream, record):
    """`record()`, recorded on the stream and launched three times."""
    with stream:
        stream.begin_capture()
        record()
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch(stream)
    stream.synchronize()


@pytest.mark.parametrize("recorded", [False, True])
def test_calls_of_one_kernel_wait_for_the_one_before(cupy, on_gpu, recorded):
    """Each reads what the one before writes, and writes what that one reads."""
    program = on_gpu(MEAN)
    a, stream = photo(1500, 1600), cupy.cuda.Stream(non_blocking=True)
    want = [a]
    for _ in range(12):
        want.append(mean(want[-1]))
    device = cupy.asarray(a)
    here, there = (cupy.empty_like(device) for _ in range(2))
    program(device, out=here)
    cupy.cuda.Device().synchronize()

    def chain():
        source, target = device, there
        for _ in range(12):
            program(source, out=target, stream=stream)
            source, target = target, here if target is there else there

    for _ in range(5):
        there.fill(np.nan)
        cupy.cuda.Device().synchronize()
        captured(stream, chain) if recorded else chain()
        stream.synchronize()
        np.testing.assert_array_equal(here.get(), want[12])
        np.testing.assert_array_equal(there.get(), want[11])


def test_one_kernel_is_a_graph_only_where_a_call_is_repeated(cupy, on_gpu):
    program = on_gpu(MEAN)
    photos = [photo(1300, 160) for _ in range(2)]
    devices = [cupy.asarray(a) for a in photos]
    out = cupy.empty((1300, 160), np.float32)
    program(devices[0], out=out)
    runner = program._last._runner
    for device in (*devices, *devices):
        program(device, out=out)
    assert list(runner._graphs) == [0]
    for _ in range(3):
        out.fill(np.nan)
        program(devices[1], out=out)
        np.testing.assert_array_equal(out.get(), mean(photos[1]))
    assert len(runner._graphs) == 1
    program(devices[0], out=out)
    np.testing.assert_array_equal(out.get(), mean(photos[0]))


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("before", ["copy", "memset", "kernel", "host", "stream", "temporaries", "nothing"])
def test_a_kernel_after_anything(cupy, on_gpu, before, recorded):
    """What stands before it on the stream may be no kernel, or lie on another stream."""
    program, several = on_gpu(MEAN), on_gpu(CHAIN)
    a = photo(1500, 1600)
    given = cupy.asarray(a)
    stream, beside = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    source, out, other = cupy.empty_like(given), cupy.empty_like(given), several(given)
    program(given, out=out)
    want, called = mean(a), []
    cupy.cuda.Device().synchronize()

    def run():
        with stream:
            if before not in ("memset", "nothing"):
                source.data.copy_from_device_async(given.data, a.nbytes, stream)
            if before == "memset":
                source.data.memset_async(0, a.nbytes, stream)
            elif before == "kernel":
                cupy.add(source, 1, out=source)
            elif before == "host":
                stream.launch_host_func(called.append, 1)
            elif before == "temporaries":
                several(given, out=source, stream=stream)
            elif before == "stream":
                source.fill(np.nan)
                beside.wait_event(stream.record())
                source.data.copy_from_device_async(given.data, a.nbytes, beside)
                several(given, out=other, stream=beside)
                stream.wait_event(beside.record())
            program(given if before == "nothing" else source, out=out, stream=stream)

    if before == "memset":
        want = np.zeros_like(a)
    elif before == "kernel":
        want = mean(a + np.float32(1))
    elif before == "temporaries":
        want = mean(other.get())
    captured(stream, run) if recorded else run()
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), want)
    assert len(called) == (before == "host") * (3 if recorded else 1)


def largest_of_two(rank):
    """The greater of a point and the one after it in the last dimension."""
    image = hl.ImageParam(hl.UInt(8), rank, "image", layout="planar" if rank == 3 else "auto")
    point, out = [hl.Var(f"v{d}") for d in range(rank)], hl.Func("out")
    edge = hl.BoundaryConditions.repeat_edge(image)
    out[tuple(point)] = hl.max(edge[tuple(point)], edge[(*point[:-1], point[-1] + 1)])
    return hl.Pipeline(out)


@pytest.mark.parametrize(
    ("shape", "is_folded"),
    [
        ((65535 * 8, 32), None),
        ((3_000_000, 32), True),
        ((70_000, 16, 40), True),
        ((300, 300, 2, 8, 33), True),
        ((70_000, 32_000), None),  # 2^31 points and more
        ((33_000, 2, 33_000), None),
        ((2**31 + 2**20,), None),
    ],
)
def test_grids_beyond_the_limits(cupy, shape, is_folded):
    """Of y and z; and points that 31 bits do not count. Compared on the GPU, by rows, to keep memory small."""
    program = largest_of_two(len(shape)).compile("cuda")
    a, random = cupy.empty(shape, cupy.uint8), cupy.random.default_rng(3)
    step = max(1, 2**26 * shape[0] // a.size)
    for first in range(0, shape[0], step):
        part = a[first : first + step]
        part[:] = (random.random(part.shape, cupy.float32) * 256).astype(cupy.uint8)
    result = program(a)
    [kernel] = program.kernels
    assert kernel.grid[1] <= 65535
    assert kernel.grid[2] <= 65535
    if is_folded is not None:
        assert (kernel.grid[1:] == (1, 1)) == is_folded
    for first in range(0, shape[0], step):
        here = a[first : first + step]
        after = a[first + 1 : first + step + 1]
        if len(after) < len(here):
            after = cupy.concatenate([after, a[-1:]])
        assert bool((result[first : first + step] == cupy.maximum(here, after)).all()), first
    del result, a, part, here, after
    cupy.get_default_memory_pool().free_all_blocks()
