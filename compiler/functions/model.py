"""An overload: one row that declares a function for one choice of argument types."""

from __future__ import annotations

from dataclasses import dataclass

from ..celtypes import CelType


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. The id is the specification's, stable and never reused.

    `params` of a method begin with the target's type. `examples` are (CEL text, value) pairs, where the value is
    what a bool, int, double or string evaluates to, or `ERROR`.
    """

    id: str
    function: str
    params: tuple[CelType, ...]
    result: CelType
    doc: str
    examples: tuple[tuple[str, object], ...]
    member: bool = False
    strict: bool = True


class _Error:
    def __repr__(self) -> str:
        return "error"


ERROR = _Error()
"""The value of an example that is an evaluation error."""
