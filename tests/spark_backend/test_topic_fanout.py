"""Topic filters in fan-out: the pairs that a matcher written from the specification gives, by keys of levels."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

import pytest
from conftest import conformance
from filter_sets import Named
from pyspark.sql import SparkSession
from tricel.compiler import CLOUD_EVENT, MQTT_MESSAGE, Environment, check_filter
from tricel.compiler.patterns.topic_filters import TopicError, subscription
from tricel.compiler.versions import NEXT
from tricel.spark_backend.compiled_filter import lower_filter
from tricel.spark_backend.fanout import fan_out
from tricel.spark_backend.fanout.planning.explain import explain
from tricel.spark_backend.fanout.planning.levels import MOST_MASKS, MOST_SLOTS, masks
from tricel.spark_backend.fanout.planning.plan import Plan, plan
from tricel.spark_backend.sql.layout import default_layout
from tricel.spark_backend.sql.names import names_beside

WORDS = ("a", "b", "", "$a", "é", ".", "x y", "+", "#", "(z|y)*", "日本")


def levels_match(topic: list[str], words: list[str]) -> bool:
    """The rules of MQTT 5.0, section 4.7.1, level by level."""
    if words == ["#"]:
        return True
    if not topic or not words:
        return topic == words
    return words[0] in ("+", topic[0]) and levels_match(topic[1:], words[1:])


def matched(topic: str, filter_: str) -> bool:
    """The rule of section 4.7.2 before them."""
    return not (topic.startswith("$") and filter_[0] in "+#") and levels_match(topic.split("/"), filter_.split("/"))


def named(id_: str, text: str, environment: Environment = MQTT_MESSAGE) -> Named:
    checked, problems = check_filter(text, environment, version=NEXT)
    assert checked is not None, problems
    return Named(id_, lower_filter(checked))


def asks(filter_: str, of: str = "topic") -> str:
    return f"{of}.matchesFilter({json.dumps(filter_)})"


def published() -> tuple[set[str], set[str]]:
    """The topics and the filters of the published cases, without the groups of shared subscriptions."""
    cases = conformance("topic_match_cases.json")
    topics = {c["topic"] for c in (*cases["match"], *cases["index"])}
    written = {c["filter"] for c in cases["match"]} | {f for c in cases["index"] for f in c["filters"]}
    written |= {c["topic"] for c in cases["validate"]} | {c["sub"] for c in cases["shared_subscription_parse"]}
    filters = set()
    for text in written:
        try:
            filters.add(subscription(text).filter)
        except TopicError:
            continue
    return topics, {f for f in filters if len(f) < 5_000}


def drawn(count: int, seed: int) -> tuple[set[str], set[str]]:
    """Random topics and filters of few words, of up to 14 levels."""
    r = random.Random(seed)
    topics = {"/".join(r.choices(WORDS, k=r.randint(1, r.choice([2, 4, 14])))) for _ in range(count)}
    filters: set[str] = set()
    plain = [w for w in WORDS if w not in "+#" or not w]
    while len(filters) < count:
        words = r.choices([*plain, "+", "+", "+"], k=r.randint(0, r.choice([2, 4, 12])))
        if text := "/".join([*words, *(["#"] if r.random() < 0.4 else [])]):
            filters.add(text)
    return topics | {"", "/", "$SYS", "$SYS/a", "+/+", "a" * 3_000}, filters | {"#", "+", "+/#", "$SYS/#", "a" * 3_000}


def planned(triggers: Iterable[Named], *, errors: bool = False, environment: Environment = MQTT_MESSAGE) -> Plan:
    given = list(triggers)
    layouts = {environment: default_layout(environment)}
    return plan(given, layouts, names_beside(()), errors=[t.id for t in given] if errors else ())


@pytest.mark.spark
def test_random_and_published_filters_find_the_topics_of_the_specification(spark: SparkSession) -> None:
    topics, filters = (a | b for a, b in zip(published(), drawn(220, 7), strict=True))
    frame = spark.createDataFrame([(t,) for t in sorted(topics)] + [(None,)], "topic STRING").coalesce(1)
    triggers = [named(f, asks(f)) for f in sorted(filters)]
    found = fan_out(frame, triggers, outcomes=True).select("topic", "trigger", "outcome").collect()
    wanted = {(t, f, "delivered") for t in topics for f in filters if matched(t, f)}
    wanted |= {(None, f, "errored") for f in filters}
    assert len(found) == len(wanted)
    assert {tuple(row) for row in found} == wanted


SETS = {
    "and": (lambda f, g, n: f"{asks(f)} && payload.t > {n}.0", lambda t, f, g, n, p: matched(t, f) and p > n),
    "or": (lambda f, g, n: f"{asks(f)} || {asks(g)}", lambda t, f, g, n, p: matched(t, f) or matched(t, g)),
    "not": (lambda f, g, n: f"!{asks(f)} && {asks(g)}", lambda t, f, g, n, p: not matched(t, f) and matched(t, g)),
    "same": (lambda f, g, n: asks("a/+"), lambda t, f, g, n, p: matched(t, "a/+")),
    "nested": (
        lambda f, g, n: f"({asks(f)} || payload.t == {n}.0) && {asks(g)}",
        lambda t, f, g, n, p: (matched(t, f) or p == n) and matched(t, g),
    ),
    "of the payload": (lambda f, g, n: asks(f, "payload.topic"), lambda t, f, g, n, p: matched(t, f)),
    "in a macro": (lambda f, g, n: f"[topic].exists(x, {asks(f, 'x')})", lambda t, f, g, n, p: matched(t, f)),
    "computed": (lambda f, g, n: f"{asks(g)} && topic.matchesFilter(username)", lambda t, f, g, n, p: matched(t, g)),
}


@pytest.mark.spark
def test_topic_filters_among_other_conditions(spark: SparkSession) -> None:
    topics, filters = drawn(40, 3)
    few = sorted(f for f in filters if len(f) < 1_000)
    r = random.Random(5)
    rows = [(t, i % 5, json.dumps({"t": i % 5, "topic": t})) for i, t in enumerate(sorted(topics))]
    frame = spark.createDataFrame(rows, "topic STRING, n INT, payload STRING")
    frame = frame.selectExpr("topic", "n", "payload", "'#' AS username").coalesce(1)
    triggers, wanted = [], set()
    for kind, (text, means) in SETS.items():
        for number in range(12):
            f, g, n = r.choice(few), r.choice(few), r.randrange(5)
            id_ = f"{kind} {number}"
            triggers.append(named(id_, text(f, g, n)))
            if kind == "computed":
                wanted |= {(t, id_) for t, _, _ in rows if matched(t, g) and not t.startswith("$")}
            else:
                wanted |= {(t, id_) for t, p, _ in rows if means(t, f, g, n, p)}
    found = fan_out(frame, triggers).select("topic", "trigger").collect()
    assert len(found) == len(wanted)
    assert {tuple(row) for row in found} == wanted


@pytest.mark.spark
def test_a_filter_that_is_computed_is_one_or_an_error(spark: SparkSession) -> None:
    topics, filters = drawn(60, 11)
    odd = ("", "a+", "+a", "#/a", "a/#/b", "++", "##", "a#", "a\0", "\n+", "a" * 65_536)
    rows = [(t, f) for t in sorted(topics)[:30] for f in (*sorted(filters), *odd)] + [(None, "a"), ("a", None)]
    frame = spark.createDataFrame(rows, "topic STRING, username STRING").coalesce(1)
    compiled = named("t", "topic.matchesFilter(username)").compiled
    assert () == compiled.residual
    for topic, filter_, value in frame.selectExpr("topic", "username", compiled.native_sql).collect():
        wrong = topic is None or filter_ is None or filter_ in odd
        assert value is (None if wrong else matched(topic, filter_)), (topic, filter_)


def test_ten_thousand_filters_are_few_shapes_and_few_questions() -> None:
    r = random.Random(1)
    found = []
    for i in range(3_000):
        words = [r.choice("+abcdefgh") if r.random() < 0.7 else f"w{r.randrange(300)}" for _ in range(r.randint(1, 7))]
        rest = ["#"] if r.random() < 0.3 else []
        condition = " && payload.t > 3.0" if i % 10 == 0 else ""
        found.append(named(str(i), asks("/".join([*words, *rest])) + condition))
    chosen = planned(found, errors=True)
    assert len({e.member.shape.number for e in chosen.entries}) <= 4
    assert len([a for a in chosen.asked if a is not None and a.mask is not None]) <= MOST_MASKS + 8
    assert "levels" in explain(chosen)
    assert chosen.every <= 60


def test_masks_that_are_too_many_go_by_others_that_cover_them() -> None:
    words = [[("+", "x")[i >> k & 1] for k in range(8)] for i in range(256)]
    found = masks({"/".join(w): 1 for w in words if "+" in w}, 3.0)
    kept = {m for m in found.values() if m is not None}
    assert len(kept) <= MOST_SLOTS + 8
    for filter_, mask in found.items():
        assert mask is not None
        assert mask.count in (0, 8)
        assert b"+" not in mask.of(filter_)


def keys_of(text: str, environment: Environment = MQTT_MESSAGE, *, errors: bool = False) -> set[str]:
    """The keys of a filter among enough others; `*` is that of all."""
    others = [named(f"o{i}{k}", asks(f"{i}/{k}/s")) for i in range(20) for k in ("+", "q")]
    if environment is CLOUD_EVENT:
        others = [named(f"o{i}", asks(f"{i}/+/s", "ce.subject"), environment) for i in range(20)]
    found = planned([named("t", text, environment), *others], errors=errors, environment=environment)
    keys = set()
    for entry in found.entries:
        if entry.member.id == "t":
            question = found.asked[entry.asked]
            keys |= {"*" if question is None else f"{question}={_shown(v)}" for v in entry.values}
    return keys


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return b"/".join(value).decode()
    return value.decode() if isinstance(value, bytes) else "absent"


@pytest.mark.parametrize(
    ("text", "true", "or_error"),
    [
        (asks("a/b"), {"topic=a/b"}, {"topic=a/b", "topic=absent"}),
        (asks("a/+/s"), {"levels 1, 3 of 3 of topic=a/s"}, {"levels 1, 3 of 3 of topic=a/s", "topic=absent"}),
        ("!" + asks("a/+/s"), {"*"}, {"*"}),
        (asks("#"), {"*"}, {"*"}),
        (f"{asks('a/b')} || {asks('c')}", {"topic=a/b", "topic=c"}, {"topic=a/b", "topic=c", "topic=absent"}),
    ],
)
def test_keys_of_topic_filters(text: str, true: set[str], or_error: set[str]) -> None:
    assert true == keys_of(text)
    assert or_error == keys_of(text, errors=True)


def test_an_attribute_that_may_be_missing_is_asked_for() -> None:
    keyed = "levels 1, 3 of 3 of ce.subject=a/s"
    assert {keyed} == keys_of(asks("a/+/s", "ce.subject"), CLOUD_EVENT)
    assert {keyed, "ce.subject=absent"} == keys_of(asks("a/+/s", "ce.subject"), CLOUD_EVENT, errors=True)


def test_a_topic_filter_stays_what_it_is() -> None:
    compiled = named("t", asks("t/+/#")).compiled
    assert asks("t/+/#") == compiled.cel == compiled.conjuncts[0].cel
    assert () == compiled.residual
