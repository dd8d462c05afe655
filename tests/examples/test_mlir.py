"""The checked-in .mlir files are what the Python text builds, and compile to the same program."""

import numpy as np
import pytest
from _all import EXAMPLES, files
from _run import HERE
from variants import QUICK

from tilefuse.dialects.parsing import parse_module
from tilefuse.runtime.program import compile_pipeline


def test_files_are_up_to_date():
    written = {path.name: path.read_text() for path in HERE.glob("*.mlir")}
    del written["hand_schedule.mlir"]
    expected = files()
    assert sorted(written) == sorted(expected), "run `python examples/_all.py`"
    differing = [name for name, text in expected.items() if written[name] != text]
    assert not differing, "run `python examples/_all.py`"


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(set(QUICK) & set(EXAMPLES)))
def test_file_computes_what_the_python_text_does(name, photo):
    example = EXAMPLES[name]
    array = example.prepare(photo(40, 50))
    from_file = compile_pipeline(parse_module((HERE / f"{name}.mlir").read_text()), "cpu")
    np.testing.assert_array_equal(from_file(array), example.pipeline().compile("cpu")(array))
