"""`separate-kernels`: split sums over a rectangle into sums along y, then along x.

A sum of K x K neighbours of a function whose coefficients are a product, c[j] * d[i] (boxes, binomials, Gaussians),
takes 2 K instructions a point instead of K * K if a stage of its own sums along y and the sum along x is of that stage:

    %s = ... sum of c[j] * d[i] * %f[%x + i, %y + j] ...
      =>  %f_along_y = img.stage (%x, %y) -> ui16 { ... sum of c[j] * %f[%x, %y + j] ... }
          %s = ... sum of d[i] * %f_along_y[%x + i, %y] ...

Along y first: in a warp tile rows are in the lane's own registers, and neighbouring columns take shuffles, of which
there are then no more than before; and no sum is computed again for the rows of the halo. So sums that are written the
other way round, a stage along x that only sums across x read, change places if what they sum takes less than a word an
element; columns of words are registers of their own, and those sums stay. Integers wrap around, so they may be summed
in any order: no bit changes. Floats are separated with `float=true` only (`fast_math=True` in Python), since sums of
floats depend on their order. Equal sums along y of one function share a stage. Stages with a `place`, and those inside
groups, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tilefuse.analysis.access import free_name, function_name
from tilefuse.analysis.linear import Constant, Factors, LinearForm, OffsetVector, Taps, factors, linear_forms, wrap
from tilefuse.dialects.img.axes import letter
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, ReadOp, StageOp, YieldOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.dialects.options import check_numbers


@dataclass(frozen=True)
class SeparateKernels(ModulePass):
    """Split a sum over a rectangle with coefficients of rank 1 into a sum along y and a sum along x."""

    name = "separate-kernels"

    float: bool = False
    """Whether to separate sums of floats too; their results then differ by rounding."""
    min_saving: int = 3
    """Least number of saved instructions per point: 3 x 3 points save 4, 5 x 5 points 16."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_numbers(self, min_saving=0)
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                made = _SumStages(pipeline)
                for stage in [s for s in pipeline.body.walk() if isinstance(s, StageOp)]:
                    if stage.place is None and not isinstance(stage.parent_op(), GroupOp):
                        self._separate(stage, made)

    def _separate(self, stage: StageOp, made: _SumStages) -> None:
        block = stage.body.block
        for root, form in linear_forms(block, self.float).items():
            passed = self._see_through(form, root)
            found = {taps: best for taps, kernel in form.kernels.items() if (best := self._factors(kernel)) is not None}
            if found:
                _rewrite(root, form, found, made)
                _erase_unused([*block.ops])
                _erase_unused(passed)

    def _factors(self, kernel: dict[OffsetVector, Constant]) -> Factors | None:
        """Return the kernel as a product, if its separation saves enough."""
        rank = len(next(iter(kernel)))
        found = [
            f for d in _order(rank) if (f := factors(kernel, d)) is not None and _saved(kernel, f) >= self.min_saving
        ]
        return max(found, key=lambda f: _saved(kernel, f), default=None)

    def _see_through(self, form: LinearForm, root: SSAValue) -> list[StageOp]:
        """Inline a stage's sum along x into its only reader, a sum across x.

        Gives these stages. Their sums are of the same type, so that both wrap around alike.
        """
        passed = []
        for taps, kernel in list(form.kernels.items()):
            stage = taps.source.owner
            if not isinstance(stage, StageOp) or taps.cast is not None or any(o[:1] != (0,) for o in kernel):
                continue
            inner = _sum_along_x(stage, root, self.float)
            if inner is None or inner[0] in form.kernels or set(taps.scales) != {1} or not _is_small(inner[0].source):
                continue
            if sum(1 for _ in stage.funcs[0].uses) > form.reads[taps]:
                continue  # read otherwise, too
            both = {(dx, *o[1:]): c * d for o, c in kernel.items() for dx, d in inner[1].items()}
            if self._factors(both) is not None:
                del form.kernels[taps]
                form.kernels[inner[0]] = both
                passed.append(stage)
        return passed


def _is_small(source: SSAValue) -> bool:
    """Whether several elements share a register."""
    assert isinstance(source.type, FuncType)
    return element_bytes(source.type.element) < 4


def _erase_unused(ops: Sequence[Operation]) -> None:
    """Erase the unused ops of `ops`, which are in program order."""
    for op in reversed(ops):
        if op.results and not any(True for r in op.results for _ in r.uses):
            op.detach()
            op.erase()


def _sum_along_x(stage: StageOp, root: SSAValue, floats: bool) -> tuple[Taps, dict[int, Constant]] | None:
    """Find the reads that a stage sums along x, and their coefficients, if it does only this, for `root` alone."""
    assert isinstance(root.owner, Operation)
    reader = root.owner.parent_op()
    if stage.place is not None or stage.bounds is not None or len(stage.funcs) != 1:
        return None
    if any(use.operation.parent_op() is not reader for use in stage.funcs[0].uses):
        return None
    result = stage.yield_op.operands[0]
    form = linear_forms(stage.body.block, floats).get(result)
    if form is None or len(form.kernels) != 1 or form.others or form.constant or result.type != root.type:
        return None
    ((taps, kernel),) = form.kernels.items()
    if set(taps.scales) != {1} or any(any(o[1:]) for o in kernel):
        return None
    return taps, {o[0]: c for o, c in kernel.items()}


def _order(rank: int) -> Iterable[int]:
    """Return the dimensions to sum along first, by preference: not x, whose neighbours are other lanes."""
    return (*range(1, rank), 0) if rank else ()


def _saved(kernel: dict[OffsetVector, Constant], found: Factors) -> int:
    """Return the instructions saved per point: a sum of n terms takes n - 1, its products fused."""
    return len(kernel) - len(found.along) - len(found.across) + 1


@dataclass(frozen=True)
class _SumType:
    """Storage type of the sums along a dimension."""

    computed: Attribute
    element: Attribute
    cast: type[Operation] | None = None
    """Casts from the stored type to the type of the whole sum."""


def _stored(taps: Taps, found: Factors, type: Attribute) -> _SumType:
    """Choose the type of stored sums: 16 bits for sums of bytes that fit; else the sum's own."""
    if not isinstance(type, IntegerType):
        return _SumType(type, type)
    source = taps.source.type
    assert isinstance(source, FuncType)
    if taps.cast is not None and isinstance(source.element, IntegerType) and type.width.data > 16:
        bits, signed = source.element.width.data, taps.cast is arith.ExtSIOp
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        ends = [sorted((int(u) * low, int(u) * high)) for u in found.along.values()]
        least, most = sum(e[0] for e in ends), sum(e[1] for e in ends)
        if least >= 0 and most < 1 << 16:
            return _SumType(IntegerType(16), IntegerType(16, Signedness.UNSIGNED), arith.ExtUIOp)
        if least >= -(1 << 15) and most < 1 << 15:
            return _SumType(IntegerType(16), IntegerType(16, Signedness.SIGNED), arith.ExtSIOp)
    return _SumType(type, IntegerType(type.width.data, Signedness.UNSIGNED))


class _SumStages:
    """The stages that sum along one dimension; equal sums share one."""

    def __init__(self, pipeline: PipelineOp):
        self._names = {s.sym_name.data for s in pipeline.body.walk() if isinstance(s, StageOp)}
        self._known: dict[Any, SSAValue] = {}

    def along(self, taps: Taps, found: Factors, stored: _SumType, root: Operation) -> SSAValue:
        """Return the function of the partial sum."""
        key = (taps.source, taps.cast, taps.scales[found.dim], found.dim, stored, tuple(sorted(found.along.items())))
        if key not in self._known:
            self._known[key] = self._make(taps, found, stored, root)
        return self._known[key]

    def _make(self, taps: Taps, found: Factors, stored: _SumType, root: Operation) -> SSAValue:
        rank, type = len(taps.scales), stored.computed
        block = Block(arg_types=[IndexType()] * rank)
        for d, arg in enumerate(block.args):
            arg.name_hint = letter(d)
        build = _StageBody(InsertPoint.at_end(block), root)
        scales = tuple(s if d == found.dim else 1 for d, s in enumerate(taps.scales))
        terms = [
            (c, build.read(taps.source, block.args, scales, _at(found.dim, i, rank), taps.cast, type))
            for i, c in sorted(found.along.items())
        ]
        build.emit(YieldOp([build.sum(terms, 0, type)]))
        stage = StageOp(self._name(taps.source, found.dim), [stored.element], Region(block))
        stage.location = root.location
        _insert_after(taps.source, stage, root)
        return stage.funcs[0]

    def _name(self, source: SSAValue, dim: int) -> str:
        name = free_name(f"{function_name(source)}_along_{letter(dim)}", self._names)
        self._names.add(name)
        return name


def _insert_after(source: SSAValue, stage: StageOp, root: Operation) -> None:
    """Insert `stage` after its source and before all its readers."""
    if isinstance(source.owner, Operation):
        block = source.owner.parent_block()
        assert block is not None
        block.insert_op_after(stage, source.owner)
    else:
        source.owner.insert_op_before(stage, source.owner.first_op)  # type: ignore[arg-type]


def _at(dim: int, offset: int, rank: int) -> OffsetVector:
    return tuple(offset if d == dim else 0 for d in range(rank))


@dataclass
class _StageBody:
    """Emit ops of a stage's body."""

    at: InsertPoint
    like: Operation
    """Operation whose location new operations get."""
    _builder: Builder = field(init=False)

    def __post_init__(self) -> None:
        self._builder = Builder(self.at)

    def emit(self, op: Operation) -> None:
        """Insert `op`."""
        op.location = self.like.location
        self._builder.insert(op)

    def value(self, op: Operation) -> SSAValue:
        """Insert `op`; return its result."""
        self.emit(op)
        return op.results[0]

    def read(
        self, source: SSAValue, coordinates: Iterable[SSAValue], scales: tuple[int, ...], offset: OffsetVector,
        cast: Callable[..., Operation] | None, type: Attribute,
    ) -> SSAValue:  # fmt: skip
        """Read the source at `scales * coordinates + offset`, converted to `type`."""
        results = tuple(AffineExpr.dimension(d) * s + o for d, (s, o) in enumerate(zip(scales, offset, strict=True)))
        value = self.value(ReadOp(source, list(coordinates), AffineMap(len(scales), 0, results)))
        return value if cast is None else self.value(cast(value, type))

    def constant(self, number: Constant, type: Attribute) -> SSAValue:
        """Return a constant of `type`."""
        if isinstance(type, IntegerType):
            return self.value(arith.ConstantOp(IntegerAttr(int(number), type)))
        assert isinstance(type, Float32Type | Float64Type)
        return self.value(arith.ConstantOp(FloatAttr(float(number), type)))

    def sum(self, terms: Iterable[tuple[Constant, SSAValue]], constant: Constant, type: Attribute) -> SSAValue:
        """Return the sum of the terms with their coefficients, and a constant."""
        integer = isinstance(type, IntegerType)
        add, subtract = (arith.AddiOp, arith.SubiOp) if integer else (arith.AddfOp, arith.SubfOp)
        multiply = arith.MuliOp if integer else arith.MulfOp
        total = None
        # One with coefficient 1 first, if there is any: it begins the sum as it is.
        for c, value in sorted(((wrap(c, type), v) for c, v in terms), key=lambda term: term[0] != 1):
            if total is not None and c == -1:
                total = self.value(subtract(total, value))
                continue
            product = value if c == 1 else self.value(multiply(value, self.constant(c, type)))
            total = product if total is None else self.value(add(total, product))
        if total is None:
            return self.constant(constant, type)
        return total if constant == 0 else self.value(add(total, self.constant(constant, type)))


def _rewrite(root: SSAValue, form: LinearForm, found: dict[Taps, Factors], made: _SumStages) -> None:
    """Compute `root` from sums along one dimension for the taps in `found`, and from its other terms."""
    op = root.owner
    assert isinstance(op, Operation)
    stage = op.parent_op()
    assert isinstance(stage, StageOp)
    coordinates, type = stage.body.block.args, root.type
    build = _StageBody(InsertPoint.before(op), op)
    terms: list[tuple[Constant, SSAValue]] = []
    for taps, kernel in form.kernels.items():
        separated = found.get(taps)
        if separated is None:
            for offset, c in kernel.items():
                terms.append((c, build.read(taps.source, coordinates, taps.scales, offset, taps.cast, type)))
            continue
        stored = _stored(taps, separated, type)
        source = made.along(taps, separated, stored, op)
        scales = tuple(1 if d == separated.dim else s for d, s in enumerate(taps.scales))
        for offset, c in separated.across.items():
            terms.append((c, build.read(source, coordinates, scales, offset, stored.cast, type)))
    terms += [(c, value) for value, c in form.others.items()]
    new = build.sum(terms, form.constant, type)
    new.name_hint = root.name_hint
    root.replace_all_uses_with(new)
