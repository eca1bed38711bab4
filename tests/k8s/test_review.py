"""The review denies what the compiler refuses, with the right path, and allows nothing that it does not understand."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
from admission_vectors import (
    HOSTILE,
    KNATIVE,
    SOUND,
    admission_review,
    as_ours,
    expression,
    features_of,
    published,
    trigger,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tricel.compiler import check_translation, errors, read_object
from tricel.compiler.limits import DEFAULT
from tricel.k8s.mutate import mutate
from tricel.k8s.review import NotAReviewError, review
from tricel.k8s.work import answered, unfinished

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"

OUR_PATHS = {
    "spec.namespace": "spec.brokerRef.namespace",
    "spec.subscriber.ref, spec.subscriber.uri": "spec.subscriber",
    "spec.subscriber.ref, spec.subscriber.uri, spec.subscriber[apiVersion, kind, name]": "spec.subscriber.uri",
    "broker": "spec.broker",
    "spec": "spec.broker",
    "spec.broker, spec.brokerRef": "spec.brokerRef",
}
"""Paths that the reference webhook reports, and the field that we name: where two fields clash, the one in the way."""


def response(body: Any, **options: Any) -> dict[str, Any]:
    answered = review(body, **options)
    assert ("admission.k8s.io/v1", "AdmissionReview") == (answered["apiVersion"], answered["kind"])
    assert body["request"]["uid"] == answered["response"]["uid"]
    json.dumps(answered)
    return dict(answered["response"])


def denied(body: Any, **options: Any) -> tuple[str, set[str], set[str]]:
    """The message of a denial, and the fields and codes of its causes."""
    found = response(body, **options)
    assert found["allowed"] is False
    status = found["status"]
    assert ("Failure", 400, "BadRequest") == (status["status"], status["code"], status["reason"])
    causes = status["details"]["causes"]
    return status["message"], {cause["field"] for cause in causes}, {cause["reason"] for cause in causes}


def asked(case: dict[str, Any], *, ours: bool) -> dict[str, Any]:
    new, old = case["trigger"], case.get("old_trigger")
    if ours:
        new, old = as_ours(new), None if old is None else as_ours(old)
    return admission_review(new, old=old)


@pytest.mark.parametrize("ours", [False, True], ids=["knative", "tricel"])
def test_the_published_vectors(ours: bool) -> None:
    cases = published()
    assert len(cases) > 50
    judged = [response(asked(c, ours=ours), features=features_of(c))["allowed"] for c in cases]
    assert [] == [c["name"] for c, allowed in zip(cases, judged, strict=True) if c["allowed"] != allowed]


def reported_paths(case: dict[str, Any]) -> set[str]:
    """The paths in the reference webhook's text, each mended where it is known to be wrong."""
    found: set[str] = set()
    for line in case["error"].splitlines():
        tail = re.search(r": ((?:spec|metadata|broker)[^:]*)$", line)
        if tail and tail[1] in OUR_PATHS:
            found.add(OUR_PATHS[tail[1]])
        elif tail:
            found.update(OUR_PATHS.get(path, path) for path in re.split(r", (?![^\[]*\])", tail[1]))
    return found


def test_a_denial_names_the_fields() -> None:
    seen = 0
    for case in published():
        if not case["allowed"] and not case["valid"]:
            expected = reported_paths(case)
            _, fields, _ = denied(asked(case, ours=False), features=features_of(case))
            assert expected, case["error"]
            assert expected <= fields, (case["name"], fields)
            seen += len(expected)
    assert seen > 25


@pytest.mark.parametrize(("code", "value"), [(code, v) for _, code, v in HOSTILE], ids=[name for name, _, _ in HOSTILE])
def test_hostile_triggers_are_denied(code: str, value: dict[str, Any]) -> None:
    message, fields, codes = denied(admission_review(value))
    assert code in codes, message
    assert len(message) < 30_000
    assert all(field.startswith(("spec", "metadata")) for field in fields) or code in ("TRI305", "TRI301"), fields


def test_there_are_fifty_hostile_triggers() -> None:
    assert len(HOSTILE) >= 50


@pytest.mark.parametrize("value", [v for _, v in SOUND], ids=[name for name, _ in SOUND])
@pytest.mark.parametrize("version", [KNATIVE, "tricel.dev/v1alpha1"])
def test_sound_triggers_are_allowed(value: dict[str, Any], version: str) -> None:
    found = response(admission_review({**value, "apiVersion": version}))
    assert found["allowed"], found
    assert "status" not in found


def test_a_denial_shows_every_problem_in_its_place() -> None:
    message, _, _ = denied(
        admission_review(expression('ce.type == "x" &&\n  ce.source.startWith("日本") && data.n + 1 > 2'))
    )
    assert (
        "spec.filter.expression:2:3: error[TRI203]: unknown function 'startWith'\n"
        '      ce.source.startWith("日本") && data.n + 1 > 2\n'
        "      ^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: did you mean 'startsWith'?\n"
    ) in message
    assert "spec.filter.expression:2:32: error[TRI204]" in message


def test_cloudevents_sql_is_judged_in_its_place() -> None:
    sound = response(admission_review(trigger({"filters": [{"cesql": "type LIKE 'com.%' AND priority > 5"}]})))
    assert sound["allowed"]
    assert "warnings" not in sound
    doubtful = response(admission_review(trigger({"filters": [{"cesql": "NOT type = 'x'"}]})))
    assert doubtful["allowed"]
    assert any("TRI364" in w and w.startswith("spec.filters[0].cesql") for w in doubtful["warnings"]), doubtful
    message, _, _ = denied(admission_review(trigger({"filters": [{"cesql": "type = 'x' AND\n  LENGHT(id) > 3"}]})))
    assert (
        "spec.filters[0].cesql:2:3: error[TRI361]: there is no function 'LENGHT'\n"
        "      LENGHT(id) > 3\n"
        "      ^^^^^^\n"
        "  help: did you mean 'LENGTH'?"
    ) in message


def test_a_denial_has_no_control_characters() -> None:
    message, _, _ = denied(admission_review(trigger({"filter": {"a\x1b[31m\u202e": {}}})))
    assert re.search(r"[\x00-\x09\x0b-\x1f\u202e]", message) is None
    assert "<U+001B>" in message


def test_many_problems_are_cut() -> None:
    many = trigger({"filters": [{"exact": {f"A{n}": "x"}} for n in range(500)]})
    message, fields, _ = denied(admission_review(many))
    assert message.endswith("and 480 more")
    assert len(fields) == 20


def test_warnings_keep_the_limits_of_an_api_server() -> None:
    names = {"a" * 250 + str(n): "v" for n in range(100)}
    found = response(admission_review(trigger({"filter": {"attributes": names}})))
    assert found["allowed"]
    warnings = found["warnings"]
    assert all(0 < len(w) <= 256 and w.isprintable() for w in warnings)
    assert sum(map(len, warnings)) <= 4096
    assert re.fullmatch(r"and \d+ more warnings", warnings[-1])


def test_what_is_not_native_is_a_warning() -> None:
    found = response(admission_review(expression("ce.type.matches('^(a|b)+$') && uint(data.n) > 1u")))
    assert found["allowed"]
    assert any("TRI550" in w and w.startswith("spec.filter.expression") for w in found["warnings"]), found


def test_deprecated_forms_are_a_warning() -> None:
    found = response(admission_review(trigger({"filter": {"sourceAndType": {"type": "t"}}})))
    assert found["allowed"]
    assert any("TRI339" in w for w in found["warnings"])


def test_the_broker_cannot_change() -> None:
    _, fields, codes = denied(admission_review(trigger({"broker": "b"}), old=trigger({"broker": "a"})))
    assert ({"spec.broker"}, {"TRI317"}) == (fields, codes)
    assert response(admission_review(trigger({"filter": {}}), old=trigger()))["allowed"]


def test_an_update_is_reviewed_whole_and_needs_its_old_object() -> None:
    _, _, codes = denied(admission_review(expression("1"), old=trigger()))
    assert "TRI207" in codes
    for old in (None, {}, {"kind": "Service"}):
        _, _, codes = denied(admission_review(trigger(), old=old, operation="UPDATE"))
        assert {"TRI501"} == codes


def test_a_dry_run_is_judged_alike() -> None:
    for value in (trigger(), expression("1")):
        assert response(admission_review(value)) == response(admission_review(value, dryRun=True))


def test_a_generated_name_will_do() -> None:
    value = trigger(generateName="orders-")
    del value["metadata"]["name"]
    assert response(admission_review(value))["allowed"]
    del value["metadata"]["generateName"]
    _, fields, _ = denied(admission_review(value))
    assert {"metadata.name"} == fields


def test_what_is_being_deleted_may_lose_its_finalizers() -> None:
    old = expression("1")
    new = {**old, "metadata": {**old["metadata"], "deletionTimestamp": "2024-01-01T00:00:00Z"}}
    assert response(admission_review(new, old=old))["allowed"]
    denied(admission_review({**new, "spec": expression("2")["spec"]}, old=old))
    denied(admission_review(new, operation="CREATE"))


def with_metadata(value: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**value, "metadata": {**value["metadata"], **metadata}}


BAD_FROM_BEFORE = (
    expression('ce.source.startWith("x")'),
    trigger({"broker": ..., "subscriber": "http://x/"}),
    {name: value for name, value in trigger().items() if name != "spec"},
    {**trigger(), "spec": None},
    trigger(annotations={"eventing.knative.dev/injection": "yes"}),
    {**trigger(), "apiVersion": "tricel.dev/v9"},
)


@pytest.mark.parametrize("old", BAD_FROM_BEFORE, ids=["filter", "manifest", "no spec", "null", "annotation", "version"])
@pytest.mark.parametrize("changed", [{"labels": {"a": "b"}}, {"finalizers": []}])
def test_an_update_that_keeps_the_spec_is_warned_of(old: dict[str, Any], changed: dict[str, Any]) -> None:
    _, _, codes = denied(admission_review(old))
    found = response(admission_review(with_metadata(old, **changed), old=old))
    assert found["allowed"]
    (told,) = [warning for warning in found["warnings"] if "TRI503" in warning]
    assert any(code in told for code in codes), told


def test_what_an_update_that_keeps_the_spec_makes_worse_is_denied() -> None:
    old = expression("ce.type.startWith('a')")
    new = with_metadata(old, annotations={"eventing.knative.dev/injection": "yes"})
    _, _, codes = denied(admission_review(new, old=old))
    assert {"TRI203", "TRI315"} == codes
    # To Python these are equal.
    _, _, codes = denied(
        admission_review(trigger({"delivery": {"retry": True}}), old=trigger({"delivery": {"retry": 1}}))
    )
    assert {"TRI314"} == codes
    denied(admission_review({**old, "kind": "trigger"}, old={**old, "kind": "trigger"}))


def test_a_warning_of_before_names_the_first_problems_and_counts_the_rest() -> None:
    old = trigger({"filters": [{"exact": {f"A{n}": "x"}} for n in range(30)]})
    (told, *_) = response(admission_review(with_metadata(old, labels={}), old=old))["warnings"]
    assert "TRI503 the Trigger is as wrong as it was before, with 30 errors: TRI333 'spec.filters[0].exact[A0]'" in told
    assert len(told) <= 256


def test_a_trigger_without_a_spec_can_be_mended() -> None:
    old = {name: value for name, value in trigger().items() if name != "spec"}
    message, _, codes = denied(admission_review(old))
    assert ({"TRI311"}, True) == (codes, "'spec' is missing" in message), message
    assert response(admission_review(trigger(), old=old))["allowed"]


def test_the_mutation_keeps_a_spec_that_an_update_keeps() -> None:
    old = trigger({"filter": {"sourceAndType": {"type": "t"}}})
    assert [] == patch_of(admission_review(with_metadata(old, labels={"a": "b"}), old=old))
    assert patch_of(admission_review(old, old=trigger()))


def test_a_review_that_fails_lets_an_update_go_that_keeps_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a fault of ours nor a filter that takes too long holds a finalizer."""
    old = expression("ce.type == 'a'")
    kept = json.dumps(admission_review(with_metadata(old, finalizers=[]), old=old)).encode()
    new = json.dumps(admission_review(expression("ce.type == 'b'"), old=old)).encode()
    assert ("allowed", "denied") == tuple(unfinished("/validate", body).outcome for body in (kept, new))
    monkeypatch.delenv("TRICEL_FAULTS", raising=False)
    monkeypatch.setattr("tricel.k8s.review.lower_filter", lambda checked: 1 / 0)
    found = [answered("/validate", body, frozenset(), DEFAULT) for body in (kept, new)]
    assert ["allowed", "denied"] == [each.outcome for each in found]
    assert b"TRI901" in found[0].body


def test_a_deletion_and_a_status_are_not_judged() -> None:
    assert response(admission_review(None, old=expression("1"), operation="DELETE"))["allowed"]
    assert response(admission_review(expression("1"), old=expression("1"), subResource="status"))["allowed"]
    denied(admission_review(expression("1"), old=expression("1"), subResource="scale"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"kind": "List", "apiVersion": "v1", "items": [trigger()]},
        {"kind": "TriggerList", "apiVersion": "v1", "items": []},
        {**trigger(), "kind": "trigger"},
        {**trigger(), "apiVersion": "triggers.tekton.dev/v1beta1"},
        {**trigger(), "apiVersion": "tricel.dev/v9"},
        {**trigger(), "apiVersion": ""},
        {**trigger(), "apiVersion": 1},
        {**trigger(), "metadata": []},
        {**trigger(), "spec": "\ud800"},
    ],
)
def test_what_is_not_a_trigger_is_denied(value: Any) -> None:
    denied(admission_review(value))


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"},
        {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": []},
        {**admission_review(trigger()), "apiVersion": "admission.k8s.io/v1beta1"},
        {**admission_review(trigger()), "kind": "Review"},
        admission_review(trigger(), uid=""),
        admission_review(trigger(), uid=7),
        admission_review(trigger(), operation="CONNECT"),
        admission_review(trigger(), operation=["CREATE"]),
        admission_review([]),
        admission_review(trigger(), old="x"),
    ],
)
def test_what_is_not_a_review_is_refused(body: Any) -> None:
    with pytest.raises(NotAReviewError):
        review(body)
    with pytest.raises(NotAReviewError):
        mutate(body)


# The mutating webhook.


def patch_of(body: Any) -> list[dict[str, Any]]:
    found = mutate(body)["response"]
    assert found["allowed"] is True
    assert body["request"]["uid"] == found["uid"]
    if "patch" not in found:
        return []
    assert found["patchType"] == "JSONPatch"
    return list(json.loads(base64.b64decode(found["patch"])))


def applied(value: Any, operations: list[dict[str, Any]]) -> Any:
    """RFC 6902 as far as `add` and `remove` of members go."""
    value = json.loads(json.dumps(value))
    for operation in operations:
        *path, last = operation["path"].split("/")[1:]
        holder = value
        for name in path:
            holder = holder[name]
        if operation["op"] == "add":
            holder[last] = operation["value"]
        else:
            del holder[last]
    return value


def test_source_and_type_becomes_attributes_and_means_the_same() -> None:
    old = trigger({"filter": {"sourceAndType": {"type": "t", "source": ""}}})
    new = applied(old, patch_of(admission_review(old)))
    assert {"attributes": {"type": "t", "source": ""}} == new["spec"]["filter"]
    (before,), _ = read_object(old, "old")
    (after,), _ = read_object(new, "new")
    assert before.translation.expr == after.translation.expr is not None


def test_a_reference_gets_the_namespace() -> None:
    ref = {"apiVersion": "v1", "kind": "Service", "name": "s"}
    value = trigger(
        {"subscriber": {"ref": ref}, "delivery": {"deadLetterSink": {"ref": {**ref, "namespace": "other"}}}}
    )
    new = applied(value, patch_of(admission_review(value)))
    assert new["spec"]["subscriber"]["ref"] == {**ref, "namespace": "shop"}
    assert new["spec"]["delivery"] == value["spec"]["delivery"]
    assert [] == patch_of(admission_review(new))


@pytest.mark.parametrize(
    "filter_",
    [
        {},
        "text",
        {"sourceAndType": {}, "attributes": {}},
        {"sourceAndType": {"type": 5}},
        {"sourceAndType": {"subject": "s"}},
        {"sourceAndType": []},
        {"sourceAndType": None},
    ],
)
def test_what_the_mutation_does_not_understand_it_leaves(filter_: Any) -> None:
    assert [] == patch_of(admission_review(trigger({"filter": filter_})))


# Nothing that the compiler refuses is allowed, whatever it looks like.

_KEYS = st.sampled_from(
    [
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "namespace",
        "annotations",
        "generateName",
        "spec",
        "broker",
        "brokerRef",
        "subscriber",
        "ref",
        "uri",
        "filter",
        "filters",
        "attributes",
        "expression",
        "sourceAndType",
        "exact",
        "prefix",
        "suffix",
        "all",
        "any",
        "not",
        "cesql",
        "type",
        "source",
        "delivery",
        "retry",
        "timeout",
        "deletionTimestamp",
        "data",
    ]
) | st.text(max_size=5)
_VALUES = st.sampled_from(
    ["Trigger", "tricel.dev/v1alpha1", KNATIVE, "default", "http://x/", "ce.type == 'a'", "true", "1", "", "PT1S"]
)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | _VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


def accepted_by_the_compiler(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("kind") != "Trigger":
        return False
    triggers, found = read_object(value, "x")
    return len(triggers) == 1 and not errors(found) and check_translation(triggers[0].translation)[0] is not None


@settings(max_examples=300, deadline=None)
@given(spec=_JSON, filter_=_JSON, operation=st.sampled_from(["CREATE", "UPDATE"]))
def test_any_spec(spec: Any, filter_: Any, operation: str) -> None:
    for value in ({**trigger(), "spec": spec}, trigger({"filter": filter_}), trigger({"filters": filter_})):
        found = response(admission_review(value, old=trigger() if operation == "UPDATE" else None, operation=operation))
        assert not found["allowed"] or accepted_by_the_compiler(value)
        mutate(admission_review(value))


@settings(max_examples=300, deadline=None)
@given(body=_JSON, request=_JSON, value=_JSON)
def test_any_body(body: Any, request: Any, value: Any) -> None:
    for each in (body, {**admission_review(None), "request": request}, admission_review(value)):
        try:
            found = review(each)["response"]
        except NotAReviewError:
            continue
        allowed_unread = each["request"]["operation"] == "DELETE" or each["request"].get("subResource") == "status"
        assert not found["allowed"] or allowed_unread or accepted_by_the_compiler(each["request"]["object"])


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=40) | st.text(alphabet="ce.data()[]{}'\"\\&|!=<>+-*/%?:, \n01ainsx", max_size=40))
def test_any_expression(text: str) -> None:
    found = response(admission_review(expression(text)))
    assert not found["allowed"] or accepted_by_the_compiler(expression(text))
