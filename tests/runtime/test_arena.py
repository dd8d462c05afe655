"""Where temporaries live: in the arena, or in outputs that are not written yet."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from runtime_pipelines import CHAIN, TWO_OUTPUTS, chained

from tilefuse.runtime.launch.arena import ARENA_ALIGNMENT, HostBuffer, Lifetime, place
from tilefuse.runtime.program import compile_pipeline

lives = st.builds(
    lambda size, first, length: Lifetime(size, first, first + length),
    st.integers(1, 5000),
    st.integers(0, 8),
    st.integers(0, 4),
)
hosts = st.lists(st.builds(HostBuffer, st.integers(0, 8000), st.integers(0, 12)), max_size=3)


@given(st.lists(lives, max_size=12), hosts)
def test_no_two_living_temporaries_share_bytes(temporaries, hosts):
    places, arena = place(temporaries, hosts)
    assert len(places) == len(temporaries)
    assert all(p.offset % ARENA_ALIGNMENT == 0 for p in places)
    for i, (a, at_a) in enumerate(zip(temporaries, places, strict=True)):
        if at_a.host is None:
            assert at_a.offset + a.size <= arena
        else:
            host = hosts[at_a.host]
            assert a.last < host.until
            assert at_a.offset + a.size <= host.size
        for b, at_b in zip(temporaries[:i], places[:i], strict=True):
            if at_a.host == at_b.host and a.first <= b.last and b.first <= a.last:
                assert at_a.offset + a.size <= at_b.offset or at_b.offset + b.size <= at_a.offset


@given(st.lists(lives, max_size=12), hosts)
def test_hosts_never_make_the_arena_larger_than_all_temporaries(temporaries, hosts):
    _, arena = place(temporaries, hosts)
    assert arena <= sum(-(-t.size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT for t in temporaries)


@given(st.integers(3, 40))
def test_a_chain_needs_one_buffer_besides_its_output(length):
    temporaries = [Lifetime(1024, i, i + 1) for i in range(length - 1)]
    places, arena = place(temporaries, [HostBuffer(1024, length - 1)])
    assert arena == 1024
    assert places[-1].host is None
    assert places[-2].host == 0


def test_a_small_output_takes_what_fits():
    temporaries = [Lifetime(300, 0, 1), Lifetime(100, 0, 1), Lifetime(900, 0, 1)]
    places, arena = place(temporaries, [HostBuffer(512, 2)])
    assert [p.host for p in places] == [0, None, None]
    assert arena == 1024 + 100


def test_outputs_with_gaps_or_unaligned_hold_no_temporaries(parse):
    program = compile_pipeline(parse(CHAIN), "cpu", algorithm="none")
    a = np.random.default_rng(1).random((50, 60), dtype=np.float32)
    block = np.full((50, 64), -1, np.float32)
    flat = np.full(50 * 60 + 2, -1, np.float32)
    odd = flat[1:-1].reshape(50, 60)
    for out in (block[:, :60], block[::-1, :60], odd):
        np.testing.assert_allclose(program(a, out=out), chained(a), rtol=1e-5, atol=1e-3)
        assert program._last.plan.arena_bytes > 2 * 50 * 60 * 4 - ARENA_ALIGNMENT
    assert (block[:, 60:] == -1).all()
    assert flat[0] == flat[-1] == -1


def test_outputs_that_other_stages_read_are_kept(parse):
    program = compile_pipeline(parse(TWO_OUTPUTS), "cpu", algorithm="none")
    a = np.random.default_rng(2).random((9, 16), dtype=np.float32)
    twice, step = program(a, sizes=(15, 9))
    np.testing.assert_array_equal(twice, (a + a)[:, :15])
    np.testing.assert_array_equal(step, np.diff(a + a))
