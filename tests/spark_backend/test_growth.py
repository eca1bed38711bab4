"""What a function makes is bounded by a rule, and a function without one does not run natively."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tricel.compiler import celtypes as t
from tricel.compiler import check_filter
from tricel.compiler.analysis.sizes import CEILING, _facts
from tricel.compiler.celtypes import CelType
from tricel.compiler.functions import ALL, BY_CALL, BY_NAME, GoesOver, Overload, Reads, Size, Steps
from tricel.compiler.limits import Limits
from tricel.compiler.unify import matching
from tricel.compiler.versions import NEXT, LanguageVersion
from tricel.spark_backend.compiled_filter import lower_filter
from tricel.spark_backend.sql import cast, function
from tricel.spark_backend.sql.bounds.growth import grows
from tricel.spark_backend.sql.capability import Support, capabilities
from tricel.spark_backend.sql.functions import LOWERINGS
from tricel.spark_backend.sql.functions.registry import Lowering

GROWING = [row for row in ALL if row.result not in t.SHORT]
"""Overloads whose value is not short whatever they are given."""


def test_there_are_native_ones_among_them() -> None:
    native = {id_ for id_, found in capabilities().items() if found.support is Support.NATIVE}
    assert len([row for row in GROWING if row.id in native]) > 40
    assert set(Size) - {Size.UNKNOWN} == {row.size for row in ALL}


BOUNDLESS = Limits(cost=CEILING, built=CEILING)


def plugged(monkeypatch: pytest.MonkeyPatch, name: str, result: CelType, size: Size = Size.UNKNOWN) -> LanguageVersion:
    """A method of texts that has all that a native function needs; but for the size, where that is not given.

    It gives a version of the language that has it.
    """
    params = (t.STRING, t.INT)
    row = Overload(f"string_{name}", name, params, result, "", (), member=True, size=size, steps=Steps.READ)
    monkeypatch.setitem(BY_CALL, (name, True), (row,))  # type: ignore[attr-defined]
    monkeypatch.setitem(BY_NAME, name, (row,))  # type: ignore[attr-defined]
    matching.cache_clear()
    _facts.cache_clear()
    monkeypatch.setitem(LOWERINGS, row.id, Lowering(lambda text, n: function("repeat", text, cast(n, "INT"))))
    return replace(NEXT, overloads=NEXT.overloads | {row.id})


REPEATING = 'data.name.repeat(2000000000) == "a"'


@pytest.mark.parametrize("text", [REPEATING, f"data.x == 1 || !({REPEATING})", f"data.l.exists(i, {REPEATING})"])
@pytest.mark.parametrize("result", [t.STRING, t.BYTES, t.list_of(t.STRING), t.map_of(t.STRING, t.INT), t.DYN])
def test_a_function_without_a_rule_is_not_native(text: str, result: CelType, monkeypatch: pytest.MonkeyPatch) -> None:
    version = plugged(monkeypatch, "repeat", result)
    text = text.replace('"a"', "dyn(data.other)")
    checked, found = check_filter(text, limits=BOUNDLESS, version=version)
    assert checked is not None, found
    monkeypatch.setattr("tricel.spark_backend.compiled_filter.prepare", lambda expr, engine, *rest: _Program(engine))
    (conjunct,) = lower_filter(checked, simplify=False).conjuncts
    assert not conjunct.native
    assert "a value that 'repeat' makes may be of any size" == conjunct.reason
    assert grows(checked.checked.expr)


class _Program:
    def __init__(self, engine: str) -> None:
        self.engine = engine


def test_a_rule_makes_it_native(monkeypatch: pytest.MonkeyPatch) -> None:
    version = plugged(monkeypatch, "repeat", t.STRING, Size.OPERAND)
    checked, _ = check_filter(REPEATING, version=version)
    assert checked is not None
    (conjunct,) = lower_filter(checked, simplify=False).conjuncts
    assert conjunct.native
    assert "repeat(" in conjunct.sql


@pytest.mark.parametrize("result", [t.BOOL, t.INT, t.DOUBLE, t.TIMESTAMP])
def test_a_short_value_needs_no_rule(result: CelType, monkeypatch: pytest.MonkeyPatch) -> None:
    version = plugged(monkeypatch, "counted", result)
    checked, found = check_filter("data.name.counted(2) == dyn(data.x)", version=version)
    assert checked is not None, found
    (conjunct,) = lower_filter(checked, simplify=False).conjuncts
    assert "of any size" not in conjunct.reason


def test_a_function_without_a_rule_costs_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    version = plugged(monkeypatch, "repeat", t.STRING)
    checked, found = check_filter(REPEATING, version=version)
    assert checked is None
    assert ["TRI210"] == [d.code for d in found]
    assert "the filter may build a value of over" in found[0].message


@pytest.mark.parametrize(
    ("text", "larger"),
    [
        ("data.x + data.y", False),
        ("data.x.reverse()", False),
        ('data.x.replace("a", "' + "b" * 51 + '")', True),
        ('data.x.replace("a", "' + "b" * 50 + '")', False),
        ('regex.replace(data.x, "a*", "' + "b" * 50 + '")', True),
        ('regex.replace(data.x, "a*", "b")', False),
        ('"%s".format([data.x])', False),
        ('"' + "%s" * 51 + '".format([data.x])', True),
        ('data.l.join("' + "b" * 101 + '")', True),
        ("data.l.join()", False),
        ("strings.quote(strings.quote(strings.quote(data.x)))", False),
        ("strings.quote(" * 6 + "data.x" + ")" * 6, True),
    ],
)
def test_how_large_a_value_may_be(text: str, larger: bool) -> None:
    checked, found = check_filter(f"{text} == data.z")
    assert checked is not None, found
    assert larger == grows(checked.checked.expr)


def test_what_a_row_does_not_say_is_the_worst() -> None:
    row = Overload("list_odd", "odd", (t.list_of(t.STRING),), t.list_of(t.STRING), "", ())
    assert (Size.UNKNOWN, Steps.UNKNOWN) == (row.size, row.steps)
    assert (max(Reads.DEEP, row.reads), max(GoesOver)) == (row.reads, row.goes_over)
    assert (None, None, None, False) == (row.pattern, row.test, row.cel_expr, row.cel_python)


def test_what_follows_from_the_types_need_not_be_said() -> None:
    row = Overload("int_odd", "odd", (t.INT, t.DOUBLE), t.BOOL, "", ())
    assert (Size.CONSTANT, Steps.ONE) == (row.size, row.steps)
    assert (Reads.SHALLOW, GoesOver.ONCE) == (row.reads, row.goes_over)
