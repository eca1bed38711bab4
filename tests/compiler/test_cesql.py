"""CloudEvents SQL means what its specification, its compatibility kit and Knative's library say, and never errs."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from cesql_evaluator import KNATIVE, SPECIFIED, Meaning, Parser, passes
from cesql_filters import Filters, event, quoted
from conftest import REPOSITORY, conformance
from samples import sample
from tricel.compiler import Diagnostic, check_filter
from tricel.compiler.check import Checked
from tricel.compiler.compile import CheckedFilter
from tricel.compiler.diagnostics import errors
from tricel.compiler.diagnostics.as_text import render
from tricel.compiler.dialects import BY_NAME
from tricel.compiler.dialects.cesql.like import parts_of, pattern_of
from tricel.compiler.interpreter import evaluator
from tricel.compiler.nodes import walk
from tricel.compiler.values import rfc3339
from tricel.compiler.values.cel import Timestamp

MEANINGS: Mapping[str, Meaning] = {"cesql": KNATIVE, "sql": SPECIFIED}
each_dialect = pytest.mark.parametrize("dialect", MEANINGS)
PAGE = REPOSITORY / "docs" / "dialects" / "cesql.md"

FULL_EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "type": "com.example.FullEvent",
    "source": "http://example.com/source",
    "id": "full-event",
    "time": "2020-03-21T12:34:56.78Z",
    "dataschema": "http://example.com/schema",
    "subject": "topic",
    "datacontenttype": "text/json",
    "exbool": True,
    "exint": 42,
    "exstring": "exstring",
    "exbinary": "AAECAw==",
    "exurl": "http://example.com/source",
    "extime": "2020-03-21T12:34:56.78Z",
}
"""The event of the compatibility kit, where a case names no other."""


def read(text: str, dialect: str = "cesql") -> CheckedFilter:
    checked, found = check_filter(text, dialect=dialect)
    assert checked is not None, render(found)
    return checked


def found(text: str, dialect: str = "cesql") -> tuple[Diagnostic, ...]:
    return check_filter(text, dialect=dialect)[1]


def activation(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """An event as our own evaluator is given it: attributes as texts, `time` as an instant."""
    ce: dict[str, Any] = {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in attributes.items()
    }
    instant = rfc3339.microseconds(ce["time"]) if "time" in ce else None
    return {"ce": ce if instant is None else {**ce, "time": Timestamp(instant[0] * 1_000)}}


def delivered(text: str, attributes: Mapping[str, Any], dialect: str = "cesql") -> bool:
    """Whether an event passes. An evaluation error fails the test: the CEL never errs."""
    return outcome(read(text, dialect).checked, attributes)


def outcome(checked: Checked, attributes: Mapping[str, Any]) -> bool:
    value = evaluator(checked.expr)(activation(attributes))
    assert isinstance(value, bool)
    return value


# The compatibility kit.

UNSUPPORTED = {"HASPREFIX": "a function of the SDK's own tests", "KONKAT": "a function of the SDK's own tests"}
"""What expressions of the kit name that no engine has."""


def vectors() -> list[Any]:
    return [pytest.param(case, id=f"{case['file']}: {case['name']}") for case in conformance("cesql-tck.json")["cases"]]


def written(value: object) -> str:
    """A value as a literal."""
    return str(value).upper() if isinstance(value, bool | int) else quoted(str(value), Random(0))


@each_dialect
@pytest.mark.parametrize("case", vectors())
def test_the_compatibility_kit(case: dict[str, Any], dialect: str) -> None:
    text = case["expression"]
    text = text if isinstance(text, str) else str(text).lower()
    attributes = {**case.get("event", FULL_EVENT), **case.get("eventOverrides", {})}
    result, error = case["result"], case.get("error")
    if error == "parse" or any(name in text for name in UNSUPPORTED):
        assert [d.code for d in errors(found(text, dialect))] == ["TRI360" if error == "parse" else "TRI361"]
        return
    same = f"({text}) = {written(result)}"
    if error:
        assert not delivered(same, attributes, dialect)
        assert not delivered(f"NOT ({same})", attributes, dialect)
    else:
        assert delivered(same, attributes, dialect)
        assert not delivered(f"NOT ({same})", attributes, dialect)
    if isinstance(result, bool) and not errors(found(text, dialect)):
        assert (result and not error) == delivered(text, attributes, dialect)


# The direct evaluator.

OFTEN = 8
"""Events that each random filter meets."""


@pytest.mark.sampled
def test_random_filters_pass_what_they_pass_by_the_specification() -> None:
    """Of 50,000 filters by default one in 25; each is the same in every run."""
    passed = asked = refused = 0
    for number in sample(range(50_000), 25):
        chosen = Random(number)
        text = Filters(chosen).boolean(chosen.randint(1, 5))
        tree = Parser(text).whole()
        for dialect, meaning in MEANINGS.items():
            checked, problems = check_filter(text, dialect=dialect)
            if checked is None:
                assert {d.code for d in errors(problems)} == {"TRI102"}, render(problems)
                refused += 1
                continue
            run = evaluator(checked.checked.expr)
            for _ in range(OFTEN):
                attributes = event(chosen)
                expected = passes(tree, attributes, meaning)
                assert expected is run(activation(attributes)), (dialect, text, attributes, checked.cel)
                passed += expected
                asked += 1
    assert asked / 20 < passed < asked / 2
    assert refused < asked / 100


@pytest.mark.parametrize("dialect", MEANINGS)
def test_what_is_written_of_random_filters_passes_the_same(dialect: str) -> None:
    from_cel = BY_NAME[dialect].from_cel
    assert from_cel is not None
    written_ = 0
    for number in range(300):
        chosen = Random(number)
        checked = check_filter(Filters(chosen).boolean(chosen.randint(1, 3)), dialect=dialect)[0]
        text = None if checked is None else from_cel(checked.checked.expr)
        if checked is None or text is None:
            continue
        assert isinstance(text, str)
        assert {"TRI363", "TRI364"}.isdisjoint(d.code for d in found(text, dialect)), text
        again = read(text, dialect).checked
        for _ in range(OFTEN):
            attributes = event(chosen)
            assert outcome(checked.checked, attributes) is outcome(again, attributes), (text, attributes)
        written_ += 1
    assert written_ > 100


def test_like_is_the_regular_expression_of_its_parts() -> None:
    for pattern in ("a%", "%%a", "_%_", "a\\%b", "a\\b", "%a%_", "", "\\_\\%"):
        assert parts_of(pattern) == parts_of(pattern_of(parts_of(pattern))), pattern
    assert [r".", r".", r".*"] == parts_of("%_%_%")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("false AND missing = 'a'", False),
        ("missing = 'a' AND false", False),
        ("true OR missing = 'a'", True),
        ("missing = 'a' OR true", False),
        ("NOT (missing = 'a')", False),
        ("NOT (missing = 'a' AND FALSE)", False),
        ("NOT (FALSE AND missing = 'a')", True),
        ("TRUE XOR missing = 'a'", False),
        ("type = 'nothing' AND missing = 'a' OR TRUE", False),
        ("NOT EXISTS missing", True),
        ("missing IN ('a')", False),
        ("missing NOT IN ('a')", False),
        ("missing NOT LIKE 'a'", False),
    ],
)
@each_dialect
def test_errors_end_the_evaluation(text: str, expected: bool, dialect: str) -> None:
    assert expected is delivered(text, FULL_EVENT, dialect)


def test_a_filter_that_fails_for_an_error_passes_under_not() -> None:
    checked, _ = check_filter({"not": {"cesql": "missing = 'x'"}})
    assert checked is not None
    assert outcome(checked.checked, FULL_EVENT)


# The page.


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in rows[2:]]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_cel_of_the_page_is_the_cel() -> None:
    rows = table("What becomes of it")
    assert len(rows) > 8
    for text, cel, alike in rows:
        assert code(cel) == [read(code(text)[0]).cel]
        if alike:
            (kind,) = code(alike)
            (name, value) = re.findall(r'ce\.(\w+)(?: == |\.\w+\()"(.*)"', code(cel)[0])[0]
            same, _ = check_filter({kind: {name: value}})
            assert same is not None
            assert same.cel == code(cel)[0]


def test_where_knative_differs() -> None:
    event_ = {**FULL_EVENT, "type": "a", "n": "-1"}
    rows = {code(row[0])[0]: [cell.split(":")[0] for cell in row[1:]] for row in table("Where Knative differs")}
    expected = {
        "LENGTH('é')": ["2", "1"],
        "2147483647 + LENGTH(id)": ["begins again at -2147483648", "an error"],
        "type IN ('a', missing)": ["passes", "an error"],
        "SUBSTRING(id, 0, -1)": ["empty", "an error"],
    }
    assert expected == rows
    assert delivered("LENGTH('é') = 2", event_)
    assert delivered("LENGTH('é') = 1", event_, "sql")
    assert delivered("2147483647 + LENGTH(id) = -2147483639", event_)
    assert delivered("type IN ('a', missing)", event_)
    assert delivered("SUBSTRING(id, 0, n) = ''", event_)
    for text in ("2147483647 + LENGTH(id) < 0", "type IN ('a', missing)", "SUBSTRING(id, 0, n) = ''"):
        assert not delivered(text, event_, "sql")
        assert not delivered(f"NOT ({text})", event_, "sql")


@each_dialect
def test_every_difference_is_one(dialect: str) -> None:
    """The second column of the page says whether the filter passes, is false, or is refused."""
    attributes = {**FULL_EVENT, "exint": 5, "subject": "É"}
    asked = 0
    for what, ours, _ in table("Differences"):
        texts = [text for text in code(what) if text not in ("exint", "subject", "É")] or [""]
        for text in texts:
            problems = errors(found(text, dialect))
            if ours.startswith("refused"):
                assert problems, text
            elif ours.startswith("passes"):
                assert delivered(text, attributes, dialect), text
            else:
                assert ours.startswith(("does not pass", "is false")), ours
                assert not delivered(text, attributes, dialect), text
            asked += 1
    assert asked > 10


# Positions, limits and time.


def test_a_problem_inside_a_manifest_has_its_line_and_column() -> None:
    text = "- any:\n  - exact: {type: t}\n  - cesql: |\n      type = 'x' AND\n        LENGHT(id) > 3\n"
    problems = found(text, "filters")
    assert ["TRI361"] == [d.code for d in problems]
    shown = render(problems)
    assert "5:9" in shown
    assert "5 |         LENGHT(id) > 3\n  |         ^^^^^^" in shown
    assert "did you mean 'LENGTH'?" in shown


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("(" * 200 + "TRUE" + ")" * 200, {"TRI102"}),
        ("NOT " * 500 + "TRUE", {"TRI102"}),
        ("- " * 5000 + "1 = 1", {"TRI102"}),
        (" AND ".join(f"type = 'a{i}'" for i in range(9_000)), {"TRI102"}),
        ("INT(CONCAT(" * 40 + "id" + ", 1))" * 40 + " = 1", {"TRI102"}),
        ("LEFT(" * 20 + "id" + ", n)" * 20 + " = 'a'", set()),
        ("LEFT(" * 90 + "id" + ", n)" * 90 + " = 'a'", {"TRI102"}),
        ("ABS(" * 60 + "id" + ")" * 60 + " = 1", set()),
        (" OR ".join(f"a{i} = 'x'" for i in range(1_000)), {"TRI102"}),
        (" OR ".join(f"type = 'a{i}'" for i in range(1_000)), set()),
        ("(" * 20 + "TRUE" + "".join(f" AND a{i} = 'x') XOR b{i} = 'y'" for i in range(20)), set()),
        ("CONCAT(" + ", ".join(["a"] * 3_000) + ") = 'x'", {"TRI102"}),
        ("CONCAT_WS(',', " + ", ".join(["id"] * 9_000) + ") = 'x'", {"TRI102"}),
        ("CONCAT(" + ", ".join(["a"] * 80) + ") = 'x'", set()),
        (" AND ".join(f"{i}a" for i in range(10_000)), {"TRI102"}),
        ("a" * 100_001, {"TRI102"}),
        ("'" + "\\'" * 40_000, {"TRI360"}),
        ("type = '\ud800'", {"TRI103"}),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
@each_dialect
def test_large_filters_are_refused_or_stay_small(text: str, codes: set[str], dialect: str) -> None:
    begun = time.process_time()
    checked, problems = check_filter(text, dialect=dialect)
    assert codes == {d.code for d in errors(problems)}
    if checked is not None:
        assert sum(1 for _ in walk(checked.checked.expr)) <= 20_000
    assert time.process_time() - begun < 5
