"""Groups that are alike but for what they are called share one kernel."""

import pytest
from xdsl.dialects.builtin import StringAttr, UnitAttr

from tilefuse.analysis.duplicates import fingerprint, read_planes
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.parsing import parse_module

STEPS = """
img.pipeline @steps {
  %in = img.input "in" : !img.func<1xf32>
  %a = img.group "a" {
    %f = img.stage "f" (%x) -> f32 {
      %v = img.read %in[%x + 1] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  %b = img.group "b" {
    %g = img.stage "g" (%x) -> f32 {
      %v = img.read %a[%x + 1] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %g : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "b" = %b : !img.func<1xf32>
}
"""


@pytest.mark.parametrize(
    ("key", "value", "alike"), [("kernel", StringAttr("steps_a"), True), ("register_bounded", UnitAttr(), False)]
)
def test_what_a_group_was_told(key, value, alike):
    first, second = (op for op in parse_module(STEPS).walk() if isinstance(op, GroupOp))
    assert fingerprint(first) == fingerprint(second)
    second.attributes[key] = value
    assert (fingerprint(first) == fingerprint(second)) is alike


PLANES = """
img.pipeline @planes {{
  %in = img.input "in" {layout} : !img.func<3xf32>
  %edge = img.boundary repeat_edge %in dims [2] : !img.func<3xf32>
  %a = img.group "a" {{
    %f = img.stage "f" (%x, %y) -> f32 {{
      %v = img.read %{of}[%x, 1, {first}] : !img.func<3xf32>
      %w = img.read %in[%x, %y, {first}] : !img.func<3xf32>
      %r = arith.addf %v, %w : f32
      img.yield %r : f32
    }}
    img.yield %f : !img.func<2xf32>
  }} : !img.func<2xf32>
  %b = img.group "b" {{
    %g = img.stage "g" (%x, %y) -> f32 {{
      %v = img.read %{of}[%x, 1, {second}] : !img.func<3xf32>
      %w = img.read %in[%x, %y, {third}] : !img.func<3xf32>
      %r = arith.addf %v, %w : f32
      img.yield %r : f32
    }}
    img.yield %g : !img.func<2xf32>
  }} : !img.func<2xf32>
  img.return "a" = %a : !img.func<2xf32>, "b" = %b : !img.func<2xf32>
}}
"""


@pytest.mark.parametrize(
    ("second", "third", "of", "layout", "alike"),
    [
        (0, 0, "in", "", True),
        (5, 5, "in", "", True),  # another plane
        (-7, -7, "in", "", True),
        (5, 4, "in", "", False),  # two
        (5, 5, "edge", "", False),  # where the border moves a read there may be two, too
        (5, 5, "in", "layout strided<[3, ?, 1]>", False),  # in the midst of a pixel
        (1 << 20, 1 << 20, "in", "", False),  # least coordinates of 32 bits
    ],
)
def test_planes(second, third, of, layout, alike):
    text = PLANES.format(first=0, second=second, third=third, of=of, layout=layout)
    first, last = (op for op in parse_module(text).walk() if isinstance(op, GroupOp))
    assert (fingerprint(first) == fingerprint(last)) is alike
    if alike:
        assert list(read_planes(last).values()) == [(None, None, second)]
