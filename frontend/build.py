"""Construction of a module at level 1 from Funcs: the stages that the outputs need, producers first."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, FloatAttr, IntegerAttr, ModuleOp, StringAttr, f64, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilefuse.dialects.diagnostics import SourcePosition
from tilefuse.dialects.img import ops as img
from tilefuse.dialects.img.attrs import BoxAttr
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.naming import value_name
from tilefuse.frontend.body import INDEX, BodyBuilder, coordinate_key
from tilefuse.frontend.errors import fail, location
from tilefuse.frontend.expr import Expr
from tilefuse.frontend.function import Function
from tilefuse.frontend.inputs import Image, ImageParam, Param
from tilefuse.frontend.names import PipelineNames, spell_names
from tilefuse.frontend.require import Requirement, promises_of, range_of, requirements_in, where
from tilefuse.frontend.sources import Source
from tilefuse.frontend.update import UpdateDefinition
from tilefuse.frontend.walk import postorder

LAYOUT_ATTRIBUTE = "img.array_layout"
DEFAULT_ATTRIBUTE = "img.default"


def reachable(outputs: Sequence[Source]) -> list[Source]:
    """Order the outputs and everything that they need, producers first."""
    seen: set[int] = set()
    order: list[Source] = []
    for output in outputs:
        if id(output) in seen:
            continue
        seen.add(id(output))
        stack: list[tuple[Source, Iterator[Source]]] = [(output, iter(_read_by(output)))]
        while stack:
            current, rest = stack[-1]
            for source in rest:
                if id(source) not in seen:
                    seen.add(id(source))
                    stack.append((source, iter(_read_by(source))))
                    break
            else:
                stack.pop()
                order.append(current)
    return order


def _read_by(source: Source) -> Sequence[Source]:
    return source.reads().sources if isinstance(source, Function) else ()


def inputs_of(sources: Sequence[Source], required: Sequence[Expr] = ()) -> tuple[list[Image[Any]], list[Param]]:
    """Return the images and Params of a pipeline, each in order of creation; `required`: of its requirements."""
    images = [s for s in sources if isinstance(s, Image)]
    params = {id(p): p for s in sources if isinstance(s, Function) for p in s.reads().params}
    for e in postorder(required):
        if e.op == "param":
            params.setdefault(id(e.data), e.data)
        if e.op in ("image_min", "image_extent") and e.data[0] not in images:
            fail(f"a requirement asks for the size of '{e.data[0].name()}', which the pipeline does not read")
    return sorted(images, key=lambda i: i.order), sorted(params.values(), key=lambda p: p.order)


def requirements_of_calls(sources: Sequence[Source], own: Sequence[Requirement]) -> list[Requirement]:
    """Return the requirements on all calls: the pipeline's own, and the promises of its images."""
    return [*own, *(made for s in sources if isinstance(s, ImageParam) for made in promises_of(s))]


class PipelineScope:
    """A pipeline's block under construction, and the values defined in it."""

    def __init__(self, names: PipelineNames, layouts: Mapping[str, str]):
        self.block = Block()
        self._names, self._layouts = names, layouts
        self._functions: dict[int, tuple[SSAValue, ...]] = {}
        self._params: dict[int, SSAValue] = {}
        self._boxes: dict[tuple[str, int, int], SSAValue] = {}
        self._locations: dict[SourcePosition, FileLineColLoc] = {}

    def location(self, position: SourcePosition) -> FileLineColLoc:
        """Return the location of `position`, made once."""
        if position not in self._locations:
            self._locations[position] = location(position)
        return self._locations[position]

    def add(self, op: Operation, position: SourcePosition) -> None:
        """Append `op`, with the location of the user's line `position`."""
        op.location = self.location(position)
        self.block.add_op(op)

    def function(self, source: Source, value_index: int) -> SSAValue:
        """Return a function of the pipeline; of a tuple-valued Func the value `value_index`."""
        return self._functions[id(source)][value_index]

    def functions(self, source: Source) -> tuple[SSAValue, ...]:
        """Return all functions of a source."""
        return self._functions[id(source)]

    def param(self, param: Param) -> SSAValue:
        """Return the value of a Param."""
        return self._params[id(param)]

    def box(self, e: Expr) -> SSAValue:
        """Return the min or extent of an image, as an index."""
        image, dim = e.data
        key = (e.op, id(image), dim)
        if key not in self._boxes:
            kind = img.MinOp if e.op == "image_min" else img.ExtentOp
            op = kind(self.function(image, 0), dim)
            self.add(op, image.position)
            self._boxes[key] = op.value
        return self._boxes[key]

    def add_input(self, image: Image[Any]) -> None:
        """Append an `img.input`."""
        bounds, estimate = (BoxAttr(tuple(box)) if any(box) else None for box in (image.bounds, image.estimates))
        type = FuncType(image.rank(), image.type().element)
        op = img.InputOp(self._names[image], type, bounds, estimate=estimate)
        layout = self._layouts.get(image.name(), image.layout)
        if layout != "auto" and image.rank() == 3:
            op.attributes[LAYOUT_ATTRIBUTE] = StringAttr(layout)
        self.add(op, image.position)
        self._functions[id(image)] = (op.func,)

    def add_param(self, param: Param) -> None:
        """Append an `img.param`."""
        op = img.ParamOp(self._names[param], param.type().element)
        default = param.default()
        if default is not None:
            is_float = param.type().is_float()
            value: Attribute = FloatAttr(float(default), f64) if is_float else IntegerAttr(int(default), i64)
            op.attributes[DEFAULT_ATTRIBUTE] = value
        self.add(op, param.position)
        self._params[id(param)] = op.value

    def add_boundary(self, func: Function) -> None:
        """Append an `img.boundary` per value of the source, after the scalars of its box and exterior."""
        assert func.continuation is not None
        kind, source, box, exterior, _ = func.continuation
        scalars = Block()
        builder = BodyBuilder(scalars, self)
        pairs = [(d, p) for d, p in enumerate(box or ()) if p is not None]
        dims = [d for d, _ in pairs] if box is not None else None
        mins = [builder.index(low) for _, (low, _) in pairs]
        extents = [builder.index(extent) for _, (_, extent) in pairs]
        outside = builder.values(exterior or ())
        for op in list(scalars.ops):
            op.detach()
            self.add(op, func.position)
        results = []
        for i, function in enumerate(self.functions(source)):
            boundary = img.BoundaryOp(kind, function, dims, mins, extents, outside[i] if outside else None)
            self.add(boundary, func.position)
            results.append(boundary.func)
        self._functions[id(func)] = tuple(results)

    def add_stage(self, func: Function) -> None:
        """Append an `img.stage`."""
        assert func.definition is not None
        args, values, _ = func.definition
        block = Block(arg_types=[INDEX] * len(args))
        for arg, name in zip(block.args, args, strict=True):
            arg.name_hint = value_name(name)
        builder = BodyBuilder(block, self, dict(zip(args, block.args, strict=True)))
        block.add_op(img.YieldOp(builder.values(values)))
        where = self.location(func.position)
        for op in block.ops:
            op.location = where
        # a promise about the points that are requested of the Func, not about those that its updates need
        bounds = None if func.updates else _bounds(func)
        elements = [v.type().element for v in values]
        stage = img.StageOp(self._names[func], elements, Region(block), bounds)
        self.add(stage, func.position)
        self._functions[id(func)] = tuple(stage.funcs)
        coordinates: dict[Hashable, str] = dict(zip(args, args, strict=True))
        for made in requirements_in(values):
            self.require(made, coordinates, func, stage.funcs[0])
        for number, update in enumerate(func.updates, start=1):
            self._add_update(func, update, _bounds(func) if number == len(func.updates) else None)

    def _add_update(self, func: Function, update: UpdateDefinition, bounds: BoxAttr | None) -> None:
        """Append an `img.update`, after the scalars of its domain."""
        ranges = update.domain.ranges if update.domain is not None else ()
        scalars = Block()
        builder = BodyBuilder(scalars, self)
        domain = [(builder.index(low), builder.index(extent)) for low, extent in ranges]
        for op in list(scalars.ops):
            op.detach()
            self.add(op, update.position)
        old_funcs = self._functions[id(func)]
        block = Block(arg_types=[INDEX] * (len(update.pure) + len(ranges)) + [old.type for old in old_funcs])
        keys: list[Hashable] = [*update.pure, *(coordinate_key(r) for r in update.domain or ())]
        dimensions = update.domain.value_names() if update.domain is not None else []
        hints = [*update.pure, *dimensions, *[func.name()] * len(old_funcs)]
        for arg, hint in zip(block.args, hints, strict=True):
            arg.name_hint = value_name(hint)
        self._functions[id(func)] = block.args[len(keys) :]
        builder = BodyBuilder(block, self, dict(zip(keys, block.args, strict=False)))
        values = builder.values(update.values)
        predicate = None if update.predicate is None else builder.values([update.predicate])[0]
        map, indices = builder.position(update.args)
        block.add_op(img.WriteOp(values, indices, map, predicate))
        for op in block.ops:
            op.location = self.location(update.position)
        name = self._names.fresh(f"{self._names[func]}_update")
        made = img.UpdateOp(name, old_funcs, domain, Region(block), update.combine, bounds, update.inline)
        self.add(made, update.position)
        self._functions[id(func)] = tuple(made.funcs)
        for requirement in requirements_in((*update.args, *update.values)):
            self.require(
                where(update.predicate, requirement), dict(zip(keys, hints, strict=False)), func, made.funcs[0]
            )

    def require(
        self,
        made: Requirement,
        coordinates: Mapping[Hashable, str] | None = None,
        func: Function | None = None,
        guarded: SSAValue | None = None,
    ) -> None:
        """Append an `img.require`; a condition on points, with these coordinates, becomes a stage of its own."""
        exprs = made.exprs()
        if made.is_of_call():
            scalars = Block()
            values = BodyBuilder(scalars, self).values(exprs)
            for op in list(scalars.ops):
                op.detach()
                self.add(op, made.position)
            self.add(img.RequireOp(values[0], values[1:], made.format), made.position)
            return
        if coordinates is None or func is None or guarded is None:
            fail("a requirement of a Pipeline is one on Params and sizes of images, not on values", made.position)
        if any(e.op == "call" and e.data[0] is func for e in postorder(exprs)):
            fail(f"require in an update of Func '{func.name()}' depends on the Func itself", made.position)
        block = Block(arg_types=[INDEX] * len(coordinates))
        for arg, name in zip(block.args, coordinates.values(), strict=True):
            arg.name_hint = value_name(name)
        builder = BodyBuilder(block, self, dict(zip(coordinates, block.args, strict=True)))
        block.add_op(img.YieldOp(builder.values(exprs)))
        name = self._names.fresh(f"{self._names[func]}_requires")
        stage = img.StageOp(name, [e.type().element for e in exprs], Region(block))
        self.add(stage, made.position)
        self.add(img.RequireOp(stage.funcs[0], stage.funcs[1:], made.format, guarded), made.position)


def _bounds(func: Function) -> BoxAttr | None:
    assert func.definition is not None
    return BoxAttr(tuple(func.bounds.get(a) for a in func.definition.args)) if func.bounds else None


def build_module(
    outputs: Sequence[Source],
    name: str | None,
    layouts: Mapping[str, str],
    requirements: Sequence[Requirement] = (),
) -> ModuleOp:
    """Build a module with the pipeline of `outputs`, named after the first output unless given a name.

    `layouts`: how the arrays of images are read that do not say it themselves, by name. `requirements`: of all calls.
    """
    for output in outputs:
        output.check_readable()
    if len({id(o) for o in outputs}) != len(outputs):
        fail("a Func stands twice among the outputs of a Pipeline")
    order = reachable(outputs)
    requirements = requirements_of_calls(order, requirements)
    images, params = inputs_of(order, [e for made in requirements for e in made.exprs()])
    names = spell_names(images, params, outputs, [s for s in order if isinstance(s, Function)])
    scope = PipelineScope(names, layouts)
    for image in images:
        scope.add_input(image)
    for param in params:
        scope.add_param(param)
    for requirement in (*requirements, *(made for param in params for made in range_of(param))):
        scope.require(requirement)
    for source in order:
        if isinstance(source, Function):
            if source.continuation is not None:
                scope.add_boundary(source)
            else:
                scope.add_stage(source)
    position = outputs[0].position
    returned: list[tuple[str, SSAValue]] = []
    for output in outputs:
        functions = scope.functions(output)
        own = [names[output]] if len(functions) == 1 else [f"{names[output]}.{i}" for i in range(len(functions))]
        returned += zip(own, functions, strict=True)
    scope.add(img.ReturnOp(returned), position)
    pipeline = img.PipelineOp(name or names[outputs[0]], Region(scope.block))
    module = ModuleOp([pipeline])
    pipeline.location = module.location = scope.location(position)
    return module
