"""Printer of the kernel level as C11 with OpenMP: block loops run in parallel, thread loops are plain loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr, VectorType
from xdsl.ir import Operation

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.img.elements import INTEGER_WIDTHS
from tilefuse.lowering.printers.async_copies import c_copies
from tilefuse.lowering.printers.atomics import c_atomics
from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED, byte_size, c_storage_type, lanes, short_name
from tilefuse.lowering.printers.checks import check_barriers, places_of, read_parallel_threshold
from tilefuse.lowering.printers.conversions import CONVERT, conversion_helpers
from tilefuse.lowering.printers.expr import MUL, CExpr
from tilefuse.lowering.printers.helper import Helper
from tilefuse.lowering.printers.interleaved import interleaved_helpers
from tilefuse.lowering.printers.language import Language
from tilefuse.lowering.printers.library import COMMON
from tilefuse.lowering.printers.memrefs import memref_bytes
from tilefuse.lowering.printers.module_printer import ModulePrinter
from tilefuse.lowering.printers.prelude import Prelude
from tilefuse.lowering.printers.vector_functions import VECTOR_FUNCTIONS
from tilefuse.lowering.printers.vector_types import Vector, broken_lines


def print_c(module: ModuleOp, *, index_bits: int = 32) -> str:
    """Print all functions of `module` as one C source; `index_bits` (32 or 64) is the width of `index`.

    Raises PipelineError at an operation that cannot be printed.
    """
    return ModulePrinter(C(), index_bits).print_module(module)


def _to_int() -> dict[str, Helper]:
    """Convert float to int by a helper: saturating, NaN to 0, branch-free so that loops vectorise.

    C leaves conversions out of range undefined, so the float is clamped first, to what fits.
    """
    found: dict[str, Helper] = {}
    for source, t, digits, f in (("f32", "float", 24, "f"), ("f64", "double", 53, "")):
        for sign, types in (("s", SIGNED), ("u", UNSIGNED)):
            for width in INTEGER_WIDTHS:
                magnitude = width - 1 if sign == "s" else width
                low = -(2**magnitude) if sign == "s" else 0
                high = 2**magnitude - (1 if magnitude <= digits else 2 ** (magnitude - digits))
                result = types[width]
                lines = [
                    f"{result} {source}_to_{sign}{width}({t} a) {{",
                    # A NaN compares false, and becomes the lower bound.
                    f"  const {t} above = a > {low}.0{f} ? a : {low}.0{f};",
                    f"  const {t} inside = above < {high}.0{f} ? above : {high}.0{f};",
                ]
                value = f"({result})inside"
                if magnitude > digits:
                    most = f"{2**magnitude - 1}" + (
                        "ull" if (sign, width) == ("u", 64) else "ll" if width == 64 else "u"
                    )
                    value = f"a >= {2**magnitude}.0{f} ? ({result}){most} : {value}"
                if sign == "s":
                    value = f"a == a ? {f'({value})' if '?' in value else value} : 0"
                found[f"{source}_to_{sign}{width}"] = Helper("\n".join([*lines, f"  return {value};", "}"]))
    return found


def _extrema() -> dict[str, Helper]:
    """Return helpers of minnum and maxnum, which prefer a number to NaN; under TILEFUSE_STRICT -0 < +0, as on GPUs."""
    found: dict[str, Helper] = {}
    for short, t, u in (("f32", "float", "u32"), ("f64", "double", "u64")):
        to, back = f"bitcast_{short}_{u}", f"bitcast_{u}_{short}"
        for name, less, merge in (("min", "<", "|"), ("max", ">", "&")):
            found[f"{name}num_{short}"] = Helper(
                f"{t} {name}num_{short}({t} a, {t} b) {{\n"
                "#ifdef TILEFUSE_STRICT\n"
                f"  const {t} same = {back}({to}(a) {merge} {to}(b));\n"
                f"  return a == b ? same : (a {less} b) | (b != b) ? a : b;\n"
                "#else\n"
                f"  const {t} one = a {less} b ? a : b;\n"
                "  return b != b ? a : one;\n"
                "#endif\n"
                "}",
                (to, back),
            )
            plain = f"{name}num_plain_{short}"
            found[plain] = Helper(
                f"{t} {plain}({t} a, {t} b) {{\n"
                "#ifdef TILEFUSE_STRICT\n"
                f"  const {t} same = {back}({to}(a) {merge} {to}(b));\n"
                f"  return a == b ? same : a {less} b ? a : b;\n"
                "#else\n"
                f"  return a {less} b ? a : b;\n"
                "#endif\n"
                "}",
                (to, back),
            )
            # a number that is known leaves one comparison; of zeros only the one that another may beat asks for more
            for zero, sign in (("", less), ("0", f"{less}=")):
                known = f"{name}num_by{zero}_{short}"
                found[known] = Helper(f"{t} {known}({t} a, {t} b) {{ return a {sign} b ? a : b; }}")
                # NaN beats a number that is known
                known = f"{name}imum_by{zero}_{short}"
                found[known] = Helper(f"{t} {known}({t} a, {t} b) {{ return b {sign} a ? b : a; }}")
    return found


def _bitcasts() -> dict[str, Helper]:
    found: dict[str, Helper] = {}
    for short, t, u in (("f32", "float", UNSIGNED[32]), ("f64", "double", UNSIGNED[64])):
        bits = f"u{32 if short == 'f32' else 64}"
        for name, source, result in ((f"bitcast_{short}_{bits}", t, u), (f"bitcast_{bits}_{short}", u, t)):
            found[name] = Helper(
                f"{result} {name}({source} a) {{ {result} b; __builtin_memcpy(&b, &a, sizeof b); return b; }}"
            )
    return found


def _bits() -> dict[str, Helper]:
    found: dict[str, Helper] = {}
    for width in INTEGER_WIDTHS:
        t, ll = UNSIGNED[width], "ll" if width == 64 else ""
        pad = f" - {32 - width}" if width < 32 else ""
        found[f"clz_u{width}"] = Helper(
            f"int clz_u{width}({t} a) {{ return a ? __builtin_clz{ll}(a){pad} : {width}; }}"
        )
        found[f"ctz_u{width}"] = Helper(f"int ctz_u{width}({t} a) {{ return a ? __builtin_ctz{ll}(a) : {width}; }}")
        found[f"popcount_u{width}"] = Helper(f"int popcount_u{width}({t} a) {{ return __builtin_popcount{ll}(a); }}")
    return found


def _words() -> dict[str, Helper]:
    """Return helpers that move several narrow numbers as one word, from and to any address."""
    found: dict[str, Helper] = {}
    for width in INTEGER_WIDTHS[1:]:
        t, copy = UNSIGNED[width], "__builtin_memcpy"
        found[f"load_u{width}"] = Helper(
            f"{t} load_u{width}(const void* p) {{ {t} v; {copy}(&v, p, sizeof v); return v; }}"
        )
        found[f"store_u{width}"] = Helper(f"void store_u{width}(void* p, {t} v) {{ {copy}(p, &v, sizeof v); }}")
    return found


_UPPER_U16 = (
    "unsigned short upper_u16(unsigned short a, unsigned short b) { return (unsigned short)((unsigned)a * b >> 16); }"
)

_STREAM_LINE = """void stream_line(void* p, const void* from) {
#if defined(__clang__) || defined(__x86_64__)
  if (((unsigned long long)p & 63) == 0) {
#if defined(__clang__)
    typedef long long line __attribute__((vector_size(64)));
    line a;
    __builtin_memcpy(&a, from, 64);
    __builtin_nontemporal_store(a, (line*)p);
#elif defined(__AVX512F__)
    typedef long long line __attribute__((vector_size(64)));
    line a;
    __builtin_memcpy(&a, from, 64);
    __builtin_ia32_movntdq512((line*)p, a);
#else
    typedef long long part __attribute__((vector_size(16)));
    part a[4];
    __builtin_memcpy(a, from, 64);
    for (int i = 0; i < 4; ++i) __builtin_ia32_movntdq((part*)p + i, a[i]);
#endif
    return;
  }
#endif
  __builtin_memcpy(p, from, 64);
}"""
"""To memory past the caches, where a line begins; anywhere else as any store."""

_WRITE = """static void (*tilefuse_writer)(const char*);
void tilefuse_set_write(void (*writer)(const char*)) { tilefuse_writer = writer; }
static void tilefuse_write(const char* line) {
  if (tilefuse_writer) tilefuse_writer(line);
  else fputs(line, stdout);
}"""

_HIDE = """#ifdef __clang__
#define hide(p)
#else
#define hide(p) __asm__("" : "+r"(p))
#endif"""

_HALF_BY_BITS = "#if defined(__x86_64__) && !defined(__clang__)"
"""Condition for conversions of f16 by arithmetic on bits: GCC on x86 vectorises these, but no other conversions."""

_HALF = {
    # with exponent 0 it is added to 0.5, whose last bit as a float is that of a half; else its exponent is moved
    "f16_to_f32": Helper(
        "float f16_to_f32(unsigned short a) {\n"
        f"{_HALF_BY_BITS}\n"
        "  const unsigned int size = a & 0x7fffu;\n"
        "  const unsigned int large = bitcast_f32_u32(bitcast_u32_f32((size << 13) + 0x70000000u) * 0x1p-112f);\n"
        "  const unsigned int small = bitcast_f32_u32(bitcast_u32_f32(size | 0x3f000000u) - 0.5f);\n"
        "  return bitcast_u32_f32((a & 0x8000u) << 16 | (size < 0x400u ? small : large));\n"
        "#else\n"
        "  _Float16 h;\n  __builtin_memcpy(&h, &a, 2);\n  return (float)h;\n"
        "#endif\n}",
        ("bitcast_f32_u32", "bitcast_u32_f32"),
    ),
    # a power of two is added whose unit is the last bit of the half, so that the sum is rounded there
    "f32_to_f16": Helper(
        "unsigned short f32_to_f16(float a) {\n"
        f"{_HALF_BY_BITS}\n"
        "  const unsigned int bits = bitcast_f32_u32(a), size = bits & 0x7fffffffu, power = size & 0x7f800000u;\n"
        "  const float unit = bitcast_u32_f32((power < 0x38800000u ? 0x38800000u : power) + 0x7800000u);\n"
        "  const unsigned int sum = bitcast_f32_u32(bitcast_u32_f32(size) * 0x1p112f * 0x1p-110f + unit);\n"
        "  const unsigned int half = (sum >> 13 & 0x7c00u) + (sum & 0xfffu);\n"
        "  return (unsigned short)((bits >> 16 & 0x8000u) | (size > 0x7f800000u ? 0x7e00u : half));\n"
        "#else\n"
        "  const _Float16 h = (_Float16)a;\n  unsigned short b;\n  __builtin_memcpy(&b, &h, 2);\n  return b;\n"
        "#endif\n}",
        ("bitcast_f32_u32", "bitcast_u32_f32"),
    ),
    "round_f16_f64": Helper("float round_f16_f64(double a) { return (float)(_Float16)a; }"),
}


def _prefetch(name: str, arguments: str) -> Helper:
    """Return the helper of a prefetch; `arguments`: 1 before a write else 0, and the locality."""
    return Helper(f"void {name}(const void* p) {{ __builtin_prefetch(p, {arguments}); }}")


class C(Language):
    """The language C11 with OpenMP and the vectors of GCC and Clang."""

    name = "C"
    helper_qualifier = "static inline"
    rare_qualifier = "static"
    inline_qualifier = "static inline __attribute__((always_inline))"
    shared_qualifier = ""
    shared_suffix = " __attribute__((aligned(64)))"
    aligned_qualifier = ""
    barrier = None
    fence = "__atomic_thread_fence(__ATOMIC_SEQ_CST);"
    shuffle = None
    computes_vectors = True
    converts_vectors = True
    library: ClassVar[dict[str, Helper]] = {
        **COMMON,
        **_to_int(),
        **_extrema(),
        **_bitcasts(),
        **_bits(),
        **_words(),
        **_HALF,
        **conversion_helpers(),
        **interleaved_helpers(),
        **VECTOR_FUNCTIONS,
        **c_copies(),
        **c_atomics(),
        "stream_line": Helper(_STREAM_LINE),
        "upper_u16": Helper(_UPPER_U16),
        "prefetch_l1": _prefetch("prefetch_l1", "0, 3"),
        "prefetch_l2": _prefetch("prefetch_l2", "0, 2"),
        "prefetch_write_l1": _prefetch("prefetch_write_l1", "1, 3"),
        "prefetch_write_l2": _prefetch("prefetch_write_l2", "1, 2"),
    }

    def head(self, includes: set[str]) -> list[str]:
        """Return `#include <math.h>` and `<stdbool.h>`."""
        return [f"#include <{name}>" for name in sorted({"stdbool.h", *includes})]

    def kernel_qualifier(self, function: func.FuncOp) -> str:
        """Return the qualifiers of an exported function."""
        return "void"

    def check(self, function: func.FuncOp, functions: dict[str, func.FuncOp]) -> None:
        """Raise PipelineError for barriers that serial execution of threads cannot honour."""
        check_barriers(places_of(function, functions))

    def hardware_index(self, level: str) -> str | None:
        """Return None: every loop is printed as a loop."""
        return None

    def shared_out(self, loop: scf.ForOp) -> list[scf.ForOp]:
        """Return the outermost block loop and the loops that OpenMP collapses with it."""
        return _perfect_nest(loop) if _is_block_loop(loop) and not _inside_block_loop(loop) else []

    def loop_pragmas(self, loop: scf.ForOp, counts: Sequence[CExpr], factors: Sequence[CExpr]) -> list[str]:
        """Return the pragmas of a loop: OpenMP's on the outermost block loop; simd; unrolling."""
        if counts:
            collapse = f" collapse({len(counts)})" if len(counts) > 1 else ""
            function = _function_of(loop)
            kind = "dynamic" if function is not None and "kernel.dynamic_schedule" in function.attributes else "static"
            # threads cost more than little work
            shared = " && ".join([f"{_product(counts)} >= 2", *_enough_work(function, factors)])
            return [f"#pragma omp parallel for{collapse} schedule({kind}) if({shared})"]
        # `omp simd` must stand right in front of the loop, and unrolls by itself.
        if "kernel.simd" in loop.attributes or CONVERT in loop.attributes:
            return ["#pragma omp simd"]
        if (unroll := loop.attributes.get("kernel.unroll")) is None:
            return []
        return [f"#pragma GCC unroll {unroll.value.data if isinstance(unroll, IntegerAttr) else 64}"]

    def math(self, function: str) -> str:
        """Return the name of the function in math.h."""
        return function

    def rsqrt(self, prelude: Prelude, a: CExpr, ctype: str) -> CExpr:
        """Return `1.0f / sqrtf(a)`: C has no rsqrt."""
        prelude.includes.add("math.h")
        double = ctype == "double"
        one = CExpr("1.0" if double else "1.0f", expr.PRIMARY, ctype)
        return expr.c_binary(one, "/", expr.call(self.math("sqrt" if double else "sqrtf"), (a,), ctype), MUL, ctype)

    def print_line(self, prelude: Prelude, arguments: Sequence[str], longest: int) -> str:
        """Print a line through a hook that the runtime may set to reach Python's output; else by printf."""
        prelude.includes.add("stdio.h")
        prelude.require_type("tilefuse_write", _WRITE)
        text = ", ".join(arguments)
        return f"{{ char line[{longest}]; snprintf(line, sizeof line, {text}); tilefuse_write(line); }}"

    def hide(self, prelude: Prelude, pointer: str) -> str:
        """Print `hide(row);`: without it GCC keeps an address register per element of an array on the stack."""
        prelude.require_type("hide", _HIDE)
        return f" hide({pointer});"

    def dynamic_shared(self, name: str, type_: MemRefType, op: Operation) -> str:
        """Declare memory that lives as long as the thread that runs the block: it may be too large for a stack."""
        return f"static _Thread_local unsigned char {name}[{memref_bytes(type_, op)}] __attribute__((aligned(64)));"

    def vector(self, type_: VectorType, op: Operation) -> Vector:
        """Return a vector type of GCC and Clang; memcpy moves it, so addresses need no alignment."""
        n, short = lanes(type_, op), short_name(type_, op)
        t = c_storage_type(type_.element_type, op)
        if n == 1:  # a number: what loops compute with must be no vector, for compilers to make vectors of it
            return Vector(t, type_.element_type, ("{}",), {"type": Helper("")}, short)
        size = byte_size(type_.element_type, op) * n
        params, values = [f"{t} a{i}" for i in range(n)], [f"a{i}" for i in range(n)]
        copy = "__builtin_memcpy"
        make = broken_lines(f"  return ({short}){{", values, "};\n}")
        splat = broken_lines(f"  return ({short}){{", ["a"] * n, "};\n}")
        helpers = {
            "type": Helper(f"typedef {t} {short} __attribute__((vector_size({size})));"),
            "load": Helper(f"{short} load_{short}(const {t}* p) {{ {short} v; {copy}(&v, p, sizeof v); return v; }}"),
            "store": Helper(f"void store_{short}({t}* p, {short} v) {{ {copy}(p, &v, sizeof v); }}"),
            "make": Helper(broken_lines(f"{short} make_{short}(", params, ") {") + "\n" + make),
            "splat": Helper(f"{short} splat_{short}({t} a) {{\n{splat}"),
        }
        if t in ("float", "double"):
            root = "sqrtf" if t == "float" else "sqrt"
            roots = broken_lines(f"  return ({short}){{", [f"{root}(a[{i}])" for i in range(n)], "};\n}")
            helpers["sqrt"] = Helper(f"{short} sqrt_{short}({short} a) {{\n{roots}")
        return Vector(short, type_.element_type, tuple(f"{{}}[{i}]" for i in range(n)), helpers, short)


def _is_block_loop(op: Operation | None) -> bool:
    if not isinstance(op, scf.ForOp):
        return False
    level = op.attributes.get("kernel.level")
    return isinstance(level, StringAttr) and level.data.startswith("block_")


def _inside_block_loop(op: Operation) -> bool:
    parent = op.parent_op()
    return parent is not None and (_is_block_loop(parent) or _inside_block_loop(parent))


def _function_of(op: Operation | None) -> func.FuncOp | None:
    while op is not None and not isinstance(op, func.FuncOp):
        op = op.parent_op()
    return op


def _product(factors: Sequence[CExpr]) -> str:
    return " * ".join(n.wrapped(MUL) for n in factors)


def _enough_work(function: func.FuncOp | None, factors: Sequence[CExpr]) -> list[str]:
    """Return the condition of the least work for which a kernel uses several threads; empty if it always does."""
    threshold = read_parallel_threshold(function)
    if threshold is None or threshold.least < 2:
        return []
    # extents of one array have a product that fits; times those of a domain they may not
    several = len({number for number, _ in threshold.factors}) > 1
    return [f"{'(double)' if several else ''}{_product(factors) or 1} >= {threshold.least}"]


def _perfect_nest(loop: scf.ForOp) -> list[scf.ForOp]:
    """Return the perfectly nested block loops whose bounds are defined outside all of them."""
    outer = [loop]
    while True:
        inner = [op for op in outer[-1].body.block.ops if not isinstance(op, (arith.ConstantOp, scf.YieldOp))]
        if len(inner) != 1 or not _is_block_loop(inner[0]) or "kernel.comment" in inner[0].attributes:
            return outer
        [nested] = inner
        assert isinstance(nested, scf.ForOp)
        for bound in (nested.lb, nested.ub, nested.step):
            inside = any(bound.owner is o.body.block or bound.owner in o.body.block.ops for o in outer)
            if inside and not isinstance(bound.owner, arith.ConstantOp):
                return outer
        outer.append(nested)
