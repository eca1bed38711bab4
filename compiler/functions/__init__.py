"""The functions of CEL: one row for each overload. The rows drive the checker, the tests and the reference."""

from collections import defaultdict
from collections.abc import Mapping

from .conversions import CONVERSIONS
from .model import ERROR, Overload
from .operators import OPERATORS
from .strings import STRINGS
from .times import TIME

__all__ = ["ALL", "BY_CALL", "ERROR", "Overload"]

ALL: tuple[Overload, ...] = (*OPERATORS, *STRINGS, *CONVERSIONS, *TIME)


def _by_call() -> Mapping[tuple[str, bool], tuple[Overload, ...]]:
    table: dict[tuple[str, bool], list[Overload]] = defaultdict(list)
    for row in ALL:
        table[row.function, row.member].append(row)
    return {key: tuple(rows) for key, rows in table.items()}


BY_CALL = _by_call()
"""The overloads of a call, by (function, whether it is a method)."""
