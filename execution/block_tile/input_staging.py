"""Input staging: a group copies an input once per tile into a stage in shared memory.

Part of `promote-memory{stage_inputs=true}`. The new stage is an identity, so everything else (regions, places,
lowering) treats it like any other:

    %in_tile = img.stage "in_tile" (%x, %y) -> f32 { %v = img.read %in[%x, %y]; img.yield %v }
"""

from __future__ import annotations

from fractions import Fraction

from xdsl.ir import SSAValue

from tilefuse.analysis.access import free_name, function_name, reads
from tilefuse.analysis.index import GeneralIndex, Index
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, follow_chain
from tilefuse.dialects.img.copies import copy_stage
from tilefuse.dialects.img.ops import GroupOp, StageOp


def stageable(model: PipelineModel, group: GroupOp) -> list[SSAValue]:
    """Find the outside functions that the group reads at several places, all of which follow the tile equally.

    Functions that only stages beside the output's chain read stay: such a read may be all that says which points
    belong to the tile, where it is of another result of a stage that the chain reads.
    """
    ids = {model.node_of[s.funcs[0]] for s in group.tiled}
    output = model.node_of[group.anchor.funcs[0]]
    follow, chain = follow_chain(model, ids, output), model.needed([output], ids)
    of_chain = {access.source for id in chain for access in model.nodes[id].accesses}
    ways: dict[SSAValue, set[tuple[Follow, ...]]] = {}
    places: dict[SSAValue, int] = {}
    for id in sorted(ids):
        for access in model.nodes[id].accesses:
            if access.producer in ids:
                continue
            way = []
            for index in access.indices:
                if isinstance(index, GeneralIndex):
                    break
                via = follow[id][index.var] if isinstance(index, Index) and index.var is not None else None
                if via is None or via.dim is None:
                    way.append(Follow(None))
                else:
                    assert isinstance(index, Index)
                    way.append(Follow(via.dim, via.ratio * Fraction(index.num, index.den)))
            ways.setdefault(access.source, set()).add(tuple(way) if len(way) == len(access.indices) else ())
            places[access.source] = places.get(access.source, 0) + 1
    alike = (s for s, way in ways.items() if places[s] > 1 and len(way) == 1 and way != {()})
    return [s for s in alike if s in of_chain]


def stage_input(group: GroupOp, source: SSAValue) -> StageOp:
    """Insert a stage that copies `source` before the group's stages, and redirect their reads to it."""
    taken = {s.sym_name.data for s in group.parent_op().walk() if isinstance(s, StageOp)}  # type: ignore[union-attr]
    stage = copy_stage(free_name(f"{function_name(source)}_tile", taken), source)
    stage.location = group.location
    for other in group.tiled:
        for op in reads(other):
            if op.source is source:
                op.operands[0] = stage.funcs[0]
    first = group.body.block.first_op
    assert first is not None
    group.body.block.insert_op_before(stage, first)
    return stage
