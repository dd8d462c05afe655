"""`compile`: programs from IR, given as text, file or module."""

from __future__ import annotations

import os
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import type_name


def compile(source: str | os.PathLike[str] | ModuleOp, target: str = "auto", **options: Any) -> Any:
    """Compile the one pipeline of IR for `cuda`, `cpu`, `reference` or `auto`; return a program.

    `source`: the text of a module; the path of a file (as a str it ends in `.mlir`, or is there); or a module of
    xDSL. The pipeline may be at any level up to the schedule: what is decided in it (groups, schedules, places)
    is kept and checked, the rest is found. `options` are those of `tilefuse.runtime.program.compile_pipeline`.

    PipelineError, with line and column, for text that does not parse, verify or fit.
    """
    if isinstance(source, str):
        module = _read(source) if _is_path(source) else _parsed(source, "<string>")
    elif isinstance(source, os.PathLike):
        module = _read(os.fsdecode(source))
    elif isinstance(source, ModuleOp):
        module = source
    else:
        fail(f"compile takes IR as text, the path of a .mlir file, or a module, not a {type_name(source)}")
    from tilefuse.runtime.program import compile_pipeline

    return compile_pipeline(module, target=target, **options)


def _is_path(text: str) -> bool:
    return "\n" not in text and (text.endswith(".mlir") or os.path.exists(text))


def _read(path: str) -> ModuleOp:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except IsADirectoryError:
        fail(f"'{path}' is a folder; compile takes IR as text, the path of a .mlir file, or a module")
    except OSError as error:
        fail(f"cannot read '{path}': {error.strerror}")
    except UnicodeDecodeError as error:
        fail(f"'{path}' is not UTF-8 text: byte {error.start}: {error.reason}")
    except ValueError as error:  # a zero in the path
        fail(f"cannot read {path!r}: {error}")
    return _parsed(text, path)


def _parsed(text: str, name: str) -> ModuleOp:
    from tilefuse.dialects.parsing import parse_module

    return parse_module(text, name)
