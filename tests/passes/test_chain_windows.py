"""Windows as chains of partial results: the same values, and a kernel that lanes pass them on in."""

import random
import shutil

import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse as hl
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, StageOp
from tilefuse.passes.chain_windows import chain_windows
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.pipeline import run_passes, standard_passes

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def window(seed):
    """A stage that joins terms of some columns, alike on both sides or not."""
    rng = random.Random(seed)
    image = hl.ImageParam(hl.Int(32), 3, "image")
    edges = hl.BoundaryConditions.repeat_edge(image)
    join = rng.choice([hl.max, hl.min, lambda a, b: a + b, lambda a, b: a ^ b])
    columns = rng.sample(range(-9, 10), rng.randint(9, 14))
    kinds = [[(rng.randint(-4, 4), rng.randint(1, 3)) for _ in range(rng.randint(1, 2))] for _ in range(3)]
    terms = [edges[x + d, y + dy, c] * k for d in columns for dy, k in kinds[abs(d) % 3]]
    out = hl.Func("out")
    total = terms[0]
    for term in terms[1:]:
        total = join(total, term)
    out[x, y, c] = total
    if rng.random() < 0.5:
        out.bound(c, 0, 3)
    return hl.Pipeline(out)


def chained(passes):
    return [GroupStages(chain="always") if isinstance(p, GroupStages) else p for p in passes]


@pytest.mark.skipif(shutil.which("g++") is None, reason="the emulated GPU needs g++")
@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_the_window(seed, monkeypatch, tmp_path):
    pipeline = window(seed)
    image = np.random.default_rng(seed).integers(-99, 99, (3, 21, 83), np.int32)
    expected = pipeline.compile("reference")(image)
    emulate(monkeypatch, tmp_path)
    program = pipeline.compile("cpu", passes=chained(standard_passes("h200")))
    np.testing.assert_array_equal(program(image), expected)


def stages_of(terms):
    image = hl.ImageParam(hl.Float(32), 2, "image")
    out = hl.Func("out")
    out[x, y] = terms(hl.BoundaryConditions.repeat_edge(image))
    (op,) = run_passes(hl.Pipeline(out).to_module(), standard_passes("h200")[:3]).ops
    assert isinstance(op, PipelineOp)
    return [[s.sym_name.data for s in stages] for stages in chain_windows(op)]


def largest(values):
    found = values[0]
    for value in values[1:]:
        found = hl.max(found, value)
    return found


def test_both_sides_share_what_they_compute():
    found = stages_of(lambda f: largest([hl.max(f[x + d, y - abs(d)], f[x + d, y + abs(d)]) for d in range(-4, 5)]))
    assert found == [["out_at0", "out_at1", "out_right3", "out_left3", "out_at2", "out_right2", "out_left2", "out_at3",
                      "out_right1", "out_left1", "out"]]  # fmt: skip


@pytest.mark.parametrize("terms", [
    lambda f: largest([f[x + d, y] for d in range(-3, 4)]),  # narrow
    lambda f: sum((f[x + d, y] for d in range(-5, 5)), hl.f32(0)),  # in this order
    lambda f: largest([f[x + d, y] * f[x, y] for d in range(-5, 5)]),  # terms of two columns
    lambda f: largest([f[2 * x + d, y] for d in range(-5, 5)]),  # of others than neighbours
])  # fmt: skip
def test_other_stages_stay(terms):
    assert stages_of(terms) == []


def test_a_chain_is_one_kernel():
    (op,) = run_passes(window(0).to_module(), chained(standard_passes("h200"))).ops
    (group,) = [g for g in op.walk() if isinstance(g, GroupOp)]
    assert sum(isinstance(s, StageOp) for s in group.stages) > 9
