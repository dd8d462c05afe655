"""The text of an access: `[%x - 1, 2 * %y + 1, %c]`.

An access is an affine map over index values. In text the map is written over the values themselves,
as `affine.load` does it in MLIR.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_BEYOND = 1 << 63
_DIVISIONS = (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv, AffineBinaryOpKind.Mod)
_PRECEDENCE = {
    AffineBinaryOpKind.Add: 1,
    AffineBinaryOpKind.Mul: 2,
    AffineBinaryOpKind.Mod: 2,
    AffineBinaryOpKind.FloorDiv: 2,
    AffineBinaryOpKind.CeilDiv: 2,
}


def _print_expr(printer: Printer, expr: AffineExpr, operands: Sequence[SSAValue], precedence: int = 0) -> None:
    """Print `expr` with `operands[i]` for dimension i; parenthesised if it binds weaker than its context."""
    match expr:
        case AffineConstantExpr(value):
            printer.print_string(str(value))
        case AffineDimExpr(position):
            printer.print_ssa_value(operands[position])
        case AffineBinaryOpExpr(kind, lhs, rhs):
            own = _PRECEDENCE[kind]
            if own < precedence:
                printer.print_string("(")
            _print_expr(printer, lhs, operands, own)
            if kind is AffineBinaryOpKind.Add and isinstance(rhs, AffineConstantExpr) and rhs.value < 0:
                printer.print_string(f" - {-rhs.value}")
            else:
                printer.print_string(f" {kind.get_token()} ")
                _print_expr(printer, rhs, operands, own + 1)
            if own < precedence:
                printer.print_string(")")
        case _:
            raise AssertionError(f"no symbols in img accesses: {expr}")


def verify_index_map(what: str, map: AffineMap, given: int) -> None:
    """Check the map of an access by the op `what`, which gives it `given` values."""
    if map.num_symbols or map.num_dims != given:
        raise VerifyException(f"{what}: the map takes {map.num_dims} values, {given} given")
    if not all(e.is_pure_affine() for e in map.results):
        raise VerifyException(f"{what}: indices may be multiplied, divided and reduced mod constants only")
    for e in (sub for result in map.results for sub in result.dfs()):
        if isinstance(e, AffineBinaryOpExpr) and e.kind in _DIVISIONS and e.rhs.value <= 0:  # type: ignore[attr-defined]
            raise VerifyException(f"{what}: {e.kind.get_token()} by {e.rhs}; it must be positive")
        if isinstance(e, AffineConstantExpr) and abs(e.value) >= _BEYOND:
            raise VerifyException(f"{what}: {e.value} in an index does not fit the 64 bits of an index")


def print_indices(printer: Printer, map: AffineMap, operands: Sequence[SSAValue]) -> None:
    """Print `[...]` for the results of `map` applied to `operands`."""
    with printer.in_square_brackets():
        printer.print_list(map.results, lambda e: _print_expr(printer, e, operands))


def parse_indices(parser: Parser) -> tuple[AffineMap, list[SSAValue]]:
    """Parse `[...]`; return the map over the values used, and the values in order of first use."""
    if parser.parse_optional_characters("[]"):
        return AffineMap(0, 0, ()), []
    pos = parser.pos
    try:
        map, operands = parser.parse_affine_map_of_ssa_ids()
    except (NotImplementedError, ArithmeticError):
        # How xDSL's affine expressions refuse `%x * %y` and `3 mod 0`.
        parser.raise_error("indices may be multiplied, divided and reduced mod positive constants only", pos)
    return _symbols_to_dims(map, operands)


def _symbols_to_dims(map: AffineMap, operands: Sequence[SSAValue]) -> tuple[AffineMap, list[SSAValue]]:
    # xDSL's parser makes every identifier a symbol and repeats one that is used twice.
    unique: list[SSAValue] = []
    dims: list[AffineExpr] = []
    for value in operands:
        if value not in unique:
            unique.append(value)
        dims.append(AffineExpr.dimension(unique.index(value)))
    n = map.num_dims
    results = tuple(e.replace_dims_and_symbols(dims[:n], dims[n:]) for e in map.results)
    assert all(isinstance(v.type, IndexType) for v in unique)
    assert not any(isinstance(e, AffineSymExpr) for r in results for e in r.dfs())
    return AffineMap(len(unique), 0, results), unique
