"""Shifts by any amount from a seed, in IR text and in Python: by less than the width, by it, by more, the other way."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from random_numbers import WIDTH, check_same, held, number, wrapped

import tilefuse as hl

_TEXT = """
img.pipeline @shifts {{
  %i = img.input "i" : !img.func<1xsi{bits}>
  %n = img.input "n" : !img.func<1xsi{bits}>
  %r = img.stage "r" (%x) -> si{bits} {{
    %v = img.read %i[%x] : !img.func<1xsi{bits}>
    %k = img.read %n[%x] : !img.func<1xsi{bits}>
    %c = arith.constant {constant} : i{bits}
{lines}
    img.yield %w : i{bits}
  }}
  img.return "r" = %r : !img.func<1xsi{bits}>
}}
"""
_KINDS = ("shli", "shrui", "shrsi")


def shifted(kind: str, a: int, count: int, bits: int) -> int:
    """Return the shift of a number of `bits` bits, the count read as unsigned."""
    count = min(count % (1 << bits), bits)
    if kind == "shli":
        return wrapped(a << count, bits)
    return wrapped((a % (1 << bits)) >> count, bits) if kind == "shrui" else a >> count


def _count(rng: Random, bits: int) -> int:
    near = rng.choice([0, 1, bits - 1, bits, bits + 1, 31, 32, 33, 63, 64, -1, -bits])
    return near if rng.random() < 0.6 else number(rng, bits)


def shift(rng: Random) -> None:
    """Return operations of arith on integers, counts as constants and from data; and on indices, which have 64 bits."""
    bits = rng.choice([8, 16, 32, 64])
    kind, of_index = rng.choice(_KINDS), bits == 64 and rng.random() < 0.4
    constant = _count(rng, bits)
    what = rng.choice(["v by c", "v by k", "c by v", "c by c"])
    a, _, by = what.partition(" by ")
    lines = f"    %w = arith.{kind} %{a}, %{by} : i{bits}"
    if of_index:
        lines = f"""    %a = arith.index_cast %{a} : i64 to index
    %b = arith.index_cast %{by} : i64 to index
    %s = arith.{kind} %a, %b : index
    %w = arith.index_cast %s : index to i64"""
    text = _TEXT.format(bits=bits, constant=constant, lines=lines)
    values = held(rng, bits)
    counts = [wrapped(_count(rng, bits), bits) for _ in values]

    def model() -> np.ndarray:
        rows = ({"v": v, "k": k, "c": wrapped(constant, bits)} for v, k in zip(values, counts, strict=True))
        return np.array([shifted(kind, row[a], row[by], bits) for row in rows], f"int{bits}")

    def make(**options: Any) -> Callable[[], np.ndarray]:
        program = hl.compile(text, **options)
        return lambda: program(i=np.array(values, f"int{bits}"), n=np.array(counts, f"int{bits}"))

    check_same(rng, make, model, text)


def python_shift(rng: Random) -> None:
    """`<<` and `>>` of Python's language, where a negative number shifts the other way, in the wider of both types."""
    bits, by_bits, signed, by_signed = (*rng.choices([8, 16, 32, 64], k=2), rng.random() < 0.5, rng.random() < 0.5)
    left, by_constant = rng.random() < 0.5, rng.random() < 0.5
    kind, by_kind = (hl.Int if signed else hl.UInt)(bits), (hl.Int if by_signed else hl.UInt)(by_bits)
    constant = _count(rng, rng.choice([8, 32]))
    wide = bits if by_constant else max(bits, by_bits)
    x = hl.Var("x")
    image, counts = hl.ImageParam(kind, 1, "image"), hl.ImageParam(by_kind, 1, "counts")
    values = [v if signed else v % (1 << bits) for v in held(rng, bits)]
    given = [wrapped(_count(rng, by_bits), by_bits) for _ in values]
    given = [g if by_signed else g % (1 << by_bits) for g in given]

    def one(a: int, count: int) -> int:
        forth = left == (count >= 0)
        found = shifted("shli" if forth else "shrsi" if signed else "shrui", wrapped(a, wide), abs(count), wide)
        return found if signed else found % (1 << wide)

    def model() -> np.ndarray:
        counts = [constant] * WIDTH if by_constant else given
        return np.array([one(a, n) for a, n in zip(values, counts, strict=True)], f"{'' if signed else 'u'}int{wide}")

    def make(**options: Any) -> Callable[[], np.ndarray]:
        func = hl.Func("f")
        count = constant if by_constant else counts[x]
        func[x] = image[x] << count if left else image[x] >> count
        program = hl.Pipeline(func).compile(**options)
        arrays = {"image": np.array(values, f"{'' if signed else 'u'}int{bits}")}
        if not by_constant:
            arrays["counts"] = np.array(given, f"{'' if by_signed else 'u'}int{by_bits}")
        return lambda: program(**arrays)

    where = f"{kind} {'<<' if left else '>>'} {constant if by_constant else by_kind}"
    refused = check_same(rng, make, model, where)
    assert not refused or (by_constant and abs(constant) >= bits), where
