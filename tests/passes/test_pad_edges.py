"""Rows that are copied with the points beside them give the same as reads beyond the edges, at any size and place."""

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.dialects.img.ops import PipelineOp, StageOp
from tilefuse.passes.pipeline import run_passes, standard_passes

x, y, c = hl.vars("x y c")
EXTENT = (48, 40)
KINDS = {
    "repeat_edge": (),
    "mirror_image": (),
    "mirror_interior": (),
    "constant_exterior": (0.5,),
    "repeat_image": (),
}


def wide_window(kind, steps=1):
    """Two stages of a picture with three planes, which read far to both sides, at each or every second point."""
    image = hl.ImageParam(hl.Float(32), 3, "image")
    edge = getattr(hl.BoundaryConditions, kind)(image, *KINDS[kind])
    across, down = hl.funcs("across down")
    across[x, y, c] = edge[steps * x - 7, y, c] / 3 + edge[steps * x + 6, y + 2, c] + edge[steps * x, y, c]
    down[x, y, c] = across[x, y - 1, c] + across[x, y + 1, c] / 7
    return hl.Pipeline(down)


def copies(pipeline, extent=EXTENT):
    module = run_passes(pipeline.to_module(), standard_passes("zen3", extent=extent))
    (op,) = (o for o in module.body.block.ops if isinstance(o, PipelineOp))
    return [s.sym_name.data for s in op.walk() if isinstance(s, StageOp) and s.sym_name.data.endswith("_padded")]


@pytest.mark.parametrize(("kind", "steps"), [*((kind, 1) for kind in KINDS), ("repeat_edge", 2)])
def test_the_same_at_any_size_and_place(kind, steps):
    pipeline = wide_window(kind, steps)
    program = pipeline.compile("cpu", extent=EXTENT, strict_float=True)
    assert copies(pipeline) == ["image_padded"]
    reference = pipeline.compile("reference")
    for width, height in ((48, 40), (1, 1), (2, 3), (33, 7), (270, 9)):
        picture = np.random.default_rng(width).random((3, height, width), dtype=np.float32)
        boxes = ({}, {"sizes": (width + 5, height + 1, 3), "mins": {"down": (-4, 2, 0)}})
        for box in boxes:
            wanted = reference(picture, **box)
            np.testing.assert_array_equal(program(picture, **box), wanted, err_msg=f"{width}x{height} {box}")


def test_not_in_larger_pictures():
    assert copies(wide_window("repeat_edge"), (4096, 40)) == []
    assert copies(wide_window("repeat_edge"), (60, 1000)) == []


def test_not_where_it_saves_nothing():
    image = hl.ImageParam(hl.Float(32), 2, "image")
    edge = hl.BoundaryConditions.repeat_edge(image)
    out = hl.Func("out")
    out[x, y] = edge[x, y - 1] + edge[x, y + 1]
    assert copies(hl.Pipeline(out)) == []
