"""`specialize-stages`: inline a stage that is read at constants, and fold operations on constants.

    %h = img.stage "h" (%t) -> si32 { ... %t * %t + 1 ... }
    ... %n = img.read %h[3]; %i = arith.index_cast %n : i32 to index; %v = img.read %f[%x, %i]
    =>
    ... %v = img.read %f[%x, 10]

The pass also inlines tables that depend on their coordinates only; functions that are read at constants in more slices
than a thread could keep, which would otherwise be stored as a whole; and functions that select among others by a
coordinate. The remaining reads are at constant offsets, which tiles can follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineConstantExpr, AffineMap
from xdsl.passes import ModulePass

from tilefuse.analysis.access import ReadSite, read_sites
from tilefuse.analysis.recomputation import may_be_inlined
from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import PipelineOp, ReadOp, StageOp
from tilefuse.passes.constants import constants_at, fold
from tilefuse.passes.inline_stages import inline_at

MOST_SLICES = 8
"""Slices of a function that a thread could hold."""
CHOICES = 3
"""Comparisons of a coordinate by which a function chooses among others."""
MOST_OPERATIONS = 8000
"""Operations that are written out for one stage, before they are folded."""


@dataclass(frozen=True)
class SpecializeStages(ModulePass):
    """Inline stages at their reads with constant coordinates."""

    name = "specialize-stages"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if isinstance(pipeline, PipelineOp):
                _specialize(pipeline)


def _specialize(pipeline: PipelineOp) -> None:
    """Inline stages at constants until none is left: folded indices may expose more."""
    found = True
    while found:
        found = False
        # consumers first: what they read may then be read at constants alone
        for stage in reversed([s for s in pipeline.body.block.ops if isinstance(s, StageOp)]):
            sites = read_sites(stage) if may_be_inlined(stage) else None
            if not sites:
                continue
            if _look_up(stage, sites):
                pass
            elif _is_specialized(stage, sites):
                for number, site in enumerate(sites):
                    inline_at(stage, site, move=number == len(sites) - 1)
            else:
                continue
            found = True
            stage.detach()
            stage.erase()
            for reader in dict.fromkeys(reader for reader, _, _ in sites):
                fold(reader)


def _is_specialized(stage: StageOp, sites: list[ReadSite]) -> bool:
    """Whether a stage is worth computing at all of `sites`."""
    numbers = [
        [expr.value if isinstance(expr, AffineConstantExpr) else None for expr in map.results] for _, map, _ in sites
    ]
    at_constants = [(dim, set(at)) for dim, at in enumerate(zip(*numbers, strict=True)) if None not in at]
    if not any(len(at) > MOST_SLICES or _chooses_by(stage, dim) for dim, at in at_constants):
        return False
    return len(sites) * len(stage.body.block.ops) <= MOST_OPERATIONS and all(_follows_reader(site) for site in sites)


def _follows_reader(site: ReadSite) -> bool:
    """Whether a read's place differs for each point of the reader, so that nothing is recomputed."""
    reader, map, indices = site
    return {indices[d] for e in map.results for d in e.used_dims()}.issuperset(reader.body.block.args)


def _look_up(stage: StageOp, sites: list[ReadSite]) -> bool:
    """Replace all reads of a table by constants; return False, without a change, if a stage is no table.

    A table is computed of its coordinates alone, in finite numbers, and read at constants.
    """
    if any(isinstance(op, ReadOp) for op in stage.body.block.ops) or any(indices for _, _, indices in sites):
        return False
    points = [_point(map) for _, map, _ in sites]
    values = constants_at(stage, points) if stage.rank else None
    if values is None:
        return False
    rows = dict(zip(points, values, strict=True))
    for number, function in enumerate(stage.funcs):
        for use in list(function.uses):
            read = use.operation
            assert isinstance(read, ReadOp)
            constant = arith.ConstantOp(rows[_point(read.map.data)][number])
            block = read.parent_block()
            assert block is not None
            block.insert_op_before(constant, read)
            read.value.replace_all_uses_with(constant.result)
            read.detach()
            read.erase()
    return True


def _point(map: AffineMap) -> tuple[int, ...]:
    return tuple(expr.eval([], []) for expr in map.results)


def _chooses_by(stage: StageOp, dim: int) -> bool:
    """Whether a stage compares a coordinate with constants to choose among values."""
    comparisons = [u.operation for u in stage.body.block.args[dim].uses if isinstance(u.operation, arith.CmpiOp)]
    return sum(integer_constant(op.rhs) is not None for op in comparisons) >= CHOICES
