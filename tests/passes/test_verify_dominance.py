"""`verify-dominance`, on modules that xDSL's own verifier accepts."""

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import PipelineOp, StageOp
from tilefuse.dialects.parsing import LocatedParser
from tilefuse.passes.pipeline import new_context
from tilefuse.passes.verify_dominance import VerifyDominance

TEXT = """img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    %w = arith.addf %v, %v : f32
    img.yield %w : f32
  }
  %g = img.group "g" {
    %h = img.stage "h" (%x) -> f32 {
      %v = img.read %f[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %h : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "out" = %g : !img.func<1xf32>
}
"""


def check(module):
    module.verify()
    VerifyDominance().apply(new_context(), module)


def parse():
    module = LocatedParser(new_context(), TEXT, "p.mlir").parse_module()
    check(module)
    return module


def find(module, kind, name):
    return next(op for op in module.walk() if isinstance(op, kind) and op.sym_name.data == name)


def test_a_value_of_the_same_block():
    module = parse()
    first, second, _ = find(module, StageOp, "f").body.block.ops
    second.detach()
    first.parent.insert_op_before(second, first)
    with pytest.raises(PipelineError, match=r"^p.mlir:5:5: error: arith.addf: %v is used before"):
        check(module)


def test_a_function_read_deep_inside_an_earlier_op():
    module = parse()
    stage = find(module, StageOp, "f")
    block = stage.parent
    stage.detach()
    block.insert_op_before(stage, block.last_op)
    with pytest.raises(PipelineError, match=r"^p.mlir:10:7: error: img.read: %f is used before"):
        check(module)


def test_a_stage_that_reads_itself():
    module = parse()
    stage = find(module, StageOp, "f")
    read = stage.body.block.first_op
    read.operands[0] = stage.funcs[0]
    with pytest.raises(PipelineError, match=r"img.read: %f is used before"):
        check(module)


def test_a_value_that_stays_inside_a_group():
    module = parse()
    inner = find(module, StageOp, "h")
    last = find(module, PipelineOp, "p").return_op
    last.operands[0] = inner.funcs[0]
    last.location = FileLineColLoc(StringAttr("q.mlir"), IntAttr(1), IntAttr(2))
    with pytest.raises(PipelineError, match=r"^q.mlir:1:2: error: img.return: %h is used before"):
        check(module)
