"""Dependences of expressions: functions and Params."""

from __future__ import annotations

from typing import NamedTuple

from tilefuse.frontend.errors import fail
from tilefuse.frontend.expr import Expr
from tilefuse.frontend.inputs import Param
from tilefuse.frontend.sources import Source
from tilefuse.frontend.var import Var
from tilefuse.frontend.walk import expr_text, postorder


class Reads(NamedTuple):
    """Functions and Params that expressions need, in order of first use."""

    sources: tuple[Source, ...]
    params: tuple[Param, ...]


def find_reads(values: tuple[Expr, ...], args: tuple[str, ...], what: str, own: Source | None = None) -> Reads:
    """Find the functions and Params in `values`; PipelineError for a coordinate outside `args`.

    `own`: the Func of which `values` are an update, which may read it, and have RVars.
    """
    sources: dict[int, Source] = {}
    params: dict[int, Param] = {}
    for expr in postorder(values):
        if expr.op == "call" or expr.op in ("image_min", "image_extent"):
            if expr.data[0] is not own:
                sources.setdefault(id(expr.data[0]), expr.data[0])
        elif expr.op == "param":
            params.setdefault(id(expr.data), expr.data)
        elif expr.op == "var" and expr.data not in args:
            known = ", ".join(args) or "none"
            if own is not None:
                fail(
                    f"{what} uses the Var '{expr.data}', which does not stand alone on the left in the place where the "
                    f"definition has it ({known}); write it there, or use an RDom"
                )
            hint = "; write _ among its coordinates" if Var.implicit_index(expr) >= 0 else ""  # type: ignore[arg-type]
            fail(f"{what} uses the Var '{expr.data}', which is not one of its coordinates ({known}){hint}")
        elif expr.op == "rvar" and own is None:
            fail(
                f"{what} uses {expr_text(expr)} of an RDom outside of sum, product, minimum or maximum; define it "
                "by Vars first, and use the RDom in an update, as in f[x] += ..."
            )
    for source in sources.values():
        source.read_by = source.read_by or what
    return Reads(tuple(sources.values()), tuple(params.values()))
