"""Names for the variables of printed C and CUDA: the SSA name hints, made legal and unique per scope."""

from __future__ import annotations

import re

_C_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
_Bool _Complex _Float16 bool true false asm typeof main idx uidx
"""
_CPP_KEYWORDS = """
alignas alignof and and_eq bitand bitor catch char16_t char32_t class compl constexpr const_cast decltype
delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr operator or
or_eq private protected public reinterpret_cast static_assert static_cast template this thread_local throw
try typeid typename using virtual wchar_t xor xor_eq
"""
# CUDA's built-in variables, vector types and the functions with C linkage that NVRTC declares unasked.
_CUDA_NAMES = """
threadIdx blockIdx blockDim gridDim warpSize clock clock64 min max abs umin umax umulhi mulhi mul24 umul24
saturate int2float float2int uint2float float2uint float2 float3 float4 double2 uint2 uint3 uint4 int2 int3
int4 char4 uchar4 ushort2 ushort4 dim3 printf assert malloc free memcpy memset rsqrt sinpi cospi normcdf
"""
_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim
floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2
logb lrint lround modf nan nearbyint nextafter pow remainder remquo rint round roundeven scalbln scalbn sin
sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
KEYWORDS = frozenset((_C_KEYWORDS + _CPP_KEYWORDS).split())
LIBRARY = frozenset(_CUDA_NAMES.split()) | {f"{name}{end}" for name in _MATH.split() for end in ("", "f", "l")}
# Names that a local variable may shadow without harm: the text calls only the forms with an f, or none.
_SHADOWABLE = frozenset({"gamma", "y0", "y1", "j0", "j1", "yn", "jn", "nan", "clock", "saturate", "free"})
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def legal_symbol(name: str) -> str:
    """`name` as a kernel's: an identifier that is no keyword and no library function of C or CUDA."""
    legal = _identifier(name)
    return f"{legal}_kernel" if legal in KEYWORDS or legal in LIBRARY else legal


def is_legal_symbol(name: str) -> bool:
    """Whether a function of this name may be exported by C and CUDA text."""
    return bool(_IDENTIFIER.match(name)) and name not in KEYWORDS and name not in LIBRARY


def _identifier(hint: str) -> str:
    text = re.sub(r"[^A-Za-z0-9_]", "_", hint)
    # Two underscores in a row, or one in front, belong to the compilers.
    text = re.sub(r"__+", "_", text).lstrip("_") or "v"
    return f"v{text}" if text[0].isdigit() else text


class Names:
    """The names in use, scope by scope: sibling scopes may use the same name, an inner one never shadows."""

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self._reserved = (KEYWORDS | LIBRARY | reserved) - _SHADOWABLE
        self._scopes: list[dict[str, int]] = [{}]

    def push(self) -> None:
        """Open a scope."""
        self._scopes.append({})

    def pop(self) -> None:
        """Close the innermost scope; its names are free again."""
        self._scopes.pop()

    def fresh(self, hint: str) -> str:
        """A name like `hint` that nothing visible has: `hint`, else `hint_1`, `hint_2`, ..."""
        base = _identifier(hint)
        count = max((scope.get(base, -1) for scope in self._scopes), default=-1)
        name = base
        while count >= 0 or self._taken(name):
            count += 1
            name = f"{base}_{count}" if count else base
            if not self._taken(name):
                break
        # The number last given to a base, so that many values with one hint cost no search.
        self._scopes[-1][base] = max(count, 0)
        self._scopes[-1].setdefault(name, 0)
        return name

    def _taken(self, name: str) -> bool:
        return name in self._reserved or any(name in scope for scope in self._scopes)
