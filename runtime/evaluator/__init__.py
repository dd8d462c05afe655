"""The meaning of the IR, in NumPy: `evaluate` computes a pipeline of level 1, 2 or 3.

docs/semantics.md says the same in words. It shares no code with the analyses, passes and kernels that it
judges.
"""

from tilefuse.runtime.evaluator.errors import EvaluationError
from tilefuse.runtime.evaluator.evaluate import evaluate
from tilefuse.runtime.evaluator.table import RULES, Rule

__all__ = ["RULES", "EvaluationError", "Rule", "evaluate"]
