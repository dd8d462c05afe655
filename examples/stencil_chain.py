"""A chain of 32 stencils of 5x5 points in u16 with wrapping sums (Halide's apps/stencil_chain)."""

from _run import Example, as_bytes, gray_floats, main

import tilefuse as hl

STENCILS = 32


def stencil_chain(image, hl=hl, stencils=STENCILS):
    """Apply `stencils` stencils to `image` (x, y) of u16, whose edge is repeated; the output has its size."""
    x, y = hl.Var("x"), hl.Var("y")
    current = hl.BoundaryConditions.repeat_edge(image)
    for s in range(stencils):
        e = hl.cast(hl.UInt(16), 0)
        for i in range(-2, 3):
            for j in range(-2, 3):
                e += ((i + 3) * (j + 3)) * current[x + i, y + j]
        stage = hl.Func(f"stage_{s}")
        stage[x, y] = e
        current = stage
    return current


def pipeline(stencils: int = STENCILS) -> hl.Pipeline:
    """Return the chain on a picture (x, y) of u16, with `stencils` stages (at least one)."""
    return hl.Pipeline(stencil_chain(hl.ImageParam(hl.UInt(16), 2, "image"), stencils=stencils))


EXAMPLES = [
    Example(
        "stencil_chain",
        pipeline,
        stencil_chain,
        lambda photo: as_bytes(gray_floats(photo)).astype("uint16"),
        show=lambda _, out: out / 65535,
    )
]

if __name__ == "__main__":
    main(EXAMPLES)
