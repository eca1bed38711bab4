"""Ordering. Spark holds NaN above every number, CEL holds every comparison with NaN false."""

from __future__ import annotations

from functools import partial

from .. import Sql, Typed, function, is_not_null, not_, operator
from .registry import lowers


def _double(sign: str, a: Typed, b: Typed) -> Sql:
    """Guards the operand that, being NaN, would make Spark say true; an error on the other side stays an error."""
    high, other = (b, a) if sign in ("<", "<=") else (a, b)
    holds = operator(sign, a, b)
    if not high.nan:
        return holds
    is_nan: Sql = function("isnan", high)
    return holds & not_(is_nan if other.certain else is_nan & is_not_null(other))


for _stem, _sign in (("less", "<"), ("less_equals", "<="), ("greater", ">"), ("greater_equals", ">=")):
    _ids = [f"{_stem}_{_type}" for _type in ("bool", "int64", "string", "bytes", "timestamp", "duration")]
    lowers(*_ids)(partial(operator, _sign))
    lowers(f"{_stem}_double", twice=(0, 1))(partial(_double, _sign))
