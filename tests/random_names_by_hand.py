"""IR as a person may write or edit it, at any level, from a seed: with hostile names, comments and locations.

Names of pipelines, groups, stages, functions and kernels, of values, in comments of the text and of kernels, in
locations and of the file itself.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import tempfile
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp, InputOp, ParamOp, PipelineOp, ReturnOp, StageOp
from tilefuse.dialects.naming import printable, value_name
from tilefuse.dialects.parsing import parse_module
from tilefuse.lowering.printers import print_c, print_cuda
from tilefuse.passes.pipeline import lowering_passes, new_context, run_passes, standard_passes
from tilefuse.runtime.cpu.c_compiler import load_library
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, compile_report, supported_archs
from tilefuse.tools.pipeline_opt import main

LEVELS = ("algorithm", "groups", "schedule", "tiles", "kernels")


@cache
def _text(level: str, target: str) -> str:
    """Return a pipeline of two groups at a level of the IR."""
    x, y = hl.Var("x"), hl.Var("y")
    image, gain = hl.ImageParam(hl.Float(32), 2, name="image"), hl.Param(hl.Float(32), name="gain")
    around = hl.BoundaryConditions.repeat_edge(image)
    first, second = hl.Func("first"), hl.Func("second")
    first[x, y] = around[x - 1, y] * gain + around[x + 1, y]
    second[x, y] = first[x, y] - first[x, y + 1]
    module = hl.Pipeline([first, second]).to_module()
    scheduling, lowering = standard_passes(target), lowering_passes(warps=target != "cpu")
    groups = next(i for i, p in enumerate(scheduling) if p.name == "group-stages") + 1
    done = {"algorithm": [], "groups": scheduling[:groups], "schedule": scheduling,
            "tiles": [*scheduling, lowering[0]], "kernels": [*scheduling, *lowering]}  # fmt: skip
    return str(run_passes(module, done[level]))


def check(rng: random.Random, name: Callable[[random.Random], str]) -> None:
    """Raise AssertionError, or let the crash through, where names that `name` draws break something."""
    level, target = rng.choice(LEVELS), rng.choice(["cpu", "h200"])
    module = parse_module(_text(level, target), ctx=new_context())
    for change in rng.sample([_rename, _comment, _locate, _hint], rng.randint(1, 3)):
        change(module, rng, name)
    try:
        text = _commented(str(module), rng, name) if rng.random() < 0.5 else str(module)
        text.encode()
        again = parse_module(text, _file(rng, name), new_context())
    except UnicodeEncodeError:
        return  # no file holds it
    except PipelineError as error:
        _check_error(error)
        return
    _check_bytes(text, rng)
    assert again.is_structurally_equivalent(module), text
    _check_round_trips(module)
    _check_tool(text, rng, name)
    _check_kernels(again, level, target, rng)
    if level in ("algorithm", "groups", "schedule") and rng.random() < 0.2:
        _check_results(text)


def _check_bytes(text: str, rng: random.Random) -> None:
    """Any bytes in one of the quoted names: they are its text, or there is one error of ours at its place."""
    quoted = list(re.finditer(r'"[^"\\\n]*"', text))
    if not quoted:
        return
    chosen, bytes_ = rng.choice(quoted), rng.choice([b"\xed\xa0\x80", b"\xff", b"\xc3", "é".encode(), b"\x00"])
    escapes = "".join(rf"\{byte:02X}" for byte in bytes_)
    try:
        parse_module(f'{text[: chosen.start()]}"{escapes}"{text[chosen.end() :]}', ctx=new_context())
    except PipelineError as error:
        _check_error(error)


def _rename(module: ModuleOp, rng: random.Random, name: Callable[[random.Random], str]) -> None:
    """Rename some named objects, with their references, sometimes two to one name."""
    functions: dict[str, str] = {}
    used = [op.sym_name.data for op in module.walk() if getattr(op, "sym_name", None)]

    def another() -> str:
        used.append(rng.choice(used) if rng.random() < 0.1 else name(rng))
        return used[-1]

    for op in module.walk():
        if rng.random() < 0.4:
            continue
        if isinstance(op, FuncOp):
            functions[op.sym_name.data] = new = another()
            op.sym_name = StringAttr(new)
        elif isinstance(op, PipelineOp | GroupOp | StageOp | InputOp | ParamOp):
            op.sym_name = StringAttr(another())
        elif isinstance(op, ReturnOp) and rng.random() < 0.5:
            op.names = type(op.names)([StringAttr(another()) for _ in op.names])
    for op in module.walk():
        if isinstance(op, CallOp) and op.callee.string_value() in functions:
            op.callee = SymbolRefAttr(functions[op.callee.string_value()])


def _comment(module: ModuleOp, rng: random.Random, name: Callable[[random.Random], str]) -> None:
    """Comments that printers put before functions, loops and operations."""
    for op in module.walk():
        commented = op.name in ("scf.for", "scf.if") or op.name.startswith(("gpu.", "memref."))
        if isinstance(op, FuncOp) or (commented and rng.random() < 0.1):
            op.attributes["kernel.comment"] = StringAttr(name(rng))


def _location(rng: random.Random, name: Callable[[random.Random], str]) -> Attribute:
    file, label = (StringAttr(printable(name(rng))) for _ in range(2))  # as the parser and the frontend have it
    line, column = IntAttr(rng.choice([0, 1, 3, 2**40])), IntAttr(rng.choice([0, 1, 500]))
    place = FileLineColLoc(file, line, column)
    match rng.randrange(5):
        case 0:
            return NameLoc(label, place)
        case 1:
            return FusedLoc(ArrayAttr([place, NameLoc(label, place)]), NoneAttr())
        case 2:
            return CallSiteLoc(place, place)
    return place


def _locate(module: ModuleOp, rng: random.Random, name: Callable[[random.Random], str]) -> None:
    """Places of operations in files of any name."""
    for op in module.walk():
        if op.name != "scf.yield" and rng.random() < 0.3:  # which is not always printed
            op.location = _location(rng, name)
            _check_error(PipelineError("wrong", op))


def _hint(module: ModuleOp, rng: random.Random, name: Callable[[random.Random], str]) -> None:
    """Names of values, which variables of C and CUDA are called after."""
    for op in module.walk():
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            if rng.random() < 0.3 and (hint := value_name(name(rng))):
                value.name_hint = hint


def _commented(text: str, rng: random.Random, name: Callable[[random.Random], str]) -> str:
    """Return comments at the ends of some lines."""
    lines = text.split("\n")
    for i in rng.sample(range(len(lines)), min(4, len(lines))):
        lines[i] += " //" + name(rng).replace("\n", " ")
    return "\n".join(lines)


def _file(rng: random.Random, name: Callable[[random.Random], str]) -> str:
    return name(rng) if rng.random() < 0.5 else "<string>"


def _check_error(error: PipelineError) -> None:
    str(error).encode()  # it can be printed
    assert "\n" not in str(error), error
    assert "codec" not in str(error), error
    assert error.position is not None, error


def _check_round_trips(module: ModuleOp) -> None:
    """Check that printed text, in both forms and with locations, round-trips."""
    for generic in (False, True):
        for places in (False, True):
            text = StringIO()
            Printer(text, print_generic_format=generic, print_debuginfo=places).print_op(module)
            again = parse_module(text.getvalue(), ctx=new_context())
            assert again.is_structurally_equivalent(module), text.getvalue()
            if places:
                for a, b in zip(module.walk(), again.walk(), strict=True):
                    assert _place(a) in (None, _place(b)), f"{a.location} became {b.location}"


def _place(op: Operation) -> Attribute | None:
    return op.location if "loc(unknown)" not in str(op.location) else None


def _check_tool(text: str, rng: random.Random, name: Callable[[random.Random], str]) -> None:
    """Check that `pipeline-opt` reads the text from a file of any name, and reports an error in half of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (name(rng).replace("/", "_") + ".mlir")
        try:
            path.touch()
        except (OSError, ValueError):  # no file is called so
            path = Path(folder) / "p.mlir"
        half = rng.random() < 0.5
        path.write_text(text[: rng.randrange(len(text))] if half else text)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([str(path), *(["--print-debuginfo"] if rng.random() < 0.5 else [])])
        assert status == 0 or (half and "error: " in err.getvalue().split("\n")[0]), err.getvalue()
        assert "internal error" not in err.getvalue(), err.getvalue()


def _check_kernels(module: ModuleOp, level: str, target: str, rng: random.Random) -> None:
    """Check that functions of C and CUDA text are distinct, comments stay comments, and it compiles."""
    scheduling, lowering = standard_passes(target), lowering_passes(warps=target != "cpu")
    left = {"algorithm": [*scheduling, *lowering], "groups": [*scheduling, *lowering], "schedule": lowering,
            "tiles": lowering[1:], "kernels": []}[level]  # fmt: skip
    try:
        lowered = run_passes(module, left)
        text = print_c(lowered) if target == "cpu" else print_cuda(lowered)
    except PipelineError as error:
        _check_error(error)
        return
    check_text(text)
    if rng.random() < 0.2:
        _compile(text, target)


def _compile(text: str, target: str) -> None:
    if target == "cpu":
        load_library(text, strict_float=True)
        return
    with contextlib.suppress(NvrtcNotFound):
        assert compile_report(text, supported_archs()[-1]).registers


def check_text(text: str) -> None:
    """Functions are all distinct, and comments stay comments."""
    text.encode()
    assert "\0" not in text
    functions = re.findall(
        r"^(?:extern|static|void)[^;={]*?\b(\w+)\((?!\()", re.sub(r"__launch_bounds__\(.*?\) ", "", text), re.MULTILINE
    )
    assert len(functions) == len(set(functions)), functions
    for line in text.split("\n"):
        assert not line.lstrip().startswith("#error")
        assert not line.endswith(("\\", "??/"))


def _check_results(text: str) -> None:
    """Other names are the same pipeline: the CPU and the evaluator give the numbers of the one with plain names."""
    picture = np.random.default_rng(0).random((7, 9), dtype=np.float32)
    plain = hl.compile(_text("algorithm", "cpu"), target="reference")(picture, gain=2.5)
    for target in ("reference", "cpu"):
        try:
            program = hl.compile(text, target=target, strict_float=True)
            [gain] = [op.sym_name.data for op in parse_module(text).walk() if isinstance(op, ParamOp)]
            found = program(picture, **{gain: 2.5})
        except PipelineError as error:
            _check_error(error)
            return
        for a, b in zip(found, plain, strict=True):
            np.testing.assert_array_equal(a, b)
