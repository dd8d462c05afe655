"""The generator of random pipelines: valid, repeatable, and as varied as it says."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_pipelines import random_pipeline, random_pipelines

from tilefuse.analysis.bounds import required_boxes
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import BoundaryOp, InputOp, ReadOp, StageOp
from tilefuse.dialects.parsing import LocatedParser
from tilefuse.dialects.verification import verify
from tilefuse.passes.pipeline import new_context

SEEDS = range(200)


@pytest.fixture(scope="module")
def cases():
    return [random_pipeline(seed) for seed in SEEDS]


def test_all_verify(cases):
    for seed, case in zip(SEEDS, cases, strict=True):
        verify(case.module)
        assert case.pipeline.return_op.outputs, seed


@pytest.mark.parametrize("generic", [False, True])
def test_text_parses_back(cases, generic):
    from io import StringIO

    from xdsl.printer import Printer

    def text(module):
        stream = StringIO()
        Printer(stream, print_generic_format=generic).print_op(module)
        return stream.getvalue()

    for case in cases[::4]:
        printed = text(case.module)
        parsed = LocatedParser(new_context(), printed, "random.mlir").parse_module()
        verify(parsed)
        assert text(parsed) == printed


def test_same_seed_same_pipeline():
    for seed in range(20):
        a, b = random_pipeline(seed), random_pipeline(seed)
        assert repr(a) == repr(b)
        for name, array in a.inputs.items():
            np.testing.assert_array_equal(array, b.inputs[name])
            assert array.strides == b.inputs[name].strides


def test_arrays_fit_the_types_and_hold_what_is_read(cases):
    for seed, case in zip(SEEDS, cases, strict=True):
        grids = case.grids
        boxes = {name: tuple(zip(case.mins[name], array.shape[::-1], strict=True)) for name, array in grids.items()}
        needed = required_boxes(case.pipeline, case.output_boxes, boxes, case.params)
        for op in case.pipeline.body.block.ops:
            if not isinstance(op, InputOp):
                continue
            name = op.sym_name.data
            assert grids[name].ndim == op.func.type.rank.data
            for (low, extent), (first, size) in zip(needed.get(op.func, ()), boxes[name], strict=False):
                assert first <= low, seed
                assert low + extent <= first + size, seed


def test_every_feature_occurs(cases):
    """So that no later change of the generator loses one silently."""
    ops: Counter[str] = Counter()
    kinds: Counter[tuple[BoundaryKind, bool]] = Counter()
    elements: Counter[str] = Counter()
    maps: set[str] = set()
    facts: Counter[str] = Counter()
    for case in cases:
        stages = 0
        for op in case.module.walk():
            ops[op.name] += 1
            if isinstance(op, BoundaryOp):
                kinds[(op.kind.data, isinstance(op.source.owner, StageOp))] += 1
            elif isinstance(op, StageOp):
                stages += 1
                facts["tuple"] += len(op.funcs) > 1
                facts["channels"] += op.bounds is not None
                elements.update(str(f.type.element) for f in op.funcs)
            elif isinstance(op, ReadOp):
                maps.update(str(e) for e in op.map.data.results)
        facts["eight stages"] += stages == 8
        facts["one stage"] += stages == 1
        facts["several outputs"] += len(case.sizes) > 1
        facts["one point"] += any(set(s) == {1} for s in case.sizes.values())
        facts["mins"] += any(any(m) for m in case.mins.values())
        facts["interleaved"] += any(case.grids[n] is not a for n, a in case.inputs.items())
        facts["not contiguous"] += any(not a.flags.c_contiguous for a in case.inputs.values())
        facts["negative stride"] += any(min(a.strides, default=0) < 0 for a in case.inputs.values())
        facts["exact floats"] += any(t == 0 for t in case.tolerance.values())
        facts["inexact floats"] += any(t > 0 for t in case.tolerance.values())
        facts["params"] += bool(case.params)
    missing = [kind for kind in BoundaryKind if not kinds[kind, False]]
    missing += [k for k in (BoundaryKind.RepeatEdge, BoundaryKind.ConstantExterior) if not kinds[k, True]]
    assert not missing
    assert {"f32", "ui8", "ui16", "si32"} <= elements.keys()
    assert {"(d0 * 2)", "(d0 floordiv 2)", "(d0 + 1)", "d0"} <= maps
    for name in (
        "img.div",
        "img.mod",
        "arith.select",
        "arith.cmpi",
        "arith.cmpf",
        "arith.trunci",
        "math.sqrt",
    ):
        assert ops[name], name
    names = [
        "tuple", "channels", "eight stages", "one stage", "several outputs", "one point", "mins",
        "interleaved", "not contiguous", "negative stride", "exact floats", "inexact floats", "params",
    ]  # fmt: skip
    assert [n for n in names if not facts[n]] == []


def test_tolerances_are_tight(cases):
    """Values are up to 256: a comparison within a bound near that could not fail."""
    for seed, case in zip(SEEDS, cases, strict=True):
        for name, func in case.pipeline.return_op.outputs:
            tolerance = case.tolerance[name]
            assert 0 <= tolerance < 1e-3 if str(func.type.element) == "f32" else tolerance == 0, (seed, name)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_pipelines(stages=4))
def test_the_strategy_gives_valid_pipelines(case):
    verify(case.module)
    assert case.inputs
