"""Every overload's examples are true: by the engine, and by the checker's types."""

from __future__ import annotations

import math

import pytest
from cel_expr_python import cel
from tricel.compiler import CLOUD_EVENT, Source, check, parse
from tricel.compiler.functions import ALL, ERROR, Overload

EXAMPLES = [(row, text, value) for row in ALL for text, value in row.examples]


def test_every_overload_says_what_it_does() -> None:
    assert [row.id for row in ALL if not row.doc or not row.examples] == []


@pytest.mark.parametrize(("row", "text", "value"), EXAMPLES, ids=[f"{row.id}: {text}" for row, text, _ in EXAMPLES])
def test_example(row: Overload, text: str, value: object) -> None:
    found = cel.NewEnv().compile(text, disable_check=True).eval(data={})
    if value is ERROR:
        assert found.type().name() == "ERROR"
    elif isinstance(value, float):
        assert math.isclose(value, found.value())
    else:
        assert value == found.value()


@pytest.mark.parametrize(
    ("row", "text"), [(r, t) for r, t, _ in EXAMPLES], ids=[f"{r.id}: {t}" for r, t, _ in EXAMPLES]
)
def test_the_checker_takes_the_example_by_this_overload(row: Overload, text: str) -> None:
    source = Source(text)
    expr, diagnostics = parse(source)
    assert diagnostics == ()
    assert expr is not None
    checked = check(expr, CLOUD_EVENT, source)
    assert [d for d in checked.diagnostics if d.code != "TRI207" and d.severity == "error"] == []
    assert row.id in {o.id for found in checked.overloads.values() for o in found}
