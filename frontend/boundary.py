"""BoundaryConditions: an image or Func continued outside a box."""

from __future__ import annotations

from typing import Any

from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr, as_expr, cast_to, integer_index, literal
from tilefuse.frontend.func import Func
from tilefuse.frontend.function import Continuation
from tilefuse.frontend.inputs import Image
from tilefuse.frontend.reads import Reads, find_reads
from tilefuse.frontend.sources import Source, Tuple
from tilefuse.frontend.types import Type
from tilefuse.frontend.walk import expr_text, postorder

Bounds = list[tuple[Any, Any] | None]


class BoundaryConditions:
    """Halide's boundary conditions, each as a Func that is defined everywhere.

    `f`: an ImageParam or Buffer, or a Func with `bounds`. `bounds`: one (min, extent) per dimension, integers
    or Exprs of the sizes of images; None leaves a dimension as it is. Without, the box of the image.
    """

    @staticmethod
    def repeat_edge(f: Any, bounds: Bounds | None = None) -> Func:
        """Repeat the nearest value inside: a a [a b c] c c."""
        return _continued(BoundaryKind.RepeatEdge, f, bounds)

    @staticmethod
    def mirror_image(f: Any, bounds: Bounds | None = None) -> Func:
        """Mirror the image, edges twice: b a [a b c] c b."""
        return _continued(BoundaryKind.MirrorImage, f, bounds)

    @staticmethod
    def mirror_interior(f: Any, bounds: Bounds | None = None) -> Func:
        """Mirror the image about its edges: c b [a b c] b a."""
        return _continued(BoundaryKind.MirrorInterior, f, bounds)

    @staticmethod
    def repeat_image(f: Any, bounds: Bounds | None = None) -> Func:
        """Repeat the image: b c [a b c] a b."""
        return _continued(BoundaryKind.RepeatImage, f, bounds)

    @staticmethod
    def constant_exterior(f: Any, exterior: Any, bounds: Bounds | None = None) -> Func:
        """Return `exterior` outside: a number or an Expr of Params (a tuple for several values)."""
        return _continued(BoundaryKind.ConstantExterior, f, bounds, exterior)


def _continued(kind: BoundaryKind, f: Any, bounds: Bounds | None, exterior: Any = None) -> Func:
    if not isinstance(f, Source):
        fail(f"{kind.value} takes an ImageParam, a Buffer or a Func, not {f!r}")
    f.check_readable()
    if bounds is None and not isinstance(f, Image):
        fail(
            f"{kind.value} of Func '{f.name()}' needs bounds, one (min, extent) per dimension: "
            "only an image has a box of its own"
        )
    box = None if bounds is None else _box(kind, f, bounds)
    outside = None if kind != BoundaryKind.ConstantExterior else _exterior(f, exterior)
    exprs = tuple(e for pair in box or () if pair is not None for e in pair) + (outside or ())
    what = f"{kind.value} of '{f.name()}'"
    reads = find_reads(exprs, (), what)
    for e in postorder(exprs):
        if e.op == "call":
            fail(f"{what}: bounds and exterior come before pixels; they cannot read '{e.data[0].name()}'")
        if e.op == "require":
            fail(f"{what}: bounds and exterior come before pixels; require something of the Func instead")
        if e.op == "random":
            fail(f"{what}: bounds and exterior come before pixels; they have no random numbers")
    f.read_by = f.read_by or what
    func = Func(f"{f.name()}_{kind.value}" if f.named else None)
    func.continuation = Continuation(kind, f, box, outside, Reads((f, *reads.sources), reads.params))
    return func


def _box(kind: BoundaryKind, f: Source, bounds: Any) -> tuple[tuple[Expr, Expr] | None, ...]:
    pairs = [None if p is None or all(map(_is_open, p)) else tuple(p) for p in bounds]
    if len(pairs) > f.rank():
        fail(f"{kind.value} of '{f.name()}': bounds for {len(pairs)} dimensions, but it has {f.rank()}")
    pairs += [None] * (f.rank() - len(pairs))
    if all(p is None for p in pairs):
        fail(f"{kind.value} of '{f.name()}': bounds leave each dimension as it is; give one a (min, extent)")
    return tuple(None if p is None else _pair(kind, f, p) for p in pairs)


def _is_open(bound: Any) -> bool:
    return bound is None or (isinstance(bound, Expr) and not bound.defined())


def _pair(kind: BoundaryKind, f: Source, pair: tuple[Any, ...]) -> tuple[Expr, Expr]:
    if len(pair) != 2:
        fail(f"{kind.value} of '{f.name()}': bounds are (min, extent) per dimension, not {pair!r}")
    low, extent = (as_expr(v) for v in pair)
    for value in (low, extent):
        if value.type().is_float():
            fail(f"{kind.value} of '{f.name()}': the bound {expr_text(value)} is {value.type()}, no integer")
    if extent.op == "const" and extent.data <= 0:
        fail(f"{kind.value} of '{f.name()}': the extent {extent.data} must be positive")
    where = f"{kind.value} of '{f.name()}': the bound"
    return integer_index(low, where), integer_index(extent, where)


def _exterior(f: Source, value: Any) -> tuple[Expr, ...]:
    values = tuple(value) if isinstance(value, tuple | list | Tuple) else (value,)
    types = f.value_types()
    if len(values) != len(types):
        fail(f"constant_exterior of '{f.name()}': {len(values)} values given, but it has {len(types)}")
    return tuple(_of_type(f, v, t) for v, t in zip(values, types, strict=True))


def _of_type(f: Source, value: Any, type: Type) -> Expr:
    if isinstance(value, int):
        return literal(type, value)
    expr = as_expr(value)
    if expr.type() != type and not (expr.op == "const" and type.can_represent(expr.data)):
        if not (type.is_float() and expr.op == "const"):
            fail(f"constant_exterior of '{f.name()}': the value is {expr.type()}, a pixel is {type}; cast it")
    return cast_to(type, expr)
