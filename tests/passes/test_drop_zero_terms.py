"""Sums that start with 0 have the same bits without it, the signs of zeros too."""

import itertools

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.evaluator import evaluate
from tilefuse.passes.drop_zero_terms import DropZeroTerms
from tilefuse.passes.pipeline import new_context

TINY = np.finfo(np.float32).smallest_subnormal
SPECIAL = np.array([0.0, -0.0, TINY, -TINY, 1.0, -1.0, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
ENDS = {
    "times a third": lambda s: s * hl.f32(1 / 3),
    "a tiny number times": lambda s: hl.f32(1e-30) * s,
    "times a negative number": lambda s: s * hl.f32(-0.5),
    "times 0": lambda s: s * hl.f32(0),
    "alone": lambda s: s,
    "its square": lambda s: s * s,
    "compared": lambda s: hl.select(s < hl.f32(0.5), hl.f32(2), hl.f32(3)),
    "times a third, plus 1": lambda s: s * hl.f32(1 / 3) + hl.f32(1),
    "plus its half": lambda s: s + s * hl.f32(0.5),
}
DROPPED = {"times a third", "a tiny number times", "its square", "compared"}


@pytest.mark.parametrize("end", list(ENDS))
@pytest.mark.parametrize("last", [False, True], ids=["zero first", "zero last"])
def test_bits_stay(end, last):
    x = hl.Var("x")
    inputs = [hl.ImageParam(hl.Float(32), 1, name) for name in "pqr"]
    terms = [image[x] for image in inputs]
    f = hl.Func("f")
    f[x] = ENDS[end](terms[0] + hl.f32(0) + terms[1] + terms[2] if last else hl.f32(0) + terms[0] + terms[1] + terms[2])
    module = hl.Pipeline(f).to_module()
    columns = np.array(list(itertools.product(SPECIAL, repeat=3)), np.float32).T
    pictures = {name: np.ascontiguousarray(column) for name, column in zip("pqr", columns, strict=True)}
    changed = module.clone()
    DropZeroTerms(fma=True).apply(new_context(), changed)
    box = {"f": [(0, columns.shape[1])]}
    with np.errstate(all="ignore"):
        before, after = (evaluate(m, pictures, output_boxes=box)["f"] for m in (module, changed))
    assert (str(changed) != str(module)) == (end in DROPPED)
    numbers = ~np.isnan(before)
    assert (np.isnan(after) == ~numbers).all()
    np.testing.assert_array_equal(after.view(np.uint32)[numbers], before.view(np.uint32)[numbers])
