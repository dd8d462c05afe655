"""Makes a program that fails small, with less of all as long as it fails in the same way; prints it as a test."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from child_process import in_child
from language_check import Different, load_all, way_as_halide, way_on_gpu, ways
from language_program import (
    COMPARISONS,
    CONTRARY,
    FLOATS,
    REDUCTIONS,
    Boundary,
    Domain,
    E,
    Program,
    Stage,
    Update,
    const,
    domain_of,
    expressions,
    literal,
    names_read,
    text,
    walk,
)
from language_ranges import Beyond, ranges_of
from random_language import random_language

LIMIT = 60
"""Seconds for one program."""


Check = Callable[[Program, str | None], Any]
"""Raises if a program fails; tries one way only, if one is named."""


@dataclass(frozen=True)
class Failure:
    """Kind of failure of a check, equal for similar failures."""

    what: str
    way: str | None = None


def failure(program: Program, check: Check, way: str | None = None) -> Failure | None:
    """Return the failure of a check of a program; None if it passes, or the program has no meaning."""
    try:
        ranges_of(program)
    except (Beyond, KeyError):
        return None
    if not all(_depends(e) for stage in program.stages for e in expressions(stage)):
        return None
    found = in_child(lambda: _ended(program, check, way), LIMIT)
    return Failure(found, way) if isinstance(found, str) else found  # type: ignore[no-any-return]


def _depends(e: E) -> bool:
    """Whether every reduction in an expression has terms that depend on its domain: of others Halide takes one."""
    for part in walk(e):
        domain = domain_of(part)
        if domain is not None:
            inside = walk(part.args[0])
            if not any(x.op == "rvar" and x.data[0] == domain.name for x in inside):
                return False
    return True


def _ended(program: Program, check: Check, way: str | None) -> Failure | None:
    try:
        check(program, way)
    except Different as error:
        return Failure(f"Different: {str(error).split(':')[0]}", *getattr(error, "__notes__", [way])[:1])
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} in {frame.name} of {Path(frame.filename).name}: {_plain(str(error))}"
        return Failure(what, *getattr(error, "__notes__", [way])[:1])
    return None


def _plain(message: str) -> str:
    """Return words of a message, without names and numbers."""
    return " ".join(re.findall(r"[a-z]{3,}", re.sub(r"'[^']*'|\"[^\"]*\"|<[^>]*>|\([^)]*\)", "", message)))[:200]


def shrunk(program: Program, check: Check, seconds: float) -> tuple[Program, Failure]:
    """Return the smallest program found that fails as `program` does, and how."""
    until = time.monotonic() + seconds
    load_all()  # once, not in each child
    wanted = failure(program, check)
    if wanted is None:
        raise ValueError("the program does not fail when it is tried again")
    tried: set[str] = set()
    better = True
    while better and time.monotonic() < until:
        better, place = False, 0
        while (
            found := _next(program, place, tried, lambda p: failure(p, check, wanted.way) == wanted, until)
        ) is not None:
            (program, place), better = found, True
    return program, wanted


def _next(
    program: Program, place: int, tried: set[str], fails: Callable[[Program], bool], until: float
) -> tuple[Program, int] | None:
    """Return the next smaller program, from a place in the list of candidates on, and its place."""
    weight = _weight(program)
    for n, candidate in enumerate(candidates(program)):
        if time.monotonic() > until:
            return None
        if n < place:
            continue
        small = pruned(candidate)
        key = repr(small)
        if key in tried or _weight(small) >= weight:
            continue
        tried.add(key)
        if fails(small):
            return small, n
    return None


def _weight(program: Program) -> tuple[int, int]:
    """Return the size of a program for comparison: its text, then its points."""
    points = sum(sum(o.extents) + sum(map(abs, o.mins)) for o in program.outputs)
    return len(text(program)) + 10 * sum(map(sum, (i.extents for i in program.inputs))), points


def pruned(program: Program) -> Program:
    """Remove stages, inputs and params that nothing needs."""
    needed = {o.name for o in program.outputs}
    kept: list[Stage | Boundary] = []
    for stage in reversed(program.stages):
        if stage.name in needed:
            kept.insert(0, stage)
            needed |= names_read(stage)
    outputs = tuple(replace(o, values=len(program.stage(o.name).values)) for o in program.outputs)
    return Program(
        tuple(i for i in program.inputs if i.name in needed),
        tuple(p for p in program.params if p.name in needed),
        tuple(kept),
        outputs,
    )


# --- what is simpler


def candidates(program: Program) -> Iterator[Program]:
    """Yield smaller programs, the smallest first."""
    yield from _fewer_outputs(program)
    for n in reversed(range(len(program.stages))):
        stage = program.stages[n]
        if isinstance(stage, Stage):
            yield from _ends_at(program, stage)
    for name in [
        *(s.name for s in program.stages),
        *(p.name for p in program.params),
        *(i.name for i in program.inputs),
    ]:
        stages = tuple(_in_stage(s, lambda e, name=name: _unread(e, name)) for s in program.stages)
        yield replace(program, stages=stages)
    for n in reversed(range(len(program.stages))):
        for simpler in _fewer_parts(program.stages[n]):
            yield _with_stage(program, n, simpler)
        yield from _lower_rank(program, n)
        yield from _fewer_values(program, n)
    for o, output in enumerate(program.outputs):
        for changed in _smaller_boxes(output):
            yield replace(program, outputs=(*program.outputs[:o], changed, *program.outputs[o + 1 :]))
    for n in reversed(range(len(program.stages))):
        for simpler in _simpler_expressions(program.stages[n]):
            yield _with_stage(program, n, simpler)
    for k, i in enumerate(program.inputs):
        for d, extent in enumerate(i.extents):
            if extent > 1:
                for less in (1, 2, extent // 2, extent - 1):
                    extents = (*i.extents[:d], less, *i.extents[d + 1 :])
                    yield replace(
                        program, inputs=(*program.inputs[:k], replace(i, extents=extents), *program.inputs[k + 1 :])
                    )


def _unread(e: E, name: str) -> E | None:
    """Replace a read of a function or a param by 1."""
    if (e.op == "read" and e.data[0] == name) or (e.op == "param" and e.data == name):
        return const(e.type, 1.0 if e.type in FLOATS else 1)
    return None


def _with_stage(program: Program, n: int, stage: Stage | Boundary) -> Program:
    return replace(program, stages=(*program.stages[:n], stage, *program.stages[n + 1 :]))


def _fewer_outputs(program: Program) -> Iterator[Program]:
    if len(program.outputs) > 1:
        for output in program.outputs:
            yield replace(program, outputs=(output,))
        for n in range(len(program.outputs)):
            yield replace(program, outputs=(*program.outputs[:n], *program.outputs[n + 1 :]))


def _ends_at(program: Program, stage: Stage) -> Iterator[Program]:
    """Yield an earlier stage as the only output."""
    if stage.name not in [o.name for o in program.outputs] and program.outputs:
        first = program.outputs[0]
        extents = (*first.extents, *(3,) * len(stage.vars))[: len(stage.vars)]
        yield replace(
            program,
            outputs=(replace(first, name=stage.name, mins=(0,) * len(extents), extents=extents, ulps=stage.ulps),),
        )


def _fewer_parts(stage: Stage | Boundary) -> Iterator[Stage | Boundary]:
    if isinstance(stage, Boundary):
        if stage.kind != "repeat_edge":
            yield replace(stage, kind="repeat_edge", exterior=None)
        return
    if stage.updates:
        yield replace(stage, updates=())
    for n, update in enumerate(stage.updates):
        yield replace(stage, updates=(*stage.updates[:n], *stage.updates[n + 1 :]))
        for simpler in _simpler_updates(update):
            yield replace(stage, updates=(*stage.updates[:n], simpler, *stage.updates[n + 1 :]))


def _simpler_updates(update: Update) -> Iterator[Update]:
    if update.op != "=":
        yield replace(update, op="=")
    domain = update.domain
    if domain is None:
        return
    for w in range(len(domain.where)):
        yield replace(update, domain=replace(domain, where=(*domain.where[:w], *domain.where[w + 1 :])))
    if domain.over is not None:
        yield replace(update, domain=replace(domain, over=None))
        return
    for d, (low, extent) in enumerate(domain.ranges):
        if low.op == "literal":
            yield _without_dimension(update, domain, d, low)
        if extent.op != "literal":
            yield replace(update, domain=_with_range(domain, d, (low, literal(2))))
        elif extent.data > 1:
            for less in (1, 2, extent.data // 2, extent.data - 1):
                yield replace(update, domain=_with_range(domain, d, (low, literal(less))))
        if low != literal(0):
            yield replace(update, domain=_with_range(domain, d, (literal(0), extent)))


def _with_range(domain: Domain, d: int, pair: tuple[E, E]) -> Domain:
    return replace(domain, ranges=(*domain.ranges[:d], pair, *domain.ranges[d + 1 :]))


def _without_dimension(update: Update, domain: Domain, d: int, low: E) -> Update:
    """Restrict a dimension of the domain to one point."""

    def change(e: E) -> E | None:
        if e.op == "rvar" and e.data[0] == domain.name:
            at = e.data[1]
            return low if at == d else replace(e, data=(domain.name, at - (at > d)))
        return None

    ranges = (*domain.ranges[:d], *domain.ranges[d + 1 :])
    less = replace(domain, ranges=ranges, where=tuple(changed(w, change) for w in domain.where)) if ranges else None
    place, values = ([changed(e, change) for e in those] for those in (update.place, update.values))
    return replace(update, place=tuple(place), values=tuple(values), domain=less)


def changed(e: E, change: Callable[[E], E | None]) -> E:
    """Return an expression with parts exchanged, outer ones first."""
    new = change(e)
    if new is not None:
        return new
    args = tuple(changed(a, change) for a in e.args)
    return e if all(a is b for a, b in zip(args, e.args, strict=True)) else replace(e, args=args)


def _in_stage(stage: Stage | Boundary, change: Callable[[E], E | None]) -> Stage | Boundary:
    def all_of(those: tuple[E, ...]) -> tuple[E, ...]:
        return tuple(changed(e, change) for e in those)

    if isinstance(stage, Boundary):
        return stage
    updates = tuple(
        replace(
            u,
            place=all_of(u.place),
            values=all_of(u.values),
            domain=u.domain and replace(u.domain, where=all_of(u.domain.where)),
        )
        for u in stage.updates
    )
    return replace(stage, values=all_of(stage.values), updates=updates)


def _lower_rank(program: Program, n: int) -> Iterator[Program]:
    """Yield a stage without one of its dimensions, which is 0 in it."""
    stage = program.stages[n]
    if not isinstance(stage, Stage) or any(isinstance(s, Boundary) and s.source == stage.name for s in program.stages):
        return
    for d, name in enumerate(stage.vars):

        def change(e: E, d: int = d) -> E | None:
            if e.op == "read" and e.data[0] == stage.name:
                args = tuple(changed(a, change) for k, a in enumerate(e.args) if k != d)
                return replace(e, args=args)
            return None

        def own(e: E, name: str = name, change: Any = change) -> E | None:
            return literal(0) if e.op == "var" and e.data == name else change(e)

        less = replace(
            stage,
            vars=(*stage.vars[:d], *stage.vars[d + 1 :]),
            updates=tuple(replace(u, place=(*u.place[:d], *u.place[d + 1 :])) for u in stage.updates),
        )
        stages = [_in_stage(s, change) if k != n else _in_stage(less, own) for k, s in enumerate(program.stages)]
        outputs = tuple(
            replace(o, mins=(*o.mins[:d], *o.mins[d + 1 :]), extents=(*o.extents[:d], *o.extents[d + 1 :]))
            if o.name == stage.name
            else o
            for o in program.outputs
        )
        yield replace(program, stages=tuple(stages), outputs=outputs)


def _fewer_values(program: Program, n: int) -> Iterator[Program]:
    """Yield a tuple without one of its values, which then is 0 where it is read."""
    stage = program.stages[n]
    if not isinstance(stage, Stage) or len(stage.values) == 1:
        return
    left = len(stage.values) - 1
    for k, gone in enumerate(stage.values):

        def change(e: E, k: int = k, gone: E = gone) -> E | None:
            if e.op == "read" and e.data[0] == stage.name:
                if e.data[1] == k:
                    return _zero(gone.type)
                args = tuple(changed(a, change) for a in e.args)
                return replace(e, args=args, data=(stage.name, None if left == 1 else e.data[1] - (e.data[1] > k)))
            return None

        less = replace(
            stage,
            values=(*stage.values[:k], *stage.values[k + 1 :]),
            updates=tuple(replace(u, values=(*u.values[:k], *u.values[k + 1 :])) for u in stage.updates),
        )
        stages = (_in_stage(less if j == n else s, change) for j, s in enumerate(program.stages))
        yield replace(program, stages=tuple(stages))


def _smaller_boxes(output: Any) -> Iterator[Any]:
    if any(output.mins):
        yield replace(output, mins=(0,) * len(output.mins))
    for d, extent in enumerate(output.extents):
        for less in sorted({1, 2, extent // 2, extent - 1}):
            if 0 < less < extent:
                yield replace(output, extents=(*output.extents[:d], less, *output.extents[d + 1 :]))


def _zero(type: str) -> E:
    return const(type, 0.0 if type in FLOATS else 0)


def _simpler_expressions(stage: Stage | Boundary) -> Iterator[Stage | Boundary]:
    if isinstance(stage, Boundary):
        return
    for k, value in enumerate(stage.values):
        for simpler in _simpler(value):
            yield replace(stage, values=(*stage.values[:k], simpler, *stage.values[k + 1 :]))
    for n, update in enumerate(stage.updates):
        for new in _simpler_in_update(update):
            yield replace(stage, updates=(*stage.updates[:n], new, *stage.updates[n + 1 :]))


def _simpler_in_update(update: Update) -> Iterator[Update]:
    for k, value in enumerate(update.values):
        for simpler in _simpler(value):
            yield replace(update, values=(*update.values[:k], simpler, *update.values[k + 1 :]))
    for k, place in enumerate(update.place):
        for simpler in _simpler(place):
            # self-reads at the same place go along
            yield replace(update, place=(*update.place[:k], simpler, *update.place[k + 1 :]))
    domain = update.domain
    for k, where in enumerate(domain.where if domain else ()):
        for simpler in _simpler(where):
            assert domain is not None
            yield replace(update, domain=replace(domain, where=(*domain.where[:k], simpler, *domain.where[k + 1 :])))


def _simpler(e: E) -> Iterator[E]:
    """Yield expressions of the same type with less in them, level by level."""
    levels: list[tuple[E, Callable[[E], E]]] = [(e, lambda x: x)]
    while levels:
        below: list[tuple[E, Callable[[E], E]]] = []
        for part, put in levels:
            for simpler in _instead_of(part):
                yield put(simpler)
            for k, arg in enumerate(part.args):

                def put_arg(x: E, part: E = part, k: int = k, put: Callable[[E], E] = put) -> E:
                    return put(replace(part, args=(*part.args[:k], x, *part.args[k + 1 :])))

                below.append((arg, put_arg))
        levels = below


def _instead_of(e: E) -> Iterator[E]:
    if e.op in ("const", "literal"):
        if e.data not in (0, 1):
            yield replace(e, data=type(e.data)(1))
        return
    for number in (0, 1):
        if e.type == "i32":
            yield (
                literal(number)
                if e.op in ("var", "rvar", "clamp", "add", "sub", "div", "mod")
                else const("i32", number)
            )
        else:
            yield const(e.type, float(number) if e.type in FLOATS else number)
    domain = domain_of(e)
    if domain is not None:
        yield from _reductions_without(e, domain)
        return
    for part in walk(e):
        if part is not e and part.type == e.type and not (e.op in COMPARISONS and part.op == "literal"):
            if not any(x.op in (*REDUCTIONS, *CONTRARY) for x in walk(e) if x is not part) or part in e.args:
                yield part


def _reductions_without(e: E, domain: Domain) -> Iterator[E]:
    body = e.args[0]
    if body.type == e.type:
        lows = [low for low, _ in domain.ranges]
        yield changed(body, lambda x: lows[x.data[1]] if x.op == "rvar" and x.data[0] == domain.name else None)


# --- as a test


def as_test(program: Program, kind: str, seed: int, how: str) -> str:
    """Return the program as text: a function, and the row of `CASES` in tests/properties/test_language_found.py."""
    name = f"{kind}_{seed}"
    made = text(program).replace("def program(", f"def {name}(", 1)
    head, body = made.split("\n", 1)
    inputs = ", ".join(map(repr, program.inputs))
    params = ", ".join(map(repr, program.params))
    outputs = ", ".join(map(repr, program.outputs))
    comma = {True: ",", False: ""}
    row = (
        f"    Case({name}, inputs=({inputs}{comma[len(program.inputs) == 1]}), "
        f"params=({params}{comma[len(program.params) == 1]}), outputs=({outputs},)),"
    )
    return f'{head}\n    """{how}"""\n{body}\n\n{row}\n'


def shrink(seed: int, died: bool, seconds: float) -> str:
    """Return a small program that fails on our back ends as the program of a seed does, as a test."""
    program, how = shrunk(random_language(seed), lambda p, way: ways(p, seed, way), seconds)
    return as_test(program, "language", seed, f"{how.way or ''} {how.what}".strip())


def shrink_as_halide(seed: int, died: bool, seconds: float) -> str:
    """Return a small program that the evaluator computes otherwise than the wheel, as a test."""
    program, how = shrunk(random_language(seed, wheel=True), lambda p, _: way_as_halide(p), seconds)
    return as_test(program, "halide", seed, how.what)


def shrink_on_gpu(seed: int, died: bool, seconds: float) -> str:
    """Return a small program that a GPU computes otherwise than the evaluator, as a test."""
    program, how = shrunk(random_language(seed), lambda p, _: way_on_gpu(p, seed), seconds)
    return as_test(program, "gpu", seed, how.what)
