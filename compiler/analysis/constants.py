"""Constants that are an error for every event: `timestamp("2024-01-01")`, `1 / 0`.

Such a filter errs where the constant is evaluated, and an error is no match. Logic may absorb the error, but nobody
means one; where nothing can absorb it, the filter never matches, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..check import Checked
from ..diagnostics import Diagnostic
from ..functions import LAZY
from ..help.near_forms import near_duration, near_time
from ..interpreter import CelError, evaluate
from ..nodes import Call, Expr, Lit, children, walk
from ..source import Source
from ..unparse import brief
from .constraints import MAX_CONSTANT_STEPS
from .cost import cost_of
from .findings import never_matches

MAX_CONSTANTS = 100
"""Constants and parts of them that are evaluated for one filter; of more, nothing is said."""


def failing_constants(checked: Checked, source: Source) -> tuple[Diagnostic, ...]:
    """TRI212 for a filter that never matches because of constants that err, TRI257 for one that may match."""
    left = [MAX_CONSTANTS]
    failing = [found for e in checked.constants for found in _failing(e, left)]
    if not failing:
        return ()
    never = never_matches(checked, tuple(e for e, _ in failing)) and not never_matches(checked, ())
    return tuple(_diagnostic(e, why, source, never=never) for e, why in failing)


def _failing(e: Expr, left: list[int]) -> Iterator[tuple[Expr, str]]:
    """The smallest parts of a constant that err, each with the error."""
    if isinstance(e, Lit):
        return
    left[0] -= 1
    if left[0] < 0 or cost_of(e).max > MAX_CONSTANT_STEPS:
        return
    try:
        evaluate(e, {})
        why = ""
    except CelError as error:
        why = str(error)
    if not why and not any(isinstance(part, Call) and part.function in LAZY for part in walk(e)):
        return
    found = [inner for part in children(e) for inner in _failing(part, left)]
    yield from found
    if why and not found:
        yield e, why


def _diagnostic(e: Expr, why: str, source: Source, *, never: bool) -> Diagnostic:
    outcome = "the filter never matches" if never else "it is an error for every event"
    message = f"'{brief(e)}' cannot be evaluated, so {outcome}: {why}"
    return Diagnostic("TRI212" if never else "TRI257", message, source, e.span, _help(e))


def _help(e: Expr) -> str:
    """How the constant is probably to be written."""
    match e:
        case Call(function="timestamp", args=(Lit(value=str(text)),)):
            near = near_time(text)
            return f"write timestamp({near})" if near else 'write a time such as timestamp("2024-01-01T00:00:00Z")'
        case Call(function="duration", args=(Lit(value=str(text)),)):
            near = near_duration(text)
            units = 'write a duration such as duration("1h30m"): its units are h, m, s, ms, us and ns'
            return f'write duration("{near}")' if near else units
        case Call(function="bool", args=(Lit(),)):
            return 'it takes "true" and "false"'
        case _:
            return ""
