"""Texts read as times and durations: Spark's nanoseconds are our own evaluator's, whatever the session's settings."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from random import Random

import pytest
from filter_sets import Named
from pyspark.sql import DataFrame, SparkSession
from spark_settings import set_to
from tricel.compiler import Source, check_filter, parse
from tricel.compiler import celtypes as t
from tricel.compiler.interpreter import CelError, evaluator
from tricel.compiler.nodes import renumber
from tricel.compiler.values.cel import Duration, Timestamp
from tricel.spark_backend import column, fan_out
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.frames import layout_of
from tricel.spark_backend.sql import Typed, render
from tricel.spark_backend.sql import column as sql_column
from tricel.spark_backend.sql.handlers import timestamps
from tricel.spark_backend.sql.lower import Lowering

from tricel import compile_filter

pytestmark = pytest.mark.spark

TIMES = (
    *("", "Z", "now", "epoch", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00Z", "20240101T000000Z"),
    *(
        "0001-01-01T00:00:00+00:00",
        "0001-01-01T00:59:59+01:00",
        "0000-12-31T23:59:59-01:00",
        "0001-01-01T00:00:00-00:01",
    ),
    *(
        "9999-12-31T23:59:59.999999999Z",
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T23:59:59+23:59",
        "10000-01-01T00:00:00Z",
    ),
    *(
        "2024-02-29T00:00:00+23:59",
        "2024-02-29T00:00:00-23:59",
        "2024-02-29T00:00:00+24:00",
        "2024-02-29T00:00:00+18:60",
    ),
    *(
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2000-02-29T00:00:00Z",
        "2024-04-31T00:00:00Z",
        "2024-00-10T00:00:00Z",
    ),
    *(
        "2024-01-01T24:00:00Z",
        "2016-12-31T23:59:60Z",
        "2024-01-01T00:60:00Z",
        "1582-10-10T00:00:00Z",
        "0004-02-29T12:00:00Z",
    ),
    *("2024-01-01T00:00:00.Z", "2024-01-01T00:00:00.1234567891Z", "2024-01-01T00:00:00,5Z", "2024-01-01 00:00:00Z"),
    *(
        "2024-01-01t00:00:00z",
        "2024-01-01T00:00:00Z\n",
        " 2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00+0100",
        "2024-1-01T00:00:00Z",
    ),
    *("2024-01-01T00:00:00−01:00", "２０２４-01-01T00:00:00Z", "2024-01-01T00:00:00\0Z", "2024-01-01T00:00:00.5\0Z"),
    *(
        "1969-12-31T23:59:59.999999999Z",
        "2024-03-31T01:30:00+05:45",
        "2024-01-01T00:00:00.000000001Z",
        "-024-01-01T00:00:00Z",
    ),
    "2024-01-01T00:00:00." + "1" * 5_000 + "Z",
)
SPANS = (
    *(
        "",
        "0",
        "+0",
        "-0",
        "00",
        "0s",
        "s",
        "1",
        ".s",
        "1.s",
        ".5s",
        "1..5s",
        "-",
        "+",
        "--1s",
        "1h1",
        "1h 1m",
        "1m1ms",
    ),
    *("1ms1m", "1h30m1.5s", "-1us", "1H", "1µs", "1d", "1e3s", "0x1s", "1s\n", " 1s", "١s", "1s\0", "1.5.5s", "-1h-1m"),
    *(
        "315576000000s",
        "315576000000.999999999s",
        "315576000000.9999999999s",
        "315576000001s",
        "-315576000000.999999999s",
    ),
    *(
        "87660000h",
        "87660000.0000000001h",
        "0.33333333333333333333333333333h",
        "3.6h",
        "0.000277777777777777777777777778h",
    ),
    *(
        "0.999999999999999999999999h",
        "0.9999999999999999999999999999h",
        "999999999999999999999s",
        "1000000000000000000000ns",
    ),
    *("315576000000999999999ns", "315576000001000000000ns", "1" * 400 + "s", "0" * 5_000 + "1s", "1s" * 2_000),
    *("." + "0" * 5_000 + "1h", "0." + "9" * 5_000 + "h", "1ns" + "0.1ns" * 50),
)
SETTINGS = (
    {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "America/New_York"},
    {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Kathmandu"},
    {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
    },
)


@pytest.fixture(params=SETTINGS, ids=lambda wanted: " ".join(wanted.values()))
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """A session's settings that must not change an answer."""
    with set_to(spark, request.param):
        yield


def random_times(random: Random, count: int) -> Iterator[str]:
    """Times, most of them valid."""
    for _ in range(count):
        year, day = random.choice((1, 4, 1582, 1900, 1969, 2000, 2023, 2024, 9999)), random.randint(1, 31)
        date = f"{year:04d}-{random.randint(1, 12):02d}-{day:02d}"
        clock = f"{random.randint(0, 23):02d}:{random.randint(0, 59):02d}:{random.randint(0, 59):02d}"
        fraction = "".join(random.choice("0123456789") for _ in range(random.randint(0, 12)))
        zone = f"{random.choice('+-')}{random.randint(0, 23):02d}:{random.randint(0, 59):02d}"
        yield f"{date}{random.choice('TTt')}{clock}{'.' * bool(fraction)}{fraction}{random.choice(('Z', 'z', zone))}"


def random_spans(random: Random, count: int) -> Iterator[str]:
    """Durations, most of them valid."""

    def digits(most: int) -> str:
        return "".join(random.choice("0000123456789") for _ in range(random.randint(0, most)))

    for _ in range(count):
        parts = (
            f"{digits(10)}{random.choice(('0', '.0', '.' + digits(30)))}{random.choice(('ns', 'us', 'ms', 's', 'm', 'h'))}"
            for _ in range(random.randint(1, 4))
        )
        yield random.choice(("", "-", "+")) + "".join(parts)


RANDOM = Random(20)
FAMILIES: dict[str, tuple[Callable[..., Typed], tuple[str, ...]]] = {
    "timestamp": (timestamps.time, (*TIMES, *random_times(RANDOM, 400))),
    "duration": (timestamps.span, (*SPANS, *random_spans(RANDOM, 400))),
}


def expected(function: str, text: str) -> int | None:
    """The nanoseconds that our own evaluator reads; None for an error."""
    call, _ = parse(Source(f"{function}(x)"))
    assert call is not None
    try:
        value = evaluator(renumber(call))({"x": text})
    except CelError:
        return None
    assert isinstance(value, Timestamp | Duration)
    return value.nanos


def lowering(frame: DataFrame) -> Lowering:
    """A lowering to ask for the SQL of one value."""
    checked, _ = check_filter("true")
    assert checked is not None
    return Lowering(checked.checked, layout_of(frame))


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("function", FAMILIES)
def test_spark_reads_what_the_evaluator_reads(spark: SparkSession, function: str) -> None:
    read, texts = FAMILIES[function]
    frame = spark.createDataFrame([*enumerate(texts), (len(texts), None)], "i INT, x STRING")
    sql = read(lowering(frame), Typed(sql_column("x"), t.STRING))
    found = {row["i"]: row["n"] for row in frame.selectExpr("i", f"{render(sql.sql)} AS n").collect()}
    assert found.pop(len(texts)) is None
    wanted = {i: expected(function, x) for i, x in enumerate(texts)}
    assert len(texts) / 2 < sum(n is not None for n in wanted.values())
    wrong = [
        (texts[i][:60], n, found[i])
        for i, n in wanted.items()
        if n != (found[i] if found[i] is None else int(found[i]))
    ]
    assert wrong == []


LONG = 1_000_000
HOSTILE = (
    *("1" * LONG, "1" * LONG + "s", "." * LONG, "1." * (LONG // 2), "1s" * (LONG // 4), "1s" * (LONG // 4) + "x"),
    *("0" * LONG + "1s", "2024-01-01T00:00:00." + "1" * LONG, "2024-01-01T00:00:00." + "1" * LONG + "Z", "-" * LONG),
)


@pytest.mark.parametrize("function", FAMILIES)
def test_long_texts_are_read_in_linear_time(spark: SparkSession, function: str) -> None:
    """What took the square of their length would take hours."""
    read, _ = FAMILIES[function]
    frame = spark.createDataFrame([*enumerate(HOSTILE)], "i INT, x STRING")
    sql = read(lowering(frame), Typed(sql_column("x"), t.STRING))
    began = time.monotonic()
    found = [row["n"] for row in frame.selectExpr("i", f"{render(sql.sql)} AS n").orderBy("i").collect()]
    assert time.monotonic() - began < 60
    assert [expected(function, x) for x in HOSTILE] == [n if n is None else int(n) for n in found]


OF_THE_EVENT = (
    *("ce.time == ce.time", "ce.time >= timestamp('2024-01-01T00:00:00.000000001Z')", "has(ce.time)"),
    *("ce.time.getHours() == 0", "string(ce.time).endsWith('1Z')", "ce['time'] != timestamp('2024-01-01T00:00:00Z')"),
    *("ce.time - duration('1ns') < timestamp('2024-01-01T00:00:00Z')", "type(ce.time) == google.protobuf.Timestamp"),
    *("ce.time - timestamp('1970-01-01T00:00:00Z') > duration('1h')", "!has(ce.time) || ce.time.getFullYear() > 2000"),
)


@pytest.mark.usefixtures("session")
def test_the_time_of_an_event_in_a_text_column(spark: SparkSession) -> None:
    """It is read as `timestamp()` of the text would be, by Spark as by the fallback: what is no time is an error."""
    texts = [*FAMILIES["timestamp"][1][:120], None]
    frame = spark.createDataFrame([*enumerate(texts)], "row INT, time STRING")
    filters = [compiled(text, frame) for text in OF_THE_EVENT]
    named = [compile_filter(with_a_name(text)).checked for text in OF_THE_EVENT]
    apart = [lower_filter(checked, layout_of(frame), simplify=False) for checked in named]
    assert all(f.residual for f in apart)
    columns = [column(frame, f).alias(f"c{i}") for i, f in enumerate((*filters, *apart))]
    rows = [list(row)[1:] for row in frame.select("row", *columns).orderBy("row").collect()]
    for i, text in enumerate(OF_THE_EVENT):
        wanted = [event_outcome(text, time_) for time_ in texts]
        assert len(set(wanted)) > 1, text
        assert wanted == [row[i] for row in rows], text
        assert wanted == [row[len(filters) + i] for row in rows], f"{text} in the fallback"


_READ = re.compile(r"(?<!has\()(ce\.time|ce\['time'\])")


def with_a_name(text: str) -> str:
    """The same filter with a name for the time: nothing that reads it can be computed for the engine."""
    return f'cel.bind(d, ce.time, ({_READ.sub("d", text)}) && strings.quote(has(ce.time) ? "a" : "b") != "")'


def event_outcome(text: str, time_: str | None) -> bool | None:
    """What our own evaluator says of an event; None for an error."""
    checked, _ = check_filter(_READ.sub(r"timestamp(\1)", text))
    assert checked is not None
    try:
        found = evaluator(checked.checked.expr)({"ce": {} if time_ is None else {"time": time_}})
    except CelError:
        return None
    assert isinstance(found, bool)
    return found


def test_many_filters_over_times_give_the_pairs_of_each_alone(spark: SparkSession) -> None:
    """Times and numbers that filters write out are parameters of a shape there."""
    texts = ("2024-01-01T00:00:03Z", "2024-01-01T00:00:03.000000001Z", "2024-01-01T01:00:05+01:00", "never")
    rows = [(i, "t", json.dumps({"t": texts[i % 4], "n": i % 7, "d": f"{i}s"})) for i in range(20)]
    frame = spark.createDataFrame(rows, "row INT, type STRING, data STRING")
    written = [
        *(f'ce.type == "t" && timestamp(data.t) > timestamp("2024-01-01T00:00:0{k}Z")' for k in range(7)),
        *(f'timestamp("2024-01-01T00:00:03.00000000{k}Z") <= timestamp(data.t)' for k in range(3)),
        *(f'ce.type == "t" && duration(data.d) == duration("{k}s")' for k in range(9)),
        *(f"math.greatest(data.n, {k}) > {k + 1}" for k in range(9)),
        *(f"math.least(data.n, {k}.5) == data.n" for k in range(9)),
        *(f"math.round(data.n / {k}.0) == 1.0" for k in range(9)),
    ]
    triggers = [Named(text, compiled(text, frame)) for text in written]
    alone = frame.select("row", *(column(frame, f.compiled) for f in triggers)).collect()
    expected = sorted((r[0], f.id) for r in alone for f, value in zip(triggers, r[1:], strict=True) if value)
    assert sorted(map(tuple, fan_out(frame, triggers).select("row", "trigger").collect())) == expected
    assert len(expected) > len(written)


def compiled(text: str, frame: DataFrame) -> CompiledFilter:
    """The filter for the frame, all of it native."""
    checked, diagnostics = check_filter(text)
    assert checked is not None, diagnostics
    found = lower_filter(checked, layout_of(frame))
    assert not found.residual, [c.reason for c in found.residual]
    return found
