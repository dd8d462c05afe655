"""The meaning of the IR, in NumPy: `evaluate` computes a pipeline of level 1, 2 or 3.

docs/semantics.md says the same in words. It shares no code with the analyses, passes and kernels that it
judges.
"""

if __name__ != "tilefuse.evaluator":
    raise ImportError("import this package as tilefuse.evaluator")

from tilefuse.evaluator.errors import EvaluationError
from tilefuse.evaluator.evaluate import evaluate
from tilefuse.evaluator.table import RULES, Rule

__all__ = ["RULES", "EvaluationError", "Rule", "evaluate"]
