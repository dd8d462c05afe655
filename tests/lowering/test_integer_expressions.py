"""Random integer expressions over all widths: the C text against Python's integers; nothing undefined.

This is what tests the removal of casts: the printer leaves a value in `int`, wider than the IR's type,
wherever it believes that nothing can tell.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

WIDTHS = (8, 16, 32, 64)
LENGTH = 64
# Where the compiler can fold x - x, it sees that a constant wraps around; so it should.
WRAPS = ("-O1", "-Wno-overflow")
DTYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _truncated_div(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# name -> (a, b, width) -> value, all as unsigned numbers; the caller reduces modulo 2^width.
BINARY: dict[str, Callable[[int, int, int], int]] = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "minsi": lambda a, b, w: min(signed(a, w), signed(b, w)),
    "maxsi": lambda a, b, w: max(signed(a, w), signed(b, w)),
    "minui": lambda a, b, w: min(a, b),
    "maxui": lambda a, b, w: max(a, b),
}
# The second operand is a small positive constant.
BY_CONSTANT: dict[str, Callable[[int, int, int], int]] = {
    "shli": lambda a, b, w: a << b,
    "shrui": lambda a, b, w: a >> b,
    "shrsi": lambda a, b, w: signed(a, w) >> b,
    "divui": lambda a, b, w: a // b,
    "remui": lambda a, b, w: a % b,
    "divsi": lambda a, b, w: _truncated_div(signed(a, w), b),
    "remsi": lambda a, b, w: signed(a, w) - b * _truncated_div(signed(a, w), b),
    "floordivsi": lambda a, b, w: signed(a, w) // b,
    "ceildivsi": lambda a, b, w: -(-signed(a, w) // b),
    "ceildivui": lambda a, b, w: -(-a // b),
}
UNARY: dict[str, Callable[[int, int], int]] = {
    "math.absi": lambda a, w: abs(signed(a, w)),
    "math.ctpop": lambda a, w: a.bit_count(),
    "math.ctlz": lambda a, w: w - a.bit_length(),
    "math.cttz": lambda a, w: (a & -a).bit_length() - 1 if a else w,
}
COMPARE: dict[str, Callable[[int, int, int], bool]] = {
    "eq": lambda a, b, w: a == b,
    "ne": lambda a, b, w: a != b,
    "slt": lambda a, b, w: signed(a, w) < signed(b, w),
    "sge": lambda a, b, w: signed(a, w) >= signed(b, w),
    "ult": lambda a, b, w: a < b,
    "uge": lambda a, b, w: a >= b,
}


@dataclass
class Writer:
    """Writes the body of one function, and computes what it gives."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, int, list[int]]] = field(default_factory=list)
    """Name, width, and the value in each iteration."""

    def add(self, text: str, width: int, data: list[int]) -> None:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, width, [v % 2**width for v in data]))

    def constant(self, value: int, width: int) -> str:
        name = f"%k{len(self.lines)}"
        self.lines.append(f"{name} = arith.constant {signed(value % 2**width, width)} : i{width}")
        return name

    def pick(self, width: int | None = None) -> tuple[str, int, list[int]]:
        found = [v for v in self.values if width in (None, v[1])]
        # Mostly the newest, so that expressions grow deep.
        return found[-1] if self.rng.random() < 0.6 else self.rng.choice(found)

    def step(self) -> None:
        rng = self.rng
        a, width, x = self.pick()
        kind = rng.choice(["binary"] * 4 + ["constant"] * 3 + ["convert"] * 3 + ["select", "unary", "literal", "index"])
        if kind == "binary":
            name = rng.choice(list(BINARY))
            b, _, y = self.pick(width)
            data = [BINARY[name](p, q, width) for p, q in zip(x, y, strict=True)]
            self.add(f"arith.{name} {a}, {b} : i{width}", width, data)
        elif kind == "literal":
            name = rng.choice(list(BINARY))
            k = rng.choice([0, 1, -1, 3, 100, 255, -128, 1 << (width - 1), rng.getrandbits(width)]) % 2**width
            b = self.constant(k, width)
            if rng.random() < 0.5:
                self.add(f"arith.{name} {a}, {b} : i{width}", width, [BINARY[name](p, k, width) for p in x])
            else:
                self.add(f"arith.{name} {b}, {a} : i{width}", width, [BINARY[name](k, p, width) for p in x])
        elif kind == "constant":
            name = rng.choice(list(BY_CONSTANT))
            k = rng.randrange(1, 8)
            b = self.constant(k, width)
            self.add(f"arith.{name} {a}, {b} : i{width}", width, [BY_CONSTANT[name](p, k, width) for p in x])
        elif kind == "unary":
            name = rng.choice(list(UNARY))
            self.add(f"{name} {a} : i{width}", width, [UNARY[name](p, width) for p in x])
        elif kind == "index":
            self.lines.append(f"%i{len(self.lines)} = arith.index_cast {a} : i{width} to index")
            index = f"%i{len(self.lines) - 1}"
            to = rng.choice(WIDTHS)
            # An index has 32 bits here.
            data = [signed(signed(p, width) % 2**32, 32) for p in x]
            self.add(f"arith.index_cast {index} : index to i{to}", to, data)
        elif kind == "select":
            b, _, y = self.pick(width)
            c, other, z = self.pick()
            d, _, u = self.pick(other)
            name = rng.choice(list(COMPARE))
            test = f"%c{len(self.lines)}"
            self.lines.append(f"{test} = arith.cmpi {name}, {c}, {d} : i{other}")
            data = [p if COMPARE[name](s, t, other) else q for p, q, s, t in zip(x, y, z, u, strict=True)]
            self.add(f"arith.select {test}, {a}, {b} : i{width}", width, data)
        else:
            to = rng.choice([w for w in WIDTHS if w != width])
            if to < width:
                self.add(f"arith.trunci {a} : i{width} to i{to}", to, x)
            elif rng.random() < 0.5:
                self.add(f"arith.extui {a} : i{width} to i{to}", to, x)
            else:
                self.add(f"arith.extsi {a} : i{width} to i{to}", to, [signed(p, width) for p in x])


def edge_values(width: int, rng: random.Random) -> list[int]:
    top = 1 << (width - 1)
    edges = [0, 1, 2, 127, 128, 255, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1]
    return [rng.choice(edges) if rng.random() < 0.5 else rng.getrandbits(width) for _ in range(LENGTH)]


def random_module(
    seed: int, functions: int = 100
) -> tuple[str, list[tuple[str, int, list[int]]], dict[int, list[int]]]:
    """A module, what each function stores (its name, width, values), and the inputs by width."""
    rng = random.Random(seed)
    inputs = {width: edge_values(width, rng) for width in WIDTHS}
    text: list[str] = []
    results: list[tuple[str, int, list[int]]] = []
    params = ", ".join(f"%a{w}: memref<?xi{w}>" for w in WIDTHS)
    for number in range(functions):
        writer = Writer(rng)
        for width in WIDTHS:
            writer.add(f"memref.load %a{width}[%i] : memref<?xi{width}>", width, inputs[width])
            # The same data from the other end, so that two values of one width differ.
            writer.add(f"memref.load %a{width}[%j] : memref<?xi{width}>", width, inputs[width][::-1])
        for _ in range(rng.randrange(4, 24)):
            writer.step()
        name, width, data = writer.values[-1]
        body = "\n        ".join(writer.lines)
        text.append(f"""
func.func @f{number}({params}, %out: memref<?xi{width}>)
    attributes {{kernel.threads = array<i64: 1, 1, 1>}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.constant {LENGTH - 1} : index
  %n = arith.constant {LENGTH} : index
  scf.for %i = %zero to %n step %one {{
        %j = arith.subi %last, %i : index
        {body}
        memref.store {name}, %out[%i] : memref<?xi{width}>
  }}
  func.return
}}""")
        results.append((f"f{number}", width, data))
    return "\n".join(text), results, inputs


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(kernels, seed):
    text, results, inputs = random_module(seed)
    module = kernels(text)
    arrays = [np.array(inputs[width], DTYPES[width]) for width in WIDTHS]
    optimised = module.c(flags=WRAPS)
    trapping = module.c(flags=(*WRAPS, "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"))
    for name, width, expected in results:
        out = np.zeros(LENGTH, DTYPES[width])
        optimised(name, *arrays, out)
        np.testing.assert_array_equal(out, np.array(expected, DTYPES[width]), err_msg=f"{name}\n{text}")
        assert trapping.survives(name, *arrays, out), f"{name} has undefined behaviour\n{text}"


def test_random_expressions_are_mlir_and_cuda(kernels):
    text, _, _ = random_module(100, functions=12)
    module = kernels(text)
    module.check_with_mlir_opt()
    module.cuda()
