"""Groups that are alike but for what they are called share one kernel."""

import pytest
from xdsl.dialects.builtin import StringAttr, UnitAttr

from tilefuse.analysis.duplicates import fingerprint
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
