"""Instructions of operations, as compilers make them."""

import pytest

import tilefuse as hl
from tilefuse.analysis.instructions import instruction_cost
from tilefuse.dialects.img.ops import PipelineOp, StageOp
from tilefuse.passes.pipeline import run_passes, standard_passes

x, y = hl.Var("x"), hl.Var("y")


def cost(make, type=hl.Float(32)):
    """Instructions of a point of a stage, made of two pixels."""
    image, out = hl.ImageParam(type, 2, "image"), hl.Func("out")
    out[x, y] = make(image[x, y], image[x, y + 1])
    module = hl.Pipeline(out).to_module()
    (stage,) = (op for op in module.walk() if isinstance(op, StageOp))
    return sum(instruction_cost(op) for op in stage.body.block.ops if op.name.startswith("arith"))


@pytest.mark.parametrize("by", [2.0, -8.0, 0.25, 1.0])
def test_divisions_by_powers_of_two_are_products(by):
    assert cost(lambda a, b: (a + b) / by) == cost(lambda a, b: (a + b) * hl.f32(0.3)) == 2
    assert cost(lambda a, b: a / by + b) == cost(lambda a, b: a * hl.f32(0.3) + b) == 1


@pytest.mark.parametrize("by", [3.0, 0.1, float("inf"), 0.0])
def test_other_divisions_are_dear(by):
    assert cost(lambda a, b: a / hl.f32(by)) > 5
    assert cost(lambda a, b: a / b) > 5


def test_means_of_two_are_computed_where_they_are_read():
    image = hl.ImageParam(hl.Float(32), 2, "image")
    small, across, wide = hl.Func("small"), hl.Func("across"), hl.Func("wide")
    small[x, y] = hl.sqrt(image[x, y])
    across[x, y] = (small[x // 2, y] + small[(x + 1) // 2, y]) / 2.0
    wide[x, y] = (across[x, y // 2] + across[x, (y + 1) // 2]) / 2.0
    module = run_passes(hl.Pipeline(wide).to_module(), standard_passes("h200"))
    (pipeline,) = (op for op in module.body.block.ops if isinstance(op, PipelineOp))
    assert "across" not in {op.sym_name.data for op in pipeline.walk() if isinstance(op, StageOp)}
