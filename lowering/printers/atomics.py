"""Printing of `memref.atomic_rmw` on integers of 32 and 64 bits, in global and in shared memory.

Where the threads of a block run one after the other, as in C, nobody comes between an access to the block's own memory.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.memref_atomics import ATOMIC_KINDS, ATOMIC_WIDTHS, AtomicRMWOp
from tilefuse.lowering.emit import SHARED
from tilefuse.lowering.printers.c_types import SIGNED, UNSIGNED
from tilefuse.lowering.printers.expr import CExpr
from tilefuse.lowering.printers.function_text import FunctionText
from tilefuse.lowering.printers.helper import Helper, alias
from tilefuse.lowering.printers.memory import address, element
from tilefuse.lowering.printers.memrefs import space_of

_CUDA = {
    "addi": "Add", "andi": "And", "assign": "Exch", "maxs": "Max", "maxu": "Max", "mins": "Min", "minu": "Min",
    "ori": "Or", "xori": "Xor",
}  # fmt: skip
_JOINED = {
    "addi": "a + v", "andi": "a & v", "assign": "v", "maxs": "({s})a > ({s})v ? a : v", "maxu": "a > v ? a : v",
    "mins": "({s})a < ({s})v ? a : v", "minu": "a < v ? a : v", "ori": "a | v", "xori": "a ^ v",
}  # fmt: skip
"""Expression that is stored where `a` stood, with `{s}` for the signed type."""
_GCC = {"addi": "fetch_add", "andi": "fetch_and", "assign": "exchange_n", "ori": "fetch_or", "xori": "fetch_xor"}


def cuda_atomics() -> dict[str, Helper]:
    """Return CUDA's atomic functions, with helpers that cast pointers where the operation is signed or unsigned."""
    found: dict[str, Helper] = {}
    for width in ATOMIC_WIDTHS:
        t, s = UNSIGNED[width], SIGNED[width]
        for how, function in _CUDA.items():
            name = f"atomic_{how}_{width}"
            signed = f"return ({t})atomic{function}(reinterpret_cast<{s}*>(p), ({s})v);"
            found[name] = (
                Helper(f"{t} {name}({t}* p, {t} v) {{ {signed} }}") if how.endswith("s") else alias(f"atomic{function}")
            )
    return found


def c_atomics() -> dict[str, Helper]:
    """Return C's atomic helpers: builtins of GCC and Clang, or loops; plain accesses to a block's own memory."""
    found: dict[str, Helper] = {}
    for width in ATOMIC_WIDTHS:
        t = UNSIGNED[width]
        for how in ATOMIC_KINDS:
            head, joined = f"_{how}_{width}({t}* p, {t} v)", _JOINED[how].format(s=SIGNED[width])
            found[f"plain_{how}_{width}"] = Helper(f"{t} plain{head} {{ const {t} a = *p; *p = {joined}; return a; }}")
            if how in _GCC:
                body = f"return __atomic_{_GCC[how]}(p, v, __ATOMIC_ACQ_REL);"
                found[f"atomic_{how}_{width}"] = Helper(f"{t} atomic{head} {{ {body} }}")
                continue
            found[f"atomic_{how}_{width}"] = Helper(
                f"{t} atomic{head} {{\n"
                f"  {t} a = __atomic_load_n(p, __ATOMIC_RELAXED);\n"
                f"  while (!__atomic_compare_exchange_n(p, &a, {joined}, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));\n"
                "  return a;\n"
                "}"
            )
    return found


def print_atomic(p: FunctionText, op: Operation) -> None:
    """Print `atomicAdd(&h[i], v);`, or bind the old value to a variable."""
    assert isinstance(op, AtomicRMWOp)
    assert isinstance(op.memref.type, MemRefType)
    width = op.memref.type.element_type.width.data
    alone = p.language.barrier is None and space_of(op.memref.type) == SHARED
    where, value = address(element(p, op.memref, op.indices, op)), p.converted(op.value)
    p.flush_reads()
    name = p.library(f"{'plain' if alone else 'atomic'}_{op.how}_{width}")
    text = f"{name}({where.text}, {value.text})"
    if p.uses.get(op.result):
        p.set_value(op.result, p.bind(CExpr(text, expr.POSTFIX, UNSIGNED[width]), op.result))
    else:
        p.line(f"{text};")
