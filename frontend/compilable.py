"""Compilable objects: inputs, outputs, and the IR in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilefuse.collector import collector_off
from tilefuse.frontend.inputs import Image, Param
from tilefuse.frontend.target import Target, target_name
from tilefuse.frontend.types import Type


class Compilable(ABC):
    """A Pipeline's interface for compilation."""

    def __init__(self) -> None:
        self._programs: dict[Any, Any] = {}

    @abstractmethod
    def inputs(self) -> tuple[list[Image[Any]], list[Param]]:
        """Return the needed images and Params, each in order of creation."""

    @abstractmethod
    def output_types(self) -> dict[str, tuple[Type, int]]:
        """Return type and number of dimensions of each computed value, by name."""

    @abstractmethod
    def to_module(self, name: str | None = None, *, layouts: Mapping[str, str] | None = None) -> ModuleOp:
        """Build the algorithm as IR of level 1; `layouts`: array layouts, by name, of images that declare none."""

    @collector_off()
    def compile(self, target: str | Target = "auto", *, name: str | None = None, **options: Any) -> Any:
        """Compile for `cuda`, `cpu`, `reference` or `auto`; return a program, which is called with arrays.

        The program takes inputs by position, in the order in which the ImageParams and Buffers were made, or
        by name, and Params by name. `name`: of the pipeline, which begins the names of its kernels; else that
        of the first output. `options` are those of `tilefuse.runtime.program.compile_pipeline`.
        """
        return self._compiled(self.to_module(name), target, options)

    def _compiled(self, module: ModuleOp, target: str | Target, options: Mapping[str, Any]) -> Any:
        from tilefuse.runtime.program import compile_pipeline

        return compile_pipeline(module, target=target_name(target), **options)

    def compile_jit(self, target: str | Target = "auto") -> None:
        """Compile now for a later `realize` on this target."""
        self.program(target_name(target), {})

    def invalidate_cache(self) -> None:
        """Drop the compiled programs."""
        self._programs.clear()

    def program(
        self, target: Any, options: dict[str, Any], layouts: Mapping[str, str] | None = None, ahead: bool = True
    ) -> Any:
        """Return the program for a target, cached for equal pipeline, target and options.

        `layouts`: of images, by name. `ahead`: compile it at once for a likely call.
        """
        # By text: bounds that are set after a run make another program.
        module = self.to_module(layouts=layouts)
        key = (str(module), target, repr(sorted(options.items())))
        if key not in self._programs:
            self._programs[key] = self._compiled(module, target, {**options, "ahead": ahead})
        return self._programs[key]
