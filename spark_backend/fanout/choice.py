"""The one SQL expression that evaluates a candidate by the shape of its filter.

The JVM never compiles a generated method of more than 8,000 bytes of bytecode, and whole-stage code generation puts
all of an expression into one method. So there are three sizes. A small CASE stands as it is. A larger one is given an
operand that has no generated form, which keeps whole-stage generation away: Spark then splits it into small methods.
And only the shapes of most filters are in it: the rest, which may be thousands, are interpreted, found by bisection.
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
    generated: list[tuple[int, str]] = []
    size = 0
    for number, condition in conditions:
        size += len(condition)
        if size > MAX_GENERATED:
            break
        generated.append((number, condition))
    rest = sorted(conditions[len(generated) :])
    if not rest and size <= MAX_INLINE:
        return _case(generated, names) or "CAST(NULL AS BOOLEAN)"
    interpreted = _bisected(rest, names) if rest else "CAST(NULL AS BOOLEAN)"
    a, b = names.of("a"), names.of("b")
    otherwise = f"get(zip_with(array(0), array(0), ({a}, {b}) -> {interpreted}), 0)"
    return _case(generated, names, otherwise) or otherwise


def _case(conditions: Sequence[tuple[int, str]], names: Names, otherwise: str = "") -> str:
    if not conditions:
        return ""
    branches = " ".join(f"WHEN {number} THEN {condition}" for number, condition in conditions)
    return f"CASE {names.of('shape')} {branches} {f'ELSE {otherwise} ' if otherwise else ''}END"


def _bisected(conditions: Sequence[tuple[int, str]], names: Names) -> str:
    if len(conditions) <= _LEAF:
        return _case(conditions, names)
    middle = len(conditions) // 2
    low, high = _bisected(conditions[:middle], names), _bisected(conditions[middle:], names)
    return f"CASE WHEN {names.of('shape')} < {conditions[middle][0]} THEN {low} ELSE {high} END"
