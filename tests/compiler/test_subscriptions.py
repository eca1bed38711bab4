"""Filters mean what their definitions say: the Subscriptions API of CloudEvents, and Knative's."""

from __future__ import annotations

import json
import os
import re
from random import Random
from typing import Any

import pytest
from conftest import REPOSITORY
from filter_definition import DEFINITIONS, Definition, passes, random_event, random_filter
from tricel.compiler import Diagnostic, Source, check_filter, parse
from tricel.compiler.dialects import BY_NAME
from tricel.compiler.environments.attributes import record_of
from tricel.compiler.environments.cloudevent import CLOUD_EVENT
from tricel.compiler.interpreter import evaluator
from tricel.compiler.values.cloudevents import Event, read_event
from tricel.spark_backend.engines.instants import with_instants

MANY = 20_000 if os.environ.get("TRICEL_SAMPLE") == "all" else 2_000
EVENTS = 25
PAGE = REPOSITORY / "docs" / "dialects" / "subscriptions.md"
ROW = BY_NAME["subscriptions"]


def activation(event: dict[str, Any]) -> Any:
    """An event as it is read from a line of JSON."""
    found = read_event(json.dumps(event).encode())
    assert isinstance(found, Event), found
    return with_instants(found.activation, record_of(CLOUD_EVENT))


@pytest.mark.sampled
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.dialect)
def test_random_filters_pass_what_their_definition_says(definition: Definition) -> None:
    chosen = Random(3)
    passed = told = 0
    for _ in range(MANY):
        filters = [random_filter(chosen, definition) for _ in range(chosen.choice((1, 1, 1, 2)))]
        checked, problems = check_filter(filters, dialect=definition.dialect)
        assert checked is not None, (filters, problems)
        program = evaluator(checked.checked.expr)
        events = [random_event(chosen, definition) for _ in range(EVENTS)]
        expected = [all(passes(each, event, definition) for each in filters) for event in events]
        assert expected == [program(activation(event)) for event in events], (filters, checked.cel)
        passed += sum(expected)
        told += len(set(expected)) == 2
    assert 0.1 < passed / (MANY * EVENTS) < 0.8
    assert told > MANY / 3, "the events tell few filters apart"


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.dialect)
def test_what_is_written_again_is_the_same_filter(definition: Definition) -> None:
    row, chosen = BY_NAME[definition.dialect], Random(5)
    assert row.from_cel is not None
    for _ in range(400):
        filters = [random_filter(chosen, definition, 2)]
        if "datamediatype" in json.dumps(filters) and definition.knative:
            continue
        checked, _ = check_filter(filters, dialect=row.name)
        assert checked is not None
        again = row.from_cel(checked.checked.expr)
        written = None if again is None else check_filter(again, dialect=row.name)[0]  # type: ignore[arg-type]
        assert written is not None, (filters, checked.cel, again)
        assert written.cel == checked.cel


def found(text: str) -> tuple[Diagnostic, ...]:
    return check_filter(text, dialect="subscriptions")[1]


def test_what_is_wrong_has_its_place() -> None:
    text = '{\n  "types": ["a", ""],\n  "filters": [\n    {"not": {"exact": {"Type": "a"}}}\n  ]\n}'
    where = [(d.code, d.field, d.source.position(d.span.start).line) for d in found(text)]
    assert [("TRI332", "subscriptions.types[1]", 2), ("TRI333", "subscriptions.filters[0].not.exact[Type]", 4)] == where


def test_cloudevents_sql_is_as_it_is_specified() -> None:
    checked, _ = check_filter([{"not": {"sql": "type = 'a'"}}], dialect="subscriptions")
    assert checked is not None
    assert checked.cel == '!(ce.type == "a")'
    (problem,) = check_filter('[{sql: "type ="}]', dialect="subscriptions")[1]
    assert (problem.code, problem.source.text) == ("TRI360", "type =")
    (problem,) = check_filter([{"cesql": "type = 'a'"}], dialect="subscriptions")[1]
    assert "calls it 'sql'" in problem.help


@pytest.mark.parametrize(
    ("cel", "written"),
    [
        ("true", []),
        ('ce.type == "t"', [{"exact": {"type": "t"}}]),
        ('"5g" in ce && ce["5g"] == "t"', [{"exact": {"5g": "t"}}]),
        ('has(ce.time) && string(ce.time).startsWith("2024")', [{"prefix": {"time": "2024"}}]),
        ('has(ce.time) && string(ce.time) == "2024"', None),
        ('string(ce.time).endsWith("Z")', None),
        ('has(ce.subject) && string(ce.subject).endsWith("Z")', None),
        ('ce.subject == "t"', None),
        ('ce.type == ""', None),
        ('has(ce.datacontenttype) && ce.datacontenttype.matches("^a/b\\\\.c(?:[ \\\\t]*;|$)")', None),
        ("data.x", None),
    ],
)
def test_cel_as_filters(cel: str, written: object) -> None:
    expr, problems = parse(Source(cel))
    assert expr is not None, problems
    assert ROW.from_cel is not None
    assert written == ROW.from_cel(expr)


def meaning(dialect: str, text: str) -> str:
    """What a filter becomes: its CEL, or the codes of what is wrong."""
    checked, problems = check_filter(text, dialect=dialect)
    codes = ", ".join(dict.fromkeys(d.code for d in problems))
    return checked.cel if checked is not None else codes


def test_every_difference_from_knative_is_one_and_is_shown() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Differences from Knative")[1].split("\n## ")[0]
    shown = re.findall(r"^\| `(.+?)` \| (.+) \| (.+) \|$", section, re.MULTILINE)
    assert len(shown) > 8
    for text, here, there in shown:
        assert here != there, text
        for cell, dialect in ((here, "subscriptions"), (there, "filters")):
            expected, actual = cell.strip("`").replace("\\|", "|"), meaning(dialect, text)
            if expected == "CloudEvents SQL":
                assert actual != "TRI331", (dialect, text)
            else:
                assert expected == actual, (dialect, text)
