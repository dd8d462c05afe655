"""Programs of the soak test that failed once, as small as they could be made."""

from language_program import Case, Input, Output


def grows_what_it_reads(hl, inputs, params):
    """An update without a domain writes where data say, and an argmin of what it gives decides what is read of it."""
    in0 = inputs["in0"]
    x, y = hl.Var("x"), hl.Var("y")
    f1 = hl.Func("f1")
    f1[x, y] = (hl.u16(0), hl.i8(0))
    f1[hl.i32(in0[0]) % 257, 3] = (hl.u16(0), hl.i8(0))
    f1.compute_root()
    f2 = hl.Func("f2")
    r3 = hl.RDom([(0, 5), (-1, 3)])
    f2[()] = hl.f32(f1[hl.i32_sat(hl.argmin(r3, f1[0, 0][0])[2]), 0][1])
    f2.compute_root()
    return {"f2": f2}


CASES = [
    Case(grows_what_it_reads, inputs=(Input("in0", "u8", (3,), 0, 255),), outputs=(Output("f2", (), ()),)),
]
