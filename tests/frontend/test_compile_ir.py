"""`hl.compile`: IR as text, in a file or as a module becomes a program, with what is decided in it."""

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tilefuse as hl
from tilefuse.dialects.parsing import parse_module
from tilefuse.passes.pipeline import run_passes, standard_passes

TEXT = """img.pipeline @twice {
  %in = img.input "in" : !img.func<2xui8>
  %out = img.stage "out" (%x, %y) -> ui8 {
    %a = img.read %in[%x, %y] : !img.func<2xui8>
    %b = arith.addi %a, %a : i8
    img.yield %b : i8
  }
  img.return "out" = %out : !img.func<2xui8>
}
"""
ARRAY = np.arange(35, dtype=np.uint8).reshape(5, 7)


def blur():
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.UInt(16), 2, name="image")
    clamped = hl.BoundaryConditions.repeat_edge(image)
    blur_x, blur_y = hl.funcs("blur_x blur_y")
    blur_x[x, y] = (clamped[x - 1, y] + clamped[x, y] + clamped[x + 1, y]) / 3
    blur_y[x, y] = (blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1]) / 3
    return hl.Pipeline(blur_y)


@pytest.mark.parametrize("target", ["reference", "cpu"])
@pytest.mark.parametrize("kind", ["text", "path as text", "path", "module"])
def test_what_it_takes(kind, target, tmp_path):
    file = tmp_path / "twice.mlir"
    file.write_text(TEXT)
    source = {"text": TEXT, "path as text": str(file), "path": file, "module": parse_module(TEXT)}[kind]
    before = str(source)
    np.testing.assert_array_equal(hl.compile(source, target)(ARRAY), 2 * ARRAY)
    assert str(source) == before


def scheduled(target, schedule):
    """The IR of the blur with groups, and a schedule that is written into it."""
    text = blur().compile(target).ir("group-stages")
    assert text.count('img.group "blur_y" {') == 1
    return text.replace('img.group "blur_y" {', f'img.group "blur_y" schedule {schedule} {{')


@pytest.mark.parametrize("target", ["cpu", "h200"])
def test_a_schedule_by_hand_is_kept(target):
    by_hand = "#schedule.block_tile<tile = [48, 6], threads = [24, 3]>"
    program = hl.compile(scheduled(target, by_hand), target)
    assert by_hand in program.ir("validate-occupancy")
    assert by_hand not in blur().compile(target).ir("validate-occupancy")


def test_a_program_of_edited_text_computes_the_same():
    program = blur().compile("cpu")
    text = program.ir("promote-memory")
    edited = re.sub(r"#schedule.\w+<.*?>", "#schedule.block_tile<tile = [16, 4], threads = [8, 2]>", text)
    again = hl.compile(edited, "cpu")
    for height, width in ((33, 70), (5, 3)):
        array = np.random.default_rng(width).integers(0, 2**16, (height, width)).astype(np.uint16)
        np.testing.assert_array_equal(again(array), program(array))


def row_sums():
    y, row = hl.Var("y"), hl.Func("row")
    image = hl.ImageParam(hl.Int(32), 2, name="image")
    columns = hl.RDom([(0, image.width())])
    row[y] = hl.i32(0)
    row[y] += image[columns.x, y]
    return hl.Pipeline(row)


@pytest.mark.parametrize("target", ["cpu", "h200"])
def test_the_schedule_of_an_update_may_be_edited_in_what_passes_print(target):
    # as pipeline-opt prints it: the output is the update itself, which a program copies into the caller's array
    text = str(run_passes(row_sums().to_module(), standard_passes(target)))
    edited = re.sub(r"(\"row_update\" schedule) #schedule\.\w+<.*?>", r"\1 #schedule.in_order<threads = [1]>", text)
    assert edited != text
    program = hl.compile(edited, target)
    assert "#schedule.in_order<threads = [1]>" in program.ir("validate-occupancy")
    if target == "cpu":
        array = np.arange(35, dtype=np.int32).reshape(5, 7)
        np.testing.assert_array_equal(program(array), array.sum(axis=1))


@pytest.mark.parametrize("target", ["cpu", "h200"])
def test_kernels_are_no_algorithm(target):
    with pytest.raises(
        hl.PipelineError, match=r"there is a function @row_row(_update)?_kernel\d already; a module is lowered once"
    ):
        hl.compile(row_sums().compile(target).ir(), target)


def test_a_schedule_that_the_target_cannot_hold_is_refused():
    by_hand = "#schedule.block_tile<tile = [4096, 1], threads = [2048, 1]>"
    with pytest.raises(hl.PipelineError, match=r"^<string>:\d+:\d+: error: .*'blur_y'.* 2048 threads"):
        hl.compile(scheduled("h200", by_hand), "h200")


def test_options_are_passed_on():
    assert "fmul_rn" not in hl.compile(TEXT, "cpu", strict_float=True).source()
    with pytest.raises(TypeError, match="compile has no option 'speed'"):
        hl.compile(TEXT, "cpu", speed=3)


MISTAKES = {
    "syntax": (TEXT.replace("addi %a, %a", "addi %a %a"), r"<string>:5:\d+: error: "),
    "unknown value": (
        TEXT.replace("addi %a, %a", "addi %a, %c"),
        r"<string>:5:\d+: error: %c is used but never defined",
    ),
    "unknown operation": (TEXT.replace("arith.addi", "arith.adi"), r"<string>:5:\d+: error: unknown operation"),
    "wrong type": (
        TEXT.replace("img.yield %b : i8", "img.yield %x : index"),
        r"<string>:3:\d+: error: stage 'out' yields",
    ),
    "no pipeline": ("builtin.module {\n}\n", r"<string>:1:1: error: a module must have one img.pipeline"),
    "nothing": ("", r"error: a module must have one img.pipeline; this module has 0"),
    "a name": ("blur", r"<string>:1:1: error: "),
    "no file": ("no/such.mlir", r"test_compile_ir.py:\d+:1: error: cannot read 'no/such.mlir': No such file"),
    "no IR": (b"img.pipeline", r"error: compile takes IR as text, the path of a .mlir file, or a module, not a bytes"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake):
    source, message = MISTAKES[mistake]
    with pytest.raises(hl.PipelineError, match=message) as caught:
        hl.compile(source, "cpu")
    assert "\n" not in str(caught.value)


def test_a_file_is_named_in_errors(tmp_path):
    file = tmp_path / "bad.mlir"
    file.write_text(TEXT.replace("%a, %a", "%a %a"))
    with pytest.raises(hl.PipelineError, match=re.escape(f"{file}:5:")):
        hl.compile(file, "cpu")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(hl.PipelineError, match=r"bad.mlir' is not UTF-8 text: byte 0"):
        hl.compile(str(file), "cpu")


def test_an_empty_module():
    with pytest.raises(hl.PipelineError, match="this module has 0"):
        hl.compile(ModuleOp([]), "cpu")


class Bytes:
    """A path as os.scandir of bytes gives it."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return bytes(self.path)


@pytest.mark.parametrize("suffix", ["", ".mlir"])
@pytest.mark.parametrize("as_given", [str, lambda path: path, Bytes])
def test_a_folder(suffix, as_given, tmp_path):
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    message = re.escape(f"error: '{folder}' is a folder; compile takes IR as text, the path of a .mlir file, or")
    with pytest.raises(hl.PipelineError, match=message):
        hl.compile(as_given(folder), "reference")


@pytest.mark.parametrize("as_given", [str, lambda path: path, Bytes])
def test_a_file_by_any_name(as_given, tmp_path):
    file = tmp_path / "twice.txt"
    file.write_text(TEXT)
    np.testing.assert_array_equal(hl.compile(as_given(file), "reference")(ARRAY), 2 * ARRAY)
    file.write_text(TEXT.replace("%a, %a", "%a %a"))
    with pytest.raises(hl.PipelineError, match=re.escape(f"{file}:5:")):
        hl.compile(as_given(file), "reference")


def test_a_path_that_no_file_can_have():
    with pytest.raises(hl.PipelineError, match=r"error: cannot read 'a\\x00b.mlir': embedded null byte"):
        hl.compile("a\0b.mlir", "reference")
