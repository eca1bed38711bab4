"""What a label selector is about: the attributes of an event, or a map in its payload, as `data.metadata.labels`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from ..documents.document import Place, embedded
from ..environments.attribute_names import PAYLOAD, RECORD
from ..environments.attributes import selectable
from ..nodes import (
    EQUALS,
    IN,
    INDEX,
    NOT,
    OR,
    Call,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    Select,
    conjunction,
    conjuncts,
    disjunction,
    string,
    transform,
)
from ..parse import parse
from ..source import Span
from ..unparse import unparse
from .label_selector_cel import selector_of
from .model import Findings
from .predicates import attribute, has_attribute, is_required

_HELP = 'name a map of the payload, as data.metadata.labels or data["a.b"].labels'
_ALWAYS = conjunction(())


class Term(NamedTuple):
    """What one requirement asks of a label, or, where it is `denied`, what must not be so."""

    test: Expr
    denied: bool
    span: Span


class Labels(Protocol):
    """Labels by their keys. What is made of them is no error for any event that has them, or has none."""

    def has(self, key: str, at: Span) -> Expr:
        """That there is the label."""

    def value(self, key: str, at: Span) -> Expr:
        """The value of a label that there is."""

    def kinds(self, key: str, at: Span) -> tuple[Expr, ...]:
        """What must hold besides for the value to be a text."""

    def values(self, literals: tuple[Lit, ...], at: Span) -> tuple[Lit, ...]:
        """The values that are equal to one of the texts."""

    def joined(self, terms: Sequence[Term], at: Span) -> Expr:
        """That all terms hold."""


class AttributeLabels:
    """The attributes of an event as labels."""

    def has(self, key: str, at: Span) -> Expr:
        """That the event has the attribute, which of some attributes is always so."""
        return conjunction((), at) if is_required(key) else has_attribute(key, at)

    def value(self, key: str, at: Span) -> Expr:
        """The attribute."""
        return attribute(key, at)

    def kinds(self, key: str, at: Span) -> tuple[Expr, ...]:
        """Nothing: an attribute is a text."""
        return ()

    def values(self, literals: tuple[Lit, ...], at: Span) -> tuple[Lit, ...]:
        """The texts."""
        return literals

    def joined(self, terms: Sequence[Term], at: Span) -> Expr:
        """One after the other."""
        return conjunction(tuple(each for each in map(_signed, terms) if each != _ALWAYS), at)


@dataclass(frozen=True)
class MapLabels:
    """A map in the payload as labels: `path` leads to it.

    Where there is no such map there are no labels. A value that is null is the empty text, as Go reads JSON, and any
    other that is no text equals none.
    """

    path: Expr

    def has(self, key: str, at: Span) -> Expr:
        """That the map has the key."""
        return _has(self.path, key, at)

    def value(self, key: str, at: Span) -> Expr:
        """The value at the key."""
        if selectable(key):
            return Select(self.path, key, span=at)
        return Call(INDEX, (self.path, string(key, at)), span=at)

    def kinds(self, key: str, at: Span) -> tuple[Expr, ...]:
        """That the value is a text."""
        return (_is_a("string", self.value(key, at), at),)

    def values(self, literals: tuple[Lit, ...], at: Span) -> tuple[Lit, ...]:
        """The texts, and null for the empty one."""
        return (*literals, Lit(LitKind.NULL, None, span=at)) if any(each.value == "" for each in literals) else literals

    def joined(self, terms: Sequence[Term], at: Span) -> Expr:
        """That there is the map, asked once, and all terms hold; where all are denied, nothing is asked of it."""
        if not terms:
            return conjunction((), at)
        if all(term.denied for term in terms):
            refused = disjunction(tuple(term.test for term in terms), at)
            return Call(NOT, (conjunction((*_guards(self.path), refused), at),), span=at)
        return conjunction((*_guards(self.path), *map(_signed, terms)), at)


def _signed(term: Term) -> Expr:
    if not term.denied:
        return term.test
    if term.test == _ALWAYS:
        return disjunction((), term.span)
    return Call(NOT, (term.test,), span=term.span)


def read_map(place: Place, findings: Findings) -> Labels:
    """The labels in the map at a path that is written as in CEL; reports what is none, and stands for the whole payload."""
    at = place.value.span
    whole = MapLabels(Ident(PAYLOAD, span=at))
    text = findings.expect_string(place)
    if text is None:
        return whole
    expr, _ = parse(embedded(place))
    if expr is None or not _is_path(expr):
        findings.report("TRI349", place, f"'{text[:60]}' is no path in the payload", _HELP, at=at)
        return whole
    return MapLabels(transform(expr, lambda e: replace(e, span=at)))


def _is_path(e: Expr) -> bool:
    match e:
        case Ident(name=name, absolute=False):
            return name == PAYLOAD
        case Select(operand=operand, optional=False) | Call(function="_[_]", args=(operand, Lit(kind=LitKind.STRING))):
            return _is_path(operand)
        case _:
            return False


def _guards(path: Expr) -> tuple[Expr, ...]:
    """That there is a map at the path, from the payload on: each term is no error where those before it hold."""
    at = path.span
    match path:
        case Select(operand=outer, field=key):
            before: tuple[Expr, ...] = (*_guards(outer), Has(outer, key, span=at))
        case Call(args=(outer, Lit(value=str(key)))):
            before = (*_guards(outer), Call(IN, (string(key, at), outer), span=at))
        case _:
            before = ()
    return (*before, _is_a("map", path, at))


def _has(path: Expr, key: str, at: Span) -> Expr:
    return Has(path, key, span=at) if selectable(key) else Call(IN, (string(key, at), path), span=at)


def _is_a(kind: str, e: Expr, at: Span) -> Expr:
    return Call(EQUALS, (Call("type", (e,), span=at), Ident(kind, span=at)), span=at)


def written(expr: Expr) -> object:
    """`expr` as a selector: text where it is about attributes, and with its path where about a map; None where it is none.

    It is a guess, which stands where it is read as the same expression again.
    """
    text = selector_of(expr)
    if text is not None:
        return text
    path: Expr | None
    terms: tuple[Expr, ...]
    match expr:
        case Call(function=function, args=(inner,)) if function == NOT:
            path, rest = _unguarded(conjuncts(inner))
            refused = rest[0].args if len(rest) == 1 and isinstance(rest[0], Call) and rest[0].function == OR else ()
            one = conjunction(rest)
            terms = tuple(Call(NOT, (each,)) for each in (refused or (one,)))
        case _:
            path, terms = _unguarded(conjuncts(expr))
    if path is None or not terms:
        return None
    about_attributes = tuple(_as_attributes(term, path) for term in terms)
    found = selector_of(conjunction(tuple(term for term in about_attributes if term != _ALWAYS)))
    return None if found is None else {"path": unparse(path), "selector": found}


def _unguarded(terms: tuple[Expr, ...]) -> tuple[Expr | None, tuple[Expr, ...]]:
    """The path that the first terms lead to, and the other terms."""
    path: Expr | None = None
    while terms:
        following = Ident(PAYLOAD) if path is None else _step(path, terms[0])
        size = 1 if path is None else 2
        if following is None or terms[size - 1 : size] != (_is_a("map", following, following.span),):
            break
        path, terms = following, terms[size:]
    return path, terms


def _step(path: Expr, presence: Expr) -> Expr | None:
    """The value at the key that a path is asked for."""
    match presence:
        case Has(operand=operand, field=key) if operand == path:
            return Select(path, key)
        case Call(function="@in", args=(Lit(value=str(key)) as literal, operand)) if operand == path:
            return Call(INDEX, (path, literal))
        case _:
            return None


def _as_attributes(term: Expr, path: Expr) -> Expr:
    """A term about a map as the same about attributes: without null beside the empty text, and tests for text."""

    def change(e: Expr) -> Expr:
        match e:
            case _ if e == path:
                return Ident(RECORD)
            case Call(function="_==_", args=(Call(function="type"), Ident(name="string"))):
                return _ALWAYS
            case Call(function="@in", args=(subject, values)) if isinstance(values, ListExpr):
                texts = tuple(each for each in values.items if not isinstance(each, Lit) or each.value is not None)
                one = Call(EQUALS, (subject, texts[0])) if len(texts) == 1 else None
                return one or Call(IN, (subject, ListExpr(texts)))
            case Call(function="_&&_", args=args):
                return conjunction(tuple(each for each in args if each != _ALWAYS))
            case _:
                return e

    return transform(term, change)
