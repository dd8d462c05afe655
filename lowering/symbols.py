"""Function names in kernel IR and text: each kind of name has its own form, so that none collide.

Functions end in a role and a number (`blur_blur_y_kernel4`) or in `_fn`, variables in an underscore (`blur_x_`).
Keywords, macros, the library and the printers' helpers end in neither, whatever a compiler may add to them.
"""

from __future__ import annotations

import re

ROLES = ("kernel", "inside", "tile", "border", "prefetch")
"""The roles of a group's functions: the kernel, the kernel without versions for borders, its tile body, that body for
tiles at borders alone, the prefetches for a later tile."""

_LONGEST = 48
_KEPT_OF_LONG = 24
_PLAIN = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{_LONGEST - 1}}}")
_DIGESTED = re.compile(r".*_x[0-9a-f]{16}")
_GENERATED = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{3 * _LONGEST}}}_(?:{'|'.join(ROLES)})[0-9]+")


def spelt(name: str) -> str:
    """Replace each run of characters illegal in identifiers by an underscore, with a letter first; not unique."""
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return text if text[:1].isalpha() else f"v{text}"


def identifier(name: str) -> str:
    """Encode `name` as part of an identifier: unchanged if short and plain ASCII, else with a digest. Injective."""
    if _PLAIN.fullmatch(name) and not _DIGESTED.fullmatch(name):
        return name
    import hashlib  # late: it loads OpenSSL, and few names need it

    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{spelt(name[:_KEPT_OF_LONG])}_x{digest}"


def function_symbol(pipeline: str, group: str, role: str) -> str:
    """Return the symbol of a group's function in this role, as `blur_blur_y_kernel4`.

    The number is the length of the pipeline's word, so that no other pipeline and group give this name.
    """
    first = identifier(pipeline)
    return f"{first}_{identifier(group)}_{role}{len(first)}"


def inside_of(kernel: str) -> str:
    """Return the name of a kernel without border versions, from the name of the kernel."""
    return re.sub(r"_kernel([0-9]+)$", r"_inside\1", kernel)


def c_function_name(symbol: str) -> str:
    """Return the C and CUDA name of `@symbol`: unchanged if `function_symbol` made it, else with suffix `_fn`."""
    return symbol if _GENERATED.fullmatch(symbol) else f"{identifier(symbol)}_fn"
