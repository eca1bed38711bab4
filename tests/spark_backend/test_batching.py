"""Events that are evaluated in lots have the outcomes that they have alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tricel.compiler import check_filter
from tricel.spark_backend.engines import DEFAULT_ENGINE, OWN_ENGINE, Program, batching, cel_expr, prepare
from tricel.spark_backend.engines.batching import SIZE, Lots
from tricel.spark_backend.engines.model import Failure

CASES = Path(__file__).parent.parent / "cases" / "lowering"
DOCUMENTS = [json.loads(line, parse_int=float) for line in (CASES / "documents.jsonl").read_text().splitlines() if line]
EVENTS: list[dict[str, Any]] = [{"ce": {"id": "1", "type": "t"}, "data": document} for document in DOCUMENTS]
FIT = [not cel_expr.unfit(event) for event in EVENTS]


def program(text: str) -> Program | None:
    """The program for an expression; None where the engine does not take it."""
    checked, _ = check_filter(text)
    if checked is None:
        return None
    found = prepare(checked.checked.expr, DEFAULT_ENGINE, dict(checked.checked.environment.roots))
    return found if isinstance(found, Program) and found.engine == DEFAULT_ENGINE else None


@pytest.mark.parametrize("family", sorted(p.stem for p in CASES.glob("*.cel")))
def test_lots_and_single_events_agree(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the documents, where errors end most lots, and with those that err at the end."""
    monkeypatch.setattr(batching, "_WORTH", 0)
    wrong = []
    for text in filter(None, (CASES / f"{family}.cel").read_text().splitlines()):
        asked = program(text)
        if asked is None:
            continue
        alone, several = asked.compiled(), asked.lots()
        expected = [o if isinstance(o := alone(e, f), bool) else None for e, f in zip(EVENTS, FIT, strict=True)]
        for order in (range(len(EVENTS)), sorted(range(len(EVENTS)), key=lambda i: expected[i] is None)):
            found = several([EVENTS[i] for i in order], [FIT[i] for i in order])
            wrong += [(text, DOCUMENTS[i]) for i, o in zip(order, found, strict=True) if o != expected[i]]
    assert wrong == []


class Engine:
    """An engine that takes numbers, of which a negative one is an error, and counts how it is asked."""

    names = ("n",)

    def __init__(self) -> None:
        self.alone = self.lots = self.compiled = 0

    def one(self, given: Any, fit: bool | None) -> bool | Failure:
        self.alone += 1
        return given["n"] > 0 if "n" in given and given["n"] >= 0 else Failure("negative")

    def __call__(self, values: Any) -> list[Any] | None:
        self.lots += 1
        return None if min(values) < 0 else [n > 0 for n in values]

    def compile(self) -> Engine:
        self.compiled += 1
        return self


@pytest.mark.parametrize(
    ("events", "every", "together", "alone"),
    [
        (900, 0, 0, 900),  # too few to compile anything for
        (1_600, 0, 100, 0),
        (1_607, 0, 100, 7),
        (1_600, 160, 100, 10 * SIZE),  # one lot in ten
        (1_600, 3 * SIZE, 10, 1_600 - 6 * SIZE),  # one in three, and after some no more are tried
        (1_600, SIZE, 8, 1_600),
    ],
)
def test_how_an_engine_is_asked(events: int, every: int, together: int, alone: int) -> None:
    engine = Engine()
    numbers = [-1 if every and i % every == 0 else i % 3 for i in range(events)]
    found = Lots(engine.one, engine.compile)([{"n": n} for n in numbers], [True] * events)
    assert (together, alone, int(events > 1_000)) == (engine.lots, engine.alone, engine.compiled)
    expected = [None if n < 0 else n > 0 for n in numbers]
    assert expected == found


def test_events_that_lack_a_variable_or_do_not_fit_are_asked_alone() -> None:
    engine = Engine()
    given: list[dict[str, int]] = [{} if i % 5 == 0 else {"n": 1} for i in range(2_000)]
    found = Lots(engine.one, engine.compile)(given, [i % 7 != 0 for i in range(2_000)])
    assert [None if i % 5 == 0 else True for i in range(2_000)] == found
    assert 2_000 == engine.alone + engine.lots * SIZE
    assert engine.lots


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ('ce.type == "t" && data.a > 1.0', {"ce", "data"}),
        ("size(values_) > 0", {"values_"}),
        ("[1].exists(values, values == 1) && data.a == 1.0", {"data"}),
    ],
)
def test_the_names_that_a_lot_binds(text: str, roots: set[str]) -> None:
    lot = cel_expr.compile_lot(text, frozenset(roots))
    assert lot is not None
    assert set(lot.names) == roots
    values = {"ce": {"type": "t"}, "data": {"a": 2.0}, "values_": [1]}
    given = [values[name] for _ in range(SIZE) for name in lot.names]
    single = cel_expr.compile_text(text, frozenset(roots))({name: values[name] for name in roots})
    assert [single] * SIZE == lot(given)


SAFE = (
    "data.n",
    'dyn({"a": data.?n})',
    'dyn([{"a": data.?n}])',
    "dyn(data.?n)",
    "dyn([optional.of(1)])",
    'data.n > 3.0 ? dyn(true) : dyn({"a": data.?n})',
    "data.l",
)


@pytest.mark.parametrize("text", SAFE)
def test_results_that_are_no_bool(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's values of optionals end the process, and those of nulls take references from None, which ends it."""
    monkeypatch.setattr(batching, "_WORTH", 0)
    asked = program(text)
    assert asked is not None
    several, alone = asked.lots(), asked.compiled()
    events = [{"data": {"n": n, "l": [None] * 4}} for n in (1.0, 5.0, None) for _ in range(SIZE)]
    before = sys.getrefcount(None)
    for _ in range(20):
        found = several(events, [True] * len(events))
    expected = [o if isinstance(o := alone(e, True), bool) else None for e in events]
    assert before - 100 < sys.getrefcount(None)
    assert expected == found


def test_a_variable_does_not_stand_for_part_of_a_name() -> None:
    assert cel_expr.compile_lot("type(x) == google.protobuf.Timestamp", frozenset({"x", "google"})) is None
    assert cel_expr.compile_lot("type(x) == google.protobuf.Timestamp", frozenset({"x", "goo"})) is not None


LARGE = (
    {"n": list(range(65))},
    {"n": {str(i): {"a": 1, "b": 2} for i in range(22)}},
    {"n": "a" * 20_001},
    {"n": ["a" * 20_001]},
)


class Indifferent(Engine):
    """An engine that takes whatever it is given."""

    def one(self, given: Any, fit: bool | None) -> bool | Failure:
        self.alone += 1
        return True

    def __call__(self, values: Any) -> list[Any] | None:
        self.lots += 1
        return [True] * len(values)


@pytest.mark.parametrize("large", LARGE)
def test_events_with_large_values_go_alone(large: dict[str, Any]) -> None:
    engine = Indifferent()
    events = [{"n": i} if i % 2 else large for i in range(1_600)]
    assert [True] * 1_600 == Lots(engine.one, engine.compile)(events, [True] * 1_600)
    assert (800, 50) == (engine.alone, engine.lots)


SMALL = ({"n": list(range(64))}, {"n": {str(i): {"a": 1} for i in range(32)}}, {"n": "a" * 20_000}, {"n": None})


@pytest.mark.parametrize("small", SMALL)
def test_other_events_go_together(small: dict[str, Any]) -> None:
    engine = Indifferent()
    Lots(engine.one, engine.compile)([small] * 1_600, [True] * 1_600)
    assert (0, 100) == (engine.alone, engine.lots)


def test_our_own_evaluator_has_no_lots() -> None:
    found = prepare(check_filter("data.a > 1.0")[0].checked.expr, OWN_ENGINE, {"data": None})  # type: ignore[union-attr,dict-item]
    assert isinstance(found, Program)
    events = [{"data": {"a": float(i)}} for i in range(2_000)]
    assert [i > 1 for i in range(2_000)] == found.lots()(events, [True] * 2_000)
