"""Boxes of pictures with more points along a dimension than 31 bits count."""

import tilefuse as hl
from tilefuse.analysis.bounds import required_boxes


def test_coordinates_that_31_bits_do_not_count_are_no_unbounded_values():
    x, image, out = hl.Var("x"), hl.ImageParam(hl.UInt(8), 1, "image"), hl.Func("out")
    edge = hl.BoundaryConditions.repeat_edge(image)
    out[x] = hl.max(edge[x], edge[x + 1])
    pipeline = hl.Pipeline(out).to_module().body.block.first_op
    box = ((0, 2**31 + 2**20),)
    needed = required_boxes(pipeline, {"out": box}, {"image": box}, {})
    assert set(needed.values()) == {box, ((0, 2**31 + 2**20 + 1),)}
