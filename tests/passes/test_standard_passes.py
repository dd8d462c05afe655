"""The list of standard passes is for a target that is known."""

import pytest

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.passes.pipeline import standard_passes


def test_an_unknown_target():
    with pytest.raises(PipelineError, match=r"standard_passes: unknown GPU 'foo'; known are v100, .*; or cpu"):
        standard_passes("foo")


@pytest.mark.parametrize("target", ["cpu", "h200", "sm_80", "NVIDIA A100-SXM4-80GB"])
def test_targets(target):
    assert {p.target for p in standard_passes(target) if hasattr(p, "target")} == {target}
