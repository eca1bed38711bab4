"""The published conformance cases as questions to the Spark path: filters whose outcome says whether the case passes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any

from cel_vectors import Case, cases
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tricel.compiler import CheckedFilter, CompileError, Source, check, errors, parse
from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.check import Checked
from tricel.compiler.environments.model import Environment
from tricel.compiler.literals import quoted, quoted_bytes
from tricel.compiler.names import resolve
from tricel.compiler.nodes import EQUALS, NOT_EQUALS, Call, Expr, conjunction, conjuncts, renumber
from tricel.compiler.values.cel import Duration, Timestamp, TypeValue, Uint, from_key, kind
from tricel.spark_backend import column
from tricel.spark_backend.compiled_filter import CompiledFilter, Conjunct, lower_filter
from tricel.spark_backend.engines import DEFAULT_ENGINE
from tricel.spark_backend.frames import layout_of

TOGETHER = 100
"""Cases that one Spark job evaluates."""


class Way(StrEnum):
    """How a case ran: as SQL, by an engine, not at all (the compiler refused it), or without events (types only)."""

    NATIVE = "native"
    FALLBACK = "fallback"
    REFUSED = "refused"
    CHECKED = "types"


@dataclass(frozen=True)
class Outcome:
    """What became of a case. `wrong` is empty where it passes; `reason` says why it was not native."""

    case: Case
    way: Way
    wrong: str = ""
    reason: str = ""


@dataclass(frozen=True)
class TestKind:
    """A filter, and the outcome by which the case passes: true, false, or None for an evaluation error."""

    case: Case
    filter: CompiledFilter
    passes: bool | None

    @property
    def way(self) -> Way:
        return Way.FALLBACK if self.filter.residual else Way.NATIVE

    @property
    def reason(self) -> str:
        return "; ".join(c.reason for c in self.filter.residual)


def outcomes(spark: SparkSession) -> list[Outcome]:
    """Every published case on Spark, by whichever way the compiler picks."""
    by_bindings: dict[str, list[Case]] = {}
    found: list[Outcome] = []
    for case in cases():
        try:
            _columns(case)
        except TypeError as e:
            found.append(Outcome(case, Way.REFUSED, f"cannot be bound: {e}"))
        else:
            by_bindings.setdefault(repr(sorted(case.bindings.items())), []).append(case)
    sets = list(by_bindings.values())
    asked: list[tuple[DataFrame, TestKind]] = []
    for frame, alike in zip(frames_of(spark, [some[0] for some in sets]), sets, strict=True):
        for case in alike:
            question = ask(case, frame)
            if isinstance(question, Outcome):
                found.append(question)
            else:
                asked.append((frame, question))
    for start in range(0, len(asked), TOGETHER):
        found += _answers(asked[start : start + TOGETHER])
    return found


def _answers(asked: list[tuple[DataFrame, TestKind]]) -> Iterator[Outcome]:
    """One job: the questions about one frame are columns of it, and the frames' rows stand one below another."""
    rows: dict[int, tuple[DataFrame, list[int]]] = {}
    for i, (frame, _) in enumerate(asked):
        rows.setdefault(id(frame), (frame, []))[1].append(i)
    found: dict[int, bool | None] = {}
    parts = []
    for frame, numbers in rows.values():
        columns = F.array(*(column(frame, asked[i][1].filter) for i in numbers))
        parts.append(frame.select(F.array(*map(F.lit, numbers)).alias("number"), columns.alias("answer")))
    for row in reduce(DataFrame.unionAll, parts).collect():
        found |= dict(zip(row["number"], row["answer"], strict=True))
    for i, (_, question) in enumerate(asked):
        answer = found[i]
        wrong = "" if answer is question.passes else f"{answer}, not {question.passes}: {question.filter.cel}"
        yield Outcome(question.case, question.way, wrong, question.reason)


def ask(case: Case, frame: DataFrame) -> TestKind | Outcome:
    """The case as a filter on the frame; its outcome where there is nothing to evaluate."""
    source = Source(case.text, case.id)
    parsed, problems = parse(source)
    if parsed is None:
        return _refused(case, problems[0].message)
    expr = resolve(renumber(parsed), case.environment)
    if case.type or case.check_only:
        found = check(expr, case.environment, source, t.DYN)
        if errors(found.diagnostics):
            return _refused(case, errors(found.diagnostics)[0].message)
        if case.type and str(found.type_of(expr)) != case.type:
            return Outcome(case, Way.CHECKED, f"type {found.type_of(expr)}, not {case.type}")
        return Outcome(case, Way.CHECKED)
    asked, passes = _asked(case, resolve(parsed, case.environment))
    asked = renumber(asked)
    layout = layout_of(frame, case.environment)
    types = check(asked, case.environment, source)
    if not case.checked and errors(types.diagnostics):
        checked = CheckedFilter(Checked(asked, case.environment, {}, {}, frozenset(), ()), source, "cel", ())
        whole = Conjunct(asked, native=False, reason="the case sets the checker aside")
        return TestKind(case, CompiledFilter(checked, checked.checked, layout, DEFAULT_ENGINE, (whole,)), passes)
    if errors(types.diagnostics):
        return _refused(case, errors(types.diagnostics)[0].message)
    try:
        filter_ = lower_filter(CheckedFilter(types, source, "cel", ()), layout, simplify=False)
    except CompileError as e:
        return _refused(case, e.diagnostics[0].message)
    except Exception as e:  # to be listed with the other cases that fail
        return Outcome(case, Way.REFUSED, f"the lowering crashed: {type(e).__name__}: {e}")
    return TestKind(case, filter_, passes)


def _refused(case: Case, message: str) -> Outcome:
    """A filter that is refused before it runs; right where the case is an error."""
    return Outcome(case, Way.REFUSED, "" if case.error else f"refused: {message}", message)


def _asked(case: Case, e: Expr) -> tuple[Expr, bool | None]:
    """The case as a filter, and the outcome by which it passes.

    A value that is no bool is compared with what is expected, and its type with the expected type.
    """
    if case.error:
        types = check(renumber(e), case.environment, Source(case.text, case.id), t.DYN)
        if conjuncts(e) != (e,) and not errors(types.diagnostics):
            return e, None
        return Call(EQUALS, (Call("type", (e,)), _cel("null_type"))), None
    if isinstance(case.value, bool):
        return e, case.value
    type_ = Call(EQUALS, (Call("type", (e,)), _cel(_TYPES.get(kind(case.value), kind(case.value)))))
    if isinstance(case.value, float) and math.isnan(case.value):
        return conjunction((Call(NOT_EQUALS, (e, e)), type_)), True
    return conjunction((Call(EQUALS, (e, _cel(text(case.value)))), type_)), True


_TYPES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}


def _cel(written: str) -> Expr:
    expr, problems = parse(Source(written))
    if expr is None:
        raise ValueError(f"{written}: {problems[0].message}")
    return resolve(expr, Environment("", ()))


def text(value: Any) -> str:
    """A value as CEL text."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case Uint():
            return f"{int(value)}u"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else f"double('{value}')"
        case str():
            return quoted(value)
        case bytes():
            return quoted_bytes(value)
        case list():
            return f"[{', '.join(map(text, value))}]"
        case dict():
            return "{" + ", ".join(f"{text(from_key(k))}: {text(v)}" for k, v in value.items()) + "}"
        case Timestamp(nanos=nanos):
            return f"timestamp('{_instant(nanos)}')"
        case Duration(nanos=nanos):
            return f"duration('{nanos}ns')"
        case TypeValue(name=name):
            return name
        case _:
            raise TypeError(type(value).__name__)


def _instant(nanos: int) -> str:
    seconds, rest = divmod(nanos, 10**9)
    whole = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return f"{whole.isoformat()}.{rest:09d}Z"


def frames_of(spark: SparkSession, examples: list[Case]) -> list[DataFrame]:
    """For each case, one row whose columns hold what it binds, in the column types that fit the declared types."""
    bound = [(i, n, sql) for i, c in enumerate(examples) for n, sql in _columns(c)]
    columns = [f"{sql} AS `{i}:{n}`" for i, n, sql in bound]
    whole = spark.sql(f"SELECT {', '.join(columns)}").localCheckpoint()  # else Spark would fold the values
    named = [[F.col(f"`{i}:{n}`").alias(n) for j, n, _ in bound if j == i] for i in range(len(examples))]
    return [whole.select(*columns) if columns else whole for columns in named]


def _columns(case: Case) -> list[tuple[str, str]]:
    """What the case binds, as SQL.

    Raises:
        TypeError: for a value that no column can hold.
    """
    return [(name, _sql(value, _declared(case, name))) for name, value in case.bindings.items()]


def _declared(case: Case, name: str) -> CelType:
    return case.environment.root(name) or t.DYN


def _sql(value: Any, type_: CelType) -> str:
    """A value as SQL; what is declared dynamic, or has no column type, is a VARIANT."""
    match value, type_:
        case list(), CelType(name="list"):
            return f"array({', '.join(_sql(v, type_.params[0]) for v in value)})"
        case dict(), CelType(name="map"):
            pairs = (f"{_sql(from_key(k), type_.params[0])}, {_sql(v, type_.params[1])}" for k, v in value.items())
            return f"map({', '.join(pairs)})" if value else "CAST(map() AS MAP<STRING, STRING>)"
        case bool(), _:
            return str(value).upper()
        case Uint(), _:
            raise TypeError("Spark has no column of unsigned 64-bit integers")
        case int(), _:
            return f"{value}L"
        case float(), _:
            return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
        case str(), _:
            return f"decode(X'{value.encode().hex()}', 'utf-8')"
        case bytes(), _:
            return f"X'{value.hex()}'"
        case None, _:
            return "parse_json('null')"
        case Timestamp(nanos=nanos), _ if nanos % 1000 == 0:
            return f"timestamp_micros({nanos // 1000}L)"
        case _:
            raise TypeError(f"{type(value).__name__} as {type_}")


def by_file(found: Iterable[Outcome]) -> Mapping[str, list[Outcome]]:
    """Outcomes by the suite's files."""
    table: dict[str, list[Outcome]] = {}
    for outcome in found:
        table.setdefault(outcome.case.file, []).append(outcome)
    return dict(sorted(table.items()))
