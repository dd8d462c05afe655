"""Printer of the kernel level as CUDA C++ for NVRTC, without headers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType, ModuleOp, VectorType
from xdsl.ir import Operation

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.img.elements import INTEGER_WIDTHS
from tilefuse.dialects.nvvm import GridDepAction
from tilefuse.lowering.printers.async_copies import cuda_copies
from tilefuse.lowering.printers.atomics import cuda_atomics
from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED, byte_size, c_storage_type, lanes, short_name
from tilefuse.lowering.printers.checks import (
    block_threads,
    check_barriers,
    check_static_shared,
    check_threads,
    places_of,
)
from tilefuse.lowering.printers.cuda_vectors import quotients, roots, store_if
from tilefuse.lowering.printers.expr import CExpr
from tilefuse.lowering.printers.helper import Helper, alias
from tilefuse.lowering.printers.language import Language
from tilefuse.lowering.printers.library import COMMON
from tilefuse.lowering.printers.module_printer import ModulePrinter
from tilefuse.lowering.printers.prelude import Prelude
from tilefuse.lowering.printers.vector_types import Vector, broken_lines


def print_cuda(module: ModuleOp, *, index_bits: int = 32, kernel: str | None = None) -> str:
    """Print `module`, or one kernel of it, as one CUDA C++ source; `index_bits` (32 or 64) is the width of `index`.

    Raises PipelineError at an operation that cannot be printed.
    """
    return ModulePrinter(Cuda(), index_bits).print_module(module, kernel)


def _to_int() -> dict[str, Helper]:
    """Convert float to int by a helper: saturating, NaN to 0, which the 64-bit instructions do not give."""
    found: dict[str, Helper] = {}
    for source, t, prefix in (("f32", "float", "__float2"), ("f64", "double", "__double2")):
        for sign, types, kind in (("s", SIGNED, "int"), ("u", UNSIGNED, "uint")):
            word = f"{prefix}{kind}_rz"
            long = f"{prefix}{'ll' if sign == 's' else 'ull'}_rz"
            guard = "" if source == "f32" else "a != a ? 0 : "
            plain = source == "f32"
            found[f"{source}_to_{sign}32"] = (
                alias(word)
                if plain
                else Helper(f"{types[32]} {source}_to_{sign}32({t} a) {{ return {guard}{word}(a); }}")
            )
            found[f"{source}_to_{sign}64"] = Helper(
                f"{types[64]} {source}_to_{sign}64({t} a) {{ return a != a ? 0 : {long}(a); }}"
            )
            for width in [n for n in INTEGER_WIDTHS if n < 32]:
                if plain:
                    found[f"f32_to_{sign}{width}"] = f32_to(types[width], sign, width)
                    continue
                low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if sign == "s" else (0, 2**width - 1)
                inner = f"min(max({word}(a), {low}), {high})" if low else f"min({word}(a), {high}u)"
                found[f"{source}_to_{sign}{width}"] = Helper(
                    f"{types[width]} {source}_to_{sign}{width}({t} a) {{ return {guard}{inner}; }}"
                )
    return found


def f32_to(ctype: str, sign: str, width: int) -> Helper:
    """Convert f32 to a narrow integer by one instruction, which saturates."""
    register, r = ("int", "r") if width == 8 else ("short", "h")
    return Helper(
        f"{ctype} f32_to_{sign}{width}(float a) {{\n"
        f'  {register} n;\n  asm("cvt.rzi.{sign}{width}.f32 %0, %1;" : "={r}"(n) : "f"(a));\n  return n;\n}}'
    )


def _bits() -> dict[str, Helper]:
    found: dict[str, Helper] = {}
    for width in INTEGER_WIDTHS:
        t, wide = UNSIGNED[width], "ll" if width == 64 else ""
        pad = f" - {32 - width}" if width < 32 else ""
        guard = f"a | 0x{1 << width:x}u" if width < 32 else "a"
        found[f"clz_u{width}"] = Helper(f"int clz_u{width}({t} a) {{ return __clz{wide}(a){pad}; }}")
        found[f"ctz_u{width}"] = Helper(f"int ctz_u{width}({t} a) {{ return __clz{wide}(__brev{wide}({guard})); }}")
        found[f"popcount_u{width}"] = Helper(f"int popcount_u{width}({t} a) {{ return __popc{wide}(a); }}")
    return found


_HALF = {
    "f16_to_f32": Helper(
        "float f16_to_f32(unsigned short a) {\n"
        '  float f;\n  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a));\n  return f;\n}'
    ),
    "f32_to_f16": Helper(
        "unsigned short f32_to_f16(float a) {\n"
        '  unsigned short h;\n  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a));\n  return h;\n}'
    ),
    "round_f16_f64": Helper(
        "float round_f16_f64(double a) {\n"
        '  unsigned short h;\n  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(a));\n'
        "  return f16_to_f32(h);\n}",
        ("f16_to_f32",),
    ),
}

_PAIRS = {
    "mul_u16x2": Helper(
        "unsigned int mul_u16x2(unsigned int a, unsigned int b) {\n"
        "  return __byte_perm((a & 0xffffu) * (b & 0xffffu), (a >> 16) * (b >> 16), 0x5410);\n}"
    ),
    "upper_u16x2": Helper(
        "unsigned int upper_u16x2(unsigned int a, unsigned int b) {\n"
        "  return __byte_perm((a & 0xffffu) * (b & 0xffffu), (a >> 16) * (b >> 16), 0x7632);\n}"
    ),
}

# The compiler makes abs.s16 of the usual text, and ptxas (13.0) then takes |-32768| for a positive number, in the
# min.s16 after it for one. abs.s32 of what fits 16 bits has no such case.
_ABS_S16 = Helper(
    'short abs_s16(short a) {\n  int w;\n  asm("abs.s32 %0, %1;" : "=r"(w) : "r"((int)a));\n  return (short)w;\n}'
)

# Of max(min(a, b), 0) == b ptxas (12.9 and 13.0, for sm_90) takes the predicate of its combined minimum, which says the
# contrary; nor would it help to compare other than by `==`, as the compiler makes that of it.
_BITS_APART = Helper(
    "unsigned int bits_apart(unsigned int a, unsigned int b) {\n"
    '  unsigned int d;\n  asm("xor.b32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));\n  return d;\n}'
)


# Of 16 bits the compiler calls a function, one point of a thread after the other. The float quotient of a + 1/2 is at
# least 1 / 2b away from the next integer, and wrong by less than 2^16 / b * 2^-22. Integers below 2^23 become floats,
# and floats integers, by adding 2^23. b is not 0.
SHORT_DIVISION = {
    "div_u16": Helper(
        "int div_u16(int a, int b) {\n"
        "  const float x = __uint_as_float(0x4b000000u | (unsigned int)a) - 8388607.5f;\n"
        "  const float y = __uint_as_float(0x4b000000u | (unsigned int)b) - 8388608.0f;\n"
        '  float r;\n  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(y));\n'
        "  return (int)(__float_as_uint(__fadd_rz(__fmul_rn(x, r), 8388608.0f)) & 0x7fffffu);\n}"
    ),
    "rem_u16": Helper("int rem_u16(int a, int b) { return a - div_u16(a, b) * b; }", ("div_u16",)),
    "div_s16": Helper(
        "int div_s16(int a, int b) {\n  const int q = div_u16(abs(a), abs(b));\n  return (a ^ b) < 0 ? -q : q;\n}",
        ("div_u16",),
    ),
    "rem_s16": Helper(
        "int rem_s16(int a, int b) {\n  const int r = rem_u16(abs(a), abs(b));\n  return a < 0 ? -r : r;\n}",
        ("rem_u16",),
    ),
}


_QUOTIENT = quotients("f32", "float", [""])


# `__fsqrt_rn` asks number by number whether its short path is right, and branches. Without branches the roots of a
# thread's points overlap: what is small is multiplied by 2^64 first (see `roots`).
ROOT = Helper(
    "float sqrt_f32(float a) {\n"
    "  const bool small = a < 0x1p-64f;\n"
    "  const float b = small ? __fmul_rn(a, 0x1p64f) : a;\n"
    "  float y, s;\n"
    '  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));\n'
    '  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(s) : "f"(b), "f"(y));\n'
    "  const float r = __fmaf_rn(__fmaf_rn(-s, s, b), __fmul_rn(0.5f, y), s);\n"
    "  return a == 0.0f || a == __int_as_float(0x7f800000) ? a : small ? __fmul_rn(r, 0x1p-32f) : r;\n}"
)


def _griddepcontrol(action: GridDepAction, clobber: str = "") -> Helper:
    # a kernel that is not launched to start early goes on at once
    instruction = f'asm volatile("griddepcontrol.{action};"{clobber});'
    return Helper(f"void griddepcontrol_{action}() {{\n  #if __CUDA_ARCH__ >= 900\n  {instruction}\n  #endif\n}}")


# What is only read, and __restrict__, nobody writes while the kernel runs: so the compiler reads it, and makes
# ld.global.nc of its loads, which need not wait. But the kernel before wrote there while this one ran already.
_WRITTEN_MEANWHILE = Helper(
    "void written_meanwhile(const void* p) {\n"
    '  #if __CUDA_ARCH__ >= 900\n  asm volatile("" :: "l"(p) : "memory");\n  #endif\n}'
)


def nan_propagating(name: str) -> Helper:
    """Return minimum or maximum of f32, NaN if an operand is: one instruction from sm_80 on."""
    return Helper(
        f"float {name}imum_f32(float a, float b) {{\n"
        "  #if __CUDA_ARCH__ >= 800\n"
        f'  float m;\n  asm("{name}.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));\n  return m;\n'
        "  #else\n"
        f"  return a != a ? a : b != b ? b : f{name}f(a, b);\n"
        "  #endif\n}"
    )


def _prefetch(level: str, access: str = "") -> Helper:
    instruction = f'asm volatile("prefetch.global.{level} [%0];" :: "l"(p));'
    return Helper(f"void prefetch_{access}{level.lower()}(const void* p) {{ {instruction} }}")


_LIBRARY: dict[str, Helper] = {
    **COMMON,
    "abs_s16": _ABS_S16,
    "bits_apart": _BITS_APART,
    **_to_int(),
    **_bits(),
    **_HALF,
    **_PAIRS,
    **SHORT_DIVISION,
    **{f"{name}_f32": h._replace(needs=tuple(f"{n}_f32" for n in h.needs)) for name, h in _QUOTIENT.items()},
    **cuda_copies(),
    **cuda_atomics(),
    f"griddepcontrol_{GridDepAction.LaunchDependents}": _griddepcontrol(GridDepAction.LaunchDependents),
    # Nothing is read or written before it: the clobber keeps accesses below.
    f"griddepcontrol_{GridDepAction.Wait}": _griddepcontrol(GridDepAction.Wait, ' ::: "memory"'),
    "written_meanwhile": _WRITTEN_MEANWHILE,
    "prefetch_l1": _prefetch("L1"),
    "prefetch_l2": _prefetch("L2"),
    "prefetch_write_l1": _prefetch("L1", "write_"),
    "prefetch_write_l2": _prefetch("L2", "write_"),
    # Never contracted, whatever the options of the compiler.
    **{
        f"strict_{kind}_{short}": alias(f"__{letter}{kind}_rn")
        for kind in ("add", "sub", "mul")
        for short, letter in (("f32", "f"), ("f64", "d"))
    },
    "sqrt_f32": ROOT,
    "minnum_f32": alias("fminf"),
    "maxnum_f32": alias("fmaxf"),
    "minnum_f64": alias("fmin"),
    "maxnum_f64": alias("fmax"),
    # minimum and maximum call these by their aliases.
    **{
        f"{name}imum_f64": Helper(COMMON[f"{name}imum_f64"].text.replace(f"{name}num_f64", f"f{name}"))
        for name in ("min", "max")
    },
    **{f"{name}imum_f32": nan_propagating(name) for name in ("min", "max")},
    "bitcast_f32_u32": alias("__float_as_uint"),
    "bitcast_u32_f32": alias("__uint_as_float"),
    "bitcast_f64_u64": Helper(
        "unsigned long long bitcast_f64_u64(double a) { return (unsigned long long)__double_as_longlong(a); }"
    ),
    "bitcast_u64_f64": Helper(
        "double bitcast_u64_f64(unsigned long long a) { return __longlong_as_double((long long)a); }"
    ),
}
# Text of helpers that call the two aliases above by name.
for _name, _helper in COMMON.items():
    if {"bitcast_f32_u32", "bitcast_u32_f32"}.intersection(_helper.needs):
        _text = _helper.text.replace("bitcast_f32_u32", "__float_as_uint")
        _LIBRARY[_name] = Helper(_text.replace("bitcast_u32_f32", "__uint_as_float"), _helper.needs)

_BUILTIN_VECTORS = {
    ("float", 2): "float2",
    ("float", 4): "float4",
    ("unsigned int", 2): "uint2",
    ("unsigned int", 4): "uint4",
    ("double", 2): "double2",
    ("unsigned long long", 2): "ulonglong2",
}
_WORDS = {2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"}


class Cuda(Language):
    """The language CUDA C++ for NVRTC."""

    name = "CUDA"
    helper_qualifier = "static __device__ __forceinline__"
    rare_qualifier = "static __device__ __noinline__"
    inline_qualifier = "static __device__ __forceinline__"
    shared_qualifier = "__shared__ __align__(16) "
    shared_suffix = ""
    aligned_qualifier = "__align__(16) "
    barrier = "__syncthreads();"
    fence = "__threadfence();"
    shuffle = "__shfl"
    pairs = True
    wide_registers = True
    kernels_overlap = True
    library = _LIBRARY

    def head(self, includes: set[str]) -> list[str]:
        """Return nothing: NVRTC declares the functions of math.h itself."""
        return []

    def kernel_qualifier(self, function: func.FuncOp) -> str:
        """Return `extern "C" __global__ void __launch_bounds__(256)`."""
        bounds = str(prod(block_threads(function)))
        if isinstance(blocks := function.attributes.get("kernel.min_blocks"), IntegerAttr):
            bounds += f", {blocks.value.data}"
        return f'extern "C" __global__ void __launch_bounds__({bounds})'

    def check(self, function: func.FuncOp, functions: dict[str, func.FuncOp]) -> None:
        """Check that thread loops match the block and static shared memory fits."""
        places = places_of(function, functions)
        check_barriers(places)
        check_threads(function, places)
        check_static_shared(function, places)

    def hardware_index(self, level: str) -> str | None:
        """Return `blockIdx.x`, `threadIdx.y` and so on."""
        unit, _, axis = level.partition("_")
        return f"{unit}Idx.{axis}"

    def loop_pragmas(self, loop: scf.ForOp, counts: Sequence[CExpr], factors: Sequence[CExpr]) -> list[str]:
        """Return `#pragma unroll`, with the factor of `kernel.unroll` if it has one."""
        unroll = loop.attributes.get("kernel.unroll")
        if unroll is None:
            return []
        return [f"#pragma unroll {unroll.value.data}" if isinstance(unroll, IntegerAttr) else "#pragma unroll"]

    def math(self, function: str) -> str:
        """Return the C library's function; of square roots the variant that rounds correctly."""
        return {"sqrtf": "__fsqrt_rn", "sqrt": "__dsqrt_rn"}.get(function, function)

    def rsqrt(self, prelude: Prelude, a: CExpr, ctype: str) -> CExpr:
        """Return `rsqrtf(a)`."""
        return expr.call("rsqrt" if ctype == "double" else "rsqrtf", (a,), ctype)

    def opaque(self, prelude: Prelude, argument: str, version: int) -> str:
        """Pass an argument through an instruction unique to the call, so that the compiler cannot merge the calls."""
        register = "r" if prelude.index_bits == 32 else "l"
        text = f"""idx opaque(idx a, int version) {{
  asm volatile("// version %1" : "+{register}"(a) : "r"(version));
  return a;
}}"""
        prelude.require("opaque", Helper(text))
        return f"opaque({argument}, {version})"

    def dynamic_shared(self, name: str, type_: MemRefType, op: Operation) -> str:
        """Declare the block's dynamic shared memory, whose size the launch sets."""
        return f"extern __shared__ __align__(16) unsigned char {name}[];"

    def vector(self, type_: VectorType, op: Operation) -> Vector:
        """Return `float4` and similar; elements below 32 bits are packed in 32-bit words."""
        n, element, short = lanes(type_, op, 16), type_.element_type, short_name(type_, op)
        t, size = c_storage_type(element, op), byte_size(element, op)
        params, values = [f"{t} a{i}" for i in range(n)], [f"a{i}" for i in range(n)]
        words: tuple[str, ...] = ()
        more: dict[str, Helper] = {}
        if n == 1 and (t == "float" or size == 8):  # an element by itself
            ctype, make, splat = t, " return a0; }", " return a; }"
            lane: tuple[str, ...] = ("{}",)
        elif builtin := _BUILTIN_VECTORS.get((t, n)):
            ctype, lane = builtin, tuple(f"{{}}.{c}" for c in "xyzw"[:n])
            make = f" return make_{builtin}({', '.join(values)}); }}"
            splat = f" return make_{builtin}({', '.join(['a'] * n)}); }}"
        else:
            ctype, per_word = _WORDS[size * n], 4 // size
            words = ("{}",) if size * n <= 4 else tuple(f"{{}}.{c}" for c in "xyzw"[: size * n // 4])
            # of the elements of whole words that may wrap, only the low ends of their registers are theirs
            low_ends = isinstance(element, IntegerType) and element.width.data > 1 and size * n >= 4 and n > 1
            lane = tuple(_lane(words[i // per_word], t, 8 * size * (i % per_word), low_ends) for i in range(n))
            groups = [values[first : first + per_word] for first in range(0, n, per_word)]
            placed = [" | ".join(_placed(a, 8 * size * i) for i, a in enumerate(group)) for group in groups]
            make = f"\n  return {_of_words(ctype, placed)};\n}}"
            if low_ends:
                head = broken_lines(f"{ctype} join_{short}(", [f"unsigned int {value}" for value in values], ") {")
                joined = [_joined(group, size) for group in groups]
                more["join"] = Helper(f"{head}\n  return {_of_words(ctype, joined)};\n}}")
            factor = {1: "0x01010101u", 2: "0x10001u", 4: "1u"}[size]
            word = _of_words(ctype, ["w"] * len(groups))
            splat = f"\n  const unsigned int w = a * {factor};\n  return {word};\n}}"
        load = f"return *reinterpret_cast<const {ctype}*>(p);"
        store = f"*reinterpret_cast<{ctype}*>(p) = v;"
        helpers = {
            "type": Helper(""),
            "load": Helper(f"{ctype} load_{short}(const {t}* p) {{ {load} }}"),
            "store": Helper(f"void store_{short}({t}* p, {ctype} v) {{ {store} }}"),
            "make": Helper(broken_lines(f"{ctype} make_{short}(", params, ") {") + make),
            "splat": Helper(f"{ctype} splat_{short}({t} a) {{{splat}"),
        }
        more["store_if"] = store_if(short, t, ctype)
        if t in ("float", "double") and n > 1:
            more |= roots(short, t, ctype, n)
        if t == "float" and n > 1:
            more |= quotients(short, ctype, [f".{c}" for c in "xyzw"[:n]])
        integers = words if isinstance(element, IntegerType) else ()
        return Vector(ctype, element, lane, helpers | more, short, integers)


def _of_words(ctype: str, words: Sequence[str]) -> str:
    """Return a vector of words."""
    return words[0] if len(words) == 1 else f"make_{ctype}({', '.join(words)})"


def _lane(word: str, ctype: str, shift: int, low_ends: bool) -> str:
    """Extract an element of a word; the first one is the word itself if the upper bits of registers are ignored."""
    if shift:
        return f"({ctype})({word} >> {shift})"
    return word if low_ends or ctype == "unsigned int" else f"({ctype}){word}"


def _placed(element: str, shift: int) -> str:
    """Shift an element to its place in a word."""
    return f"(unsigned int){element} << {shift}" if shift else f"(unsigned int){element}"


def _joined(elements: Sequence[str], size: int) -> str:
    """Join elements of `size` bytes, in the low ends of registers, to a word by byte permutations."""
    if len(elements) == 1:
        return elements[0]
    half = len(elements) // 2
    low, high = _joined(elements[:half], size), _joined(elements[half:], size)
    # of two bytes joined, the lower half of the result is read and the upper one is anything
    return f"__byte_perm({low}, {high}, 0x{'5410' if size * half == 2 else '0040'})"
