"""Parameters, and the scalars that are computed of them once per call."""

import struct

import numpy as np
import pytest
from runtime_pipelines import CHAIN, SCALED
from xdsl.dialects.builtin import IndexType, IntegerType, bf16, f16, f32, f64

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import ParamOp, PipelineOp, StageOp
from tilefuse.dialects.img.types import i1, si8, ui8, ui64
from tilefuse.dialects.parsing import parse_module
from tilefuse.runtime.call.scalars import checked, evaluate_scalars, params_in_boxes, word
from tilefuse.runtime.compile.specialize import find_pipeline
from tilefuse.runtime.errors import CallError, CallTypeError
from tilefuse.runtime.program import compile_pipeline


@pytest.mark.parametrize(
    ("element", "value", "expected"),
    [
        (ui8, 255, 255),
        (si8, np.int64(-128), -128),
        (ui64, 2**64 - 1, 2**64 - 1),
        (i1, True, True),
        (i1, np.bool_(False), False),
        (f32, 3, 3.0),
        (f32, np.array(2.5), 2.5),
        (f32, float("inf"), float("inf")),
        (f16, 65504, 65504.0),
        (f16, 0.1, 0.0999755859375),
        (f16, 1 + 2**-11 + 2**-40, 1 + 2**-10),
        (bf16, 0.1, 0.10009765625),
        (bf16, 1 + 2**-8 + 2**-40, 1 + 2**-7),
        (bf16, float("-inf"), float("-inf")),
    ],
)
def test_values_that_fit(element, value, expected):
    found = checked(ParamOp("k", element), value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("element", "value", "error"),
    [
        (ui8, 256, CallError),
        (ui8, -1, CallError),
        (si8, 128, CallError),
        (i1, 2, CallError),
        (ui8, 1.0, CallTypeError),
        (ui8, None, CallTypeError),
        (f16, 65536, CallError),
        (bf16, 3.4e38, CallError),
        (f32, 10**400, CallError),
        (f64, -(10**400), CallError),
        (f64, np.longdouble("1e4000"), CallError),
        (f16, 10**400, CallError),
        (f32, 1 + 0j, CallTypeError),
        (f32, np.ones(2), CallTypeError),
    ],
)
def test_values_that_do_not_fit(element, value, error):
    with pytest.raises(error, match="param 'k'"):
        checked(ParamOp("k", element), value)


def test_words_hold_what_a_kernel_reads_from_their_low_bytes():
    def low(value, type, layout):
        data = word(value, type).to_bytes(8, "little")
        return struct.unpack_from(layout, data)[0]

    assert low(-3, IndexType(), "<q") == -3
    assert low(-3, IndexType(), "<i") == -3
    assert low(250, IntegerType(8), "<B") == 250
    assert low(1.5, f32, "<f") == 1.5
    assert low(0.1, f64, "<d") == 0.1
    assert low(1.5, f16, "<f") == 1.5
    assert low(1e39, f32, "<f") == float("inf")


def test_scalars_mean_what_they_mean_in_a_stage(parse):
    pipeline = find_pipeline(parse(SCALED))
    stage = next(op for op in pipeline.body.block.ops if isinstance(op, StageOp))
    outside = [v for op in stage.body.block.ops for v in op.operands if v.owner.parent_op() is pipeline]
    scalars = [v for v in outside if not isinstance(v.owner, ParamOp) and v.type == IntegerType(16)]
    assert evaluate_scalars(scalars, {}, {"gain": 1.0, "offset": 32767}) == [32769]
    assert evaluate_scalars(scalars, {}, {"gain": 1.0, "offset": -5}) == [2**16 - 3]


def test_sizes_are_scalars_too(parse):
    pipeline = find_pipeline(parse(CHAIN))
    sizes = [op.results[0] for op in pipeline.body.block.ops if op.name == "img.extent"]
    assert evaluate_scalars(sizes, {"photo": ((-2, 7), (0, 9))}, {}) == [7, 9]


def test_only_some_parameters_decide_boxes(parse):
    text = SCALED.replace(
        "%scaled =",
        """%low = img.param "low" of si32 : i32
        %high = img.param "high" of si32 : i32
        %two = arith.constant 2 : i32
        %higher = arith.addi %high, %two : i32
        %min = arith.index_cast %low : i32 to index
        %extent = arith.index_cast %higher : i32 to index
        %part = img.boundary repeat_edge %photo dims [0] in [%min] by [%extent] : !img.func<2xui8>
        %scaled =""",
    )
    pipeline = find_pipeline(parse(text))
    assert isinstance(pipeline, PipelineOp)
    assert params_in_boxes(pipeline) == ("low", "high")


ARGUMENT = """img.pipeline @scalars {{
  %in = img.input "in" : !img.func<2xui8>
  %p = img.param "p" of ui8 : i8
  %by = arith.constant {by} : i8
  %s = {op} %p, %by : i8
  %f = img.stage "f" (%x, %y) -> ui8 {{
    %v = img.read %in[%x, %y] : !img.func<2xui8>
    %r = arith.addi %v, %s : i8
    img.yield %r : i8
  }}
  img.return "f" = %f : !img.func<2xui8>
}}"""


@pytest.mark.parametrize(
    ("op", "by"),
    [("arith.shrui", 100), ("arith.shrui", 3), ("arith.divui", 0), ("img.div signed", 0), ("img.div signed", 4)],
)
def test_scalars_that_passes_would_make_constants(op, by):
    # a shift by 100 bits is 0, and so is a quotient by 0: kernels would be called with an argument too few
    module = parse_module(ARGUMENT.format(op=op, by=by), "scalars.mlir")
    picture = np.arange(60, dtype=np.uint8).reshape(6, 10)
    program, reference = (compile_pipeline(module, target) for target in ("cpu", "reference"))
    np.testing.assert_array_equal(program(picture, p=77), reference(picture, p=77))


def test_half_floats_as_parameters():
    """Kernels take them as float: rounded to what they are, and not only where they are computed with."""
    x, y = hl.vars("x y")
    image, p, q = hl.ImageParam(hl.Float(32), 2, "image"), hl.Param(hl.Float(16), "p"), hl.Param(hl.BFloat(16), "q")
    f = hl.Func("f")
    f[x, y] = hl.f32(p) + image[x, y] * hl.f32(q)
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    programs = [hl.Pipeline(f).compile(target, strict_float=True) for target in ("cpu", "reference")]
    np.testing.assert_array_equal(*(program(array, p=0.1, q=0.7) for program in programs))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_the_least_and_greatest_defaults(dtype):
    x = hl.Var("x")
    bits = np.iinfo(dtype).bits
    element = hl.UInt(bits) if dtype[0] == "u" else hl.Int(bits)
    for value in (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)):
        image, p, f = hl.ImageParam(element, 1, "image"), hl.Param(element, "p", value), hl.Func("f")
        f[x] = image[x] + p
        assert hl.Pipeline(f).compile("reference")(np.zeros(2, dtype)).tolist() == [value] * 2


@pytest.mark.parametrize(("default", "message"), [("256 : i16", "param 'k' is 256"), ("1.5 : f32", "takes an integer")])
def test_defaults_that_do_not_fit_are_errors_of_the_ir(default, message):
    text = ARGUMENT.format(op="arith.divui", by=3).replace('"p" of ui8', f'"k" of ui8 {{img.default = {default}}}')
    with pytest.raises(PipelineError, match=rf"scalars.mlir:3:\d+: error: img.default: .*{message}"):
        compile_pipeline(parse_module(text, "scalars.mlir"), "reference")
