"""Values of CloudEvents SQL as CEL, and the casts between them (specification, section 3.7)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from ...nodes import (
    CONDITIONAL,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    NOT_EQUALS,
    Call,
    Expr,
    ListExpr,
    Lit,
    LitKind,
    string,
)
from ...source import Span
from .logic import (
    FALSE,
    INT_MAX,
    INT_MIN,
    TRUE,
    TRUTHS,
    Every,
    Leaf,
    Not,
    Some,
    Terms,
    Truth,
    constant,
    defined,
    known_value,
    yes,
)

WHOLE_NUMBER = "^[-+]?0*[0-9]{1,10}$"
"""The pattern of a text that `int` takes, and that may be a number of 32 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    """A number: where `ok` holds, `expr` is one from `low` to `high`."""

    ok: Terms
    expr: Expr
    low: int = INT_MIN
    high: int = INT_MAX


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text. `cast_from` is the value that it is the text of."""

    ok: Terms
    expr: Expr
    cast_from: Int | Truth | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Instant:
    """The attribute `time`, which is no text in an event of ours."""

    ok: Terms
    expr: Expr


Value: TypeAlias = Int | Text | Instant | Truth
TRUTH = (Leaf, Not, Every, Some)
"""The classes of truth values."""


def integer(value: int, span: Span) -> Int:
    """A number that is known."""
    return Int((), Lit(LitKind.INT, value, span=span), value, value)


def literal(value: Value) -> bool | int | str | None:
    """What a value is known to be, where nothing errs; None for any other."""
    if isinstance(value, TRUTH):
        return known_value(value)
    if not value.ok and isinstance(value.expr, Lit) and isinstance(value.expr.value, bool | int | str):
        return value.expr.value
    return None


def to_text(value: Int | Text | Truth, span: Span) -> Text:
    """The value as a text: numbers in base 10, truth values in lower case."""
    known = literal(value)
    if known is not None:
        shown = str(known).lower() if isinstance(known, bool) else str(known)
        return Text((), string(shown, span))
    match value:
        case Text():
            return value
        case Int():
            return Text(value.ok, Call("string", (value.expr,), span=span), value)
        case Leaf() | Not() | Every() | Some():
            names = tuple(string(name, span) for name in TRUTHS)
            return Text(defined(value), Call(CONDITIONAL, (yes(value), *names), span=span), value)
        case _:
            assert_never(value)


def to_int(value: Int | Text | Truth, span: Span) -> Int | None:
    """The value as a number: 1 for true and 0 for false. None where it never is one."""
    known = literal(value)
    if isinstance(known, bool):
        return integer(int(known), span)
    if isinstance(known, str):
        number = number_of(known)
        return None if number is None else integer(number, span)
    match value:
        case Int():
            return value
        case Text(cast_from=Int() as inner):
            return inner
        case Text(cast_from=None):
            number_test, low, high = number_tests(value.expr, span)
            return Int((*value.ok, number_test, low, high), Call("int", (value.expr,), span=span))
        case Text():
            return None
        case Leaf() | Not() | Every() | Some():
            bits = (Lit(LitKind.INT, 1, span=span), Lit(LitKind.INT, 0, span=span))
            return Int(defined(value), Call(CONDITIONAL, (yes(value), *bits), span=span), 0, 1)
        case _:
            assert_never(value)


def to_truth(value: Int | Text | Truth, span: Span) -> Truth | None:
    """The value as a truth value: a number that is not 0, a text that is `true` in any case. None where it never is one."""
    known = literal(value)
    if isinstance(known, str):
        return constant(known.lower() == TRUTHS[0]) if known.isascii() and known.lower() in TRUTHS else None
    if isinstance(known, int) and not isinstance(known, bool):
        return constant(known != 0)
    match value:
        case Int(ok=ok, expr=expr):
            zero = Lit(LitKind.INT, 0, span=span)
            return Leaf(ok, Call(NOT_EQUALS, (expr, zero), span=span), Call(EQUALS, (expr, zero), span=span))
        case Text(cast_from=None):
            lower = Call("lowerAscii", (), value.expr, span=span)
            names = tuple(string(name, span) for name in TRUTHS)
            test = Call(IN, (lower, ListExpr(names, span=span)), span=span)
            is_true, is_false = (Call(EQUALS, (lower, name), span=span) for name in names)
            return Leaf((*value.ok, test), is_true, is_false)
        case Text(cast_from=Int()):
            return None
        case Text(cast_from=inner):
            return inner  # type: ignore[return-value]  # the classes of Truth are what is left
        case _:
            return value


def number_tests(text: Expr, span: Span) -> tuple[Expr, Expr, Expr]:
    """That a text is a number of 32 bits: a whole number, and within both ends."""
    whole = Call("matches", (string(WHOLE_NUMBER, span),), text, span=span)
    return (whole, *range_tests(Call("int", (text,), span=span), span))


def range_tests(number: Expr, span: Span) -> tuple[Expr, Expr]:
    """That a number is one of 32 bits."""
    low, high = (Lit(LitKind.INT, end, span=span) for end in (INT_MIN, INT_MAX))
    return Call(GREATER_EQUALS, (number, low), span=span), Call(LESS_EQUALS, (number, high), span=span)


def relation(function: str, left: Expr, right: Expr, span: Span) -> Expr:
    """A comparison; of two literals, what it comes to."""
    if isinstance(left, Lit) and isinstance(right, Lit):
        return TRUE if _RELATIONS[function](left.value, right.value) else FALSE
    return Call(function, (left, right), span=span)


_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    EQUALS: operator.eq,
    NOT_EQUALS: operator.ne,
    LESS: operator.lt,
    LESS_EQUALS: operator.le,
    GREATER: operator.gt,
    GREATER_EQUALS: operator.ge,
}


def number_of(text: str) -> int | None:
    """The number of 32 bits that a text is; None for any other text."""
    found = re.fullmatch(r"([+-]?)0*([0-9]{1,10})", text, re.ASCII)
    number = int(found[1] + found[2]) if found is not None else INT_MAX + 1
    return number if INT_MIN <= number <= INT_MAX else None


def never(kind: str, span: Span) -> Value:
    """A value that always errs, of one kind: `int`, `text` or `truth`."""
    match kind:
        case "int":
            return Int((FALSE,), Lit(LitKind.INT, 0, span=span))
        case "text":
            return Text((FALSE,), string("", span))
        case _:
            return Leaf((FALSE,), FALSE, FALSE)
