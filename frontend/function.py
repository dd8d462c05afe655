"""Functions of a pipeline as written by the user: definitions, updates, continuations, promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from tilefuse.dialects.diagnostics import user_position
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.types import MAX_RANK
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr, as_expr
from tilefuse.frontend.implicit import expanded, implicit_count
from tilefuse.frontend.inputs import OutputImageParam, checked_bounds
from tilefuse.frontend.random import placed
from tilefuse.frontend.rdom import RDom
from tilefuse.frontend.reads import Reads, find_reads
from tilefuse.frontend.schedule import SCHEDULING, ScheduleCall, Stage, recorder
from tilefuse.frontend.sources import Source, Tuple, as_key, values_of
from tilefuse.frontend.types import Type
from tilefuse.frontend.unset import Unevaluated, Unset
from tilefuse.frontend.update import UpdateDefinition, make_update
from tilefuse.frontend.var import Var


class PureDefinition(NamedTuple):
    """A checked definition `f[args] = values`."""

    args: tuple[str, ...]
    values: tuple[Expr, ...]
    reads: Reads


class Continuation(NamedTuple):
    """A source continued outside `box`: (min, extent) per dimension, or None where it is not continued."""

    kind: BoundaryKind
    source: Source
    box: tuple[tuple[Expr, Expr] | None, ...] | None
    """None: the source's own box, in all dimensions."""
    exterior: tuple[Expr, ...] | None
    reads: Reads


def _required(given: Sequence[Any]) -> tuple[tuple[Type, ...], int]:
    """Return the types and dimensions that `Func(types, dimensions, ...)` requires of its definition."""
    types, rank = given
    types = tuple(types) if isinstance(types, list | tuple) else (types,)
    if not all(isinstance(t, Type) for t in types) or not isinstance(rank, int):
        fail("Func takes a name, or its types, its number of dimensions and a name: Func(UInt(8), 2, 'f')")
    return types, rank


def _listed(types: Sequence[Type]) -> str:
    return str(types[0]) if len(types) == 1 else f"({', '.join(map(str, types))})"


class Function(Source):
    """Definition, updates and promises of a function; the user holds it as a `Func`."""

    def __init__(self, *given: Any, name: str | None = None):
        of = given[0] if len(given) == 1 and isinstance(given[0], Expr | Source) else None
        self._required = _required(given[:2]) if len(given) > 1 else None
        names = given[2:] if self._required is not None else given if of is None else ()
        super().__init__("Func", names[0] if names else name, "f")
        self.definition: PureDefinition | None = None
        self.updates: list[UpdateDefinition] = []
        self.continuation: Continuation | None = None
        """The function that it continues, if BoundaryConditions made it."""
        self.bounds: dict[str, tuple[int, int]] = {}
        self.schedule_calls: list[ScheduleCall] = []
        """Scheduling calls, which are ignored."""
        if of is not None:
            self[Var("_")] = of[Var("_")] if isinstance(of, Source) else of

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Unevaluated):
            value.define(self, key)
            return
        if self.defined():
            self.update_over(None, key, value)
            return
        name = self._name
        values = values_of(value)
        if not values:
            fail(f"Func '{name}' is defined by an empty tuple")
        exprs = tuple(as_expr(v) for v in values)
        args = tuple(self._argument(k) for k in expanded(as_key(key), implicit_count(exprs), f"Func '{name}'"))
        if len(set(args)) != len(args):
            fail(f"Func '{name}' names a coordinate twice: {', '.join(args)}")
        if len(args) > MAX_RANK:
            fail(f"Func '{name}' has {len(args)} dimensions; at most {MAX_RANK} are possible")
        self._check_required(exprs, args)
        exprs = placed(exprs, [Var(a) for a in args])
        self.definition = PureDefinition(args, exprs, find_reads(exprs, args, f"Func '{name}'"))
        self.position = user_position()

    def _check_required(self, exprs: Sequence[Expr], args: Sequence[str]) -> None:
        if self._required is None:
            return
        types, rank = self._required
        if len(args) != rank:
            fail(
                f'Func "{self._name}" is constrained to have exactly {rank} dimensions, but is defined with '
                f"{len(args)} dimensions"
            )
        if types != (found := tuple(e.type() for e in exprs)):
            fail(
                f'Func "{self._name}" is constrained to only hold values of type {_listed(types)} but is defined with '
                f"values of type {_listed(found)}"
            )

    def _argument(self, key: Any) -> str:
        if isinstance(key, Var):
            return key.name()
        fail(
            f"Func '{self._name}' is defined at Vars, as in {self._name}[x, y] = ..., not at {key!r}; what is assigned "
            "after that may stand anywhere"
        )

    def update_over(self, domain: RDom | None, key: Any, value: Any, inline: bool = False) -> None:
        """Add the update `self[key] = value` over a domain, even if nothing depends on its point.

        `inline`: it stands in an expression.
        """
        if self.continuation is not None:
            fail(f"Func '{self._name}' is a boundary condition, which has no updates; update a Func that copies it")
        if self.read_by is not None:
            fail(
                f"Func '{self._name}' cannot be updated any more: {self.read_by} reads it already; write all updates "
                "before the first use, and a reduction of the Func itself as an update over its RDom"
            )
        assert self.definition is not None
        self.updates.append(make_update(self, self.definition.args, key, value, domain, inline))

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if self.defined() else Unset(self, key)

    def check_readable(self) -> None:
        if not self.defined():
            Unset(self, ()).as_expr()

    def defined(self) -> bool:
        """Whether the function has a definition."""
        return self.definition is not None or self.continuation is not None

    def value_types(self) -> tuple[Type, ...]:
        if self.continuation is not None:
            return self.continuation.source.value_types()
        assert self.definition is not None
        return tuple(v.type() for v in self.definition.values)

    def rank(self) -> int:
        if self.continuation is not None:
            return self.continuation.source.rank()
        assert self.definition is not None
        return len(self.definition.args)

    def reads(self) -> Reads:
        """Return the functions and Params that its definitions need."""
        if self.continuation is not None:
            return self.continuation.reads
        self.check_readable()
        assert self.definition is not None
        all_reads = [self.definition.reads, *(update.reads for update in self.updates)]
        sources = {id(s): s for reads in all_reads for s in reads.sources}
        params = {id(p): p for reads in all_reads for p in reads.params}
        return Reads(tuple(sources.values()), tuple(params.values()))

    def has_update_definition(self) -> bool:
        """Whether the function has updates."""
        return bool(self.updates)

    def _update(self, index: int) -> UpdateDefinition:
        if not 0 <= index < len(self.updates):
            fail(f"Func '{self._name}' has {len(self.updates)} updates; there is no update({index})")
        return self.updates[index]

    def update(self, index: int = 0) -> Stage:
        """Return an update for scheduling calls, which are ignored."""
        self._update(index)
        return Stage(self, f"{self._name}.update({index})", self.schedule_calls)

    def update_args(self, index: int = 0) -> list[Expr]:
        """Return the positions that an update writes."""
        return list(self._update(index).args)

    def update_values(self, index: int = 0) -> Tuple:
        """Return the Exprs that an update writes."""
        return Tuple(*self._update(index).written(self))

    def update_value(self, index: int = 0) -> Expr:
        """Return the Expr that an update writes; PipelineError if there are several."""
        values = self.update_values(index)
        if len(values) != 1:
            fail(f"Func '{self._name}' has {len(values)} values; use update_values()")
        return values[0]  # type: ignore[no-any-return]

    def rvars(self, index: int = 0) -> list[Expr]:
        """Return the dimensions of an update's RDom."""
        return list(self._update(index).domain or ())

    def num_update_definitions(self) -> int:
        """Return the number of updates."""
        return len(self.updates)

    def types(self) -> list[Type]:
        """Return the types of its values."""
        if not self.defined() and self._required is not None:
            return list(self._required[0])
        self._check_known("types")
        return list(self.value_types())

    def type(self) -> Type:
        """Return the type of its value; PipelineError if it has several."""
        types = self.types()
        if len(types) != 1:
            fail(f"Func '{self._name}' has {len(types)} values, so it returns a Tuple; use types()")
        return types[0]

    def dimensions(self) -> int:
        """Return the number of dimensions."""
        if not self.defined() and self._required is not None:
            return self._required[1]
        self._check_known("dimensions")
        return self.rank()

    def _check_known(self, what: str) -> None:
        if not self.defined():
            fail(f"Func '{self._name}' has no {what}: it is undefined")

    def outputs(self) -> int:
        """Return the number of values at a point."""
        return len(self.types())

    def args(self) -> list[Var]:
        """Return the coordinates of its definition."""
        return [Var(a) for a in self.definition.args] if self.definition else []

    def value(self) -> Expr:
        """Return the Expr that defines it; PipelineError if there are several."""
        values = self.values()
        if len(values) != 1:
            fail(f"Func '{self._name}' has {len(values)} values; use values()")
        return self.definition.values[0]  # type: ignore[union-attr]

    def values(self) -> Tuple:
        """Return the Exprs that define it."""
        if self.definition is None:
            fail(f"Func '{self._name}' is not defined by expressions")
        return Tuple(*self.definition.values)

    def bound(self, var: Var, min: Any, extent: Any) -> Self:
        """Promise that only coordinates from `min` to `min + extent - 1` of `var` are ever requested.

        A promise of numbers that are known at the call alone is a scheduling call, which is ignored.
        """
        min, extent = (v.data if isinstance(v, Expr) and v.op == "const" else v for v in (min, extent))
        if isinstance(min, Expr) or isinstance(extent, Expr):
            recorder(self, self._name, self.schedule_calls, "bound")(var, min, extent)
            return self
        if self.definition is None:
            fail(f"Func '{self._name}' is bound after it is defined, and not if it is a boundary condition")
        if not isinstance(var, Var) or var.name() not in self.definition.args:
            known = ", ".join(self.definition.args)
            fail(f"Func '{self._name}' has no coordinate {var!r}; there are {known}")
        self.bounds[var.name()] = checked_bounds(self._name, min, extent)
        return self

    def output_buffer(self) -> OutputImageParam:
        """Return the output buffer of the pipeline, for promises about its box."""
        self.check_readable()
        return OutputImageParam(self)

    def __getattr__(self, name: str) -> Any:
        if name in SCHEDULING:
            return recorder(self, self._name, self.schedule_calls, name)
        if name == "define_extern":
            raise AttributeError(f"Func '{self._name}' has no {name}(): that is not there yet")
        if name.startswith("compile_to"):
            raise AttributeError(f"a Func has no {name}(): compile_to_c writes its code, and programs can be pickled")
        raise AttributeError(f"a Func has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *SCHEDULING])
