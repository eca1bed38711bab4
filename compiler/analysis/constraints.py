"""Tests of one value against constants: what one says about another.

An atom is true, false or an error, and every statement here is about when it is true, unless it says otherwise. A value
is known by how it is reached (`ce.x`, `ce["x"]`, `data.a.b`) or by the expression that makes it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import re2

from ..celtypes import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, TOTALLY_ORDERED, UINT, CelType
from ..functions import LENGTHS, TEXT_TESTS, TextTest
from ..interpreter import CelError, Value, evaluate
from ..nodes import (
    AND,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    NOT,
    NOT_EQUALS,
    OR,
    Call,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    Message,
    Select,
    walk,
)
from ..values.cel import Duration, Timestamp, Uint, equals
from .certainty import is_bool
from .cost import cost_of
from .requirements import Path, constant_path

MAX_VALUES = 64
"""Values of one test that is looked at."""
MAX_CONSTANT_STEPS = 10_000
"""Estimated steps of a constant that is evaluated to be compared."""


class TestKind(Enum):
    """What is asked of the value: to equal one of several, to be in an order, to have a part, to be there."""

    AMONG = auto()
    ORDER = auto()
    PREFIX = auto()
    SUFFIX = auto()
    CONTAINS = auto()
    MATCHES = auto()
    PRESENT = auto()


@dataclass(frozen=True, slots=True)
class Atom:
    """One test. `subject` is a base and the keys selected from it; `sized` when its size is what is tested.

    `operands` are the values of AMONG, else one value; `sign` is the operator of ORDER, and
    "bool" where the value itself is the test, so that one which is no bool is an error. `type` is the subject's static
    type. `written` is the expression that it came from.
    """

    subject: tuple[Expr, Path]
    test: TestKind
    operands: tuple[Value, ...]
    negated: bool
    written: Expr
    type: CelType | None
    sized: bool = False
    sign: str = ""


_ORDERS = (LESS, LESS_EQUALS, GREATER, GREATER_EQUALS)
_FLIPPED = {LESS: GREATER, LESS_EQUALS: GREATER_EQUALS, GREATER: LESS, GREATER_EQUALS: LESS_EQUALS}
_OPPOSITE = {LESS: GREATER_EQUALS, LESS_EQUALS: GREATER, GREATER: LESS_EQUALS, GREATER_EQUALS: LESS}
_HOLDS: Mapping[str, Callable[[Value, Value], bool]] = {
    LESS: operator.lt,
    LESS_EQUALS: operator.le,
    GREATER: operator.gt,
    GREATER_EQUALS: operator.ge,
}
TEXT_KINDS = {
    TextTest.PREFIX: TestKind.PREFIX,
    TextTest.SUFFIX: TestKind.SUFFIX,
    TextTest.CONTAINS: TestKind.CONTAINS,
    TextTest.MATCHES: TestKind.MATCHES,
}
"""The kind of test that a function of texts is."""
_PARTS = (TestKind.PREFIX, TestKind.SUFFIX, TestKind.CONTAINS)
_NUMBERS = (int, Uint, float)


def atom(e: Expr, types: Mapping[int, CelType]) -> Atom | None:
    """The test that `e` is; None where it is none of these."""
    match e:
        case Call(function=function, args=(inner,)) if function == NOT:
            return _negation(e, inner, types)
        case Call(function=function, args=args) if function in (AND, OR):
            return _union(e, args, types, negated=function == AND)
        case Call(function=function, args=(a, b)) if function in (EQUALS, NOT_EQUALS, *_ORDERS):
            return _comparison(e, function, a, b, types)
        case Call(function=function, args=(item, ListExpr(items=items, optional=optional))) if (
            function == IN and not optional and len(items) <= MAX_VALUES
        ):
            values = [constant(i) for i in items]
            if any(v is None for v in values) or constant(item) is not None:
                return None
            return _made(e, item, TestKind.AMONG, tuple(v[0] for v in values if v is not None), types)
        case Call(function=function) if function in TEXT_TESTS:
            given = e.args if e.target is None else (e.target, *e.args)
            found = constant(given[1]) if len(given) == 2 else None
            if found is None or not isinstance(found[0], str):
                return None
            return _made(e, given[0], TEXT_KINDS[TEXT_TESTS[function]], found, types)
        case Has(operand=operand, field=field):
            base, keys = constant_path(operand)
            return Atom((base, (*keys, field)), TestKind.PRESENT, (), False, e, None)
        case Ident() | Select() | Call() if not is_bool(e):
            return _made(e, e, TestKind.AMONG, (True,), types, "bool")
        case _:
            return None


def constant(e: Expr) -> tuple[Value] | None:
    """The value of an expression that reads nothing, in a tuple; None for one that does, errs, or is NaN."""
    if isinstance(e, Lit):
        return (Uint(e.value),) if e.kind is LitKind.UINT and isinstance(e.value, int) else (e.value,)
    if any(isinstance(node, Ident | Message) for node in walk(e)) or cost_of(e).max > MAX_CONSTANT_STEPS:
        return None
    try:
        value = evaluate(e, {}, MAX_CONSTANT_STEPS)
    except CelError:
        return None
    return None if isinstance(value, float) and math.isnan(value) else (value,)


def _made(
    e: Expr, subject: Expr, test: TestKind, operands: tuple[Value, ...], types: Mapping[int, CelType], sign: str = ""
) -> Atom:
    match subject:
        case (
            Call(function=function, args=(inner,), target=None)
            | Call(function=function, args=(), target=Ident() | Select() | Call() as inner)
        ) if function in LENGTHS:
            return Atom(constant_path(inner), test, operands, False, e, INT, sized=True, sign=sign)
        case _:
            return Atom(constant_path(subject), test, operands, False, e, types.get(subject.id), sign=sign)


def _negation(e: Expr, inner: Expr, types: Mapping[int, CelType]) -> Atom | None:
    found = atom(inner, types)
    if found is None:
        return None
    if found.sign == "bool":
        return replace(found, operands=tuple(not v for v in found.operands), written=e)
    return replace(opposite(found), written=e)


def _union(e: Expr, args: tuple[Expr, ...], types: Mapping[int, CelType], *, negated: bool) -> Atom | None:
    """`x == 1 || x in [2, 3]`, and its mirror image, as one test."""
    found: list[Atom] = []
    for arg in args:
        other = atom(arg, types)
        if other is None or other.test is not TestKind.AMONG or other.negated is not negated or other.sign:
            return None
        if found and (other.subject, other.sized) != (found[0].subject, found[0].sized):
            return None
        found.append(other)
    values = tuple(v for other in found for v in other.operands)
    return replace(found[0], operands=values, written=e) if len(values) <= MAX_VALUES else None


def _comparison(e: Expr, function: str, a: Expr, b: Expr, types: Mapping[int, CelType]) -> Atom | None:
    left, right = constant(a), constant(b)
    if (left is None) is (right is None):
        return None
    subject, values = (a, right) if right is not None else (b, left)
    sign = function if right is not None else _FLIPPED.get(function, function)
    if values is None:
        return None
    if sign in _ORDERS:
        return _made(e, subject, TestKind.ORDER, values, types, sign) if domain(values[0]) else None
    return replace(_made(e, subject, TestKind.AMONG, values, types), negated=function == NOT_EQUALS)


def opposite(a: Atom) -> Atom:
    """The test that is true where `a` is false, false where it is true, and an error where it is one."""
    if a.test is TestKind.ORDER and a.type in TOTALLY_ORDERED:
        return replace(a, sign=_OPPOSITE[a.sign])
    return replace(a, negated=not a.negated)


def domain(value: Value) -> str:
    """The kind of values that can be ordered with `value`; empty when there is none."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, _NUMBERS):
        return "number"
    names = {str: "string", bytes: "bytes", Timestamp: "timestamp", Duration: "duration"}
    return names.get(type(value), "")


_TYPE_DOMAINS = {
    BOOL: "bool",
    INT: "number",
    UINT: "number",
    DOUBLE: "number",
    STRING: "string",
    BYTES: "bytes",
    TIMESTAMP: "timestamp",
    DURATION: "duration",
}


def needs(a: Atom) -> str:
    """The kind that the value must be of for the test to be true or false; empty when every kind will do."""
    match a.test:
        case TestKind.AMONG:
            return a.sign
        case TestKind.PRESENT:
            return ""
        case TestKind.ORDER:
            return domain(a.operands[0])
        case _:
            return "string"


def errs_only_with_subject(a: Atom) -> bool:
    """Whether the test errs only where its subject does."""
    return not needs(a) or (a.type is not None and _TYPE_DOMAINS.get(a.type) == needs(a))


def outcome(a: Atom, value: Value) -> bool | None:
    """The test of a value; None for an error."""
    if needs(a) and domain(value) != needs(a):
        return None
    match a.test:
        case TestKind.AMONG:
            found = any(equals(value, v) for v in a.operands)
        case TestKind.ORDER:
            found = _HOLDS[a.sign](value, a.operands[0])
        case TestKind.PREFIX:
            found = value.startswith(a.operands[0])
        case TestKind.SUFFIX:
            found = value.endswith(a.operands[0])
        case TestKind.CONTAINS:
            found = a.operands[0] in value
        case TestKind.MATCHES:
            try:
                found = re2.search(a.operands[0], value) is not None
            except (re2.error, UnicodeError):
                return None
        case TestKind.PRESENT:
            return None
    return found is not a.negated


def is_finite(a: Atom) -> bool:
    """Whether the test is true for the listed values only."""
    return a.test is TestKind.AMONG and not a.negated


def impossible(a: Atom) -> bool:
    """Whether the test is true for no value at all."""
    counts = a.sized or a.type == UINT
    if is_finite(a):
        return not any(not counts or (domain(v) == "number" and v >= 0 and v % 1 == 0) for v in a.operands)
    if a.test in _PARTS:
        return a.negated and a.operands[0] == ""
    return counts and a.test is TestKind.ORDER and needs(a) == "number" and not a.negated and _whole(a)[1] < 0


def leave_none(atoms: Sequence[Atom]) -> bool:
    """Whether no value makes all of them true: the first lists the only ones that make it true, of the same subject."""
    first, *others = atoms
    return not any(all(outcome(other, v) for other in others) for v in first.operands)


def work(a: Atom, b: Atom) -> int:
    """The values that may have to be compared to hold one against the other."""
    if a.subject[0] != b.subject[0]:
        return 0
    return max(1, len(a.operands)) * max(1, len(b.operands))


def excludes(a: Atom, b: Atom) -> bool:
    """Whether no value makes both true."""
    return a.subject[0] == b.subject[0] and (_excludes(a, b) or _excludes(b, a))


def _excludes(a: Atom, b: Atom) -> bool:
    if a.test is TestKind.PRESENT and a.negated and _reads(b, a.subject):
        return True
    if a.subject != b.subject:
        return not a.sized and _is_scalar(a) and _within(b.subject, a.subject)
    if TestKind.PRESENT in (a.test, b.test):
        return a.test is b.test and a.negated is not b.negated
    if a.sized is not b.sized:
        return b.sized and _size_excludes(a, b)
    if is_finite(a):
        return not any(outcome(b, v) for v in a.operands)
    if needs(a) and needs(b) and needs(a) != needs(b):
        return True
    if b.negated:
        return implies(a, replace(b, negated=False))
    if a.negated:
        return False
    return _parts_exclude(a, b)


def _parts_exclude(a: Atom, b: Atom) -> bool:
    if a.test is TestKind.PREFIX and b.test is TestKind.ORDER:
        return _side(a.operands[0], b.operands[0]) in _OUTSIDE[b.sign]
    if a.test is not b.test:
        return False
    x, y = a.operands[0], b.operands[0]
    match a.test:
        case TestKind.PREFIX:
            return not x.startswith(y) and not y.startswith(x)
        case TestKind.SUFFIX:
            return not x.endswith(y) and not y.endswith(x)
        case TestKind.ORDER:
            return _no_room(a, b)
        case _:
            return False


def _side(prefix: str, bound: str) -> str:
    """Where the texts with a prefix are: all of them below the bound, the bound the least of them, above, or around."""
    if bound.startswith(prefix):
        return "from" if bound == prefix else "around"
    return "below" if prefix < bound else "above"


_OUTSIDE = {LESS: ("from", "above"), LESS_EQUALS: ("above",), GREATER: ("below",), GREATER_EQUALS: ("below",)}
_INSIDE = {LESS: ("below",), LESS_EQUALS: ("below",), GREATER: ("above",), GREATER_EQUALS: ("from", "above")}
"""By the operator of an order, where texts are that all fail it, or all pass it."""


def _no_room(a: Atom, b: Atom) -> bool:
    """Whether a value would have to be above one bound and below the other, with nothing between."""
    upper = (LESS, LESS_EQUALS)
    if (a.sign in upper) is (b.sign in upper):
        return False
    if a.sign not in upper:
        a, b = b, a
    if a.type in (INT, UINT) and needs(a) == "number" and all(math.isfinite(x.operands[0]) for x in (a, b)):
        return _whole(b)[0] > _whole(a)[1]
    high, low = a.operands[0], b.operands[0]
    if a.sign == LESS_EQUALS and b.sign == GREATER_EQUALS:
        return bool(low > high)
    return bool(low >= high)


def _whole(a: Atom) -> tuple[float, float]:
    """The least and the greatest whole number of an order; infinite where it has none."""
    bound = a.operands[0]
    if not math.isfinite(bound):
        return (-math.inf, math.inf)
    match a.sign:
        case "_<_":
            return (-math.inf, math.ceil(bound) - 1)
        case "_<=_":
            return (-math.inf, math.floor(bound))
        case "_>_":
            return (math.floor(bound) + 1, math.inf)
        case _:
            return (math.ceil(bound), math.inf)


def _size_excludes(a: Atom, size: Atom) -> bool:
    """Whether no value that passes `a` has the size."""
    if is_finite(a):
        return not any(outcome(size, len(v)) for v in a.operands if isinstance(v, str | bytes | list | dict))
    if a.negated or a.test not in _PARTS:
        return False
    least = replace(size, test=TestKind.ORDER, operands=(len(a.operands[0]),), sign=GREATER_EQUALS, negated=False)
    return excludes(least, size)


def _is_scalar(a: Atom) -> bool:
    """Whether only a value without parts makes it true."""
    if is_finite(a):
        return not any(isinstance(v, list | dict) for v in a.operands)
    return bool(needs(a))


def _reads(a: Atom, subject: tuple[Expr, Path]) -> bool:
    """Whether the test is an error where the subject is absent."""
    return _within(a.subject, subject) or (a.subject == subject and a.test is not TestKind.PRESENT)


def _within(inner: tuple[Expr, Path], outer: tuple[Expr, Path]) -> bool:
    """Whether the first is selected from the second."""
    base, keys = outer
    return inner[0] == base and len(inner[1]) > len(keys) and inner[1][: len(keys)] == keys


def implies(a: Atom, b: Atom) -> bool:
    """Whether `b` is true wherever `a` is. Both are of the same subject; presence is not looked at."""
    if a.subject != b.subject or a.sized is not b.sized or TestKind.PRESENT in (a.test, b.test):
        return False
    if is_finite(a):
        return bool(a.operands) and all(outcome(b, v) is True for v in a.operands)
    if b.negated:
        fits = not needs(b) or needs(a) == needs(b)
        if a.negated:
            return fits and implies(replace(b, negated=False), replace(a, negated=False)) and a.test is b.test
        return fits and _excludes_positive(a, replace(b, negated=False))
    return not a.negated and _at_least(a, b)


def _excludes_positive(a: Atom, b: Atom) -> bool:
    if is_finite(b):
        return not any(outcome(a, v) for v in b.operands)
    return _parts_exclude(a, b)


def _at_least(a: Atom, b: Atom) -> bool:
    """Whether `a`, which is a part or an order, says all that `b` says."""
    x, y = a.operands[0], b.operands[0] if b.operands else None
    match a.test, b.test:
        case TestKind.PREFIX, TestKind.PREFIX:
            return bool(x.startswith(y))
        case TestKind.SUFFIX, TestKind.SUFFIX:
            return bool(x.endswith(y))
        case ((TestKind.PREFIX | TestKind.SUFFIX | TestKind.CONTAINS), TestKind.CONTAINS):
            return y in x
        case TestKind.MATCHES, TestKind.MATCHES:
            return bool(x == y)
        case TestKind.ORDER, TestKind.ORDER if needs(a) == needs(b):
            return _stricter(a, b)
        case TestKind.PREFIX, TestKind.ORDER if needs(b) == "string":
            return _side(x, b.operands[0]) in _INSIDE[b.sign]
        case _:
            return False


def _stricter(a: Atom, b: Atom) -> bool:
    x, y = a.operands[0], b.operands[0]
    if a.sign in (LESS, LESS_EQUALS):
        if b.sign not in (LESS, LESS_EQUALS):
            return False
        return bool(x < y or (x == y and not (a.sign == LESS_EQUALS and b.sign == LESS)))
    if b.sign not in (GREATER, GREATER_EQUALS):
        return False
    return bool(x > y or (x == y and not (a.sign == GREATER_EQUALS and b.sign == GREATER)))
