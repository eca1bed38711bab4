"""Truth values that may err, as CEL that never does.

CloudEvents SQL evaluates AND and OR from the left, and stops where the left operand decides; an error then ends the
evaluation. CEL's `&&` and `||` absorb an error beside an operand that decides. So each truth value is kept with the
conditions under which it does not err, and a condition is written beside the value that it guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from typing import TypeAlias

from ...limits import MAX_DEPTH
from ...nodes import (
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
    ListExpr,
    Lit,
    LitKind,
    conjunction,
    conjuncts,
    disjunction,
)
from ...source import Span

Terms: TypeAlias = tuple[Expr, ...]
"""Conditions that must all hold. Each may err where one before it is false."""
TRUE, FALSE = Lit(LitKind.BOOL, True), Lit(LitKind.BOOL, False)
INT_MIN, INT_MAX = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """Where `ok` holds, exactly one of `yes` and `no` is true, and neither errs."""

    ok: Terms
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    """The opposite."""

    of: Truth


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """AND from the left."""

    terms: tuple[Truth, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """OR from the left."""

    terms: tuple[Truth, ...]


Truth: TypeAlias = Leaf | Not | Every | Some


def constant(value: bool) -> Leaf:
    """A truth value that is known."""
    return Leaf((), TRUE, FALSE) if value else Leaf((), FALSE, TRUE)


def known_value(truth: Truth) -> bool | None:
    """The value of a constant; None for any other."""
    if isinstance(truth, Leaf) and not truth.ok and isinstance(truth.yes, Lit):
        return truth.yes == TRUE
    return None


def negated(truth: Truth) -> Truth:
    """NOT."""
    match truth:
        case Not(of=inner):
            return inner
        case Leaf(ok=ok, yes=yes, no=no):
            return Leaf(ok, no, yes)
        case _:
            return Not(truth)


def every(terms: Iterable[Truth]) -> Truth:
    """AND from the left, without what is known to be true."""
    return _joined(tuple(terms), False, Every)


def some(terms: Iterable[Truth]) -> Truth:
    """OR from the left, without what is known to be false."""
    return _joined(tuple(terms), True, Some)


def _joined(terms: tuple[Truth, ...], deciding: bool, join: type[Every] | type[Some]) -> Truth:
    kept: list[Truth] = []
    for term in terms:
        value = known_value(term)
        if value is deciding:
            kept.append(term)
            break  # what follows is never evaluated
        if value is None:
            kept.append(term)
    if not kept:
        return constant(not deciding)
    return kept[0] if len(kept) == 1 else join(tuple(kept))


def passing(truth: Truth) -> Expr:
    """That the value is true and nothing errs.

    Raises:
        OutgrownError: where the conditions are nested too deeply.
    """
    return conj(_passing(truth, _Place(frozenset())))


def defined(truth: Truth) -> Terms:
    """That nothing errs.

    Raises:
        OutgrownError: where the conditions are nested too deeply.
    """
    return _defined(truth, _Place(frozenset()))


def yes(truth: Truth) -> Expr:
    """The value, where it is defined."""
    match truth:
        case Leaf():
            return truth.yes
        case Not(of=inner):
            return no(inner)
        case Every(terms=terms):
            return conj(yes(term) for term in terms)
        case Some(terms=terms):
            return disj(yes(term) for term in terms)


def no(truth: Truth) -> Expr:
    """The opposite of the value, where it is defined."""
    match truth:
        case Leaf():
            return truth.no
        case Not(of=inner):
            return yes(inner)
        case Every(terms=terms):
            return disj(no(term) for term in terms)
        case Some(terms=terms):
            return conj(no(term) for term in terms)


class OutgrownError(Exception):
    """The CEL has outgrown a limit."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where conditions are written: `known` hold wherever it matters whether they do, and `room` levels are left."""

    known: Set[Expr]
    room: int = MAX_DEPTH

    def after(self, *terms: Iterable[Expr], levels: int = 0) -> _Place:
        """The place beside further conditions, some levels down."""
        if self.room < levels:
            raise OutgrownError
        return _Place(frozenset().union(self.known, *terms), self.room - levels)


def _passing(truth: Truth, place: _Place) -> Terms:
    match truth:
        case Leaf(ok=ok):
            return _beyond((*ok, truth.yes), place)
        case Not(of=inner):
            return _failing(inner, place)
        case Every(terms=terms):
            return _each(terms, place, _passing)
        case Some(terms=terms):
            return _chain(terms, place, yes, no, _passing)


def _failing(truth: Truth, place: _Place) -> Terms:
    """That the value is false and nothing errs."""
    match truth:
        case Leaf(ok=ok):
            return _beyond((*ok, truth.no), place)
        case Not(of=inner):
            return _passing(inner, place)
        case Every(terms=terms):
            return _chain(terms, place, no, yes, _failing)
        case Some(terms=terms):
            return _each(terms, place, _failing)


def _defined(truth: Truth, place: _Place) -> Terms:
    match truth:
        case Leaf(ok=ok):
            return _beyond(ok, place)
        case Not(of=inner):
            return _defined(inner, place)
        case Every(terms=terms):
            return _chain(terms, place, no, yes, _defined)
        case Some(terms=terms):
            return _chain(terms, place, yes, no, _defined)


_Part: TypeAlias = Callable[[Truth, _Place], Terms]


def _beyond(terms: Terms, place: _Place) -> Terms:
    """The terms that do not follow, each once."""
    return tuple(term for term in dict.fromkeys(terms) if term not in place.known)


def _each(terms: tuple[Truth, ...], place: _Place, part: _Part) -> Terms:
    found: dict[Expr, None] = {}
    known = set(place.known)
    for term in terms:
        more = part(term, _Place(known, place.room))
        found |= dict.fromkeys(more)
        known.update(more)  # one set for all of them: a copy for each would be a quadratic number of terms
    return tuple(found)


def _chain(
    terms: tuple[Truth, ...],
    place: _Place,
    deciding: Callable[[Truth], Expr],
    other: Callable[[Truth], Expr],
    last: _Part,
) -> Terms:
    """Each term is defined, up to one that decides; or `last` of the last one, where none before it did.

    `d1 && (y1 || d2 && (y2 || last))`. Where `y1` is true, nothing after it matters: there `y1` is taken for false.
    """
    parts: list[tuple[Terms, Expr]] = []
    for term in terms[:-1]:
        ok = _defined(term, place)
        parts.append((ok, deciding(term)))
        place = place.after(ok, conjuncts(other(term)), levels=2 if ok else 0)
    found = last(terms[-1], place)
    alternatives = [conj(found)]
    for ok, decides in reversed(parts):
        alternatives.append(decides)
        if ok:
            alternatives = [conj((*ok, disj(reversed(alternatives))))]
    return conjuncts(disj(reversed(alternatives)))


def conj(terms: Iterable[Expr]) -> Expr:
    """All of the terms, without those that follow from others."""
    kept = tuple(dict.fromkeys(term for term in terms if term != TRUE))
    if FALSE in kept:
        return FALSE
    return _spanned(conjunction, _without_implied(kept))


def disj(terms: Iterable[Expr]) -> Expr:
    """Any of the terms."""
    kept = tuple(dict.fromkeys(term for term in terms if term != FALSE))
    return TRUE if TRUE in kept else _spanned(disjunction, kept)


def _spanned(join: Callable[..., Expr], terms: Terms) -> Expr:
    if len(terms) < 2:
        return join(terms)
    span = Span(min(t.span.start for t in terms), max(t.span.end for t in terms))
    return join(terms, span)


_IMPLIED = {
    LESS: (INT_MAX,),
    LESS_EQUALS: (INT_MAX,),
    GREATER: (INT_MIN,),
    GREATER_EQUALS: (INT_MIN,),
    EQUALS: (INT_MIN, INT_MAX),
}
"""Comparisons with a number of 32 bits, and the ends of the range that they say a number is within."""


def _without_implied(terms: Terms) -> Terms:
    """The terms without ends of the range, and lists of truth values, that another term is narrower than."""
    ends = {term: end for term in terms if (end := _range_end(term)) is not None}
    lists = {term for term in terms if _is_listed(term)}
    if not ends and not lists:
        return terms
    said: set[tuple[Expr, int]] = set()
    equal: set[Expr] = set()
    for term in terms:
        match term:
            case Call(function=function, args=(subject, Lit(kind=LitKind.INT))) if function in _IMPLIED:
                if term not in ends:
                    said.update((subject, end) for end in _IMPLIED[function])
            case Call(function=function, args=(subject, Lit(kind=LitKind.STRING))) if function == EQUALS:
                equal.add(subject)
            case _:
                pass

    def follows(term: Expr) -> bool:
        if not isinstance(term, Call):
            return False
        return (term in ends and (term.args[0], ends[term]) in said) or (term in lists and term.args[0] in equal)

    return tuple(term for term in terms if not follows(term))


def _range_end(term: Expr) -> int | None:
    match term:
        case Call(function=function, args=(_, Lit(value=end))) if function == GREATER_EQUALS and end == INT_MIN:
            return INT_MIN
        case Call(function=function, args=(_, Lit(value=end))) if function == LESS_EQUALS and end == INT_MAX:
            return INT_MAX
        case _:
            return None


TRUTHS = ("true", "false")
"""The texts of the truth values."""


def _is_listed(term: Expr) -> bool:
    match term:
        case Call(function=function, args=(_, ListExpr(items=items))) if function == IN:
            return tuple(item.value for item in items if isinstance(item, Lit)) == TRUTHS
        case _:
            return False


def negative_normal(e: Expr) -> Expr:
    """The expression with every `!` moved down to what is no `&&`, `||`, `==` or `!=`: the same values and errors."""
    return _normal(e, True)


_OPPOSITE = {EQUALS: NOT_EQUALS, NOT_EQUALS: EQUALS}


def _normal(e: Expr, positive: bool) -> Expr:
    match e:
        case Call(function=function, args=(inner,), target=None) if function == NOT:
            return _normal(inner, not positive)
        case Call(function=function, args=args, target=None) if function in (AND, OR):
            join = conjunction if (function == AND) == positive else disjunction
            return join(tuple(_normal(arg, positive) for arg in args))
        case Call(function=function, args=args) if function in _OPPOSITE and not positive:
            return Call(_OPPOSITE[function], args)
        case Lit(kind=LitKind.BOOL, value=value) if not positive:
            return Lit(LitKind.BOOL, not value)
        case _:
            return e if positive else Call(NOT, (e,))
