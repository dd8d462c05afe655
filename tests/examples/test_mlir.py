"""The checked-in .mlir files are what the Python text builds, and compile to the same program."""

import numpy as np
import pytest
from _all import EXAMPLES
from _run import HERE
from variants import QUICK

from tilefuse.dialects.parsing import parse_module
from tilefuse.runtime.program import compile_pipeline


@pytest.mark.parametrize("name", EXAMPLES)
def test_file_is_up_to_date(name):
    assert (HERE / f"{name}.mlir").read_text() == EXAMPLES[name].ir(), "run `python examples/_all.py`"


def test_there_is_no_other_file():
    assert {path.stem for path in HERE.glob("*.mlir")} == {*EXAMPLES, "hand_schedule"}


@pytest.mark.parametrize("name", sorted(set(QUICK) & set(EXAMPLES)))
def test_file_computes_what_the_python_text_does(name, photo):
    example = EXAMPLES[name]
    array = example.prepare(photo(40, 50))
    from_file = compile_pipeline(parse_module((HERE / f"{name}.mlir").read_text()), "cpu")
    np.testing.assert_array_equal(from_file(array), example.pipeline().compile("cpu")(array))
