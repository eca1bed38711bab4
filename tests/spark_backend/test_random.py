"""Random filters on difficult events: SQL, the fallback and our own evaluator agree on true, false or error.

`TRICEL_EXAMPLES` is the number of filters, and `TRICEL_PART=3/10` the third of ten parts of them: a part is the same in
every run. Each job runs in one of the session's settings, in turn; `TRICEL_SETTINGS=all` asks for every setting, layout
and engine. A disagreement is reported as the smallest filter that still shows it, with the event, the layout, the
session's settings and the answers.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from random import Random
from typing import Any, TypeAlias

import pytest
import random_events
from hypothesis import HealthCheck, Phase, given, seed, settings
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from random_cel import DYNAMIC, TYPED, Catalogue, filters, random_filter
from random_events import Layout
from spark_settings import set_to
from tricel.compiler import CompileError, Environment, Source, check_filter, cloud_event, parse, unparse
from tricel.compiler.functions import ALL
from tricel.compiler.interpreter import CelError, evaluator
from tricel.compiler.nodes import (
    AND,
    KEEPING,
    MAPPING,
    OR,
    QUANTIFIERS,
    Call,
    Comprehension,
    Expr,
    Lit,
    LitKind,
    MacroKind,
    children,
    walk,
    with_children,
)
from tricel.compiler.versions import NEXT
from tricel.spark_backend import column
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.engines import DEFAULT_ENGINE, Program, prepare
from tricel.spark_backend.frames import layout_of
from tricel.spark_backend.sql.capability import Support, capabilities
from tricel.spark_backend.sql.layout import DEFAULT, recognise
from tricel.spark_backend.sql.layout import Layout as Where

pytestmark = pytest.mark.spark

EXAMPLES = int(os.environ.get("TRICEL_EXAMPLES", "200"))
THOROUGH = os.environ.get("TRICEL_SETTINGS") == "all"
PART, PARTS = map(int, os.environ.get("TRICEL_PART", "1/1").split("/"))
TOGETHER = 20
"""Most filters that one Spark job evaluates: the code of many more is too long for whole-stage code generation."""
LONGEST = 40_000
"""Most characters of SQL in a job of more than one filter."""
ANSI = ("true", "false")
CODEGEN = ("true", "false")
"""Whole-stage code generation."""
EVERY = 100
"""Filters after which a part of a run says how far it is."""
MOST_REPORTED = 3

KNOWN_FAULTS: dict[str, Callable[[Expr, Any], bool]] = {}
"""Where cel-expr-python is known to answer otherwise than CEL's definition: by name, for a filter and an event."""


@dataclass(frozen=True)
class Disagreement:
    """One event on which the answers differ."""

    text: str
    layout: str
    ansi: str
    codegen: str
    way: str
    row: int
    expected: bool | None
    actual: bool | None
    event: Any

    def __str__(self) -> str:
        return (
            f"{self.text}\n  our evaluator: {_shown(self.expected)}, {self.way}: {_shown(self.actual)}"
            f"\n  layout {self.layout}, row {self.row}, ANSI {self.ansi}, whole-stage code generation {self.codegen}"
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


def texts(catalogue: Catalogue, many: int, accepted: Callable[[str], bool]) -> list[str]:
    """This part's share of so many different filters that are accepted, the same in every run."""
    found: dict[str, None] = {}
    wanted = many // PARTS

    @seed(PART)
    @settings(
        max_examples=4 * wanted,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(filters(catalogue))
    def generate(text: str) -> None:
        if len(found) < wanted and text not in found and accepted(text):
            found[text] = None

    generate()
    assert len(found) == wanted
    return list(found)


def compiled(text: str, layout: Layout, environment: Environment) -> CompiledFilter | None:
    """The filter for the layout; None where it is refused."""
    found = lowered(text, layout_of(layout.frame, environment), environment)
    return found if found is not None and runs(layout.frame, found) else None


def lowered(text: str, where: Where, environment: Environment) -> CompiledFilter | None:
    """The filter for where its roots are; None where it is refused."""
    checked, _ = check_filter(text, environment, version=NEXT)
    try:
        return None if checked is None else lower_filter(checked, where)
    except CompileError:
        return None


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


Answers: TypeAlias = list[list[bool | None]]


def answers(frame: DataFrame, some: Sequence[CompiledFilter], ansi: str, codegen: Sequence[str]) -> list[Answers]:
    """Each filter's answers by row, for each of the settings of code generation: they share one analysis.

    Filters whose code is too long for one method fail together, and what one alone needs is compiled in parts.
    """
    spark = frame.sparkSession
    in_parts = str(len(some) == 1).lower()
    with set_to(spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.codegen.fallback": in_parts}):
        analysed = frame.select("row", *(column(frame, f).alias(f"c{i}") for i, f in enumerate(some)))
        found = []
        for on in codegen:
            with set_to(spark, {"spark.sql.codegen.wholeStage": on}):
                rows = sorted(analysed.alias("planned_anew").collect(), key=lambda r: r["row"])
            found.append([[row[i + 1] for row in rows] for i in range(len(some))])
        return found


def jobs(some: Sequence[CompiledFilter]) -> Iterator[list[CompiledFilter]]:
    """The filters by the job that evaluates them."""
    job: list[CompiledFilter] = []
    for filter_ in some:
        if job and (len(job) == TOGETHER or sum(len(f.native_sql) for f in (*job, filter_)) > LONGEST):
            yield job
            job = []
        job.append(filter_)
    if job:
        yield job


def disagreements(
    layout: Layout, some: Sequence[CompiledFilter], ansi: str, codegen: Sequence[str]
) -> list[Disagreement]:
    """Every event on which what Spark answers differs from what our own evaluator does."""
    asked = [f for f in some if runs(layout.frame, f)]
    if not asked:
        return []
    try:
        given = answers(layout.frame, asked, ansi, codegen)
    except (PySparkException, Py4JError) as e:
        if len(asked) == 1 and len(codegen) == 1:
            raised = f"{_way(asked[0])}, which ends the job: {str(e).splitlines()[0][:200]}"
            return [Disagreement(asked[0].cel, layout.name, ansi, *codegen, raised, 0, None, None, layout.events[0])]
        if len(asked) == 1:
            return [d for on in codegen for d in disagreements(layout, asked, ansi, (on,))]
        half = len(asked) // 2
        parts = (asked[:half], asked[half:])
        return [d for part in parts for d in disagreements(layout, part, ansi, codegen)]
    found = []
    for position, filter_ in enumerate(asked):
        expected = reference(filter_, layout.events)
        for on, all_ in zip(codegen, given, strict=True):
            for row, (e, a) in enumerate(zip(expected, all_[position], strict=True)):
                event = layout.events[row]
                if e != a and (filter_.native_sql or not _known(filter_, event)):
                    found.append(Disagreement(filter_.cel, layout.name, ansi, on, _way(filter_), row, e, a, event))
    return found


def runs(frame: DataFrame, filter_: CompiledFilter) -> bool:
    """Whether no column would have to travel to the fallback in whose values something would be lost."""
    try:
        column(frame, filter_)
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


def smallest(layout: Layout, environment: Environment, start: Disagreement, *, engine: bool) -> Disagreement:
    """The smallest filter that is found to disagree on the same event."""
    best = start
    frame = layout.frame.where(f"row = {start.row}")
    here = Layout(layout.name, frame, [start.event])
    for _ in range(12):
        tried = [f for t in smaller(best.text) if (f := compiled(t, layout, environment)) is not None]
        found: list[Disagreement] = []
        for job in jobs(tried[:120]):
            run = [as_fallback(f) for f in job] if engine else job
            found = disagreements(here, run, start.ansi, (start.codegen,))
            if found:
                break
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


Say: TypeAlias = Callable[[str], None]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Writes a line on the terminal, of a run in parts only."""

    def write(line: str) -> None:
        if PARTS > 1:
            with capsys.disabled():
                print(line, flush=True)

    return write


def assert_agree(
    layouts: Sequence[Layout], environments: Sequence[Environment], written: Sequence[str], say: Say
) -> None:
    """Fails with the smallest filters that show a disagreement."""
    reports: dict[str, None] = {}
    turns = Counter({layout.name: i for i, layout in enumerate(layouts)})  # each layout meets every setting
    began = time.monotonic()
    for start in range(0, len(written), TOGETHER):
        for layout, environment in zip(layouts, environments, strict=True):
            if not THOROUGH and len(layouts) > 1 and layout is layouts[start // TOGETHER % len(layouts)]:
                continue  # each batch leaves one layout out, in turn
            some = [f for t in written[start : start + TOGETHER] if (f := compiled(t, layout, environment)) is not None]
            for job in jobs(some):
                turns[layout.name] += 1
                for report in _reported(layout, environment, job, turns[layout.name]):
                    reports[report] = None
                    say(report)
        if len(reports) >= MOST_REPORTED:
            break
        done = min(start + TOGETHER, len(written))
        if done % EVERY < TOGETHER or done == len(written):
            minutes = (time.monotonic() - began) / 60
            say(f"part {PART}/{PARTS}, {layouts[0].name}: {done} of {len(written)} filters after {minutes:.1f} min")
    assert not reports, "\n\n".join(["the answers differ:", *reports])


def _reported(layout: Layout, environment: Environment, some: Sequence[CompiledFilter], turn: int) -> list[str]:
    """What a job's filters are found to answer wrongly: in every setting, or in the settings whose turn it is."""
    if THOROUGH:
        asked = [*((ansi, CODEGEN, False) for ansi in ANSI), (ANSI[0], CODEGEN[:1], True)]
    else:
        asked = [(ANSI[turn // 2 % 2], (CODEGEN[turn % 2],), False)]
        asked += [(ANSI[0], CODEGEN[:1], True)] if turn % 3 != 1 else []
    reports = []
    for ansi, codegen, engine in asked:
        run = [as_fallback(f) for f in some if f.native_sql] if engine else some  # else it went that way already
        found = {d.text: d for d in disagreements(layout, run, ansi, codegen)}
        shortest = sorted(found.values(), key=lambda d: len(d.text))[:MOST_REPORTED]
        reports += [str(smallest(layout, environment, d, engine=engine)) for d in shortest]
    return reports


def test_filters_on_dynamic_events_agree(spark: SparkSession, say: Say) -> None:
    layouts = random_events.dynamic_layouts(spark)
    environment = cloud_event()
    written = texts(DYNAMIC, EXAMPLES * 2 // 3, lambda t: compiled(t, layouts[0], environment) is not None)
    assert_agree(layouts, [environment] * len(layouts), written, say)


def test_filters_on_typed_columns_agree(spark: SparkSession, say: Say) -> None:
    layout = random_events.typed_layout(spark)
    environment = layout_of(layout.frame).environment(cloud_event())
    written = texts(TYPED, EXAMPLES // 3, lambda t: compiled(t, layout, environment) is not None)
    assert_agree([layout], [environment], written, say)


def test_the_filters_reach_whatever_is_native(spark: SparkSession) -> None:
    """Of 2,000 filters at least ten have each native function and macro where all of them is SQL."""
    typed = recognise(StructType.fromDDL(random_events.TYPED_SCHEMA.replace("v: STRING>", "v: VARIANT>")))
    met: Counter[str] = Counter()
    environment = cloud_event()
    for catalogue, where, many in ((DYNAMIC, DEFAULT, 1_333), (TYPED, typed, 667)):
        own = where.environment(environment)
        found = (lowered(random_filter(Random(n), catalogue), where, own) for n in count())
        for filter_ in islice((f for f in found if f is not None and not f.residual), many):
            met.update(_called(filter_))
    macros = {*QUANTIFIERS, *KEEPING, *MAPPING, MacroKind.OPT_MAP, MacroKind.OPT_FLAT_MAP}
    functions = {row.function for row in ALL if capabilities()[row.id].support is Support.NATIVE}
    assert {name: n for name in functions | macros if (n := met[name]) < 10} == {}


def _called(filter_: CompiledFilter) -> set[str]:
    """The functions and macros that a filter names."""
    whole = filter_.checked.checked
    functions = {row.function for rows in whole.overloads.values() for row in rows}
    return functions | {e.macro for e in walk(whole.expr) if isinstance(e, Comprehension)}


def test_a_wrong_answer_is_found_and_made_small(spark: SparkSession) -> None:
    layout = random_events.dynamic_layouts(spark)[0]
    wrong = Layout(layout.name, layout.frame, [{"ce": {"id": f"other-{i}"}} for i in range(len(layout.events))])
    environment = cloud_event()
    filter_ = compiled('(ce.id.startsWith("id-") && true) || [1].exists(x, x > 2)', layout, environment)
    assert filter_ is not None
    first = disagreements(wrong, [filter_], ANSI[0], CODEGEN)[0]
    assert (True, False) == (first.actual, first.expected)
    assert len(smallest(wrong, environment, first, engine=False).text) < len('ce.id.startsWith("id-")') + 1


def test_smaller_filters_are_parts_of_the_filter() -> None:
    found = smaller("data.a && (data.b || !data.c)")
    assert {"data.a", "data.b || !data.c", "data.a && !data.c", "data.a && data.b"} <= set(found)
    assert all(len(list(walk(parse(Source(t))[0]))) for t in found)  # type: ignore[arg-type]
