"""What cel-python answers otherwise than CEL, found by running the published cases and the examples of all overloads.

A difference is laid to the innermost subexpression on which the answers part. With `TRICEL_WRITE_DOCS=1` the findings
are written to `docs/reference/cel_python.md`; without, they are held to it.
"""

from __future__ import annotations

import datetime
import logging
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import celpy
import celpy.celtypes as c
import pytest
from cel_vectors import cases
from conftest import REPOSITORY
from random_cel import DYNAMIC, random_filter
from random_events import DOCUMENTS, dynamic_event
from tricel.compiler import Environment, Source, check, check_filter, parse, resolve, unparse
from tricel.compiler import celtypes as t
from tricel.compiler.functions import ALL
from tricel.compiler.interpreter import CelError, evaluate, same
from tricel.compiler.nodes import (
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    MapExpr,
    Select,
    children,
    renumber,
    variables,
    walk,
)
from tricel.compiler.operators import spelling
from tricel.compiler.values.cel import Duration, Optional, Timestamp, TypeValue, Uint, as_key, from_key
from tricel.spark_backend.engines import Program, prepare

from tricel.reference import MACROS

PAGE = REPOSITORY / "docs" / "reference" / "cel_python.md"
ERROR = object()
"""An evaluation error, whatever its text."""


@dataclass(frozen=True)
class ErrorContext:
    """An expression and what its names are bound to."""

    text: str
    environment: Environment
    bindings: Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """The innermost subexpression on which the answers part."""

    text: str
    ours: Any
    theirs: Any


def evidence() -> Iterator[ErrorContext]:
    """The examples of overloads and macros, and the published cases outside of containers."""
    nothing = Environment("", ())
    yield from (ErrorContext(text, nothing, {}) for row in ALL for text, _ in row.examples)
    yield from (ErrorContext(macro.example, nothing, {}) for macro in MACROS)
    for case in cases():
        if not case.environment.container and not case.check_only:
            yield ErrorContext(case.text, case.environment, case.bindings)


@cache
def findings() -> tuple[Counter[str], dict[str, list[Difference]]]:
    """How often each part of the language occurs, and the differences by part."""
    occurs: Counter[str] = Counter()
    differs: dict[str, list[Difference]] = defaultdict(list)
    for given in evidence():
        parsed, _ = parse(Source(given.text))
        if parsed is None:
            continue
        expr = renumber(resolve(parsed, given.environment))
        checked = check(expr, given.environment, Source(given.text), t.DYN)
        if any(d.code == "TRI203" for d in checked.diagnostics):  # a function that CEL does not have
            continue
        overloads = checked.overloads
        occurs.update({part(node, overloads) for node in walk(expr)} - {""})
        found = _difference(expr, given, frozenset())
        if found is not None:
            node, difference = found
            differs[part(node, overloads) or "names"].append(difference)
    return occurs, differs


def _difference(e: Expr, given: ErrorContext, bound: frozenset[str]) -> tuple[Expr, Difference] | None:
    closed = not any(isinstance(n, Ident) and n.name in bound for n in walk(e))
    for i, child in enumerate(children(e)):
        found = _difference(child, given, bound | variables(e) if i else bound)
        if found is not None:
            return found
    if not closed or isinstance(e, Ident):
        return None
    ours, theirs = _ours(e, given.bindings), _theirs(unparse(e), given.bindings)
    return None if _alike(ours, theirs) else (e, Difference(unparse(e), ours, theirs))


def part(e: Expr, overloads: Mapping[int, Any]) -> str:
    """The part of the language that a node is: an overload's id, a macro, a literal's kind; empty for a name."""
    match e:
        case Call(function=function):
            ids = {row.id for row in overloads.get(e.id, ())}
            return ids.pop() if len(ids) == 1 else f"{spelling(function)} on dynamic values"
        case Comprehension(macro=macro, second=second):
            return f"macro {macro}{' with two variables' if second else ''}"
        case Bind():
            return "macro cel.bind"
        case Has():
            return "macro has"
        case Select(optional=optional):
            return "optional field" if optional else "field"
        case Lit(kind=kind):
            return f"literal {kind}"
        case ListExpr():
            return "list written out"
        case MapExpr():
            return "map written out"
        case _:
            return ""


def _ours(e: Expr, bindings: Mapping[str, Any]) -> Any:
    try:
        return evaluate(e, bindings)
    except CelError:
        return ERROR


@cache
def _environment() -> Any:
    logging.getLogger("celpy").setLevel(logging.CRITICAL)
    for name in ("Environment", "Evaluator", "evaluation", "celtypes", "CELParser"):
        logging.getLogger(f"celpy.{name}").setLevel(logging.CRITICAL)
    return celpy.Environment(runner_class=celpy.InterpretedRunner)


def _theirs(text: str, bindings: Mapping[str, Any]) -> Any:
    try:
        program = _environment().program(_environment().compile(text))
        return _read(program.evaluate({n: _written(v) for n, v in bindings.items()}))
    except Exception:  # whatever it raises is an error of the expression
        return ERROR


def _written(value: Any) -> Any:
    match value:
        case None:
            return None
        case bool():
            return c.BoolType(value)
        case Uint():
            return c.UintType(value)
        case int():
            return c.IntType(value)
        case float():
            return c.DoubleType(value)
        case str():
            return c.StringType(value)
        case bytes():
            return c.BytesType(value)
        case list():
            return c.ListType([_written(v) for v in value])
        case dict():
            return c.MapType({_written(from_key(k)): _written(v) for k, v in value.items()})
        case _:
            raise TypeError(type(value).__name__)


def _read(value: Any) -> Any:
    """Their value as ours; what has no counterpart as it is."""
    match value:
        case c.BoolType():
            return bool(value)
        case c.UintType():
            return Uint(value)
        case c.IntType():
            return int(value)
        case c.DoubleType():
            return float(value)
        case c.StringType():
            return str(value)
        case c.BytesType():
            return bytes(value)
        case c.ListType():
            return [_read(v) for v in value]
        case c.MapType():
            return {as_key(_read(k)): _read(v) for k, v in value.items()}
        case c.TimestampType():
            since = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
            return Timestamp(((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1_000)
        case c.DurationType():
            return Duration(((value.days * 86_400 + value.seconds) * 10**6 + value.microseconds) * 1_000)
        case type():
            return TypeValue(_TYPES.get(value, value.__name__))
        case _:
            return value


_TYPES = {
    c.BoolType: "bool",
    c.IntType: "int",
    c.UintType: "uint",
    c.DoubleType: "double",
    c.StringType: "string",
    c.BytesType: "bytes",
    c.ListType: "list",
    c.MapType: "map",
    type(None): "null_type",
    c.TimestampType: "google.protobuf.Timestamp",
    c.DurationType: "google.protobuf.Duration",
    c.TypeType: "type",
}


def _alike(ours: Any, theirs: Any) -> bool:
    if ours is ERROR or theirs is ERROR:
        return ours is theirs
    try:
        return same(ours, theirs)
    except (CelError, TypeError, KeyError):
        return False


def _shown(value: Any) -> str:
    match value:
        case _ if value is ERROR:
            return "an error"
        case TypeValue(name=name):
            return f"`{name}`"
        case bool():
            return f"`{str(value).lower()}`"
        case Timestamp(nanos=nanos) | Duration(nanos=nanos):
            return f"`{nanos / 1e9:g}s`"
        case Optional():
            return "an optional"
        case _:
            return f"`{str(value)[:60]!r}`" if isinstance(value, str) else f"`{str(value)[:60]}`"


def page() -> str:
    """The findings for `docs/reference/cel_python.md`."""
    occurs, differs = findings()
    known = [row.id for row in ALL]
    order = [i for i in known if i in occurs] + sorted(occurs.keys() - set(known))
    lines = []
    for name in order:
        example = min(differs.get(name, ()), key=lambda d: (len(d.text), d.text), default=None)
        if example is None:
            lines.append(f"| {name} | {occurs[name]} | agrees | |")
            continue
        text = example.text.replace("|", "\\|").replace("\n", " ")
        said = f"`{text}` is {_shown(example.ours)}, cel-python: {_shown(example.theirs)}"
        lines.append(f"| {name} | {occurs[name]} | differs in {len(differs[name])} | {said} |")
    total = sum(map(len, differs.values()))
    return "\n".join([_HEAD.format(cases=len(list(evidence())), differs=total), *lines, ""])


_HEAD = """# cel-python

Generated by `make docs`.
What cel-python answers otherwise than CEL, by running {cases} expressions: the examples of all overloads and macros, and the published conformance cases.
It differs on {differs}; each difference is laid to the innermost subexpression on which the answers part.
*agrees* says no more than that no expression here parts the two.

| part of the language | expressions | cel-python | shortest example |
|---|--:|---|---|"""


def test_the_page_is_up_to_date() -> None:
    text = page()
    if os.environ.get("TRICEL_WRITE_DOCS"):
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8"), "stale: run `make docs`"


def refused(text: str) -> bool:
    """Whether cel-python is kept from the filter; true, too, for what is no filter."""
    checked, _ = check_filter(text)
    if checked is None:
        return True
    return not isinstance(prepare(checked.checked.expr, "cel-python", dict(checked.checked.environment.roots)), Program)


def test_what_differs_is_refused() -> None:
    _, differs = findings()
    taken = [
        (name, d.text)
        for name, some in differs.items()
        for d in some
        if isinstance(d.ours, bool) and not refused(d.text)
    ]
    assert taken == []


def test_what_is_taken_is_answered_alike() -> None:
    """On random filters and difficult events, for the part of the language that cel-python is given."""
    source = random.Random(20240101)
    taken = dict.fromkeys(x for _ in range(6_000) if not refused(x := random_filter(source, DYNAMIC, 3)))
    assert len(taken) > 50
    events = [dynamic_event(i, document) for i, document in enumerate(DOCUMENTS)]
    events = [{**e, "ce": {k: v for k, v in e["ce"].items() if k != "time"}} for e in events]  # it travels as text
    wrong = []
    for text in taken:
        checked, _ = check_filter(text)
        assert checked is not None
        expr = checked.checked.expr
        program = prepare(expr, "cel-python", dict(checked.checked.environment.roots))
        assert isinstance(program, Program)
        for event in events:
            ours = _ours(expr, event)
            theirs = program(event)
            if (ours if isinstance(ours, bool) else None) != theirs:
                wrong.append((text, str(event)[:200], ours, theirs))
                break
    assert wrong == []


@pytest.mark.parametrize("text", ['ce.type == "a"', 'ce.type.startsWith("a") && has(ce.tenant)'])
def test_plain_filters_on_attributes_are_taken(text: str) -> None:
    assert not refused(text)
