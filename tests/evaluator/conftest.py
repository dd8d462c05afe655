"""Pipelines from text, and stages from the text of their bodies."""

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tilefuse.dialects.img import IMG
from tilefuse.evaluator import evaluate
from tilefuse.execution.registry import schedule_dialect


def _parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, math.Math, IMG, schedule_dialect()):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


@pytest.fixture
def parse() -> Callable[[str], ModuleOp]:
    """Return a verified module from text."""
    return _parse


@pytest.fixture
def pointwise() -> Callable[..., np.ndarray]:
    """Return `run("%r = arith.addi %a, %b : i8", "ui8", a=..., b=...)`: the op on 1-D arrays."""

    def run(body: str, result: str, **arrays: np.ndarray) -> np.ndarray:
        inputs, reads = "", ""
        for name, array in arrays.items():
            kind = {"u": "ui", "i": "si", "f": "f", "b": "i"}[array.dtype.kind]
            type = f"!img.func<1x{kind}{1 if kind == 'i' else array.dtype.itemsize * 8}>"
            inputs += f'%in_{name} = img.input "{name}" : {type}\n'
            reads += f"%{name} = img.read %in_{name}[%x] : {type}\n"
        storage = result.removeprefix("u").removeprefix("s")
        module = _parse(
            f'img.pipeline @p {{ {inputs} %o = img.stage "out" (%x) -> {result} {{\n'
            f'{reads}{body}\nimg.yield %r : {storage} }}\nimg.return "out" = %o : !img.func<1x{result}> }}'
        )
        extent = len(next(iter(arrays.values()), np.zeros(1)))
        return evaluate(module, arrays, {}, {"out": [(0, extent)]})["out"]

    return run
