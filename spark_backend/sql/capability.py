"""Which overloads run natively, and why the others do not: read from the one table of lowerings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tricel.compiler.functions import ALL

from .handlers import LOWERINGS
from .reasons import Reason


class Support(StrEnum):
    """How an overload runs on Spark."""

    NATIVE = "native"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Capability:
    """How an overload runs, and the reason where it is not native (or the condition where it is).

    `code` is the reason's.
    """

    support: Support
    reason: str = ""
    code: str = ""


def capabilities() -> dict[str, Capability]:
    """Every overload's support, by id. One without an entry is left to an engine."""
    found = {}
    for row in ALL:
        lowering = LOWERINGS.get(row.id)
        reason = Reason.NO_LOWERING if lowering is None else lowering.reason
        if reason is not None:
            found[row.id] = Capability(Support.FALLBACK, reason.text.format(row.function), reason.code)
        elif lowering is not None:
            found[row.id] = Capability(Support.NATIVE, lowering.condition)
    return found
