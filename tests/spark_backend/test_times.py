"""Times, durations and conversions on typed columns: native SQL and the engine agree, whatever the session's time zone.

The rows are times where Spark, Java and CEL could part: the ends of the range, before the Gregorian calendar, before
1970, at leap days and at changes of the clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from cel_expr_python import cel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_settings import set_to
from tricel.compiler import check_filter
from tricel.compiler.values import rfc3339
from tricel.spark_backend import column
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.frames import layout_of

pytestmark = pytest.mark.spark

TIMES = (
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00.000001Z",
    "0001-03-01T12:34:56.789012Z",
    "0004-02-29T23:59:59.999999Z",
    "1000-01-01T00:00:00Z",
    "1582-10-04T23:59:59Z",
    "1582-10-10T12:00:00Z",
    "1582-10-15T00:00:00Z",
    "1677-09-21T00:12:43.145224Z",
    "1677-09-21T00:12:43.145225Z",
    "1700-02-28T23:00:00Z",
    "1899-12-31T23:59:59.5Z",
    "1900-01-01T00:00:00Z",
    "1900-03-01T00:00:00Z",
    "1969-12-31T23:59:59.9999Z",
    "1969-12-31T23:59:59.999999Z",
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00.000001Z",
    "1985-12-31T18:29:59Z",
    "2000-02-29T12:00:00.120Z",
    "2000-12-31T23:59:59Z",
    "2024-02-29T00:00:00.5Z",
    "2024-03-10T07:00:00Z",
    "2024-03-31T00:59:59.999999Z",
    "2024-03-31T01:00:00Z",
    "2024-10-27T00:59:59Z",
    "2024-10-27T01:00:00.001Z",
    "2024-12-31T23:59:59.999Z",
    "2262-04-11T23:47:16.854775Z",
    "2262-04-11T23:47:16.854776Z",
    "2262-04-11T23:47:17.100Z",
    "9999-12-31T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
)
FIELDS = {
    "getFullYear": (1970, 9999),
    "getMonth": (0, 11),
    "getDate": (1, 29),
    "getDayOfMonth": (0, 30),
    "getDayOfWeek": (0, 6),
    "getDayOfYear": (0, 365),
    "getHours": (0, 23),
    "getMinutes": (0, 59),
    "getSeconds": (0, 56),
    "getMilliseconds": (0, 999),
}
ZONES = ("", "'UTC'", "'+01:00'", "'-09:30'", "'+5:45'", "'-23:59'")
LENGTHS = ("0", "1us", "-1us", "1.5s", "-36h", "8760h", "9223372036.854775s", "-9223372036.854775s")
WHOLE = "timestamp('2024-03-31T01:00:00Z')"


def _expressions() -> Iterator[str]:
    for field, (low, high) in FIELDS.items():
        yield f"ce.time.{field}() == {low}"
        yield f"ce.time.{field}('-09:30') < {high}"
        for zone in ZONES:
            yield f"ce.time.{field}({zone}) % 7 == 3"
            yield f"ce.time.{field}({zone}) % 10 >= 5"
    for length in LENGTHS:
        d = f"duration('{length}')"
        yield f"ce.time + {d} > {WHOLE}"
        yield f"{d} + ce.time == ce.time"
        yield f"ce.time - {d} < {WHOLE}"
        yield f"ce.time + {d} - {d} == ce.time"
        yield f"string(ce.time + {d}) > '2024-03-31T01:00:00Z'"
        yield f"ce.time - {WHOLE} > {d}"
        yield f"{WHOLE} - ce.time <= {d}"
        yield f"ce.time - {WHOLE} + {d} >= duration('1h')"
        yield f"ce.time - timestamp(0) - {d} != {d}"
    for at in (0, -62135596800, 253402300799, 1711846800, -11676096000):
        yield f"int(ce.time) == {at}"
        yield f"timestamp({at}) <= ce.time"
        yield f"timestamp(int(ce.time) + {at}) > ce.time"
        yield f"timestamp(int(ce.time) + {at}).getDayOfYear() > 180"
    for unit in ("getHours", "getMinutes", "getSeconds", "getMilliseconds"):
        yield f"(ce.time - {WHOLE}).{unit}() % 5 == 2"
        yield f"({WHOLE} - ce.time).{unit}() > 40"
        yield f"(ce.time - timestamp(0)).{unit}() <= -1"
    for text in TIMES[::2]:
        yield f"string(ce.time) == '{text}'"
        yield f"ce.time == timestamp('{text}')"
        yield f"ce.time > timestamp('{text}')"
    yield "ce.time.getHours('02:00') == 2"
    yield "string(ce.time).size() == 20"
    yield "string(ce.time).endsWith('00Z')"
    yield "string(ce.time - timestamp(0)) == '-0.000100s'"
    yield "string(ce.time - timestamp(0)).startsWith('-9223372036')"
    yield "string(ce.time - timestamp(0)).size() > 12"
    yield "timestamp(ce.time) == ce.time"


EXPRESSIONS = tuple(_expressions())


@cache
def reference(expression: str) -> tuple[bool | None, ...]:
    """The engine's answers, a time for each row."""
    text = expression.replace("ce.time", "timestamp(t)")
    program = cel.NewEnv(variables={"t": cel.Type.DYN}).compile(text, disable_check=True)
    values = [program.eval(data={"t": time}) for time in TIMES]
    return tuple(v.value() if v.type().name() == "BOOL" else None for v in values)


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> Iterator[DataFrame]:
    """A row for each time, and one without."""
    found = [rfc3339.microseconds(text) for text in TIMES]
    rows = [(i, micros[0] if micros else None) for i, micros in enumerate([*found, None])]
    made = spark.createDataFrame(rows, "row INT, micros LONG")
    made = made.select("row", F.expr("timestamp_micros(micros) AS time"))
    made = made.cache()
    yield made
    made.unpersist()


@pytest.fixture(
    params=[("true", "Asia/Kathmandu"), ("false", "America/New_York")],
    ids=["ansi, Kathmandu", "not ansi, New York"],
)
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """A session's settings that must not change an answer."""
    wanted = {
        "spark.sql.ansi.enabled": request.param[0],
        "spark.sql.session.timeZone": request.param[1],
        "spark.sql.legacy.timeParserPolicy": "LEGACY" if request.param[0] == "false" else "EXCEPTION",
        "spark.sql.function.concatBinaryAsString": request.param[0],
    }
    with set_to(spark, wanted):
        yield


def compiled(expression: str, frame: DataFrame) -> CompiledFilter:
    """The expression lowered for the frame."""
    checked, diagnostics = check_filter(expression)
    assert checked is not None, diagnostics
    return lower_filter(checked, layout_of(frame))


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("part", range(8))
def test_native_and_engine_agree(frame: DataFrame, part: int) -> None:
    chosen = EXPRESSIONS[part::8]
    filters = [compiled(e, frame) for e in chosen]
    assert [(f.cel, f.sql) for f in filters if f.residual] == []
    rows = sorted(frame.select("row", *(column(frame, f).alias(f"c{i}") for i, f in enumerate(filters))).collect())
    wrong = [
        f"{e} on {time}: expected {expected}, not {rows[n][i + 1]}"
        for i, e in enumerate(chosen)
        for n, (time, expected) in enumerate(zip(TIMES, reference(e), strict=True))
        if expected != rows[n][i + 1]
    ]
    assert wrong == []
    assert {rows[-1][i + 1] for i, e in enumerate(chosen) if "ce.time" in e} == {None}


REFUSED = (
    ("ce.time.getHours('Europe/Berlin') == 1", "by its name"),
    ("ce.time.getHours('+24:00') == 1", "by its name"),
    ("ce.time.getHours(ce.zone) == 1", "computed"),
    ("ce.time - ce.time < duration('9223372037s')", "292 years"),
    ("string(double(ce.zone)) == ce.zone", "Java before 19"),
)


@pytest.mark.parametrize(("expression", "reason"), REFUSED)
def test_what_spark_has_no_exact_form_of_says_why(frame: DataFrame, expression: str, reason: str) -> None:
    zoned = frame.selectExpr("*", "'UTC' AS zone")
    found = compiled(expression, zoned)
    assert [reason in c.reason for c in found.conjuncts] == [True]
