"""Our own CEL evaluator, in Python: what constants are folded with, what evaluates the functions that no engine has,
and what finds the subexpression that erred. It knows the whole language and is held to the conformance vectors.
"""

from . import (
    encoders_ext,
    lists_ext,
    math_ext,
    operators,
    optionals,
    regex_ext,
    sets_ext,
    standard,
    strings_ext,
    times,
)
from .evaluate import Evaluator, evaluate, evaluator
from .frame import MAX_STEPS
from .registry import IMPLEMENTATIONS
from .values import CelError, Value, same

__all__ = [
    "IMPLEMENTATIONS",
    "MAX_STEPS",
    "CelError",
    "Evaluator",
    "Value",
    "encoders_ext",
    "evaluate",
    "evaluator",
    "lists_ext",
    "math_ext",
    "operators",
    "optionals",
    "regex_ext",
    "same",
    "sets_ext",
    "standard",
    "strings_ext",
    "times",
]
