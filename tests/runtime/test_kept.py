"""Outputs that were dropped are given out again, others never; with stand-ins for arrays of CuPy."""

import itertools
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from tilefuse.runtime.arrays.kept import OutputPool


class Memory:
    pass


class Pointer:
    def __init__(self, mem):
        self.mem = mem


class Array:
    """What `kept` asks of an array of CuPy."""

    def __init__(self, shape=(4, 8), data=None):
        self.shape = shape
        self.nbytes = shape[0] * shape[1]
        self.data = Pointer(Memory()) if data is None else data


CALL = object()


def called(kept, *, call=CALL, stream=0, outputs=1, shape=(4, 8)):
    """The arrays that a call returns."""
    made = kept.take(call, stream)
    if made is None:
        arrays = [Array(shape) for _ in range(outputs)]
        made = arrays, list(range(outputs))
        del arrays
        kept.keep(call, stream, *made)
    return tuple(made[0])


def test_dropped_outputs_come_again():
    kept = OutputPool()
    first = [id(a) for a in called(kept, outputs=2)]
    for _ in range(3):
        assert [id(a) for a in called(kept, outputs=2)] == first


def test_an_output_that_is_held_does_not():
    kept = OutputPool()
    (first,) = called(kept)
    held = [first]
    for _ in range(5):
        held += called(kept)
    assert len({id(a) for a in held}) == len(held)
    both = called(OutputPool(), outputs=2)
    assert both[0] is not both[1]


def test_one_of_several_that_is_held_keeps_all():
    kept = OutputPool()
    first = called(kept, outputs=2)[1]
    assert first not in called(kept, outputs=2)


def test_outputs_that_are_not_handed_out_yet_are_held():
    kept = OutputPool()
    made = [Array()]
    kept.keep(CALL, 0, made, [0])
    assert kept.take(CALL, 0) is None  # another thread's call
    del made
    taken = kept.take(CALL, 0)
    assert kept.take(CALL, 0) is None
    del taken
    assert kept.take(CALL, 0) is not None


def test_in_a_loop_two_take_turns():
    kept = OutputPool()
    seen = []
    result = None
    for _ in range(6):
        (result,) = called(kept)
        seen.append(id(result))
    assert len(set(seen)) == 2
    assert all(a != b for a, b in itertools.pairwise(seen))


@pytest.mark.parametrize(
    "hold",
    [
        lambda a: Array(data=a.data),  # a view of all of it
        lambda a: Array(data=Pointer(a.data.mem)),  # of a part
        lambda a: a.data,
        lambda a: a.data.mem,
        weakref.ref,
        lambda a: setattr(a, "shape", (8, 4)),
    ],
)
def test_what_refers_to_an_output(hold):
    kept = OutputPool()
    (first,) = called(kept)
    number, held = id(first), hold(first)
    del first
    later = [called(kept)[0] for _ in range(2)]
    assert number not in [id(a) for a in later]
    del held


def test_other_calls_and_streams_get_others():
    kept = OutputPool()
    number = id(called(kept)[0])
    assert id(called(kept, stream=7)[0]) != number
    assert id(called(kept)[0]) == number
    assert id(called(kept, call=object())[0]) != number


def test_streams_of_threads_share_a_handle():
    kept = OutputPool()
    called(kept, stream=2)
    assert kept.take(CALL, 2) is None


def test_large_outputs_are_not_kept():
    kept = OutputPool()
    called(kept, shape=(4096, 4097))
    assert kept.take(CALL, 0) is None


def test_threads_get_different_outputs():
    kept = OutputPool()
    called(kept)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            results = list(pool.map(lambda _: called(kept)[0], range(16)))
            assert len({id(a) for a in results}) == len(results)
            del results


@pytest.mark.parametrize("lacks", ["getrefcount", "_is_gil_enabled"])
def test_without_counted_references_nothing_is_kept(lacks, monkeypatch):
    if lacks == "getrefcount":
        monkeypatch.delattr(sys, "getrefcount")
    else:
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    kept = OutputPool()
    called(kept)
    assert kept.take(CALL, 0) is None


def test_what_is_kept_no_longer_is_freed_after_the_lock_is_released():
    kept, found = OutputPool(), []

    class Last(Memory):
        def __del__(self):
            found.append(kept._lock.acquire(blocking=False))
            if found[-1]:
                kept._lock.release()

    made = [Array(data=Pointer(Last()))]
    kept.keep(CALL, 0, made, [0])
    made.clear()
    for _ in range(2):
        kept.keep(object(), 0, [Array()], [0])
    assert found == [True]


def test_a_call_within_a_call_makes_its_own():
    kept = OutputPool()
    called(kept)
    with kept._lock:  # as when the collector runs a finalizer in the midst of either
        assert kept.take(CALL, 0) is None
        kept.keep(CALL, 0, [Array()], [0])
    assert len(kept._kept) == 1
