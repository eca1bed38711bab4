"""Random filters on difficult events: SQL, the fallback and our own evaluator agree on true, false or error.

`TRICEL_EXAMPLES` is the number of filters. A disagreement is reported as the smallest filter that still shows it,
with the event, the layout, the session's settings and the answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
import random_events
from hypothesis import HealthCheck, Phase, given, settings
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from random_cel import DYNAMIC, TYPED, Catalogue, filters
from random_events import Layout
from tricel.compiler import CompileError, Environment, Source, check_filter, cloud_event, parse, unparse
from tricel.compiler.interpreter import CelError, evaluator
from tricel.compiler.nodes import AND, OR, Call, Expr, Lit, LitKind, children, walk, with_children
from tricel.spark_backend import column
from tricel.spark_backend.engines import DEFAULT_ENGINE, Program, prepare
from tricel.spark_backend.frames import layout_of
from tricel.spark_backend.lowered import CompiledFilter, lower_filter

pytestmark = pytest.mark.spark

EXAMPLES = int(os.environ.get("TRICEL_EXAMPLES", "300"))
THOROUGH = EXAMPLES > 1_000
TOGETHER = 60
"""Filters that one Spark job evaluates."""
SESSIONS = tuple(product(("true", "false"), repeat=2))
"""ANSI mode, and whole-stage code generation."""
MOST_REPORTED = 3

KNOWN_FAULTS: dict[str, Callable[[Expr, Any], bool]] = {}
"""Where cel-expr-python is known to answer otherwise than CEL's definition: by name, for a filter and an event."""


@dataclass(frozen=True)
class Disagreement:
    """One event on which the answers differ."""

    text: str
    layout: str
    session: tuple[str, str]
    way: str
    row: int
    expected: bool | None
    actual: bool | None
    event: Any

    def __str__(self) -> str:
        ansi, codegen = self.session
        return (
            f"{self.text}\n  our evaluator: {_shown(self.expected)}, {self.way}: {_shown(self.actual)}"
            f"\n  layout {self.layout}, row {self.row}, ANSI {ansi}, whole-stage code generation {codegen}"
            f"\n  event {_cut(self.event)}"
        )


def _shown(answer: bool | None) -> str:
    return "error" if answer is None else str(answer).lower()


def _cut(event: Any) -> str:
    def short(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: short(v) for k, v in value.items()}
        return value[:40] if isinstance(value, str | list) else value

    return str(short(event))[:700]


def texts(catalogue: Catalogue, count: int, accepted: Callable[[str], bool]) -> list[str]:
    """So many different filters that are accepted, the same in every run."""
    found: dict[str, None] = {}

    @settings(
        max_examples=3 * count,
        phases=[Phase.generate],
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(filters(catalogue))
    def generate(text: str) -> None:
        if len(found) < count and text not in found and accepted(text):
            found[text] = None

    generate()
    return list(found)


def compiled(text: str, layout: Layout, environment: Environment) -> CompiledFilter | None:
    """The filter for the layout; None where it is refused."""
    checked, _ = check_filter(text, environment)
    if checked is None:
        return None
    try:
        found = lower_filter(checked, layout_of(layout.frame, environment))
    except CompileError:
        return None
    return found if runs(layout.frame, found) else None


def as_fallback(whole: CompiledFilter) -> CompiledFilter:
    """The same filter with nothing native."""
    return replace(whole, conjuncts=tuple(replace(c, native=False, reason="asked for") for c in whole.conjuncts))


def reference(filter_: CompiledFilter, events: Sequence[Any]) -> list[bool | None]:
    """What our own evaluator says of each event."""
    program = evaluator(filter_.checked.checked.expr)
    return [_outcome(program, event) for event in events]


def _outcome(program: Any, event: Any) -> bool | None:
    try:
        value = program(event)
    except CelError:
        return None
    return value if isinstance(value, bool) else None


@contextmanager
def session(spark: SparkSession, ansi: str, codegen: str) -> Iterator[None]:
    """Spark with these settings."""
    given_ = {"spark.sql.ansi.enabled": ansi, "spark.sql.codegen.wholeStage": codegen}
    before = {k: spark.conf.get(k) for k in given_}
    for key, value in given_.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def answers(frame: DataFrame, some: Sequence[CompiledFilter]) -> list[list[bool | None]]:
    """Each filter's answers, by row."""
    columns = [column(f, frame).alias(f"c{i}") for i, f in enumerate(some)]
    rows = sorted(frame.select("row", *columns).collect(), key=lambda r: r["row"])
    return [[row[i + 1] for row in rows] for i in range(len(some))]


def disagreements(
    spark: SparkSession, layout: Layout, some: Sequence[CompiledFilter], how: tuple[str, str], *, engine: bool
) -> list[Disagreement]:
    """Every event on which a filter's answers differ: those of Spark, or with `engine` those of the fallback alone."""
    asked = [f for g in some if runs(layout.frame, f := as_fallback(g) if engine else g)]
    found = []
    try:
        with session(spark, *how):
            given_ = answers(layout.frame, asked) if asked else []
    except (PySparkException, Py4JError) as e:
        if len(some) == 1:
            raised = f"{_way(asked[0])}, which ends the job: {str(e).splitlines()[0][:200]}"
            return [Disagreement(some[0].cel, layout.name, how, raised, 0, None, None, layout.events[0])]
        half = len(some) // 2
        parts = (some[:half], some[half:])
        return [d for part in parts for d in disagreements(spark, layout, part, how, engine=engine)]
    for filter_, actual in zip(asked, given_, strict=True):
        expected = reference(filter_, layout.events)
        way = _way(as_fallback(filter_) if engine else filter_)
        for row, (e, a) in enumerate(zip(expected, actual, strict=True)):
            if e != a and not (engine and _known(filter_, layout.events[row])):
                found.append(Disagreement(filter_.cel, layout.name, how, way, row, e, a, layout.events[row]))
    return found


def runs(frame: DataFrame, filter_: CompiledFilter) -> bool:
    """Whether no column would have to travel to the fallback in whose values something would be lost."""
    try:
        column(filter_, frame)
    except CompileError:
        return False
    return True


def _way(filter_: CompiledFilter) -> str:
    if not filter_.residual:
        return "SQL"
    roots = dict(filter_.checked.checked.environment.roots)
    engines = {p.engine for c in filter_.residual if isinstance(p := prepare(c.expr, DEFAULT_ENGINE, roots), Program)}
    return " and ".join(sorted(engines | ({"SQL"} if filter_.native_sql else set())))


def _known(filter_: CompiledFilter, event: Any) -> bool:
    return any(fault(filter_.checked.checked.expr, event) for fault in KNOWN_FAULTS.values())


def smallest(
    spark: SparkSession, layout: Layout, environment: Environment, start: Disagreement, *, engine: bool
) -> Disagreement:
    """The smallest filter that is found to disagree on the same event."""
    best = start
    frame = layout.frame.where(f"row = {start.row}")
    here = Layout(layout.name, frame, [start.event])
    for _ in range(12):
        tried = [f for t in smaller(best.text) if (f := compiled(t, layout, environment)) is not None]
        found = disagreements(spark, here, tried[: 2 * TOGETHER], start.session, engine=engine)
        if not found:
            break
        best = replace(min(found, key=lambda d: len(d.text)), row=start.row)
    return best


_LEAVES = (
    *(Lit(LitKind.BOOL, True), Lit(LitKind.BOOL, False), Lit(LitKind.INT, 1), Lit(LitKind.DOUBLE, 1.0)),
    *(Lit(LitKind.STRING, "a"), Lit(LitKind.STRING, "")),
)


def smaller(text: str) -> list[str]:
    """Filters made by putting a part of an expression, or a literal, in its place; the smallest first."""
    expr, _ = parse(Source(text))
    if expr is None:
        return []
    found = {unparse(e) for e in _reduced(expr)}
    return sorted((t for t in found if len(t) < len(text)), key=len)


def _reduced(e: Expr) -> Iterator[Expr]:
    below = children(e)
    yield from below
    if isinstance(e, Call) and e.function in (AND, OR) and len(e.args) > 2:
        yield from (replace(e, args=(*e.args[:i], *e.args[i + 1 :])) for i in range(len(e.args)))
    if not isinstance(e, Lit):
        yield from _LEAVES
    for i, child in enumerate(below):
        for new in _reduced(child):
            yield with_children(e, (*below[:i], new, *below[i + 1 :]))


def assert_agree(
    spark: SparkSession, layouts: Sequence[Layout], environments: Sequence[Environment], written: Sequence[str]
) -> None:
    """Fails with the smallest filters that show a disagreement."""
    reports: list[str] = []
    turn = 0
    for start in range(0, len(written), TOGETHER):
        for layout, environment in zip(layouts, environments, strict=True):
            if not THOROUGH and len(layouts) > 1 and layout is layouts[start // TOGETHER % len(layouts)]:
                continue  # each batch leaves one layout out, in turn
            some = [f for t in written[start : start + TOGETHER] if (f := compiled(t, layout, environment)) is not None]
            turn += 1
            for how in SESSIONS if THOROUGH else (SESSIONS[turn % len(SESSIONS)],):
                reports += _reported(spark, layout, environment, some, how, engine=False)
            if THOROUGH or turn % 2:
                reports += _reported(spark, layout, environment, some, SESSIONS[0], engine=True)
        if len(reports) >= MOST_REPORTED:
            break
    assert not reports, "\n\n".join(["the answers differ:", *dict.fromkeys(reports)])


def _reported(
    spark: SparkSession,
    layout: Layout,
    environment: Environment,
    some: Sequence[CompiledFilter],
    how: tuple[str, str],
    *,
    engine: bool,
) -> list[str]:
    found = {d.text: d for d in disagreements(spark, layout, some, how, engine=engine)}
    return [
        str(smallest(spark, layout, environment, d, engine=engine))
        for d in sorted(found.values(), key=lambda d: len(d.text))[:MOST_REPORTED]
    ]


def test_filters_on_dynamic_events_agree(spark: SparkSession) -> None:
    layouts = random_events.dynamic_layouts(spark)
    environment = cloud_event()
    written = texts(DYNAMIC, EXAMPLES * 2 // 3, lambda t: compiled(t, layouts[0], environment) is not None)
    assert len(written) > EXAMPLES // 3
    assert_agree(spark, layouts, [environment] * len(layouts), written)


def test_filters_on_typed_columns_agree(spark: SparkSession) -> None:
    layout = random_events.typed_layout(spark)
    environment = layout_of(layout.frame).environment(cloud_event())
    written = texts(TYPED, EXAMPLES // 3, lambda t: compiled(t, layout, environment) is not None)
    assert len(written) > EXAMPLES // 6
    assert_agree(spark, [layout], [environment], written)


def test_a_wrong_answer_is_found_and_made_small(spark: SparkSession) -> None:
    layout = random_events.dynamic_layouts(spark)[0]
    wrong = Layout(layout.name, layout.frame, [{"ce": {"id": f"other-{i}"}} for i in range(len(layout.events))])
    environment = cloud_event()
    filter_ = compiled('(ce.id.startsWith("id-") && true) || [1].exists(x, x > 2)', layout, environment)
    assert filter_ is not None
    first = disagreements(spark, wrong, [filter_], SESSIONS[0], engine=False)[0]
    assert (True, False) == (first.actual, first.expected)
    assert len(smallest(spark, wrong, environment, first, engine=False).text) < len('ce.id.startsWith("id-")') + 1


def test_smaller_filters_are_parts_of_the_filter() -> None:
    found = smaller("data.a && (data.b || !data.c)")
    assert {"data.a", "data.b || !data.c", "data.a && !data.c", "data.a && data.b"} <= set(found)
    assert all(len(list(walk(parse(Source(t))[0]))) for t in found)  # type: ignore[arg-type]
