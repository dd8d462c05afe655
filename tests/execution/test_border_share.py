"""The share of a picture whose tiles meet no boundary, and what follows from it for groups and versions of tiles."""

import pytest

import tilefuse as hl
from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.img.ops import MOSTLY_BORDER, GroupOp, PipelineOp
from tilefuse.execution.block_tile.cost import block_candidates
from tilefuse.execution.border_share import interior_share
from tilefuse.execution.facts import GroupFacts
from tilefuse.passes.merge_versions import OUTLINED, MergeVersions
from tilefuse.passes.pipeline import lowering_passes, run_passes, standard_passes

EXTENT = (4096, 4096)
x, y = hl.Var("x"), hl.Var("y")


def clamped():
    return hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image"))


def scheduled(*outputs):
    """The scheduled groups, and their facts as groups are compared."""
    passes = standard_passes("h200", extent=EXTENT)
    module = run_passes(hl.Pipeline(list(outputs)).to_module(), passes)
    (pipeline,) = (op for op in module.body.block.ops if isinstance(op, PipelineOp))
    model = extract(pipeline, EXTENT)
    groups = [op for op in pipeline.body.block.ops if isinstance(op, GroupOp)]
    found = [GroupFacts.of(group, model, EXTENT) for group in groups]
    return groups, [GroupFacts(f.model, f.members, f.output, EXTENT, far_boxes=True) for f in found]


@pytest.mark.parametrize(
    ("scale", "share"),
    [
        (lambda c: c, 1.0),
        (lambda c: c + 9, 1.0),
        (lambda c: c + 3072, 0.0625),
        (lambda c: 2 * c + 1, 0.25),
        (lambda c: c // 2, 1.0),
        (lambda c: -c, 4096.0**-2),
        (lambda c: 4095 - c, 1.0),
        (lambda c: -1 - c, 0.0),
    ],
    ids=["at its place", "shifted", "shifted far", "twice as far", "half as far", "mirrored", "turned", "outside"],
)
def test_readers_that_scale_leave_the_picture(scale, share):
    image, out = clamped(), hl.Func("out")
    out[x, y] = hl.sqrt(image[x, y] + image[scale(x), scale(y)])
    (group,), (facts,) = scheduled(out)
    assert interior_share(facts) == pytest.approx(share)
    assert (MOSTLY_BORDER in group.attributes) == (share < 0.5)


@pytest.mark.parametrize(("first", "extent", "share"), [(0, 1024, 0.25), (3840, 4096, 0.0625), (0, 4096, 1.0)])
def test_boxes_of_boundaries_may_be_smaller_than_the_picture(first, extent, share):
    image, out = clamped(), hl.Func("out")
    inside = hl.BoundaryConditions.constant_exterior(image, hl.f32(0), [(first, extent), (0, 4096)])
    out[x, y] = hl.sqrt(inside[x, y])
    _, (facts,) = scheduled(out)
    assert interior_share(facts) == pytest.approx(share)


@pytest.mark.parametrize(("scale", "merged"), [(1, True), (2, False)])
def test_versions_are_kept_where_most_tiles_are_at_borders(scale, merged):
    image, out = clamped(), hl.Func("out")
    out[x, y] = hl.sqrt(image[x - 1, y] + image[scale * x + 1, scale * y])
    module = run_passes(hl.Pipeline(out).to_module(), standard_passes("h200", extent=EXTENT))
    passes = [
        MergeVersions(min_operations=1) if isinstance(p, MergeVersions) else p for p in lowering_passes(warps=True)
    ]
    assert (OUTLINED in str(run_passes(module, passes))) == merged


@pytest.mark.parametrize("chain", [(0,), (1,), (1, 1)], ids=["points", "a stencil", "a chain of stencils"])
def test_a_tile_as_large_as_the_picture_is_at_its_border_on_a_cpu(chain):
    extent, before = (64, 64), clamped()
    for reach in chain:
        stage = hl.Func("stage")
        stage[x, y] = hl.sqrt(before[x - reach, y] + before[x + reach, y] + before[x, y])
        before = stage
    module = run_passes(hl.Pipeline(before).to_module(), standard_passes("cpu", extent=extent))
    (pipeline,) = (op for op in module.body.block.ops if isinstance(op, PipelineOp))
    model = extract(pipeline, extent)
    for facts in (GroupFacts.of(op, model, extent) for op in pipeline.body.block.ops if isinstance(op, GroupOp)):
        tiles = {c.tile: c.features for c in block_candidates(facts, machine("cpu"), thorough=True)}
        assert tiles[64, 64].at_border == 1.0  # of a smaller picture it has no whole tile
        assert tiles[128, 64].at_border == 1.0  # half of it lies beside the picture


def test_without_a_boundary_no_tile_is_at_a_border():
    image, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("out")
    out[x, y] = hl.sqrt(image[2 * x, 2 * y] + image[x, y])
    (group,), (facts,) = scheduled(out)
    assert interior_share(facts) == 1.0
    assert MOSTLY_BORDER not in group.attributes


def readers_of_an_image(scale):
    """Two stages that read the same points; a third reads the first at `scale` times its own coordinates."""
    image = clamped()
    first, second, third = hl.Func("first"), hl.Func("second"), hl.Func("third")
    first[x, y] = hl.sqrt(image[x - 1, y] + image[x, y] * image[x + 1, y])
    second[x, y] = hl.sqrt(image[x - 1, y] * image[x, y] + image[x + 1, y])
    at = (first[scale * x + i, scale * y + j] for i in (-2, 0, 2) for j in (-2, 0, 2))
    third[x, y] = hl.sqrt(sum(at, hl.f32(0)))
    return first, second, third


def test_one_kernel_stores_stages_that_are_needed_in_one_box():
    """Not where the box of one is four times another's: all of it would be computed for both."""
    for scale, together in ((1, True), (2, False)):
        groups, _ = scheduled(*readers_of_an_image(scale))
        names = [{stage.sym_name.data for stage in group.stages} for group in groups]
        assert any({"first", "second"} <= kernel for kernel in names) == together


def test_costs_count_what_is_needed_far_beyond_the_picture():
    _, (facts, *_) = scheduled(*readers_of_an_image(2))
    (first,) = (node.id for node in facts.model.nodes if node.name == "first")
    near, far = (GroupFacts(facts.model, [first], first, EXTENT, far_boxes=far).box for far in (False, True))
    assert near == EXTENT
    assert all(2 * n <= got < 2.1 * n for got, n in zip(far, EXTENT, strict=True))
