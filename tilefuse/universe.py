"""The one table of dialects, passes and targets that tools and Python code see.

To add a pass: write `passes/<name>.py` and add a row here. A package outside tilefuse adds its own rows
through the `xdsl.universe` entry point.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target


def _dialect() -> Dialect:
    from tilefuse.dialects.img import IMG

    return IMG


def _pass(module: str, name: str) -> Callable[[], type[ModulePass]]:
    return lambda: getattr(import_module(f"tilefuse.passes.{module}"), name)


def _printer(name: str) -> Callable[[], type[Target]]:
    return lambda: getattr(import_module("tilefuse.lowering.printers"), name)


UNIVERSE = Universe(
    all_dialects={"img": _dialect},
    all_passes={},
    all_targets={"cuda": _printer("CudaTarget"), "c": _printer("CTarget")},
)
