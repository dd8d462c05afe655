"""A type of pixels is a row of one table, which the rest of the compiler reads."""

import math
import re
import struct
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.dialects.img import types
from tilefuse.dialects.img.elements import ELEMENTS, FLOATS, INTEGER_WIDTHS
from tilefuse.evaluator.carriers import CARRIERS, carried
from tilefuse.evaluator.narrow_floats import NARROW_FLOATS
from tilefuse.frontend import functions
from tilefuse.lowering.printers.c import C
from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED
from tilefuse.lowering.printers.cuda import Cuda
from tilefuse.lowering.printers.library import COMMON
from tilefuse.runtime.errors import CallError

ROOT = Path(__file__).parent.parent
ROOMS = "analysis dialects evaluator execution frontend lowering passes runtime targets tools tilefuse".split()

MAY_NAME_BF16 = {
    "dialects/img/elements.py": "the row",
    "evaluator/narrow_floats.py": "its bits, since NumPy lacks it",
    "lowering/printers/narrow_floats.py": "its conversions in C and CUDA",
}
"""bf16 stands for all types: nothing else in the compiler depends on it."""


def test_few_files_name_a_type():
    named = re.compile(r"\bbf16|bfloat16|BFloat16|_bf16\b")
    files = (path for room in ROOMS for path in (ROOT / room).glob("**/*.py") if not path.is_symlink())
    found = {path.relative_to(ROOT).as_posix() for path in files if named.search(path.read_text())}
    assert {f for f in found if not f.startswith("tilefuse/")} == set(MAY_NAME_BF16)


def test_tables_of_types_agree():
    assert set(NARROW_FLOATS) == {row.type for row in ELEMENTS.values() if not row.in_numpy}
    for row in ELEMENTS.values():
        assert row.storage in CARRIERS
        if row.is_narrow_float:
            assert f"round_{row.name}" in COMMON
        if row.is_float and row.in_numpy:
            facts = np.finfo(row.dtype)
            assert (facts.nmant + 1, facts.maxexp - 1) == (row.significand, row.exponent)
            assert row.limits[1] == facts.max
        elif row.in_numpy and row.bits > 1:
            assert row.limits == (np.iinfo(row.dtype).min, np.iinfo(row.dtype).max)


def test_integers_of_each_width_have_their_names_and_helpers():
    assert [*SIGNED] == [*INTEGER_WIDTHS] == [width for width in UNSIGNED if width > 1]
    for width in INTEGER_WIDTHS:
        assert {f"ui{width}", f"si{width}"} <= set(types.__all__)
        assert {f"{sign}{width}{end}" for sign in "iu" for end in ("", "_sat")} <= set(functions.__all__)
        needed = {f"{source}_to_{sign}{width}" for source in ("f32", "f64") for sign in "su"}
        needed |= {f"{name}_u{width}" for name in ("clz", "ctz", "popcount")}
        for language in (C, Cuda):
            assert needed <= set(language.library), language.name


@pytest.mark.parametrize("row", FLOATS.values(), ids=lambda row: row.name)
def test_numbers_are_rounded_as_the_evaluator_does(row):
    rng = Random(7)
    numbers = [0.0, -0.0, math.inf, *row.limits, 2.0**-1074, 1 + 2**-8 + 2**-40]
    numbers += [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(300)]
    near = row.exponent + 2 - row.significand
    numbers += [math.ldexp(rng.randint(-(2**9), 2**9) / 2, rng.randint(-near, near - 8)) for _ in range(600)]
    numbers = [n for n in numbers if not math.isnan(n)]
    with np.errstate(over="ignore"):
        found = carried(np.array(numbers), row.type).astype(np.float64)
    assert [row.rounded(n).hex() for n in numbers] == [n.hex() for n in found.tolist()]


def test_an_output_that_numpy_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    x, f, image = hl.Var("x"), hl.Func("f"), hl.ImageParam(hl.Float(32), 1, "image")
    f[x] = hl.cast(hl.BFloat(16), image[x])
    with pytest.raises(CallError, match="is bfloat16, which NumPy and CuPy lack; install ml_dtypes"):
        hl.Pipeline(f).compile(target="cpu")(np.zeros(4, np.float32))
