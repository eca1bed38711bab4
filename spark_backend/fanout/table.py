"""The filters as a table: a row for each key, with the filter's shape and parameters. It is broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..frames import expression
from ..sql import (
    Operand,
    Sql,
    array,
    case,
    cast,
    column,
    equal,
    field_of,
    function,
    integer,
    is_not_null,
    lambda_,
    operator,
)
from ..sql.names import FLAT, Names
from .planning.levels import hash_of
from .planning.plan import Entry, KeyValue
from .planning.shapes import Parameter

POSITION_BITS = 10
"""Bits of a key that say which question it answers, so that answers to different questions are never one key."""
_KEY = pa.struct(
    [("a", pa.int32()), ("b", pa.binary()), ("d", pa.float64()), ("i", pa.int64()), ("l", pa.list_(pa.binary()))]
)
_ARROW = {
    "s": pa.string(),
    "i": pa.int64(),
    "d": pa.float64(),
    "ls": pa.list_(pa.string()),
    "li": pa.list_(pa.int64()),
    "ld": pa.list_(pa.float64()),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What the table says of one entry: the shape's number, whether errors matter, the fallback's programs, what they read."""

    entry: Entry
    shape: int
    errors: int
    program: int | None = None
    reads: int | None = None


def hashed(answer: Operand, position: Operand) -> Sql:
    """A key: the hash of an answer, and the position of its question. NULL has a hash as well."""
    return keyed(function("xxhash64", answer), position)


def keyed(hash_: Operand, position: Operand) -> Sql:
    """A key by the hash of an answer."""
    return operator("|", function("shiftleft", hash_, integer(POSITION_BITS)), cast(position, "BIGINT"))


def table(spark: SparkSession, rows: Sequence[Row], names: Names) -> DataFrame:
    """The rows as a DataFrame: `key`, `trigger`, `shape`, `errors`, `program`, `reads`, `earlier` and the parameters.

    A filter has each key once, though two answers of it may have one hash.
    """
    columns: dict[str, pa.Array] = {
        "a": pa.array([r.entry.asked for r in rows], pa.int32()),
        "k": pa.array([[_key(0, v) for v in r.entry.values] for r in rows], pa.list_(_KEY)),
        "e": pa.array([[_key(a, v) for a, v in r.entry.earlier] or None for r in rows], pa.list_(_KEY)),
        names.of("trigger"): pa.array([r.entry.member.id for r in rows], pa.string()),
        names.of("shape"): pa.array([r.shape for r in rows], pa.int32()),
        names.of("errors"): pa.array([r.errors for r in rows], pa.int32()),
        names.of("program"): pa.array([r.program for r in rows], pa.int32()),
        names.of("reads"): pa.array([r.reads for r in rows], pa.int32()),
    }
    columns |= _parameters(rows, names)
    frame = spark.createDataFrame(pa.table(columns))
    kept = [F.col(c) for c in columns if c not in ("a", "k", "e")]
    a, k, e = map(column, ("a", "k", "e"))
    of_all = array([0])
    own = function("array_distinct", function("transform", k, lambda_(lambda x: _key_of(x, a))))
    earlier = function("transform", e, lambda_(lambda x: _key_of(x, field_of(x, "a"))))
    return frame.select(
        F.explode(expression(case((equal(a, integer(0)), of_all), otherwise=own))).alias(names.of("key")),
        expression(earlier).alias(names.of("earlier")),
        *kept,
    )


def _key_of(answer: Operand, position: Operand) -> Sql:
    """The key of an answer in the table, which has a field for each type."""
    d, i, b, levels = (field_of(answer, name) for name in ("d", "i", "b", "l"))
    hashes: list[tuple[Sql, Sql]] = [(is_not_null(x), function("xxhash64", x)) for x in (d, i)]
    hashes.append((is_not_null(levels), hash_of(levels)))
    return keyed(case(*hashes, otherwise=function("xxhash64", b)), position)


def _key(position: int, value: KeyValue | None) -> dict[str, Any]:
    found: dict[str, Any] = {"a": position, "b": None, "d": None, "i": None, "l": None}
    match value:
        case tuple():
            found["l"] = value
        case bytes():
            found["b"] = value
        case float():
            found["d"] = value
        case int():
            found["i"] = value
    return found


def _parameters(rows: Sequence[Row], names: Names) -> dict[str, pa.Array]:
    by_row: list[dict[str, list[Parameter]]] = []
    most: dict[str, int] = {}
    for row in rows:
        found: dict[str, list[Parameter]] = {}
        for slot, value in row.entry.member.parameters:
            found.setdefault(slot.letter, []).append(value)
        by_row.append(found)
        for letter, values in found.items():
            most[letter] = max(most.get(letter, 0), len(values))
    columns = {}
    for letter, count in most.items():
        type_ = _ARROW[letter]
        for i in range(min(count, FLAT)):
            taken = (found.get(letter, ()) for found in by_row)
            columns[names.of(f"{letter}{i}")] = pa.array([v[i] if i < len(v) else None for v in taken], type_)
        if count > FLAT:
            rest = [found.get(letter, [])[FLAT:] or None for found in by_row]
            columns[names.of(letter)] = pa.array(rest, pa.list_(type_))
    return columns
