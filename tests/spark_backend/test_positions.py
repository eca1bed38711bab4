"""Every native form in every position of a larger filter: what is right alone is right there.

A form is an expression of `tests/cases/lowering`, or a pattern of one of the kinds of plan that a pattern becomes. Spark's
parser must read each larger filter as the tree that it was written from; SQL, fallback, our evaluator and cel-expr-python
must give one answer on every document. The default run takes a sample, and the nightly run (`TRICEL_SAMPLE=all`) one that
has each form in several positions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random

import pytest
from lowering_cases import (
    DOCUMENTS,
    EVALUATED,
    FAMILIES,
    GAVE_UP,
    LAYOUTS,
    answers,
    as_fallback,
    compiled,
    evaluated,
    expressions,
    frames_of,
    has_nul,
    reference,
)
from pyspark.sql import SparkSession
from spark_settings import set_to
from spark_trees import Parser, written
from tricel.compiler import check_filter
from tricel.compiler.versions import NEXT
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.sql import regex

pytestmark = pytest.mark.spark

WHOLE = os.environ.get("TRICEL_SAMPLE") == "all"
READ, ANSWERED = (6_000, 1_500) if WHOLE else (300, 80)
"""How many larger filters are read by Spark's parser, and how many are answered on the documents."""
POSITIONS = (
    *("{f}", "({f})", "!({f})", "!!({f})", "({f}) && ({p})", "({p}) && ({f})", "({f}) || ({p})", "({p}) || ({f})"),
    *("({f}) ? ({p}) : ({q})", "({p}) ? ({f}) : ({q})", "({p}) ? ({q}) : ({f})", "({f}) == ({p})", "({p}) != ({f})"),
    *("({p}) && ({f}) || ({q})", "({p}) && (({f}) || ({q}))", "!(({f}) || ({p})) && ({q})", "({f}) in [{p}, {q}]"),
    *("[1, 2].exists(m_, m_ == 2 && ({f}))", "[{f}, {p}].all(m_, m_)", "[0].map(m_, {f})[0]"),
    *("{f} && {p}", "{p} && {f}", "{f} || {p}", "{p} || {f} && {q}", "{f} == {p}", "{p} && {f} ? {q} : {p}"),
)
"""Where a form stands beside others, in parentheses and bare."""
PATTERNS = (
    *(
        "a|b",
        "^(a|b)",
        "(a|b)$",
        "^(a|b)$",
        "[ab]x",
        "(?i)c",
        "^\\\\s",
        "",
        "a.*b",
        "^a+$",
        "[0-9]{2}",
        "(a|b)*c",
        "\\\\bx\\\\b",
    ),
    *("^(?:abc|b)$", "(?i)^A", "[^a]", "a?", "x{0,2}$", "^$", "é|😀", "(?s)a.b", "^a|b$", "(?:a|b|c|d)(?:e|f|g)"),
)
"""At least one for each kind of plan."""


@dataclass(frozen=True)
class Placed:
    """A larger filter, and whether cel-expr-python has all of its functions and answers it as CEL is defined."""

    text: str
    by_engine: bool


def forms() -> list[Placed]:
    """All forms."""
    found = [
        Placed(e, family not in EVALUATED) for family in FAMILIES for e in expressions(family) if "\\u0000" not in e
    ]
    return found + [Placed(f'data.x.matches("{pattern}")', True) for pattern in PATTERNS]


def placed(many: int) -> list[Placed]:
    """So many larger filters, at most one of each form in each position; the same in every run."""
    found, rng = forms(), Random(20)
    every = [(f, position) for f in found for position in POSITIONS]
    rng.shuffle(every)
    made = []
    for f, position in every[:many]:
        p, q = rng.choice(found), rng.choice(found)
        text = position.format(f=f.text, p=p.text, q=q.text)
        made.append(Placed(text, f.by_engine and p.by_engine and q.by_engine))
    return made


def test_patterns_are_of_every_kind() -> None:
    plans = {type(regex.plan(p.replace("\\\\", "\\"))) for p in PATTERNS}
    assert plans >= {regex.Equals, regex.StartsWith, regex.EndsWith, regex.Contains, regex.Java, regex.Always}


@pytest.mark.sampled
def test_spark_reads_every_form_in_every_position_as_it_was_written(spark: SparkSession) -> None:
    parser = Parser(spark)
    read, misread = 0, []
    for p in placed(READ):
        checked, _ = check_filter(p.text, version=NEXT)
        node = None if checked is None else (found := lower_filter(checked)).native
        if node is None:
            continue
        read += 1
        if parser.read(found.native_sql) != written(node):
            misread.append(f"{p.text}\n  {parser.read(found.native_sql)}\n  {written(node)}")
    assert sorted(misread, key=len)[:3] == []
    assert read > min(READ, len(forms()) * len(POSITIONS)) / 2


@pytest.mark.sampled
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_form_means_the_same_in_every_position(spark: SparkSession, layout: str) -> None:
    """The two layouts share the filters; a fourth of them is asked of the fallback, too."""
    frame = frames_of(spark)[layout]
    mine = placed(ANSWERED)[LAYOUTS.index(layout) :: len(LAYOUTS)]
    kept = [(p, f) for p in mine if (f := compiled(p.text, frame)) is not None]
    native = [(p, f) for p, f in kept if not f.residual]
    assert len(native) > len(mine) / 3
    with set_to(spark, {"spark.sql.ansi.enabled": str(layout == LAYOUTS[0]).lower()}):
        assert wrong(native, answers(frame, [f for _, f in native])) == []
        assert wrong(native[::4], answers(frame, [as_fallback(f) for _, f in native[::4]])) == []
    frame.unpersist()


def wrong(asked: list[tuple[Placed, CompiledFilter]], given: list[tuple[bool | None, ...]]) -> list[str]:
    """Every disagreement with our evaluator, and with the engine where that is one to agree with."""
    found = []
    for (p, _), outcomes in zip(asked, given, strict=True):
        sources = {"our evaluator": evaluated(p.text)} | ({"the engine": reference(p.text)} if p.by_engine else {})
        for name, expected in sources.items():
            for document, e, a in zip(DOCUMENTS, expected, outcomes, strict=True):
                if e not in (a, GAVE_UP) and not has_nul(p.text, document):
                    found.append(f"{p.text} on {document[:80]}: {name} says {e}, Spark {a}")
    return found
