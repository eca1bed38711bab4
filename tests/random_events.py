"""Events made to be difficult: as our own evaluator is given them, and as rows of each layout."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from tricel.compiler.values.cel import Timestamp

UTC = datetime.UTC
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
Activation = Mapping[str, Any]

DOCUMENTS = (
    '{"n": 1, "m": 1.5, "s": "abc", "u": "5", "b": true, "a": [1, 2, 3], "o": {"x": 1, "o": {"y": "a"}}, "z": null, "t": "2024-01-02T03:04:05Z", "k y": "v", "l": [{"k": 1, "v": "a"}, {"k": 2}]}',
    '{"n": -2, "m": 0, "s": "", "u": "-7", "b": false, "a": [], "o": {}, "z": 1, "t": "1969-12-31T23:59:59.999999Z", "l": []}',
    '{"n": 9007199254740993, "m": 1e308, "s": "😀a", "u": "9223372036854775808", "b": true, "a": ["a", "b"], "o": {"x": "a"}, "t": "2024-13-01T00:00:00Z"}',
    '{"n": "1", "m": "a", "s": 5, "u": null, "b": 1, "a": {"0": 1, "x": 2}, "o": [1, {"y": 2}], "t": 0, "l": {"k": 1}}',
    '{"n": null, "m": null, "s": null, "u": 1.9, "b": null, "a": null, "o": null, "z": null, "l": [null, 1, "a", [1], {}]}',
    '{"n": true, "m": [1], "s": ["abc"], "u": {}, "b": "true", "a": "abc", "o": "x", "t": true, "l": "abc"}',
    '{"n": 0.1, "m": 0.30000000000000004, "s": "e\\u0301", "u": "1.5", "b": [], "a": [null, true, 1.0, "1"], "o": {"x": null, "o": null}}',
    '{"n": -0.0, "m": 0.0, "s": "K", "u": "0x10", "b": {}, "a": [[1], [1.0], []], "o": {"x": [1, 2], "o": {"y": {"y": 1}}}, "l": [{"k": null}, {"v": 1}]}',
    '{"n": 9.223372036854776e18, "m": -9.223372036854776e18, "s": "'
    + "ab" * 2000
    + '", "u": "true", "a": ['
    + ", ".join(map(str, range(300)))
    + "]}",
    '{"n": 5e-324, "m": 1.7976931348623157e308, "s": "a\\nb", "u": " 5", "a": [{"k": 1}, {"k": 1.0}, {"k": "1"}], "o": {"x": true, "y": 1, "": 2, "k y": 3}, "t": "2024-02-29T12:00:00+05:45"}',
    '{"n": 3, "m": 3.0, "s": "\\ud83d\\ude00", "u": "+1", "b": true, "a": [3, 2, 1, 3], "o": {"x": 3, "a": 3, "b": 2}, "t": "9999-12-31T23:59:59Z", "l": [1, 2.5, -3]}',
    '{"n": 100, "m": 1e20, "s": "ſtrasse", "u": "1e3", "b": false, "a": ["", "a", "A", "é", "😀"], "o": {"x": {"x": {"x": 1}}}, "t": "0001-01-01T00:00:00Z", "l": [{"k": [1, 2]}]}',
    "{}",
    "[]",
    "[1, 2, 3]",
    '["a", {"k": 1}]',
    "null",
    "true",
    "5",
    "1.5",
    '"abc"',
    '""',
    '{"a": ' + "[" * 40 + "]" * 40 + "}",
    '{"n": 1, "n2": 2, "N": 3, "s": "x", "S": "y", "a": [1], "A": [2]}',
    "not JSON",
    "",
)
TIMES = (
    None,
    datetime.datetime(2024, 1, 2, 3, 4, 5, 123456, tzinfo=UTC),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime.datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC),
    datetime.datetime(1, 1, 1, tzinfo=UTC),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
)
SOURCES = ("/s", "a", "ab", "😀", "", "A b", "x,y", "5", "é")
TENANTS = (None, "a", "", "true", "1.5", "abc" * 500, "K", "90s", "2024-01-02T03:04:05Z")
PRIOS = (None, "5", "-1", "9223372036854775807", "x")
FLAGS = ("true", None, "false", "TRUE")


@dataclass(frozen=True)
class Layout:
    """One way to hold events in a table: their frame, and each event as our own evaluator is given it."""

    name: str
    frame: DataFrame
    events: Sequence[Activation]


def dynamic_layouts(spark: SparkSession) -> list[Layout]:
    """Text and JSON, held in three ways."""
    rows = [_row(i, document) for i, document in enumerate((*DOCUMENTS, *DOCUMENTS[:14]))]
    schema = "row INT, id STRING, source STRING, type STRING, subject STRING, time TIMESTAMP, tenant STRING, prio STRING, flag STRING, data STRING"
    flat = spark.createDataFrame(rows, schema).repartition(1).cache()
    events = [_event(row) for row in rows]
    core = ("row", "id", "source", "type", "subject", "time")
    pairs = ", ".join(
        f"CASE WHEN {n} IS NOT NULL THEN struct('{n}' AS k, {n} AS v) END" for n in ("tenant", "prio", "flag")
    )
    extensions = f"map_from_entries(array_compact(array({pairs}))) AS extensions"
    text = flat.selectExpr(*core, extensions, "data").localCheckpoint()
    variant = flat.selectExpr(*core, "tenant", "prio", "flag", "try_parse_json(data) AS data").localCheckpoint()
    struct = flat.selectExpr(
        "row", "struct(id, source, type, subject, time, tenant, prio, flag) AS ce", "data"
    ).localCheckpoint()
    return [Layout("JSON text", text, events), Layout("VARIANT", variant, events), Layout("struct", struct, events)]


def _row(i: int, document: str) -> tuple[Any, ...]:
    def one(values: Sequence[Any], by: int = 1) -> Any:
        return values[i * by % len(values)]

    type_, subject = one(("t", "com.example.order", "", "ab")), one((None, "a", "5", "😀", "abc"))
    return (i, f"id-{i}", one(SOURCES), type_, subject, one(TIMES), one(TENANTS), one(PRIOS), one(FLAGS), document)


def dynamic_event(i: int, document: str) -> Activation:
    """An event with this payload."""
    return _event(_row(i, document))


def _event(row: tuple[Any, ...]) -> Activation:
    names = ("id", "source", "type", "subject", "time", "tenant", "prio", "flag")
    ce = {n: _instant(v) for n, v in zip(names, row[1:9], strict=True) if v is not None}
    try:
        data = json.loads(row[9], parse_int=_number, parse_float=_number)
    except ValueError:
        return {"ce": ce}
    return {"ce": ce, "data": data}


def _number(text: str) -> float:
    return float(text) + 0.0


def _instant(value: Any) -> Any:
    if not isinstance(value, datetime.datetime):
        return value
    since = value - EPOCH
    return Timestamp(((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1_000)


TYPED_SCHEMA = """row INT,
  ce STRUCT<id: STRING, source: STRING, type: STRING, subject: STRING, time: TIMESTAMP, tenant: STRING, prio: BIGINT,
            ratio: DOUBLE, vip: BOOLEAN, at: TIMESTAMP>,
  data STRUCT<i: BIGINT, j: INT, d: DOUBLE, s: STRING, b: BOOLEAN, t: TIMESTAMP, li: ARRAY<BIGINT>, ls: ARRAY<STRING>,
              ld: ARRAY<DOUBLE>, m: MAP<STRING, BIGINT>, o: STRUCT<x: BIGINT, y: STRING>,
              lo: ARRAY<STRUCT<k: STRING, v: DOUBLE>>, v: STRING>"""
NAN, INF = float("nan"), float("inf")
INT_MIN, INT_MAX = -(2**63), 2**63 - 1


def typed_layout(spark: SparkSession) -> Layout:
    """Typed columns, NaN and infinity and NULL anywhere among them."""
    rows = [_typed_row(i) for i in range(40)]
    frame = spark.createDataFrame(rows, TYPED_SCHEMA).repartition(1)
    fields = [n for n in frame.schema["data"].dataType.fieldNames() if n != "v"]
    named = ", ".join(f"'{n}', data.{n}" for n in fields)
    frame = frame.selectExpr(
        "row", "ce", f"CASE WHEN data IS NOT NULL THEN named_struct({named}, 'v', try_parse_json(data.v)) END AS data"
    ).localCheckpoint()
    return Layout("typed", frame, [_typed_event(row) for row in rows])


def _typed_row(i: int) -> tuple[Any, ...]:
    def one(*values: Any) -> Any:
        return values[i % len(values)]

    ce = (
        *(f"id-{i}", one("/s", "a", "", "😀"), one("t", "ab"), one(None, "a", "5"), one(*TIMES), one(None, "a", "90s")),
        *(one(None, 0, 1, -1, INT_MAX, INT_MIN, 2**53 + 1), one(None, 0.0, 1.5, NAN, INF, -INF, -0.0, 1e308)),
        *(one(None, True, False), one(*reversed(TIMES))),
    )
    data = (
        *(one(None, 0, 1, 5, -7, INT_MAX, INT_MIN, 2**53 + 1), one(0, None, 7, -(2**31), 2**31 - 1)),
        *(
            one(None, 0.0, -0.0, 1.5, NAN, INF, -INF, 5e-324, 1.0, 9.3e18, 100.0),
            one("abc", None, "", "😀", "5", "a b", "x,y"),
        ),
        *(one(True, None, False), one(*TIMES)),
        one([1, 2, 3], None, [], [INT_MAX, 1], [1, None], [0, 0, 1]),
        one(["a", "b"], [], None, ["😀", "", "a"], ["a", None]),
        one([1.0, NAN], None, [], [0.0, -0.0, INF], [1.5]),
        one({"a": 1, "b": 2}, None, {}, {"a": None}, {"k y": 5, "a": INT_MIN}),
        one((1, "a"), None, (None, None), (-1, "")),
        one([("a", 1.0), ("b", NAN)], None, [], [(None, None)], [("", 2.0)]),
        one(*DOCUMENTS[:18]),
    )
    return (i, None if i == 39 else ce, None if i == 38 else data)


def _typed_event(row: tuple[Any, ...]) -> Activation:
    names = ("id", "source", "type", "subject", "time", "tenant", "prio", "ratio", "vip", "at")
    fields = ("i", "j", "d", "s", "b", "t", "li", "ls", "ld", "m", "o", "lo", "v")
    ce = {} if row[1] is None else {n: _instant(v) for n, v in zip(names, row[1], strict=True) if v is not None}
    if row[2] is None:
        return {"ce": ce}
    data = dict(zip(fields, row[2], strict=True))
    for name in ("li", "ls", "ld"):
        if data[name] is not None and None in data[name]:
            data[name] = None
    if data["m"] is not None:
        data["m"] = {k: v for k, v in data["m"].items() if v is not None}
    if data["o"] is not None:
        data["o"] = _object(("x", "y"), data["o"])
    if data["lo"] is not None:
        data["lo"] = [_object(("k", "v"), o) for o in data["lo"]]
    try:
        data["v"] = json.loads(data["v"], parse_int=_number, parse_float=_number)
        variant = {"v": data["v"]}
    except ValueError:
        variant = {}
    return {"ce": ce, "data": {k: _instant(v) for k, v in data.items() if v is not None and k != "v"} | variant}


def _object(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    return {n: v for n, v in zip(names, values, strict=True) if v is not None}
