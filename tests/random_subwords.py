"""Random stencils of 8 and 16 bits whose values mostly fit half a register, for `pack-subwords`."""

from __future__ import annotations

from random import Random

import numpy as np

import tilefuse as hl

_TYPES = {"u8": hl.UInt(8), "u16": hl.UInt(16)}
_DTYPES = {"u8": np.uint8, "u16": np.uint16}


def _term(random: Random, value: hl.Expr, wide: hl.Type) -> hl.Expr:
    """Return an expression of `wide` that may wrap."""
    n = random.choice([1, 2, 3, 5, 6, 7, 9, 16, 25, 255])
    match random.randrange(9):
        case 0:
            return value * hl.cast(wide, random.choice([1, 2, 3, 6]))
        case 1:
            return value // hl.cast(wide, n)
        case 2:
            return value % hl.cast(wide, n)
        case 3:
            return value >> hl.cast(wide, random.randrange(6))
        case 4:
            return hl.min(value, hl.cast(wide, n))
        case 5:
            return hl.max(value, hl.cast(wide, n))
        case 6:
            return value & hl.cast(wide, n)
        case 7:
            return value ^ hl.cast(wide, n)
    return value + hl.cast(wide, n)


def pipeline(seed: int) -> tuple[hl.Pipeline, np.ndarray]:
    """Return two or three stages, one after the other, of an input of 8 or 16 bits; and a picture."""
    random = Random(seed)
    x, y = hl.Var("x"), hl.Var("y")
    kind = random.choice(list(_TYPES))
    image = hl.ImageParam(_TYPES[kind], 2, "image")
    continued = random.choice([hl.BoundaryConditions.repeat_edge, hl.BoundaryConditions.mirror_image])
    current: hl.Func = (
        hl.BoundaryConditions.constant_exterior(image, random.randrange(256))
        if random.randrange(3) == 0
        else continued(image)
    )
    for stage in range(random.choice([2, 3])):
        wide = random.choice([hl.UInt(16), hl.UInt(16), hl.Int(32), hl.UInt(8)])
        terms = []
        for _ in range(random.randrange(2, 6)):
            read = current[x + random.randrange(-2, 3), y + random.randrange(-2, 3)]
            terms.append(_term(random, hl.cast(wide, read), wide))
        total = terms[0]
        for term in terms[1:]:
            total = random.choice([total + term, total + term, total - term, hl.max(total, term), hl.min(total, term)])
        name = random.choice(list(_TYPES))
        following = hl.Func(f"stage_{stage}")
        following[x, y] = hl.cast(_TYPES[name], total)
        current = following
    shape = (random.choice([1, 7, 32, 45, 64]), random.choice([1, 30, 64, 129, 256, 500]))
    picture = np.random.default_rng(seed).integers(0, np.iinfo(_DTYPES[kind]).max + 1, shape, _DTYPES[kind])
    return hl.Pipeline(current), picture
