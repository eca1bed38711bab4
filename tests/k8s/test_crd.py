"""The definition for a cluster says what the reader of manifests says, and its rules refuse nothing that is accepted."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from admission_rules import WARN, broken_by_policy, broken_rules
from admission_vectors import HOSTILE, SOUND, as_ours, features_of, published, trigger
from click.testing import CliRunner
from conftest import REPOSITORY
from tricel.compiler.diagnostics.codes import CODES
from tricel.compiler.dialects import UNDER_FILTER, UNDER_FILTERS
from tricel.compiler.manifests.trigger_fields import DELIVERY, SPEC, FieldRow, names
from tricel.k8s.crd import admission_policy, as_yaml, custom_resource_definition
from tricel.k8s.rules import RULES

from tricel.cli import main

CRD = custom_resource_definition()
SCHEMA = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
SPEC_SCHEMA = SCHEMA["properties"]["spec"]

TYPES = {"object": dict, "array": list, "string": str, "integer": int}


def schemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """A schema and those inside it, values and not alternatives."""
    inner = [*schema.get("properties", {}).values()]
    inner += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    return [schema, *(s for each in inner for s in schemas(each))]


def violations(value: Any, schema: dict[str, Any], path: str = "") -> list[str]:
    """What of OpenAPI v3, as structural schemas use it, a value does not keep."""
    found = []
    if value is None and schema.get("nullable"):
        return []
    wanted = TYPES.get(schema.get("type", ""))
    if wanted is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
        return [f"{path}: not a {schema['type']}"]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [f"{path}.{name}: required" for name in schema.get("required", []) if name not in value]
        size = len(value)
        found += [f"{path}: too few"] * (size < schema.get("minProperties", 0))
        for name, inner in value.items():
            if name in properties:
                found += violations(inner, properties[name], f"{path}.{name}")
            elif isinstance(schema.get("additionalProperties"), dict):
                found += violations(inner, schema["additionalProperties"], f"{path}.{name}")
    elif isinstance(value, list):
        found += [f"{path}: too few"] * (len(value) < schema.get("minItems", 0))
        found += [f"{path}: too many"] * (len(value) > schema.get("maxItems", len(value)))
        found += [v for n, inner in enumerate(value) for v in violations(inner, schema["items"], f"{path}[{n}]")]
    elif isinstance(value, str):
        found += [f"{path}: enum"] * ("enum" in schema and value not in schema["enum"])
        found += [f"{path}: length"] * (not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9))
    elif isinstance(value, int):
        found += [f"{path}: minimum"] * (value < schema.get("minimum", value))
    return found


def spec_of(value: dict[str, Any] | None) -> Any:
    return None if value is None else value["spec"]


def test_the_schema_has_every_field_of_the_manifest_reader_and_no_other() -> None:
    def same(rows: tuple[FieldRow, ...], schema: dict[str, Any]) -> None:
        assert names(rows) == tuple(schema["properties"])
        for row in rows:
            inner = schema["properties"][row.name]
            assert inner["description"] == row.doc
            assert inner.get("enum", []) == list(row.choices)
            if row.fields:
                same(row.fields, inner)

    same(SPEC, SPEC_SCHEMA)
    assert set(UNDER_FILTER) == set(SPEC_SCHEMA["properties"]["filter"]["properties"])
    assert set(UNDER_FILTERS) == set(SPEC_SCHEMA["properties"]["filters"]["items"]["properties"])
    assert {"enum", "minimum", "maxLength"} <= {k for s in schemas(SPEC_SCHEMA) for k in s}
    assert any(row.choices for row in DELIVERY)


def test_the_schema_is_structural() -> None:
    """Every value has a type or keeps what it is given (Kubernetes, structural schemas)."""
    every = schemas(SCHEMA)
    assert len(every) > 60
    for schema in every:
        assert "type" in schema or schema.get("x-kubernetes-preserve-unknown-fields"), schema
        assert not ("additionalProperties" in schema and "properties" in schema)


def test_nothing_below_the_spec_is_dropped_unseen() -> None:
    for schema in schemas(SPEC_SCHEMA):
        if schema.get("type") == "object" and "additionalProperties" not in schema:
            assert schema["x-kubernetes-preserve-unknown-fields"] is True, schema


def test_every_value_is_described() -> None:
    for schema in schemas(SPEC_SCHEMA):
        for name, inner in schema.get("properties", {}).items():
            assert inner.get("description") or name in ("type", "source"), name


@pytest.mark.parametrize("value", [v for _, v in SOUND], ids=[name for name, _ in SOUND])
def test_what_the_compiler_accepts_keeps_schema_and_rules(value: dict[str, Any]) -> None:
    assert [] == violations(value, SCHEMA)
    assert [] == broken_rules(value["spec"], value["spec"])
    assert [] == broken_by_policy(value)
    assert [] == broken_by_policy(value, {**value, "spec": {**value["spec"], "delivery": {"retry": 7}}})


def test_the_published_vectors_by_schema_and_rules() -> None:
    """No accepted one is refused; and of the refused, those that need neither annotations nor names of attributes are."""
    refused, left = 0, []
    for case in published():
        value, old = as_ours(case["trigger"]), case.get("old_trigger")
        found = [*violations(value, SCHEMA), *broken_rules(value["spec"], spec_of(old))]
        if case["allowed"]:
            assert [] == found, case["name"]
            assert [] == broken_by_policy(value, old), case["name"]
        elif found:
            refused += 1
        else:
            left.append(case["name"])
    assert refused > 15
    beyond = r"attribute|annotation|dependency|injection|starts with number|sub expression|namespace|SQL|cesql|not: \{\}|data"
    assert [] == [name for name in left if not re.search(beyond, name)], left
    assert not any(features_of(case) for case in published() if "broker changed" in case["name"])


def test_a_rule_of_each_kind_refuses() -> None:
    broken: dict[str, int] = {}
    for _, code, value in HOSTILE:
        spec = value["spec"]
        if isinstance(spec, dict):
            for rule in broken_rules(spec):
                broken[rule.code] = broken.get(rule.code, 0) + 1
            if code == "TRI330":
                assert broken_rules(spec) or violations(value, SCHEMA), spec
    for rule in broken_rules({"broker": "b", "subscriber": {"uri": "http://x/"}}, {"broker": "a"}):
        broken[rule.code] = broken.get(rule.code, 0) + 1
    both = {"broker": "b", "brokerRef": {"name": "b"}, "subscriber": {"uri": "http://x/", "ref": {"name": "n"}}}
    for rule in broken_rules(both):
        broken[rule.code] = broken.get(rule.code, 0) + 1
    assert {rule.code for rule in RULES if not rule.policy_only} == set(broken)


def test_a_policy_sees_names_that_the_definition_does_not() -> None:
    for _, code, value in HOSTILE:
        if code == "TRI331":
            assert "TRI331" in {message[:6] for message in broken_by_policy(value)}, value
            assert not {"TRI331"} & {rule.code for rule in broken_rules(value["spec"])}


def test_a_policy_says_what_has_the_wrong_type() -> None:
    """A definition of another group need not say it."""
    for spec in ({"filter": "true"}, {"filters": {}}, {"subscriber": "http://x/"}, {"broker": ["b"]}, {"delivery": []}):
        ((name, _),) = spec.items()
        said = broken_by_policy(trigger(spec))[0]
        assert said.startswith(f"TRI310: spec.{name} must be "), said
    for value in ({**trigger(), "spec": []}, {**trigger(), "spec": None}):
        assert broken_by_policy(value)[0].startswith("TRI311: the Trigger has no spec")


def test_an_update_that_keeps_the_spec_is_warned_of_and_not_denied() -> None:
    bad = {**trigger({"subscriber": {"uri": "/relative"}}), "metadata": {"name": "t", "labels": {"a": "b"}}}
    for value in (bad, {name: inner for name, inner in bad.items() if name != "spec"}):
        said = broken_by_policy(value)[0]
        assert said == ("TRI314" if "spec" in value else "TRI311") + said[6:]
        assert [] == broken_by_policy(value, {**value, "metadata": {"name": "t"}})
        assert said == broken_by_policy(value, {**value, "metadata": {"name": "t"}}, WARN)[0]
        assert [] == broken_by_policy(value, policy=WARN)
        assert [] == broken_by_policy(trigger(), value)
    assert broken_by_policy({**bad, "spec": {**bad["spec"], "delivery": {"retry": 1}}}, bad)


def test_rules_say_where_what_and_which_diagnostic() -> None:
    """As the API server asks: a path to a field of the schema, and one of its reasons (apiextensions.k8s.io/v1)."""
    for rule in SPEC_SCHEMA["x-kubernetes-validations"]:
        schema = SPEC_SCHEMA
        for name in rule["fieldPath"].removeprefix(".").split("."):
            schema = schema["properties"][name]
        assert rule["reason"] in {"FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid"}
        assert re.match(r"TRI\d{3}: \S", rule["message"])
        assert "\n" not in rule["message"]
        assert rule["message"][:6] in CODES


def test_what_a_server_words_badly_is_not_in_the_schema() -> None:
    for schema in schemas(SPEC_SCHEMA):
        assert not {"anyOf", "oneOf", "allOf", "not", "pattern", "maxProperties"} & set(schema), schema


def test_the_command_prints_what_the_model_says() -> None:
    printed = CliRunner().invoke(main, ["crd"])
    assert (0, CRD) == (printed.exit_code, yaml.safe_load(printed.output))
    printed = CliRunner().invoke(main, ["crd", "--policy"])
    assert list(admission_policy()) == list(yaml.safe_load_all(printed.output))
    assert "&id" not in printed.output


def test_the_deployed_definition_is_the_printed_one() -> None:
    assert as_yaml(CRD) == (REPOSITORY / "k8s/deploy/crd/triggers.yaml").read_text(encoding="utf-8")
