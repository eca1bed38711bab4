"""Every overload's examples are true: by our evaluator, by the engine where it has the function, and to the checker."""

from __future__ import annotations

import math

import pytest
from cel_expr_python import cel
from tricel.compiler import CLOUD_EVENT, Source, check, parse
from tricel.compiler.functions import ALL, ERROR, FAMILIES, Overload
from tricel.compiler.interpreter import IMPLEMENTATIONS, CelError, evaluate
from tricel.compiler.versions import NEXT

EXAMPLES = [(row, text, value) for row in ALL for text, value in row.examples]
IDS = [f"{row.id}: {text}" for row, text, _ in EXAMPLES]
IN_THE_EVALUATOR = {
    *("logical_and", "logical_or", "conditional", "index_list", "index_map"),
    *("optional_or_optional", "optional_orValue_value"),
}
"""Overloads that are not functions of their arguments' values, or chosen by the tree."""
OF_THE_ENGINE = {
    row.id for name in ("operators", "strings and sizes", "conversions", "times") for row in FAMILIES[name]
}


def test_every_overload_says_what_it_does() -> None:
    assert [row.id for row in ALL if not row.doc or not row.examples] == []


def test_ids_are_unique() -> None:
    assert len({row.id for row in ALL}) == len(ALL)


def test_every_overload_has_an_implementation() -> None:
    assert {row.id for row in ALL} - IMPLEMENTATIONS.keys() - IN_THE_EVALUATOR == set()
    assert IMPLEMENTATIONS.keys() - {row.id for row in ALL} == set()


@pytest.mark.parametrize(("row", "text", "value"), EXAMPLES, ids=IDS)
def test_example(row: Overload, text: str, value: object) -> None:
    expr, diagnostics = parse(Source(text))
    assert diagnostics == ()
    assert expr is not None
    if value is ERROR:
        with pytest.raises(CelError):
            evaluate(expr, {})
    else:
        assert_same(value, evaluate(expr, {}))


@pytest.mark.parametrize(
    ("row", "text", "value"),
    [e for e in EXAMPLES if e[0].id in OF_THE_ENGINE],
    ids=[i for i, e in zip(IDS, EXAMPLES, strict=True) if e[0].id in OF_THE_ENGINE],
)
def test_example_in_the_engine(row: Overload, text: str, value: object) -> None:
    found = cel.NewEnv().compile(text, disable_check=True).eval(data={})
    if value is ERROR:
        assert found.type().name() == "ERROR"
    else:
        assert_same(value, found.value())


_ANY_TIME = "timestamp('2009-02-13T23:31:30Z')"
CORNERS: list[tuple[str, object]] = [
    # a uint has no sign (cel-go and the C++ engine)
    ("uint('0') == 0u", True),
    ("uint('-0') == 0u", ERROR),
    # a fraction of any length is RFC 3339's; it is cut to nanoseconds
    ("timestamp('2020-01-01T00:00:00.1234567899Z') == timestamp('2020-01-01T00:00:00.123456789Z')", True),
    ("timestamp('2020-01-01T00:00:00.12345678901234567890+01:00').getMilliseconds()", 123),
    ("timestamp('2020-01-01T00:00:00.Z') == timestamp(0)", ERROR),
    *((f"timestamp('{text}') == timestamp(0)", ERROR) for text in (" 1970-01-01T00:00:00Z", "1970-1-1T0:0:0Z")),
    *((f"timestamp('1970-01-01T00:00:00{zone}') == timestamp(0)", ERROR) for zone in ("+0000", "+00", "", "+24:00")),
    # a fixed zone is two numbers, of any size
    (f"{_ANY_TIME}.getHours('-00:00')", 23),
    (f"{_ANY_TIME}.getHours('+14:00')", 13),
    (f"{_ANY_TIME}.getHours('+25:00')", 0),
    (f"{_ANY_TIME}.getDate('-24:00')", 12),
    (f"{_ANY_TIME}.getMinutes('+00:61')", 32),
    *((f"{_ANY_TIME}.getHours('{zone}') == 0", ERROR) for zone in ("+1", "01:30:00", "utc", "Fixed/UTC+05:00:00")),
    # what is finer than a nanosecond is cut
    ("duration('1.5ns') == duration('1ns')", True),
    ("duration('-0.9999999999s') == duration('-999999999ns')", True),
    # keys of any number type are one key; a bool is none of them
    ("{1: 'a', 1u: 'b'} == {}", ERROR),
    ("{1: 'a', dyn(1.0): 'b'} == {}", ERROR),
    ("size({true: 'a', 1: 'b', '1': 'c'})", 3),
    ("{9223372036854775808u: 1}[dyn(-9223372036854775808)] == 1", ERROR),
    ("{0: 'a'}[dyn(-0.0)]", "a"),
    # an optional index of a list takes what an index takes
    ("[1, 2][?dyn(1.0)].orValue(0)", 2),
    ("[1, 2][?dyn(1u)].orValue(0)", 2),
    ("[1, 2][?dyn(0.5)].orValue(0) == 0", ERROR),
    ("has(dyn([]).a)", ERROR),
    # optFlatMap gives what its body gives, be it optional or not
    ("optional.of(dyn(2)).optFlatMap(x, x) == 2", True),
    ("optional.of(dyn(2)).optFlatMap(x, x).hasValue()", ERROR),
    ("optional.none().optFlatMap(x, x).hasValue()", False),
]
"""Rules of the definition that no example shows, most of them answered otherwise by one of the engines."""


@pytest.mark.parametrize(("text", "value"), CORNERS, ids=[text for text, _ in CORNERS])
def test_corner(text: str, value: object) -> None:
    expr, diagnostics = parse(Source(text))
    assert diagnostics == ()
    assert expr is not None
    if value is ERROR:
        with pytest.raises(CelError):
            evaluate(expr, {})
    else:
        assert_same(value, evaluate(expr, {}))


def assert_same(expected: object, actual: object) -> None:
    """Equal; doubles to within a rounding."""
    if isinstance(expected, float) and isinstance(actual, float):
        assert math.isclose(expected, actual)
    else:
        assert expected == actual


@pytest.mark.parametrize(("row", "text"), [(r, t) for r, t, _ in EXAMPLES], ids=IDS)
def test_the_checker_takes_the_example_by_this_overload(row: Overload, text: str) -> None:
    source = Source(text)
    expr, diagnostics = parse(source)
    assert diagnostics == ()
    assert expr is not None
    checked = check(expr, CLOUD_EVENT, source, version=NEXT)
    assert [d for d in checked.diagnostics if d.code != "TRI207" and d.severity == "error"] == []
    assert row.id in {o.id for found in checked.overloads.values() for o in found}
