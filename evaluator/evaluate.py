"""Evaluation of a pipeline: boxes backwards from the outputs, then values forwards, an array at a time.

Where an index is computed from data, the box that it asks for is known only when the data are. Then the way
forwards finds out that a stage is needed on a larger box, and both ways are gone again, until none grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilefuse.analysis.access import defining_op
from tilefuse.dialects.img.elements import Array
from tilefuse.dialects.img.ops import (
    BoundaryOp,
    Definition,
    ExtentOp,
    GroupOp,
    InputOp,
    MinOp,
    ParamOp,
    PipelineOp,
    PrintOp,
    ReadOp,
    RequireOp,
    ReturnOp,
    StageOp,
    UpdateOp,
)
from tilefuse.dialects.img.types import FuncType
from tilefuse.evaluator.access import Ranges, ReadGrid, resolve_access, values_at
from tilefuse.evaluator.arguments import (
    Box,
    as_pipeline,
    bound_inputs,
    bound_param,
    describe_box,
    output_box,
)
from tilefuse.evaluator.carriers import pixels
from tilefuse.evaluator.errors import EvaluationError
from tilefuse.evaluator.gather import affine_value, coordinate_grids
from tilefuse.evaluator.requirements import check_holds
from tilefuse.evaluator.stage_plan import PlannedOp, plan_stage
from tilefuse.evaluator.table import compute
from tilefuse.evaluator.updates import (
    Environment,
    FunctionReader,
    UpdateEvaluation,
    UpdatePlan,
    domain_box,
    pure_box,
    spans_at,
)

_MOST_POINTS = 2**31


def evaluate(
    pipeline: PipelineOp | ModuleOp,
    inputs: Mapping[str, Array],
    params: Mapping[str, int | float | bool] | None = None,
    output_boxes: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    input_mins: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, Array]:
    """Evaluate a pipeline (levels 1 to 3); return the outputs on the requested boxes.

    `inputs` by name; their axes are reversed against the dimensions, so x is the last axis; any strides.
    `output_boxes` gives (min, extent) per dimension, x first, for every output. `input_mins` gives the
    coordinates of the inputs' first elements, where they are neither declared nor 0. Results are new
    C-contiguous arrays. EvaluationError says what is missing, or which read leaves an input's box.
    """
    return _PipelineEvaluation(as_pipeline(pipeline), inputs, params or {}, output_boxes or {}, input_mins or {}).run()


class _PipelineEvaluation:
    def __init__(
        self,
        pipeline: PipelineOp,
        inputs: Mapping[str, Array],
        params: Mapping[str, int | float | bool],
        output_boxes: Mapping[str, Sequence[tuple[int, int]]],
        input_mins: Mapping[str, Sequence[int]],
    ):
        self.pipeline = pipeline
        self.outputs = [
            (name, func, output_box(pipeline, name, func, output_boxes)) for name, func in pipeline.return_op.outputs
        ]
        # Of every function that is known: its values, and the box that they are of.
        self.values: dict[SSAValue, Array] = {}
        self.boxes: dict[SSAValue, Box] = {}
        for op, values, box in bound_inputs(pipeline, inputs, input_mins):
            self.values[op.func], self.boxes[op.func] = values, box
        self.scalars = self._scalars(params)
        self.stages = [
            stage
            for op in pipeline.body.block.ops
            for stage in (op.body.block.ops if isinstance(op, GroupOp) else (op,))
            if isinstance(stage, Definition)
        ]
        self.plans = {stage: plan_stage(stage) for stage in self.stages}
        self.updates = {op: UpdatePlan.of(op) for op in self.stages if isinstance(op, UpdateOp)}
        # Of every update: the box that it is computed on, and what of it data turned out to touch.
        self.states: dict[UpdateOp, Box] = {}
        self.touched_by_data: dict[UpdateOp, Ranges] = {}
        self.found_by_data: dict[ReadOp, Ranges] = {}
        self.decisive = self._decisive_stages()
        self.conditions = {defining_op(op.condition): op for op in pipeline.requirements if op.guarded is not None}
        self.points: tuple[int, ...] | None = None
        """The shape of the stage that is computed: a line is printed once for each of its points."""

    def run(self) -> dict[str, Array]:
        """Return the outputs."""
        while True:
            last_use = self._find_boxes()
            if self._compute(last_use):
                for op in self.conditions.values():
                    if op.condition in self.values:
                        check_holds(op, self.values)
                return {name: self._output(name, func, box) for name, func, box in self.outputs}

    def _scalars(self, params: Mapping[str, int | float | bool]) -> dict[SSAValue, Array]:
        scalars: dict[SSAValue, Array] = {}
        for op in self.pipeline.body.block.ops:
            match op:
                case ParamOp():
                    scalars[op.value] = bound_param(op, params)
                case MinOp() | ExtentOp():
                    low, extent = self.boxes[op.input][op.dim.value.data]
                    scalars[op.value] = np.array(extent if isinstance(op, ExtentOp) else low, np.int64)
                case InputOp() | BoundaryOp() | StageOp() | UpdateOp() | GroupOp() | ReturnOp():
                    pass
                case RequireOp():
                    if op.guarded is None:
                        check_holds(op, scalars)
                case _:
                    found = compute(op, [scalars[v] for v in op.operands])
                    scalars.update(zip(op.results, found, strict=True))
        return scalars

    def _decisive_stages(self) -> set[Definition]:
        """Return the stages on which a data-dependent index may depend."""
        decisive: set[Operation] = set()
        for stage in reversed(self.stages):
            plan = self.plans[stage]
            by_data = plan.by_data or (isinstance(stage, UpdateOp) and self.updates[stage].by_data)
            if by_data or stage in decisive:
                decisive.add(stage)
                decisive.update(defining_op(read.source) for read in plan.reads)
                if isinstance(stage, UpdateOp):
                    decisive.update(defining_op(old) for old in stage.old_funcs)
        return {stage for stage in self.stages if stage in decisive}

    # --- backwards: the box of every stage that is needed

    def _find_boxes(self) -> dict[Definition, int]:
        """Set `boxes`; return, for every needed stage, the number of the last stage that reads it."""
        needed: dict[Operation, Ranges] = {}
        last_use: dict[Operation, int] = {}

        def require(holder: Operation, spans: Ranges | None, reader: int) -> None:
            # Also of a read whose points are not known yet: it may turn out to read points that are known.
            last_use.setdefault(holder, reader)
            if spans is not None:
                needed[holder] = _union(needed.get(holder), spans)

        for _, func, box in self.outputs:
            access = resolve_access(func, coordinate_grids(box), self.boxes, self.scalars)
            require(defining_op(access.func), access.spans, len(self.stages))
        for number, stage in reversed(list(enumerate(self.stages))):
            for func in stage.funcs:
                self.boxes.pop(func, None)
            if (
                stage in self.conditions
                and (points := self._guarded_points(self.conditions[stage], needed)) is not None
            ):
                require(stage, _spans(points), len(self.stages))
            if stage not in needed:
                continue
            box = _stage_box(stage, needed[stage])
            self.boxes.update((func, box) for func in stage.funcs)
            grid = self._grid(stage, box)
            if isinstance(stage, UpdateOp):
                self._require_old_funcs(stage, box, grid, partial(require, reader=number))
            if grid is None:
                continue
            plan, env = self.plans[stage], self._environment(stage, grid)
            self.run_steps(plan.index_steps, env)
            for read in plan.reads:
                if read in plan.by_data:
                    require(defining_op(read.source), self.found_by_data.get(read), number)
                else:
                    access = self._access(read, env)
                    require(defining_op(access.func), access.spans, number)
        return {stage: last_use[stage] for stage in self.stages if stage in needed}

    def _guarded_points(self, op: RequireOp, needed: Mapping[Operation, Ranges]) -> Box | None:
        """Return the points at which a condition must hold: the needed points of the stage that it guards."""
        assert op.guarded is not None
        guarded = defining_op(op.guarded)
        assert isinstance(guarded, Definition)
        return self._grid(guarded, _stage_box(guarded, needed[guarded])) if guarded in needed else None

    def _grid(self, stage: Definition, box: Box) -> Box | None:
        """Return the box of all coordinates of a body; None if a reduction domain is empty."""
        if isinstance(stage, StageOp):
            return box
        domain = domain_box(stage, self.scalars)
        return None if domain is None else (*pure_box(stage, box), *domain)

    def _require_old_funcs(
        self, op: UpdateOp, box: Box, grid: Box | None, require: Callable[[Operation, Ranges | None], None]
    ) -> None:
        """Ask for the old functions on all that an update gives, reads of itself and writes."""
        spans: Ranges = _spans(box)
        if grid is not None:
            env = self._environment(op, grid)
            self.run_steps(self.plans[op].index_steps, env)
            plan = self.updates[op]
            for touching in plan.touching:
                if touching not in plan.by_data:
                    spans = _union(spans, spans_at(touching, env, self.scalars))
            if op in self.touched_by_data:
                spans = _union(spans, self.touched_by_data[op])
        self.states[op] = tuple((first, last - first + 1) for first, last in spans)
        _check_points(op, self.states[op])
        for old in op.old_funcs:
            access = resolve_access(old, coordinate_grids(self.states[op]), self.boxes, self.scalars)
            require(defining_op(access.func), access.spans)

    # --- forwards: values

    def _compute(self, last_use: dict[Definition, int]) -> bool:
        """Compute the stages; False if a data-dependent index needs a larger box of one."""
        grown = False
        freed: dict[int, list[Definition]] = {}
        for stage, number in last_use.items():
            freed.setdefault(number, []).append(stage)
        for number, stage in enumerate(self.stages):
            # Once a box has grown, this way forwards only has to find the other boxes that grow.
            if stage in last_use and not (grown and stage not in self.decisive):
                grown = self._compute_stage(stage) or grown
            for done in freed.get(number, ()):
                self._forget(done)
        if grown:
            for stage in self.stages:
                self._forget(stage)
        return not grown

    def _forget(self, stage: Definition) -> None:
        for func in stage.funcs:
            self.values.pop(func, None)

    def _compute_stage(self, stage: Definition) -> bool:
        """Set the values of a stage that are known; True if it needs a larger box of another."""
        box = self.boxes[stage.funcs[0]]
        if isinstance(stage, UpdateOp):
            return self._compute_update(stage, box)
        env = self._environment(stage, box)
        reader = FunctionReader(f"stage '{stage.sym_name.data}'", box, self.plans[stage].by_data)
        shape = tuple(extent for _, extent in reversed(box))
        self.points = shape
        grown = self.run_steps(self.plans[stage].steps, env, reader)
        self.points = None
        for func, value in zip(stage.funcs, stage.yield_op.values, strict=True):
            known = env.get(value, self.scalars.get(value))
            if known is not None:
                self.values[func] = np.broadcast_to(known, shape)
        return grown

    def _compute_update(self, op: UpdateOp, box: Box) -> bool:
        update = UpdateEvaluation(self, op, self.updates[op], self.plans[op].by_data, self.states[op])
        if not update.start():
            return True
        domain = domain_box(op, self.scalars)
        if domain is not None and update.run(pure_box(op, box), domain):
            if update.touched is not None:
                self.touched_by_data[op] = _union(self.touched_by_data.get(op), update.touched)
            return True
        self.values.update(zip(op.funcs, update.values_on(box), strict=True))
        return False

    def _environment(self, stage: Definition, grid: Box) -> Environment:
        args = stage.coordinates if isinstance(stage, UpdateOp) else stage.body.block.args
        return dict(zip(args, coordinate_grids(grid), strict=True))

    def run_steps(self, steps: Sequence[PlannedOp], env: Environment, reader: FunctionReader | None = None) -> bool:
        """Compute into `env`, without values of functions that are not known yet; True if one has to grow."""
        grown = False
        for step in steps:
            op = step.op
            if isinstance(op, ReadOp):
                assert reader is not None
                if all(v in env or v in self.scalars for v in op.indices):
                    grown = self._read(op, env, reader) or grown
            elif all(v in env or v in self.scalars for v in op.operands):
                operands = [self._value(v, env) for v in op.operands]
                if isinstance(op, PrintOp) and self.points is not None:
                    operands[1] = np.broadcast_to(operands[1], self.points)
                found = compute(op, operands)
                env.update(zip(op.results, found, strict=True))
            for value in step.dead:
                env.pop(value, None)
        return grown

    def _value(self, value: SSAValue, env: Environment) -> Array:
        return env[value] if value in env else self.scalars[value]

    def _access(self, op: ReadOp, env: Environment) -> ReadGrid:
        operands = [self._value(v, env) for v in op.indices]
        indices = [affine_value(expr, operands) for expr in op.map.data.results]
        return resolve_access(op.source, indices, self.boxes, self.scalars)

    def _read(self, op: ReadOp, env: Environment, reader: FunctionReader) -> bool:
        access = self._access(op, env)
        if op in reader.by_data and access.spans is not None:
            self.found_by_data[op] = _union(self.found_by_data.get(op), access.spans)
            known = self.boxes.get(access.func)
            if isinstance(access.func.owner, Definition) and not _covers(known, access.spans):
                return True
        if access.spans is None or access.func in self.values:
            env[op.value] = self._at(access, reader.grid, op, reader.name)
        return False

    def _at(self, access: ReadGrid, grid: Box, reader: Operation, name: str) -> Array:
        values, box = self.values.get(access.func), self.boxes.get(access.func)
        return values_at(access, values, box, grid, reader, name)

    def _output(self, name: str, func: SSAValue, box: Box) -> Array:
        access = resolve_access(func, coordinate_grids(box), self.boxes, self.scalars)
        found = self._at(access, box, self.pipeline.return_op, f"output '{name}'")
        assert isinstance(func.type, FuncType)
        try:
            return pixels(np.broadcast_to(found, tuple(n for _, n in reversed(box))), func.type.element)
        except ImportError:
            element = func.type.element
            raise EvaluationError(
                f"output '{name}' is {element}, which NumPy lacks; install ml_dtypes, or cast the output to f32",
                self.pipeline.return_op,
            ) from None


def _stage_box(stage: Definition, spans: Ranges) -> Box:
    name = stage.sym_name.data
    for dim, declared in enumerate(stage.bounds.data if stage.bounds is not None else ()):
        if declared is None:
            continue
        (first, last), (low, extent) = spans[dim], declared
        if first < low or last >= low + extent:
            raise EvaluationError(
                f"stage '{name}' is needed at {first} to {last} in dimension {dim}, but is bound to {low} to "
                f"{low + extent - 1}; widen its bound or read less",
                stage,
            )
    box = tuple((first, last - first + 1) for first, last in spans)
    _check_points(stage, box)
    return box


def _check_points(stage: Definition, box: Box) -> None:
    points = math.prod(extent for _, extent in box)
    if points > _MOST_POINTS:
        raise EvaluationError(
            f"stage '{stage.sym_name.data}' is asked for {points} points, on the box {describe_box(box)}; clamp the "
            "indices that it is read at",
            stage,
        )


def _spans(box: Box) -> Ranges:
    return tuple((low, low + extent - 1) for low, extent in box)


def _union(a: Ranges | None, b: Ranges) -> Ranges:
    if a is None:
        return b
    return tuple((min(p[0], q[0]), max(p[1], q[1])) for p, q in zip(a, b, strict=True))


def _covers(box: Box | None, spans: Ranges) -> bool:
    return box is not None and all(
        low <= first and last < low + extent for (first, last), (low, extent) in zip(spans, box, strict=True)
    )
