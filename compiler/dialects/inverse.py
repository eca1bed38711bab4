"""CEL back to the attribute dialects. What is written is read again: it stands only where it is the same expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..nodes import AND, IN, NOT, NOT_EQUALS, OR, Call, Expr, Has, Ident, Lit, conjunction, conjuncts
from .given import written
from .model import FromCel, ToCel
from .predicates import MEDIA_TYPE, TIME, media_type_of, named, tested

Filter = dict[str, object]
_PRESENT, _EXACT = "present", "exact"
_ALWAYS = conjunction(())


class Test(NamedTuple):
    """What is asked of one attribute: a kind of test, and the value that it names."""

    kind: str
    name: str
    value: str


def inverse(to_cel: ToCel, guess: Callable[[Expr], object]) -> FromCel:
    """`guess`, where `to_cel` makes of it the expression that it was guessed from; else nothing."""

    def from_cel(expr: Expr) -> object:
        value = guess(expr)
        place = None if value is None else written(value)
        return value if place is not None and to_cel(place).expr == expr else None

    return from_cel


def attributes_of(expr: Expr) -> Filter | None:
    """`expr` as `filter.attributes`."""
    tests = tests_of(expr)
    if tests is None or any(test.kind not in (_PRESENT, _EXACT) for test in tests):
        return None
    return {test.name: test.value for test in tests}


def values_of(kind: str) -> Callable[[Expr], Filter | None]:
    """What writes an expression as the attributes of one `kind`: exact, prefix or suffix."""

    def guess(expr: Expr) -> Filter | None:
        tests = tests_of(expr)
        alike = tests and all(test.kind == kind for test in tests)
        return {test.name: test.value for test in tests or ()} if alike else None

    return guess


def filters_of(expr: Expr) -> list[Filter] | None:
    """`expr` as a list of filters, of which an event must pass each."""
    if expr == _ALWAYS:
        return []
    found: list[Filter] = []
    for group in _groups(conjuncts(expr)):
        one = filter_of(group)
        if one is None:
            return None
        _add(found, one)
    return found


def any_of(expr: Expr) -> list[Filter] | None:
    """`expr` as a list of filters, of which an event must pass one."""
    found = [filter_of(term) for term in expr.args] if isinstance(expr, Call) and expr.function == OR else []
    kept = [one for one in found if one is not None]
    return kept if kept and len(kept) == len(found) else None


def denied_of(expr: Expr) -> Filter | None:
    """The filter that an event must not pass, where `expr` says so."""
    return filter_of(expr.args[0]) if isinstance(expr, Call) and expr.function == NOT else None


def filter_of(expr: Expr | tuple[Expr, ...]) -> Filter | None:
    """An expression, or the terms of one test and its guard, as one filter."""
    if isinstance(expr, tuple):
        test = _test(expr)
        if test is not None:
            return None if test.kind == _PRESENT else {test.kind: {test.name: test.value}}
        return filter_of(expr[0]) if len(expr) == 1 else None
    match expr:
        case Call(function=function) if function == OR:
            alternatives = any_of(expr)
            return None if alternatives is None else {"any": alternatives}
        case Call(function=function) if function == NOT:
            denied = denied_of(expr)
            return None if denied is None else {"not": denied}
        case Call(function=function) if function == AND:
            every = filters_of(expr)
            return None if every is None else every[0] if len(every) == 1 else {"all": every}
        case _:
            test = _test((expr,))
            return None if test is None or test.kind == _PRESENT else {test.kind: {test.name: test.value}}


def tests_of(expr: Expr) -> list[Test] | None:
    """The tests of attributes that a conjunction is made of; None where it has another term."""
    if expr == _ALWAYS:
        return []
    found = [_test(group) for group in _groups(conjuncts(expr))]
    kept = [test for test in found if test is not None]
    return kept if len(kept) == len(found) else None


def _add(found: list[Filter], one: Filter) -> None:
    """Adds a filter to those before it: into the last one where that is of the same kind, and has other attributes."""
    ((kind, values),) = one.items()
    last = found[-1].get(kind) if found else None
    if isinstance(last, dict) and isinstance(values, dict) and kind != "not" and not last.keys() & values.keys():
        last.update(values)
    else:
        found.append(one)


def _groups(terms: tuple[Expr, ...]) -> list[tuple[Expr, ...]]:
    """The terms, each guard together with the test that follows it."""
    groups: list[tuple[Expr, ...]] = []
    at = 0
    while at < len(terms):
        guarded = guard_of(terms[at]) is not None and at + 1 < len(terms) and _test(terms[at : at + 2]) is not None
        groups.append(terms[at : at + 1 + guarded])
        at += 1 + guarded
    return groups


def guard_of(e: Expr) -> str | None:
    """The attribute that `e` asks the presence of."""
    match e:
        case Has(operand=Ident(name="ce"), field=name):
            return name
        case Call(function=function, args=(Lit(value=str(name)), Ident(name="ce"))) if function == IN:
            return name
        case _:
            return None


def _test(terms: tuple[Expr, ...]) -> Test | None:
    """The test that one term is, or a guard and the term after it."""
    guard, term = (guard_of(terms[0]), terms[1]) if len(terms) > 1 else (None, terms[0])
    test = _bare(term)
    if test is None and len(terms) == 1 and guard_of(term) == TIME:
        return Test(_PRESENT, TIME, "")
    if test is None or guard in (None, test.name):
        return test
    return test if test.name == MEDIA_TYPE and guard == "datacontenttype" else None


def _bare(e: Expr) -> Test | None:
    found = tested(e)
    if found is not None:
        return Test(*found[:3])
    match e:
        case Call(function=function, args=(left, Lit(value=""))) if function == NOT_EQUALS:
            name = named(left)
            return None if name is None else Test(_PRESENT, name, "")
        case Call(function="matches", target=subject, args=(Lit(value=str(pattern)),)):
            value = media_type_of(pattern)
            about = subject is not None and named(subject) == "datacontenttype"
            return Test(_EXACT, MEDIA_TYPE, value) if about and value is not None else None
        case _:
            return None
