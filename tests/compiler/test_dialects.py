"""Every dialect means what its cases say, and what Knative's own vectors say but for the differences listed."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from functools import cache
from typing import Any, cast

import pytest
import yaml
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_strings
from conftest import REPOSITORY, conformance
from tricel.compiler.compile import check_filter, check_translation
from tricel.compiler.diagnostics import CODES, errors
from tricel.compiler.dialects import BY_NAME, DIALECTS, Translation, dialect_named
from tricel.compiler.dialects.cesql.logic import negative_normal
from tricel.compiler.dialects.given import place_of
from tricel.compiler.dialects.model import Dialect, Under
from tricel.compiler.documents.document import root
from tricel.compiler.documents.objects import from_python
from tricel.compiler.environments.cloudevent import CLOUD_EVENT
from tricel.compiler.environments.kafka_record import KAFKA_RECORD
from tricel.compiler.environments.mqtt_message import MQTT_MESSAGE
from tricel.compiler.limits import Limits
from tricel.compiler.manifests.trigger import translate_place
from tricel.compiler.parse import parse
from tricel.compiler.source import Source
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
    "SubscriptionsAPI filter overrides Attributes Filter": "two filters are refused",
    "cesql: Missing expression": EMPTY,
    "cesql: LIKE with literal percent in subject (sdk-go bug)": "LIKE is what the specification says",
}
"""Knative filter vectors on which we differ on purpose, and why."""


REFUSED = {"drafts"}
"""Folders of cases that are about no dialect: what they have is refused."""


def rows() -> list[Any]:
    """The cases: of a dialect of Triggers, filters as a Trigger has them; of another, filters of the dialect itself."""
    return [
        pytest.param({**row, "dialect": path.parent.name}, id=f"{path.parent.name}: {row['name']}")
        for path in sorted(CASES.glob("*/*.yaml"))
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def translated(value: dict[str, Any]) -> Translation:
    document, found = from_python(value)
    assert document is not None, found
    return translate_place(root(document))


def read(row: dict[str, Any]) -> Translation:
    dialect = BY_NAME.get(row["dialect"])
    if dialect is None or dialect.under is not Under.NOWHERE:
        return translated(row["filter"])
    place, found = place_of(dialect, row["filter"], "<filter>")
    assert place is not None, found
    return dialect.to_cel(place)


@pytest.mark.parametrize("row", rows())
def test_a_form_becomes_its_cel(row: dict[str, Any]) -> None:
    translation = read(row)
    assert row.get("codes", []) == [d.code for d in translation.diagnostics]
    assert row.get("help") in (None, *(d.help for d in translation.diagnostics))
    assert row.get("cel") == (None if translation.expr is None else unparse(translation.expr))
    assert (translation.expr is None) == bool(errors(translation.diagnostics))


@pytest.mark.parametrize("row", [r for r in rows() if "cel" in r.values[0]])
def test_what_a_dialect_writes_is_accepted_by_the_checker(row: dict[str, Any]) -> None:
    translation = read(row)
    own = BY_NAME.get(translation.dialect)
    checked, found = check_translation(translation, own.environment if own is not None else CLOUD_EVENT)
    assert () == errors(found)
    assert checked is not None
    assert row["cel"] == checked.cel


@cache
def environment() -> Any:
    extensions = [ext_strings.ExtStrings(), ext_math.ExtMath(), ext_bindings.ExtBindings()]
    variables = {"ce": cel.Type.Map(cel.Type.STRING, cel.Type.DYN), "data": cel.Type.DYN}
    return cel.NewEnv(variables=variables, extensions=extensions)


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
    """Knative's cases."""
    names = ("knative_filter_cases.json", "knative_cel_pr1152_cases.json")
    return [case for name in names for case in conformance(name)["cases"]]


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
        if row.values[0].get("cel") and row.values[0]["dialect"] not in (
            *("cel", "expression"),
            *("rule-sql", "rule-sql-compat"),  # of another environment: tests/compiler/test_rule_sql.py
        ):
            assert isinstance(delivered(read(row.values[0]), {**EVENTS[0], "id": "1"}), bool)


def test_spans_point_at_what_was_written() -> None:
    document, _ = from_python({"exact": {"type": "t", "subject": ""}})
    assert document is not None
    (problem,) = translate_place(root(document)).diagnostics
    assert '""' == document.source.text[problem.span.start : problem.span.end]


def test_every_filter_code_has_a_case() -> None:
    covered = {code for row in rows() for code in row.values[0].get("codes", ())}
    manifests = {"TRI344", "TRI345", "TRI346", "TRI347", "TRI348"}  # tests/compiler/test_manifest.py
    assert set() == {code for code in CODES if code.startswith(("TRI33", "TRI34", "TRI36"))} - covered - manifests


def test_every_case_folder_is_a_dialect() -> None:
    assert {path.name for path in CASES.iterdir()} - REFUSED == set(BY_NAME)


def test_names_are_unique() -> None:
    assert len(DIALECTS) == len(BY_NAME)


def example(dialect: Dialect) -> Translation:
    place, found = place_of(dialect, dialect.example, "<example>")
    assert place is not None, found
    return dialect.to_cel(place)


each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda row: row.name)


@each_dialect
def test_a_dialect_is_a_whole_row(dialect: Dialect) -> None:
    cases = yaml.safe_load((CASES / dialect.name / "forms.yaml").read_text(encoding="utf-8"))
    assert any("cel" in case for case in cases)
    assert re.fullmatch(r"[A-Z][^\n]+\.", dialect.doc)
    page = (REPOSITORY / "docs" / "dialects" / f"{dialect.page}.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{dialect.name}\b", page), "its page does not name it"
    assert (dialect.schema is not None) == (dialect.under is not Under.NOWHERE), "a Trigger's form needs a schema"
    assert bool(dialect.instead) == (dialect.under is Under.FILTER and not dialect.knative)


@each_dialect
def test_the_example_of_a_dialect_is_read(dialect: Dialect) -> None:
    translation = example(dialect)
    assert () == errors(translation.diagnostics)
    checked, found = check_translation(translation, dialect.environment)
    assert checked is not None, found


@each_dialect
def test_an_example_is_written_again(dialect: Dialect) -> None:
    expr = example(dialect).expr
    if dialect.from_cel is None or expr is None:
        assert dialect.name in ("sourceAndType", "rule-sql", "rule-sql-compat"), "what is read can be written"
        return
    assert dialect.from_cel(expr) is not None


@each_dialect
def test_what_is_written_means_the_same(dialect: Dialect) -> None:
    """Of every case of every dialect: what is written of it, where it can be, is read as the same CEL.

    Where the negations of it stand may be another place, which keeps values and errors.
    """
    if dialect.from_cel is None:
        return
    written = 0
    for row in rows():
        expr = read(row.values[0]).expr
        value = None if expr is None else dialect.from_cel(expr)
        if expr is None or value is None:
            continue
        place, found = place_of(dialect, value, "<written>")
        assert place is not None, found
        again = dialect.to_cel(place).expr
        assert again is not None
        assert unparse(negative_normal(expr)) == unparse(negative_normal(again))
        written += 1
    assert written > 1


@pytest.mark.parametrize(
    ("name", "cel", "written"),
    [
        ("attributes", 'ce.type == "t" && has(ce.x) && ce.x != ""', {"type": "t", "x": ""}),
        ("attributes", "has(ce.time)", {"time": ""}),
        ("attributes", "true", {}),
        ("attributes", 'ce.type == "t" && ce.type == "u"', None),
        ("attributes", 'ce.subject == "x"', None),
        ("attributes", 'has(ce.subject) && ce.subject == ""', None),
        ("attributes", 'ce.type.startsWith("t")', None),
        ("exact", 'has(ce.datacontenttype) && ce.datacontenttype.matches("^a/b\\\\.c(?:[ \\\\t]*;|$)")', {"datamediatype": "a/b.c"}),
        ("exact", 'ce.type.startsWith("t")', None),
        ("prefix", 'ce.type.startsWith("t") && ce.id.startsWith("u")', {"type": "t", "id": "u"}),
        ("suffix", 'has(ce.x) && ce.y.endsWith("t")', None),
        ("not", '!(ce.type == "t")', {"exact": {"type": "t"}}),
        ("not", 'ce.type == "t"', None),
        ("any", 'ce.type == "t" || !(has(ce.x) && ce.x == "y")', [{"exact": {"type": "t"}}, {"not": {"exact": {"x": "y"}}}]),
        ("any", "true", None),
        ("any", 'ce.type == "t" || data.x > 1.0', None),
        ("all", 'ce.type == "t" && ce.id.endsWith("x")', [{"exact": {"type": "t"}}, {"suffix": {"id": "x"}}]),
        ("filters", "true", []),
        ("filters", 'ce.id == "i" && (ce.type == "t" || ce.type == "u")', [{"exact": {"id": "i"}}, {"any": [{"exact": {"type": "t"}}, {"exact": {"type": "u"}}]}]),
        ("filters", "ce.time > timestamp('2024-01-01T00:00:00Z')", None),
        ("cel", "ce.id  == 'x'", 'ce.id == "x"'),
    ],
)  # fmt: skip
def test_expressions_as_filters_of_a_dialect(name: str, cel: str, written: object) -> None:
    expr, found = parse(Source(cel))
    assert expr is not None, found
    from_cel = dialect_named(name).from_cel
    assert from_cel is not None
    assert written == from_cel(expr)


WORDS = {"all", "any", "not", "expression"}
"""Dialects whose names are also words of Python's or Kubernetes' own."""


@pytest.mark.parametrize("folder", ["k8s", "compiler/manifests"])
def test_what_reads_triggers_and_describes_them_names_no_dialect(folder: str) -> None:
    names = {row.name for row in DIALECTS if row.under in (Under.FILTER, Under.FILTERS)} - WORDS
    assert {"attributes", "exact", "cesql", "sourceAndType"} <= names
    for path in (REPOSITORY / folder).rglob("*.py"):
        constants = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Constant))
        assert [] == [f"{path.name}:{n.lineno}: {n.value}" for n in constants if n.value in names]


def test_what_takes_the_place_of_a_deprecated_dialect_means_the_same() -> None:
    old = [row for row in DIALECTS if row.successor]
    assert ["sourceAndType"] == [row.name for row in old]
    for row in old:
        new = place_of(dialect_named(row.successor), row.example, "<new>")[0]
        assert new is not None
        assert example(row).expr == dialect_named(row.successor).to_cel(new).expr


def test_an_unknown_dialect_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="no dialect 'atributes': did you mean 'attributes'"):
        dialect_named("atributes")
    with pytest.raises(ValueError, match="no dialect 'xyz': there are cel, attributes"):
        dialect_named("xyz")


def test_a_text_is_cel_and_a_mapping_is_a_filter_of_a_trigger_where_no_dialect_is_named() -> None:
    text, _ = check_filter("ce.id == 'x'")
    mapping, _ = check_filter({"exact": {"id": "x"}})
    assert text is not None
    assert mapping is not None
    assert (text.cel, text.dialect) == ('ce.id == "x"', "cel")
    assert (mapping.cel, mapping.dialect) == ('ce.id == "x"', "filters")


@each_dialect
def test_a_filter_of_a_named_dialect_as_data_and_as_text(dialect: Dialect) -> None:
    given = [dialect.example] if isinstance(dialect.example, str) else [dialect.example, json.dumps(dialect.example)]
    if not dialect.text:
        given.append(yaml.safe_dump(dialect.example, sort_keys=False))
    expected = example(dialect).expr
    for filter_ in given:
        checked, found = check_filter(filter_, dialect=dialect.name)
        assert checked is not None, found
        assert expected is not None
        assert (checked.cel, checked.dialect) == (unparse(expected), dialect.name)


def test_the_text_of_a_dialect_that_is_data_is_one_document_with_positions() -> None:
    (problem,) = check_filter("- exact:\n    tYpe: t\n", dialect="filters")[1]
    assert (problem.code, problem.field) == ("TRI333", "filters[0].exact[tYpe]")
    assert problem.source.position(problem.span.start).line == 2
    for text, code in (("{type: t", "TRI301"), ("{type: t}\n---\n{type: t}", "TRI301"), ("", "TRI310"), ("{a: 1, a: 2}", "TRI302")):  # fmt: skip
        assert [code] == [d.code for d in check_filter(text, dialect="attributes")[1]][:1]
    assert ["TRI102"] == [d.code for d in check_filter("[]", dialect="filters", limits=Limits(text=1))[1]]


def test_a_dialect_may_bring_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    brought = replace(BY_NAME["cel"], environment=KAFKA_RECORD)
    monkeypatch.setitem(cast("dict[str, Dialect]", BY_NAME), "cel", brought)
    assert check_filter("partition == 1", dialect="cel")[0] is not None
    assert check_filter("partition == 1", MQTT_MESSAGE, dialect="cel")[0] is None
