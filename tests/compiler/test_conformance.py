"""The published CEL conformance suite, parsed, checked and evaluated by us.

A case that does not pass is `excepted` with its reason; one that is and passes fails the test.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from cel_vectors import CORE, EXTENSIONS, Case, cases
from tricel.compiler import errors
from tricel.compiler.celtypes import DYN
from tricel.compiler.check import check
from tricel.compiler.interpreter import CelError, evaluate, same
from tricel.compiler.names import resolve
from tricel.compiler.nodes import renumber
from tricel.compiler.parse import parse
from tricel.compiler.source import Source

REFUSED = {
    "block_ext": "cel.block is what an optimiser emits, not what a person writes",
    "network_ext": "addresses are an extension of Kubernetes, not of CEL",
}
"""Whole files whose every function is refused with a diagnostic."""


@cache
def _published() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases():
        found.setdefault(case.file, []).append(case)
    return found


def outcome(case: Case) -> str:
    """Empty where the case passes, else what was wrong."""
    source = Source(case.text, case.id)
    parsed, found = parse(source)
    if parsed is None:
        return "" if case.error else f"refused: {found[0].message}"
    expr = resolve(renumber(parsed), case.environment)
    if case.checked:
        checked = check(expr, case.environment, source, DYN)
        problems = errors(checked.diagnostics)
        if problems:
            return "" if case.error else f"refused: {problems[0].message}"
        if case.type and str(checked.type_of(expr)) != case.type:
            return f"type {checked.type_of(expr)}, not {case.type}"
    if case.check_only:
        return ""
    try:
        value = evaluate(expr, case.bindings)
    except CelError as e:
        return "" if case.error else f"error: {e}"
    return "" if not case.error and same(value, case.value) else f"{value!r}, not {case.value!r}"


@pytest.mark.parametrize("file", sorted(_published()))
def test_cases_pass_or_are_excepted(file: str) -> None:
    wrong = {c.id: why for c in _published()[file] if (why := outcome(c))}
    if file in REFUSED:
        unclear = {i: why for i, why in wrong.items() if not why.startswith("refused: ")}
        assert unclear == {}
        return
    excepted = {c.id for c in _published()[file] if c.excepted}
    assert {i: why for i, why in wrong.items() if i not in excepted} == {}
    assert excepted - wrong.keys() == set(), "these pass now: take them off the list"


def test_the_core_and_the_extensions_pass() -> None:
    passed, total = Counter[str](), Counter[str]()
    for file, published in _published().items():
        group = "core" if file in CORE else "extensions" if file in EXTENSIONS else "others"
        total[group] += len(published)
        passed[group] += sum(not outcome(c) for c in published)
    assert passed["core"] >= 0.995 * total["core"] > 0
    assert passed["extensions"] >= 0.99 * total["extensions"] > 0
