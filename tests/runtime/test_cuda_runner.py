"""What a call changes in an executable graph, without a GPU: the driver's side is a stand-in."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilefuse.runtime.cuda import graph as cuda_graph
from tilefuse.runtime.launch import cuda_runner
from tilefuse.runtime.launch.plan import Address, Clear, KernelLaunch, Plan, ScalarSlot


class Graph:
    """In place of KernelGraph: keeps what the driver would have copied."""

    handle = 1
    fails = False

    def __init__(self, kernels, memsets, *, programmatic):
        self.memsets = []

    def update_memset(self, index):
        self.memsets.append(index)

    def update(self, index):
        if self.fails:
            raise RuntimeError("refused")
        self.updated.append(index)


def launch(*addresses, scalars=()):
    count = 1 + max([a.slot for a in addresses] + [s.slot for s in scalars])
    words = tuple(range(100, 100 + count))
    return KernelLaunch("k", None, (1, 1, 1), (32, 1, 1), words, addresses, scalars)


# Buffers: 0 the input, 1 the output, 2 the arena.
LAUNCHES = (
    launch(Address(0, 0, 0), Address(2, 2, 0)),
    launch(Address(0, 2, 0), Address(1, 2, 256), scalars=(ScalarSlot(2, 0),)),
    launch(Address(0, 2, 256), Address(3, 1, 0)),
)


class Library:
    """In place of the driver: kernel 1 has static shared memory."""

    def __init__(self):
        self.preferred = {}

    def cuFuncGetAttribute(self, value, attribute, function):
        value._obj.value = 1024 if function == 1 else 0
        return 0

    def cuFuncSetAttribute(self, function, attribute, value):
        self.preferred[function] = (attribute, value)
        return 0


def stand_in(patch):
    patch.setattr(cuda_runner, "KernelGraph", Graph)
    library = Library()
    patch.setattr(cuda_graph, "_driver", lambda: library)
    return library


@pytest.fixture
def make(monkeypatch):
    stand_in(monkeypatch)

    def make(pointers, scalars):
        plan = Plan(LAUNCHES, (), (), 512, 32, None)
        functions = [SimpleNamespace(ptr=i) for i in range(len(LAUNCHES))]
        graph = cuda_runner.PlanGraph(plan, functions, pointers, scalars, programmatic=False)
        graph._graph.updated = []
        return graph

    return make


def updated(graph):
    found, graph._graph.updated = graph._graph.updated, []
    return sorted(found)


def words(graph):
    return [list(a.words) for a in graph._arguments]


def test_only_kernels_that_use_what_changed_are_updated(make):
    graph = make([1000, 2000, 3000], [7])
    graph.take([1000, 2000, 3000], [7])
    assert updated(graph) == []
    graph.take([1001, 2000, 3000], [7])
    assert updated(graph) == [0]
    graph.take([1001, 2002, 3000], [7])
    assert updated(graph) == [2]
    graph.take([1001, 2002, 3003], [7])
    assert updated(graph) == [0, 1, 2]
    graph.take([1001, 2002, 3003], [8])
    assert updated(graph) == [1]
    assert words(graph) == [[1001, 101, 3003], [3003, 3259, 8], [3259, 101, 102, 2002]]


def test_kernels_without_shared_memory_ask_for_all_of_the_cache(monkeypatch):
    library = stand_in(monkeypatch)
    dynamic = KernelLaunch("k", None, (1, 1, 1), (32, 1, 1), (), (), (), shared_bytes=4096)
    for function, of in enumerate((*LAUNCHES[:2], dynamic)):
        cuda_runner.Arguments(of, SimpleNamespace(ptr=function))
    assert library.preferred == {0: (9, 0), 2: (8, 4096)}


def test_cleared_memory_moves_with_the_arena(monkeypatch):
    stand_in(monkeypatch)
    plan = Plan(LAUNCHES, (), (), 512, 32, None, (Clear(2, 256, 8, 0), Clear(1, 0, 4, 255)))
    functions = [SimpleNamespace(ptr=i) for i in range(len(LAUNCHES))]
    graph = cuda_runner.PlanGraph(plan, functions, [1000, 2000, 3000], [7], programmatic=False)
    graph._graph.updated = []
    assert [(m.target, m.width, m.value) for m in graph._memsets] == [(3256, 8, 0), (2000, 4, 255)]
    graph.take([1001, 2000, 3000], [8])
    assert graph._graph.memsets == []
    graph.take([1001, 2000, 4000], [8])
    assert graph._graph.memsets == [0]
    assert graph._memsets[0].target == 4256


calls = st.tuples(
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
    st.lists(st.integers(0, 2), min_size=1, max_size=1),
)


@given(st.lists(calls, min_size=1, max_size=6))
def test_after_any_calls_the_arguments_are_those_of_the_last(calls):
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch)
        plan = Plan(LAUNCHES, (), (), 512, 32, None)
        functions = [SimpleNamespace(ptr=i) for i in range(len(LAUNCHES))]
        graph = cuda_runner.PlanGraph(plan, functions, *calls[0], programmatic=False)
        graph._graph.updated = []
        for pointers, scalars in calls[1:]:
            graph.take(pointers, scalars)
        fresh = cuda_runner.PlanGraph(plan, functions, *calls[-1], programmatic=False)
        assert words(graph) == words(fresh)


def test_after_a_refused_update_all_arguments_are_given_anew(make):
    graph = make([1000, 2000, 3000], [7])
    graph._graph.fails = True
    with pytest.raises(RuntimeError, match="refused"):
        graph.take([1001, 2000, 3000], [7])
    graph._graph.fails = False
    graph.take([1000, 2000, 3000], [7])
    assert updated(graph) == [0, 1, 2]
