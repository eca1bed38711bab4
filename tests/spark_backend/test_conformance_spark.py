"""The published CEL conformance suite on Spark, natively or by the fallback, whichever the compiler picks.

A case that does not pass stands in `EXCEPTIONS` with its reason; one that stands there and passes fails the test.
With `TRICEL_WRITE_DOCS=1` the figures are written to `docs/reference/conformance.md`; without, they are held to it.
"""

from __future__ import annotations

import os
from collections import Counter

import cel_on_spark
import pytest
from cel_on_spark import Outcome, Way, by_file
from cel_vectors import CORE, EXTENSIONS
from conftest import REPOSITORY, conformance
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
conformance("cel-spec.json")  # skips this module where there are no vectors

PAGE = REPOSITORY / "docs" / "reference" / "conformance.md"
_FREE = "the checker gives an empty list the element type dyn, not a free type"
_DECLARED = "a filter cannot declare functions"
_NULLABLE = "the checker joins an optional and null to dyn"
EXCEPTIONS = {
    "type_deduction/flexible_type_parameter_assignment/list_parameter": _FREE,
    "type_deduction/flexible_type_parameter_assignment/optional_none_2": _FREE,
    "type_deduction/functions/function_result_type": _DECLARED,
    "type_deduction/type_parameters/multiple_parameters_generality": _DECLARED,
    "type_deduction/type_parameters/multiple_parameters_parameterized_ovl": _DECLARED,
    "type_deduction/type_parameters/multiple_parameters_parameterized_ovl_2": _DECLARED,
    "type_deduction/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate": _NULLABLE,
}
REFUSED = {
    "block_ext": "`cel.block` is what an optimiser emits, not what a person writes",
    "network_ext": "addresses are an extension of Kubernetes, not of CEL",
}
"""Whole files whose every function is refused with a diagnostic."""
GROUPS = {"core": CORE, "extensions": EXTENSIONS}
LEAST = {"core": 0.995, "extensions": 0.99}
LEAST_NATIVE = 0.75


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Outcome]]:
    """What became of every case, by the suite's files."""
    return dict(by_file(cel_on_spark.outcomes(spark)))


def test_cases_pass_or_are_excepted(found: dict[str, list[Outcome]]) -> None:
    outcomes = [o for file, some in found.items() if file not in REFUSED for o in some]
    assert [(o.case.id, o.wrong) for o in outcomes if o.wrong and o.case.id not in EXCEPTIONS] == []
    passing = {o.case.id for o in outcomes if not o.wrong}
    assert sorted(EXCEPTIONS.keys() & passing) == [], "these pass now: take them off the list"


def test_what_is_left_out_is_refused_with_a_diagnostic(found: dict[str, list[Outcome]]) -> None:
    unclear = [(o.case.id, o.wrong) for file in REFUSED for o in found.get(file, []) if o.way is not Way.REFUSED]
    assert unclear == []


def test_enough_cases_pass(found: dict[str, list[Outcome]]) -> None:
    for group, files in GROUPS.items():
        outcomes = [o for file in files for o in found.get(file, [])]
        assert sum(not o.wrong for o in outcomes) >= LEAST[group] * len(outcomes) > 0, group


def test_most_cases_with_data_run_natively(found: dict[str, list[Outcome]]) -> None:
    outcomes = with_data(found)
    fallback = [f"{o.case.id}: {o.reason}" for o in outcomes if o.way is not Way.NATIVE]
    assert len(outcomes) - len(fallback) >= LEAST_NATIVE * len(outcomes), fallback


def test_the_page_has_these_figures(found: dict[str, list[Outcome]]) -> None:
    text = page(found)
    print("\n" + text[text.index("| file") : text.index("\n## ")])
    if os.environ.get("TRICEL_WRITE_DOCS"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "stale: run `make docs`"


def with_data(found: dict[str, list[Outcome]]) -> list[Outcome]:
    """The cases that pass and bind variables."""
    return [o for some in found.values() for o in some if o.case.bindings and not o.wrong and o.way is not Way.REFUSED]


def page(found: dict[str, list[Outcome]]) -> str:
    """The figures for `docs/reference/conformance.md`."""
    lines = ["| file | cases | passed | native | fallback | refused | types only |", "|---|--:|--:|--:|--:|--:|--:|"]
    lines += [_line(f"{file}", some) for file, some in found.items() if file not in REFUSED]
    lines += [_line(f"{file} (left out)", some) for file, some in found.items() if file in REFUSED]
    for group, files in GROUPS.items():
        lines.append(_line(f"**{group}**", [o for file in files for o in found.get(file, [])]))
    lines.append(_line("**with variables**", [o for some in found.values() for o in some if o.case.bindings]))
    listed = {o.case.id for some in found.values() for o in some}
    excepted = [f"| `{id_}` | {reason} |" for id_, reason in EXCEPTIONS.items() if id_ in listed]
    excepted += [f"| `{file}`, all | {reason} |" for file, reason in REFUSED.items() if file in found]
    slow = [o for o in with_data(found) if o.way is Way.FALLBACK]
    reasons = [f"| `{o.case.id}` | {o.reason.split('; ')[0]} |" for o in slow]
    return "\n".join([_HEAD, *lines, _EXCEPTED, *excepted, _SLOW, *reasons, ""])


def _line(label: str, some: list[Outcome]) -> str:
    passed = Counter(o.way for o in some if not o.wrong)
    ways = " | ".join(str(passed[way]) for way in (Way.NATIVE, Way.FALLBACK, Way.REFUSED, Way.CHECKED))
    return f"| {label} | {len(some)} | {passed.total()} | {ways} |"


_HEAD = """# Conformance on Spark

Generated by `make docs`.
Each published CEL conformance case that needs no protobuf messages is compiled to a filter and run on Spark.
A value that is not a bool is compared in CEL with what is expected, and so is its type; an expected error must be NULL.
*native*, *fallback*, *refused* and *types only* say how the cases that pass ran: as SQL, by an engine, refused by the
compiler where an error is expected, or checked for their type alone.
A case that sets the checker aside, and that the checker would refuse, runs in the fallback.
"""
_EXCEPTED = """
## What does not pass

| case | reason |
|---|---|"""
_SLOW = """
## With variables, and not native

| case | reason |
|---|---|"""


def test_no_case_runs_twice(found: dict[str, list[Outcome]]) -> None:
    ids = [o.case.id for some in found.values() for o in some]
    assert len(ids) == len(conformance("cel-spec.json")["cases"])
