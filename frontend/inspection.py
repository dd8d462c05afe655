"""Inspection of compiled pipelines through Halide's calls: the schedule and the code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilefuse.frontend.target import Target, target_name

if TYPE_CHECKING:
    from tilefuse.frontend.compilable import Compilable

StmtOutputFormat = Enum("StmtOutputFormat", "Text HTML")


class Inspection(ABC):
    """Methods of Func and Pipeline that show their compiled forms."""

    @abstractmethod
    def _inspected(self) -> Compilable:
        """Return the pipeline to compile."""

    def print_loop_nest(self, target: str | Target = "auto") -> None:
        """Print the schedule: the IR with its groups, tiles and places."""
        program = self._inspected().program(target_name(target), {})
        names = program.passes
        print(program.ir("promote-memory" if "promote-memory" in names else names[-1]))

    def compile_to_lowered_stmt(
        self,
        filename: str | Path,
        arguments: Sequence[Any] = (),
        format: StmtOutputFormat = StmtOutputFormat["Text"],
        target: str | Target = "auto",
    ) -> None:
        """Write the IR with its schedule and kernels to a file, as text or as HTML."""
        text = self._inspected().program(target_name(target), {}).ir()
        if format is StmtOutputFormat["HTML"]:
            title = escape(next(iter(self._inspected().output_types())))
            text = f'<!DOCTYPE html><meta charset="utf-8"><title>{title}</title><pre>{escape(text)}</pre>\n'
        Path(filename).write_text(text)

    def compile_to_c(
        self, filename: str | Path, arguments: Sequence[Any] = (), name: str = "", target: str | Target = "cpu"
    ) -> None:
        """Write the C text of the kernels to a file; on a GPU target, the CUDA text."""
        pipeline = self._inspected()
        program = pipeline.compile(target, name=name) if name else pipeline.program(target_name(target), {})
        Path(filename).write_text(program.source())


__all__ = ["StmtOutputFormat"]
