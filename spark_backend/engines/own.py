"""Our own evaluator: the whole language, in pure Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from tricel.compiler import Limits, Source, parse, resolve, unparse
from tricel.compiler.celtypes import DYN
from tricel.compiler.environments.attributes import AttributeRecord
from tricel.compiler.environments.model import Environment
from tricel.compiler.interpreter import CelError, Evaluator, evaluator
from tricel.compiler.nodes import Expr
from tricel.compiler.values.cel import kind

from .instants import with_instants, with_times
from .model import Failure

_ACCEPTED = Limits(text=sys.maxsize)
"""What the compiler has accepted is read, however long it is as CEL."""


def refuses(_: Expr, record: AttributeRecord) -> str:
    """Nothing: it evaluates what the compiler accepts."""
    return ""


def compile_text(
    text: str, roots: frozenset[str], record: AttributeRecord
) -> Callable[[Mapping[str, Any]], bool | Failure]:
    """An evaluator of CEL text, in which attributes that are times are timestamps.

    Raises:
        ValueError: where the text is not CEL.
    """
    program = _compiled(text, roots, record)

    def evaluate(activation: Mapping[str, Any]) -> bool | Failure:
        try:
            found = program(with_instants(activation, record))
        except CelError as e:
            return Failure(str(e), unparse(e.expr) if e.expr is not None else "")
        return found if isinstance(found, bool) else Failure(f"the result is {kind(found)}, not bool")

    return evaluate


@lru_cache(maxsize=1024)
def _compiled(text: str, roots: frozenset[str], record: AttributeRecord) -> Evaluator:
    expr, diagnostics = parse(Source(text), _ACCEPTED)
    if expr is None:
        raise ValueError(diagnostics[0].message)
    names = Environment("", tuple((root, DYN) for root in sorted(roots)))
    return evaluator(with_times(resolve(expr, names), record))
