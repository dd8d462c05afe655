"""Reading text from Python: locations, and errors that say where."""

import math
import time

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, UnknownLoc

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition, located, position_of
from tilefuse.dialects.img import IMG
from tilefuse.tools.diagnostics import LocatedParser, parse_module

TEXT = """\
img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
\t%f = img.stage "f" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    img.yield %v : f32 loc(fused["scene.py":7:8, "other.py":1:1])
  } loc("f"("scene.py":5:6))
  img.return "out" = %f : !img.func<1xf32> loc(unknown)
}
"""


def test_every_op_knows_its_place():
    module = parse_module(TEXT, "p.mlir")
    places = {op.name: position_of(op) for op in module.walk()}
    assert places == {
        "builtin.module": None,
        "img.pipeline": SourcePosition("p.mlir", 1, 1),
        "img.input": SourcePosition("p.mlir", 2, 3),
        "img.stage": SourcePosition("scene.py", 5, 6),
        "img.read": SourcePosition("p.mlir", 4, 5),
        "img.yield": SourcePosition("scene.py", 7, 8),
        # loc(unknown) is kept; then the op around it says where.
        "img.return": SourcePosition("p.mlir", 1, 1),
    }
    assert isinstance(module.body.block.first_op.return_op.location, UnknownLoc)


def test_names_with_several_numbers_are_printed_so_that_they_parse():
    text = TEXT.replace("%in", "%x_1_7").replace("(%x)", "(%x_2)").replace("[%x]", "[%x_2]")
    module = parse_module(text, "p.mlir")
    assert parse_module(str(module)).is_structurally_equivalent(module)


def test_the_generic_form_has_places_too():
    module = parse_module('"img.pipeline"() <{sym_name = "p"}> ({\n  "test.pureop"() : () -> ()\n' + RETURN, "g.mlir")
    first = module.body.block.first_op.body.block.first_op
    assert located(first, "m") == "g.mlir:2:3: error: m"


RETURN = '  %f = img.input "f" : !img.func<0xf32>\n  img.return "f" = %f : !img.func<0xf32>\n}) : () -> ()\n'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"in"', r'"\ED\A0\80"', r'p.mlir:2:19: error: "\ED\A0\80" is not UTF-8 text; replace the bytes'),
        ('"in"', '"a\ud800"', r'p.mlir:2:19: error: "a\ud800" is not UTF-8 text; replace the bytes'),
        ("@p", r'@"\FF"', r'p.mlir:1:15: error: "\FF" is not UTF-8 text; replace the bytes'),
        ("%in[%x]", "%im[%x]", "p.mlir:4:19: error: %im is used but never defined"),
        ("%in[%x]", "%in[%x, %x]", "p.mlir:4:5: error: img.read: 2 indices into !img.func<1xf32>"),
        ("<1xf32>\n\t", "<1xi5>\n\t", "p.mlir:2:26: error: i5 is not a pixel type"),
        (
            "img.read",
            "img.reed",
            "p.mlir:4:10: error: unknown operation 'img.reed'; did you mean 'img.read'?",
        ),
        ("img.yield %v", "img.yield %v %v", "p.mlir:5:18: error: "),
        ("%in[%x]", "%in[%x * %x]", "p.mlir:4:22: error: indices may be multiplied"),
    ],
)
def test_errors_say_where(old, new, message):
    with pytest.raises(PipelineError) as caught:
        parse_module(TEXT.replace(old, new, 1), "p.mlir")
    assert str(caught.value).startswith(message)


CONSTANT = """builtin.module {
  %%c = arith.constant %s
}"""


@pytest.mark.parametrize(
    ("constant", "is_right"),
    [
        ("1.0e+300 : f16", lambda v: v == math.inf),
        ("-65520.0 : f16", lambda v: v == -math.inf),
        ("65519.99 : f16", lambda v: v == 65504),
        ("0xFC01 : f16", math.isnan),
        (f"-1{400 * '0'} : f64", lambda v: v == -math.inf),
        ("1.0e+39 : f32", lambda v: v == math.inf),
    ],
)
def test_numbers_that_are_too_large_for_a_format_are_infinity(constant, is_right):
    [op] = parse_module(CONSTANT % constant).body.block.ops
    assert is_right(op.value.value.data)


@pytest.mark.parametrize("constant", ["0x1FC00 : f16", "0x1FFFFFFFF : f32", "-0x7C00 : f16", "-0x00000001 : f32"])
def test_bit_patterns_that_a_format_does_not_have(constant):
    pattern, _, type = constant.partition(" : ")
    with pytest.raises(PipelineError) as caught:
        parse_module(CONSTANT % constant, "c.mlir")
    assert str(caught.value) == f"c.mlir:2:23: error: {pattern} is not a bit pattern of {type}"


@pytest.mark.parametrize("name", [60 * "x", 10_000 * "x", 3_000 * r"\\22\\n", 30 * r"a\\zz"])
def test_a_string_that_is_not_closed_is_found_at_once(name):
    began = time.process_time()
    for text in (f'"{name}', TEXT.replace('"in"', f'"{name}', 1)):
        with pytest.raises(PipelineError, match=r"p.mlir:\d+:\d+: error: End of file reached before closing string"):
            parse_module(text, "p.mlir")
    assert time.process_time() - began < 2


def test_an_error_is_one_line_whatever_its_file_is_called():
    with pytest.raises(PipelineError) as caught:
        parse_module(TEXT.replace("%in[%x]", "%im[%x]", 1), "a\nb\udcff.mlir")
    assert str(caught.value) == r"a\nb\udcff.mlir:4:19: error: %im is used but never defined"


def test_an_error_keeps_its_place_when_the_op_is_gone():
    module = parse_module(TEXT, "p.mlir")
    block = module.body.block.first_op.body.block
    error = PipelineError("m", block.first_op)
    module.body.block.first_op.detach()
    block.first_op.location = UnknownLoc()
    assert str(error) == "p.mlir:2:3: error: m"
    assert str(PipelineError("m")) == "error: m"


def test_the_parser_takes_a_context_of_ones_own():
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(IMG)
    module = LocatedParser(ctx, TEXT, "p.mlir").parse_module()
    assert located(module.body.block.first_op, "m") == "p.mlir:1:1: error: m"
