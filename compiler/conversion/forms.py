"""Expressions that mean the same, written in the way that a dialect's `from_cel` reads.

CEL's logic is a chain, false < error < true: `&&` is the least of its operands, `||` the greatest, and `!` turns the
chain around (language definition, "Logical Operators"). So order and repetition do not matter, De Morgan holds, and one
operator distributes over the other, errors included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..analysis.certainty import is_bool
from ..dialects.inverse import guard_of
from ..dialects.predicates import attribute, has_attribute, named
from ..nodes import (
    AND,
    EQUALS,
    IN,
    NOT,
    NOT_EQUALS,
    OR,
    Call,
    Expr,
    ListExpr,
    Lit,
    LitKind,
    children,
    conjunction,
    conjuncts,
    disjunction,
    variables,
    walk,
    with_children,
)
from ..source import Span
from ..unparse import unparse


def normal(e: Expr) -> Expr:
    """One expression for many that have the same value, and err, on the same events. Equal ones mean the same.

    Negations stand at the leaves, the terms of logic are in order and each there once, what all alternatives ask is
    asked once, and what a guard excludes is left out.
    """
    return _ordered(_outside_macros(e, _plain), negated=False)


def forms(e: Expr) -> tuple[Expr, ...]:
    """`e`, and what else `from_cel` may be asked for in its place; each has the value of `e`, and its errors."""
    found = [e, _spread(e, folding=False), _spread(e, folding=True)]
    whole = normal(e)
    return tuple(form for form in dict.fromkeys(found) if normal(form) == whole)


def guards_of(terms: Iterable[Expr]) -> dict[str, Expr]:
    """The terms that ask for the presence of an attribute, by its name."""
    return {name: term for term in terms if (name := guard_of(term)) is not None}


def attributes_in(e: Expr) -> Iterator[str]:
    """The attributes whose values `e` reads, each once."""
    yield from dict.fromkeys(name for node in walk(e) if (name := named(node)) is not None)


def _outside_macros(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`e` changed from the leaves up, but for what has variables of its own: they may have the names of attributes."""
    if variables(e):
        return e
    return change(with_children(e, tuple(_outside_macros(c, change) for c in children(e))))


def _plain(e: Expr) -> Expr:
    """A node in its plainest spelling: the attribute to the left, `!` and `==` in place of `!=`."""
    name = named(e)
    if name is not None:
        return attribute(name, e.span)
    guarded = guard_of(e)
    if guarded is not None:
        return has_attribute(guarded, e.span)
    match e:
        case Call(function=function, args=(Lit() as left, right)) if function == EQUALS and not isinstance(right, Lit):
            return Call(EQUALS, (right, left), span=e.span)
        case Call(function=function, args=(left, right)) if function == NOT_EQUALS:
            return Call(NOT, (_plain(Call(EQUALS, (left, right), span=e.span)),), span=e.span)
        case Call(function=function, args=(Call(function=inner, args=(operand,)),)) if function == inner == NOT:
            return operand if is_bool(operand) else e
        case _:
            return _alternatives(e)


def _alternatives(e: Expr) -> Expr:
    """`x in ["a", "b"]` as `x == "a" || x == "b"`."""
    match e:
        case Call(function=function, args=(subject, ListExpr(items=items, optional=optional))) if function == IN:
            if items and not optional and all(isinstance(x, Lit) and x.kind is LitKind.STRING for x in items):
                return disjunction(tuple(Call(EQUALS, (subject, x), span=e.span) for x in items), e.span)
    return e


def _ordered(e: Expr, *, negated: bool) -> Expr:
    """`e`, or its negation, with negations at the leaves and the terms of logic in order."""
    match e:
        case Call(function=function, args=(operand,)) if function == NOT:
            return _ordered(operand, negated=not negated)
        case Call(function=function, args=args) if function in (AND, OR):
            terms = tuple(_ordered(term, negated=negated) for term in args)
            return _conjoined(terms) if (function == AND) is not negated else _disjoined(terms)
        case _:
            return Call(NOT, (e,)) if negated else e


def _conjoined(terms: tuple[Expr, ...]) -> Expr:
    flat = conjuncts(conjunction(terms))
    guards = guards_of(flat)
    freed = (_freed(term, guards.values()) for term in flat) if guards else flat
    return conjunction(_sorted(conjuncts(conjunction(tuple(freed)))))


def _freed(term: Expr, guards: Iterable[Expr]) -> Expr:
    """A term beside guards, without the alternatives that they exclude; presence itself never errs."""
    if not isinstance(term, Call) or term.function != OR:
        return term
    excluded = [Call(NOT, (guard,)) for guard in guards]
    return _disjoined(tuple(alternative for alternative in term.args if alternative not in excluded))


def _disjoined(terms: tuple[Expr, ...]) -> Expr:
    """Alternatives, with what all of them ask in front."""
    joined = disjunction(terms)
    if not isinstance(joined, Call) or joined.function != OR:
        return joined
    alternatives = _sorted(joined.args)
    common = set.intersection(*(set(conjuncts(term)) for term in alternatives))
    if not common:
        return disjunction(alternatives)
    rests = [tuple(t for t in conjuncts(term) if t not in common) for term in alternatives]
    if not all(rests):
        return conjunction(_sorted(common))
    return _conjoined((*common, _disjoined(tuple(conjunction(rest) for rest in rests))))


def _sorted(terms: Iterable[Expr]) -> tuple[Expr, ...]:
    return tuple(sorted(dict.fromkeys(terms), key=unparse))


def _spread(e: Expr, *, folding: bool) -> Expr:
    """`e` with each guard before each test that it guards, and alternatives one by one, or `folding`, as one list."""
    return _guarded(_outside_macros(e, lambda node: _respelled(node, folding)), {})


def _respelled(e: Expr, folding: bool) -> Expr:
    if isinstance(e, Call) and e.function == NOT_EQUALS and any(isinstance(a, Lit) and a.value == "" for a in e.args):
        return e  # asks for presence in `filter.attributes`
    plain = e if folding and _alternatives(e) is not e and len(_values(e)) > 1 else _plain(e)
    return _folded(plain) if folding else plain


def _values(e: Expr) -> tuple[Expr, ...]:
    """The items of the list on the right."""
    match e:
        case Call(args=(_, ListExpr(items=items))):
            return items
        case _:
            return ()


def _folded(e: Expr) -> Expr:
    """Alternatives of one attribute as `in`, its values in order, as a label selector is read."""
    match e:
        case Call(function=function, args=args) if function == OR:
            by_name: dict[str, list[Expr]] = {}
            others = []
            for term in args:
                name, values = _listed(term)
                if name:
                    by_name.setdefault(name, []).extend(values)
                else:
                    others.append(term)
            lists = [_in(name, values, e.span) for name, values in by_name.items()]
            return disjunction((*lists, *others), e.span)
        case Call(function=function) if function == IN:
            name, values = _listed(e)
            return _in(name, values, e.span) if name else e
        case _:
            return e


def _listed(e: Expr) -> tuple[str, tuple[Expr, ...]]:
    """The attribute that is compared, and the strings that it is compared with; no name for another expression."""
    match e:
        case Call(function=function, args=(left, Lit(kind=LitKind.STRING) as value)) if function == EQUALS:
            return named(left) or "", (value,)
        case Call(function=function, args=(left, ListExpr(items=items))) if (
            function == IN and _alternatives(e) is not e
        ):
            return named(left) or "", items
        case _:
            return "", ()


def _in(name: str, values: Iterable[Expr], at: Span) -> Expr:
    subject = attribute(name, at)
    found = _sorted(values)
    if len(found) == 1:
        return Call(EQUALS, (subject, found[0]), span=at)
    return Call(IN, (subject, ListExpr(found, span=at)), span=at)


def _guarded(e: Expr, around: dict[str, Expr]) -> Expr:
    """`e` with the guards that are known where it stands put before each test of their attributes."""
    match e:
        case Call(function=function, args=args) if function == AND:
            return _spread_over(args, around, e.span)
        case Call(function=function, args=args) if function == OR:
            return _together(tuple(_guarded(term, around) for term in args), e.span)
        case Call(function=function, args=(operand,)) if function == NOT:
            return Call(NOT, (_guarded(operand, around),), span=e.span)
        case _:
            needed = [around[name] for name in attributes_in(e) if name in around]
            return conjunction((*needed, e), e.span)


def _spread_over(terms: tuple[Expr, ...], around: dict[str, Expr], at: Span) -> Expr:
    """A conjunction whose guards stand before the tests of their attributes; one that guards nothing stays."""
    own = guards_of(terms)
    known = {**around, **own}
    tests = [term for term in terms if guard_of(term) is None]
    moved = {name for term in tests if not _denies(term) for name in attributes_in(term)}
    found = [_guarded(term, known) for term in terms if guard_of(term) is None or guard_of(term) not in moved]
    return conjunction(tuple(found), at)


def _denies(term: Expr) -> bool:
    """Whether a test may pass without what it is about: its guard is asked beside it, too."""
    return isinstance(term, Call) and term.function == NOT


def _together(terms: tuple[Expr, ...], at: Span) -> Expr:
    """Alternatives, those that deny something as one: `!a || !b` as `!(a && b)`."""
    denied = tuple(term.args[0] for term in terms if isinstance(term, Call) and term.function == NOT)
    if len(denied) < 2:
        return disjunction(terms, at)
    others = tuple(term for term in terms if not (isinstance(term, Call) and term.function == NOT))
    return disjunction((Call(NOT, (conjunction(denied, at),), span=at), *others), at)
