"""Schedule search of a group: candidates of every execution model, and the cheapest."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from tilefuse.analysis.machine import Machine
from tilefuse.analysis.regions import NotFusable
from tilefuse.execution.base import ExecutionModel
from tilefuse.execution.candidate import Candidate, SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.registry import models

CODE_KEPT = 5000
"""Instructions that stay in the instruction caches from one launch to the next: about 80 KB."""
FETCH_US = 0.0018
"""Microseconds to fetch an instruction that does not, by all multiprocessors together."""
VERSIONS = 2.2
"""Instructions of a kernel that run over those of a tile inside the picture: tiles at the edges have their version."""


def schedules(facts: GroupFacts, machine: Machine, options: SearchOptions = SearchOptions()) -> Iterator[Candidate]:
    """Return every candidate schedule of a group, with its cost.

    Raises NotFusable for an illegal group.
    """
    if not facts.rank and len(facts.members) > 1:
        raise NotFusable("a single value is a kernel of its own")
    for model in models(options.shape):
        alone = (model.multiple_outputs or len(facts.stored) < 2) and (model.fuses_stages or not facts.fused_nodes)
        alone = (
            alone and (model.fuses_steps or facts.summed is None) and (model.fuses_updates or not facts.earlier_nodes)
        )
        if isinstance(facts.definition, model.runs) and alone and _fuses_lookups(model, facts, options):
            yield from model.candidates(facts, machine, options)


def _fuses_lookups(model: ExecutionModel, facts: GroupFacts, options: SearchOptions) -> bool:
    """Whether the group has no tables, or the model keeps them as requested."""
    return not facts.tables or (model.fuses_lookups and (model.tables_follow_tile or options.redundant_tables))


def best_schedule(facts: GroupFacts, machine: Machine, options: SearchOptions = SearchOptions()) -> Candidate | None:
    """Return the cheapest schedule of a group; None if none fits. Raises NotFusable for an illegal group."""
    return min(schedules(facts, machine, options), key=lambda c: c.microseconds, default=None)


def quick_best(facts: GroupFacts, machine: Machine, redundant_tables: bool = True) -> Candidate | None:
    """Return the schedule by which groups are compared; None if none fits. Raises NotFusable for an illegal group.

    Of several stages on a GPU it is that of the first model, in the registry's order, that has any: those behind it are
    hardly ever better then, and take longer to search.
    """
    if machine.is_gpu and len(facts.members) > 1:
        each = (
            best_schedule(facts, machine, SearchOptions(m.name, thorough=False, redundant_tables=redundant_tables))
            for m in models()
        )
        return next((c for c in each if c is not None), None)
    return best_schedule(facts, machine, SearchOptions(thorough=False, redundant_tables=redundant_tables))


def best_for_like(found: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """Choose schedules of groups that differ only in memory layout: one each, or a common one if cheaper.

    Groups with one schedule are one kernel. Several with much code push each other out of the instruction caches, and
    each launch fetches its code again.
    """
    separate = [min(candidates, key=lambda c: c.microseconds) for candidates in found]
    hot = {_kind(c): VERSIONS * c.features.code for c in separate if c.features.code}
    if len(hot) < 2 or sum(hot.values()) < CODE_KEPT:
        return separate
    fetched = sum(
        hot.get(_kind(c), 0.0) for c, before in zip(separate, [separate[-1], *separate]) if _kind(c) != _kind(before)
    )
    least = sum(c.microseconds for c in separate) + fetched * FETCH_US
    first, *others = ({_kind(c): c for c in candidates} for candidates in found)
    best = separate
    for kind in first:
        together = [first[kind], *(other[kind] for other in others if kind in other)]
        if len(together) == len(found) and (cost := sum(c.microseconds for c in together)) < least:
            best, least = together, cost
    return best


def _kind(c: Candidate) -> Hashable:
    return c.shape, c.tile, c.threads, c.vector, c.blocks, c.exchanges
