"""Evaluation of updates: whole slabs of the reduction domain at once where no read depends on a write.

What reads the function itself is computed point by point of the domain, in order, all pure coordinates at once. Sums
and the like of integers, whose order cannot be observed, are written a slab at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.elements import Array
from tilefuse.dialects.img.ops import SET, ReadOp, UpdateOp, WriteOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.evaluator.access import Ranges, resolve_access, values_at
from tilefuse.evaluator.arguments import Box
from tilefuse.evaluator.carriers import carried_signed
from tilefuse.evaluator.gather import affine_value, coordinate_grids, gather
from tilefuse.evaluator.stage_plan import PlannedOp, needed, steps
from tilefuse.evaluator.table import compute

Environment = dict[SSAValue, Array]

_SLAB = 1 << 21
"""Points, pure ones times those of the domain, that are computed at once."""

_UNORDERED: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class FunctionReader(NamedTuple):
    """The reader of a function: its name for messages, the grid that it computes on, and its data-dependent reads."""

    name: str
    grid: Box
    by_data: frozenset[ReadOp]


class Evaluation(Protocol):
    """Evaluation of a pipeline, as an update sees it."""

    values: dict[SSAValue, Array]
    boxes: dict[SSAValue, Box]
    scalars: dict[SSAValue, Array]

    def run_steps(self, steps: Sequence[PlannedOp], env: Environment, reader: FunctionReader | None = None) -> bool:
        """Compute into `env`; True if a function has to grow."""


@dataclass(frozen=True)
class UpdatePlan:
    """The steps of an update's body, by whether they depend on its own earlier writes."""

    free: tuple[PlannedOp, ...]
    bound: tuple[PlannedOp, ...]
    current_reads: tuple[ReadOp, ...]
    write: WriteOp
    given: frozenset[SSAValue]
    """Values that the steps that depend take from those that do not."""
    by_data: frozenset[Operation]
    """Reads of the functions themselves, and the write, at indices that are computed from reads."""

    @property
    def touching(self) -> list[ReadOp | WriteOp]:
        """Reads and writes that touch the functions that are updated."""
        return [*self.current_reads, self.write]

    @classmethod
    def of(cls, op: UpdateOp) -> UpdatePlan:
        """Plan an update."""
        currents = set(op.currents)
        write = op.write_op
        ops = needed([o for o in op.body.block.ops if o is not write], set(write.operands))
        bound: set[SSAValue] = set()
        from_data: set[SSAValue] = set()
        for o in ops:
            if any(v in currents or v in bound for v in o.operands):
                bound.update(o.results)
            if isinstance(o, ReadOp) or any(v in from_data for v in o.operands):
                from_data.update(o.results)
        bound_ops = [o for o in ops if any(r in bound for r in o.results)]
        kept = {v for o in (*bound_ops, write) for v in o.operands}
        free_ops = [o for o in ops if not any(r in bound for r in o.results)]
        own = tuple(o for o in ops if isinstance(o, ReadOp) and o.source in currents)
        touching: list[ReadOp | WriteOp] = [*own, write]
        by_data = frozenset(o for o in touching if any(v in from_data for v in o.indices))
        given = frozenset(kept - bound - currents - set(op.body.block.args))
        return cls(steps(free_ops, kept), steps(bound_ops, set(write.operands)), own, write, given, by_data)


def domain_box(op: UpdateOp, scalars: Mapping[SSAValue, Array]) -> Box | None:
    """Return (min, extent) per dimension of the reduction domain; None if it is empty."""
    box = tuple((int(scalars[d.min]), int(scalars[d.extent])) for d in op.domain)
    return None if any(extent <= 0 for _, extent in box) else box


def pure_box(op: UpdateOp, box: Box) -> Box:
    """Return the box of the pure coordinates, where the functions are computed on `box`."""
    return tuple(box[dim] for dim in op.pure_dims)


def spans_at(op: ReadOp | WriteOp, env: Mapping[SSAValue, Array], scalars: Mapping[SSAValue, Array]) -> Ranges:
    """Return the box around the points that a read or write of the function itself touches."""
    found = _indices(op, env, scalars)
    return tuple((int(i.min()), int(i.max())) for i in found)


def _indices(op: ReadOp | WriteOp, env: Mapping[SSAValue, Array], scalars: Mapping[SSAValue, Array]) -> list[Array]:
    operands = [env[v] if v in env else scalars[v] for v in op.indices]
    return [affine_value(e, operands) for e in op.map.data.results]


class UpdateEvaluation:
    """State of one update during its evaluation: the current functions, on their needed box."""

    def __init__(self, evaluation: Evaluation, op: UpdateOp, plan: UpdatePlan, by_data: frozenset[ReadOp], state: Box):
        self._evaluation, self._op, self._plan, self._box = evaluation, op, plan, state
        self._name = f"update '{op.sym_name.data}'"
        self._by_data = by_data
        self._elements = [f.type.element for f in op.funcs]
        self._joins = [self._join(*pair) for pair in zip(op.combiners, op.old_funcs, strict=True)]
        self.touched: Ranges | None = None
        """Boxes of the functions themselves that data turned out to touch."""
        self._state: list[Array] = []

    @staticmethod
    def _join(combiner: str, old: SSAValue) -> Operation | None:
        assert isinstance(old.type, FuncType)
        block = Block(arg_types=[old.type.storage] * 2)
        return None if combiner == SET else combined(combiner, old.type.element, *block.args)

    def start(self) -> bool:
        """Take the old values; False if one of them is not known yet."""
        known = self._evaluation
        grid = coordinate_grids(self._box)
        for old in self._op.old_funcs:
            access = resolve_access(old, grid, known.boxes, known.scalars)
            if access.spans is not None and access.func not in known.values:
                return False
            values, box = known.values.get(access.func), known.boxes.get(access.func)
            found = values_at(access, values, box, self._box, self._op, self._name)
            self._state.append(np.array(np.broadcast_to(found, tuple(n for _, n in reversed(self._box))), order="C"))
        return True

    def values_on(self, box: Box) -> list[Array]:
        """Return the current functions on a part of their box."""
        pairs = zip(reversed(box), reversed(self._box), strict=True)
        part = tuple(slice(low - first, low - first + n) for (low, n), (first, _) in pairs)
        return [state[part] for state in self._state]

    def run(self, pure: Box, domain: Box) -> bool:
        """Write over the domain; True if the writes need larger boxes, which ends it early."""
        grown = False
        for slab in _slabs(domain, math.prod(n for _, n in pure)):
            grid = (*pure, *slab)
            env: Environment = dict(zip(self._op.coordinates, coordinate_grids(grid), strict=True))
            grown = (
                self._evaluation.run_steps(self._plan.free, env, FunctionReader(self._name, grid, self._by_data))
                or grown
            )
            # one that reads a function which is not known, since that has to grow first
            grown = grown or not self._plan.given.issubset(env.keys() | self._evaluation.scalars.keys())
            if grown:
                self._note_free(env)
                continue
            grown = self._write_slab(env, pure, slab)
            if grown and self._plan.bound:
                return True
        return grown

    def _note_free(self, env: Environment) -> None:
        """Note the boxes that may still grow, after the first has grown."""
        for op in self._plan.touching:
            if all(v in env or v in self._evaluation.scalars for v in op.indices) and op in self._plan.by_data:
                self._touches(_indices(op, env, self._evaluation.scalars), None)

    def _write_slab(self, env: Environment, pure: Box, slab: Box) -> bool:
        rank = len(pure) + len(slab)
        write = self._op.write_op
        if not self._plan.bound and all(map(self._is_unordered, self._op.combiners, self._state)):
            shape = tuple(n for _, n in reversed((*pure, *slab)))
            return self._write(env, shape, at_once=True)
        wanted = {v for step in self._plan.bound for v in step.op.operands} | set(write.operands)
        padded = {v: a.reshape((1,) * (rank - a.ndim) + a.shape) for v, a in env.items() if v in wanted}
        grid = coordinate_grids(pure)
        shape = tuple(n for _, n in reversed(pure))
        reader = FunctionReader(self._name, pure, self._by_data)
        for point in np.ndindex(*(n for _, n in reversed(slab))):
            here = {
                v: np.asarray(a[tuple(0 if a.shape[i] == 1 else p for i, p in enumerate(point))])
                for v, a in padded.items()
            }
            here.update(zip(self._op.pure, grid, strict=True))
            if self._run_bound(here, reader) or self._write(here, shape, at_once=False):
                return True
        return False

    def _run_bound(self, env: Environment, reader: FunctionReader) -> bool:
        for step in self._plan.bound:
            op = step.op
            if isinstance(op, ReadOp) and op in self._plan.current_reads:
                indices = _indices(op, env, self._evaluation.scalars)
                if self._touches(indices, None):
                    return True
                state = self._state[self._op.currents.index(op.source)]  # type: ignore[arg-type]
                env[op.value] = self._gathered(state, indices, len(reader.grid))
            elif self._evaluation.run_steps([step], env, reader) or any(r not in env for r in op.results):
                return True
        return False

    def _gathered(self, state: Array, indices: Sequence[Array], rank: int) -> Array:
        found = gather(state, [i - low for i, (low, _) in zip(indices, self._box, strict=True)], rank)
        return found.copy() if np.may_share_memory(found, state) else found

    def _write(self, env: Environment, shape: tuple[int, ...], *, at_once: bool) -> bool:
        scalars = self._evaluation.scalars
        write = self._op.write_op
        indices = [np.broadcast_to(i, shape) for i in _indices(write, env, scalars)]
        mask = None
        if write.predicate is not None:
            mask = np.broadcast_to(env[write.predicate] if write.predicate in env else scalars[write.predicate], shape)
            if mask.all():
                mask = None
            elif not mask.any():
                return False
        if self._touches(indices, mask):
            return True
        at = [i - low for i, (low, _) in zip(indices, self._box, strict=True)]
        place = tuple(i if mask is None else i[mask] for i in reversed(at))
        terms = []
        for v in write.values:
            term = np.broadcast_to(env[v] if v in env else scalars[v], shape)
            terms.append(term if mask is None else term[mask])
        if at_once:
            for way, element, state, term in zip(self._op.combiners, self._elements, self._state, terms, strict=True):
                _write_unordered(way, element, state, place, term)
            return False
        for state, join, term in zip(self._state, self._joins, terms, strict=True):
            state[place] = term if join is None else compute(join, [np.asarray(state[place]), term])[0]
        return False

    def _touches(self, indices: Sequence[Array], mask: Array | None) -> bool:
        """Note the touched box; True if it leaves the function's box."""
        spans = tuple((int(i.min()), int(i.max())) for i in (indices if mask is None else [j[mask] for j in indices]))
        boxed = zip(spans, self._box, strict=True)
        if all(low <= first and last < low + n for (first, last), (low, n) in boxed):
            return False
        old = self.touched or spans
        self.touched = tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, spans, strict=True))
        return True

    @staticmethod
    def _is_unordered(combiner: str, state: Array) -> bool:
        return combiner == SET or state.dtype.kind == "u"


def _write_unordered(way: str, element: object, state: Array, place: tuple[Array, ...], term: Array) -> None:
    """Write integers of a slab; NumPy leaves the last of several that are put at one place."""
    if way == SET or not place:
        if way == SET:
            state[place] = term if place else term.reshape(-1)[-1]
            return
        place, state = (np.zeros(term.size, np.int64),), state.reshape(1)
    flat = np.ravel_multi_index([p.reshape(-1) for p in place], state.shape)
    values = np.ascontiguousarray(term).reshape(-1)
    target = state.reshape(-1)
    if way in ("min", "max") and str(element).startswith("si"):
        target, values = carried_signed(target), carried_signed(values)
    _UNORDERED[way].at(target, flat, values)


def _slabs(domain: Box, pure_points: int) -> Iterator[Box]:
    """Cut a domain into boxes that cover it in order, of few enough points."""
    room = max(1, _SLAB // max(1, pure_points))
    inner, points = 0, 1
    while inner < len(domain) and points * domain[inner][1] <= room:
        points *= domain[inner][1]
        inner += 1
    if inner == len(domain):
        yield domain
        return
    step = max(1, room // points)
    low, extent = domain[inner]
    outer = domain[inner + 1 :]
    for point in np.ndindex(*(n for _, n in reversed(outer))):
        fixed = tuple((first + int(p), 1) for (first, _), p in zip(outer, reversed(point), strict=True))
        for start in range(0, extent, step):
            yield (*domain[:inner], (low + start, min(step, extent - start)), *fixed)
