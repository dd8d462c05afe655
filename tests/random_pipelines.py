"""Random valid pipelines at level 1, with arrays to run them on.

    case = random_pipeline(17)
    found = evaluate(case.module, case.grids, case.params, case.output_boxes, case.mins)

The same seed gives the same pipeline. `random_pipelines()` is the hypothesis strategy over the generator.
Integers must be equal after any right transformation; an f32 output may differ from another implementation of
default floats by `case.tolerance[name]`, which is proved for each output as it is built (0 where no operation
rounds). Boxes and mins are x first; arrays are as a caller passes them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st
from random_arrays import random_array
from random_case import RandomPipeline, is_interleaved
from random_expressions import Expressions, Number, index_constant, range_of
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tilefuse.analysis.bounds import Box, required_boxes
from tilefuse.dialects.img.attrs import BoundaryKind, BoxAttr
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    ExtentOp,
    InputOp,
    MinOp,
    ParamOp,
    PipelineOp,
    ReadOp,
    ReturnOp,
    StageOp,
    YieldOp,
)
from tilefuse.dialects.img.types import FuncType, f32, i1, si8, si16, si32, ui8, ui16, ui32

SIZES = [5, 1, 2, 3, 7, 8, 13, 16, 17, 31, 33, 37]
"""Extents of pictures: odd, prime, tiny, and around multiples of a tile."""

_ELEMENTS: list[Attribute] = [f32, ui8, ui16, si32, si16, ui32, si8, i1]
_WEIGHTS = [8, 5, 4, 4, 1, 1, 1, 0.5]


def random_pipeline(seed: int, *, stages: int = 8, computed: float = 0.0, returned: float = 0.0) -> RandomPipeline:
    """Return the pipeline of a seed, of 1 to `stages` stages.

    `computed`: how likely a stage reads a function also at an index computed from what it has read. `returned`: how
    likely a stage that others read is an output, too.
    """
    return _Builder(Random(seed), stages, computed, returned).build()


def random_pipelines(stages: int = 8) -> st.SearchStrategy[RandomPipeline]:
    """Return a hypothesis strategy; each choice of the generator is drawn from hypothesis, so it shrinks."""
    return st.randoms(use_true_random=False).map(lambda rng: _Builder(rng, stages).build())


@dataclass(frozen=True)
class _View:
    """A function that stages may read, maybe under a boundary, with the range of its values."""

    func: SSAValue
    range: Number
    channels: int | None
    channel_border: bool = False
    """Whether it may be read outside its channels."""

    @property
    def element(self) -> Attribute:
        assert isinstance(self.func.type, FuncType)
        return self.func.type.element


class _Builder:
    def __init__(self, rng: Random, stages: int, computed: float = 0.0, returned: float = 0.0):
        self.computed, self.returned = computed, returned
        self.rng = rng
        self.count = rng.randrange(1, stages + 1)
        self.rank = 1 if self._chance(0.08) else 2
        self.channels = rng.choice([3, 1, 2, 4]) if self._chance(0.35) else None
        self.block = Block()
        self.scalars = Expressions(rng, self.block)
        self.case = RandomPipeline(ModuleOp([]))
        self.extents: dict[InputOp, tuple[int, ...]] = {}
        self.raw: list[InputOp] = []
        self.ranges: dict[InputOp, Number] = {}
        self.views: list[_View] = []
        self.params: list[Number] = []
        self.unread: dict[StageOp, tuple[list[_View], list[Number]]] = {}
        self.made: dict[StageOp, tuple[list[_View], list[Number]]] = {}
        self.halvings = 2
        """Remaining number of stages that may read at 2*x: each doubles the points of its sources, per dimension."""

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def build(self) -> RandomPipeline:
        for number in range(2 if self._chance(0.25) else 1):
            self._input(f"in{number}")
        for number in range(self.rng.choice([0, 0, 1, 2])):
            self._param(f"p{number}")
        last: tuple[StageOp, list[_View], list[Number]] | None = None
        for number in range(self.count):
            last = self._stage(f"f{number}", final=number == self.count - 1)
        assert last is not None
        self._return()
        pipeline = PipelineOp("random", Region(self.block))
        self.case.module.body.block.add_op(pipeline)
        self._arrays(pipeline)
        return self.case

    # --- inputs, params, boundaries

    def _spatial(self) -> tuple[int, ...]:
        return tuple(self.rng.choice(SIZES) for _ in range(self.rank))

    def _box_attr(self, channels: int | None) -> BoxAttr | None:
        return None if channels is None else BoxAttr((*(None,) * self.rank, (0, channels)))

    def _input(self, name: str) -> None:
        element = self.rng.choices(_ELEMENTS, _WEIGHTS)[0]
        channels = self.channels if self._chance(0.7) else None
        rank = self.rank + (channels is not None)
        op = InputOp(name, FuncType(rank, element), self._box_attr(channels))
        if rank == 3:
            layout = "interleaved" if self._chance(0.5) else "planar"
            op.attributes["img.array_layout"] = StringAttr(layout)
        self.block.add_op(op)
        if element == f32:
            whole = self._chance(0.2)
            values = Number(op.func, f32, 0 if whole else -1, 255 if whole else 1, whole=whole)
        else:
            values = Number(op.func, element, *range_of(element))
        self.ranges[op] = values
        view = _View(op.func, values, channels)
        if self._chance(0.12):
            # No boundary: the array is made as large as what is read of it.
            self.raw.append(op)
            self.views.append(view)
            return
        self.extents[op] = (*self._spatial(), *([channels] if channels is not None else []))
        for _ in range(2 if self._chance(0.15) else 1):
            self.views.append(self._bounded_input(view))

    def _bounded_input(self, view: _View) -> _View:
        kinds = list(BoundaryKind)
        dims = list(range(self.rank))
        channel_border = view.channels is not None and self._chance(0.15)
        if channel_border:
            dims.append(self.rank)
        if len(dims) == 1 or self._chance(0.8):
            return replace(
                self._boundary(self.rng.choice(kinds), view, dims, explicit=False),
                channel_border=channel_border,
            )
        inner = self._boundary(self.rng.choice(kinds), view, dims[:1], explicit=False)
        outer = self._boundary(self.rng.choice(kinds), inner, dims[1:], explicit=True)
        return replace(outer, channel_border=channel_border)

    def _boundary(self, kind: BoundaryKind, view: _View, dims: list[int], explicit: bool) -> _View:
        mins, extents = zip(*(self._interval(d, view) for d in dims), strict=True) if explicit else ((), ())
        exterior = None
        values = view.range
        if kind is BoundaryKind.ConstantExterior:
            outside = self.scalars.constant(view.element, self.rng.choice([0, 1, 7]))
            usable = [p for p in self.params if p.element == view.element]
            if usable and self._chance(0.3):
                outside = self.rng.choice(usable)
            exterior = outside.value
            values = replace(
                values,
                low=min(values.low, outside.low),
                high=max(values.high, outside.high),
                error=max(values.error, outside.error),
                whole=values.whole and outside.whole,
            )
        op = BoundaryOp(kind, view.func, dims, mins, extents, exterior)
        self.block.add_op(op)
        return replace(view, func=op.func, range=values)

    def _interval(self, dim: int, view: _View) -> tuple[SSAValue, SSAValue]:
        """Return min and extent, at least 1, of an explicit box: near an input's, or constants."""
        if dim == self.rank:
            assert view.channels is not None
            low, extent = index_constant(0), index_constant(view.channels)
            return self.scalars.emit(low), self.scalars.emit(extent)
        owner = self._stage_of(view)
        if isinstance(owner, InputOp):
            # Nothing else keeps the reads of this dimension inside the input.
            return self.scalars.emit(MinOp(owner.func, dim)), self.scalars.emit(ExtentOp(owner.func, dim))
        sources = list(self.extents)
        if not sources or self._chance(0.15):
            low, extent = index_constant(self.rng.choice([0, -1, 2])), index_constant(self.rng.choice(SIZES))
            return self.scalars.emit(low), self.scalars.emit(extent)
        source = self.rng.choice(sources).func
        low_value = self.scalars.emit(MinOp(source, dim))
        extent_value = self.scalars.emit(ExtentOp(source, dim))
        if self._chance(0.2):
            by = self.scalars.emit(index_constant(self.rng.choice([1, 2])))
            low_value = self.scalars.emit(arith.SubiOp(low_value, by))
            extent_value = self.scalars.emit(arith.AddiOp(extent_value, by))
        return low_value, extent_value

    def _param(self, name: str) -> None:
        element = self.rng.choice([f32, si32, ui8])
        op = ParamOp(name, element)
        self.block.add_op(op)
        if element == f32:
            given = self.rng.choice([0.5, 1.0, -2.0, 0.8125, 1.75])
            number = Number(op.value, f32, given, given, whole=given.is_integer())
        else:
            given = self.rng.choice([3, 0, 1, 200, 7])
            number = Number(op.value, element, given, given)
        self.case.params[name] = given
        self.params.append(number)
        if self._chance(0.2):
            self.params.append(self.scalars.combine(number, self.scalars.random_constant(element)))

    # --- stages

    def _stage(self, name: str, final: bool) -> tuple[StageOp, list[_View], list[Number]]:
        channels = self.channels if self._chance(0.6) else None
        rank = self.rank + (channels is not None)
        block = Block(arg_types=[index_constant(0).result.type] * rank)
        for arg, hint in zip(block.args, "xyc" if self.rank == 2 else "xc", strict=False):
            arg.name_hint = hint
        e = Expressions(self.rng, block)
        taps = [t for view in self._sources() for t in self._taps(e, view, channels)]
        if self.computed and self._chance(self.computed):
            taps += self._looked_up(e, taps, channels)
        results = []
        for _ in range(2 if self._chance(0.12) else 1):
            results.append(self._result(e, taps, list(block.args)))
        block.add_op(YieldOp([r.value for r in results]))
        stage = StageOp(name, [r.element for r in results], Region(block), self._box_attr(channels))
        self.block.add_op(stage)
        views = [_View(f, replace(r, value=f), channels) for f, r in zip(stage.funcs, results, strict=True)]
        self.unread[stage] = self.made[stage] = (views, results)
        for view in views:
            self.views.append(view)
            if not final and self._chance(0.25):
                kinds = [BoundaryKind.RepeatEdge, BoundaryKind.ConstantExterior, *BoundaryKind]
                kind = self.rng.choices(kinds, [6, 6, 1, 1, 1, 1, 1])[0]
                self.views.append(self._boundary(kind, view, list(range(self.rank)), explicit=True))
        return stage, views, results

    def _sources(self) -> list[_View]:
        """Return one to three views, preferably of stages that nothing reads yet."""
        chosen: list[_View] = []
        for _ in range(self.rng.choice([1, 1, 2, 2, 3])):
            fresh = [v for v in self.views if self._stage_of(v) in self.unread]
            pool = fresh if fresh and self._chance(0.6) else self.views
            chosen.append(self.rng.choice(pool))
        for view in chosen:
            self.unread.pop(self._stage_of(view), None)  # type: ignore[arg-type]
        return chosen

    @staticmethod
    def _stage_of(view: _View) -> object:
        owner = view.func.owner
        while isinstance(owner, BoundaryOp):
            owner = owner.source.owner
        return owner

    def _taps(self, e: Expressions, view: _View, channels: int | None) -> list[Number]:
        args = list(e.block.args)
        pattern = self.rng.choices(["point", "stencil", "half", "double", "odd"], [5, 8, 1.2, 1.2, 0.5])[0]
        if pattern == "half":
            if self.halvings == 0:
                pattern = "point"
            self.halvings = max(0, self.halvings - 1)
        taps: dict[tuple[AffineExpr, ...], Number] = {}
        for _ in range({"point": 1, "stencil": self.rng.choice([2, 3, 5, 9])}.get(pattern, self.rng.choice([1, 2, 4]))):
            indices = [self._index(pattern, d) for d in range(self.rank)]
            if view.channels is not None:
                indices.append(self._channel(view, channels is not None))
            if tuple(indices) not in taps:
                taps[tuple(indices)] = self._read(e, view, indices, args)
        return list(taps.values())

    def _looked_up(self, e: Expressions, taps: list[Number], channels: int | None) -> list[Number]:
        """Return a function, which may be read elsewhere too, at a place that one of the taps says."""
        whole = [t for t in taps if not t.is_float and t.element != i1]
        if not whole:
            return []
        view, args = self.rng.choice(self.views), list(e.block.args)
        low = self.rng.choice([0, -2, 3])
        at = e.emit(arith.IndexCastOp(self.rng.choice(whole).value, index_constant(0).result.type))
        at = e.emit(arith.MaxSIOp(at, e.emit(index_constant(low))))
        at = e.emit(arith.MinSIOp(at, e.emit(index_constant(low + self.rng.choice([0, 2, 9])))))
        indices: list[AffineExpr] = [AffineExpr.dimension(d) for d in range(self.rank)]
        indices[self.rng.randrange(self.rank)] = AffineExpr.dimension(len(args))
        if view.channels is not None:
            indices.append(self._channel(view, channels is not None))
        return [self._read(e, view, indices, [*args, at])]

    def _index(self, pattern: str, dim: int) -> AffineExpr:
        x = AffineExpr.dimension(dim)
        match pattern:
            case "point":
                return x
            case "stencil":
                reach = self.rng.choice([0, 1, 1, 2, 4])
                return x + self.rng.randint(-reach, reach)
            case "half":
                return x * 2 + self.rng.choice([0, 1, -1, 2])
            case "double":
                return (x + self.rng.choice([0, 1, -1])) // 2 + self.rng.choice([0, 0, 1, -1])
        match self.rng.randrange(5):
            case 0:
                return x * -1 + self.rng.choice([0, 5])
            case 1:
                return AffineExpr.constant(self.rng.choice([0, 2, -1]))
            case 2:
                return x % self.rng.choice([2, 4])
            case 3:
                return AffineExpr.dimension(self.rank - 1 - dim) + self.rng.choice([0, 1])
        return (x * 3 + 1) // 4

    def _channel(self, view: _View, has_channels: bool) -> AffineExpr:
        assert view.channels is not None
        if not has_channels or self._chance(0.1):
            return AffineExpr.constant(self.rng.randrange(view.channels))
        channel = AffineExpr.dimension(self.rank)
        return channel + self.rng.choice([-1, 1]) if view.channel_border and self._chance(0.4) else channel

    def _read(self, e: Expressions, view: _View, indices: list[AffineExpr], args: list[SSAValue]) -> Number:
        used = sorted({d for i in indices for d in i.used_dims()})
        compact = [AffineExpr.dimension(used.index(d) if d in used else 0) for d in range(len(args))]
        results = tuple(i.replace_dims_and_symbols(compact, []) for i in indices)
        read = ReadOp(view.func, [args[d] for d in used], AffineMap(len(used), 0, results))
        return replace(view.range, value=e.emit(read))

    def _result(self, e: Expressions, taps: list[Number], args: list[SSAValue]) -> Number:
        """Return a value of a random type from all the taps, params and coordinates."""
        taps = list(taps)
        self.rng.shuffle(taps)
        if self.params and self._chance(0.4):
            taps.append(self.rng.choice(self.params))
        if self._chance(0.1):
            taps.append(e.coordinate(self.rng.choice(args)))
        inexact = any(t.is_float and t.error for t in taps)
        compute = f32 if inexact else self.rng.choices(_ELEMENTS, _WEIGHTS)[0]
        # Mostly the type that the taps have: conversions of everything would hide much.
        if not inexact and self._chance(0.6):
            compute = taps[0].element
        result = e.mixed([e.convert(t, compute) for t in taps], args)
        if self._chance(0.4):
            result = e.adorn(result)
        if self._chance(0.3) and not (result.is_float and result.error):
            result = e.convert(result, self.rng.choices(_ELEMENTS, _WEIGHTS)[0])
        return e.tamed(result)

    # --- outputs and arrays

    def _return(self) -> None:
        outputs: list[tuple[str, SSAValue]] = []
        usual = self._spatial()
        for stage, (views, results) in self.made.items():
            if stage not in self.unread and not (self.returned and self._chance(self.returned)):
                continue
            several = len(views) > 1 and self._chance(0.5)
            for number, (view, result) in enumerate(zip(views, results, strict=True)):
                if number and not several:
                    break
                name = f"{stage.sym_name.data}_{number}" if len(views) > 1 else stage.sym_name.data
                outputs.append((name, view.func))
                spatial = usual if self._chance(0.85) else self._spatial()
                tail = () if view.channels is None else (view.channels,)
                self.case.sizes[name] = spatial + tail
                low = (0,) * self.rank
                if self._chance(0.2):
                    low = tuple(self.rng.choice([-3, 1, 4]) for _ in range(self.rank))
                self.case.mins[name] = low + (0,) * len(tail)
                # Each of two implementations may be that far from the exact result.
                self.case.tolerance[name] = 2 * result.error
        self.block.add_op(ReturnOp(outputs))

    def _arrays(self, pipeline: PipelineOp) -> None:
        boxes: dict[str, Box] = {}
        for op, extents in self.extents.items():
            low = (0,) * len(extents)
            if self._chance(0.15):
                low = tuple(self.rng.choice([-2, 3]) for _ in range(self.rank)) + low[self.rank :]
            boxes[op.sym_name.data] = tuple(zip(low, extents, strict=True))
        if self.raw:
            self._fit_raw(pipeline, boxes)
        for op, values in self.ranges.items():
            name = op.sym_name.data
            self.case.mins[name] = tuple(low for low, _ in boxes[name])
            extents = tuple(n for _, n in boxes[name])
            interleaved = is_interleaved(op)
            shape = (extents[1], extents[0], extents[2]) if interleaved else extents[::-1]
            self.case.inputs[name] = random_array(
                self.rng, shape, values.element, whole=values.whole, interleaved=interleaved
            )

    def _fit_raw(self, pipeline: PipelineOp, boxes: dict[str, Box]) -> None:
        """Fit boxes of the inputs that are read without a boundary."""
        needed = required_boxes(pipeline, self.case.output_boxes, boxes, self.case.params)
        for op in self.raw:
            rank = op.func.type.rank.data
            tail = () if op.bounds is None else ((0, self.channels or 1),)
            box = needed.get(op.func, ((0, 1),) * rank)[: self.rank]
            slack = [self.rng.choice([0, 0, 1]) for _ in box]
            around = tuple((low - s, n + 2 * s) for (low, n), s in zip(box, slack, strict=True))
            boxes[op.sym_name.data] = around + tail
