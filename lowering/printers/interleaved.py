"""Printing of a loop that loads the interleaved planes of places, a plane to a row, as a call of a helper on vectors.

Each vector takes four planes of as many places as it has fours; permutations within the fours give a vector of each
plane.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from typing import cast as as_type

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from tilefuse.dialects.constants import integer_constant
from tilefuse.lowering.printers.c_types import UNSIGNED
from tilefuse.lowering.printers.conversions import VECTOR_TYPES
from tilefuse.lowering.printers.function_text import FunctionText
from tilefuse.lowering.printers.helper import Helper
from tilefuse.lowering.printers.memory import address, element

DEINTERLEAVE = "kernel.deinterleave"
"""Attribute of a loop over places that loads adjacent elements of a table and stores each to a row of its own."""
TOGETHER = 4
"""Planes that are loaded at once."""


class _LoopAccesses(NamedTuple):
    """The accesses of a loop."""

    places: memref.LoadOp
    loads: list[memref.LoadOp]
    stores: list[memref.StoreOp]


def print_deinterleave(p: FunctionText, loop: scf.ForOp) -> bool:
    """Print a loop marked `kernel.deinterleave` as a call of its helper; False for other loops."""
    if DEINTERLEAVE not in loop.attributes or (found := _accesses(loop)) is None:
        return False
    store, load, zero = found.stores[0], found.loads[0], loop.lb
    given = (
        address(element(p, store.memref, [store.indices[0], zero], store)).text,
        str(as_type(MemRefType[Any], store.memref.type).get_shape()[-1]),
        address(element(p, load.memref, [zero], load)).text,
        address(element(p, found.places.memref, [zero], found.places)).text,
        str(len(found.loads)),
        p.use(loop.ub).text,
    )
    p.flush_reads()
    p.prelude.require_type("lanes", VECTOR_TYPES)
    p.line(f"{p.library(f'load_planes_{load.res.type}')}({', '.join(given)});")
    return True


def _accesses(loop: scf.ForOp) -> _LoopAccesses | None:
    """Return the accesses of a loop that does nothing else; None for other loops."""
    ops, i = list(loop.body.block.ops), loop.body.block.args[0]
    places = [op for op in ops if isinstance(op, memref.LoadOp) and list(op.indices) == [i]]
    loads = [op for op in ops if isinstance(op, memref.LoadOp) and op not in places]
    stores = [op for op in ops if isinstance(op, memref.StoreOp)]
    others = [op for op in ops if not isinstance(op, memref.LoadOp | memref.StoreOp | scf.YieldOp | arith.ConstantOp)]
    if integer_constant(loop.lb) != 0 or integer_constant(loop.step) != 1 or len(places) != 1 or not loads:
        return None
    if len(stores) != len(loads) or len(loads) % TOGETHER or not all(isinstance(op, arith.AddiOp) for op in others):
        return None
    place = places[0].res
    for number, (load, store) in enumerate(zip(loads, stores, strict=True)):
        right = _offset(load.indices[0], place) == number and len(load.indices) == 1 and store.value is load.res
        right &= load.memref is loads[0].memref and store.memref is stores[0].memref and len(store.indices) == 2
        if not right or integer_constant(store.indices[0]) != number or store.indices[1] is not i:
            return None
    return _LoopAccesses(places[0], loads, stores)


def _offset(index: SSAValue, place: SSAValue) -> int | None:
    """Return the constant that is added to a place."""
    if index is place:
        return 0
    op = index.owner
    return integer_constant(op.rhs) if isinstance(op, arith.AddiOp) and op.lhs is place else None


_NUMBERS = {"f32": ("float", "floats"), "i32": (UNSIGNED[32], "ints")}


def interleaved_helpers() -> dict[str, Helper]:
    """Return the helpers that load `planes` elements at each of `n` places, each to a row of `pitch` elements."""
    return {f"load_planes_{kind}": Helper(_load_planes(kind, *names)) for kind, names in _NUMBERS.items()}


def _load_planes(kind: str, number: str, vector: str) -> str:
    arguments = f"{number}* restrict r, int pitch, const {number}* restrict table, const idx* restrict at, int planes"
    return f"""void load_planes_{kind}({arguments}, int n) {{
  int i = 0;
#if LANES > 1 && (defined(__clang__) || __GNUC__ >= 12)
  for (; i + LANES <= n; i += LANES)
    for (int p = 0; p < planes; p += 4) {{
      typedef {number} fours __attribute__((vector_size(16)));
      {vector} v[4], w[4];
      for (int k = 0; k < 4; ++k) {{
        fours f[LANES / 4];
        for (int j = 0; j < LANES / 4; ++j) __builtin_memcpy(&f[j], table + at[i + 4 * j + k] + p, sizeof f[j]);
#if LANES == 16
        typedef {number} eights __attribute__((vector_size(32)));
        const eights low = __builtin_shufflevector(f[0], f[1], 0, 1, 2, 3, 4, 5, 6, 7);
        const eights high = __builtin_shufflevector(f[2], f[3], 0, 1, 2, 3, 4, 5, 6, 7);
        v[k] = ({vector})__builtin_shufflevector(low, high, {_numbers(range(16))});
#else
        v[k] = ({vector})__builtin_shufflevector(f[0], f[1], 0, 1, 2, 3, 4, 5, 6, 7);
#endif
      }}
#if LANES == 16
{_permutations(16)}
#else
{_permutations(8)}
#endif
      for (int k = 0; k < 4; ++k) __builtin_memcpy(r + (p + k) * pitch + i, &w[k], sizeof w[k]);
    }}
#endif
  for (; i < n; ++i)
    for (int p = 0; p < planes; ++p) r[p * pitch + i] = table[at[i] + p];
}}"""


def _permutations(lanes: int) -> str:
    """Return the transposition of the 4 x 4 elements in each four of four vectors, v to w."""

    def of(first: tuple[int, int, int, int]) -> str:
        return _numbers(n % 4 + lanes * (n // 4) + four for four in range(0, lanes, 4) for n in first)

    low, high, left, right = of((0, 4, 1, 5)), of((2, 6, 3, 7)), of((0, 1, 4, 5)), of((2, 3, 6, 7))
    shuffle = "__builtin_shufflevector"
    mixed = (("a", 0, 1, low), ("b", 2, 3, low), ("c", 0, 1, high), ("d", 2, 3, high))
    lines = [f"const __typeof__(v[0]) {n} = {shuffle}(v[{a}], v[{b}], {order});" for n, a, b, order in mixed]
    pairs = (("a", "b", left), ("a", "b", right), ("c", "d", left), ("c", "d", right))
    lines += [f"w[{k}] = {shuffle}({a}, {b}, {order});" for k, (a, b, order) in enumerate(pairs)]
    return "\n".join("      " + line for line in lines)


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
