"""What a call must fulfil: the conditions of a pipeline, apart from what it computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilefuse.analysis.bounds import Box, coordinate_spans, spans_of
from tilefuse.analysis.sizes import Sizes
from tilefuse.dialects.img.formats import kinds_of, unescaped
from tilefuse.dialects.img.ops import BoundaryOp, Definition, PipelineOp, RequireOp, ReturnOp


def requirements_of(pipeline: PipelineOp) -> list[RequireOp]:
    """The conditions, in order."""
    return [op for op in pipeline.body.block.ops if isinstance(op, RequireOp)]


def drop_requirements(module: ModuleOp) -> None:
    """Have a module ask for nothing, and compute the same."""
    for pipeline in _pipelines(module):
        asked = requirements_of(pipeline)
        for op in asked:
            op.detach()
            op.erase()
        if asked:
            _drop_unused(pipeline)


def check_of(module: ModuleOp, number: int) -> ModuleOp:
    """A copy that computes a condition on points, and the numbers of its message, and nothing else.

    Its outputs are called `0`, `1`, ...: the condition and the numbers. `number`: of the condition among all.
    """
    copy = module.clone()
    for pipeline in _pipelines(copy):
        asked = requirements_of(pipeline)[number]
        outputs = [(str(n), value) for n, value in enumerate((asked.condition, *asked.numbers))]
        old = pipeline.return_op
        pipeline.body.block.insert_op_before(ReturnOp(outputs), old)
        for op in [old, *requirements_of(pipeline)]:
            op.detach()
            op.erase()
        _drop_unused(pipeline)
    return copy


def _pipelines(module: ModuleOp) -> list[PipelineOp]:
    return [op for op in module.body.block.ops if isinstance(op, PipelineOp)]


def _drop_unused(pipeline: PipelineOp) -> None:
    """Erase stages, updates and boundaries that nothing needs; inputs and params belong to the call."""
    for op in reversed(list(pipeline.body.block.ops)):
        if isinstance(op, Definition | BoundaryOp) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def points_of(op: RequireOp, needed: Mapping[SSAValue, Box], sizes: Sizes) -> Box | None:
    """The box of points at which a condition must hold in a call; None if there are none."""
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


def refusal(op: RequireOp, numbers: Sequence[int | float]) -> str:
    """What is said of a call that does not fulfil a condition; integers may come with or without a sign."""
    shown = [_read(kind, number) for kind, number in zip(kinds_of(op.format.data) or (), numbers, strict=True)]
    format = unescaped(op.format.data).replace("%lld", "%d").replace("%llu", "%d")
    said = f" {format % tuple(shown)}" if format else ""
    return f"Requirement Failed: (false){said}"


def _read(kind: str, number: int | float) -> int | float:
    """A number as its format reads it."""
    if kind == "%f":
        return number
    bits = int(number) % (1 << 64)
    return bits - (1 << 64) if kind == "%lld" and bits >= 1 << 63 else bits
