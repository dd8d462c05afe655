"""Update definitions: `f[r.x] += e`, `f[im[r.x, r.y]] = ...`, checked by Halide's rules."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from tilefuse.dialects.diagnostics import SourcePosition, user_position
from tilefuse.dialects.img.strict import STRICT
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr, as_expr, binary, constant, literal, node, plain, same
from tilefuse.frontend.implicit import expanded
from tilefuse.frontend.random import placed
from tilefuse.frontend.rdom import RDom
from tilefuse.frontend.reads import Reads, find_reads
from tilefuse.frontend.sources import Source, as_key, values_of
from tilefuse.frontend.types import Type
from tilefuse.frontend.var import Var
from tilefuse.frontend.walk import expr_text, postorder


class UpdateWarning(UserWarning):
    """An update overwrites all values of earlier definitions."""


SET_COMBINER = "set"
_COMBINERS = ("add", "mul", "min", "max", "and", "or", "xor")


class UpdateDefinition(NamedTuple):
    """A checked update `f[args] = values` over a reduction domain."""

    args: tuple[Expr, ...]
    pure: tuple[str, ...]
    """The Vars among the arguments, in order."""
    values: tuple[Expr, ...]
    combine: tuple[str, ...]
    """Combiner of each value with the old one: `set`, or `add` where only what is added is among the values ..."""
    domain: RDom | None
    predicate: Expr | None
    reads: Reads
    position: SourcePosition
    inline: bool = False
    """Whether it is one of an expression like `sum(...)`."""

    def written(self, func: Source) -> list[Expr]:
        """Return the written values, each combined with the old one."""
        old_values = [node("call", t, self.args, (func, i)) for i, t in enumerate(func.value_types())]
        terms = zip(self.combine, old_values, self.values, strict=True)
        return [term if combine == SET_COMBINER else binary(combine, old, term) for combine, old, term in terms]


def make_update(
    func: Source, names: Sequence[str], key: Any, value: Any, over: RDom | None = None, inline: bool = False
) -> UpdateDefinition:
    """Make the update `func[key] = value` of a function defined at `names`; PipelineError if it is invalid.

    It goes over the RDom whose RVars it has; over `over`, if it has none. `inline`: it stands in an expression.
    """
    what = f"{func.name()}(...)" if inline else f"update of Func '{func.name()}'"
    given = as_key(key)
    keys = expanded(given, len(names) - len(given) + 1, what)
    if len(keys) != len(names):
        fail(f"{what}: it has {len(names)} dimensions, and {len(keys)} indices stand on the left")
    naked = [k.name() if isinstance(k, Var) and k.name() == name else None for k, name in zip(keys, names, strict=True)]
    args = tuple(func.index_of(k) for k in keys)
    if any(e.op == "undef" for e in postorder(args)):
        fail(f"{what}: undef stands in an index on the left; a place to write at is defined")
    values, condition = _defined_values(what, _values(what, func, value))
    domain = _domain(what, [*args, *values, *([condition] if condition is not None else [])]) or over
    conditions = [*(domain.predicates if domain is not None else ()), *([condition] if condition is not None else [])]
    predicate = None
    for c in conditions:
        predicate = c if predicate is None else binary("and", predicate, c)
    pure = tuple(n for n in naked if n is not None)
    every = placed(
        (*args, *values, *([predicate] if predicate is not None else [])), [*map(Var, pure), *(domain or ())]
    )
    args, values = every[: len(args)], every[len(args) : len(args) + len(values)]
    predicate = None if predicate is None else every[-1]
    _check_own_reads(what, func, every, naked)
    combine, terms = zip(*(_combiner(func, i, args, v) for i, v in enumerate(values)), strict=True)
    ranges = tuple(e for pair in domain.ranges for e in pair) if domain is not None else ()
    reads = find_reads((*every, *ranges), pure, what, own=func)
    if domain is not None:
        domain.used_by = domain.used_by or what
    update = UpdateDefinition(args, pure, terms, combine, domain, predicate, reads, user_position(), inline)
    if None not in naked and domain is None and predicate is None:
        _warn_if_all_is_lost(func, update)
    return update


def _warn_if_all_is_lost(func: Source, update: UpdateDefinition) -> None:
    """Warn of a definition that is overwritten: a notebook cell that ran twice, or a name used twice."""
    if any(e.op == "call" and e.data[0] is func for e in postorder(update.written(func))):
        return
    warnings.warn_explicit(
        f"Func '{func.name()}' has a definition, and this update writes over all of it; give a new Func another name",
        UpdateWarning,
        update.position.file,
        update.position.line,
    )


def _values(what: str, func: Source, value: Any) -> list[Expr]:
    types = func.value_types()
    given = values_of(value)
    if len(given) != len(types):
        fail(f"{what} gives {len(given)} values, but it has {len(types)}")
    return [_of_type(what, v, t) for v, t in zip(given, types, strict=True)]


def _of_type(what: str, value: Any, type: Type) -> Expr:
    value = plain(value)
    if isinstance(value, int) and not isinstance(value, bool) and not type.is_bool():
        return literal(type, value)
    if isinstance(value, float) and type.is_float():
        return constant(type, value)
    e = as_expr(value)
    if e.type() != type:
        fail(f"{what} gives {expr_text(e)} of type {e.type()}, but its definition is of type {type}; cast it")
    return e


def _defined_values(what: str, values: Sequence[Expr]) -> tuple[tuple[Expr, ...], Expr | None]:
    """Split values from their conditions: `select(c, v, undef(t))` writes v where `c` holds."""
    conditions: dict[int, tuple[Expr, bool]] = {}
    found = []
    for value in values:
        branches = [i for i in (1, 2) if value.op == "select" and value.args[i].op == "undef"]
        if len(branches) == 1:
            conditions[id(value.args[0])] = (value.args[0], branches[0] == 2)
            value = value.args[3 - branches[0]]
        if any(e.op == "undef" for e in postorder([value])):
            fail(f"{what}: undef is one branch of a select that is the whole value: select(condition, value, undef(t))")
        found.append(value)
    if len(conditions) > 1:
        fail(f"{what}: values that are left undefined in a tuple share one condition")
    for condition, holds in conditions.values():
        return tuple(found), condition if holds else binary("xor", condition, constant(condition.type(), 1))
    return tuple(found), None


def _domain(what: str, exprs: Sequence[Expr]) -> RDom | None:
    domains = {id(e.data[0]): e.data[0] for e in postorder(exprs) if e.op == "rvar"}
    for rdom in list(domains.values()):
        domains |= {id(e.data[0]): e.data[0] for e in postorder(rdom.predicates) if e.op == "rvar"}
    if len(domains) > 1:
        names = " and ".join(d.name() for d in domains.values())
        fail(f"{what} uses the RDoms {names}; an update goes over one, so make it one of more dimensions")
    return next(iter(domains.values()), None)


def _check_own_reads(what: str, func: Source, exprs: Sequence[Expr], naked: Sequence[str | None]) -> None:
    for e in postorder(exprs):
        if e.op != "call" or e.data[0] is not func:
            continue
        for index, name in zip(e.args, naked, strict=True):
            if name is not None and not (index.op == "var" and index.data == name):
                fail(
                    f"{what} reads itself at {expr_text(index)} where {name} stands on the left; a Var of the left "
                    "stands at the same place in all reads of the Func itself"
                )


def _combiner(func: Source, number: int, args: Sequence[Expr], value: Expr) -> tuple[str, Expr]:
    """Return (`add`, e) of `f[args] + e` if `e` does not read `f`; (`set`, value) of any other value."""
    if value.data is STRICT:  # of floats, in the order in which they come
        return SET_COMBINER, value
    if value.op in _COMBINERS and len(value.args) == 2 and not (value.op in ("and", "or") and value.type().is_float()):
        for own, term in (value.args, value.args[::-1]):
            at_place = own.op == "call" and own.data == (func, number) and all(map(same, own.args, args))
            if at_place and not any(e.op == "call" and e.data[0] is func for e in postorder([term, *args])):
                return value.op, term
    return SET_COMBINER, value


def undef(type: Type) -> Expr:
    """Return an undefined value: a definition leaves it to updates, an update's `select` does not write it."""
    if not isinstance(type, Type):
        fail(f"undef takes a type, as in undef(Int(32)), not {type!r}")
    return node("undef", type, ())
