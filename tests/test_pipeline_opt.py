"""pipeline-opt where lit cannot reach: passes that fail in each way, no entry point, pipes that close."""

import subprocess
import sys
from dataclasses import dataclass

import pytest
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.exceptions import PassFailedException

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import StageOp
from tilefuse.passes.pipeline_text import describe_options
from tilefuse.tools.listing import option_texts
from tilefuse.tools.pipeline_opt import main
from tilefuse.universe import UNIVERSE

TEXT = """\
img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "out" = %f : !img.func<1xf32>
}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)
    return str(path)


def _stage(module):
    return next(op for op in module.walk() if isinstance(op, StageOp))


def _plain_failure(module):
    raise PassFailedException("no target can\n  hold it")


def _located_failure(module):
    raise PipelineError("stage 'f' is too large", _stage(module))


def _inner_failure(module):
    # An op that the pass made has no location: the stage around it has.
    op = _stage(module).body.block.first_op
    op.location = UNKNOWN_LOC
    raise PipelineError("bad read", op)


def _defect(module):
    raise KeyError("f")


def _breaks_the_ir(module):
    _stage(module).yield_op.detach()


def _breaks_dominance(module):
    block = module.body.block.first_op.body.block
    stage = _stage(module)
    stage.detach()
    block.insert_op_before(stage, block.first_op)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (_plain_failure, "{file}: error: no target can hold it\n"),
        (
            _located_failure,
            "{file}:3:3: error: stage 'f' is too large\n  %f = img.stage \"f\" (%x) -> f32 {{\n  ^\n",
        ),
        (_inner_failure, '{file}:3:3: error: bad read\n  %f = img.stage "f" (%x) -> f32 {{\n  ^\n'),
        (
            _defect,
            "{file}: error: internal error in pass 'act': KeyError: 'f'\n"
            "note: this is a defect; --traceback shows where it happened\n",
        ),
        (
            _breaks_the_ir,
            "{file}:4:5: error: Operation img.read terminates block in single-block region but is not a "
            "terminator\n    %v = img.read %in[%x] : !img.func<1xf32>\n    ^\n"
            "note: found by the verifier after pass 'act'\n",
        ),
        (
            _breaks_dominance,
            "{file}:4:5: error: img.read: %in is used before it is defined\n"
            "    %v = img.read %in[%x] : !img.func<1xf32>\n    ^\n"
            "note: found by the verifier after pass 'act'\n",
        ),
    ],
)
def test_failing_pass(action, expected, source, monkeypatch, capsys):
    @dataclass(frozen=True)
    class Act(ModulePass):
        name = "act"

        def apply(self, ctx, op):
            action(op)

    monkeypatch.setitem(UNIVERSE.all_passes, "act", lambda: Act)
    assert main([source, "-p", "act"]) == 1
    out, err = capsys.readouterr()
    assert err == expected.format(file=source)
    assert out == ""


def test_defects_are_never_expected_diagnostics(tmp_path, monkeypatch, capsys):
    @dataclass(frozen=True)
    class Act(ModulePass):
        name = "act"

        def apply(self, ctx, op):
            raise KeyError("f")

    monkeypatch.setitem(UNIVERSE.all_passes, "act", lambda: Act)
    path = tmp_path / "p.mlir"
    path.write_text("// expected-error @unknown {{internal error}}\n" + TEXT)
    assert main([str(path), "-p", "act", "--verify-diagnostics"]) == 1
    assert "internal error in pass 'act'" in capsys.readouterr().err


def test_unlocated_errors_can_be_expected(tmp_path, monkeypatch):
    @dataclass(frozen=True)
    class Act(ModulePass):
        name = "act"

        def apply(self, ctx, op):
            raise PassFailedException("nothing fits")

    monkeypatch.setitem(UNIVERSE.all_passes, "act", lambda: Act)
    path = tmp_path / "p.mlir"
    path.write_text("// expected-error @unknown {{nothing fits}}\n" + TEXT)
    assert main([str(path), "-p", "act", "--verify-diagnostics"]) == 0


def test_rows_that_cannot_be_loaded(source, monkeypatch, capsys):
    def row():
        raise ModuleNotFoundError("No module named 'llvmlite'")

    said = "cannot be loaded: ModuleNotFoundError: No module named 'llvmlite'\n"
    monkeypatch.setitem(UNIVERSE.all_passes, "act", row)
    monkeypatch.setitem(UNIVERSE.all_targets, "llvm-too", row)
    for arguments, expected in (
        (["-t", "llvm-too"], f"pipeline-opt: error: target 'llvm-too' {said}"),
        (["-p", "cse,act"], f"--pass-pipeline:1:5: error: pass 'act' {said}cse,act\n    ^\n"),
        (["--list-passes"], f"pipeline-opt: error: pass 'act' {said}"),
    ):
        assert main([source, *arguments]) == 1
        assert capsys.readouterr().err == expected


def test_every_option_of_our_passes_is_explained():
    kinds = [UNIVERSE.all_passes[name]() for name in UNIVERSE.all_passes.keys() - XDSL_UNIVERSE.all_passes.keys()]
    found = {
        kind.name: [o for o in describe_options(kind) if o.partition(":")[0] not in option_texts(kind)]
        for kind in kinds
    }
    assert kinds
    assert {name: options for name, options in found.items() if options} == {}


def test_a_checkout_that_was_never_installed(source, monkeypatch, capsys):
    monkeypatch.setattr(Universe, "get_multiverse", staticmethod(lambda: XDSL_UNIVERSE))
    assert main([source]) == 0
    assert "img.stage" in capsys.readouterr().out


def test_text_that_is_not_utf8(tmp_path, capsys):
    path = tmp_path / "latin.mlir"
    path.write_bytes(b"// caf\xe9\n")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err == (
        f"pipeline-opt: error: '{path}' is not UTF-8 text: byte 6: invalid continuation byte\n"
    )


def test_a_reader_that_stops_early_gets_no_traceback(tmp_path):
    path = tmp_path / "long.mlir"
    path.write_text('"test.op"() {a = "' + "x" * 1000 + '"} : () -> ()\n' * 2000)
    tool = subprocess.Popen(
        [sys.executable, "-m", "tilefuse.tools.pipeline_opt", "--allow-unregistered-dialect", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    tool.stdout.close()
    tool.stdin.write(b'"test.op"() : () -> ()\n' * 2000)
    tool.stdin.close()
    errors = tool.stderr.read()
    tool.wait(timeout=60)
    assert errors == b""
