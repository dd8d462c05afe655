"""Calls like one before skip what need not be looked at again, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime_pipelines import SCALED, TWO_OUTPUTS, blur, blurred_edges

from tilefuse.runtime import program as program_module
from tilefuse.runtime.call.binding import span
from tilefuse.runtime.errors import CallError, CallTypeError
from tilefuse.runtime.launch.call_cache import CachedCall
from tilefuse.runtime.program import compile_pipeline

RNG = np.random.default_rng(5)


def photo(*shape, dtype=np.float32):
    return (RNG.random(shape) * 255).astype(dtype)


@pytest.fixture
def on_cpu(parse):
    return lambda text: compile_pipeline(parse(text), "cpu")


@pytest.fixture
def views(monkeypatch):
    """The arrays that were looked at in full."""
    found, view = [], program_module.view
    monkeypatch.setattr(program_module, "view", lambda array, what: found.append(what) or view(array, what))
    return found


def test_a_second_call_views_nothing(on_cpu, views):
    program = on_cpu(blur())
    for make_out in (lambda: None, lambda: np.empty((20, 32), np.float32)):
        program(photo(20, 32), out=make_out())
        assert views
        views.clear()
        for _ in range(3):
            a = photo(20, 32)
            np.testing.assert_allclose(program(a, out=make_out()), blurred_edges(a), rtol=1e-6)
        assert views == []


def test_sizes_and_mins_tell_calls_apart(on_cpu, views):
    program, a = on_cpu(blur()), photo(20, 32)
    whole = blurred_edges(a)
    calls = [({"sizes": (5, 4)}, whole[:4, :5]), ({"sizes": (5, 4), "mins": {"blur_y": (3, 2)}}, whole[2:6, 3:8])]
    for again in range(3):
        views.clear()
        for box, wanted in [*calls, ({}, whole)]:
            np.testing.assert_allclose(program(a, **box), wanted, rtol=1e-6)
        assert bool(views) == (not again)


def test_results_are_new_each_time(on_cpu):
    program = on_cpu(TWO_OUTPUTS)
    a = photo(6, 8)
    results = [r for _ in range(3) for r in program(a, sizes=(7, 6))] + [r for _ in range(3) for r in program(a)]
    assert len({r.__array_interface__["data"][0] for r in results}) == len(results)


@pytest.mark.parametrize("outs", [tuple, list])
def test_several_outputs_given(on_cpu, outs):
    program = on_cpu(TWO_OUTPUTS)
    a = photo(6, 8)
    given = outs([np.empty((6, 7), np.float32), np.empty((6, 7), np.float32)])
    for _ in range(2):
        twice, step = program(a, out=given)
        assert (twice is given[0], step is given[1]) == (True, True)
        np.testing.assert_array_equal(twice, (a + a)[:, :7])
        np.testing.assert_array_equal(step, np.diff(a + a))
    same = outs([given[0], given[0]])
    with pytest.raises(CallError, match="shares memory with output 'twice'"):
        program(a, out=same)
    with pytest.raises(CallTypeError, match="gives 1, but there are 2"):
        program(a, out=given[0])


def test_overlaps_are_found_in_every_call(on_cpu):
    program = on_cpu(blur())
    block = photo(40, 32)
    a, out = block[:20], block[20:]
    expected = blurred_edges(a)
    for _ in range(2):
        np.testing.assert_allclose(program(a, out=out), expected, rtol=1e-6)
    before = block.copy()
    for low in (0, 1, 19):
        with pytest.raises(CallError, match="out= shares memory with input 'photo'"):
            program(a, out=block[low : low + 20])
        with pytest.raises(CallError, match="out= shares memory with input 'photo'"):
            program(block[low : low + 20], out=a)
    np.testing.assert_array_equal(block, before)


def test_rows_between_rows_do_not_overlap(on_cpu):
    program = on_cpu(blur())
    block = photo(40, 32)
    expected = blurred_edges(block[::2])
    for _ in range(2):
        np.testing.assert_allclose(program(block[::2], out=block[1::2]), expected, rtol=1e-6)


def test_what_makes_another_call(on_cpu):
    program = on_cpu(blur())
    a = photo(20, 32)
    out = np.empty((20, 32), np.float32)
    program(a, out=out)
    frozen = np.empty((20, 32), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(CallError, match="read-only"):
        program(a, out=frozen)
    with pytest.raises(CallTypeError, match="takes float32, not float64"):
        program(a.astype(np.float64), out=out)
    with pytest.raises(CallTypeError, match="masked"):
        program(np.ma.masked_array(a), out=out)
    with pytest.raises(CallTypeError, match="is a list, not an array"):
        program(a.tolist(), out=out)
    shifted = np.empty(20 * 32 + 1, np.float32)[1:].reshape(20, 32)
    shifted[...] = a
    for other in (a[::-1], a[:, ::-1], shifted, np.asfortranarray(a)):
        np.testing.assert_allclose(program(other, out=out), blurred_edges(other), rtol=1e-6)


def test_other_arrays_at_one_address(on_cpu):
    program = on_cpu(blur())
    a, out = photo(24, 24), np.empty((24, 24), np.float32)
    for other in (a, a, a.T, a.T, a.reshape(18, 32), a.reshape(18, 32), a[:8], a[:8], a):
        np.testing.assert_allclose(program(other), blurred_edges(other), rtol=1e-6)
        given = out.ravel()[: other.size].reshape(other.shape)
        np.testing.assert_allclose(program(other, out=given), blurred_edges(other), rtol=1e-6)


def test_the_latest_call_is_not_repeated_if_an_array_has_changed(on_cpu):
    """It is known again from the third like call on."""
    program = on_cpu(blur())
    a, out, expected = photo(20, 32), np.empty((20, 32), np.float32), None

    def again():
        nonlocal expected
        expected = blurred_edges(a)
        for _ in range(3):
            np.testing.assert_allclose(program(a, out=out), expected, rtol=1e-6)

    again()
    out.flags.writeable = False
    with pytest.raises(CallError, match="read-only"):
        program(a, out=out)
    out.flags.writeable = True
    again()
    for _ in range(3):
        with pytest.raises(CallError, match="shares memory"):
            program(a, out=a)
    again()
    with pytest.raises(CallTypeError, match="takes float32, not int32"):
        program(a.view(np.int32), out=out)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_what_a_parameter_decides_is_decided_anew(on_cpu):
    program = on_cpu("""
    img.pipeline @left {
      %photo = img.input "photo" : !img.func<2xf32>
      %width = img.param "width" of si32 : i32
      %zero = arith.constant 0 : index
      %extent = arith.index_cast %width : i32 to index
      %part = img.boundary repeat_edge %photo dims [0] in [%zero] by [%extent] : !img.func<2xf32>
      %left = img.stage "left" (%x, %y) -> f32 {
        %a = img.read %part[%x, %y] : !img.func<2xf32>
        img.yield %a : f32
      }
      img.return "left" = %left : !img.func<2xf32>
    }""")
    a, out = photo(8, 32), np.empty((8, 36), np.float32)
    for width in (5, 5, 5, 7, 7, 7, 5):
        program(a, width=width, out=out)
        np.testing.assert_array_equal(out, a[:, np.minimum(np.arange(36), width - 1)])
    with pytest.raises(CallError, match="photo"):
        program(a, width=36, out=out)


def test_parameters_are_taken_anew(on_cpu):
    program = on_cpu(SCALED)
    a = photo(5, 6, dtype=np.uint8)
    for gain, offset in [(2.5, -3), (1.5, -3), (1.5, 4), (0.0, -2), (-0.0, -2)]:
        result = program(a, gain=gain, offset=offset)
        np.testing.assert_allclose(result, a * np.float32(gain) + (offset + 2), rtol=1e-6)


def test_few_kinds_of_call_are_kept(on_cpu, monkeypatch):
    monkeypatch.setattr(program_module, "_MOST_PREPARED", 4)
    program = on_cpu(blur())
    for width in [*range(8, 16), 8, 15]:
        a = photo(6, width)
        np.testing.assert_allclose(program(a), blurred_edges(a), rtol=1e-6)
    assert len(program._seen.calls) <= 4


flags = st.tuples(st.integers(0, 60), st.integers(1, 4), st.integers(1, 4), st.sampled_from([-3, -1, 1, 2]))


@given(flags, flags)
def test_what_shares_memory_may_overlap(first, second):
    memory = np.zeros(300, np.uint8)

    def cut(start, rows, columns, step):
        block = memory[start : start + 160].reshape(10, 16)
        return block[: rows * 2 : 2, :][:, ::step][:, :columns]

    a, b = cut(*first), cut(*second)
    seen_views = [program_module.view(x, "array") for x in (a, b)]
    call = CachedCall(None, None, None, None, (), tuple(span(v, 1) for v in seen_views), 1)
    if np.shares_memory(a, b):
        assert call.may_overlap([v.pointer for v in seen_views])
