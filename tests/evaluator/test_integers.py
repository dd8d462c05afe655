"""Integer ops against Python's unbounded integers, on every pair of bytes."""

import numpy as np
import pytest

BYTES = np.arange(256, dtype=np.uint8)
A, B = (np.ascontiguousarray(g.reshape(-1)) for g in np.meshgrid(BYTES, BYTES))
SIGNED_PAIRS = [(int(a), int(b)) for a, b in zip(A.view(np.int8), B.view(np.int8), strict=True)]
UNSIGNED_PAIRS = [(int(a), int(b)) for a, b in zip(A, B, strict=True)]


def truncated(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def euclidean(a, b):
    rest = a % abs(b) if b else 0
    return (0, 0) if b == 0 else ((a - rest) // b, rest)


CASES = {
    "arith.addi": ("u", lambda a, b: a + b),
    "arith.subi": ("u", lambda a, b: a - b),
    "arith.muli": ("u", lambda a, b: a * b),
    "arith.divui": ("u", lambda a, b: a // b if b else 0),
    "arith.remui": ("u", lambda a, b: a % b if b else 0),
    "arith.divsi": ("s", truncated),
    "arith.remsi": ("s", lambda a, b: a - b * truncated(a, b) if b else 0),
    "arith.floordivsi": ("s", lambda a, b: a // b if b else 0),
    "arith.ceildivsi": ("s", lambda a, b: -(-a // b) if b else 0),
    "arith.ceildivui": ("u", lambda a, b: -(-a // b) if b else 0),
    "img.div": ("u", lambda a, b: a // b if b else 0),
    "img.mod": ("u", lambda a, b: a % b if b else 0),
    "img.div signed": ("s", lambda a, b: euclidean(a, b)[0]),
    "img.mod signed": ("s", lambda a, b: euclidean(a, b)[1]),
    "arith.minsi": ("s", min),
    "arith.maxsi": ("s", max),
    "arith.minui": ("u", min),
    "arith.maxui": ("u", max),
    "arith.andi": ("u", lambda a, b: a & b),
    "arith.ori": ("u", lambda a, b: a | b),
    "arith.xori": ("u", lambda a, b: a ^ b),
    "arith.shli": ("u", lambda a, b: a << b if b < 8 else 0),
    "arith.shrui": ("u", lambda a, b: a >> b),
    "arith.shrsi": ("s", lambda a, b: a >> (b % 256)),
}


@pytest.mark.parametrize("op", CASES)
def test_every_pair_of_bytes(pointwise, op):
    sign, meaning = CASES[op]
    pairs = UNSIGNED_PAIRS if sign == "u" else SIGNED_PAIRS
    expected = np.array([meaning(a, b) % 256 for a, b in pairs], np.uint8)
    np.testing.assert_array_equal(pointwise(f"%r = {op} %a, %b : i8", "ui8", a=A, b=B), expected)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_extremes_of_wider_types(pointwise, bits):
    least = -(2 ** (bits - 1))
    a = np.array([least, least, -7, 7, -7, 5], f"i{bits // 8}")
    b = np.array([-1, 0, 2, -2, -2, 0], a.dtype)
    run = lambda op: pointwise(f"%r = {op} %a, %b : i{bits}", f"si{bits}", a=a, b=b).tolist()  # noqa: E731
    assert run("img.div signed") == [least, 0, -4, -3, 4, 0]
    assert run("img.mod signed") == [0, 0, 1, 1, 1, 0]
    assert run("arith.divsi") == [least, 0, -3, -3, 3, 0]
    assert run("arith.remsi") == [0, 0, -1, 1, -1, 0]
    assert run("arith.addi")[0] == -least - 1
    count = np.array([0, bits - 1, bits, -1, 3, 2**15 - 1], a.dtype)
    shift = lambda op: pointwise(f"%r = {op} %a, %b : i{bits}", f"si{bits}", a=a, b=count).tolist()  # noqa: E731
    assert shift("arith.shli") == [least, 0, 0, 0, -56, 0]
    assert shift("arith.shrsi") == [least, -1, -1, 0, -1, 0]
    assert shift("arith.shrui") == [least, 1, 0, 0, (2**bits - 7) >> 3, 0]


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_compare(pointwise, predicate):
    pairs = SIGNED_PAIRS if predicate.startswith("s") else UNSIGNED_PAIRS
    compare = {"eq": "__eq__", "ne": "__ne__"}.get(predicate, f"__{predicate[1:]}__")
    expected = [getattr(a, compare)(b) for a, b in pairs]
    assert pointwise(f"%r = arith.cmpi {predicate}, %a, %b : i8", "i1", a=A, b=B).tolist() == expected


def test_booleans_are_one_bit_integers(pointwise):
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    run = lambda op: pointwise(f"%r = {op} %a, %b : i1", "i1", a=a, b=b).tolist()  # noqa: E731
    assert run("arith.addi") == run("arith.subi") == [False, True, True, False]
    assert run("arith.muli") == [False, False, False, True]
    assert run("arith.cmpi slt,") == [False, False, True, False], "true is -1"
    assert run("arith.maxsi") == [False, False, False, True]
    assert pointwise("%r = arith.extsi %a : i1 to i16", "si16", a=a).tolist() == [0, 0, -1, -1]
    assert pointwise("%r = arith.sitofp %a : i1 to f32", "f32", a=a).tolist() == [0, 0, -1, -1]
    assert pointwise("%r = arith.uitofp %a : i1 to f32", "f32", a=a).tolist() == [0, 0, 1, 1]


def test_bit_counts(pointwise):
    for op, meaning in {
        "math.ctpop": int.bit_count,
        "math.ctlz": lambda a: 8 - a.bit_length(),
        "math.cttz": lambda a: (a & -a).bit_length() - 1 if a else 8,
        "math.absi": lambda a: 256 - a if a > 128 else a,
    }.items():
        got = pointwise(f"%r = {op} %a : i8", "ui8", a=BYTES).tolist()
        assert got == [meaning(a) for a in range(256)], op


@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("sign", ["u", "s"])
def test_products_of_twice_the_width(pointwise, bits, sign):
    numbers = [0, 1, 3, 2 ** (bits // 2), 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1]
    a, b = (g.reshape(-1) for g in np.meshgrid(*[np.array(numbers, f"u{bits // 8}")] * 2))
    signed = lambda v: v - 2**bits if sign == "s" and v >= 2 ** (bits - 1) else v  # noqa: E731
    body = f"%low, %r = arith.mul{sign}i_extended %a, %b : i{bits}"
    expected = [signed(int(x)) * signed(int(y)) // 2**bits % 2**bits for x, y in zip(a, b, strict=True)]
    assert pointwise(body, f"ui{bits}", a=a, b=b).tolist() == expected
