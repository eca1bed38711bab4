"""One SQL expression that holds many, and evaluates that of a candidate: by the shape of its filter, or another number.

The JVM never compiles a generated method of more than 8,000 bytes of bytecode, and whole-stage code generation puts
all of an expression into one method. So there are three sizes. A small CASE stands as it is. A larger one is given an
operand that has no generated form, which keeps whole-stage generation away: Spark then splits it into small methods.
And only those of most filters are in it: the rest, which may be thousands, are interpreted, found by bisection.
"""

from __future__ import annotations

from collections.abc import Sequence

from .names import Names

MAX_INLINE = 6_000
"""Characters of SQL that may be in one generated method."""
MAX_GENERATED = 16_000
"""Characters of SQL for which code is generated at all."""
_LEAF = 4


def by_shape(conditions: Sequence[tuple[int, str]], names: Names) -> str:
    """A BOOLEAN: the condition of the row's shape. `conditions` are by shape number, those of most filters first."""
    return chosen(conditions, names.of("shape"), "BOOLEAN", names)


def chosen(values: Sequence[tuple[int, str]], column: str, type_: str, names: Names) -> str:
    """A value of the SQL type by the number in a column, NULL for others. The numbers of most rows come first."""
    generated: list[tuple[int, str]] = []
    size = 0
    for number, value in values:
        size += len(value)
        if size > MAX_GENERATED:
            break
        generated.append((number, value))
    rest = sorted(values[len(generated) :])
    nothing = f"CAST(NULL AS {type_})"
    if not rest and size <= MAX_INLINE:
        return _case(generated, column) or nothing
    interpreted = bisected(rest, column) if rest else nothing
    a, b = names.of("a"), names.of("b")
    otherwise = f"get(zip_with(array(0), array(0), ({a}, {b}) -> {interpreted}), 0)"
    return _case(generated, column, otherwise) or otherwise


def _case(values: Sequence[tuple[int, str]], column: str, otherwise: str = "") -> str:
    if not values:
        return ""
    branches = " ".join(f"WHEN {number} THEN {value}" for number, value in values)
    return f"CASE {column} {branches} {f'ELSE {otherwise} ' if otherwise else ''}END"


def bisected(values: Sequence[tuple[int, str]], column: str) -> str:
    """The same of values in the order of their numbers, all of it alike."""
    if len(values) <= _LEAF:
        return _case(values, column)
    middle = len(values) // 2
    low, high = bisected(values[:middle], column), bisected(values[middle:], column)
    return f"CASE WHEN {column} < {values[middle][0]} THEN {low} ELSE {high} END"
