"""Fan-out gives the pairs and the outcomes that each filter gives alone."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from filter_sets import Named, Trigger
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tricel.compiler import CLOUD_EVENT, check_filter, errors
from tricel.compiler.analysis.covers import Covers
from tricel.compiler.nodes import Call
from tricel.spark_backend import column
from tricel.spark_backend import frames as session_frames
from tricel.spark_backend.compiled_filter import lower_filter
from tricel.spark_backend.fallback import hoist, jobs
from tricel.spark_backend.fanout import fan_out
from tricel.spark_backend.fanout.planning import choice
from tricel.spark_backend.fanout.planning.plan import plan
from tricel.spark_backend.fanout.planning.shapes import Shapes
from tricel.spark_backend.frames import layout_of
from tricel.spark_backend.run.explain_errors import with_failures
from tricel.spark_backend.sql.names import names_beside

pytestmark = pytest.mark.spark

CHUNK = 40
TYPES = ("com.example.order.created", "com.example.order.paid", "com.github.push", "a", "", "é", "a\0b", "com.")
SOURCES = ("/shops/1", "/shops/22", "https://github.com/x", "", "s", "/shops", "日本/x")
SUBJECTS = (None, "x", "img.png", "", "photo.PNG", "a.png", "é")
REGIONS = (None, "eu", "us", "", "eu-west", '{"zone":"a"}')
TIERS = (None, "gold", "basic", "1", '{"x":"y"}')
DATA = (
    '{"total": 500, "customer": {"tier": "gold"}, "items": [{"qty": 4}, {"qty": 1}], "flag": true}',
    '{"total": 500.5, "customer": {"tier": "basic"}, "items": [], "flag": false}',
    '{"total": "500", "customer": {"tier": 1}, "items": "abc", "flag": "true"}',
    '{"total": null, "customer": null, "items": {"a": {"qty": 9}}, "flag": null}',
    '{"total": true, "customer": [], "items": [1, 2]}',
    '{"total": -0.0, "customer": {"tier": ""}, "a": 3, "b": 3.0}',
    '{"total": 9007199254740993, "customer": {"tier": "a\\u0000b"}, "a": [1], "b": [1]}',
    '{"total": 1e300, "customer": {"tier": "\\ud800"}}',
    '{"total": 3, "customer": {"tier": "gold", "x": "gold"}, "a": "x", "b": "y"}',
    "{}",
    "[]",
    "[1, 2, 3]",
    '"gold"',
    "3",
    "null",
    "not json",
    "",
    None,
)
TIMES = (None, 1704067200000000, 1704067199999999, 1717200000123456)
MEDIA = (None, "application/json", "text/plain", "application/cloudevents+json; charset=utf-8")


def events(count: int, seed: int) -> list[tuple[Any, ...]]:
    """Events in which everything odd is common; some are there twice."""
    pick = random.Random(seed).choice
    rows = [
        (
            str(i % 7),
            pick(SOURCES) if i % 41 else None,
            "1.0",
            pick(TYPES) if i % 37 else None,
            pick(SUBJECTS),
            pick(MEDIA),
            pick(TIMES),
            pick(REGIONS),
            pick(TIERS),
            pick(DATA),
        )
        for i in range(count)
    ]
    return rows + rows[: count // 8]


COLUMNS = (
    "row INT, id STRING, source STRING, specversion STRING, type STRING, subject STRING, datacontenttype STRING, "
    "micros BIGINT, region STRING, tier STRING, data STRING"
)
CORE = "row, id, source, specversion, type, subject, datacontenttype, timestamp_micros(micros) AS time"
EXTENSIONS = "map_filter(map_from_arrays(array('region', 'tier'), array(region, tier)), (k, v) -> v IS NOT NULL)"
SELECTS = {
    "JSON text": f"{CORE}, {EXTENSIONS} AS extensions, data",
    "VARIANT": f"{CORE}, {EXTENSIONS} AS extensions, try_parse_json(data) AS data",
    "flat extensions": f"{CORE}, region, tier, data",
    "typed": f"{CORE}, region, CAST(row % 5 AS INT) AS tier, "
    "CASE WHEN row % 3 > 0 THEN named_struct('total', CAST(row % 9 AS DOUBLE), 'n', CAST(row % 4 AS BIGINT), "
    "'customer', named_struct('tier', tier, 'x', region), 'items', array(row % 5, 2)) END AS data",
    # values that JSON does not have are in half of the payloads
    "VARIANT with dates": f"{CORE}, {EXTENSIONS} AS extensions, CASE row % 4 WHEN 0 THEN "
    "to_variant_object(named_struct('total', DATE'2024-01-01', 'customer', named_struct('tier', tier), 'flag', true)) "
    "WHEN 1 THEN to_variant_object(named_struct('total', row % 7, 'customer', named_struct('tier', region, "
    "'at', TIMESTAMP'2024-01-01 00:00:00'), 'items', array(X'00'))) ELSE try_parse_json(data) END AS data",
}


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> Iterator[dict[str, DataFrame]]:
    """The events in each layout."""
    rows = [(i, *row) for i, row in enumerate(events(110, seed=3))]
    base = spark.createDataFrame(rows, COLUMNS).repartition(2)
    found = {layout: base.selectExpr(*_split(select)).cache() for layout, select in SELECTS.items()}
    yield found
    for frame in found.values():
        frame.unpersist()


def _split(select: str) -> list[str]:
    """The expressions of a SELECT list: split at commas outside parentheses."""
    parts, depth, part = [], 0, ""
    for c in select:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [*parts, part]


def quoted(text: str) -> str:
    """A CEL string literal."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in text) + '"'


def random_filter(r: random.Random, depth: int = 0) -> Any:
    """A filter: CEL text, or at the top now and then one of the Knative dialects."""
    if depth == 0 and r.random() < 0.25:
        return dialect(r)
    roll = r.random()
    if depth < 3 and roll < 0.28:
        return "(" + " && ".join(random_filter(r, depth + 1) for _ in range(r.randint(2, 3))) + ")"
    if depth < 3 and roll < 0.46:
        return "(" + " || ".join(random_filter(r, depth + 1) for _ in range(r.randint(2, 3))) + ")"
    if depth < 3 and roll < 0.56:
        return "!(" + random_filter(r, depth + 1) + ")"
    if depth < 3 and roll < 0.6:
        a, b, c = (random_filter(r, depth + 2) for _ in range(3))
        return f"({a} ? {b} : {c})"
    return r.choice(ATOMS)(r)


def _attribute(r: random.Random) -> tuple[str, Sequence[str | None]]:
    return r.choice(
        [
            ("type", TYPES),
            ("type", TYPES),
            ("source", SOURCES),
            ("subject", SUBJECTS),
            ("region", REGIONS),
            ("tier", TIERS),
        ]
    )


def _value(r: random.Random, values: Sequence[str | None]) -> str:
    return r.choice([v for v in values if v is not None])


def _equality(r: random.Random) -> str:
    name, values = _attribute(r)
    sides = [f"ce.{name}", quoted(_value(r, values))]
    if r.random() < 0.2:
        sides.reverse()
    return f"{sides[0]} {r.choice(['==', '==', '!='])} {sides[1]}"


def _affix(r: random.Random) -> str:
    name, values = _attribute(r)
    text = _value(r, values)
    cut = r.randint(0, len(text))
    method = r.choice(["startsWith", "startsWith", "endsWith", "contains"])
    part = text[cut:] if method == "endsWith" else text[:cut]
    guard = f"has(ce.{name}) && " if r.random() < 0.3 else ""
    return f"({guard}ce.{name}.{method}({quoted(part)}))"


def _membership(r: random.Random) -> str:
    name, values = _attribute(r)
    chosen = [quoted(_value(r, values)) for _ in range(r.randint(0, 4))]
    return f"ce.{name} in [{', '.join(chosen)}]"


def _data(r: random.Random) -> str:
    number = r.choice(["500", "500.5", "3", "3.0", "0.0", "-0.0", "9007199254740993", "1e300", "0"])
    return r.choice(
        [
            f"data.total {r.choice(['==', '!=', '<', '<=', '>', '>='])} {number}",
            f"data.customer.tier == {quoted(r.choice(['gold', 'basic', '', '1']))}",
            f"data.customer.tier.startsWith({quoted(r.choice(['g', 'go', 'b', '']))})",
            f"has(data.customer) && data.customer.tier == {quoted(r.choice(['gold', 'basic']))}",
            f"data.customer.tier in [{quoted('gold')}, {quoted('x')}]",
            "data.total in [3, 500]",
            "data.total in [3.0, 500.5]",
            'data.total in [3, "500", null]',
            "data.items.exists(i, i.qty > 3.0)",
            "size(data.items) == 2",
            "data.flag",
            "data.flag == true",
            "data.total == null",
            "data.customer['tier'] == 'gold'",
            "data[1] == 2.0",
            "data.total + 1.0 > 4.0",
            "has(data.total)",
            "data == 'gold'",
            f"data.customer.tier.matches({quoted(r.choice(['^g', 'ol', 'd$', '^gold$', '(a|b)*c', '[a-z]{2}']))})",
        ]
    )


def _pattern(r: random.Random) -> str:
    name, values = _attribute(r)
    one, other = (re.escape(_value(r, values)) for _ in range(2))
    forms = ("{0}|{1}", "^({0}|{1})", "({0}|{1})$", "^(?:{0}|{1})$", "(?i){0}", "[{2}x]", "^\\\\s|{0}", "a|b|{1}")
    pattern = r.choice(forms).format(one.replace("\\", "\\\\"), other.replace("\\", "\\\\"), "ab")
    return f'ce.{name}.matches("{pattern}")' if "\0" not in pattern else "true"


def _other(r: random.Random) -> str:
    return r.choice(
        [
            "true",
            "false",
            "has(ce.region)",
            '"tier" in ce',
            'ce.time < timestamp("2024-01-01T00:00:00Z")',
            'ce.time == timestamp("2024-01-01T00:00:00Z")',
            'ce.source.matches("^/shops/[0-9]+$")',
            'ce.type.matches("^com\\\\.github\\\\.push$")',
            'ce.type.matches("^com\\\\.example\\\\.")',
            'ce.region.zone == "a"',
            "size(ce.type) > 5",
            # these are not native
            "size(ce) > 8",
            "(size(ce) == 9 || data.total > 3.0)",
            "(ce == {} || data.flag)",
        ]
    )


ATOMS = (_equality, _equality, _affix, _membership, _data, _data, _pattern, _other)


def dialect(r: random.Random) -> dict[str, Any]:
    """A filter of one of the Knative dialects."""
    name, values = _attribute(r)
    other, others = _attribute(r)
    value = _value(r, values) or "a"
    second = _value(r, others) or "b"
    one = {r.choice(["exact", "prefix", "suffix"]): {name: value}}
    two = {r.choice(["exact", "prefix", "suffix"]): {other: second}}
    return r.choice(
        [
            {"attributes": {name: value, other: second} if name != other else {name: value}},
            {"attributes": {name: ""}},
            {"filters": [one, {"not": two}]},
            {"filters": [{"any": [one, two, {"exact": {"type": "a"}}]}]},
            {"filters": [{"all": [one, {"any": [two, one]}]}]},
        ]
    )


def random_triggers(count: int, seed: int) -> list[tuple[str, Any]]:
    """Filters under ids; some twice."""
    r = random.Random(seed)
    found = [random_filter(r) for _ in range(count)]
    found += [r.choice(found) for _ in range(count // 10)]
    return [(f"ns/t{i}", f) for i, f in enumerate(found)]


def compiled(given: list[tuple[str, Any]], frame: DataFrame) -> list[Named]:
    """Those that compile, for any events at all and for these."""
    found = []
    for id_, filter_ in given:
        checked, diagnostics = check_filter(filter_)
        if checked is None:
            assert errors(diagnostics)
            continue
        try:
            column(frame, whole := lower_filter(checked))
        except ValueError:
            continue
        found.append(Named(id_, whole))
    return found


def alone(frame: DataFrame, triggers: Sequence[Named]) -> Counter[tuple[int, str, str]]:
    """Row, trigger and outcome, from each filter by itself."""
    found: Counter[tuple[int, str, str]] = Counter()
    for start in range(0, len(triggers), CHUNK):
        chunk = triggers[start : start + CHUNK]
        for row in frame.select("row", *(column(frame, t.compiled) for t in chunk)).collect():
            for t, value in zip(chunk, row[1:], strict=True):
                if value is not False:
                    found[row[0], t.id, "errored" if value is None else "delivered"] += 1
    return found


def check_same(frame: DataFrame, triggers: Sequence[Named]) -> None:
    """Fails where fan-out and the filters alone differ."""
    expected = alone(frame, triggers)
    cel = {t.id: t.compiled.cel for t in triggers}
    pairs = fan_out(frame, triggers, outcomes=True)
    assert [*frame.columns, "trigger", "outcome"] == pairs.columns
    actual = Counter(
        (r["row"], r["trigger"], r["outcome"]) for r in pairs.select("row", "trigger", "outcome").collect()
    )
    assert [] == [(*k, cel[k[1]]) for k in (expected - actual).keys() | (actual - expected).keys()][:5]
    delivered = fan_out(frame, triggers).select("row", "trigger").collect()
    wanted = Counter({(r, t): n for (r, t, o), n in expected.items() if o == "delivered"})
    found = Counter((r["row"], r["trigger"]) for r in delivered)
    assert [] == [(*k, cel[k[1]]) for k in (wanted - found).keys() | (found - wanted).keys()][:5]


def with_id(text: Any, id_: str = "t") -> Named:
    """A trigger with a filter that compiles."""
    checked, diagnostics = check_filter(text)
    assert checked is not None, diagnostics
    return Named(id_, lower_filter(checked))


@pytest.mark.parametrize(("layout", "seed"), [("JSON text", 1), ("VARIANT", 2), ("flat extensions", 3), ("typed", 4)])
def test_random_sets_give_the_pairs_of_each_filter_alone(frames: dict[str, DataFrame], layout: str, seed: int) -> None:
    triggers = compiled(random_triggers(36, seed), frames[layout])
    assert len(triggers) > 20
    check_same(frames[layout], triggers)


def test_an_empty_constant_is_no_other_constant(frames: dict[str, DataFrame]) -> None:
    """Filters that differ in constants alone share their SQL, which must not take any for a text that is not empty."""
    texts = ("", "a", "com.")
    written = [
        *(f'ce.type.replace("{old}", "-") == "{new}"' for old in texts for new in ("-a-", "-", "", "-b")),
        *(f'ce.type.replace("{old}", "xy", 1) == "xya"' for old in texts),
        *(f'ce.type.split("{by}").size() == {n}' for by in texts for n in (0, 1, 2, 4)),
        *(f'ce.type.split("{by}").join("{by}") == "a"' for by in texts),
        *(f'ce.type.indexOf("{part}") == 0 || ce.type.lastIndexOf("{part}") == 1' for part in texts),
        *(f'ce.type.contains("{part}") && "{part}" in ["", ce.type]' for part in texts),
    ]
    check_same(frames["JSON text"], [with_id(text, f"t{i}") for i, text in enumerate(written)])


def test_faults_of_fan_out_change_no_pair(frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    triggers = compiled(random_triggers(24, 5), frames["JSON text"])
    shape, keys, taken = Shapes._member, Covers.of_conjuncts, hoist.hoist

    def member(self: Shapes, id_: str, filter_: Any) -> Any:
        if int(id_[-1]) % 2:
            raise IndexError
        return shape(self, id_, filter_)

    def of_conjuncts(self: Covers, conjuncts: Any, *rest: Any) -> Any:
        if len(conjuncts) > 1:
            raise IndexError
        return keys(self, conjuncts, *rest)

    def hoisted(e: Any, *rest: Any) -> Any:
        if isinstance(e, Call):
            raise IndexError
        return taken(e, *rest)

    monkeypatch.delenv("TRICEL_FAULTS")
    monkeypatch.setattr(Shapes, "_member", member)
    monkeypatch.setattr(Covers, "of_conjuncts", of_conjuncts)
    monkeypatch.setattr(jobs, "hoist", hoisted)
    check_same(frames["JSON text"], triggers)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_filters_give_the_same_as_conditions(frames: dict[str, DataFrame], count: int) -> None:
    texts = ['ce.region == "eu"', "data.total > 3.0 && size(ce) > 8"]
    check_same(frames["JSON text"], [with_id(t, t) for t in texts[:count]])


def test_a_set_of_odd_filters(frames: dict[str, DataFrame]) -> None:
    texts = [
        "true",
        "false",
        'ce.region == "eu" || ce.type == "a" || ce.tier == "gold"',
        'ce.type in ["a", "a", "com."] || ce.type == "a"',
        'ce.type.startsWith("")',
        'ce.source.endsWith("本/x")',
        *(f'ce.type.startsWith("{"com.example.order."[:n]}")' for n in range(1, 18)),
        'ce.region == "eu" ? ce.type == "a" : ce.source == "s"',
        "!has(ce.subject)",
        '!(ce.subject != "x")',
        "data.total in [3, 500] || data.total == 500.5",
        "data.total == 0.0",
    ]
    check_same(frames["JSON text"], [with_id(t, f"{i}: {t}") for i, t in enumerate(texts)])


WORDS = (
    *("a" * n for n in (1, 2, 3, 4, 7)),
    *("é" * n for n in (1, 2, 3)),
    *("日" * n for n in (1, 2)),
    "A",
    "AA",
    "a.a",
)
AFFIXES = [
    # subject, method, what of a word: of several lengths, beside delimiters
    ("ce.type", "startsWith", "{}."),
    ("ce.source", "startsWith", "/{}/"),
    ("ce.source", "endsWith", "/{}"),
    ("ce.subject", "startsWith", "{}::"),
    ("ce.subject", "endsWith", ".{}"),
    ("ce.region", "endsWith", "'{}'"),
    ("data.path", "startsWith", "{}/"),
    ("data.path", "endsWith", "//{}"),
]


def around_affixes() -> list[tuple[Any, ...]]:
    """Events whose values begin or end with those, nearly do, or are absent; each value for each attribute."""
    values: list[str | None] = [None, "", ".", "/", "//", "..", "::", "'", "''", "a", "é.", "x/y/z"]
    for word in WORDS:
        for _, _, affix in AFFIXES:
            whole = affix.format(word)
            values += [whole, f"{whole}x", f"x{whole}", whole * 2, whole[:-1], whole[1:], f"{whole[:-1]}x{whole[-1]}"]
    values = list(dict.fromkeys(values))
    return [(i, v, v, values[i - 1], values[i - 2], json.dumps({"path": v})) for i, v in enumerate(values)]


@pytest.mark.parametrize("how", ["JSON text", "collated VARIANT"])
def test_prefixes_and_suffixes_of_all_subjects_and_lengths(spark: SparkSession, how: str) -> None:
    frame = spark.createDataFrame(
        around_affixes(), "row INT, type STRING, source STRING, subject STRING, region STRING, data STRING"
    )
    if how != "JSON text":
        kept = (f"{c} COLLATE UTF8_LCASE AS {c}" for c in ("type", "source", "subject", "region"))
        frame = frame.selectExpr("row", *kept, "parse_json(data) AS data")
    frame = frame.repartition(2).cache()
    texts = [f"{s}.{m}({quoted(affix.format(word))})" for s, m, affix in AFFIXES for word in WORDS]
    triggers = [with_id(t, t) for t in (*texts, *(f"size(ce) > 2 && {t}" for t in texts[::40]))]
    chosen = plan(triggers, {CLOUD_EVENT: layout_of(frame)}, names_beside(()))
    asked = Counter(f"{a.probe.cel} {a.probe.how}" for a in chosen.asked if a is not None and a.probe.how != "equals")
    assert len(AFFIXES) == len(asked)
    assert min(asked.values()) > 1, "each by several lengths"
    check_same(frame, triggers)
    frame.unpersist()


def test_filters_of_many_shapes_are_interpreted(frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "MAX_GENERATED", 1_000)
    texts = [f'ce.type != "{i}" && (data.total > {i}.5 || data.f{i} == "x" || has(data.a))' for i in range(40)]
    check_same(frames["JSON text"], [with_id(t, f"t{i}") for i, t in enumerate(texts)])


FALLBACK = [
    # what needs the fallback: with keys, without, in error, absorbed, negated, twice
    'ce.type == "a" && size(ce) > 8',
    'ce.type == "a" && size(ce) > 8',
    'ce.type in ["a", "com.github.push"] && size(ce) == 9',
    'ce.type.startsWith("com.") && size(ce) > 7 && data.total > 3.0',
    'ce.region == "eu" && size(ce) > 8',
    'has(ce.region) && ce.region == "eu" && !(size(ce) > 9)',
    'ce.type == "a" && (size(ce) > 8 || data.total > 3.0)',
    'ce.type == "a" || size(ce) == 9',
    'ce.type == "com.github.push" && (ce == {} || data.flag)',
    'ce.source == "s" && data.customer.tier.size() > size(ce)',
    '!(ce.type == "a" || size(ce) > 9)',
    '!(ce.type != "a" || size(ce) > 9)',
    'ce.subject == "x" && !(ce == {} && data.flag)',
    '(ce.type == "a" && size(ce) > 8) || (ce.source == "s" && size(ce) > 9)',
    "size(ce) > 9",
    "size(ce) > 99",
    "ce == {}",
    'ce.tier == "gold" ? size(ce) > 8 : ce.type == "a"',
    "false && size(ce) > 9",
    'data.customer.tier == "gold" && size(ce) > 9 / int(data.total)',
]
NATIVE = ['ce.type == "a"', 'ce.region != "eu"', "data.total > 3.0", 'ce.source.startsWith("/shops")', "true"]


def fallback_set(frame: DataFrame) -> list[Named]:
    """Filters for the fallback among others, all of them in one plan."""
    texts = [*FALLBACK, *NATIVE, *(f'ce.type == "{i}"' for i in range(12))]
    found = compiled([(f"{i}: {t}", t) for i, t in enumerate(texts)], frame)
    assert len([t for t in found if t.compiled.residual]) > 15
    return found


@pytest.mark.parametrize("layout", list(SELECTS))
def test_filters_for_the_fallback_among_others(frames: dict[str, DataFrame], layout: str) -> None:
    check_same(frames[layout], fallback_set(frames[layout]))


@pytest.mark.parametrize(("layout", "seed"), [("JSON text", 5), ("VARIANT with dates", 6), ("typed", 7)])
def test_random_sets_of_which_half_need_the_fallback(frames: dict[str, DataFrame], layout: str, seed: int) -> None:
    r = random.Random(seed)
    atoms = [
        "size(ce) > 8",
        "(ce == {} || data.flag)",
        "size(ce) > size(data.items)",
        'data.customer.tier.matches("^(g|go)+(ld)?$")',
        'ce.subject.matches("^(x|xx|a|a.|i)+(png)?$")',
        '(data.customer.tier.matches("^(b|ba)+sic$") || data.total > 3.0)',
        "data.?total.hasValue()",
    ]
    texts = []
    for _ in range(24):
        atom, other, third = r.choice(atoms), random_filter(r, 1), random_filter(r, 2)
        atom = r.choice(["{}", "!({})"]).format(atom)
        texts.append(
            r.choice(["{0} && {1}", "{0} || {1}", "({0} && {1}) || {2}", "({0} || {1}) && {2}"]).format(
                atom, other, third
            )
        )
    frame = frames[layout]
    triggers = compiled([(f"t{i}", t) for i, t in enumerate(texts)], frame)
    assert len([t for t in triggers if t.compiled.residual]) > 10
    check_same(frame, triggers)


PATTERN = '"^(a|aa)+$"'
PAYLOADS = {
    # what a VARIANT may hold beside JSON, on the way to what the filters read
    "JSON": 'parse_json(\'{"x": "aaa", "d": "2024-01-01", "n": 3}\')',
    "a date": "to_variant_object(named_struct('x', 'aaa', 'd', DATE'2024-01-01', 'n', 3))",
    "a timestamp": "to_variant_object(named_struct('x', 'aab', 'd', TIMESTAMP'2024-01-01 00:00:00', 'n', 3))",
    "a timestamp without zone": "to_variant_object(named_struct('x', 'a', 'd', TIMESTAMP_NTZ'2024-01-01 00:00:00'))",
    "bytes": "to_variant_object(named_struct('x', X'61', 'd', X'ff', 'n', X'00'))",
    "a date alone": "CAST(DATE'2024-01-01' AS VARIANT)",
    "a text alone": "CAST('aaa' AS VARIANT)",
    "a date in a list": "to_variant_object(named_struct('x', array('aa'), 'd', array(DATE'2024-01-01'), 'n', 2.5D))",
    "nothing": "CAST(NULL AS VARIANT)",
}
READING = [
    f'ce.type == "t0" && data.x.matches({PATTERN})',
    f'ce.type == "t0" && !data.x.matches({PATTERN})',
    f'ce.type == "t1" && (data.x.matches({PATTERN}) || data.d == "2024-01-01")',
    f'ce.type == "t0" && (data.x.matches({PATTERN}) || data.d == "other" || ce.source == "s1")',
    f'ce.type == "t1" && (data.x.matches({PATTERN}) || ce.source == "s0")',
    f'ce.type == "t0" && (data.x.matches({PATTERN}) ? data.n > 2.0 : data.n > 3.0)',
    f'ce.type == "t0" && data.x.matches({PATTERN}) && has(data.d)',
    f'data.?x.orValue("aa").matches({PATTERN}) && ce.type == "t0"',
    f'ce.type == "t1" && data.x.exists(x, x.matches({PATTERN}))',
    'ce.type == "t0" && size(ce) > size(data)',
    'ce.type == "t0" && size(ce) > 3 && data.d == "2024-01-01"',
    f'ce.type == "t0" && bytes(string(data.x)) == b"aaa" && data.x.matches({PATTERN})',
]


@pytest.mark.parametrize("body", ["VARIANT", "JSON text"])
def test_values_that_cel_does_not_have_are_errors_of_the_filters_that_use_them(spark: SparkSession, body: str) -> None:
    rows = [f"SELECT {i} AS row, {sql} AS data" for i, sql in enumerate(PAYLOADS.values())]
    held = "data" if body == "VARIANT" else "to_json(data) AS data"
    frame = spark.sql(" UNION ALL ".join(rows)).selectExpr("row", "explode(array('t0', 't1')) AS type", held)
    frame = frame.selectExpr("row", "type", "concat('s', row % 2) AS source", "data")
    others = [f'ce.type == "t{i}"' for i in range(60)]
    triggers = compiled([(t, t) for t in (*READING, *others)], frame)
    assert len(READING) + len(others) == len(triggers)
    assert len(READING) <= len([t for t in triggers if lower_filter(t.compiled.checked, layout_of(frame)).residual]) + 1
    check_same(frame, triggers)


def test_text_that_is_no_utf8_is_an_error_in_the_fallback(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT * FROM VALUES (0, 't0', CAST(X'61ff' AS STRING), CAST(X'ff' AS STRING)), (1, 't0', 'aaa', 's1'), "
        "(2, 't1', CAST(X'61' AS STRING), 's1') AS e (row, type, subject, source)"
    )
    texts = [f'ce.type == "{t}" && ce.subject.matches({PATTERN})' for t in ("t0", "t1")]
    texts += ['ce.type == "t0" && size(ce) > 2', f'ce.source == "s1" || !ce.subject.matches({PATTERN})']
    triggers = compiled([(t, t) for t in (*texts, *(f'ce.type == "t{i}"' for i in range(40)))], frame)
    check_same(frame, triggers)
    errored = fan_out(frame, triggers, outcomes=True).where("outcome = 'errored'").select("row", "trigger").collect()
    assert {(0, texts[0]), (0, texts[3])} == {tuple(r) for r in errored}


@pytest.mark.parametrize("how", ["generated", "interpreted", "by bisection, for an older Spark"])
def test_filters_of_which_each_reads_something_else(
    frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(choice, "MAX_GENERATED", 100_000 if how == "generated" else 1_000)
    if how.endswith("Spark"):
        monkeypatch.setattr(session_frames, "_NESTED_LAMBDAS", (99, 0))
    tier, subject = f"data.customer.tier.matches({PATTERN})", f"ce.subject.matches({PATTERN})"
    texts = [f'ce.type == "{t}" && ({tier} || data.total == {i}.0)' for i, t in enumerate(TYPES[:4])]
    texts += [f'ce.type == "{t}" && ({subject} || ce.source == "{s}")' for t in TYPES[:3] for s in SOURCES[:4]]
    texts += [f'ce.type == "{t}" && (size(ce) > 8 || {tier})' for t in TYPES[:2]]
    texts += [f'ce.type == "{t}" && [data.total, {i}].exists(x, x == data.a || {subject})' for i, t in enumerate(TYPES)]
    layout = "VARIANT with dates" if how == "interpreted" else "JSON text"
    check_same(frames[layout], compiled([(t, t) for t in texts], frames[layout]))


def test_errors_of_the_fallback_are_dropped_or_delivered_by_trigger(frames: dict[str, DataFrame]) -> None:
    frame = frames["JSON text"]
    triggers = fallback_set(frame)
    deliver = {t.id for t in triggers[::2]}
    expected = {
        (row, id_): n
        for (row, id_, outcome), n in alone(frame, triggers).items()
        if outcome == "delivered" or id_ in deliver
    }
    found = fan_out(frame, triggers, on_error=dict.fromkeys(deliver, "deliver")).select("row", "trigger").collect()
    assert expected == Counter((r["row"], r["trigger"]) for r in found)


def test_an_error_in_the_fallback_fails_the_query_where_that_is_asked(frames: dict[str, DataFrame]) -> None:
    triggers = [with_id('ce.region == "eu" && size(ce) > 2', f"t{i}") for i in range(20)]
    assert fan_out(frames["JSON text"], triggers).count() > 0
    with pytest.raises(PySparkException, match="cannot be evaluated on an event, of trigger t7"):
        fan_out(frames["JSON text"], triggers, on_error={"t7": "fail"}).collect()


@pytest.mark.parametrize("outcomes", [False, True])
def test_events_are_read_once_and_the_fallback_is_asked_once(spark: SparkSession, *, outcomes: bool) -> None:
    frame = spark.range(3).selectExpr("CAST(id AS STRING) AS id", "'a' AS type", "'{}' AS data")
    texts = [f'ce.type == "{v}" && size(ce) > {n}' for v in "abc" for n in range(9)] + ['ce.type == "a"']
    pairs = fan_out(frame, [with_id(t, t) for t in texts], outcomes=outcomes)
    plan = pairs._jdf.queryExecution().executedPlan().toString()
    assert (1, 1, 0) == (plan.count("Range ("), plan.count("ArrowEvalPython"), plan.count("Union"))
    # The conditions that Spark evaluates come first: an operator is above what it reads.
    assert plan.index("ArrowEvalPython") < plan.index("CASE WHEN (tricel_shape")
    # What they alone read is not in the rows that Spark keeps while Python works.
    (narrow,) = [line for line in plan.splitlines() if "explode(array(tricel_reads" in line]
    assert (True, False) == ("tricel_program" in narrow, "tricel_s0" in narrow)
    assert 3 * (2 + 1) == pairs.count()


def test_errors_are_dropped_or_delivered_by_trigger(frames: dict[str, DataFrame]) -> None:
    frame = frames["JSON text"]
    triggers = [with_id(f'ce.region == "{v}"', v) for v in ("eu", "us", "x", "y", "z")]
    found = fan_out(frame, triggers, on_error={"us": "deliver", "x": "drop"})
    actual = {r["trigger"]: r["count"] for r in found.groupBy("trigger").count().collect()}
    eu, us = (frame.where(f"extensions['region'] = '{v}'").count() for v in ("eu", "us"))
    absent = frame.where("extensions['region'] IS NULL").count()
    assert min(eu, us, absent) > 0
    assert {"eu": eu, "us": us + absent} == actual


@pytest.mark.parametrize("more", [0, 30])
def test_a_trigger_says_itself_what_becomes_of_its_errors(frames: dict[str, DataFrame], more: int) -> None:
    frame = frames["JSON text"]
    own = [Trigger(mode, 'ce.region == "eu"', mode) for mode in ("deliver", "drop")]
    others = [with_id(f'ce.region == "{i}"', str(i)) for i in range(more)]
    eu = frame.where("extensions['region'] = 'eu'").count()
    absent = frame.where("extensions['region'] IS NULL").count()
    for given, kept in (("drop", absent), ("deliver", absent), ({"deliver": "drop"}, 0)):
        pairs = fan_out(frame, [*own, *others], on_error=given).where("trigger IN ('deliver', 'drop')")  # type: ignore[arg-type]
        counted = {r["trigger"]: r["count"] for r in pairs.groupBy("trigger").count().collect()}
        assert {"deliver": eu + kept, "drop": eu} == counted


@pytest.mark.parametrize("count", [1, 3, 30])
def test_an_error_fails_the_query_where_that_is_asked(frames: dict[str, DataFrame], count: int) -> None:
    triggers = [with_id(f'ce.region == "{i}"', f"t{i}") for i in range(count)]
    with pytest.raises(PySparkException, match="cannot be evaluated on an event"):
        fan_out(frames["JSON text"], triggers, on_error={"t0": "fail"}).collect()


def test_two_equal_events_stay_two(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", "s")] * 3, "type STRING, source STRING")
    triggers = [with_id('ce.type == "a" || ce.source == "s"', f"t{i}") for i in range(12)]
    assert {f"t{i}": 3 for i in range(12)} == Counter(r["trigger"] for r in fan_out(frame, triggers).collect())


def test_columns_may_have_any_names(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1, 2, "`")], "type STRING, Tricel_S0 INT, `a``b.c` INT, doc STRING")
    triggers = [with_id(f'ce.type == "{v}"', v) for v in "abcdefghijkl"]
    assert [("a", 1, 2, "`", "a")] == [tuple(r) for r in fan_out(frame, triggers).collect()]


def test_columns_may_be_called_as_what_is_added_for_the_fallback(spark: SparkSession) -> None:
    columns = ("__pack_0", "__pack_0_native", "__failure", "Tricel_Pack0", "tricel_failure")
    frame = spark.createDataFrame([("a", *columns)], ", ".join(f"{c} STRING" for c in ("type", *columns)))
    triggers = [with_id("size(ce) > 2", "many"), with_id("ce.type == 'a' && size(ce) > 1", "some")]
    found = fan_out(frame, triggers, outcomes=True)
    explained = with_failures(found, {t.id: t.compiled for t in triggers}, F.col("outcome") == "errored")
    assert {("a", *columns, t.id, "delivered", None, None) for t in triggers} == set(map(tuple, explained.collect()))


@pytest.mark.parametrize("name", ["trigger", "Trigger"])
def test_a_column_that_is_there_already_is_refused(spark: SparkSession, name: str) -> None:
    frame = spark.createDataFrame([("a", "b")], f"type STRING, {name} STRING")
    with pytest.raises(ValueError, match=f"a column '{name}'"):
        fan_out(frame, [with_id("true")])


def test_ids_are_unique_and_modes_known(frames: dict[str, DataFrame]) -> None:
    with pytest.raises(ValueError, match="one id"):
        fan_out(frames["VARIANT"], [with_id("true"), with_id("false")])
    with pytest.raises(ValueError, match="names no trigger here: other"):
        fan_out(frames["VARIANT"], [with_id("true", "t")], on_error={"other": "deliver", "t": "drop"})
    with pytest.raises(ValueError, match="no such on_error"):
        fan_out(frames["VARIANT"], [with_id("true")], on_error="keep")


def test_the_session_keeps_its_settings(spark: SparkSession, frames: dict[str, DataFrame]) -> None:
    before = dict(spark.sparkContext.getConf().getAll()), spark.sql("SET").collect()
    fan_out(frames["VARIANT"], [with_id(f'ce.type == "{i}"', f"t{i}") for i in range(20)]).collect()
    assert before == (dict(spark.sparkContext.getConf().getAll()), spark.sql("SET").collect())
