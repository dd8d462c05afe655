"""Which box a call is about, where the default is not simply the whole picture."""

import pytest
from runtime_pipelines import blur

from tilefuse.runtime.call.boxes import Request, resolve_boxes
from tilefuse.runtime.compile.specialize import find_pipeline
from tilefuse.runtime.errors import CallError

DOUBLED = """
img.pipeline @doubled {
  %a = img.input "a" : !img.func<2xf32>
  %b = img.input "b" : !img.func<2xf32>
  %sum = img.stage "sum" (%x, %y) -> f32 {
    %p = img.read %a[2 * %x + 1, %y - 3] : !img.func<2xf32>
    %q = img.read %b[%x, %y floordiv 2] : !img.func<2xf32>
    %r = arith.addf %p, %q : f32
    img.yield %r : f32
  }
  img.return "sum" = %sum : !img.func<2xf32>
}
"""

GENERATED = """
img.pipeline @ramp {
  %ramp = img.stage "ramp" (%x, %y) -> f32 {
    %s = arith.index_cast %x : index to i32
    %r = arith.sitofp %s : i32 to f32
    img.yield %r : f32
  }
  img.return "ramp" = %ramp : !img.func<2xf32>
}
"""


def boxes(module, shapes, out_shapes=None, sizes=None, mins=None):
    return resolve_boxes(find_pipeline(module), Request(shapes, out_shapes or {}, sizes or {}, mins or {}), {})


def test_the_default_is_the_largest_box_that_all_inputs_allow(parse):
    found = boxes(parse(DOUBLED), {"a": (10, 20), "b": (4, 30)})
    # x: 0 <= 2x + 1 < 20 and 0 <= x < 30; y: 0 <= y - 3 < 10 and 0 <= y / 2 < 4
    assert found.outputs["sum"] == ((0, 10), (3, 5))
    shifted = boxes(parse(DOUBLED), {"a": (10, 20), "b": (4, 30)}, mins={"a": (5, 0)})
    assert shifted.outputs["sum"] == ((2, 10), (3, 5))


def test_the_input_that_is_too_small_is_named(parse):
    with pytest.raises(CallError, match=r"input 'b' is too small: 1 points in dimension 1 \(y\).* needs 2"):
        boxes(parse(DOUBLED), {"a": (10, 20), "b": (1, 30)})
    with pytest.raises(CallError, match=r"input 'a' is too small: 1 points in dimension 0 \(x\).* needs 2"):
        boxes(parse(DOUBLED), {"a": (10, 1), "b": (4, 30)})


def test_given_extents_begin_where_the_default_does(parse):
    found = boxes(parse(blur(None)), {"photo": (9, 9)}, out_shapes={"blur_y": (4, 5)})
    assert found.outputs["blur_y"] == ((1, 5), (1, 4))
    moved = boxes(parse(blur(None)), {"photo": (9, 9)}, sizes={"blur_y": (4, 5)}, mins={"blur_y": (3, 2)})
    assert moved.outputs["blur_y"] == ((3, 4), (2, 5))


def test_without_inputs_the_caller_says_the_size(parse):
    with pytest.raises(CallError, match=r"how large dimension 0 of output 'ramp' is; give sizes="):
        boxes(parse(GENERATED), {})
    assert boxes(parse(GENERATED), {}, sizes={"ramp": (4, 3)}).outputs["ramp"] == ((0, 4), (0, 3))
    moved = boxes(parse(GENERATED), {}, sizes={"ramp": (4, 3)}, mins={"ramp": (-2, 1)})
    assert moved.outputs["ramp"] == ((-2, 4), (1, 3))
