"""Our own CEL evaluator, in Python: what constants are folded with, what evaluates the functions that no engine has,
and what finds the subexpression that erred. It knows the whole language and is held to the conformance vectors.
"""

from ..values.cel import CelError, Value, same
from . import operators
from .evaluate import Evaluator, evaluate, evaluator
from .frame import MAX_STEPS
from .functions import (
    encoders_ext,
    lists_ext,
    math_ext,
    mqtt_ext,
    optionals,
    regex_ext,
    sets_ext,
    standard,
    strings_ext,
    times,
)
from .registry import IMPLEMENTATIONS

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
    "mqtt_ext",
    "operators",
    "optionals",
    "regex_ext",
    "same",
    "sets_ext",
    "standard",
    "strings_ext",
    "times",
]
