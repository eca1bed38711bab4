"""The filters as a table: a row for each key, with the filter's shape and parameters. It is broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .names import FLAT, Names
from .plan import Entry, KeyValue
from .skeletons import Value

POSITION_BITS = 10
"""Bits of a key that say which question it answers, so that answers to different questions are never one key."""
_KEY = pa.struct([("a", pa.int32()), ("b", pa.binary()), ("d", pa.float64()), ("i", pa.int64())])
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


def hashed(answer: str, position: int | str) -> str:
    """The SQL of a key: the hash of an answer, and the position of its question. NULL has a hash as well."""
    return f"(shiftleft(xxhash64({answer}), {POSITION_BITS}) | CAST({position} AS BIGINT))"


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
    answer = (
        "CASE WHEN x.d IS NOT NULL THEN xxhash64(x.d) WHEN x.i IS NOT NULL THEN xxhash64(x.i) ELSE xxhash64(x.b) END"
    )
    key = f"shiftleft({answer}, {POSITION_BITS}) | CAST("
    own = f"CASE WHEN a = 0 THEN array(0L) ELSE array_distinct(transform(k, x -> {key} a AS BIGINT))) END"
    kept = [F.col(c) for c in columns if c not in ("a", "k", "e")]
    return frame.select(
        F.explode(F.expr(own)).alias(names.of("key")),
        F.expr(f"transform(e, x -> {key} x.a AS BIGINT))").alias(names.of("earlier")),
        *kept,
    )


def _key(position: int, value: KeyValue | None) -> dict[str, Any]:
    found: dict[str, Any] = {"a": position, "b": None, "d": None, "i": None}
    match value:
        case bytes():
            found["b"] = value
        case float():
            found["d"] = value
        case int():
            found["i"] = value
    return found


def _parameters(rows: Sequence[Row], names: Names) -> dict[str, pa.Array]:
    by_row: list[dict[str, list[Value]]] = []
    most: dict[str, int] = {}
    for row in rows:
        found: dict[str, list[Value]] = {}
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
