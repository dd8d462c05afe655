"""Programs on which the soak test failed once, minimised."""

from language_program import Case, Input, Output


def grows_what_it_reads(hl, inputs, params):
    """Update a data-dependent point, whose value decides by argmin which point is read."""
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


def number_read_by_a_stencil(hl, inputs, params):
    """Read a function of no dimensions in a stage of a warp tile."""
    edges = hl.BoundaryConditions.repeat_edge(inputs["in0"])
    x, y = hl.Var("x"), hl.Var("y")
    total, f, g = hl.Func("total"), hl.Func("f"), hl.Func("g")
    r = hl.RDom([(0, 5)])
    total[()] = hl.u8(0)
    total[()] += edges[r.x, 0]
    total.compute_root()
    f[x, y] = edges[x - 1, y] + edges[x + 1, y] + total[()]
    f.compute_root()
    g[x, y] = f[x, y - 1] + f[x, y + 1]
    g.compute_root()
    return {"g": g}


def edges_beside_a_small_dimension(hl, inputs, params):
    """Repeat planes before the first requested one, with stored levels of as many planes as the output."""
    edges = hl.BoundaryConditions.repeat_edge(inputs["in0"])
    x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
    levels = [hl.Func("f1")]
    levels[0][x, y, z] = (hl.i32(edges[x + 1, y + 2, z + 2]) - (y + 3)) & 1023
    for n in (2, 3, 4):
        levels.append(hl.Func(f"f{n}"))
        levels[-1][x, y, z] = hl.max(levels[-2][x * 2, y, z], levels[-2][x * 2 + 1, y, z])
    up = levels.pop()
    for n, level in enumerate(reversed(levels)):
        wide = hl.Func(f"f{n + 5}")
        wide[x, y, z] = hl.min(up[x // 2 + x % 2, y, z], level[x, y, z])
        up = wide
    return {"f7": up}


def number_in_a_pyramid(hl, inputs, params):
    """Read a number in pyramid levels that are in shared memory."""
    edges = hl.BoundaryConditions.repeat_edge(inputs["in0"])
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(-2, 3)])
    f1, f2, f3, f4, f5 = (hl.Func(f"f{n}") for n in range(1, 6))
    f1[x, y] = hl.f32(hl.argmax(r, edges[0 - r.x, 15])[0])
    f2[x, y] = hl.max(f1[x * 2, y], f1[x * 2 + 1, y])
    f3[x, y] = hl.max(f2[x * 2, y], f2[x * 2 + 1, y])
    f4[x, y] = hl.min(f3[x // 2, y], f2[x, y])
    f5[x, y] = hl.max(f4[x // 2 + x % 2, y], f1[x, y])
    return {"f5": f5, "f1": f1, "f2": f2, "f3": f3}


def steps_that_write_the_same_places(hl, inputs, params):
    """Read in the outermost steps of a domain the point that all of them write."""
    in0 = inputs["in0"]
    x, y, z, r = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.RDom([(-1, 3), (1, 3)])
    f = hl.Func("f")
    f[x, y, z] = in0[hl.clamp(x, 0, 49), hl.clamp(y, 0, 39)] + hl.u8(z & 7)
    slice = hl.clamp(hl.i32(in0[hl.clamp(r.x, 0, 49), hl.clamp(y, 0, 39)]), 0, 4)
    f[r.x, y, slice] = f[r.x, y, slice] * hl.u8(3) + hl.u8(1)
    return {"f": f}


PICTURE = Input("in0", "u8", (50, 40), 0, 255)
CASES = [
    Case(
        number_in_a_pyramid,
        inputs=(PICTURE,),
        outputs=tuple(Output(f"f{n}", (0, 0), (33, 9)) for n in (5, 1, 2, 3)),
    ),
    Case(steps_that_write_the_same_places, inputs=(PICTURE,), outputs=(Output("f", (0, 0, 0), (9, 7, 5)),)),
    Case(grows_what_it_reads, inputs=(Input("in0", "u8", (3,), 0, 255),), outputs=(Output("f2", (), ()),)),
    Case(
        edges_beside_a_small_dimension,
        inputs=(Input("in0", "u32", (2, 5, 2), 0, 2**32 - 1),),
        outputs=(Output("f7", (0, 0, 0), (3, 65, 2)),),
    ),
    Case(number_read_by_a_stencil, inputs=(PICTURE,), outputs=(Output("g", (0, 0), (50, 40)),)),
]
