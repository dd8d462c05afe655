"""What a user does wrong gives one message, with the line of the user's program."""

import re
import sys

import numpy as np
import pytest

import tilefuse as hl

x, y, z = hl.vars("x y z")
F32 = hl.Float(32)


def undefined():
    f, g = hl.funcs("f g")
    g[x] = f[x]


def undefined_output():
    hl.Pipeline(hl.Func("f")).to_module()


def itself():
    f = hl.Func("f")
    f[x] = f[x - 1] + 1


def redefined():
    f = hl.Func("f")
    f[x] = x
    f[y] = y


def updated_at_a_point():
    f = hl.Func("f")
    f[0] = 1


def wrong_rank():
    f, g = hl.funcs("f g")
    f[x, y] = x
    g[x] = f[x]


def float_index():
    f, p = hl.Func("f"), hl.ImageParam(F32, 1, "p")
    f[x] = p[p[x]]


def unknown_coordinate():
    f = hl.Func("f")
    f[x] = x + z


def twice():
    f = hl.Func("f")
    f[x, x] = x


def rvar_outside():
    f, r = hl.Func("f"), hl.RDom([(0, 3)], "r")
    f[x] = x + r.x


def literal_too_large():
    hl.u8(x) + 300


def mixed_bits():
    hl.u8(x) & hl.i8(x)


def select_of_number():
    hl.select(x, 1, 2)


def select_of_two_types():
    hl.select(x > 1, hl.u8(x), hl.u16(x))


def select_literal():
    hl.select(x > 1, hl.u8(x), 300)


def clamp_to_another_type():
    hl.clamp(hl.u8(x), 0, 300)


def func_as_value():
    f = hl.Func("f")
    f[x] = x
    x + f


def text_as_value():
    x + "1"


def tuple_as_value():
    f = hl.Func("f")
    f[x] = (x, x)
    x * f[x]


def boundary_of_a_func():
    f = hl.Func("f")
    f[x] = x
    hl.BoundaryConditions.repeat_edge(f)


def boundary_reads_pixels():
    p = hl.ImageParam(hl.Int(32), 1, "p")
    hl.BoundaryConditions.repeat_edge(p, [(0, p[0])])


def boundary_exterior():
    hl.BoundaryConditions.constant_exterior(hl.ImageParam(hl.UInt(8), 1, "p"), 256)


def boundary_rank():
    hl.BoundaryConditions.repeat_edge(hl.ImageParam(F32, 1, "p"), [(0, 4), (0, 4)])


def same_names():
    f = hl.Func("f")
    f[x] = hl.ImageParam(F32, 1, "p")[x] + hl.ImageParam(F32, 1, "p")[x]
    hl.Pipeline(f).to_module()


def image_of_no_dim():
    hl.ImageParam(F32, 2, "p").dim(2)


def bound_of_no_var():
    f = hl.Func("f")
    f[x] = x
    f.bound(y, 0, 3)


def array_not_set():
    f = hl.Func("f")
    f[x] = hl.ImageParam(F32, 1, "p")[x]
    f.realize([3])


def param_not_set():
    f = hl.Func("f")
    f[x] = hl.Param(F32, "k") * x
    f.realize([3])


def param_out_of_range():
    hl.Param(hl.UInt(8), "k", 256)


def param_of_no_number():
    hl.Param(hl.Int(32), "k").set(float("nan"))


def param_beyond_integers():
    hl.Param(hl.Int(32), "k", float("inf"))


def param_of_an_array():
    hl.Param(F32, "k").set(np.ones(3))


def param_of_none():
    hl.Param(F32, "k").set(None)


def param_of_text():
    hl.Param(F32, "k").set("1")


def no_such_value():
    f = hl.Func("f")
    f[x] = (x, x)
    f[x][2]


def round_brackets():
    f = hl.Func("f")
    f[x] = x
    f(x)


def name_of_a_var():
    hl.Var(3)


def complex_pixels():
    hl.Buffer(np.zeros(3, np.complex64))


def layout():
    hl.ImageParam(F32, 3, "p", layout="hwc")


def shift_too_far():
    hl.u8(x) << 8


def sum_with_an_undefined_one():
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = g[x] + 1


def ellipsis():
    hl.Func("f")[x] = ...


def output_is_no_func():
    hl.Pipeline(hl.ImageParam(F32, 1, "p"))


CASES = {
    undefined: "Func 'f' is read before it is defined; write f[x, y] = ... first",
    undefined_output: "Func 'f' is read before it is defined",
    itself: "Only an update reads the Func itself",
    redefined: "update of Func 'f' uses the Var 'y', which does not stand alone on the left in the place where",
    updated_at_a_point: "Func 'f' is defined at Vars, as in f[x, y] = ..., not at 0",
    wrong_rank: "Func 'f' has 2 dimensions, but is called with 1 indices: x",
    float_index: "ImageParam 'p': the index p(x) is of type float32; an index is an integer, so cast it",
    unknown_coordinate: "Func 'f' uses the Var 'z', which is not one of its coordinates (x)",
    twice: "Func 'f' names a coordinate twice: x, x",
    rvar_outside: "Func 'f' uses r.x of an RDom outside of sum, product, minimum or maximum",
    literal_too_large: "the integer 300 does not fit uint8 (0 to 255), the type of the other operand",
    mixed_bits: "two signed or two unsigned integers, not uint8 and int8; cast one of them",
    select_of_number: "the condition of select is a bool, not int32: x",
    select_of_two_types: "the values of select have one type, not uint8 and uint16; cast one of them",
    select_literal: "the integer 300 does not fit uint8",
    clamp_to_another_type: "clamp: the high bound 300 is of type int32, which does not fit the type of the",
    func_as_value: "Func 'f' is no value; call it at a point, as in f[x, y]",
    text_as_value: "a str is no value of an expression",
    tuple_as_value: "a Tuple of 2 values stands where one value is needed; take one of them: t[0]",
    boundary_of_a_func: "repeat_edge of Func 'f' needs bounds, one (min, extent) per dimension",
    boundary_reads_pixels: "repeat_edge of 'p': bounds and exterior come before pixels; they cannot read",
    boundary_exterior: "the integer 256 does not fit uint8",
    boundary_rank: "repeat_edge of 'p': bounds for 2 dimensions, but it has 1",
    same_names: "two inputs, Params or outputs of a pipeline are called 'p'",
    image_of_no_dim: "ImageParam 'p' has 2 dimensions; there is no dim(2)",
    bound_of_no_var: "Func 'f' has no coordinate ",
    array_not_set: "ImageParam 'p' has no array: call p.set(array) before realize",
    param_not_set: "Param 'k' has no value: call set(value) first, or give a default",
    param_out_of_range: "Param 'k' is of type uint8, which 256 is not",
    param_of_no_number: "Param 'k' is of type int32, which nan is not",
    param_beyond_integers: "Param 'k' is of type int32, which inf is not",
    param_of_an_array: "Param 'k' takes a number of type float32, not a ndarray",
    param_of_none: "Param 'k' is of type float32, which None is not",
    param_of_text: "Param 'k' takes a number of type float32, not a str",
    no_such_value: "a Tuple of 2 values has no [2]; they are [0] to [1]",
    round_brackets: "Func 'f' is called with square brackets, as in f[x, y]",
    name_of_a_var: "the name of a Var is a text, not 3",
    complex_pixels: "arrays of complex64 cannot be pixels",
    layout: "ImageParam 'p': the layout 'hwc' is unknown; use auto, planar, interleaved",
    shift_too_far: "a shift by 8 bits is undefined for uint8",
    sum_with_an_undefined_one: "Func 'g' is read before it is defined; write g[x, y] = ... first",
    ellipsis: "... is no value of an expression; `_` stands for all remaining coordinates",
    output_is_no_func: "the output of a Pipeline is a Func",
}


@pytest.mark.parametrize("mistake", CASES, ids=lambda f: f.__name__)
def test_mistake(mistake):
    with pytest.raises(hl.PipelineError) as caught:
        mistake()
    message = CASES[mistake]
    pattern = message if "\\d" in message else re.escape(message)
    assert re.search(pattern, str(caught.value))
    # The line is one of the function that makes the mistake, and the file is this one.
    code = mistake.__code__
    lines = {line for _, _, line in code.co_lines() if line is not None}
    position = caught.value.position
    assert position.file == __file__
    assert position.line in lines
    assert str(caught.value).startswith(f"{__file__}:{position.line}:1: error: ")


def test_an_expr_has_no_truth_value():
    with pytest.raises(ValueError, match=r"Use & \| ~ for and, or, not, select.*tilefuse's own min"):
        bool(x > 1)


def test_a_func_is_not_iterated_over():
    f = hl.Func("f")
    f[x] = x
    with pytest.raises(TypeError, match="Func 'f' is a function over the grid; it has no iterator"):
        list(f)


def test_no_such_update():
    f = hl.Func("f")
    f[x] = 0
    f[0] = 1
    stage = f.update()
    assert stage.vectorize(x, 8) is stage
    with pytest.raises(hl.PipelineError, match=r"Func 'f' has 1 updates; there is no update\(1\)"):
        f.update(1)


def test_the_line_is_that_of_the_mistake():
    f = hl.Func("f")
    with pytest.raises(hl.PipelineError) as caught:
        f[x] = hl.u8(x) + 256
    assert caught.value.position.line == sys._getframe().f_lineno - 1
