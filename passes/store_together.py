"""Merging of groups into kernels that store several stages: part of `group-stages`.

A function with readers in several groups, or that is an output too, must be stored; but one kernel may store it and
compute its readers. Also, stages that read one function load it once if one kernel computes both. So groups that store
one stage each are merged, the largest saving first, while this saves time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tilefuse.analysis.access import functions_read
from tilefuse.analysis.model import PipelineModel
from tilefuse.dialects.img.ops import UpdateOp

if TYPE_CHECKING:
    import networkx as nx

Cost = Callable[[Sequence[int]], float | None]
"""Microseconds of stages, in program order, as one kernel; None if they cannot be one."""


def store_together(model: PipelineModel, groups: Sequence[Sequence[int]], cost: Cost, most: int) -> list[list[int]]:
    """Merge groups, given and returned by their members in program order, to at most `most` stages each."""
    found = _Groups(model, groups)
    savings: dict[tuple[int, int], float] = {}
    while True:
        for pair in set(found.pairs()) - savings.keys():
            savings[pair] = _saving(model, found.members[pair[0]], found.members[pair[1]], cost, most)
        # what is not legal now may be so when other groups are merged
        legal = [p for p, saved in savings.items() if saved > 0 and found.may_merge(*p)]
        if not legal:
            return list(found.members.values())
        a, b = max(legal, key=lambda p: (savings[p], p))
        found.merge(a, b)
        savings = {pair: saved for pair, saved in savings.items() if not {a, b} & {*pair}}


def _saving(model: PipelineModel, a: Sequence[int], b: Sequence[int], cost: Cost, most: int) -> float:
    """Return the microseconds that a merge saves; 0 if it is illegal, or stores only one stage."""
    both = sorted((*a, *b))
    if len(both) > most or len(model.stored(both)) < 2:
        return 0.0
    first, second = cost(a), cost(b)
    if first is None or second is None or (merged := cost(both)) is None:
        return 0.0
    return first + second - merged


class _Groups:
    """Groups and their dependences; a group is numbered by one of its members."""

    def __init__(self, model: PipelineModel, groups: Sequence[Sequence[int]]):
        self.members = {g[-1]: list(g) for g in groups}
        self._of = {id: number for number, members in self.members.items() for id in members}
        # kernels of their own, which are no stages, order those of stages, too
        self._of |= {n.id: n.id for n in model.nodes if isinstance(n.op, UpdateOp)}
        self._needs = {
            n.id: _read_by_update(model, n.op) if isinstance(n.op, UpdateOp) else model.producers(n.id)
            for n in model.nodes
        }
        self._graph: nx.DiGraph | None = None

    def merge(self, a: int, b: int) -> None:
        """Merge two groups into one with the second's number."""
        self.members[b] = sorted(self.members.pop(a) + self.members[b])
        self._of |= dict.fromkeys(self.members[b], b)
        self._graph = None

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield candidate pairs: a group and its reader, or adjacent readers of one function.

        The first is the one whose last stage comes first.
        """
        readers: dict[int, set[int]] = {}
        for number, members in self.members.items():
            for id in members:
                for producer in self._needs[id]:
                    if (of := self._of.get(producer)) != number:
                        readers.setdefault(producer, set()).add(number)
                        if of in self.members:
                            yield self._pair(of, number)
        for numbers in readers.values():
            for pair in pairwise(sorted(numbers, key=lambda g: self.members[g][-1])):
                yield self._pair(*pair)

    def _pair(self, a: int, b: int) -> tuple[int, int]:
        return (a, b) if self.members[a][-1] < self.members[b][-1] else (b, a)

    def may_merge(self, a: int, b: int) -> bool:
        """Whether no other kernel has to run between the two."""
        from tilefuse.analysis.graph import is_convex  # late: networkx takes long to import, and few pipelines ask

        if self._graph is None:
            self._graph = self._kernels()
        return is_convex(self._graph, (a, b))

    def _kernels(self) -> nx.DiGraph:
        """Return the kernels by number, with an edge from each to its readers."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self._of.values())
        read = ((self._of.get(p), number) for id, number in self._of.items() for p in self._needs[id])
        graph.add_edges_from((producer, number) for producer, number in read if producer not in (None, number))
        return graph


def _read_by_update(model: PipelineModel, op: UpdateOp) -> list[int]:
    return sorted({model.node_of[f] for f in functions_read(op)})
