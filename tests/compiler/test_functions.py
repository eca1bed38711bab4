"""Every overload's examples are true: by our evaluator, by the engine where it has the function, and to the checker."""

from __future__ import annotations

import math

import pytest
from cel_expr_python import cel
from tricel.compiler import CLOUD_EVENT, Source, check, parse
from tricel.compiler.functions import ALL, ERROR, FAMILIES, Overload
from tricel.compiler.interpreter import IMPLEMENTATIONS, CelError, evaluate

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
    checked = check(expr, CLOUD_EVENT, source)
    assert [d for d in checked.diagnostics if d.code != "TRI207" and d.severity == "error"] == []
    assert row.id in {o.id for found in checked.overloads.values() for o in found}
