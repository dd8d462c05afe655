"""Requirements of a call: extraction of a pipeline's conditions into a module of their own."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilefuse.analysis.bounds import Box, coordinate_spans, spans_of
from tilefuse.analysis.sizes import Sizes
from tilefuse.dialects.img.ops import BoundaryOp, Definition, PipelineOp, RequireOp, ReturnOp


def drop_requirements(module: ModuleOp) -> None:
    """Remove the requirements of a module, and the values that only they need; its outputs stay unchanged."""
    for pipeline in _pipelines(module):
        requirements = pipeline.requirements
        for op in requirements:
            op.detach()
            op.erase()
        if requirements:
            _drop_unused(pipeline)


def check_of(module: ModuleOp, number: int) -> ModuleOp:
    """Copy only the computation of a condition on points and of the numbers in its message.

    Its outputs are called `0`, `1`, ...: the condition and the numbers. `number`: of the condition among all.
    """
    copy = module.clone()
    for pipeline in _pipelines(copy):
        requirement = pipeline.requirements[number]
        outputs = [(str(n), value) for n, value in enumerate((requirement.condition, *requirement.numbers))]
        old = pipeline.return_op
        pipeline.body.block.insert_op_before(ReturnOp(outputs), old)
        for op in [old, *pipeline.requirements]:
            op.detach()
            op.erase()
        _drop_unused(pipeline)
    return copy


def _pipelines(module: ModuleOp) -> list[PipelineOp]:
    return [op for op in module.body.block.ops if isinstance(op, PipelineOp)]


def _drop_unused(pipeline: PipelineOp) -> None:
    """Erase unused stages, updates and boundaries; inputs and params stay, as they belong to the call."""
    for op in reversed(list(pipeline.body.block.ops)):
        if isinstance(op, Definition | BoundaryOp) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def points_of(op: RequireOp, needed: Mapping[SSAValue, Box], sizes: Sizes) -> Box | None:
    """Return the box of points at which a condition must hold in a call; None if there are none."""
    assert op.guarded is not None
    box, definition = needed.get(op.guarded), op.guarded.owner
    if box is None or not isinstance(definition, Definition):
        return None
    spans = coordinate_spans(definition, spans_of(box), sizes)
    if spans is None:
        return None
    found = []
    for low, high in spans.values():
        assert isinstance(low, int)
        assert isinstance(high, int)
        found.append((low, high - low + 1))
    return None if any(extent <= 0 for _, extent in found) else tuple(found)
