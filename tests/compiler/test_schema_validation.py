"""EMQX's message validations: what is read of a configuration, and the verdicts of its policies in order."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import conformance
from tricel.compiler import Source
from tricel.compiler.diagnostics import Diagnostic
from tricel.compiler.manifests.schema_validation import Configuration, read_validations
from tricel.compiler.manifests.validation_options import CHECKS, VALIDATION, json_schema
from tricel.compiler.patterns.topic_filters import matches
from tricel.compiler.policies.model import Action, Check, CheckType, LogLevel, Policy, Strategy
from tricel.compiler.policies.ordering import NotAnOrder, merged, reordered
from tricel.compiler.policies.verdict import Counts, verdict

from tricel.cli import main

VECTORS = conformance("emqx_schema_validation_cases.json")
SQL = {"type": "sql", "sql": "select * where true"}
RIGHT = {"name": "foo", "topics": ["t/+"], "strategy": "all_pass", "failure_action": "drop", "checks": [SQL]}


def read(text: str, name: str = "emqx.conf") -> tuple[Configuration, tuple[Diagnostic, ...]]:
    return read_validations(Source(text, name))


def as_text(*validations: dict[str, Any]) -> str:
    return json.dumps({"schema_validation": {"validations": validations}})


FOUNDING = """
message_validation {
  validations = [
    {
      name = validation1
      tags = []
      description = ""
      enable = true # or 'false'
      type = validation
      description = "drop message if it is not compabitble with my avro schema or if payload.value is less tha 0"
      topics = "t/#" # or topics = ["t/1", "t/2"]
      strategy = any_pass # or all_pass
      failure_action = disconnect # (disconnect also implies 'dorp') or 'drop' to only drop the message
      log_failure_at = none # debug, notice, info, warning, error
      checks = [
          {
              # message payload payload to be validated against JSON schema
              type = json # can also be 'avro' or 'protobuf'
              schema = "my-json-schema-registration-id"
          }
          {
              # SQL evaluates to empty result indicates validation falure
              # in this example, if payload.value is less than 0, the message is considiered invalid
              type = sql
              sql = "SELECT * WHERE payload.value < 0"
          }
      ]
    }
  ]
}
"""


def test_the_example_that_proposed_it_is_read_as_it_stands() -> None:
    configuration, found = read(FOUNDING)
    assert ["TRI393", "TRI398", "TRI398", "TRI398", "TRI399"] == sorted(d.code for d in found)
    (policy,) = configuration.policies
    assert ("validation1", ("t/#",), Strategy.ANY_PASS, Action.DISCONNECT, LogLevel.NONE) == (
        policy.name,
        policy.topics,
        policy.strategy,
        policy.on_failure,
        policy.log_level,
    )
    assert (
        Check(CheckType.JSON, "my-json-schema-registration-id"),
        Check(CheckType.SQL, "SELECT * WHERE payload.value < 0"),
    ) == policy.checks
    bare = FOUNDING.replace("message_validation {", "").rstrip()[:-1]
    assert configuration.policies == read(bare)[0].policies


@pytest.mark.parametrize("case", VECTORS["config_schema"], ids=lambda c: c["name"])
@pytest.mark.parametrize("name", ["emqx.conf", "v.json", "v.yaml"])
def test_the_vectors_of_the_configuration(case: dict[str, Any], name: str) -> None:
    entry = {**RIGHT, **case.get("patch", {})}
    entry["name"] = case.get("validation_name", entry["name"])
    entry["checks"] = case.get("checks", entry["checks"])
    configuration, found = read(as_text(entry), name)
    assert case["ok"] == (found == ())
    if case["ok"]:
        assert tuple(case.get("topics", RIGHT["topics"])) == configuration.policies[0].topics
    else:
        assert () == configuration.policies
        assert any(case.get("reason", "is no name") in d.message for d in found)


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"strategy": None}, "TRI394", "lacks 'strategy'"),
    ({"failure_action": None}, "TRI394", "lacks 'failure_action'"),
    ({"topics": None}, "TRI394", "lacks 'topics'"),
    ({"checks": None}, "TRI394", "lacks 'checks'"),
    ({"name": None}, "TRI394", "lacks 'name'"),
    ({"checks": []}, "TRI394", "at least one check must be defined"),
    ({"name": ""}, "TRI394", "is no name"),
    ({"name": "nãme"}, "TRI394", "is no name"),
    ({"name": "x\n"}, "TRI394", "is no name"),
    ({"strategy": "all"}, "TRI394", "expected all_pass | any_pass"),
    ({"failure_action": "reject"}, "TRI394", "expected ignore | drop | disconnect"),
    ({"failure_action": 1}, "TRI310", "must be a string"),
    ({"topics": ["t/#/x"]}, "TRI394", "no topic filter"),
    ({"topics": [1]}, "TRI310", "must be a string"),
    ({"enable": "yes"}, "TRI394", "must be true or false"),
    ({"tags": "x"}, "TRI394", "must be a list"),
    ({"log_failure": {"level": "loud"}}, "TRI394", "expected error | warning"),
    ({"log_failure": {"levle": "info"}}, "TRI395", "no option 'levle'"),
    ({"topic": "t"}, "TRI395", "no option 'topic'"),
    ({"checks": [{"type": "external_http", "schema": "a"}]}, "TRI397", "no function of the message"),
    ({"checks": [{"type": "protobuf", "schema": "a"}]}, "TRI394", "lacks 'message_type'"),
    ({"checks": [{"type": "json", "sql": "x", "schema": "a"}]}, "TRI395", "no option 'sql'"),
    ({"checks": [{"schema": "a"}]}, "TRI394", "lacks 'type'"),
    ({"checks": [1]}, "TRI310", "must be a mapping"),
    ({"checks": [{"type": "sql", "sql": "foreach payload as p where true"}]}, "TRI394", "foreach_not_allowed"),
    ({"checks": [{"type": "sql", "sql": "select * from t where true"}]}, "TRI394", "non_empty_from_clause"),
]


@pytest.mark.parametrize(("patch", "code", "said"), WRONG, ids=[f"{c} {s}" for _, c, s in WRONG])
def test_what_is_wrong_is_told_with_its_place_and_help(patch: dict[str, Any], code: str, said: str) -> None:
    entry = {k: v for k, v in {**RIGHT, **patch}.items() if v is not None}
    configuration, found = read(as_text(entry))
    assert () == configuration.policies
    assert any(d.code == code and said in d.message for d in found), found
    assert all(d.span.end > d.span.start for d in found)


def test_a_misspelt_option_is_told_with_the_likely_one() -> None:
    _, found = read(as_text({**RIGHT, "failure_acton": "drop"}))
    assert ["did you mean 'failure_action'?"] == [d.help for d in found]


def test_a_name_is_there_once() -> None:
    configuration, found = read(as_text(RIGHT, RIGHT))
    assert (["TRI396"], 1) == ([d.code for d in found], len(configuration.policies))


def test_a_level_is_said_once() -> None:
    _, found = read(as_text({**RIGHT, "log_failure": {"level": "info"}, "log_failure_at": "none"}))
    assert ["TRI396", "TRI398"] == sorted(d.code for d in found)


def test_other_roots_are_passed_over_and_counted() -> None:
    text = f'node.name = "emqx@127.0.0.1"\nlisteners.tcp.default {{ bind = 1883 }}\nmqtt {{}}\n{as_text(RIGHT)[1:-1]}'
    configuration, found = read(text)
    assert ((), 3, ["foo"]) == (found, configuration.passed_over, [p.name for p in configuration.policies])


@pytest.mark.parametrize(
    ("sql", "comment", "told"),
    [
        ("SELECT * WHERE payload.value < 0", "invalid if payload.value is less than 0", True),
        ("SELECT * WHERE payload.value >= 0", "invalid if payload.value is less than 0", False),
        ("SELECT * WHERE payload.value < 0", "valid if payload.value is less than 0", False),
        ("SELECT * WHERE payload.value < 0", "drop it if payload.value is greater than 0", False),
        ("SELECT * WHERE payload.value < 0", "drop it if payload.value < 10", False),
        ("SELECT * WHERE payload.value < 0 and qos = 1", "drop it if payload.value < 0", False),
        ("SELECT * WHERE payload.value > 9.5", "reject: payload.value above 9.5", True),
    ],
)
def test_a_comment_that_says_the_opposite(sql: str, comment: str, told: bool) -> None:
    check = {"type": "sql", "sql": sql}
    _, found = read(as_text({**RIGHT, "description": comment, "checks": [check]}))
    assert (["TRI399"] if told else []) == [d.code for d in found]


def test_the_schema_has_every_option_in_use() -> None:
    entry = json_schema()["properties"]["schema_validation"]["properties"]["validations"]["items"]
    assert {o.name for o in VALIDATION if not o.now} == set(entry["properties"])
    assert {o.name for o in VALIDATION if o.required} == set(entry["required"])
    types = {c["properties"]["type"]["const"] for c in entry["properties"]["checks"]["items"]["oneOf"]}
    assert set(map(str, CHECKS)) - {"external_http"} == types


def test_lint_reads_configurations(tmp_path: Path) -> None:
    (tmp_path / "emqx.conf").write_text(as_text({**RIGHT, "failure_acton": "drop"}), encoding="utf-8")
    (tmp_path / "more.hocon").write_text(as_text({**RIGHT, "topics": []}), encoding="utf-8")
    (tmp_path / "api.json").write_text(as_text({**RIGHT, "checks": []}), encoding="utf-8")
    (tmp_path / "nginx.conf").write_text("server { listen 80; }", encoding="utf-8")
    done = CliRunner().invoke(main, ["lint", "--format", "concise", str(tmp_path)])
    assert 1 == done.exit_code
    assert ["api.json", "emqx.conf", "more.hocon"] == re.findall(r"/([a-z.]+):1:[0-9]+: ", done.stdout)
    (tmp_path / "emqx.conf").write_text(as_text(RIGHT), encoding="utf-8")
    assert 0 == CliRunner().invoke(main, ["lint", "--strict", str(tmp_path / "emqx.conf")]).exit_code


# Verdicts.

Message = dict[str, Any]
CONDITIONS: dict[str, Callable[[Message], bool]] = {
    "select payload.x as x where x > 5": lambda m: m["x"] > 5,
    "select payload.x as x where x > 10": lambda m: m["x"] > 10,
    "select payload.x as x, payload.y as y where x > 10 or y > 0": lambda m: m["x"] > 10 or m["y"] > 0,
    "select * where false": lambda m: False,
    "select 1 where true": lambda m: True,
}
TESTS = {Check(CheckType.SQL, text): test for text, test in CONDITIONS.items()}


@pytest.mark.parametrize("case", [c for c in VECTORS["behaviour"] if "validations" in c], ids=lambda c: c["name"])
def test_the_vectors_of_behaviour(case: dict[str, Any]) -> None:
    entries = [{**v, "checks": [{"type": "sql", "sql": s} for s in v["checks"]]} for v in case["validations"]]
    configuration, found = read(as_text(*entries))
    assert () == found
    counts, failures = Counts(configuration.policies), []
    for message in case["messages"]:
        said = verdict(configuration.policies, message["topic"], message["payload"], TESTS)
        counts.add(said)
        assert message["outcome"] == (said.action or "pass")
        failed = [j.policy.name for j in said.judged if not j.passed]
        failures += failed
        if "failed_by" in message:
            assert [message["failed_by"]] == failed
        if "matched" in message:
            assert message["matched"] == len(said.judged)
    if "events" in case:
        assert case["events"] == [f"schema.validation_failed {name}" for name in failures]
    for name, wanted in case.get("metrics", {}).items():
        count = counts.by_policy[name]
        assert wanted == {"matched": count.matched, "succeeded": count.succeeded, "failed": count.failed}
    if "global_metrics" in case:
        wanted = case["global_metrics"]
        assert wanted["messages.validation_succeeded"] == counts.accepted
        assert wanted["messages.validation_failed"] == counts.rejected


def test_fifty_policies_keep_their_order() -> None:
    failing = {"type": "sql", "sql": "select * where false"}
    entries = [{**RIGHT, "name": str(n), "failure_action": "ignore", "checks": [failing]} for n in range(49, -1, -1)]
    configuration, _ = read(as_text(*entries))
    said = verdict(configuration.policies, "t/a", {}, TESTS)
    assert [str(n) for n in range(49, -1, -1)] == [j.policy.name for j in said.judged]


def policies(*names: str) -> tuple[Policy, ...]:
    return read(as_text(*({**RIGHT, "name": name} for name in names)))[0].policies


@pytest.mark.parametrize("case", VECTORS["reorder"], ids=lambda c: f"{c['existing']} {c['order']}")
def test_the_vectors_of_reordering(case: dict[str, Any]) -> None:
    found = reordered(policies(*case["existing"]), case["order"])
    if case["http"] == 204:
        assert not isinstance(found, NotAnOrder)
        assert [(n, i) for i, n in enumerate(case["order"])] == [(p.name, p.order) for p in found]
    else:
        assert isinstance(found, NotAnOrder)
        for part in ("not_found", "duplicated", "not_reordered"):
            assert tuple(case.get(part, getattr(found, part))) == getattr(found, part)


def test_a_configuration_merged_in() -> None:
    assert {"import_merge", "replace"} == set(VECTORS["config_merge"])
    first = policies("a", "b")
    second = policies("c", "b", "d")
    assert [("a", 0), ("b", 1), ("c", 2), ("d", 3)] == [(p.name, p.order) for p in merged(first, second)]
    assert first[1].checks is merged(first, second)[1].checks


def test_an_erring_check_has_failed_and_says_why() -> None:
    (policy,) = policies("a")
    said = verdict((policy,), "t/1", {}, {policy.checks[0]: lambda m: m["missing"]})
    assert (False, "policy 'a', check 1: error: 'missing'") == (said.accepted, said.reason)
    unknown = verdict((policy,), "t/1", {}, {})
    assert "is not known" in unknown.reason


def reference(
    entries: list[dict[str, Any]], messages: list[tuple[str, Message]], audit: bool
) -> tuple[list[str], dict[str, list[int]]]:
    """EMQX's rules written out, one message after another."""
    counts = {e["name"]: [0, 0, 0] for e in entries}
    outcomes = []
    for topic, message in messages:
        outcome = "pass"
        for entry in entries:
            if not entry["enable"] or not any(matches(topic, f) for f in entry["topics"]):
                continue
            results = []
            for check in entry["checks"]:
                try:
                    results.append(CONDITIONS[check["sql"]](message))
                except KeyError:
                    results.append(False)
            passed = all(results) if entry["strategy"] == "all_pass" else any(results)
            counts[entry["name"]][0] += 1
            counts[entry["name"]][1 if passed else 2] += 1
            if not passed and entry["failure_action"] != "ignore" and outcome == "pass":
                outcome = entry["failure_action"]
                if not audit:
                    break
        outcomes.append(outcome)
    return outcomes, counts


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_random_configurations_against_the_rules_written_out(seed: int, audit: bool) -> None:
    draw = random.Random(seed)
    topics = ["t/+", "t/1", "#", "+/2", "$SYS/#", "u"]
    entries: list[dict[str, Any]] = [
        {
            "name": f"v{n}",
            "enable": draw.random() < 0.8,
            "topics": draw.sample(topics, draw.randint(1, 3)),
            "strategy": draw.choice(["all_pass", "any_pass"]),
            "failure_action": draw.choice(["ignore", "ignore", "drop", "disconnect"]),
            "checks": [{"type": "sql", "sql": draw.choice(list(CONDITIONS))} for _ in range(draw.randint(1, 3))],
        }
        for n in range(draw.randint(0, 8))
    ]
    payloads: list[Message] = [{"x": 0, "y": 1}, {"x": 7, "y": 0}, {"x": 11, "y": 0}, {"x": 11}, {}]
    messages = [(draw.choice(["t/1", "t/2", "u", "$SYS/x", "w/2"]), draw.choice(payloads)) for _ in range(30)]
    configuration, found = read(as_text(*entries))
    assert () == found
    counts, outcomes = Counts(configuration.policies), []
    for topic, message in messages:
        said = verdict(configuration.policies, topic, message, TESTS, audit=audit)
        counts.add(said)
        outcomes.append(str(said.action or "pass"))
    counted = {n: [c.matched, c.succeeded, c.failed] for n, c in counts.by_policy.items()}
    assert reference(entries, messages, audit) == (outcomes, counted)
