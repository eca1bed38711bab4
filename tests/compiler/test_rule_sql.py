"""EMQX's rule SQL passes the messages that EMQX passes: its published cases, and random checks by a direct evaluator."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from conftest import REPOSITORY, conformance
from rule_sql_evaluator import passes
from samples import sample
from tricel.compiler import check_filter
from tricel.compiler.compile import CheckedFilter
from tricel.compiler.diagnostics import errors
from tricel.compiler.diagnostics.as_text import render
from tricel.compiler.dialects.rule_sql.reader import read as read_tree
from tricel.compiler.interpreter import evaluator
from tricel.compiler.source import Source
from tricel.compiler.values.cel import CelError
from tricel.compiler.values.json_values import plain, read_json

STRICT, COMPAT = "rule-sql", "rule-sql-compat"
COERCES = {STRICT: False, COMPAT: True}
PAGE = REPOSITORY / "docs" / "dialects" / "rule_sql.md"
NESTED = "payload.a.b = 1"
"""The published case that reads JSON in a text within the payload, which CEL cannot; it is refused by failing."""


def read(text: str, dialect: str = STRICT) -> CheckedFilter:
    checked, found = check_filter(text, dialect=dialect)
    assert checked is not None, render(found)
    return checked


def codes(text: str, dialect: str = STRICT) -> list[str]:
    return [d.code for d in check_filter(text, dialect=dialect)[1]]


def roots(message: dict[str, Any]) -> dict[str, Any]:
    """A message as our own evaluator is given it; a payload that is no JSON is missing."""
    found = {"retain": False, "dup": False, **message, "payload_bytes": message["payload"].encode()}
    try:
        found["payload"] = plain(read_json(message["payload"]))
    except ValueError:
        del found["payload"]
    return found


def passed(checked: CheckedFilter, message: dict[str, Any]) -> bool:
    """Whether a message passes: a check that errs has failed."""
    try:
        value = evaluator(checked.checked.expr)(roots(message))
    except CelError:
        return False
    assert isinstance(value, bool)
    return value


def message(payload: object, **columns: Any) -> dict[str, Any]:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return {"topic": "t/t", "qos": 0, "payload": text, **columns}


@pytest.mark.parametrize("case", conformance("emqx_sql_semantics_cases.json")["cases"], ids=lambda c: c["where"])
def test_the_published_conditions(case: dict[str, Any]) -> None:
    payload = case["payload_raw"] if case["payload_raw"] is not None else json.dumps(case["payload"])
    expected = case["passes"] and case["where"] != NESTED
    assert passed(read(f"SELECT * WHERE {case['where']}", COMPAT), message(payload)) is expected


@pytest.mark.parametrize("dialect", COERCES)
@pytest.mark.parametrize("case", conformance("emqx_schema_validation_cases.json")["sql_checks"], ids=lambda c: c["sql"])
def test_the_published_checks(case: dict[str, Any], dialect: str) -> None:
    assert passed(read(case["sql"], dialect), message({"value": 10})) is case["passes"]


# Random checks.

_PATHS = (
    "payload.a",
    "payload.b",
    "payload.c.d",
    "payload.l[1]",
    "payload.l[-1]",
    "payload.l[0]",
    "x",
    "payload.m.'e f'",
)
_LITERALS = (
    "0",
    "1",
    "5",
    "2.5",
    "-3",
    "'a'",
    "'5'",
    "'-3'",
    "'1.5'",
    "'1e3'",
    "'true'",
    "'null'",
    "true",
    "false",
    "''",
)
_SCALARS: tuple[Any, ...] = (
    *(0, 1, 5, 2.5, -3, 1e300, 10**20, 2**53, "a", "5", "+5", "-3", "1.5", "1e3", "1.5e400", "true", "null", "NaN"),
    *("", "0000000000000000000000005", "99999999999999999999999", "1.", " 5", True, False, None, [], [1], {}, {"d": 1}),
)


class Checks:
    """Random checks, of parts that both have."""

    def __init__(self, chosen: Random) -> None:
        self.chosen = chosen

    def check(self) -> str:
        fields = self.chosen.choice(("*", "payload.b AS x", "payload.l[2] x, *", "1", self._case() + " AS x"))
        return f"SELECT {fields} WHERE {self.condition(self.chosen.randint(0, 3))}"

    def condition(self, depth: int) -> str:
        if depth and self.chosen.random() < 0.75:
            join = self.chosen.choice((" AND ", " OR "))
            return "(" + join.join(self.condition(depth - 1) for _ in range(2)) + ")"
        kind = self.chosen.randrange(10)
        if kind < 5:
            return self._comparison()
        if kind < 6:
            return f"NOT {self.chosen.choice((self._comparison(), self._path(), self._test()))}"
        if kind < 7:
            items = ", ".join(self.chosen.choice((*_LITERALS, self._path())) for _ in range(self.chosen.randint(1, 3)))
            return f"{self._value(1)} {self.chosen.choice(('', '', '', 'NOT'))} IN ({items})"
        if kind < 8:
            return self.chosen.choice(("topic =~ 't/+'", "payload.a =~ '#'", "NOT topic =~ '+'", "topic(2) = 't'"))
        return self._test()

    def _comparison(self) -> str:
        sign = self.chosen.choice(("=", "!=", "<>", "<", "<=", ">", ">="))
        return f"{self._value(2)} {sign} {self._value(2)}"

    def _test(self) -> str:
        name = self.chosen.choice(("is_null", "is_not_null", "is_null_var", "is_not_null_var", "is_str", "is_num"))
        name = self.chosen.choice((name, "is_int", "is_float", "is_bool", "is_map", "is_array"))
        other = (f"contains(1, {self._path()})", f"regex_match({self._path()}, '^[a-t]+$')")
        return self.chosen.choice((f"{name}({self._value(1)})", *other))

    def _path(self) -> str:
        return self.chosen.choice(_PATHS)

    def _value(self, depth: int) -> str:
        kind = self.chosen.randrange(12)
        if kind < 6 or not depth:
            return self._path()
        if kind < 9:
            return self.chosen.choice((*_LITERALS, "qos"))
        if kind < 10:
            sign = self.chosen.choice(("+", "-", "*", "/", "div"))
            return f"({self._value(depth - 1)} {sign} {self._value(depth - 1)})"
        path = self._path()
        return self.chosen.choice(
            (
                *(f"strlen({path})", f"lower({path})", f"substr({path}, 1, 2)", f"length({path})", f"first({path})"),
                *(f"nth(2, {path})", f"last({path})", f"map_get('d', {path})", f"map_get('d', {path}, 7)"),
                *(f"abs({path})", f"floor({path})", f"ceil({path})", f"mod({path}, 3)", f"concat({path}, 'z')"),
            )
        )

    def _case(self) -> str:
        if self.chosen.random() < 0.4:
            return f"CASE {self._path()} WHEN {self.chosen.choice(_LITERALS)} THEN 1 WHEN 5 THEN payload.a END"
        return f"CASE WHEN {self.condition(1)} THEN {self._value(1)} WHEN {self._comparison()} THEN 'b' ELSE 5 END"

    def message(self) -> dict[str, Any]:
        if self.chosen.random() < 0.05:
            return message(self.chosen.choice(("not json", "", "5", "[1]", '"{}"', '"a"', "null", "{")))
        payload = {name: self._any() for name in "abclm" if self.chosen.random() < 0.8}
        return message(payload, qos=self.chosen.randrange(3), topic=self.chosen.choice(("t/t", "$s/t", "t")))

    def _any(self) -> Any:
        kind = self.chosen.randrange(10)
        if kind < 6:
            return self.chosen.choice(_SCALARS)
        if kind < 7:
            return {"d": self.chosen.choice(_SCALARS), "e f": 1}
        if kind < 9:
            return [self.chosen.choice(_SCALARS) for _ in range(self.chosen.randint(1, 3))]
        return self.chosen.choice(('{"b": 1}', " [1]", '"x"'))


@pytest.mark.sampled
@pytest.mark.parametrize("dialect", COERCES)
def test_random_checks_pass_what_a_direct_evaluator_passes(dialect: str) -> None:
    """Of 25,000 checks by default one in 500, with 40 messages; each is the same in every run."""
    asked = passing = refused = 0
    for number in sample(range(25_000), 500):
        checks = Checks(Random(number))
        text = checks.check()
        tree, problems = read_tree(Source(text, "check"))
        assert tree is not None, render(problems)
        checked, problems = check_filter(text, dialect=dialect)
        if checked is None:
            assert {d.code for d in errors(problems)} <= {"TRI102", "TRI383"}, render(problems)
            refused += 1
            continue
        for _ in range(40):
            one = checks.message()
            expected = passes(tree, one, coerce=COERCES[dialect])
            assert passed(checked, one) is expected, (number, text, one, checked.cel)
            asked += 1
            passing += expected
    assert asked / 60 < passing < asked / 2
    assert refused < asked / 30


# What is said, and where the two meanings differ.

DIFFERENCES = (
    ("payload.a > 5", {"a": "10"}, False, True),
    ("payload.a = 'true'", {"a": True}, False, True),
    ("payload.a = 'null'", {"a": None}, False, True),
    ("payload.a > 5", {"a": None}, False, True),
    ("payload.a > 5", {"a": [1]}, False, True),
    ("payload.a + 1 > 2", {"a": "2"}, False, True),
    ("payload.a != 'x'", {"a": False}, False, True),
    ("payload.a.b = 1", {"a": '{"b": 1}'}, False, False),
    ("payload.a in (1)", {"a": 1.0}, True, True),
    ("lower(payload.a) = 'é'", {"a": "É"}, False, False),
    ("strlen(payload.a) = 2", {"a": "e\u0301"}, True, True),
)
"""A condition, a payload, and whether it passes strictly and with coercions: the rows of the page's table."""


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row[0])
def test_the_differences_that_the_page_names(row: tuple[str, dict[str, Any], bool, bool]) -> None:
    condition, payload, strictly, coerced = row
    text = f"SELECT * WHERE {condition}"
    assert passed(read(text), message(payload)) is strictly
    assert passed(read(text, COMPAT), message(payload)) is coerced
    assert f"`{condition}`" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * where a ==", ["TRI380"]),
        ('select * from "t/#" where true', ["TRI381"]),
        ("foreach payload.l", ["TRI381"]),
        ("select * where strlne(topic) > 1", ["TRI382"]),
        ("select * where schema_decode('s', payload) = 1", ["TRI383"]),
        ("select * where payload.flag", ["TRI384"]),
        ("select * where qos not in (1, 2)", ["TRI384"]),
        ("select * where not (qos = 1 and topic = 't')", ["TRI384"]),
        ("select * where clientID = 'x'", ["TRI385"]),
        ("select * where lower(topic) = 't'", ["TRI386"]),
        ("select * where topic > 5", ["TRI387"]),
        ("select * where payload.a in (1, 'b')", ["TRI387"]),
        ("select * where timestamp > 5", ["TRI388"]),
        ("select * where now_timestamp() > 5", ["TRI388"]),
        ("select * where not clientid = 'x'", ["TRI389"]),
        ("select * where is_null(username)", ["TRI389"]),
        ("select payload as p where p.x > 1 or qos = 0", ["TRI389"]),
        ("select payload.x as topic where topic = 't'", ["TRI383"]),
        ("select * where " + "not " * 60 + "qos = 1", ["TRI102"]),
    ],
)
def test_what_is_said(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("clientid = 'x' or qos = 0", True), ("clientid != 'x'", False), ("is_not_null(username) or topic = 't/t'", True)],
)
def test_a_missing_column_compares_false(condition: str, expected: bool) -> None:
    assert passed(read(f"select clientid where {condition}"), message({})) is expected


@pytest.mark.parametrize(
    ("text", "payload", "expected"),
    [
        ("select payload as p where p.x > 1", '{"x": 2}', True),
        ("select payload as p where p.x > 1", "no json", False),
        ("select payload.x as x where x > 1 or qos = 0", "no json", False),
        ("select * where payload.x > 1 or qos = 0", "no json", False),
        ("select * where payload = 'no json'", "no json", True),
        ("select * where regex_match(payload, '^no json$')", "no json\n", True),
        ("select * where pub_props.'User-Property'.k = 'v'", "{}", True),
        ("select * where flags.retain = false and client_attrs.tns = 'a'", "{}", True),
    ],
)
def test_texts_and_columns(text: str, payload: str, expected: bool) -> None:
    columns = {"user_property": {"k": "v"}, "client_attrs": {"tns": "a"}}
    assert passed(read(text), message(payload, **columns)) is expected
