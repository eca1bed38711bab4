"""One SQL expression that holds many, and evaluates that of a candidate: by the shape of its filter, or another number.

The JVM never compiles a generated method of more than 8,000 bytes of bytecode, and whole-stage code generation puts
all of an expression into one method. So there are three sizes. A small CASE stands as it is. A larger one is given an
operand that has no generated form, which keeps whole-stage generation away: Spark then splits it into small methods.
And only those of most filters are in it: the rest, which may be thousands, are interpreted, found by bisection.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...sql import Sql, array, case, function, get, integer, lambda2, null
from ...sql.names import Names

MAX_INLINE = 6_000
"""Characters of SQL that may be in one generated method."""
MAX_GENERATED = 16_000
"""Characters of SQL for which code is generated at all."""
_LEAF = 4


def by_shape(conditions: Sequence[tuple[int, Sql]], names: Names) -> Sql:
    """A BOOLEAN: the condition of the row's shape. `conditions` are by shape number, those of most filters first."""
    return chosen(conditions, names.column("shape"), "BOOLEAN")


def chosen(values: Sequence[tuple[int, Sql]], number: Sql, type_: str) -> Sql:
    """A value of the SQL type by a number, NULL for others. The numbers of most rows come first."""
    generated: list[tuple[int, Sql]] = []
    size = 0
    for value in values:
        size += value[1].extent.length
        if size > MAX_GENERATED:
            break
        generated.append(value)
    rest = sorted(values[len(generated) :], key=lambda value: value[0])
    nothing = null(type_)
    if not rest and size <= MAX_INLINE:
        return _case(generated, number) if generated else nothing
    interpreted = bisected(rest, number) if rest else nothing
    one = array([integer(0)])
    otherwise = get(function("zip_with", one, one, lambda2(lambda a, b: interpreted)), 0)
    return _case(generated, number, otherwise) if generated else otherwise


def _case(values: Sequence[tuple[int, Sql]], number: Sql, otherwise: Sql | None = None) -> Sql:
    return case(*((integer(n), value) for n, value in values), subject=number, otherwise=otherwise)


def bisected(values: Sequence[tuple[int, Sql]], number: Sql) -> Sql:
    """The same of values, one at least, in the order of their numbers, all of it alike."""
    if len(values) <= _LEAF:
        return _case(values, number)
    middle = len(values) // 2
    low, high = bisected(values[:middle], number), bisected(values[middle:], number)
    return case((number < integer(values[middle][0]), low), otherwise=high)
