"""What a Halide user can get wrong in an update definition or an RDom: one message, at the line."""

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


def argmin_of_two_domains():
    hl.argmin(hl.RDom([(0, 3)], "r").x + hl.RDom([(0, 3)], "q").x)


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
