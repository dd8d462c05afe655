"""What a Halide user can get wrong in an update definition or an RDom: one message, at the line."""

import math

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.runtime.errors import CallError

x, y = hl.Var("x"), hl.Var("y")


def defined(*args, value=0):
    f = hl.Func("f")
    f[args] = value
    return f


def swapped_coordinates():
    f = defined(x, y)
    f[y, x] += 1


def var_that_is_not_on_the_left():
    f = defined(x, y)
    f[x, hl.RDom([(0, 3)], "r").x] = y


def computed_from_a_var():
    f = defined(x)
    f[x + 1] = 2


def two_domains():
    f = defined(x)
    f[hl.RDom([(0, 3)], "r").x] = hl.RDom([(0, 3)], "q").x


def reads_a_neighbour_of_a_pure_point():
    f = defined(x)
    f[x] += f[x + 1]


def of_another_type():
    f = defined(x, value=hl.u8(0))
    f[x] += hl.i32(5)


def literal_that_does_not_fit():
    f = defined(x, value=hl.u8(0))
    f[3] = 300


def too_many_indices():
    f = defined(x)
    f[x, 1] = 1


def too_few_values():
    f = defined(x, value=(0, 1.0))
    f[x] = 1


def tuple_and_one_value():
    f = defined(x, value=(0, 1.0))
    f[x] += 1


def updated_after_use():
    f = defined(x)
    g = hl.Func("g")
    g[x] = f[x]
    f[x] += 1


def updated_after_a_boundary():
    f = defined(x)
    hl.BoundaryConditions.repeat_edge(f, [(0, 4)])
    f[x] += 1


def update_of_a_boundary():
    f = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.UInt(8), 1, "p"))
    f[x] += hl.u8(1)


def float_position():
    f = defined(x)
    f[1.5] = 1


def undef_inside():
    f = defined(x)
    f[x] = hl.undef(hl.Int(32)) + 1


def undef_of_no_type():
    hl.undef(3)


def two_conditions():
    f = defined(x, value=(0, 0))
    f[x] = (hl.select(x > 1, 1, hl.undef(hl.Int(32))), hl.select(x > 2, 1, hl.undef(hl.Int(32))))


def domain_of_a_var():
    hl.RDom([(0, x)], "r")


def domain_of_a_float():
    hl.RDom([(0, 1.5)], "r")


def negative_extent():
    hl.RDom([(0, -1)], "r")


def no_pair():
    hl.RDom([3], "r")


def where_of_a_number():
    hl.RDom([(0, 3)], "r").where(x)


def where_of_another_domain():
    hl.RDom([(0, 3)], "r").where(hl.RDom([(0, 3)], "q").x > 1)


def dimension_by_a_number_that_is_not_there():
    hl.RDom([(0, 3)], "r")[5]


def dimension_by_its_name():
    hl.RDom([(0, 3)], "r")["x"]


def box_of_an_array():
    hl.RDom(np.zeros((2, 2)), "r")


def rvar_of_no_domain():
    f = defined(x)
    f[hl.RVar("q")] += 1


def conditions_joined_by_and():
    r = hl.RDom([(0, 3)], "r")
    r.where(r.x > 0 and r.x < 2)


def condition_of_two_bounds():
    r = hl.RDom([(0, 3)], "r")
    r.where(0 < r.x < 2)


def equal_in_python():
    if hl.Param(hl.Int(32), "n") == 3:
        raise AssertionError


def number_of_an_expr():
    range(int(hl.RDom([(0, 3)], "r").x))


def root_of_another_module():
    math.sqrt(x * 1.0)


def tuple_compared():
    f = defined(x, value=(0, 1.0))
    hl.select(f[x] > 1, 0, 1)


def tuple_written_to():
    f = defined(x, value=(0, 1.0))
    f[x][0] = 3


def written_to_an_input():
    hl.ImageParam(hl.UInt(8), 2, "p")[x, y] = 1


def sum_of_the_func_itself():
    f = defined(x)
    f[3] += hl.sum(f[hl.RDom([(0, 3)], "r")])


def domain_of_two_numbers():
    hl.RDom(0, 9)


def argmin_of_two_domains():
    hl.argmin(hl.RDom([(0, 3)], "r").x + hl.RDom([(0, 3)], "q").x)


def too_few_indices():
    f = defined(x, y)
    f[x] = 1


def too_many_values():
    f = defined(x)
    f[x] = (1, 2)


def tuple_of_another_type():
    f = defined(x, value=(0, 1.0))
    f[x] = (1.0, 1.0)


def rvar_in_a_definition():
    f = hl.Func("f")
    f[x] = hl.RDom([(0, 3)], "r").x


def defined_at_an_rvar():
    f = hl.Func("f")
    f[hl.RDom([(0, 3)], "r").x] = 1


def one_var_twice():
    f = hl.Func("f")
    f[x, x] = 0


def another_name_for_a_coordinate():
    f = defined(x)
    f[y] = f[y] + 1


def reads_exchanged_coordinates():
    f = defined(x, y)
    f[x, y] = f[y, x]


def reads_itself_where_it_is_defined():
    f = hl.Func("f")
    f[x] = f[x - 1]


def reads_what_is_not_defined():
    f, g = defined(x), hl.Func("g")
    f[x] += g[x]


def tuple_as_a_number():
    f, g = defined(x, value=(1, 2)), hl.Func("g")
    g[x] = f[x] + 1


def float_added_to_an_integer():
    f = defined(x)
    f[x] += 0.5


def undef_as_a_position():
    f = defined(x)
    f[hl.undef(hl.Int(32))] = 1


def undef_as_a_condition():
    hl.RDom([(0, 3)], "r").where(hl.undef(hl.Bool()))


def where_after_an_update():
    f, r = defined(x), hl.RDom([(0, 3)], "r")
    f[r.x] += 1
    r.where(r.x > 1)


def where_after_a_sum():
    r = hl.RDom([(0, 3)], "r")
    hl.sum(r.x)
    r.where(r.x > 1)


def where_of_a_var_that_is_not_on_the_left():
    f, r = defined(x), hl.RDom([(0, 3)], "r")
    r.where(y > 0)
    f[r.x] = 1


def sum_of_no_domain():
    hl.sum(x)


def argmax_of_a_tuple():
    f = defined(x, value=(1, 2))
    hl.argmax(hl.RDom([(0, 3)], "r"), f[x])


def bound_of_a_func():
    hl.RDom([(0, defined(x)[0])], "r")


def bound_of_an_rvar():
    hl.RDom([(0, hl.RDom([(0, 3)], "q").x)], "r")


def dimension_that_is_not_there():
    hl.RDom([(0, 3)], "r").y


def no_dimensions():
    hl.RDom([], "r")


def nine_dimensions():
    hl.RDom([(0, 1)] * 9, "r")


def update_that_is_not_there():
    defined(x).update(3)


def text_as_an_index():
    f = defined(x)
    f["x"] = 1


def func_without_a_point():
    f, g = defined(x), defined(x)
    f[x] += g


def sum_of_funcs_without_points():
    defined(x) + 1


def image_without_a_point():
    f = defined(x)
    f[x] += 3 * hl.ImageParam(hl.Int(32), 1, "p")


def func_called_in_round_brackets():
    defined(x)(x)


def slice_of_a_func():
    f = defined(x)
    f[0:3] = 1


def domain_of_two_dimensions_as_an_index():
    f = defined(x)
    f[hl.RDom([(0, 3), (0, 3)], "r")] += 1


def bound_that_a_pixel_says():
    hl.RDom([(0, hl.ImageParam(hl.Int(32), 1, "p")[0])], "r")


def read_with_too_few_indices():
    f = defined(x)
    f[x] += defined(x, y)[x]


def value_of_a_tuple_that_is_not_there():
    defined(x, value=(1, 2))[x][2]


def tuple_in_a_tuple():
    f = defined(x, value=(1, 2))
    f[x] = (f[x], 1)


def bits_of_a_float():
    f = defined(x, value=1.0)
    f[x] &= 1


def array_as_a_value():
    f = defined(x)
    f[x] += np.ones(3)


def func_without_its_index():
    f = defined(x)
    f += 1


def domain_of_a_func():
    hl.RDom(defined(x, y), "r")


def domain_of_a_param():
    hl.RDom(hl.Param(hl.Int(32), "n"), "r")


def domain_with_a_step():
    hl.RDom([(0, 9, 2)], "r")


def bound_of_text():
    hl.RDom([("0", 3)], "r")


def bound_that_is_a_float_param():
    hl.RDom([(0, hl.Param(hl.Float(32), "n"))], "r")


def where_of_text():
    hl.RDom([(0, 3)], "r").where("r.x > 0")


def where_of_a_tuple():
    hl.RDom([(0, 3)], "r").where(defined(x, value=(1, 2))[0])


def nothing_as_a_value():
    f = defined(x)
    f[x] = None


def best_and_its_place_as_a_number():
    f = defined(x)
    f[x] = hl.argmax(hl.RDom([(0, 3)], "r").x)


def sum_of_pythons():
    f = defined(x)
    f[x] += sum(defined(x)[hl.RDom([(0, 3)], "r").x])


def minimum_of_pythons():
    f = defined(x)
    f[x] = min(f[x], hl.RDom([(0, 3)], "r").x)


def defined_at_a_number():
    hl.Func("f")[3] = 1


def rest_of_the_coordinates_twice():
    f = defined(x, y)
    f[hl._, hl._] += 1


def number_without_coordinates_at_one():
    f = defined()
    f[0] += 1


def read_of_an_update_in_a_circle():
    f, g = defined(x), hl.Func("g")
    g[x] = f[x]
    h = hl.Func("h")
    h[x] = 0
    h[x] += g[x]
    g[x] += h[x]


LEFT = "which does not stand alone on the left in the place where the definition has it"

CASES = {
    swapped_coordinates: f"update of Func 'f' uses the Var 'y', {LEFT} (none); write it there, or use an RDom",
    var_that_is_not_on_the_left: f"update of Func 'f' uses the Var 'y', {LEFT} (x)",
    computed_from_a_var: f"update of Func 'f' uses the Var 'x', {LEFT} (none)",
    two_domains: "update of Func 'f' uses the RDoms r and q; an update goes over one",
    reads_a_neighbour_of_a_pure_point: "update of Func 'f' reads itself at (x + 1) where x stands on the left",
    of_another_type: "gives (int32(f(x)) + 5) of type int32, but its definition is of type uint8; cast it",
    literal_that_does_not_fit: "the integer 300 does not fit uint8",
    too_many_indices: "update of Func 'f': it has 1 dimensions, and 2 indices stand on the left",
    too_few_values: "update of Func 'f' gives 1 values, but it has 2",
    tuple_and_one_value: "a Tuple of 2 values + another takes one of as many values, not 1",
    updated_after_use: "Func 'f' cannot be updated any more: Func 'g' reads it already",
    updated_after_a_boundary: "Func 'f' cannot be updated any more: repeat_edge of 'f' reads it already",
    update_of_a_boundary: "is a boundary condition, which has no updates; update a Func that copies it",
    float_position: "Func 'f': the index 1.5 is of type float32; an index is an integer, so cast it",
    undef_inside: "update of Func 'f': undef is one branch of a select that is the whole value",
    undef_of_no_type: "undef takes a type, as in undef(Int(32)), not 3",
    two_conditions: "update of Func 'f': values that are left undefined in a tuple share one condition",
    domain_of_a_var: "RDom 'r': the bound x depends on x; the box is known before any point",
    domain_of_a_float: "RDom 'r': the bound 1.5 is float32; cast it to int32",
    negative_extent: "RDom 'r': the extent -1 must not be negative",
    no_pair: "RDom 'r': 3 is no (min, extent)",
    where_of_a_number: "RDom 'r': where(...) takes a condition, not x of type int32",
    where_of_another_domain: "RDom 'r': where(...) uses q.x of another RDom",
    too_few_indices: "update of Func 'f': it has 2 dimensions, and 1 indices stand on the left",
    too_many_values: "update of Func 'f' gives 2 values, but it has 1",
    tuple_of_another_type: "gives 1.0 of type float32, but its definition is of type int32; cast it",
    rvar_in_a_definition: "Func 'f' uses r.x of an RDom outside of sum, product, minimum or maximum",
    defined_at_an_rvar: "Func 'f' is defined at Vars, as in f[x, y] = ..., not at",
    one_var_twice: "Func 'f' names a coordinate twice: x, x",
    another_name_for_a_coordinate: f"update of Func 'f' uses the Var 'y', {LEFT} (none)",
    reads_exchanged_coordinates: "update of Func 'f' reads itself at y where x stands on the left",
    reads_itself_where_it_is_defined: "Func 'f' is read before it is defined",
    reads_what_is_not_defined: "Func 'g' is read before it is defined",
    tuple_as_a_number: "a Tuple of 2 values + another takes one of as many values, not 1",
    float_added_to_an_integer: "of type float32, but its definition is of type int32; cast it",
    undef_as_a_position: "update of Func 'f': undef stands in an index on the left",
    undef_as_a_condition: "RDom 'r': where(...) takes a condition that is defined",
    where_after_an_update: "RDom 'r': where(...) stands before what goes over it, and update of Func 'f' does already",
    where_after_a_sum: "RDom 'r': where(...) stands before what goes over it, and sum does already",
    where_of_a_var_that_is_not_on_the_left: f"update of Func 'f' uses the Var 'y', {LEFT} (none)",
    sum_of_no_domain: "sum(expr) reduces over the one RDom in it; there are none",
    argmax_of_a_tuple: "a Tuple of 2 values stands where one value is needed",
    bound_of_a_func: "RDom 'r': the bound f(0) depends on f(0)",
    bound_of_an_rvar: "RDom 'r': the bound q.x depends on q.x",
    dimension_that_is_not_there: "RDom 'r' has 1 dimensions; there is no y",
    no_dimensions: "RDom 'r' has no dimensions",
    nine_dimensions: "RDom 'r' has 9 dimensions; at most 8 are possible",
    update_that_is_not_there: "Func 'f' has 0 updates; there is no update(3)",
    text_as_an_index: "a str is no value of an expression; use a number or an Expr",
    dimension_by_a_number_that_is_not_there: "RDom 'r' has 1 dimensions; there is no [5]",
    dimension_by_its_name: "RDom 'r': a dimension is a number, not 'x'",
    box_of_an_array: "RDom 'r' takes a list of (min, extent), not array([[0., 0.], [0., 0.]])",
    rvar_of_no_domain: "RVar 'q' is of no RDom; take the dimension of one: r.x",
    conditions_joined_by_and: "an Expr cannot be converted to a bool",
    condition_of_two_bounds: "an Expr cannot be converted to a bool",
    equal_in_python: "an Expr cannot be converted to a bool",
    number_of_an_expr: "an Expr cannot be converted to a number",
    root_of_another_module: "an Expr cannot be converted to a number",
    tuple_compared: "a Tuple of 2 values stands where one value is needed; take one of them: t[0]",
    tuple_written_to: "a Tuple is not written to; an update writes all of its values",
    written_to_an_input: "ImageParam 'p' is read by a pipeline, and not written; define a Func",
    sum_of_the_func_itself: "any more: sum(...) reads it already; write all updates before the first use, and a reduc",
    domain_of_two_numbers: "RDom takes a list of (min, extent), and a name: RDom([(0, 9)])",
    func_without_a_point: "Func 'f' is no value; call it at a point, as in f[x, y]",
    sum_of_funcs_without_points: "Func 'f' is no value; call it at a point, as in f[x, y]",
    image_without_a_point: "ImageParam 'p' is no value; call it at a point, as in p[x, y]",
    func_called_in_round_brackets: "Func 'f' is called with square brackets, as in f[x, y]",
    slice_of_a_func: "Func 'f' is called at a point; slices are not there",
    domain_of_two_dimensions_as_an_index: "RDom 'r' has 2 dimensions; name one of them: r.x",
    bound_that_a_pixel_says: "RDom 'r': the bound p(0) depends on p(0); the box is known before any point",
    read_with_too_few_indices: "Func 'f' has 2 dimensions, but is called with 1 indices: x",
    value_of_a_tuple_that_is_not_there: "a Tuple of 2 values has no [2]; they are [0] to [1]",
    tuple_in_a_tuple: "a Tuple of 2 values stands where one value is needed; take one of them: t[0]",
    bits_of_a_float: "& | ^ take bools or integers, not float32 and float32",
    array_as_a_value: "a ndarray is no value of an expression; use a number or an Expr",
    func_without_its_index: "Func 'f' is no value; call it at a point, as in f[x, y]",
    domain_of_a_func: "RDom 'r' takes a list of (min, extent), not <halide.Func 'f'>",
    domain_of_a_param: "RDom 'r' takes a list of (min, extent), not <halide.Param 'n' type int32>",
    domain_with_a_step: "RDom 'r': (0, 9, 2) is no (min, extent)",
    bound_of_text: "a str is no value of an expression; use a number or an Expr",
    bound_that_is_a_float_param: "RDom 'r': the bound n is float32; cast it to int32",
    where_of_text: "a str is no value of an expression; use a number or an Expr",
    where_of_a_tuple: "a Tuple of 2 values stands where one value is needed; take one of them: t[0]",
    nothing_as_a_value: "a NoneType is no value of an expression; use a number or an Expr",
    best_and_its_place_as_a_number: "update of Func 'f' gives 2 values, but it has 1",
    sum_of_pythons: "an Expr is one value, and not iterated over; tilefuse's own sum(...) goes over an RDom",
    minimum_of_pythons: "an Expr cannot be converted to a bool: it has no value in Python. Use & | ~ for and, or, not",
    defined_at_a_number: "Func 'f' is defined at Vars, as in f[x, y] = ..., not at 3",
    rest_of_the_coordinates_twice: "Func 'f': _ stands 2 times between the brackets; it means all remaining",
    number_without_coordinates_at_one: "Func 'f' has 0 dimensions, but is called with 1 indices: 0",
    read_of_an_update_in_a_circle: "Func 'g' cannot be updated any more: update of Func 'h' reads it already",
    argmin_of_two_domains: "argmin(expr) reduces over the one RDom in it; there are r, q",
}


@pytest.mark.parametrize("mistake", CASES, ids=lambda f: f.__name__)
def test_mistake(mistake):
    with pytest.raises(hl.PipelineError) as caught:
        mistake()
    assert CASES[mistake] in str(caught.value)
    lines = {line for _, _, line in mistake.__code__.co_lines() if line is not None}
    assert (caught.value.position.file, caught.value.position.line in lines) == (__file__, True)
    assert "\n" not in str(caught.value)


def test_a_position_that_nothing_bounds():
    f = defined(x)
    r = hl.RDom([(0, 3)])
    f[hl.ImageParam(hl.Int(32), 1, "p")[r]] += 1
    program = hl.Pipeline(f).compile("reference")
    with pytest.raises(CallError, match=r"update 'f_update' writes at an index computed from data that nothing bounds"):
        program(np.zeros(3, np.int32), sizes=(4,))
