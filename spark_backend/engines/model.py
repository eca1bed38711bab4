"""What an engine gives for an event that it cannot evaluate an expression on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """An evaluation error: what is wrong, and the innermost subexpression that erred where the engine knows it."""

    text: str
    subexpression: str = ""


class GaveUpError(Exception):
    """The engine ended the evaluation, by a bound or a fault of its own: no outcome of the expression, nor an error in it."""
