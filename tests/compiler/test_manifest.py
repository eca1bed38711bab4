"""Manifests are read with positions; what Knative's webhook refuses is refused; no text makes the reader raise."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from types import MappingProxyType
from typing import Any

import pytest
from conftest import REPOSITORY, conformance
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_codes import codes, read
from tricel.compiler.diagnostics import CODES, Diagnostic, errors
from tricel.compiler.documents.document import embedded, member, plain, read_documents, root
from tricel.compiler.documents.objects import from_python
from tricel.compiler.manifests.trigger import (
    changed_immutable_fields,
    duplicate_triggers,
    read_manifests,
    translate_place,
)
from tricel.compiler.source import Source
from tricel.compiler.unparse import unparse

PAGE = REPOSITORY / "docs" / "dialects" / "knative.md"

EMPTY = "an empty filter is refused"
DIFFERENCES = {
    "dotted attribute rejected": "the founding proposal has dotted names",
    "all filter is nil": EMPTY,
    "empty exact value accepted": EMPTY,
    "all: [] accepted": EMPTY,
    "not: {} accepted": EMPTY,
    "attribute named data accepted": "no attribute can be called `data`",
    "empty cesql accepted": EMPTY,
}
"""Knative manifest vectors that we judge otherwise on purpose, and why."""

OUR_PATHS = {
    "spec.namespace": "spec.brokerRef.namespace",
    "spec.subscriber[apiVersion, kind, name]": "spec.subscriber.ref",
    "broker": "spec.broker",
    "spec": "spec.broker",
}
"""Paths that the webhook reports, where the right one is another."""

GOOD = """\
apiVersion: tricel.dev/v1alpha1
kind: Trigger
metadata: {name: orders, namespace: shop}
spec:
  broker: default
  filter:
    expression: |
      ce.type == "order.created" &&
        data.total > 100.0
  subscriber: {uri: "http://example.com/"}
"""


def judged(case: dict[str, Any]) -> tuple[Diagnostic, ...]:
    """The errors of a webhook case."""
    features = frozenset(name for name, state in case.get("features", {}).items() if state == "enabled")
    (trigger,), found = read(json.dumps(case["trigger"], indent=1), features=features)
    if "old_trigger" in case:
        (old,), _ = read(json.dumps(case["old_trigger"]))
        found += changed_immutable_fields(old, trigger)
    return errors(found)


def test_the_webhook_judges_alike() -> None:
    cases = conformance("trigger_validation_cases.json")["cases"]
    assert len(cases) > 50
    assert set(DIFFERENCES) == {case["name"] for case in cases if case["valid"] != (not judged(case))}


def reported_paths(case: dict[str, Any]) -> set[str]:
    """The paths in the webhook's text, each mended where it is known to be wrong."""
    found: set[str] = set()
    for line in case["error"].splitlines():
        tail = re.search(r": ((?:spec|metadata|broker)[^:]*)$", line)
        if tail:
            found.update(re.split(r", (?![^\[]*\])", tail[1]))
    return {OUR_PATHS.get(path, path) for path in found}


def test_refusals_name_the_field() -> None:
    seen = 0
    for case in conformance("trigger_validation_cases.json")["cases"]:
        if not case["valid"] and case["name"] not in DIFFERENCES:
            expected = reported_paths(case)
            text = "\n".join(d.message for d in judged(case))
            assert expected, case["error"]
            assert [] == [path for path in expected if f"'{path}'" not in text], (case["name"], text)
            seen += len(expected)
    assert seen > 25


def test_every_listed_difference_is_on_the_page() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Manifests that differ")[1]
    assert DIFFERENCES == dict(re.findall(r"^\| `(.+)` \| (.+) \|$", section, re.MULTILINE))


def test_a_trigger_is_read() -> None:
    (trigger,), found = read(GOOD)
    assert () == found
    assert ("shop/orders", "default") == (trigger.id, trigger.broker)
    assert {"uri": "http://example.com/"} == trigger.subscriber
    assert trigger.translation.expr is not None
    assert 'ce.type == "order.created" && data.total > 100.0' == unparse(trigger.translation.expr)
    assert "orders" == GOOD[trigger.span.start : trigger.span.end]


def test_an_expression_points_into_its_file() -> None:
    (trigger,), _ = read(GOOD)
    expr = trigger.translation.expr
    assert expr is not None
    source, span = trigger.translation.source.resolve(expr.span)
    assert GOOD == source.text
    assert 'ce.type == "order.created" &&\n        data.total > 100.0' == GOOD[span.start : span.end]


def test_mixed_manifests_and_lists() -> None:
    others = "kind: Service\napiVersion: v1\nx: !Ref y\nx: 2\n---\n- a list\n---\n---\njust text\n---\n"
    tekton = "---\nkind: Trigger\napiVersion: triggers.tekton.dev/v1beta1\n"
    item = json.dumps(plain(read_documents(Source(GOOD))[0][0].value))
    listed = f'---\n{{"kind": "List", "apiVersion": "v1", "items": [{item}, {{"kind": "Pod"}}, {item}]}}\n'
    triggers, found = read(others + GOOD + tekton + listed)
    assert () == found
    assert ["shop/orders"] * 3 == [t.id for t in triggers]
    assert ["TRI316", "TRI316"] == [d.code for d in duplicate_triggers(triggers)]
    assert "'shop/orders' is already defined in t.yaml:13" in duplicate_triggers(triggers)[0].message


def test_nothing_is_nothing() -> None:
    for text in ("", "---\n", "# comment\n", "null", "[]", "{}"):
        assert ((), ()) == read(text)


CHANGES = [
    ("tricel.dev/v1alpha1\n", "eventing.knative.dev/v1\n", ["TRI344"]),
    ("tricel.dev/v1alpha1\n", "eventing.knative.dev/v1beta1\n", ["TRI319", "TRI344"]),
    ("tricel.dev/v1alpha1\n", "eventing.knative.dev/v1alpha1\n", ["TRI318"]),
    ("apiVersion: tricel.dev/v1alpha1\n", "", ["TRI311"]),
    ("name: orders, ", "", ["TRI311"]),
    ("metadata: {name: orders, namespace: shop}", "metadata: [orders]", ["TRI310"]),
    ("metadata: {name: orders, namespace: shop}\n", "", ["TRI311"]),
    ("broker: default", "broker: 5", ["TRI310"]),
    ("broker: default", "brokerRef: {}", ["TRI311"]),
    ("broker: default", "brokerRef: {name: b}", []),
    ("  filter:", "  filtre:", ["TRI308"]),
    ("  subscriber:", "  delivery: {retry: -1, timeout: PT0S, backoffPolicy: x, colour: red}\n  subscriber:",
     ["TRI308", "TRI314", "TRI314", "TRI314"]),
    ("  subscriber:", "  delivery: {retry: 3, timeout: PT1.5S, backoffDelay: P1DT2H, format: json}\n  subscriber:", []),
    ("  subscriber:", "  delivery: {retry: true, backoffDelay: P, retryAfterMax: PT}\n  subscriber:",
     ["TRI314", "TRI314", "TRI314"]),
    ("  subscriber:", "  delivery: {deadLetterSink: {ref: {kind: A}}}\n  subscriber:", ["TRI311", "TRI311"]),
    ("{uri: ", "{ref: {kind: S, name: x, group: g}} #", []),
    ("{uri: ", "{ref: {kind: S, name: n, group: g}} #", ["TRI310"]),
    ("namespace: shop}", "annotations: {a: 5}}", ["TRI310"]),
    ("namespace: shop}", "annotations: {eventing.knative.dev/injection: maybe}}", ["TRI315"]),
    ("namespace: shop}", "annotations: {knative.dev/dependency: '[]'}}", ["TRI315"]),
    ("namespace: shop}", "annotations: {tricel.dev/on-error: ignore}}", ["TRI315"]),
    ("namespace: shop}", "annotations: {tricel.dev/on-error: deliver}}", []),
    ("  broker: default", "  broker: a\n  broker: b", ["TRI302"]),
    ("kind: Trigger", "kind: Trigger\n1: 2", ["TRI303"]),
    ("broker: default", "broker: !secret default", ["TRI304"]),
    ("spec:\n", "spec: {} #", ["TRI301"]),
    ("broker: default", "broker: &b [*b]", ["TRI304", "TRI310"]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), CHANGES, ids=lambda x: str(x).strip()[:40])
def test_one_change_one_diagnosis(old: str, new: str, expected: list[str]) -> None:
    assert old in GOOD
    assert expected == codes(GOOD.replace(old, new, 1))


def test_all_problems_at_once() -> None:
    text = (
        "apiVersion: eventing.knative.dev/v1\nkind: Trigger\nmetadata: {}\nspec: {filters: [{}, {exact: {data: x}}]}\n"
    )
    assert ["TRI311", "TRI311", "TRI311", "TRI332", "TRI335"] == codes(text)


def test_every_manifest_code_has_a_case() -> None:
    covered = {code for *_, listed in CHANGES for code in listed} | {"TRI305", "TRI313", "TRI316", "TRI317"}
    elsewhere = {"TRI306", "TRI307", "TRI309", "TRI312"}  # test_manifest_files.py, test_vanishing.py
    assert {code for code in CODES if code.startswith(("TRI30", "TRI31"))} == (covered | elsewhere) - {"TRI344"}


def test_fields_that_exclude_each_other() -> None:
    both = GOOD.replace("broker: default", "broker: default\n  brokerRef: {name: b}")
    assert ["TRI313"] == codes(both)


def test_the_broker_cannot_change() -> None:
    (old,), _ = read(GOOD)
    (new,), _ = read(GOOD.replace("broker: default", "broker: other"))
    assert () == changed_immutable_fields(old, old)
    assert ["TRI317"] == [d.code for d in changed_immutable_fields(old, new)]


@pytest.mark.parametrize(
    "written",
    [
        "a: |\n    one\n\n     two\n",
        "a: |-\n  one\n  two",
        "a: |2\n    one\n   two\n",
        "a: |+\n  one\n\n\nb: 1\n",
        "a: |\r\n  one\r\n  two\r\n",
        "a: one \t two  # comment\n",
        'a: "one two"\n',
        "{a: 'one'}",
        "# \U0001f600 \u00e9\na: \U0001f600 one\n",
        "a: |  # comment\n  one\nb: 2\n",
    ],
)
def test_offsets_are_exact(written: str) -> None:
    value = value_of(written)
    assert value.offsets is not None
    assert len(value.text) + 1 == len(value.offsets)
    assert value.text == "".join(written[i] for i in value.offsets[:-1]).replace("\r", "\n")


@pytest.mark.parametrize("written", ["a: >\n  one\n  two\n", 'a: "on\\u0065"\n', "a: 'it''s'\n", "a: one\n   two\n"])
def test_folded_and_escaped_text_has_no_offsets(written: str) -> None:
    assert value_of(written).offsets is None


def value_of(written: str) -> Source:
    (document,), problems = read_documents(Source(written))
    assert () == problems
    place = member(root(document), "a")
    assert place is not None
    return embedded(place)


def test_plain_scalars_have_their_kubernetes_types() -> None:
    text = "[a, '5', 5, 0x1F, 0o17, 010, 0, 1.5, 1e3, ~, null, true, no, 2020-01-01, 1.2.3, !!str 5, .inf, -7, 1_000, "
    text += "., ._e5, 0x_, 0b, 0xb, -0b1]"
    (document,), _ = read_documents(Source(text))
    expected = ["a", "5", 5, 31, 15, 8, 0, 1.5, 1000.0, None, None, True, False]
    expected += ["2020-01-01", "1.2.3", "5", float("inf"), -7, 1000, ".", "._e5", 0, "0b", 11, -1]
    assert expected == plain(document.value)


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (bomb(30), "TRI305"),
        ("[" * 50_000, "TRI305"),
        ("{a: " * 5_000, "TRI305"),
        ("- " * 5_000, "TRI305"),
        ("a: &a [[[[]]]]\nb: " + "[" * 98 + "*a" + "]" * 98, "TRI305"),
        ("x" * 16_000_001, "TRI305"),
        ("a: [", "TRI301"),
        ("a:\n\tb: 1", "TRI301"),
        ("a: \x00", "TRI301"),
        ("a: \ud800", "TRI301"),
        ("{{ .Values }}: {{ x", "TRI301"),
        ("%YAML 9.9\n---\na", "TRI301"),
    ],
    ids=lambda x: str(x)[:12].encode("unicode_escape").decode(),
)
def test_hostile_text_is_a_diagnostic(text: str, code: str) -> None:
    start = time.process_time()
    assert [code] == [d.code for d in read_documents(Source(text))[1]]
    assert time.process_time() - start < 5


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"%@#,? \n\t\x00\ud800\u00e9<1~."), max_size=40))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    documents, found = read_documents(Source(text))
    for diagnostic in (*found, *(d for document in documents for d in document.diagnostics)):
        assert diagnostic.span.end <= len(text)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
DIALECT = st.sampled_from(
    ["filter", "filters", "exact", "prefix", "all", "any", "not", "attributes", "expression", "type"]
)
FILTERS = st.recursive(
    st.text(max_size=3) | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(DIALECT, inner, max_size=2),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=3))
def test_python_values_survive_as_documents(value: dict[str, Any]) -> None:
    document, found = from_python(value)
    assert () == found
    assert document is not None
    assert value == plain(document.value)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(DIALECT, FILTERS, max_size=2))
def test_no_mapping_makes_a_dialect_raise(value: dict[str, Any]) -> None:
    document, _ = from_python(value)
    assert document is not None
    translation = translate_place(root(document))
    assert (translation.expr is None) == bool(errors(translation.diagnostics))


def test_mappings_and_sequences_of_any_class() -> None:
    document, _ = from_python(MappingProxyType({"any": deque([{"exact": {"type": "t"}}])}))
    assert document is not None
    assert {"any": [{"exact": {"type": "t"}}]} == plain(document.value)


def test_what_json_cannot_hold_is_a_diagnostic() -> None:
    circular: dict[str, object] = {}
    circular["a"] = circular
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    for value in ({"a": float("nan")}, {"a": object()}, {"a": b"x"}, {("a",): 1}, {5: "x"}, circular, deep):
        document, found = from_python(value)  # type: ignore[arg-type]
        assert (None, ["TRI301"]) == (document, [d.code for d in found])


@pytest.mark.parametrize(
    ("subscriber", "destination"),
    [
        ("{uri: 'http://orders.example/in'}", "http://orders.example/in"),
        ("{ref: {apiVersion: v1, kind: Service, name: sink}}", "Service/shop/sink"),
        (
            "{ref: {apiVersion: serving.knative.dev/v1, kind: Service, name: sink}}",
            "Service.serving.knative.dev/shop/sink",
        ),
        ("{ref: {group: serving.knative.dev, kind: Service, name: s}}", "Service.serving.knative.dev/shop/s"),
        ("{ref: {apiVersion: v1, kind: Service, name: sink, namespace: other}, uri: /in}", "Service/other/sink/in"),
    ],
)
def test_a_destination_is_named_as_kubectl_does(subscriber: str, destination: str) -> None:
    text = f"""
apiVersion: eventing.knative.dev/v1
kind: Trigger
metadata: {{name: t, namespace: shop}}
spec: {{broker: default, subscriber: {subscriber}, filter: {{attributes: {{type: a}}}}}}
"""
    (trigger,), _ = read_manifests(Source(text))
    assert destination == trigger.destination
