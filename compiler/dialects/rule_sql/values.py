"""Values of rule SQL as CEL: what a value may be, where there is one, and what is true of it.

Evaluation has two outcomes beside a value: it is undefined, which compares false, or it raises, and the check fails. So
each value has the terms under which there is one, and a term under which it is undefined; where neither holds it raises.
A truth value has a term that it is true, and one that it is false. All terms are total, but where the payload is no JSON
or a column is missing: there they err, and the check fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ...nodes import AND, EQUALS, NOT, OR, Call, Expr, Ident, Lit, LitKind, conjunction, disjunction, string
from ...source import NOWHERE, Span

TRUE, FALSE = Lit(LitKind.BOOL, True), Lit(LitKind.BOOL, False)


class Kind(StrEnum):
    """What a value may be. The order is that of Erlang's terms."""

    NUMBER = "double"
    BOOL = "bool"
    NULL = "null_type"
    MAP = "map"
    LIST = "list"
    TEXT = "string"


JSON_KINDS = frozenset(Kind)
RANK = {Kind.NUMBER: 0, Kind.BOOL: 1, Kind.NULL: 1, Kind.MAP: 2, Kind.LIST: 3, Kind.TEXT: 4}
"""Erlang's order of terms of different kinds."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value. `present` hold where there is one, `undefined` where it is undefined. `integer`: the CEL is of type int.

    `literal` is the value itself, where it is known, `defined` says that it does not raise, where that is shorter than
    one of `present` and `undefined`, and `truth` is the truth value that it is made of.
    """

    kinds: frozenset[Kind]
    expr: Expr
    present: tuple[Expr, ...] = ()
    undefined: Expr = FALSE
    integer: bool = False
    literal: bool | int | float | str | None = None
    defined: Expr | None = None
    truth: Truth | None = None

    def guards(self, kind: Kind) -> tuple[Expr, ...]:
        """That it is of one kind."""
        if len(self.kinds) == 1:
            return ()
        return (Call(EQUALS, (Call("type", (self.expr,)), Ident(kind.value))),)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values: of the guards, which are total, at most one holds; where none does, it raises. `total`: it never does."""

    branches: tuple[tuple[Expr, Value], ...]
    total: bool = False


@dataclass(frozen=True, slots=True)
class Truth:
    """A truth value: where it is true, and where it is false. Where it is neither, it raises. `total`: it never does."""

    yes: Expr
    no: Expr
    total: bool = False


Any: TypeAlias = Value | Choice
UNDEFINED = Value(JSON_KINDS, Lit(LitKind.NULL, None), (FALSE,), TRUE)
RAISES = Truth(FALSE, FALSE)
NO_VALUE = Value(JSON_KINDS, Lit(LitKind.NULL, None), (FALSE,))
"""What always raises."""


def constant(value: bool) -> Truth:
    """A truth value that is known."""
    return Truth(TRUE, FALSE, True) if value else Truth(FALSE, TRUE, True)


def known(value: bool | int | float | str, span: Span = NOWHERE) -> Value:
    """A literal."""
    match value:
        case bool():
            return Value(frozenset({Kind.BOOL}), Lit(LitKind.BOOL, value, span=span), literal=value)
        case int():
            return Value(frozenset({Kind.NUMBER}), Lit(LitKind.INT, value, span=span), integer=True, literal=value)
        case float():
            return Value(frozenset({Kind.NUMBER}), Lit(LitKind.DOUBLE, value, span=span), literal=value)
        case _:
            return Value(frozenset({Kind.TEXT}), string(value, span), literal=value)


def conj(terms: Iterable[Expr]) -> Expr:
    """All of the terms, each once."""
    flat: dict[Expr, None] = {}
    for term in terms:
        flat |= dict.fromkeys(term.args if isinstance(term, Call) and term.function == AND else (term,))
    flat.pop(TRUE, None)
    return FALSE if FALSE in flat else conjunction(tuple(flat))


def disj(terms: Iterable[Expr]) -> Expr:
    """Any of the terms, each once."""
    flat: dict[Expr, None] = {}
    for term in terms:
        flat |= dict.fromkeys(term.args if isinstance(term, Call) and term.function == OR else (term,))
    flat.pop(FALSE, None)
    return TRUE if TRUE in flat else disjunction(tuple(flat))


def sure(value: Value) -> bool:
    """Whether a value never raises."""
    return not value.present or value.defined == TRUE or value == UNDEFINED


def neg(term: Expr) -> Expr:
    """The opposite of a total term."""
    match term:
        case Lit(value=bool(value)):
            return FALSE if value else TRUE
        case Call(function=function, args=(inner,), target=None) if function == NOT:
            return inner
        case _:
            return Call(NOT, (term,))


def every(terms: Iterable[Truth]) -> Truth:
    """AND from the left, which stops at the first that is false."""
    *before, last = terms
    for one in reversed(before):
        last = Truth(conj((one.yes, last.yes)), disj((one.no, conj((one.yes, last.no)))), one.total and last.total)
    return last


def some(terms: Iterable[Truth]) -> Truth:
    """OR from the left, which stops at the first that is true."""
    *before, last = terms
    for one in reversed(before):
        rest = last.yes if one.total else conj((one.no, last.yes))
        last = Truth(disj((one.yes, rest)), conj((one.no, last.no)), one.total and last.total)
    return last


def negated(truth: Truth) -> Truth:
    """NOT."""
    return Truth(truth.no, truth.yes, truth.total)


def as_value(truth: Truth) -> Value:
    """A truth value as a value."""
    if truth in (constant(True), constant(False)):
        return known(truth.yes == TRUE)
    present = () if truth.total else (disj((truth.yes, truth.no)),)
    return Value(frozenset({Kind.BOOL}), truth.yes, present, truth=truth)


def as_truth(value: Any) -> Truth:
    """What is true where the value is, and false where it is false; it raises for all else."""

    def one(v: Value) -> Truth:
        if v.truth is not None:
            return v.truth
        if Kind.BOOL not in v.kinds:
            return RAISES
        if isinstance(v.literal, bool):
            return constant(v.literal)
        terms = (*v.present, *v.guards(Kind.BOOL))
        return Truth(conj((*terms, v.expr)), conj((*terms, neg(v.expr))), not terms)

    return chosen(value, one)


def chosen(value: Any, test: Callable[[Value], Truth]) -> Truth:
    """What holds of a value, in whichever branch."""
    if isinstance(value, Value):
        return test(value)
    found = [(guard, test(branch)) for guard, branch in value.branches]
    return Truth(disj(conj((g, t.yes)) for g, t in found), disj(conj((g, t.no)) for g, t in found))


def mapped(value: Any, change: Callable[[Value], Any]) -> Any:
    """What is made of a value, in whichever branch."""
    if isinstance(value, Value):
        return change(value)
    branches: list[tuple[Expr, Value]] = []
    for guard, branch in value.branches:
        made = change(branch)
        inner = made.branches if isinstance(made, Choice) else ((TRUE, made),)
        branches.extend((conj((guard, g)), v) for g, v in inner)
    return Choice(tuple(branches))


def of_kind(value: Value, kind: Kind) -> Value:
    """The value where it is of one kind; it raises where it is of another or undefined."""
    if kind not in value.kinds:
        return NO_VALUE
    return Value(
        frozenset({kind}), value.expr, (*value.present, *value.guards(kind)), FALSE, value.integer, value.literal
    )


_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[+-]?[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?", re.ASCII)


def number_of(text: str) -> int | float | None:
    """The number that Erlang reads of a text; None where it raises."""
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= 300 else None
    if _FLOAT.fullmatch(text):
        value = float(text)
        return None if value in (float("inf"), float("-inf")) else value
    return None
