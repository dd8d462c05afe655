"""The table of semantics by op. To add an op, add a row to one of its three parts.

A rule is `(op, *operands) -> array`, or a tuple of arrays for several results. Operands are carried values
(carriers.py), broadcast against one another: a value that depends on x alone has the shape of a row.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from tilefuse.dialects.img.ops import PrintOp
from tilefuse.evaluator.carriers import CARRIERS, Rule, carried
from tilefuse.evaluator.casts import CAST_RULES
from tilefuse.evaluator.errors import EvaluationError
from tilefuse.evaluator.floats import FLOAT_RULES
from tilefuse.evaluator.integers import INTEGER_RULES
from tilefuse.evaluator.prints import print_lines

RULES: dict[type[Operation], Rule] = {**CAST_RULES, **FLOAT_RULES, **INTEGER_RULES, PrintOp: print_lines}

_ALL = ", ".join(str(type) for type in [*CARRIERS][:-1]), [*CARRIERS][-1]


def compute(op: Operation, operands: list[np.ndarray]) -> list[np.ndarray]:
    """Compute the results of one op. EvaluationError if the op or a type has no semantics here."""
    rule = RULES.get(type(op))
    if rule is None:
        raise EvaluationError(
            f"the evaluator does not define {op.name}; add a row to tilefuse.evaluator.RULES",
            op,
        )
    for value in (*op.operands, *op.results):
        if value.type not in CARRIERS:
            raise EvaluationError(
                f"{op.name}: values of type {value.type} cannot be computed; use {_ALL[0]} or {_ALL[1]}",
                op,
            )
    with np.errstate(all="ignore"):
        found = rule(op, *operands)
        several = found if isinstance(found, tuple) else (found,)
        return [np.asarray(carried(np.asarray(v), r.type)) for v, r in zip(several, op.results, strict=True)]


__all__ = ["RULES", "Rule", "compute"]
