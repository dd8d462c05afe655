"""Printing of a loop that only converts elements, between 8 or 16 bits and 32, as a call of a helper on whole vectors.

GCC converts one vector of bytes at a time into four of floats, in six steps for AVX2; processors have an instruction
that loads bytes as one vector of 32-bit numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from typing import cast as as_type

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.analysis.dependence import is_defined_in
from tilefuse.dialects.constants import f32_constant, integer_constant
from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED
from tilefuse.lowering.printers.floats import IN_RANGE
from tilefuse.lowering.printers.function_text import FunctionText
from tilefuse.lowering.printers.helper import Helper
from tilefuse.lowering.printers.memory import address, element

CONVERT = "kernel.convert"
"""Attribute of a loop over some columns that loads, converts and stores one element in each."""

LIMITS = ("arith.minnumf", "arith.maxnumf")
"""Operations that limit a float to the range of an unsigned integer, which is cast then."""


CONVERTED_WIDTHS = (8, 16)
"""Bits of the narrow integers; vectors of wider ones need no helper."""


class _Casts(NamedTuple):
    """A conversion with a helper: operations in order, types before and after, by their names."""

    casts: tuple[str, ...]
    source: str
    result: str


_HELPERS = {
    _Casts(casts, source, result): name
    for width in CONVERTED_WIDTHS
    for casts, source, result, name in (
        (("arith.uitofp",), f"i{width}", "f32", f"widen_u{width}_f32"),
        (("arith.sitofp",), f"i{width}", "f32", f"widen_s{width}_f32"),
        (("arith.extui",), f"i{width}", "i32", f"widen_u{width}_i32"),
        (("arith.extsi",), f"i{width}", "i32", f"widen_s{width}_i32"),
        (("arith.fptosi", "arith.trunci"), "f32", f"i{width}", f"narrow_f32_i{width}"),
        (("arith.trunci",), "i32", f"i{width}", f"narrow_i32_i{width}"),
        ((*LIMITS, "arith.fptosi", "arith.trunci"), "f32", f"i{width}", f"saturate_f32_u{width}"),
    )
}


def print_conversion(p: FunctionText, loop: scf.ForOp) -> bool:
    """Print a loop marked `kernel.convert` as `widen_u8_f32(wide, &in[x], 32);`; False for other loops."""
    if CONVERT not in loop.attributes or (found := _conversion(loop)) is None:
        return False
    name, count, (load, source), (store, target) = found
    source_text = address(element(p, load.memref, source, load)).text
    target_text = address(element(p, store.memref, target, store)).text
    p.flush_reads()
    p.prelude.require_type("lanes", VECTOR_TYPES)
    p.line(f"{p.library(name)}({target_text}, {source_text}, {count});")
    return True


def _conversion(
    loop: scf.ForOp,
) -> tuple[str, int, tuple[memref.LoadOp, list[SSAValue]], tuple[memref.StoreOp, list[SSAValue]]] | None:
    """Return the helper of a loop, its columns, and the load and the store with the indices of the first column.

    None of a loop that does anything else.
    """
    count = integer_constant(loop.ub)
    ops = [op for op in loop.body.block.ops if not isinstance(op, (arith.AddiOp, scf.YieldOp))]
    if integer_constant(loop.lb) != 0 or integer_constant(loop.step) != 1 or count is None or len(ops) < 3:
        return None
    load, *casts, store = ops
    if not isinstance(load, memref.LoadOp) or not isinstance(store, memref.StoreOp):
        return None
    value = load.res
    if any(op.name in LIMITS for op in casts) and not limits(casts[:2], store.value.type):
        return None
    for op in casts:
        if op.operands[0] is not value or (isinstance(op, arith.FPToSIOp) and IN_RANGE not in op.attributes):
            return None
        value = op.results[0]
    row = _Casts(tuple(op.name for op in casts), str(load.res.type), str(store.value.type))
    source, target, name = _first(load, loop), _first(store, loop), _HELPERS.get(row)
    if store.value is not value or source is None or target is None or name is None:
        return None
    return name, count, (load, source), (store, target)


def limits(ops: Sequence[Operation], type: Attribute) -> bool:
    """Whether a minimum and a maximum limit a float to the range of an unsigned integer type."""
    if tuple(op.name for op in ops) != LIMITS or not isinstance(type, IntegerType):
        return False
    low, high = 0.0, 2.0**type.width.data - 1
    return [f32_constant(op.operands[1]) for op in ops] == [high, low]


def _first(access: memref.LoadOp | memref.StoreOp, loop: scf.ForOp) -> list[SSAValue] | None:
    """Return the indices of an access in the first iteration; None unless iterations access neighbours in memory."""
    body, strides = loop.body.block, as_type(MemRefType[Any], access.memref.type).get_strides()
    *others, last = access.indices
    if not strides or strides[-1] != 1 or any(is_defined_in(value, body) for value in (access.memref, *others)):
        return None
    if last is body.args[0]:
        return [*others, loop.lb]
    place = last.owner
    if isinstance(place, arith.AddiOp) and place.rhs is body.args[0] and not is_defined_in(place.lhs, body):
        return [*others, place.lhs]
    return None


VECTOR_TYPES = """#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 1
#endif
typedef int ints __attribute__((vector_size(4 * LANES)));
typedef float floats __attribute__((vector_size(4 * LANES)));"""
"""Types of the helpers: vectors of as many 32-bit numbers as fit a register; compilers are left all else."""

_NUMBERS = {"f32": "float", "i32": UNSIGNED[32]}


def conversion_helpers() -> dict[str, Helper]:
    """Return the helpers of loads as `n` 32-bit numbers, and of stores of `n` such numbers as 8 or 16 bits."""
    found = dict[str, Helper]()
    for width in CONVERTED_WIDTHS:
        for sign in "us":
            found[f"extend_{sign}{width}"] = Helper(_extend(sign, width))
        found[f"truncate_i{width}"] = Helper(_truncate(width))
        for kind, number in _NUMBERS.items():
            for sign in "us":
                name, vector = f"widen_{sign}{width}_{kind}", f"extend_{sign}{width}"
                found[name] = Helper(_widen(name, vector, number, sign, width), (vector,))
            name, vector = f"narrow_{kind}_i{width}", f"truncate_i{width}"
            found[name] = Helper(_narrow(name, vector, number, width), (vector,))
        found[f"limit_u{width}"] = Helper(_limit(width))
        name, needs = f"saturate_f32_u{width}", (f"truncate_i{width}", f"limit_u{width}")
        found[name] = Helper(_narrow(name, needs[0], "float", width, needs[1]), needs)
    return found


def _widen(name: str, vector: str, number: str, sign: str, width: int) -> str:
    floats, a = number == "float", f"{vector}(a + i)"
    return f"""void {name}({number}* restrict r, const {UNSIGNED[width]}* restrict a, int n) {{
  int i = 0;
#if LANES > 1
  for (; i + LANES <= n; i += LANES) {{
    const {"floats" if floats else "ints"} v = {f"__builtin_convertvector({a}, floats)" if floats else a};
    __builtin_memcpy(r + i, &v, sizeof v);
  }}
#endif
  for (; i < n; ++i) r[i] = {"" if sign == "u" else f"({SIGNED[width]})"}a[i];
}}"""


def _narrow(name: str, vector: str, number: str, width: int, limit: str = "") -> str:
    floats, high = number == "float", f"{(1 << width) - 1}.0f"
    value = f"__builtin_convertvector({limit}(v{{0}}), ints)" if floats else "v{0}"
    last = "a[i]"
    if limit:
        last = f"(a[i] > 0.0f ? a[i] < {high} ? a[i] : {high} : a[i] <= 0.0f ? 0.0f : {high})"
    kind = "floats" if floats else "ints"
    return f"""void {name}({UNSIGNED[width]}* restrict r, const {number}* restrict a, int n) {{
  int i = 0;
{_FOUR.format(kind=kind, value=value.format("[k]")) if width == 8 else ""}#if LANES > 1
  for (; i + LANES <= n; i += LANES) {{
    {kind} v;
    __builtin_memcpy(&v, a + i, sizeof v);
    {vector}(r + i, {value.format("")});
  }}
#endif
  for (; i < n; ++i) r[i] = ({UNSIGNED[width]})(int){last};
}}"""


_FOUR = """#if LANES == 8 && !defined(__clang__)
  for (; i + 32 <= n; i += 32) {{
    typedef short shorts __attribute__((vector_size(32)));
    {kind} v[4];
    ints w[4];
    __builtin_memcpy(v, a + i, sizeof v);
    for (int k = 0; k < 4; ++k) w[k] = {value} & 255;
    const shorts x = __builtin_ia32_packusdw256(w[0], w[1]), y = __builtin_ia32_packusdw256(w[2], w[3]);
    const ints z = (ints)__builtin_ia32_packuswb256(x, y);
    const ints b = __builtin_ia32_permvarsi256(z, (ints){{0, 4, 1, 5, 2, 6, 3, 7}});
    __builtin_memcpy(r + i, &b, sizeof b);
  }}
#endif
"""
"""Of AVX2: four vectors become one vector of bytes; its instructions treat the halves of a vector alike."""


def _extend(sign: str, width: int) -> str:
    """Return the helper that loads a vector of integers of 8 or 16 bits as 32-bit integers."""
    of, bytes = {8: "char", 16: "short"}[width], width // 8
    extend = {"u": "zx", "s": "sx"}[sign] + {8: "bd", 16: "wd"}[width]
    load_8 = "  long long b;\n  __builtin_memcpy(&b, a, 8);\n  const narrow c = (narrow)(halves){b, 0};"
    load_16 = "  narrow c;\n  __builtin_memcpy(&c, a, sizeof c);"
    return f"""ints extend_{sign}{width}(const {UNSIGNED[width]}* a) {{
#if defined(__clang__) || LANES == 1
  typedef {(UNSIGNED if sign == "u" else SIGNED)[width]} narrow __attribute__((vector_size({bytes} * LANES)));
{load_16}
  return __builtin_convertvector(c, ints);
#elif LANES == 16
  typedef {of} narrow __attribute__((vector_size({bytes} * LANES)));
{load_16}
  return __builtin_ia32_pmov{extend}512_mask(c, (ints){{0}}, 0xffff);
#else
  typedef {of} narrow __attribute__((vector_size(16)));
  typedef long long halves __attribute__((vector_size(16)));
{load_8 if width == 8 else load_16}
  return __builtin_ia32_pmov{extend}256(c);
#endif
}}"""


def _truncate(width: int) -> str:
    """Return the helper that stores the low 8 or 16 bits of a vector of 32-bit integers."""
    of, bytes, letter = ("char", 1, "b") if width == 8 else ("short", 2, "w")
    last = "const shorts b = x;"
    if width == 8:
        last = "const long long b = ((longs)__builtin_ia32_packuswb128(x, x))[0];"
    return f"""void truncate_i{width}({UNSIGNED[width]}* r, ints v) {{
#if defined(__clang__) || LANES == 1
  typedef {UNSIGNED[width]} narrow __attribute__((vector_size({bytes} * LANES)));
  const narrow b = __builtin_convertvector(v, narrow);
#elif LANES == 16
  typedef {of} narrow __attribute__((vector_size({bytes} * LANES)));
  const narrow b = __builtin_ia32_pmovd{letter}512_mask(v, (narrow){{0}}, 0xffff);
#else
  typedef short shorts __attribute__((vector_size(16)));
  typedef long long longs __attribute__((vector_size(16)));
  const ints w = v & {(1 << width) - 1};
  const shorts x = __builtin_ia32_packusdw128(__builtin_ia32_si_si256(w), __builtin_ia32_vextractf128_si256(w, 1));
  {last}
#endif
  __builtin_memcpy(r, &b, sizeof b);
}}"""


def _limit(width: int) -> str:
    """Return the helper that limits a vector of floats to the range of an unsigned integer; NaN is the upper limit."""
    high = f"{(1 << width) - 1}.0f"
    return f"""floats limit_u{width}(floats v) {{
  const floats high = (floats){{0}} + {high}, low = {{0}};
#if LANES == 16 && !defined(__clang__)
  const floats below = __builtin_ia32_minps512_mask(v, high, low, 0xffff, 4);
  return __builtin_ia32_maxps512_mask(below, low, low, 0xffff, 4);
#elif LANES == 8 && !defined(__clang__)
  return __builtin_ia32_maxps256(__builtin_ia32_minps256(v, high), low);
#else
  const ints is_below = v < high;
  const floats below = (floats)(((ints)v & is_below) | ((ints)high & ~is_below));
  return (floats)((ints)below & (below > low));
#endif
}}"""
