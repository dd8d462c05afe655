"""How temporaries lie in memory: columns that are multiples of 16 bytes do so, wherever a box begins."""

import numpy as np
import pytest
from random_programs import passes

import tilefuse as hl
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.tile_grid import origin_alignment
from tilefuse.lowering.abi import touches_temporaries
from tilefuse.passes.pipeline import run_passes
from tilefuse.runtime.launch.plan import _storage


@pytest.mark.parametrize(
    ("first", "itemsize", "lead"), [(0, 4, 0), (-2, 4, 8), (-6, 2, 4), (5, 1, 5), (-1, 8, 8), (3, 16, 0)]
)
def test_lead(first, itemsize, lead):
    before, strides, size = _storage(((first, 37), (-3, 5)), itemsize)
    assert before == lead
    assert strides[0] == 1
    assert strides[1] * itemsize % 16 == 0
    assert size >= lead + 4 * strides[1] * itemsize + 37 * itemsize


def stages(count):
    x, y = hl.Var("x"), hl.Var("y")
    current = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image"))
    for n in range(count):
        following = hl.Func(f"stage_{n}")
        following[x, y] = (current[x - 1, y] + current[x + 1, y] + current[x, y - 1] + current[x, y + 1]) / 4.0
        current = following
    return hl.Pipeline(current)


def test_tiles_begin_at_vectors_where_temporaries_are():
    schedule = passes("h200", shape="warp_tile", algorithm="none")
    groups = stages(3).compile(target="cpu", passes=schedule)
    photo = np.random.default_rng(1).random((41, 77), np.float32)
    np.testing.assert_allclose(groups(photo), stages(3).compile(target="reference")(photo), rtol=1e-6)

    module = run_passes(stages(3).to_module(), schedule)
    found = [op for op in module.walk() if isinstance(op, GroupOp)]
    assert len(found) == 3
    for group in found:
        assert touches_temporaries(group)
        assert origin_alignment(group)[0] == group.schedule.vector_width > 1


def test_alone_a_kernel_begins_where_its_output_does():

    module = run_passes(stages(1).to_module(), passes("h200", shape="warp_tile"))
    (group,) = [op for op in module.walk() if isinstance(op, GroupOp)]
    assert not touches_temporaries(group)
    assert origin_alignment(group) == (1, 1)
