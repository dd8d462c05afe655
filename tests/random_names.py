"""Pipelines with hostile names, from a seed: each is refused by one clear error, or works in every text it reaches."""

from __future__ import annotations

import itertools
import random
import re
from io import StringIO

import numpy as np
import random_names_by_hand
from random_names_by_hand import check_text
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.parsing import parse_module
from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.lowering.printers.c import C
from tilefuse.lowering.printers.cuda import Cuda
from tilefuse.lowering.symbols import function_symbol, identifier
from tilefuse.passes.pipeline import lowering_passes, new_context, run_passes, standard_passes
from tilefuse.runtime.cuda.nvrtc import compile_report, supported_archs

_WORDS = """
int for while template operator auto register asm typeof restrict _Bool bool true false lambda None class def
NULL NAN INFINITY HUGE_VALF CUDART_VERSION M_PI EOF INT_MAX linux unix i386 assert offsetof complex I
__CUDA_ARCH__ __LINE__
threadIdx blockIdx warpSize __syncthreads __shfl_xor_sync min max abs float4 make_float4 dim3 printf malloc memcpy
exp expf sqrt sqrtf gamma y0 j1 main errno signgam idx uidx opaque x y c tx bx a b v i_1 a_b out_f f f_tile f_border
f_prefetch f_words f_kernel1 f_f_tile1 f_f_kernel1 f_ f__ __f _f _1 x_1 x_1_1 f_fn x__ r_f sh_f d4
"""
_ODD = [
    "a.b", "a b", "a-b", "A_B", "a__b", "_a_b", "a_b_", "a$b", "é", "e\u0301", "\u212b", "Å", "变量", "𝒳", "😀",
    "\u202eabc", "\u05d0",
    "a\u200db", "\u0661", "1", "2x", " ", "\t", "\n", "a\nb", "\r", "\0", "a\0b", '"', "'", 'a"b', "\\", "a\\",
    "??/", "a??/",
    "*/", "/*", "//", "a//b", "%", "%s", "%x", "@f", "{}", "{0}", "#x", "\u2028", "\x85", "\x7f", "\ud800",
    "a\udfffb", "",
    "x" * 10_000, "x" * 9_999 + "y", "é" * 10_000, "x" * 48, "x" * 49, "ab\n#error spliced", "a\\\n#error spliced",
    identifier("a.b"), identifier("é"), identifier("x" * 49) + "_",
    function_symbol("f", "f", "tile"), function_symbol("f", "f", "kernel"),
    "loc(unknown)", "xé\"\\\n",
]  # fmt: skip
_PARTS = ["a", "_", ".", "b", "é", "\\", '"', "\n", " ", "1", "$", "??/", "*/", "x_1", "%", "tile", "__"]


def _own_names() -> list[str]:
    """Return the names of the printers' own helpers and types."""
    texts = (helper.text for library in (C.library, Cuda.library) for helper in library.values())
    return sorted({*C.library, *Cuda.library, *re.findall(r"\b[A-Za-z_]\w*", " ".join(texts))})


NAMES = [*_WORDS.split(), *_ODD, *_own_names()]


def _name(rng: random.Random) -> str:
    if rng.random() < 0.15:
        return "".join(rng.choices(_PARTS, k=rng.randint(1, 5)))
    return rng.choice(NAMES if rng.random() < 0.5 else _ODD)


def _pipeline(rng: random.Random) -> hl.Pipeline:
    """Return two or three outputs, of an image and a Param, with a stage in between."""
    x, y = hl.Var(_name(rng)), hl.Var("other")
    image = hl.ImageParam(hl.Float(32), 2, name=_name(rng))
    gain = hl.Param(hl.Float(32), name=_name(rng))
    clamped = hl.BoundaryConditions.repeat_edge(image)
    first = hl.Func(_name(rng))
    first[x, y] = clamped[x - 1, y] * gain + clamped[x + 1, y]
    outputs = []
    for i in range(rng.randint(1, 3)):
        output = hl.Func(_name(rng))
        output[x, y] = first[x, y] + first[x, y + i]
        outputs.append(output)
    return hl.Pipeline(outputs)


def _renamed(text: str, rng: random.Random) -> str:
    """Return the IR with another name for the pipeline, and a comment: as a user may write both."""
    name = _name(rng)
    if any("\ud800" <= c <= "\udfff" for c in name):
        return text  # no file holds it
    quoted = "".join(f"\\{b:02X}" for b in name.encode())
    return re.sub(r'img\.pipeline @("(?:[^"\\]|\\.)*"|[\w$.]+)', lambda _: f'img.pipeline @"{quoted}"', text, count=1)


def _check_text_of(module: ModuleOp) -> None:
    """Check that IR text, custom and generic, round-trips, except for the numbers after names of values."""
    generic = StringIO()
    Printer(generic, print_generic_format=True).print_op(module)
    for text in (str(module), generic.getvalue()):
        assert parse_module(text, ctx=new_context()).is_structurally_equivalent(module), text


def _check_error(error: PipelineError) -> None:
    str(error).encode()  # it can be printed
    assert error.position is not None, error
    assert len(str(error)) < 40_000


def by_hand(seed: int) -> None:
    """Check names of this seed in IR that is written or edited by hand, at all levels."""
    random_names_by_hand.check(random.Random(f"by hand {seed}"), _name)


def check(seed: int) -> None:
    """Raise AssertionError, or let the crash through, where names of this seed break something."""
    rng = random.Random(seed)
    try:
        pipeline = _pipeline(rng)
        module = parse_module(_renamed(str(pipeline.to_module()), rng))
    except PipelineError as error:
        _check_error(error)
        return
    _check_text_of(module)
    if rng.random() < 0.7:
        return
    target = rng.choice(["cpu", "h200"])
    scheduled = run_passes(module, standard_passes(target))
    _check_text_of(scheduled)
    lowered = run_passes(scheduled, lowering_passes(warps=target != "cpu"))
    _check_text_of(lowered)
    text = print_c(lowered) if target == "cpu" else print_cuda(lowered)
    check_text(text)
    if target != "cpu":
        if rng.random() < 0.5:
            arch = "sm_90" if "sm_90" in supported_archs() else supported_archs()[-1]
            assert compile_report(text, arch).registers
    elif rng.random() < 0.6:
        _check_results(str(module))


def _check_results(text: str) -> None:
    """Check that the reference and the CPU give equal numbers, also when they are called by keyword."""
    picture = np.random.default_rng(0).random((7, 9), dtype=np.float32)
    found = []
    for target in ("reference", "cpu"):
        try:
            program = hl.compile(text, target=target, strict_float=True)
        except PipelineError as error:
            _check_error(error)
            return
        [value] = [op.sym_name.data for op in parse_module(text).walk() if op.name == "img.param"]
        out = program(picture, **{value: 2.5})
        found.append(out if isinstance(out, tuple | list) else [out])
        program.report()
        program.ir().encode()
    for a, b in itertools.zip_longest(*found):
        np.testing.assert_array_equal(a, b)
