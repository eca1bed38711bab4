"""Triggers under review: the published vectors, hostile ones of our own, and the reviews that ask about them."""

from __future__ import annotations

import copy
import re
from typing import Any

from conftest import REPOSITORY, conformance

Object = dict[str, Any]
KNATIVE, OURS = "eventing.knative.dev/v1", "tricel.dev/v1alpha1"


def trigger(spec: Object | None = None, *, version: str = OURS, name: str = "orders", **metadata: Any) -> Object:
    """A Trigger with `spec` laid over a sound one."""
    sound = {"broker": "default", "subscriber": {"uri": "http://example.com/"}}
    whole = {key: value for key, value in {**sound, **(spec or {})}.items() if value is not ...}
    meta = {"name": name, "namespace": "shop", **metadata}
    return {"apiVersion": version, "kind": "Trigger", "metadata": meta, "spec": whole}


def expression(text: str) -> Object:
    """A sound Trigger with a CEL filter."""
    return trigger({"filter": {"expression": text}})


def admission_review(value: object, *, old: object = None, operation: str = "", **request: Any) -> Object:
    """A review that asks about an object."""
    operation = operation or ("CREATE" if old is None else "UPDATE")
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    whole = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "tricel.dev", "version": "v1alpha1", "kind": "Trigger"},
        "operation": operation,
        "namespace": "shop",
        "name": name or "",
        "dryRun": False,
        "object": value,
        "oldObject": old,
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}


def published() -> list[Object]:
    """The published cases, each with `allowed`: what is asked of us, the listed differences heeded."""
    page = (REPOSITORY / "docs" / "dialects" / "knative.md").read_text(encoding="utf-8")
    section = page.split("## Manifests that differ")[1]
    otherwise = {name for name, _ in re.findall(r"^\| `(.+)` \| (.+) \|$", section, re.MULTILINE)}
    cases = conformance("trigger_validation_cases.json")["cases"]
    return [{**case, "allowed": case["valid"] != (case["name"] in otherwise)} for case in cases]


def features_of(case: Object) -> frozenset[str]:
    """The Knative features that are on in a published case."""
    return frozenset(name for name, state in case.get("features", {}).items() if state == "enabled")


def as_ours(value: Object) -> Object:
    """The same Trigger in tricel's own API group."""
    return {**copy.deepcopy(value), "apiVersion": OURS}


def _nested(levels: int) -> Object:
    inner: Object = {"exact": {"type": "t"}}
    for _ in range(levels):
        inner = {"not": inner}
    return inner


def _filters(*filters: Object) -> Object:
    return trigger({"filters": list(filters)})


_CASES: tuple[tuple[str, str, Object], ...] = (
    ("misspelt function", "TRI203", expression('ce.source.startWith("x")')),
    ("misspelt root", "TRI201", expression('cd.type == "x"')),
    ("syntax error", "TRI101", expression("ce.type == ")),
    ("two statements", "TRI101", expression("true; false")),
    ("not a bool", "TRI207", expression("ce.type")),
    ("int added to a JSON number", "TRI204", expression("data.n + 1 > 2.0")),
    ("not an RE2 pattern", "TRI208", expression(r"ce.type.matches('(?=a)b')")),
    ("back-reference", "TRI208", expression(r"ce.type.matches('(a)\\1')")),
    ("nested 2,000 additions", "TRI102", expression("(1 + " * 2000 + "1" + ")" * 2000 + " == 1")),
    ("nested 5,000 negations", "TRI102", expression("!" * 5001 + "true")),
    ("nested 1,000 lists", "TRI102", expression("[" * 1000 + "]" * 1000 + " == []")),
    ("100,001 characters", "TRI102", expression("true" + " " * 100_000 + "|| ce.type == 'a'")),
    ("30,000 parts", "TRI102", expression(" || ".join(["true"] * 30_000))),
    ("integer out of range", "TRI103", expression("9223372036854775808 > 1")),
    ("blank expression", "TRI332", expression("  \n ")),
    ("unbalanced quote", "TRI101", expression("ce.type == 'a")),
    ("control character", "TRI101", expression("ce.type\x00 == 'a'")),
    ("template left in", "TRI101", expression("{{ .Values.filter }}")),
    ("SQL in an expression", "TRI101", expression("type = 'a' OR 1=1 --")),
    ("comprehensions in one another", "TRI210", expression(
        "data.a.all(a, data.b.all(b, data.c.all(c, data.d.all(d, data.e.all(e, a == b && c == d && e == a)))))")),
    ("message", "TRI205", expression("google.protobuf.Value{} == null")),
    ("expression that is a number", "TRI310", trigger({"filter": {"expression": 1}})),
    ("expression that is a list", "TRI310", trigger({"filter": {"expression": ["true"]}})),
    ("filter that is a string", "TRI310", trigger({"filter": "true"})),
    ("filters that is a mapping", "TRI310", trigger({"filters": {"exact": {"type": "t"}}})),
    ("misspelt form", "TRI331", trigger({"filter": {"expresion": "true"}})),
    ("misspelt dialect", "TRI331", _filters({"exakt": {"type": "t"}})),
    ("two forms", "TRI330", trigger({"filter": {"attributes": {"type": "t"}, "expression": "true"}})),
    ("two dialects", "TRI330", _filters({"exact": {"type": "t"}, "prefix": {"type": "t"}})),
    ("filter and filters", "TRI330", trigger({"filter": {"expression": "true"}, "filters": [{"exact": {"type": "t"}}]})),
    ("empty filter in a list", "TRI332", _filters({})),
    ("any of nothing", "TRI332", _filters({"any": []})),
    ("exact without an attribute", "TRI332", _filters({"exact": {}})),
    ("attribute in upper case", "TRI333", _filters({"exact": {"Type": "t"}})),
    ("attribute with a quote", "TRI333", trigger({"filter": {"attributes": {"a' OR '1'='1": "t"}}})),
    ("attribute that is data", "TRI335", _filters({"exact": {"data": "t"}})),
    ("attribute that is a number", "TRI336", trigger({"filter": {"attributes": {"prio": 5}}})),
    ("attribute that is null", "TRI336", trigger({"filter": {"attributes": {"type": None}}})),
    ("time that is none", "TRI337", _filters({"exact": {"time": "yesterday"}})),
    ("prefix of a time", "TRI338", _filters({"prefix": {"time": "2024"}})),
    ("not in not, 150 deep", "TRI305", _filters(_nested(150))),
    ("broker that is a list", "TRI310", trigger({"broker": ["default"]})),
    ("no broker", "TRI311", trigger({"broker": ...})),
    ("empty broker", "TRI311", trigger({"broker": ""})),
    ("no subscriber", "TRI311", trigger({"subscriber": ...})),
    ("subscriber that is a string", "TRI310", trigger({"subscriber": "http://x/"})),
    ("relative uri", "TRI314", trigger({"subscriber": {"uri": "/x"}})),
    ("negative retry", "TRI314", trigger({"delivery": {"retry": -1}})),
    ("retry that is true", "TRI314", trigger({"delivery": {"retry": True}})),
    ("timeout of zero", "TRI314", trigger({"delivery": {"timeout": "PT0S"}})),
    ("duration of Go", "TRI314", trigger({"delivery": {"backoffDelay": "2s"}})),
    ("no spec", "TRI311", {**trigger(), "spec": None}),
    ("spec that is a list", "TRI310", {**trigger(), "spec": []}),
    ("unknown annotation value", "TRI315", trigger(annotations={"eventing.knative.dev/injection": "yes"})),
    ("filter under the subscriber", "TRI309", trigger({"subscriber": {"uri": "http://x/", "filter": {"attributes": {}}}})),
    ("misspelt filter", "TRI308", trigger({"filtre": {"attributes": {"type": "t"}}})),
    ("attributes beside the filter", "TRI309", trigger({"attributes": {"type": "t"}})),
    ("unknown field of the delivery", "TRI308", trigger({"delivery": {"colour": "red"}})),
    ("misspelt annotation", "TRI315", trigger(annotations={"tricel.dev/expresion": "true"})),
    ("annotation that is not JSON", "TRI315", trigger(annotations={"knative.dev/dependency": "{"})),
)  # fmt: skip

HOSTILE: tuple[tuple[str, str, Object], ...] = _CASES
"""Triggers that must be refused: name, the code of one of the errors, the object."""


SOUND: tuple[tuple[str, Object], ...] = (
    ("no filter", trigger()),
    ("empty filter", trigger({"filter": {}})),
    ("expression", expression('ce.type == "order.created" && data.total > 100.0')),
    ("expression on lines", expression('ce.type == "a" &&\n  has(ce.subject)\n')),
    ("expression with quotes and a backslash", expression(r"""ce.type == "a\"b" || ce.source.matches('^/\\d+$')""")),
    ("2,000 parentheses", expression("(" * 2000 + "true" + ")" * 2000)),
    ("attributes", trigger({"filter": {"attributes": {"type": "t", "ext": ""}}})),
    ("filters", _filters({"any": [{"exact": {"type": "a"}}, {"not": {"prefix": {"source": "/x"}}}]})),
    ("source and type", trigger({"filter": {"sourceAndType": {"type": "t", "source": "s"}}})),
    ("broker reference", trigger({"broker": ..., "brokerRef": {"name": "b", "kind": "Broker", "apiVersion": "v1"}})),
    ("a ref and a relative uri", trigger({"subscriber": {
        "ref": {"apiVersion": "v1", "kind": "Service", "name": "s"}, "uri": "/path"}})),
    ("a ref by group", trigger({"subscriber": {"ref": {"group": "apps", "kind": "Deployment", "name": "s"}}})),
    ("delivery", trigger({"delivery": {
        "retry": 3, "timeout": "PT1M30S", "backoffDelay": "PT0.5S", "backoffPolicy": "linear", "format": "json",
        "retryAfterMax": "P1DT2H", "deadLetterSink": {"uri": "http://dead/"}}})),
)  # fmt: skip
"""Triggers that must be admitted."""
