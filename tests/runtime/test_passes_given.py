"""What compile refuses as `passes`, before anything runs."""

import pytest

import tilefuse as hl
from tilefuse.passes.tile import Tile
from tilefuse.runtime.errors import CallTypeError

x, y = hl.vars("x y")


@pytest.mark.parametrize("passes", [["tile"], [Tile], "inline-stages,tile", Tile()])
def test_names_and_classes_are_no_passes(passes):
    f = hl.Func("f")
    f[x, y] = x + y
    with pytest.raises(CallTypeError, match="passes= takes a list of pass objects"):
        hl.Pipeline(f).compile("cpu", passes=passes)
