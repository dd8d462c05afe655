"""The text of a pipeline becomes passes with typed options."""

from dataclasses import dataclass
from typing import Literal

import pytest
from xdsl.passes import ModulePass

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.passes.pipeline_text import describe_options, parse_passes


@dataclass(frozen=True)
class Fit(ModulePass):
    """Takes an option of each kind."""

    name = "fit"

    size: tuple[int, ...]
    alpha: float = 1.0
    beta: float | None = None
    fix: bool = False
    method: Literal["greedy", "dp"] = "greedy"
    target: str = "sm_90"

    def __post_init__(self):
        if self.size == (13,):
            raise ValueError("13 is out of stock")

    def apply(self, ctx, op):
        pass


AVAILABLE = {"fit": lambda: Fit}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("fit{size=3}", (Fit((3,)),)),
        ("fit{size}", (Fit(()),)),
        ("fit{size=3,4}", (Fit((3, 4)),)),
        ("fit{size=3 fix}", (Fit((3,), fix=True),)),
        ("fit{size=3 fix=false}", (Fit((3,)),)),
        ("fit{size=3 alpha=2 beta=1e-3}", (Fit((3,), alpha=2.0, beta=1e-3),)),
        ("fit{size=3 beta}", (Fit((3,)),)),
        ("fit{size=3 method=dp}", (Fit((3,), method="dp"),)),
        ('fit{size=3 target="a , { b"}', (Fit((3,), target="a , { b"),)),
        ("fit{size=3 target=sm_90}", (Fit((3,)),)),
        ("builtin.module(fit{size=3},\n  fit{ size = 4 , 5 })", (Fit((3,)), Fit((4, 5)))),
    ],
)
def test_options(text, expected):
    passes = parse_passes(text, AVAILABLE)
    assert passes == expected
    # What a pass prints of itself is a pipeline again.
    assert parse_passes(",".join(map(str, passes)), AVAILABLE) == expected
    assert all(isinstance(p.alpha, float) for p in passes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fits", "pass-pipeline:1:1: error: unknown pass 'fits' (did you mean 'fit'?)"),
        ("fit{size=1},fit", "pass-pipeline:1:13: error: pass 'fit' needs option 'size'; its options are"),
        (
            "fit{size=1 alfa=2}",
            "pass-pipeline:1:1: error: pass 'fit' has no option 'alfa' (did you mean 'alpha'?)",
        ),
        (
            "fit{size=x}",
            "pass-pipeline:1:1: error: option 'size' of pass 'fit' takes tuple[int, ...], not x;",
        ),
        ("fit{size=1 method=brute}", "option 'method' of pass 'fit' takes greedy | dp, not brute;"),
        ("fit{size=1 fix=3}", "option 'fix' of pass 'fit' takes bool, not 3;"),
        ("fit{size=1 alpha=true}", "option 'alpha' of pass 'fit' takes float, not True;"),
        ("fit{size=1 alpha}", "option 'alpha' of pass 'fit' takes float, not nothing;"),
        ("fit{size=13}", "pass 'fit': 13 is out of stock;"),
        ("fit{size=1}}", "pass-pipeline:1:12: error: expected a comma after pass argument dict here"),
        ("fit(size=1)", "pass-pipeline:1:4: error: '(' has no meaning here"),
    ],
)
def test_errors(text, message):
    with pytest.raises(PipelineError) as caught:
        parse_passes(text, AVAILABLE)
    assert message in str(caught.value)


def test_options_are_described():
    assert describe_options(Fit) == [
        "size: tuple[int, ...]",
        "alpha: float = 1.0",
        "beta: float | none = none",
        "fix: bool = false",
        "method: greedy | dp = greedy",
        "target: str = sm_90",
    ]
