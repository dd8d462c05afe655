"""Rewriting of windows to chains: partial results pass from column to column, so terms of many columns are shared.

    out(x) = max(a(x - 2), b(x - 1), c(x), b(x + 1), a(x + 2))
    =>
    right2(x) = a(x);  right1(x) = max(b(x), right2(x + 1))
    left2(x) = a(x);   left1(x) = max(b(x), left2(x - 1))
    out(x) = max(c(x), right1(x + 1), left1(x - 1))

Each term is then computed at its own column, once for both directions, and a thread needs only the partial results of
its neighbours: one value per step, for any width of the window. Results are equal to the bit, since the combiners
permit any order. This is a part of `group-stages`, which compares the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tilefuse.analysis.access import coordinates, indices_of
from tilefuse.analysis.duplicates import hashable
from tilefuse.analysis.index import Index
from tilefuse.dialects.img.ops import BY_PLANES, PipelineOp, ReadOp, StageOp, YieldOp, prints
from tilefuse.dialects.img.types import FuncType

LEAST_COLUMNS = 9
"""Fewest columns of a window for which a chain pays."""

_EXACT = (
    arith.MaxnumfOp, arith.MinnumfOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, arith.AddiOp,
    arith.AndIOp, arith.OrIOp, arith.XOrIOp,
)  # fmt: skip
"""Combiners that give the same in any order."""


def chain_windows(pipeline: PipelineOp) -> list[list[StageOp]]:
    """Replace the windows of a pipeline by chains; return the stages of each, the window's own last."""
    found = []
    for stage in [s for s in pipeline.body.block.ops if isinstance(s, StageOp)]:
        if (window := window_of(stage)) is not None:
            found.append([*window.chain(), stage])
    return found


@dataclass(frozen=True)
class _WindowTerm:
    """A term of a window, computed from reads at one column."""

    value: SSAValue
    ops: Sequence[Operation]
    column: int
    """Column of its reads, relative to the stage's own."""


@dataclass(frozen=True)
class SumWindow:
    """A stage that combines terms of several columns."""

    stage: StageOp
    combiner: Callable[[SSAValue, SSAValue], Operation]
    terms: Mapping[int, Mapping[Hashable, _WindowTerm]]
    """Terms per column, keyed by their form at their own column; without terms that all columns share."""

    def chain(self) -> list[StageOp]:
        """Rewrite the stage; return the stages of its chains, which precede it."""
        made: list[StageOp] = []
        shared: dict[Hashable, StageOp] = {}
        ends: dict[bool, tuple[StageOp, int]] = {}
        kinds = [frozenset(terms) for terms in self.terms.values()]
        # both sides step by step, as they have their terms in common
        for column in sorted(self.terms, key=lambda c: (-abs(c), -c)):
            terms = self.terms[column]
            # what is no more than a read has nothing to compute
            computes = len(terms) > 1 or any(len(term.ops) > 1 for term in terms.values())
            if (kind := frozenset(terms)) not in shared and computes and kinds.count(kind) > 1:
                shared[kind] = self._stage(f"at{len(shared)}", partial(_WindowBody.terms, terms=list(terms.values())))
                made.append(shared[kind])
            side = column > 0
            if column and side not in ends and kind in shared:
                ends[side] = shared[kind], column
            elif column:
                ends[side] = self._step(column, ends.get(side), shared), column
                made.append(ends[side][0])
        self._finish(list(ends.values()), shared)
        return made

    def _step(self, column: int, before: tuple[StageOp, int] | None, shared: Mapping[Hashable, StageOp]) -> StageOp:
        """Return the partial result of one column's terms and those further out."""

        def values(body: _WindowBody) -> list[SSAValue]:
            found = self._here(body, column, shared)
            if before is not None:
                stage, at = before
                found.append(body.read(stage, at - column))
            return found

        return self._stage(f"{'right' if column > 0 else 'left'}{abs(column)}", values)

    def _here(self, body: _WindowBody, column: int, shared: Mapping[Hashable, StageOp]) -> list[SSAValue]:
        terms = self.terms.get(column, {})
        if (stage := shared.get(frozenset(terms))) is not None:
            return [body.read(stage, 0)]
        return body.terms(list(terms.values()))

    def _finish(self, ends: Sequence[tuple[StageOp, int]], shared: Mapping[Hashable, StageOp]) -> None:
        """Rewrite the stage to combine its own column with the ends of the chains."""
        body = _WindowBody(self.stage)
        found = self._here(body, 0, shared) + [body.read(stage, column) for stage, column in ends]
        body.block.add_op(YieldOp([self._joined(body, found)]))
        old = self.stage.body.block
        for op in reversed(list(old.ops)):
            op.detach()
            op.erase()
        for arg, new in zip(old.args, body.block.args, strict=True):
            new.replace_all_uses_with(arg)
        for op in list(body.block.ops):
            op.detach()
            old.add_op(op)
        self.stage.attributes[BY_PLANES] = UnitAttr()

    def _stage(self, name: str, values: Callable[[_WindowBody], Sequence[SSAValue]]) -> StageOp:
        body = _WindowBody(self.stage)
        body.block.add_op(YieldOp([self._joined(body, values(body))]))
        type = self.stage.funcs[0].type
        assert isinstance(type, FuncType)
        stage = StageOp(f"{self.stage.sym_name.data}_{name}", [type.element], Region(body.block))
        stage.location = self.stage.location
        parent = self.stage.parent_block()
        assert parent is not None
        parent.insert_op_before(stage, self.stage)
        return stage

    def _joined(self, body: _WindowBody, values: Sequence[SSAValue]) -> SSAValue:
        result = values[0]
        for value in values[1:]:
            op = self.combiner(result, value)
            body.block.add_op(op)
            result = op.results[0]
        return result


class _WindowBody:
    """The body of a new stage, with the coordinates of an existing one."""

    def __init__(self, stage: StageOp):
        self.stage, self.block = stage, Block(arg_types=[IndexType()] * stage.rank)
        for new, old in zip(self.block.args, stage.body.block.args, strict=True):
            new.name_hint = old.name_hint

    def read(self, stage: StageOp, column: int) -> SSAValue:
        """Read a stage `columns` to the right."""
        x, *others = (AffineExpr.dimension(d) for d in range(self.stage.rank))
        moved = x + column if column else x
        return self._add(ReadOp(stage.funcs[0], list(self.block.args), AffineMap(self.stage.rank, 0, (moved, *others))))

    def term(self, term: _WindowTerm) -> SSAValue:
        """Copy a term at its own column."""
        args = self.stage.body.block.args
        values: dict[SSAValue, SSAValue] = dict(zip(args, self.block.args, strict=True))
        for op in term.ops:
            copy = op.clone(values)
            if isinstance(copy, ReadOp):
                assert isinstance(op, ReadOp)
                copy.map = AffineMapAttr(_moved(op, args[0], -term.column))
            self.block.add_op(copy)
            for old, new in zip(op.results, copy.results, strict=True):
                values[old] = new
                new.name_hint = old.name_hint
        return values[term.value]

    def terms(self, terms: Sequence[_WindowTerm]) -> list[SSAValue]:
        """Copy several terms."""
        return [self.term(term) for term in terms]

    def _add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]


def _moved(op: ReadOp, x: SSAValue, by: int) -> AffineMap:
    """Return the map of a read with its index at x shifted; that index is x plus a constant."""
    map, of = op.map.data, list(op.indices).index(x)
    at = indices_of(op, {v: d for d, v in enumerate(op.indices)})
    results = []
    for index, expr in zip(at, map.results, strict=True):
        if isinstance(index, Index) and index.var == of:
            offset = index.offset + by
            results.append(AffineExpr.dimension(of) + offset if offset else AffineExpr.dimension(of))
        else:
            results.append(expr)
    return AffineMap(map.num_dims, 0, tuple(results))


def window_of(stage: StageOp) -> SumWindow | None:
    """Analyse a stage as a window; None if it combines otherwise, or too few columns."""
    yielded = stage.body.block.last_op
    if len(stage.funcs) != 1 or stage.rank < 2 or prints(stage) or not isinstance(yielded, YieldOp):
        return None
    combiner = type(yielded.values[0].owner)
    if combiner not in _EXACT:
        return None
    found: dict[int, dict[Hashable, _WindowTerm]] = {}
    leaves = list(_leaves(yielded.values[0], combiner))
    if len(leaves) < LEAST_COLUMNS:
        return None
    for value in leaves:
        term = _term(stage, value)
        if term is None:
            return None
        found.setdefault(term.column, {}).setdefault(_key(stage, term), term)
    if combiner in (arith.AddiOp, arith.XOrIOp) and sum(map(len, found.values())) != len(leaves):
        return None  # a term that is there twice
    return SumWindow(stage, combiner, found) if len(found) >= LEAST_COLUMNS else None


def _leaves(value: SSAValue, combiner: type[Operation]) -> Iterator[SSAValue]:
    """Return the leaves of a tree of combiners; inner results with other readers count as leaves."""
    waiting = [value]
    while waiting:
        top = waiting.pop()
        if type(top.owner) is combiner and (top is value or len(list(top.uses)) == 1):
            waiting += reversed(top.owner.operands)
        else:
            yield top


def _term(stage: StageOp, value: SSAValue) -> _WindowTerm | None:
    """Return a term with all operations that compute it; None unless its reads are of exactly one column."""
    block, needed = stage.body.block, {value}
    x, columns, ops = block.args[0], set[int](), []
    for op in reversed(list(block.ops)):
        if needed.isdisjoint(op.results):
            continue
        ops.append(op)
        needed.update(op.operands)
        if not isinstance(op, ReadOp):
            if x in op.operands:
                return None
            continue
        for index in indices_of(op, coordinates(stage)):
            if isinstance(index, Index) and index.var != 0:
                continue
            if not isinstance(index, Index) or (index.num, index.den) != (1, 1):
                return None
            columns.add(index.offset)
    return _WindowTerm(value, ops[::-1], columns.pop()) if len(columns) == 1 else None


def _key(stage: StageOp, term: _WindowTerm) -> Hashable:
    """Return a key that is equal for terms that differ only in their columns."""
    numbers: dict[SSAValue, Hashable] = {arg: d for d, arg in enumerate(stage.body.block.args)}
    found: list[Hashable] = []
    for op in term.ops:
        attributes = {**op.attributes, **op.properties}.items()
        facts: Hashable = tuple(sorted((k, hashable(a)) for k, a in attributes))
        if isinstance(op, ReadOp):
            where = indices_of(op, coordinates(stage))
            facts = tuple(("x", i.offset - term.column) if isinstance(i, Index) and i.var == 0 else i for i in where)
        found.append((op.name, facts, tuple(numbers.get(v, v) for v in op.operands), op.result_types))
        for result in op.results:
            numbers[result] = len(numbers)
    return tuple(found)
