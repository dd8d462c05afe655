"""Names in printed text: legal, unique where they are visible, and as close to the hints as that allows."""

import re

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.lowering.printers.c import C
from tilefuse.lowering.printers.comments import comment_lines
from tilefuse.lowering.printers.cuda import Cuda
from tilefuse.lowering.printers.names import ScopedNames
from tilefuse.lowering.symbols import ROLES, c_function_name, function_symbol, identifier
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, compile_report, supported_archs


def test_hints_are_kept_and_made_unique():
    names = ScopedNames()
    assert [names.fresh(hint) for hint in ("x", "x", "x_1", "y", "x")] == ["x_", "x_1_", "x_1_1_", "y_", "x_2_"]


def test_sibling_scopes_share_names_and_inner_ones_never_shadow():
    names = ScopedNames()
    names.fresh("tx")
    names.push()
    assert names.fresh("tx") == "tx_1_"
    names.pop()
    names.push()
    assert names.fresh("tx") == "tx_1_"
    assert names.fresh("x") == "x_"
    names.pop()
    assert names.fresh("x") == "x_"


def test_variables_end_in_an_underscore_whatever_the_hint():
    names = ScopedNames()
    given = ["int", "NAN", "opaque", "load_f32x4", "3", "a-b", "__x", "a$$b", "", "idx", "é"]
    assert [names.fresh(hint) for hint in given] == [
        "int_", "NAN_", "opaque_", "load_f32x4_", "v3_", "a_b_", "x_", "a_b_1_", "v_", "idx_", "v_1_",
    ]  # fmt: skip


def test_many_values_with_one_hint_take_no_search():
    names = ScopedNames()
    found = {names.fresh("v") for _ in range(20_000)}
    assert len(found) == 20_000
    assert "v_19999_" in found


def test_words_are_injective_and_readable():
    given = [
        "blur_x",
        "a.b",
        "a_b",
        "a b",
        "A_B",
        "é",
        "e\u0301",
        "\ud800",
        "",
        "2x",
        "_a",
        "x" * 48,
        "x" * 49,
        "x" * 9999,
    ]
    given += [identifier(name) for name in given if identifier(name) != name]
    words = [identifier(name) for name in given]
    assert len(set(words)) == len(given)
    assert words[0] == "blur_x"
    assert all(re.fullmatch(r"[A-Za-z]\w{0,47}", w, re.ASCII) for w in words)


def test_functions_of_a_pipeline_differ_from_those_of_others():
    pairs = [("a", "b_c"), ("a_b", "c"), ("f", "f"), ("f", "f_tile"), ("f", "f_kernel1"), ("f_f", "tile1"), ("é", "é")]
    found = [function_symbol(*pair, role) for pair in pairs for role in ROLES]
    assert len(set(found)) == len(found)
    assert function_symbol("blur", "blur_y", "kernel") == "blur_blur_y_kernel4"
    assert all(c_function_name(name) == name for name in found)


def test_functions_written_by_hand_meet_nothing():
    given = ["blur", "exp", "NAN", "while", "a-b", "", "template", "float4", "blur_fn", "x" * 10_000, "é"]
    texts = [c_function_name(name) for name in given]
    assert len(set(texts)) == len(given)
    assert all(text.endswith("_fn") for text in texts)
    assert texts[0] == "blur_fn"


def test_helpers_have_none_of_these_forms():
    for name in {*C.library, *Cuda.library}:
        assert not re.search(rf"_$|_fn$|_words$|_({'|'.join(ROLES)})\d+$", name)


def test_comments_end_where_their_line_does():
    assert comment_lines("blur: <warp>") == ["// blur: <warp>"]
    for text in ("a\\", "a??/", "a\\ ", "a\n#error\\", "\u202ea", "\0", "", "\x85\\"):
        for line in comment_lines(text):
            assert line.startswith("// ")
            assert not {"\0", "\u202e"} & set(line)
            assert not line.rstrip().endswith(("\\", "??/"))


MET = ["NULL", "CUDART_VERSION", "apart", "load_f32x4", "NAN", "INFINITY", "HUGE_VALF", "f", "f_tile", "f_border",
       "f_prefetch", "f_words", "a.b", identifier("a.b"), "é", "a\\"]  # fmt: skip
"""Names that macros, intrinsics or helpers had, or that others became."""


@pytest.mark.sweep
@pytest.mark.parametrize("turn", range(0, len(MET), 4))
def test_names_of_macros_and_helpers_are_names_like_others(turn):
    names = [*MET[turn:], *MET[:turn]]
    x, y = hl.vars("x y")
    images = [hl.ImageParam(hl.Float(32), 2, name) for name in names[:4]]
    gains = [hl.Param(hl.Float(32), name) for name in names[4:8]]
    stages, outputs = ([hl.Func(name) for name in part] for part in (names[8:12], names[12:]))
    for image, gain, stage, output in zip(images, gains, stages, outputs, strict=True):
        stage[x, y] = hl.BoundaryConditions.repeat_edge(image)[x - 1, y] * gain
        output[x, y] = stage[x, y] + stage[x, y + 1]
    pipeline = hl.Pipeline(outputs)
    pictures = {image.name(): np.full((5, 7), n + 1, np.float32) for n, image in enumerate(images)}
    given = {gain.name(): n + 2 for n, gain in enumerate(gains)}
    for output in pipeline.compile("cpu")(**pictures, **given), pipeline.compile("reference")(**pictures, **given):
        assert [found.max() for found in output] == [4, 12, 24, 40]
    try:
        arch = "sm_90" if "sm_90" in supported_archs() else supported_archs()[-1]
    except NvrtcNotFound:
        return
    assert compile_report(pipeline.compile("h200").source(), arch).registers
