"""Every dialect means what its cases say, and what Knative's own vectors say but for the differences listed."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
import yaml
from cel_expr_python import cel
from conftest import REPOSITORY, conformance
from tricel.compiler.compile import check_translation
from tricel.compiler.diagnostics import CODES, errors
from tricel.compiler.dialects import Translation
from tricel.compiler.manifest import translate_filter
from tricel.compiler.objects import from_python
from tricel.compiler.unparse import unparse

CASES = REPOSITORY / "tests" / "cases" / "dialects"
PAGE = REPOSITORY / "docs" / "dialects" / "knative.md"

EMPTY = "an empty filter is refused"
DIFFERENCES = {
    "all supported attribute fields v1": "an absent `time` is absent, not `0001-01-01T00:00:00Z`",
    "any: Empty": EMPTY,
    "any with one empty-value exact: skipped -> empty any -> deliver": EMPTY,
    "any returns the LAST operand result when none passed: [Fail, NoFilter] -> deliver": EMPTY,
    "empty filter object accepts everything": EMPTY,
    "exact with empty value is silently skipped (fail OPEN)": EMPTY,
    "not of a skipped filter delivers": EMPTY,
    "prefix with empty value skipped, sibling still applies": EMPTY,
    "exact: same instant in UTC does NOT match": "`time` is compared as an instant",
    "prefix: Missing attribute": "an attribute name that no event can have is refused",
    "filters override filter: subscriptionapi.filters.override.event.type": "two filters are refused",
}
"""Knative filter vectors on which we differ on purpose, and why."""


def rows() -> list[Any]:
    return [
        pytest.param(row, id=f"{path.parent.name}: {row['name']}")
        for path in sorted(CASES.glob("*/*.yaml"))
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def translated(value: dict[str, Any]) -> Translation:
    document, found = from_python(value)
    assert document is not None, found
    return translate_filter(document)


@pytest.mark.parametrize("row", rows())
def test_a_form_becomes_its_cel(row: dict[str, Any]) -> None:
    translation = translated(row["filter"])
    assert row.get("codes", []) == [d.code for d in translation.diagnostics]
    assert row.get("cel") == (None if translation.expr is None else unparse(translation.expr))
    assert (translation.expr is None) == bool(errors(translation.diagnostics))


@pytest.mark.parametrize("row", [r for r in rows() if "cel" in r.values[0]])
def test_what_a_dialect_writes_is_accepted_by_the_checker(row: dict[str, Any]) -> None:
    checked, found = check_translation(translated(row["filter"]))
    assert () == errors(found)
    assert checked is not None
    assert row["cel"] == checked.cel


@cache
def environment() -> Any:
    return cel.NewEnv(variables={"ce": cel.Type.Map(cel.Type.STRING, cel.Type.DYN), "data": cel.Type.DYN})


def canonical(value: object) -> object:
    """An attribute in its CloudEvents text form."""
    return json.dumps(value) if isinstance(value, bool | int) else value


def delivered(translation: Translation, event: dict[str, Any]) -> bool:
    """Whether the CEL is true of the event, whose `time` is text here, and so is converted where it is used."""
    assert translation.expr is not None, translation.diagnostics
    text = re.sub(r"(?<!has\()ce\.time\b", "timestamp(ce.time)", unparse(translation.expr))
    attributes = {k: canonical(v) for k, v in event.items() if k != "data"}
    result = environment().compile(text).eval(data={"ce": attributes, "data": event.get("data")})
    return bool(result.type() == cel.Type.BOOL and result.value())


def spec(case: dict[str, Any]) -> dict[str, Any]:
    return {k: case[k] for k in ("filter", "filters") if k in case} or {"filters": []}


def outcome(case: dict[str, Any]) -> bool | None:
    """Delivered or not; None where the filter is refused."""
    translation = translated(spec(case))
    return None if translation.expr is None else delivered(translation, case["event"])


def vectors() -> list[dict[str, Any]]:
    """Knative's cases without CloudEvents SQL."""
    names = ("knative_filter_cases.json", "knative_cel_pr1152_cases.json")
    return [case for name in names for case in conformance(name)["cases"] if "cesql" not in json.dumps(spec(case))]


def test_knative_delivers_the_same_events() -> None:
    found = vectors()
    assert len(found) > 80
    wrong = [case["name"] for case in found if case["expect"] != outcome(case) and case["name"] not in DIFFERENCES]
    assert [] == wrong


def test_every_listed_difference_is_one() -> None:
    differing = {case["name"] for case in vectors() if case["expect"] != outcome(case)}
    assert set(DIFFERENCES) == differing


def test_every_listed_difference_is_on_the_page() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Deliveries that differ")[1].split("\n## ")[0]
    assert DIFFERENCES == dict(re.findall(r"^\| `(.+)` \| (.+) \|$", section, re.MULTILINE))


EVENTS = [
    {"type": "com.github.pull.create", "source": "https://github.com/knative/eventing/pulls/123"},
    {"type": "com.github.pull.create", "source": "https://example.com/"},
    {"type": "com.github.issue.create", "source": "x", "repository": "proposals", "github.repository": "proposals"},
    {"type": "com.github.issue.create", "source": "proposals", "repository": "", "github.repository": "other"},
    {"type": "com.github.issue.create", "source": "https://github.community/"},
]


def holds(translation: Translation, event: dict[str, Any]) -> bool:
    """As a filter fails closed: an attribute that is absent makes an unguarded expression err, hence not deliver."""
    try:
        return delivered(translation, event)
    except RuntimeError:
        return False


def test_what_the_founding_proposal_calls_equivalent_is() -> None:
    groups = 0
    for example in conformance("filtering_md_examples.json")["examples"]:
        group = example.get("equivalent") or [{"expression": text} for text in example.get("alternatives", ())]
        if group:
            answers = [[holds(translated(form), event) for event in EVENTS] for form in group]
            assert [answers[0]] * len(group) == answers, example["title"]
            assert {True, False} == set(answers[0]), "the events tell nothing apart"
            groups += 1
    assert 5 == groups


def test_globs_match_as_globs() -> None:
    for glob, subject, expected in (
        ("a*c", "abc", True),
        ("a*c", "a\nc", True),
        ("a*c", "abcd", False),
        ("a?c", "a\U0001f600c", True),
        ("a?c", "ac", False),
        ("?", "\n", True),
        ("a.c*x", "abc.x", False),
        ("[a]*x", "[a]..x", True),
    ):
        translation = translated({"expression": f"ce.subject.match({json.dumps(glob)})"})
        assert expected == delivered(translation, {"subject": subject}), (glob, subject)


@pytest.mark.parametrize(
    ("datacontenttype", "expected"),
    [("a/b", True), ("a/b; c=d", True), ("a/b ;c=d", True), ("a/bc", False), ("xa/b", False), ("a/b c", False)],
)
def test_the_media_type_ends_at_the_parameters(datacontenttype: str, expected: bool) -> None:
    translation = translated({"exact": {"datamediatype": "a/b"}})
    assert expected == delivered(translation, {"datacontenttype": datacontenttype})


def test_structured_dialects_never_err() -> None:
    for row in rows():
        if row.values[0].get("cel") and "expression" not in row.values[0]["filter"]:
            assert isinstance(delivered(translated(row.values[0]["filter"]), {**EVENTS[0], "id": "1"}), bool)


def test_spans_point_at_what_was_written() -> None:
    document, _ = from_python({"exact": {"type": "t", "subject": ""}})
    assert document is not None
    (problem,) = translate_filter(document).diagnostics
    assert '""' == document.source.text[problem.span.start : problem.span.end]


def test_every_filter_code_has_a_case() -> None:
    covered = {code for row in rows() for code in row.values[0].get("codes", ())}
    assert set() == {code for code in CODES if code.startswith(("TRI33", "TRI34"))} - covered


def test_every_case_folder_is_a_dialect() -> None:
    modules = {path.stem for path in (REPOSITORY / "compiler" / "dialects").glob("*.py")}
    assert set() == {path.name for path in CASES.iterdir()} - modules
