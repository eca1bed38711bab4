"""The boundary around the work on one filter: an exception that nobody foresaw becomes a diagnostic.

Whoever wrote the filter is told of it like of anything else, and other filters go on. With `TRICEL_FAULTS=raise` in the
environment there is no boundary: the exception ends the program, with its traceback. A RecursionError does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from .diagnostics import Diagnostic
from .source import NOWHERE, Source, Span

T = TypeVar("T")

INTERNAL = "TRI901"
SWITCH = "TRICEL_FAULTS"
REPORT = f"this is a fault of tricel, not of the filter: please report it; {SWITCH}=raise shows the traceback"


def bounded(work: Callable[[], T], otherwise: Callable[[Exception], T], *foreseen: type[Exception]) -> T:
    """What the work gives, or `otherwise` of an exception that is none of the foreseen ones."""
    try:
        return work()
    except foreseen:
        raise
    except Exception as e:
        # How deep is too deep depends on the caller's stack, too: a filter that is nested deeply may reach it.
        if os.environ.get(SWITCH) == "raise" and not isinstance(e, RecursionError):
            raise
        return otherwise(e)


def internal_error(error: Exception, source: Source, span: Span = NOWHERE, field: str = "") -> Diagnostic:
    """TRI901 for an exception."""
    return Diagnostic(INTERNAL, f"tricel failed with {kind_and_place(error)}", source, span, REPORT, field)


def kind_and_place(error: Exception) -> str:
    """The type of an exception, and the line of the code that it comes from: nothing of what was worked on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    return f"{type(error).__name__} in {trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
