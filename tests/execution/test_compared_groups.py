"""Terms of the cost model that count where groups are compared, since all tiles of one group have the same of them."""

import pytest

import tilefuse as hl
from tilefuse.analysis.machine import machine
from tilefuse.analysis.model import extract
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.execution.block_tile.cost import WRAPPED_COST, block_candidates
from tilefuse.execution.candidate import SearchOptions
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.warp_tile.cost import warp_candidates
from tilefuse.passes import tile
from tilefuse.passes.pipeline import run_passes, standard_passes

EXTENT = (4096, 4096)
H200 = machine("h200")
x, y = hl.Var("x"), hl.Var("y")


def groups_of(out, *more):
    """The scheduled groups of pipelines, and the facts of each."""
    module = run_passes(hl.Pipeline([out, *more]).to_module(), standard_passes("h200", extent=EXTENT))
    (pipeline,) = (op for op in module.body.block.ops if isinstance(op, PipelineOp))
    groups = [op for op in pipeline.body.block.ops if isinstance(op, GroupOp)]
    return groups, [GroupFacts.of(g, extract(pipeline, EXTENT), EXTENT) for g in groups]


def picture(boundary=hl.BoundaryConditions.repeat_edge):
    return boundary(hl.ImageParam(hl.Float(32), 2, "image"))


@pytest.mark.parametrize(
    ("read", "bytes"),
    [
        (lambda f: f[x // 2, y // 2], 1),
        (lambda f: f[x // 2, y // 2] + f[(x + 1) // 2, (y - 1) // 2], 1),
        (lambda f: f[2 * x, 2 * y] + f[2 * x + 1, 2 * y], 8),
        (lambda f: f[2 * x, 2 * y] + f[2 * x, 2 * y + 1] + f[2 * x, 2 * y + 2], 16),
        (lambda f: f[x, y], 0),
    ],
    ids=["half", "half, twice", "double", "double, both rows", "at its place"],
)
def test_reads_at_multiples_of_the_coordinates_are_traffic(read, bytes):
    image, other = (hl.ImageParam(hl.Float(32), 2, name) for name in ("image", "other"))
    out = hl.Func("out")
    out[x, y] = hl.sqrt(other[x, y]) * read(image)
    _, (facts,) = groups_of(out)
    found = {
        (c.tile, c.threads): c.features.own_bytes for c in warp_candidates(facts, H200, SearchOptions(thorough=False))
    }
    same = [c for c in warp_candidates(facts, H200, SearchOptions()) if (c.tile, c.threads) in found]
    assert same
    for c in same:
        points = c.tile[0] * c.tile[1] / c.threads[1]
        assert found[c.tile, c.threads] - c.features.own_bytes == pytest.approx(bytes * points, rel=0.02)


def test_a_stage_of_half_the_size_is_computed_by_its_reader():
    """Stored, it is loaded again from memory: of random pipeline 181 one kernel takes 42 us on an H200, two 49."""
    image = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Int(32), 2, "image"))
    small, out = hl.Func("small"), hl.Func("out")
    small[x, y] = (hl.max(image[x, y] - image[x + 4, y - 2], image[x, y + 2]) + image[x, y]) % image[x, y - 1]
    near = small[x // 2, (y - 1) // 2 - 1] + small[(x - 1) // 2, (y + 1) // 2]
    out[x, y] = hl.sqrt(hl.abs(hl.cast(hl.Float(32), image[x, y] - near)) + 1.0)
    (group,), _ = groups_of(out)
    assert [s.sym_name.data for s in group.definitions] == ["small", "out"]


@pytest.mark.parametrize(
    ("boundary", "costs"),
    [
        (hl.BoundaryConditions.repeat_edge, 0),
        (hl.BoundaryConditions.mirror_image, WRAPPED_COST),
        (hl.BoundaryConditions.mirror_interior, WRAPPED_COST),
        (hl.BoundaryConditions.repeat_image, WRAPPED_COST),
    ],
)
def test_coordinates_beyond_a_picture_are_divided(boundary, costs):
    out, image = hl.Func("out"), picture(boundary)
    out[x, y] = hl.sqrt(image[2 * x, 2 * y] + image[2 * x + 1, 2 * y + 1])
    _, (facts,) = groups_of(out)
    compared = {(c.tile, c.threads, c.vector): c.features for c in block_candidates(facts, H200, False)}
    tiles = {(c.tile, c.threads, c.vector): c.features for c in block_candidates(facts, H200, True)}
    for key in compared.keys() & tiles.keys():
        more = compared[key].instructions - tiles[key].instructions
        # three quarters of the picture read beyond the image
        assert more == pytest.approx(0.75 * 2 * costs * key[0][0] * key[0][1], abs=1e-6)


def test_a_kernel_of_several_results_has_a_tile_for_their_true_sizes(monkeypatch):
    searched = []
    schedules = tile.schedules
    monkeypatch.setattr(tile, "schedules", lambda facts, *more: searched.append(facts) or schedules(facts, *more))
    image = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.UInt(16), 2, "image"))
    large, small, out = hl.Func("large"), hl.Func("small"), hl.Func("out")
    large[x, y] = (image[x - 4, y] + image[x, y - 1] * image[x, y + 1]) // (image[x, y] + 1)
    large.compute_root()
    small[x, y] = image[x, y]
    out[x, y] = large[2 * x - 1, 2 * y + 1] + large[x, y + 3] * large[x - 4, y] + large[x, y - 4]
    groups_of(out, small)
    assert {len(f.stored) > 1 for f in searched} == {False, True}
    assert all(f.far_boxes == (len(f.stored) > 1) for f in searched)
