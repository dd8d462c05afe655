"""Programs of the whole language as data, and the Python text that defines one for the halide wheel and for tilefuse.

A `Program` is what the generator draws (`random_language.py`), what is checked (`language_check.py`) and what is made
small (`language_shrink.py`). Expressions are trees of `E`; an operation is a row of `TEMPLATES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

UNSIGNED = ("u8", "u16", "u32", "u64")
SIGNED = ("i8", "i16", "i32", "i64")
INTEGERS = UNSIGNED + SIGNED
FLOATS = ("f16", "f32", "f64")


def bits(type: str) -> int:
    """Width of a type."""
    return 1 if type == "bool" else int(type[1:])


def type_text(type: str) -> str:
    """Return `hl.UInt(8)` for u8."""
    if type == "bool":
        return "hl.Bool()"
    return f"hl.{ {'u': 'UInt', 'i': 'Int', 'f': 'Float', 'b': 'BFloat'}[type[0]] }({type.lstrip('uifb')})"


@dataclass(frozen=True)
class E:
    """An expression: an operation, or a leaf."""

    op: str
    type: str
    args: tuple[E, ...] = ()
    data: Any = None
    """const, literal: the number. random: the seed. var, param: the name. rvar: (domain, dimension). size: (input,
    dimension, method). read: (function, value of its tuple or None). Reductions: the Domain; argmin, argmax: (Domain,
    component)."""


@dataclass(frozen=True)
class Domain:
    """An RDom: of ranges, or of the input `over`, whose sizes the ranges then are."""

    name: str
    ranges: tuple[tuple[E, E], ...]
    where: tuple[E, ...] = ()
    over: str | None = None


@dataclass(frozen=True)
class Update:
    """`f[place] op values`, op being =, +=, -= or *=."""

    place: tuple[E, ...]
    values: tuple[E, ...]
    domain: Domain | None = None
    op: str = "="


@dataclass(frozen=True)
class Stage:
    """A Func: its pure definition, and its updates."""

    name: str
    vars: tuple[str, ...]
    values: tuple[E, ...]
    updates: tuple[Update, ...] = ()
    ulps: int = 0
    """Tolerance in units of the last place for values of functions like `exp`."""


@dataclass(frozen=True)
class Boundary:
    """A boundary condition around an input or a stage."""

    name: str
    kind: str
    source: str
    box: tuple[tuple[E, E] | None, ...] | None
    """(min, extent) per dimension; None: that of the input."""
    exterior: E | None = None


@dataclass(frozen=True)
class Input:
    """A picture with random numbers from `low` to `high`."""

    name: str
    type: str
    extents: tuple[int, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Param:
    """A scalar, and the values of calls one after the other."""

    name: str
    type: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Output:
    """A requested stage, and its box."""

    name: str
    mins: tuple[int, ...]
    extents: tuple[int, ...]
    values: int = 1
    """Of a tuple."""
    ulps: int = 0
    """As of its stage."""

    def names(self) -> list[str]:
        """Names of its values."""
        return [self.name] if self.values == 1 else [f"{self.name}.{k}" for k in range(self.values)]


@dataclass(frozen=True)
class Case:
    """A program written by hand, or kept as text: a function and its arguments."""

    define: Callable[[Any, Mapping[str, Any], Mapping[str, float]], dict[str, Any]]
    """(hl, pictures by name, values of params by name) -> the outputs by name."""
    inputs: tuple[Input, ...] = ()
    params: tuple[Param, ...] = ()
    outputs: tuple[Output, ...] = ()


@dataclass(frozen=True)
class Program:
    """A program with its calls."""

    inputs: tuple[Input, ...]
    params: tuple[Param, ...]
    stages: tuple[Stage | Boundary, ...]
    outputs: tuple[Output, ...]

    def stage(self, name: str) -> Stage:
        """Return the stage of that name."""
        return next(s for s in self.stages if s.name == name and isinstance(s, Stage))

    def define(self, hl: Any, inputs: Mapping[str, Any], params: Mapping[str, float]) -> dict[str, Any]:
        """Return the outputs as Funcs of the wheel's or ours."""
        space: dict[str, Any] = {}
        exec(compile(text(self), "<program>", "exec"), space)
        found: dict[str, Any] = space["program"](hl, inputs, params)
        return found


_BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "&": "and", "|": "or", "^": "xor",
           "<<": "shl", ">>": "shr", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}  # fmt: skip
_FUNCTIONS = (
    "min max absd abs select clamp floor ceil round trunc sqrt popcount count_leading_zeros count_trailing_zeros "
    "saturating_add saturating_sub widening_add widening_sub widening_mul halving_add halving_sub "
    "rounding_halving_add mul_shift_right rounding_mul_shift_right rounding_shift_left rounding_shift_right "
    "likely is_nan exp log sin cos tanh erf strict_float fract lerp"
).split()
TEMPLATES = {
    **{name: f"({{}} {sign} {{}})" for sign, name in _BINARY.items()},
    **{name: f"hl.{name}" for name in _FUNCTIONS},
    "not": "(~{})",
    "neg": "(-{})",
}
"""Text of an operation: with {} for arguments, or the name of a function."""
REDUCTIONS = ("sum", "product", "maximum", "minimum")
CONTRARY = ("argmin", "argmax")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def const(type: str, number: float) -> E:
    """Return a number of a type."""
    return E("const", type, (), number)


def literal(number: int) -> E:
    """Return a Python number, which takes the type of the other operand."""
    return E("literal", "i32", (), number)


def var(name: str) -> E:
    """Return a coordinate."""
    return E("var", "i32", (), name)


def rvar(domain: str, dimension: int) -> E:
    """Return a coordinate of an RDom."""
    return E("rvar", "i32", (), (domain, dimension))


def cast(type: str, value: E) -> E:
    """Return `value` as another type."""
    return value if value.type == type else E("cast", type, (value,))


def binary(op: str, a: E, b: E, type: str | None = None) -> E:
    """Return an operation on two values, of the type of the first if none is said."""
    return E(op, "bool" if op in COMPARISONS else type or a.type, (a, b))


def walk(e: E) -> Iterator[E]:
    """Yield all subexpressions of an expression, itself first, including its domain."""
    yield e
    for a in e.args:
        yield from walk(a)
    domain = domain_of(e)
    if domain is not None:
        for d in _domain_expressions(domain):
            yield from walk(d)


def domain_of(e: E) -> Domain | None:
    """Return the RDom of an inline reduction."""
    if e.op in REDUCTIONS:
        return e.data  # type: ignore[no-any-return]
    return e.data[0] if e.op in CONTRARY else None


def _domain_expressions(domain: Domain) -> Iterator[E]:
    for pair in domain.ranges:
        yield from pair
    yield from domain.where


def expressions(stage: Stage | Boundary) -> Iterator[E]:
    """Yield the expressions that stand in a stage, not those inside of them."""
    if isinstance(stage, Boundary):
        for pair in stage.box or ():
            yield from pair or ()
        if stage.exterior is not None:
            yield stage.exterior
        return
    yield from stage.values
    for update in stage.updates:
        yield from update.place
        yield from update.values
        if update.domain is not None:
            yield from _domain_expressions(update.domain)


def names_read(stage: Stage | Boundary) -> set[str]:
    """Inputs, params and stages that one uses."""
    found = {stage.source} if isinstance(stage, Boundary) else set()
    domains = [] if isinstance(stage, Boundary) else [u.domain for u in stage.updates]
    for e in expressions(stage):
        for inner in walk(e):
            if inner.op in ("read", "size"):
                found.add(inner.data[0])
            elif inner.op == "param":
                found.add(inner.data)
            domains.append(domain_of(inner))
    return found | {d.over for d in domains if d is not None and d.over is not None}


# --- text


def text(program: Program) -> str:
    """Return the function `program(hl, inputs, params)`, which defines the stages and gives the outputs by name."""
    return "\n".join(_Text(program).lines()) + "\n"


@dataclass
class _Text:
    program: Program
    defined: set[str] = field(default_factory=set)

    def lines(self) -> Iterator[str]:
        program = self.program
        yield "def program(hl, inputs, params):"
        for i in program.inputs:
            yield f'    {i.name} = inputs["{i.name}"]'
        for p in program.params:
            yield f'    {p.name} = hl.Param({type_text(p.type)}, "{p.name}", params["{p.name}"])'
        variables = sorted({v for s in program.stages if isinstance(s, Stage) for v in s.vars})
        for name in variables:
            yield f'    {name} = hl.Var("{name}")'
        for stage in program.stages:
            made = self.boundary(stage) if isinstance(stage, Boundary) else self.stage(stage)
            yield from (f"    {line}" for line in made)
        outputs = ", ".join(f'"{o.name}": {o.name}' for o in program.outputs)
        yield f"    return {{{outputs}}}"

    def boundary(self, b: Boundary) -> Iterator[str]:
        arguments = [b.source]
        if b.exterior is not None:
            arguments.append(self.e(b.exterior))
        if b.box is not None:
            pairs = [f"({self.e(p[0])}, {self.e(p[1])})" if p else "(hl.Expr(), hl.Expr())" for p in b.box]
            arguments.append(f"[{', '.join(pairs)}]")
        yield f"{b.name} = hl.BoundaryConditions.{b.kind}({', '.join(arguments)})"

    def stage(self, s: Stage) -> Iterator[str]:
        yield f'{s.name} = hl.Func("{s.name}")'
        yield from self.inline_domains(s.values)
        yield f"{s.name}[{', '.join(s.vars) or '()'}] = {self.tuple(s.values)}"
        for update in s.updates:
            if update.domain is not None:
                yield from self.domain(update.domain)
            yield from self.inline_domains((*update.place, *update.values))
            place = ", ".join(self.e(p) for p in update.place) or "()"
            yield f"{s.name}[{place}] {update.op} {self.tuple(update.values)}"
        yield f"{s.name}.compute_root()"

    def inline_domains(self, values: tuple[E, ...]) -> Iterator[str]:
        for value in values:
            for e in walk(value):
                if (domain := domain_of(e)) is not None:
                    yield from self.domain(domain)

    def domain(self, d: Domain) -> Iterator[str]:
        if d.name in self.defined:
            return
        self.defined.add(d.name)
        pairs = ", ".join(f"({self.e(low)}, {self.e(extent)})" for low, extent in d.ranges)
        yield f"{d.name} = hl.RDom({d.over or f'[{pairs}]'})"
        for w in d.where:
            yield f"{d.name}.where({self.e(w)})"

    def tuple(self, values: tuple[E, ...]) -> str:
        inside = ", ".join(self.e(v) for v in values)
        return inside if len(values) == 1 else f"({inside})"

    def e(self, e: E) -> str:
        match e.op:
            case "const":
                if e.type in INTEGERS or e.type in ("f32", "f64"):
                    return f"hl.{e.type}({e.data!r})"
                return f"hl.cast({type_text(e.type)}, {e.data!r})"
            case "literal":
                return repr(e.data)
            case "var" | "param":
                return str(e.data)
            case "rvar":
                return f"{e.data[0]}[{e.data[1]}]"
            case "size":
                return f"{e.data[0]}.{_size(*e.data[1:])}"
            case "read":
                name, index = e.data
                inside = ", ".join(self.e(a) for a in e.args) or "()"
                return f"{name}[{inside}]" + ("" if index is None else f"[{index}]")
            case "cast":
                return f"hl.cast({type_text(e.type)}, {self.e(e.args[0])})"
            case "saturating_cast":
                return f"hl.{e.type}_sat({self.e(e.args[0])})"
            case "sum" | "product" | "maximum" | "minimum":
                return f"hl.{e.op}({e.data.name}, {self.e(e.args[0])})"
            case "argmin" | "argmax":
                return f"hl.{e.op}({e.data[0].name}, {self.e(e.args[0])})[{e.data[1]}]"
            case "random":
                return f"hl.random_{ {'u': 'uint', 'i': 'int', 'f': 'float'}[e.type[0]] }({e.data})"
            case "undef":
                return f"hl.undef({type_text(e.type)})"
        if e.op in ("add", "sub") and e.args[1].op == "literal" and e.args[1].data <= 0 and e.type == "i32":
            number, sign = -e.args[1].data, "-" if e.op == "add" else "+"
            return f"({self.e(e.args[0])} {sign} {number})" if number else self.e(e.args[0])
        template, arguments = TEMPLATES[e.op], [self.e(a) for a in e.args]
        if e.op == "select" and e.args[1].op == e.args[2].op == "read":
            arguments[1] = f"hl.cast({type_text(e.type)}, {arguments[1]})"  # of two reads the wheel makes a tuple
        return template.format(*arguments) if "{" in template else f"{template}({', '.join(arguments)})"


def _size(dimension: int, method: str) -> str:
    if method == "side":
        return ("width()", "height()", "channels()")[dimension]
    return f"dim({dimension}).{method}()"
