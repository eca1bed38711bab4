"""Ordering. Spark holds NaN above every number, CEL holds every comparison with NaN false."""

from __future__ import annotations

from functools import partial

from ..sql import Sql
from .registry import lowers


def _plain(sign: str, a: Sql, b: Sql) -> str:
    return f"{a} {sign} {b}"


def _double(sign: str, a: Sql, b: Sql) -> str:
    """Guards the operand that, being NaN, would make Spark say true; an error on the other side stays an error."""
    high, other = (b, a) if sign in ("<", "<=") else (a, b)
    if not high.nan:
        return f"{a} {sign} {b}"
    certain = "" if other.literal is not None else f" AND {other} IS NOT NULL"
    return f"{a} {sign} {b} AND NOT (isnan({high}){certain})"


for _stem, _sign in (("less", "<"), ("less_equals", "<="), ("greater", ">"), ("greater_equals", ">=")):
    _ids = [f"{_stem}_{_type}" for _type in ("bool", "int64", "string", "bytes", "timestamp", "duration")]
    lowers(*_ids, infix=True)(partial(_plain, _sign))
    lowers(f"{_stem}_double", infix=True, twice=(0, 1))(partial(_double, _sign))
