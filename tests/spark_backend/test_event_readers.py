"""The reader on Spark and the one without it say the same of every line: what it breaks, or all that is in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from event_lines import CASES, deep, event
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import VariantVal
from tricel.compiler.values.cloudevents import Event, Malformed, is_blank, read_event, time_text
from tricel.compiler.values.json_values import plain, read_json
from tricel.compiler.values.malformed import OPTIONAL, REQUIRED
from tricel.compiler.values.variants import decoded
from tricel.spark_backend.events.readers import read_events
from tricel.spark_backend.frames import takes_unpaired_surrogates

pytestmark = pytest.mark.spark

BOM = "\ufeff"
WRONG = [5, True, "", [], {}, None, "x"]
MEMBERS = ("specversion", "id", "source", "type", "subject", "time", "Ext", "n", "data", "data_base64")

NUMBERS = [
    *(
        "0",
        "-0",
        "0.0",
        "-0.0",
        "0e5",
        "-0e5",
        "1.10",
        "100",
        "1.0",
        "1e3",
        "1E+2",
        "123456789e0",
        "1e7",
        "9999999.5e0",
    ),
    *("1e-3", "1.5e-5", "9.99e-4", "1e22", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("1" * 38, "1" * 39, "0." + "1" * 38, "0." + "1" * 39, "0." + "0" * 38 + "1", "12." + "3" * 36, "12." + "3" * 37),
    *("1" * 1000, "1" * 1001, "-" + "1" * 1000, "1." + "1" * 999, "1." + "1" * 1000, "-1." + "1" * 999),
    *("1" * 998 + "e-5", "1" * 1000 + "e5", "1e0" + "0" * 997, "1e0" + "0" * 998, "1e0" + "0" * 999),
    *("01", "-01", "+1", ".5", "1.", "-", "1e", "0x1", "NaN", "Infinity", "-Infinity", "1_0", "١"),
]
TEXTS = [
    *(
        "{}{}",
        "{} {}",
        "{},{}",
        "{}]",
        "[{}",
        "{}\0",
        "{}\u00a0",
        "{}\u2028",
        "\f{}",
        "\v",
        "{};",
        "{}//",
        "{} #",
        "/**/{}",
    ),
    *(f"{BOM}{event()}", f"{BOM} {event()}", f" {BOM}{event()}", f"{BOM}{BOM}{event()}", f"{event()}{BOM}"),
    *(f"{event()}\r", f"\t {event()} \t\r", f"{event()}\r\r", f"{event()}\f", f"{event()} \x85"),
    *(
        "tru",
        "nulll",
        "'a'",
        "{'a':1}",
        "{a:1}",
        "{,}",
        "[1,]",
        '{"a":1,}',
        '{"a" 1}',
        '"',
        '"\\x"',
        '"\\u12"',
        '"\t"',
        '"\x7f"',
    ),
]
STRINGS = [
    *(
        r"\u0000",
        r"\u001f\u007f\b\f\n\r\t\"\\\/",
        r"\\u001f",
        r"\u2028\u2029\u0085",
        "\x7f\x85\u2028",
        "é😀\uffee",
        "<>&'",
    ),
    *(r"\ud83d\ude00", r"\ud800", r"\udc00\ud800", r"\\ud800", r"\U0041", r"\a", r"\u00e", "\x1f", "\t"),
]
KEYS = [*STRINGS, "k" * 50_000, "k" * 50_001, "😀" * 25_000, "😀" * 25_001]
OBJECTS = [
    '{"b":1,"a":{"d":[],"c":{}},"😀":3,"\uffee":4,"B":[1.50,"x",true,false,null],"":6}',
    '{"a":1,"\\u0061":2}',
    '{"a":{"b":1,"b":1}}',
]
BASE64 = [
    *(
        "",
        "=",
        "==",
        "====",
        "A",
        "A===",
        "AA",
        "AA==",
        "AA=",
        "AAA=",
        "AAF=",
        "AB==",
        "AAAA====",
        "AAAAA===",
        "AA==AA==",
    ),
    *("A-_=", " AA==", "AA==\\n", "AAA\u0661", "MQ==", "MSA=", "MSB4", "IiI=", "77u/MQ==", "bnVsbA==", "/w=="),
]
MEDIA = [
    *("", "application/json", "APPLICATION/JSON", "application/json; a=b", "application/json ;", " application/json "),
    *(
        "application/json\\t",
        "a/b+json",
        "a/b+JSON;x",
        "json",
        "/json",
        "+json",
        "a/jsonx",
        "text/plain;/json",
        "a/jſon",
    ),
]

LINES = [
    *(text for text, _ in CASES),
    *(json.dumps({**json.loads(event()), member: value}) for member in MEMBERS for value in WRONG),
    *(json.dumps({**json.loads(event('"subject":5,"time":"x","A":1')), member: 5}) for member in MEMBERS),
    *(event(f'"data":{number}') for number in NUMBERS),
    *(event(f'"n":{number}') for number in NUMBERS),
    # Releases differ in how they write an infinity.
    *(event(f'"o":{{"x":{number}}}') for number in NUMBERS if "e" in number or len(number) < 100),
    *TEXTS,
    *(f"{event()}{end}" for end in TEXTS[:14]),
    *(event(f'"data":["{text}"]') for text in STRINGS),
    *(event(f'"o":{{"a":"{text}"}}') for text in STRINGS),
    *(event(f'"e":"{text}"') for text in STRINGS),
    *(event(f'"data":{{"{key}":1}}') for key in KEYS),
    *(event(f'"data":{value}') for value in OBJECTS),
    *(event(f'"o":{value}') for value in OBJECTS),
    *(event(f'"{name}":"x"') for name in ("a.b", ".", "A", "aſ", "a\\u0062", "٣", "a b", "", "\\u0000", "a\\n")),
    *(event(f'"data_base64":"{text}"') for text in BASE64),
    *(event(f'"data_base64":"eyJhIjoxLjV9","datacontenttype":"{media}"') for media in MEDIA),
    *(event(f'"{where}":{deep(n)}') for n in (300, 990, 997, 998, 999, 1000) for where in ("data", "n")),
    *(event(f'"{where}":' + deep(n, '{"[":', "}")) for n in (300, 997, 998, 999) for where in ("data", "o")),
    event('"data":"' + "[" * 5_000 + '"'),
    event('"data":' + "[[]," * 400 + "1" + "]" * 400),
    event('"data":' + "[" * 5_000),
    event('"data":' + "[" * 400 + "]" * 401),
]


@pytest.fixture(autouse=True)
def _deep_values() -> Iterator[None]:
    """PySpark's own reader of VARIANT recurses four calls for a level."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


def with_spark(spark: SparkSession, path: Path) -> dict[bytes, str | dict[str, Any]]:
    """What the reader on Spark says of each line, by the line without white space: a reason or an activation."""
    columns = ("malformed", "raw", "event", *REQUIRED, *OPTIONAL[:3], "extensions", "data")
    rows = read_events(spark, path).selectExpr(*columns, "unix_micros(time) AS micros", "data IS NULL AS no_data")
    found: dict[bytes, str | dict[str, Any]] = {}
    for row in rows.collect():
        line = bytes(row["raw"]) if row["raw"] is not None else row["event"].encode()
        found[line] = row["malformed"] or _activation(row)
    return found


def _key(line: bytes) -> bytes:
    return line.removeprefix(BOM.encode()).rstrip(b"\r")


def _activation(row: Row) -> dict[str, Any]:
    names = (*REQUIRED, *OPTIONAL[:3])
    ce = {n: row[n] for n in names if row[n] is not None} | row["extensions"]
    if row["micros"] is not None:
        ce["time"] = time_text(row["micros"])
    return {"ce": ce} if row["no_data"] else {"ce": ce, "data": _decoded(row["data"])}


def _decoded(value: VariantVal) -> object:
    return decoded(bytes(value.value), bytes(value.metadata))[0]


def differences(spark: SparkSession, folder: Path, lines: list[bytes]) -> list[tuple[object, ...]]:
    """Lines of which the two readers say different things, each with both."""
    path = folder / "lines.jsonl"
    path.write_bytes(b"\n".join(lines))
    on_spark = with_spark(spark, path)
    assert len({_key(line) for line in lines}) == len(on_spark)
    wrong: list[tuple[object, ...]] = []
    for line in lines:
        match read_event(line):
            case Event(activation):
                said: object = activation
            case Malformed(reason):
                said = reason
        if repr(said) != repr(on_spark[_key(line)]) and said != on_spark[_key(line)]:
            wrong.append((line[:200], said, on_spark[_key(line)]))
    return wrong


def test_every_line(spark: SparkSession, tmp_path: Path) -> None:
    assert not any("\n" in line or is_blank(line.encode()) for line in LINES)
    lines = sorted(set(LINES))
    if takes_unpaired_surrogates(spark):  # such a release writes what is beyond all doubles as `{"x":Infinity}`
        lines = [line for line in lines if '"o":{"x":' + "1" * 400 not in line]
    assert differences(spark, tmp_path, [line.encode() for line in lines]) == []


BYTES = [b"\xff", event().encode() + b"\xc3", b'{"a":"\xed\xa0\x80"}', b'{"a":"\xc0\x80"}', b'{"a":"\xf4\x90\x80\x80"}']


def test_bytes_that_are_not_utf8(spark: SparkSession, tmp_path: Path) -> None:
    assert differences(spark, tmp_path, BYTES) == []


def test_blank_lines(spark: SparkSession, tmp_path: Path) -> None:
    lines = [b"", b" \t\r", BOM.encode(), BOM.encode() + b" \r", b"\f", b"\x0b", b"\xc2\xa0", b"\0"]
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"\n".join(lines))
    read = read_events(spark, path).select("event").collect()
    kept = [line.decode() for line in lines if not is_blank(line)]
    assert sorted(kept) == sorted(row["event"] for row in read)


def test_json_in_an_extension(spark: SparkSession) -> None:
    """What stands in an attribute is parsed by itself: one level more, and what follows it is ignored."""
    texts = [
        '{"a":1} x',
        '{"a":1}]',
        ' {"a":1}',
        f"{BOM}{{}}",
        "[1]{",
        deep(1000),
        deep(1001),
        "",
        " ",
        '{"a":NaN}',
        "{",
    ]
    frame = spark.createDataFrame([(i, text) for i, text in enumerate(texts)], "row INT, text STRING")
    rows = frame.selectExpr("row", "try_parse_json(text) AS v").selectExpr("row", "v", "v IS NULL AS none").collect()
    on_spark = [None if r["none"] else _decoded(r["v"]) for r in sorted(rows)]
    assert on_spark == [without_spark(text) for text in texts]


def without_spark(text: str) -> Any:
    try:
        return plain(read_json(text, trailing=True))
    except ValueError:
        return None
