"""Building modules that are verified, and that are the same after printing and parsing."""

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.math import Math
from xdsl.parser import Parser

import tilefuse as hl
from tilefuse.dialects.img import IMG
from tilefuse.dialects.verification import verify


def checked(*funcs):
    """Return the module of a pipeline, verified before and after a round trip through text."""
    module = hl.Pipeline(list(funcs)).to_module()
    verify(module)
    context = Context()
    for dialect in (Builtin, Arith, Math, IMG):
        context.load_dialect(dialect)
    again = Parser(context, str(module)).parse_module()
    verify(again)
    assert str(again) == str(module)
    return module


@pytest.fixture
def build():
    return checked


@pytest.fixture
def body(build):
    """Return the lines of the last stage of a pipeline."""

    def lines(func):
        text = str(build(func)).split("img.stage")[-1]
        return [line.strip() for line in text.split("\n")[1:] if " = " in line and "img.return" not in line]

    return lines
