"""CUDA helpers that take more than a line: predicated stores of vectors, square roots and quotients of all lanes."""

from __future__ import annotations

from collections.abc import Sequence

from tilefuse.lowering.printers.helper import Helper

_REGISTERS = {"float": ("f", "f32"), "double": ("d", "f64"), "unsigned long long": ("l", "b64")}
"""Per type of an element in a vector of several words: the letter of asm, the type in PTX."""
_SMALL = {"unsigned short": ("h", "b16"), "unsigned int": ("r", "b32")}
"""Per type of a vector of one word: the letter of asm, the type in PTX."""


def store_if(short: str, element: str, ctype: str) -> Helper:
    """Return the helper of a predicated store.

    Not a branch: the compiler would move into it all that only the store needs, and compute the address anew in each.
    """
    if ctype == element and element in _REGISTERS:
        (letter, kind), values, several = _REGISTERS[element], ["v"], ""
    elif ctype in _SMALL:
        (letter, kind), values, several = _SMALL[ctype], ["v"], ""
    else:
        letter, kind = _REGISTERS.get(element, ("r", "b32"))
        count = int(ctype[-1])
        values, several = [f"v.{c}" for c in "xyzw"[:count]], f".v{count}"
    places = ", ".join(f"%{i + 2}" for i in range(len(values)))
    places = f"{{{places}}}" if several else places
    inputs = ", ".join(f'"{letter}"({value})' for value in values)
    return Helper(
        f"void store_if_{short}(bool condition, {element}* p, {ctype} v) {{\n"
        f'  asm volatile("{{ .reg .pred q; setp.ne.b32 q, %0, 0; @q st.global{several}.{kind} [%1], {places}; }}"\n'
        f'    :: "r"((int)condition), "l"(p), {inputs} : "memory");\n'
        "}"
    )


def roots(short: str, element: str, ctype: str, count: int) -> dict[str, Helper]:
    """Return `sqrt`, correctly rounded, and `sqrt_converged` for when all lanes of a warp compute it at once.

    In f32 that is NVIDIA's own sequence: an approximate 1/sqrt(a), and a step of Newton's from that. It is right
    where no intermediate result leaves the normal numbers: where s = a * rsqrt(a), itself near the root, is at least
    2^-50. Of 0, infinity, denormals (which .ftz reads as 0) and negative numbers s is NaN. `__fsqrt_rn` asks number by
    number, and branches; here one branch does for all elements, so that their instructions overlap, and for all lanes
    that have converged, which then need not meet again behind it. What does not take the short path is multiplied by
    2^64 if it is small. It is a function of its own: inlined, the compiler takes 13 registers more for Canny. Zeros
    are common, in flat regions, so that takes no branches.
    """
    lanes = "xyzw"[:count]
    if element == "double":
        each = ", ".join(f"__dsqrt_rn(a.{c})" for c in lanes)
        return {
            kind: Helper(f"{ctype} {kind}_{short}({ctype} a) {{ return make_{ctype}({each}); }}")
            for kind in ("sqrt", "sqrt_converged")
        }

    def sequence(a: str) -> list[str]:
        lines = [f"{ctype} y, s, r;"]
        lines += [f'asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y.{c}) : "f"({a}.{c}));' for c in lanes]
        lines += [f'asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(s.{c}) : "f"({a}.{c}), "f"(y.{c}));' for c in lanes]
        step = "r.{c} = __fmaf_rn(__fmaf_rn(-s.{c}, s.{c}, {a}.{c}), __fmul_rn(0.5f, y.{c}), s.{c});"
        return [*lines, *(step.format(a=a, c=c) for c in lanes)]

    def helper(kind: str, lines: list[str], needs: tuple[str, ...] = (), rare: bool = False) -> Helper:
        body = "".join(f"  {line}\n" for line in (*lines, "return r;"))
        return Helper(f"{ctype} {kind}_{short}({ctype} a) {{\n{body}}}", needs, rare=rare)

    slow = [f"{ctype} b;", *(f"b.{c} = a.{c} < 0x1p-64f ? __fmul_rn(a.{c}, 0x1p64f) : a.{c};" for c in lanes)]
    slow += sequence("b")
    slow += [f"if (a.{c} < 0x1p-64f) r.{c} = __fmul_rn(r.{c}, 0x1p-32f);" for c in lanes]
    slow += [f"if (a.{c} == 0.0f || a.{c} == __int_as_float(0x7f800000)) r.{c} = a.{c};" for c in lanes]
    outside = "!(" + " && ".join(f"s.{c} >= 0x1p-50f" for c in lanes) + ")"
    # The hint keeps `r` out of the branch, and one branch where the compiler would make two.
    branch = "if (__builtin_expect({}, 0)) r = sqrt_any_{}(a);"
    return {
        "sqrt_any": helper("sqrt_any", slow, rare=True),
        "sqrt": helper("sqrt", [*sequence("a"), branch.format(outside, short)], ("sqrt_any",)),
        "sqrt_converged": helper(
            "sqrt_converged",
            [*sequence("a"), branch.format(f"__any_sync(0xffffffffu, {outside})", short)],
            ("sqrt_any",),
        ),
    }


def quotients(short: str, ctype: str, lanes: Sequence[str]) -> dict[str, Helper]:
    """Return `div_by`, the correctly rounded quotients of f32 and a constant, of which it takes both parts of 1/c.

    See `reciprocals.py`. What is so small that `a * low` may lose bits is divided, by a function of its own: in one
    branch for all elements, and for all lanes of a warp if there are several, which need not meet again behind it.
    """
    each = [f"q{c} = __fmaf_rn(a{c}, high, __fmul_rn(a{c}, low));" for c in lanes]
    small = " || ".join(f"(fabsf(q{c}) < 0x1p-100f && a{c} != 0.0f)" for c in lanes)
    if len(lanes) > 1:
        small = f"__any_sync(0xffffffffu, {small})"
    steps = ["q;", *each, f"if (__builtin_expect({small}, 0)) q = div_any_{short}(a, c);", "return q;"]
    slow = ["q;", *(f"q{c} = __fdiv_rn(a{c}, c);" for c in lanes), "return q;"]

    def text(name: str, parameters: str, lines: Sequence[str]) -> str:
        body = "".join(f"  {line}\n" for line in lines)
        return f"{ctype} {name}_{short}({ctype} a, {parameters}) {{\n  {ctype} {body.lstrip()}}}"

    return {
        "div_any": Helper(text("div_any", "float c", slow), rare=True),
        "div_by": Helper(text("div_by", "float c, float high, float low", steps), ("div_any",)),
    }
