"""Number of points that a program computes: boxes by interval arithmetic, as in bounds inference."""

from __future__ import annotations

import math

from language_program import Boundary, Domain, E, Output, Program, Stage, Update, domain_of
from language_ranges import Beyond, Interval, Ranges

Box = tuple[Interval, ...]


class _Within(Ranges):
    """Ranges with the coordinates of a box."""

    coordinates: dict[str, Interval]

    def _compute(self, e: E) -> Interval:
        return self.coordinates[e.data] if e.op == "var" else super()._compute(e)


def cost(program: Program, ranges: Ranges) -> float:
    """Return the points of all stages, times the steps of their domains; infinite beyond 2^40."""
    asked = {o.name: _box(o) for o in program.outputs}
    total = 0.0
    for stage in reversed(program.stages):
        if stage.name not in asked:
            continue
        if isinstance(stage, Boundary):
            held = asked[stage.name]
            if stage.box is not None:
                held = tuple(
                    (ranges.of(p[0])[0], ranges.of(p[0])[1] + ranges.of(p[1])[1] - 1) if p is not None else h
                    for p, h in zip(stage.box, held, strict=True)
                )
            _ask(asked, stage.source, held)
            continue
        total += _stage_cost(stage, asked, ranges)
        if total > 1 << 40:
            return math.inf
    return total


def _box(output: Output) -> Box:
    return tuple((low, low + n - 1) for low, n in zip(output.mins, output.extents, strict=True))


def _ask(asked: dict[str, Box], name: str, box: Box) -> None:
    old = asked.get(name, box)
    asked[name] = tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, box, strict=True))


def _points(box: Box) -> float:
    return math.prod(max(0.0, high - low + 1) for low, high in box)


def _stage_cost(stage: Stage, asked: dict[str, Box], ranges: Ranges) -> float:
    steps = 0.0
    for update in reversed(stage.updates):
        steps += _update_cost(stage, update, asked, ranges)
    box = asked[stage.name]
    within = _within(ranges, dict(zip(stage.vars, box, strict=True)))
    inner = max((_visit(v, asked, within) for v in stage.values), default=1)
    return steps + _points(box) * inner


def _update_cost(stage: Stage, update: Update, asked: dict[str, Box], ranges: Ranges) -> float:
    within = _within(ranges, dict(zip(stage.vars, asked[stage.name], strict=True)))
    inner = 1.0
    for e in (*update.place, *update.values, *(update.domain.where if update.domain else ())):
        inner = max(inner, _visit(e, asked, within))
    _ask(asked, stage.name, tuple(within.of(p) for p in update.place))
    pure = [box for p, box in zip(update.place, asked[stage.name], strict=True) if p.op == "var"]
    return 20 * inner * (ranges.points(update.domain) if update.domain else 1) + _points(tuple(pure)) * inner


def _within(ranges: Ranges, coordinates: dict[str, Interval]) -> _Within:
    within = _Within(ranges.sources, ranges.params, ranges.sizes, ranges.domains)
    within.coordinates = coordinates
    return within


def _visit(e: E, asked: dict[str, Box], within: _Within) -> float:
    """Request the points that an expression reads; return the points of its reductions."""
    domain: Domain | None = domain_of(e)
    inner = max((_visit(a, asked, within) for a in e.args), default=1.0)
    if e.op == "read":
        _ask(asked, e.data[0], tuple(within.of(a) for a in e.args))
    return inner * (within.points(domain) if domain is not None else 1)


__all__ = ["Beyond", "cost"]
