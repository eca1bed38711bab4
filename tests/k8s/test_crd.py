"""The definition for a cluster says what the reader of manifests says, and its rules refuse nothing that is accepted."""

from __future__ import annotations

import re
from typing import Any

import pytest
import re2
import yaml
from admission_vectors import HOSTILE, SOUND, as_ours, features_of, published
from click.testing import CliRunner
from conftest import REPOSITORY
from tricel.compiler import Environment, Source, check, errors, parse
from tricel.compiler.celtypes import JSON
from tricel.compiler.dialects import FILTER_FORMS
from tricel.compiler.dialects.subscriptions import DIALECTS
from tricel.compiler.interpreter import CelError, evaluate
from tricel.compiler.trigger_fields import DELIVERY, SPEC, FieldRow, names
from tricel.k8s.crd import admission_policy, as_yaml, custom_resource_definition
from tricel.k8s.rules import RULES, Rule

from tricel.cli import main

CRD = custom_resource_definition()
SCHEMA = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
SPEC_SCHEMA = SCHEMA["properties"]["spec"]
SELF = Environment("rule", (("self", JSON), ("oldSelf", JSON)))
POLICY = Environment("policy", (("variables", JSON), ("request", JSON)))

TYPES = {"object": dict, "array": list, "string": str, "integer": int}


def schemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """A schema and those inside it, values and not alternatives."""
    inner = [*schema.get("properties", {}).values()]
    inner += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    return [schema, *(s for each in inner for s in schemas(each))]


def violations(value: Any, schema: dict[str, Any], path: str = "") -> list[str]:
    """What of OpenAPI v3, as structural schemas use it, a value does not keep (patterns are RE2, as in Kubernetes)."""
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
        found += [f"{path}: too many"] * (size > schema.get("maxProperties", size))
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
        found += [f"{path}: pattern"] * ("pattern" in schema and not re2.search(schema["pattern"], value))
    elif isinstance(value, int):
        found += [f"{path}: minimum"] * (value < schema.get("minimum", value))
    found += [v for each in schema.get("allOf", []) for v in violations(value, each, path)]
    if "anyOf" in schema and all(violations(value, each, path) for each in schema["anyOf"]):
        found.append(f"{path}: anyOf")
    return found


def holds(condition: str, environment: Environment, **roots: Any) -> bool | str:
    """A rule's value, by our own CEL; the error's text where it errs."""
    expr, found = parse(Source(condition))
    assert expr is not None, found
    checked = check(expr, environment, Source(condition))
    assert () == errors(checked.diagnostics), checked.diagnostics
    try:
        value = evaluate(checked.expr, roots)
    except CelError as e:
        return str(e)
    assert isinstance(value, bool)
    return value


def broken_rules(spec: Any, old: Any = None) -> list[Rule]:
    return [
        rule
        for rule in RULES
        if (old is not None or not rule.transition) and holds(rule.condition, SELF, self=spec, oldSelf=old) is not True
    ]


def denied_by_policy(spec: Any, old: Any = None) -> bool:
    variables = {"spec": spec, "oldSpec": old}
    request = {"operation": "CREATE" if old is None else "UPDATE"}
    found = [
        holds(validation["expression"], POLICY, variables=variables, request=request)
        for validation in admission_policy()[0]["spec"]["validations"]
    ]
    return any(value is not True for value in found)


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
    assert set(FILTER_FORMS) == set(SPEC_SCHEMA["properties"]["filter"]["properties"])
    assert set(DIALECTS) == set(SPEC_SCHEMA["properties"]["filters"]["items"]["properties"])
    assert {"enum", "minimum", "pattern"} <= {k for s in schemas(SPEC_SCHEMA) for k in s}
    assert any(row.choices for row in DELIVERY)


def test_the_schema_is_structural() -> None:
    """Every value has a type or keeps what it is given; alternatives hold no types (Kubernetes, structural schemas)."""
    every = schemas(SCHEMA)
    assert len(every) > 60
    for schema in every:
        assert "type" in schema or schema.get("x-kubernetes-preserve-unknown-fields"), schema
        assert not ("additionalProperties" in schema and "properties" in schema)
        for alternative in (*schema.get("anyOf", []), *schema.get("allOf", [])):
            assert not {"type", "description", "properties"} & set(alternative)
        if "pattern" in schema:
            re2.compile(schema["pattern"])


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
    assert not denied_by_policy(value["spec"], value["spec"])


def test_the_published_vectors_by_schema_and_rules() -> None:
    """No accepted one is refused; and of the refused, those that need neither annotations nor names of attributes are."""
    refused, left = 0, []
    for case in published():
        value, old = as_ours(case["trigger"]), case.get("old_trigger")
        found = [*violations(value, SCHEMA), *broken_rules(value["spec"], spec_of(old))]
        if case["allowed"]:
            assert [] == found, case["name"]
            assert not denied_by_policy(value["spec"], spec_of(old)), case["name"]
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
    assert {rule.code for rule in RULES} == set(broken)


def test_the_command_prints_what_the_model_says() -> None:
    printed = CliRunner().invoke(main, ["crd"])
    assert (0, CRD) == (printed.exit_code, yaml.safe_load(printed.output))
    printed = CliRunner().invoke(main, ["crd", "--policy"])
    assert list(admission_policy()) == list(yaml.safe_load_all(printed.output))
    assert "&id" not in printed.output


def test_the_deployed_definition_is_the_printed_one() -> None:
    assert as_yaml(CRD) == (REPOSITORY / "k8s/deploy/crd/triggers.yaml").read_text(encoding="utf-8")
