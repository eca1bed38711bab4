"""Nothing of a manifest vanishes without a word: fields that nothing reads, kinds that are nearly read, dropped filters."""

from __future__ import annotations

import json

import pytest
import yaml
from manifest_codes import codes, read
from tricel.compiler import Source, check_translation, errors, read_object
from tricel.compiler.diagnostics import CODES
from tricel.compiler.documents.document import plain, read_documents
from tricel.compiler.manifests.trigger_fields import LAST_APPLIED
from tricel.compiler.unparse import unparse

KNATIVE, OURS = "eventing.knative.dev/v1", "tricel.dev/v1alpha1"
PLAIN = """\
apiVersion: VERSION
kind: Trigger
metadata:
  name: orders
spec:
  broker: default
  filter:
    attributes:
      type: t
  subscriber:
    ref:
      apiVersion: v1
      kind: Service
      name: s
  delivery:
    retry: 3
"""
BOTH = (KNATIVE, OURS)

VANISHING = [
    # what is written, instead of what; in which groups; the code, and what its message and help say
    ("  filter:\n", "  filtre:\n", BOTH, "TRI308", "did you mean 'filter'?"),
    ("  filter:\n", "  Filter:\n", BOTH, "TRI308", "did you mean 'filter'?"),
    ("  filter:\n    attributes:\n      type: t\n", "  attributes: {type: t}\n", BOTH, "TRI309", "'spec.filter.attributes'"),
    ("  filter:\n    attributes:\n      type: t\n", "  expression: 'true'\n", BOTH, "TRI309", "'spec.filter.expression'"),
    ("  filter:\n    attributes:\n      type: t\n", "  atributes: {type: t}\n", BOTH, "TRI308", "'spec.filter.attributes'"),
    ("  filter:\n    attributes:\n      type: t\n", "  exact: {type: t}\n", BOTH, "TRI309", "'spec.filters[].exact'"),
    ("  filter:\n    attributes:\n      type: t\n", "  type: t\n", BOTH, "TRI309", "'spec.filter.attributes.type'"),
    ("  filter:\n    attributes:\n      type: t\n", "  only: {exact: {type: t}}\n", BOTH, "TRI308", "looks like a filter"),
    ("  filter:\n    attributes:\n      type: t\n", "  when: ce.type == 't'\n", BOTH, "TRI308", "looks like a filter"),
    ("  filter:\n    attributes:\n      type: t\n", "  cel: {expression: ce.type == 't'}\n", BOTH, "TRI309",
     "write filter.expression: ce.type == 't'"),
    ("  subscriber:\n", "  subscriber:\n    filter: {attributes: {type: t}}\n", BOTH, "TRI309", "'spec.filter'"),
    ("  subscriber:\n", "  subscriber:\n    filtre: {attributes: {type: t}}\n", BOTH, "TRI308", "'spec.filter'"),
    ("  subscriber:\n", "  subscriber:\n    url: http://x/\n", BOTH, "TRI308", "uri"),
    ("  subscriber:\n", "  subscriber:\n    colour: red\n", BOTH, "TRI308", "known fields: ref, uri"),
    ("  subscriber:\n", "  subscriber:\n    name: s\n", BOTH, "TRI309", "'spec.subscriber.ref.name'"),
    ("      name: s\n", "      name: s\n      port: 80\n", BOTH, "TRI308", "known fields: apiVersion, kind"),
    ("      name: s\n", "      name: s\n      uri: /x\n", BOTH, "TRI309", "'spec.subscriber.uri'"),
    ("    retry: 3\n", "    retries: 3\n", BOTH, "TRI308", "retry"),
    ("    retry: 3\n", "    colour: red\n", BOTH, "TRI308", "known fields: deadLetterSink, retry"),
    ("    retry: 3\n", "    deadLetterSink: {uri: 'http://x/', colour: red}\n", BOTH, "TRI308", "known fields: ref, uri"),
    ("    retry: 3\n", "    filters: []\n", BOTH, "TRI309", "'spec.filters'"),
    ("  broker: default\n", "  brokerRef: {name: b, colour: red}\n", BOTH, "TRI308", "known fields: apiVersion"),
    ("  broker: default\n", "  broker: default\n  retry: 3\n", BOTH, "TRI309", "'spec.delivery.retry'"),
    ("spec:\n", "filter: {attributes: {type: t}}\nspec:\n", BOTH, "TRI309", "'spec.filter'"),
    ("  broker: default\n", "  broker: default\n  shards: 3\n", (KNATIVE,), "TRI312", "not a field that is known of Knative"),
    ("  broker: default\n", "  broker: default\n  shards: 3\n", (OURS,), "TRI308", "known fields: broker, brokerRef"),
    ("  name: orders\n", "  name: orders\n  annotations: {tricel.dev/expresion: 'true'}\n", BOTH, "TRI315",
     "did you mean 'tricel.dev/expression'?"),
    ("  name: orders\n", "  name: orders\n  annotations: {tricel.dev/expression: 'true'}\n", (OURS,), "TRI315",
     "'spec.filter.expression'"),
    ("      kind: Service\n", "      kind: Service\n      address: a\n", (KNATIVE,), "TRI344", "an API server drops it"),
    ("    attributes:\n", "    sourceAndType:\n", (KNATIVE,), "TRI344", "rename it to 'attributes'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "version", "code", "said"),
    [(old, new, version, code, said) for old, new, versions, code, said in VANISHING for version in versions],
    ids=lambda x: str(x).strip()[-40:],
)
def test_no_field_vanishes(old: str, new: str, version: str, code: str, said: str) -> None:
    text = PLAIN.replace("VERSION", version)
    assert old in text
    assert () == read(text)[1]
    found = [d for d in read(text.replace(old, new, 1))[1] if d.code != "TRI339"]
    assert [code] == [d.code for d in found]
    assert said in f"{found[0].message}; {found[0].help}"


def test_a_field_points_at_its_place() -> None:
    (found,) = read(PLAIN.replace("VERSION", KNATIVE).replace("  subscriber:\n", "  subscriber:\n    filter: {}\n"))[1]
    at = found.source.position(found.span.start)
    assert ("TRI309", 11, 5, "spec.subscriber.filter") == (found.code, at.line, at.column, found.field)


def test_metadata_and_status_are_free() -> None:
    free = "status: {filter: {}, colour: red}\nmetadata:\n  finalizers: []\n  colour: red\n"
    assert [] == codes(PLAIN.replace("VERSION", KNATIVE).replace("metadata:\n", free))


NEARLY = [
    ("kind: Trigger\n", "TRI348", "kind: trigger\n"),
    ("kind: Trigger\n", "TRI348", "kind: Triggers\n"),
    ("kind: Trigger\n", "TRI348", "kind: Tigger\n"),
    ("kind: Trigger\n", "TRI348", "kind: Subscription\n"),
    ("kind: Trigger\n", "TRI348", ""),
    (f"apiVersion: {KNATIVE}\n", "TRI348", "apiVersion: eventing.knative.com/v1\n"),
    (f"apiVersion: {KNATIVE}\n", "TRI348", "apiVersion: Eventing.knative.dev/v1\n"),
    (f"apiVersion: {KNATIVE}\n", "TRI348", "apiVersion: messaging.knative.dev/v1\n"),
    (f"apiVersion: {KNATIVE}\n", "TRI348", "apiVersion: tricle.dev/v1alpha1\n"),
    (f"apiVersion: {KNATIVE}\n", "TRI348", "apiVersion: v1\n"),
    (f"apiVersion: {KNATIVE}\n", "TRI348", "apiVersion: example.com/v1\n"),
]


@pytest.mark.parametrize(("old", "code", "new"), NEARLY, ids=lambda x: x.strip())
def test_what_is_nearly_a_trigger_is_named(old: str, code: str, new: str) -> None:
    text = PLAIN.replace("VERSION", KNATIVE)
    triggers, found = read(f"kind: ConfigMap\napiVersion: v1\n---\n{text.replace(old, new)}---\n{text}")
    assert (1, [code]) == (len(triggers), [d.code for d in found])
    line = found[0].source.position(found[0].span.start).line
    assert 4 + (old.startswith("kind") and bool(new)) == line
    assert "write 'kind: Trigger'" in found[0].help or "write 'apiVersion: eventing.knative.dev/v1'" in found[0].help


def test_a_near_list_is_named_and_its_items_too() -> None:
    item = json.dumps(plain(read_documents(Source(PLAIN.replace("VERSION", KNATIVE)))[0][0].value))
    for kind, inside in (("list", item), ("Triggerlist", item.replace('"Trigger"', '"trigger"'))):
        text = f'{{"kind": "{kind}", "apiVersion": "v1", "items": [{inside}]}}'
        assert ["TRI348"] == codes(text), kind
    near = item.replace('"Trigger"', '"trigger"')
    text = f'{{"kind": "List", "apiVersion": "v1", "items": [{near}, {{"kind": "Pod"}}, {near}]}}'
    assert ["items[0].kind", "items[2].kind"] == [d.field for d in read(text)[1]]
    assert [] == codes('{"kind": "list", "items": [{"kind": "Pod"}]}')


def test_other_kinds_are_not_near() -> None:
    others = (
        ("Broker", KNATIVE),
        ("EventType", KNATIVE),
        ("TriggerBinding", "triggers.tekton.dev/v1beta1"),
        ("Trigger", "triggers.tekton.dev/v1beta1"),
        ("TriggerAuthentication", "keda.sh/v1alpha1"),
        ("Service", "v1"),
    )
    for kind, version in others:
        assert [] == codes(f"kind: {kind}\napiVersion: {version}\nspec: {{subscriber: x}}\n"), kind  # fmt: skip


@pytest.mark.parametrize("form", ["expression: ce.type == 't'", "sourceAndType: {type: t}"])
def test_for_knative_what_a_cluster_drops_is_an_error(form: str) -> None:
    text = PLAIN.replace("VERSION", KNATIVE).replace("attributes:\n      type: t", form)
    for target, code in (("", "TRI344"), ("knative", "TRI345")):
        (found,) = [d for d in read(text, target=target)[1] if d.code != "TRI339"]
        assert (code, "spec.filter." + form.partition(":")[0]) == (found.code, found.field)
        assert "delivers every event" in found.message
    assert "TRI345" not in codes(text.replace(KNATIVE, OURS), target="knative")


def narrowed(annotation: str, filter_: str = "attributes: {type: t}") -> str:
    text = PLAIN.replace("VERSION", KNATIVE).replace("attributes:\n      type: t", filter_)
    return text.replace(
        "  name: orders\n", f"  name: orders\n  annotations:\n    tricel.dev/expression: {annotation}\n"
    )


@pytest.mark.parametrize(
    ("annotation", "filter_", "cel"),
    [
        ("data.n > 1.0", "attributes: {type: t}", 'ce.type == "t" && data.n > 1.0'),
        ('"data.n > 1.0 || \\u0074rue"', "attributes: {type: t}", 'ce.type == "t" && (data.n > 1.0 || true)'),
        ("data.n > 1.0", "{}", "data.n > 1.0"),
        ("'ce.type.match(\"a*\")'", "attributes: {source: s}", 'ce.source == "s" && ce.type.startsWith("a")'),
    ],
)
def test_an_annotation_narrows_a_knative_trigger(annotation: str, filter_: str, cel: str) -> None:
    (trigger,), found = read(narrowed(annotation, filter_))
    assert ["TRI346"] == [d.code for d in found]
    checked, problems = check_translation(trigger.translation)
    assert checked is not None, problems
    assert cel == checked.cel


def test_an_annotation_narrows_filters_and_stands_beside_no_expression() -> None:
    (trigger,), _ = read(
        narrowed("data.n > 1.0").replace("  filter:\n    attributes: {type: t}", "  filters: [{exact: {type: t}}]")
    )
    assert trigger.translation.expr is not None
    assert 'ce.type == "t" && data.n > 1.0' == unparse(trigger.translation.expr)
    (trigger,), found = read(narrowed("data.n > 1.0", "expression: ce.type == 't'"))
    assert ["TRI344", "TRI346", "TRI330"] == [d.code for d in found]
    assert check_translation(trigger.translation)[0] is None


def test_what_is_wrong_in_an_annotation_has_its_place() -> None:
    for annotation, code, column in (
        ("ce.typ.startWith('x')", "TRI203", 28),
        ("ce.type ==", "TRI101", 37),
        ("ce.type", "TRI204", 28),
    ):
        (trigger,), _ = read(narrowed(annotation))
        (found,) = errors(check_translation(trigger.translation)[1])
        source, span = found.source.resolve(found.span)
        at = source.position(span.start)
        assert (code, 6, column) == (found.code, at.line, at.column), found


@pytest.mark.parametrize(
    "lost", ["{expression: 'true'}", "{cel: {expression: 'true'}}", "{attributes: {}, expression: 'x'}"]
)
def test_a_filter_that_a_cluster_has_dropped(lost: str) -> None:
    applied = yaml.safe_load(PLAIN.replace("VERSION", KNATIVE))
    applied["spec"]["filter"] = yaml.safe_load(lost)
    for kept, wrong in (({}, True), (..., True), ({"attributes": {}}, True), ({"attributes": {"type": "t"}}, False)):
        value = yaml.safe_load(PLAIN.replace("VERSION", KNATIVE))
        value["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(applied)}
        value["spec"] = (
            {**value["spec"], "filter": kept}
            if kept is not ...
            else {k: v for k, v in value["spec"].items() if k != "filter"}
        )
        _, found = read_object(value, "t")
        assert (["TRI347"] if wrong else []) == [d.code for d in found], kept
    value["metadata"]["annotations"] = {LAST_APPLIED: "{"}
    assert () == read_object(value, "t")[1]


def test_every_code_of_what_vanishes_has_a_case() -> None:
    tested = {code for _, _, _, code, _ in VANISHING} | {code for _, code, _ in NEARLY} | {"TRI345", "TRI346", "TRI347"}
    assert {code for code in CODES if "TRI344" <= code <= "TRI348"} | {"TRI308", "TRI309", "TRI312"} <= tested
