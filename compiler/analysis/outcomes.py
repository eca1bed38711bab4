"""What a filter asks of an event's attributes before anything else: when it may be true or err, as terms.

Both are worked out for every part: when it is true or errs, and when it is false or errs. In CEL's logic, false < error
< true with `&&` the least and `||` the greatest, each is exactly the conjunction or the disjunction of the operands'.
What is not about attributes alone, or may err on their values, may be anything on every event, and is noted as lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..celtypes import SCALARS, STRING, is_dynamic
from ..check import Checked
from ..functions import TEXT_TESTS
from ..nodes import (
    AND,
    CONDITIONAL,
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
)
from ..patterns import literal_of
from .attribute_tests import Constraint, Key, Test, always, among, normal, opposite
from .constraints import TEXT_KINDS, TestKind, constant
from .disjunctions import TRUE, Term, product, simplified

MAX_TERMS = 128
"""Terms of one filter; where a product has more, one of its sides is lost."""
_FLIPPED = {LESS: GREATER, LESS_EQUALS: GREATER_EQUALS, GREATER: LESS, GREATER_EQUALS: LESS_EQUALS}


@dataclass
class Outcomes:
    """The terms of one checked filter. `sure` are the attributes that every event has.

    `others`: whether tests may be other than of texts against literals. `lost` are the parts that may come out either way.
    """

    checked: Checked
    sure: frozenset[str]
    others: bool = True
    lost: list[Expr] = field(default_factory=list)

    def passing(self) -> list[Term]:
        """When the filter may be true or err."""
        return simplified(self._terms(self.checked.expr, True))

    def _terms(self, e: Expr, wanted: bool) -> list[Term]:
        """When `e` may err, or be `wanted`."""
        match e:
            case Call(function=function, args=(inner,)) if function == NOT:
                return self._terms(inner, not wanted)
            case Call(function=function, args=args) if function in (AND, OR):
                found = [self._terms(a, wanted) for a in args]
                if (function == AND) is wanted:
                    return self._all(found, e)
                return self._some([t for terms in found for t in terms], e)
            case Call(function=function, args=(test, then, other)) if function == CONDITIONAL:
                true, false = self._terms(test, True), self._terms(test, False)
                first = self._all([true, self._terms(then, wanted)], e)
                second = self._all([false, self._terms(other, wanted)], e)
                return self._some([*first, *second, *self._all([true, false], e)], e)
            case _:
                return self._alone(e, wanted)

    def _all(self, sides: Iterable[list[Term]], e: Expr) -> list[Term]:
        found: list[Term] = [TRUE]
        for side in sides:
            if len(found) * len(side) <= MAX_TERMS:
                found = product(found, side)
                continue
            again = simplified(product(found, side)) if len(found) * len(side) <= MAX_TERMS**2 else []
            if again and len(again) <= MAX_TERMS:
                found = again
            else:
                self.lost.append(e)
                found = min(found, side, key=len)
        return found

    def _some(self, terms: list[Term], e: Expr) -> list[Term]:
        found = terms if len(terms) <= MAX_TERMS else simplified(terms)
        if len(found) > MAX_TERMS**2:
            self.lost.append(e)
            return [TRUE]
        return found

    def _alone(self, e: Expr, wanted: bool) -> list[Term]:
        if (value := constant(e)) is not None and isinstance(value[0], bool):
            return [TRUE] if value[0] is wanted else []
        name = self.checked.record.asked(e)
        found = self._test(e) if name is None else (self._key((name,)), None)
        if found is not None:
            key, test = found
            c = _present(key, wanted) if test is None else _tested(key, test if wanted else opposite(test))
            return [] if c.impossible else [TRUE] if always(key, c) else [{key: c}]
        self.lost.append(e)
        return [TRUE]

    def _key(self, names: Iterable[str]) -> Key:
        given = tuple(sorted(names))
        return Key(given, all(name in self.sure for name in given))

    def _test(self, e: Expr) -> tuple[Key, Test] | None:
        """The test that `e` is of attributes that are there; None where it may err all the same."""
        text = self._of_text(e)
        if text is not None:
            return text
        if not self.others or not isinstance(e, Call):
            return None
        names = self._total(e)
        if not names:
            return None
        return self._key(names), Test(None, other=e)

    def _of_text(self, e: Expr) -> tuple[Key, Test] | None:
        match e:
            case Call(function=function, args=(a, b)) if function in (EQUALS, NOT_EQUALS):
                subject, value = (a, _text(b)) if _text(a) is None else (b, _text(a))
                test = None if value is None else among((value,), negated=function == NOT_EQUALS)
            case Call(function=function, args=(a, b)) if function in _FLIPPED:
                subject, value = (a, _text(b)) if _text(a) is None else (b, _text(a))
                sign = function if subject is a else _FLIPPED[function]
                test = None if value is None else Test(TestKind.ORDER, frozenset({value}), sign=sign)
            case Call(function=function, args=(subject, ListExpr(items=items, optional=optional))) if function == IN:
                plain = not optional and all(isinstance(i, Lit) for i in items)
                test = among(v for i in items if (v := _text(i)) is not None) if plain else None
            case Call(function=function) if function in TEXT_TESTS:
                given = e.args if e.target is None else (e.target, *e.args)
                value = _text(given[1]) if len(given) == 2 else None
                kind = TEXT_KINDS[TEXT_TESTS[function]]
                subject, test = given[0], None if value is None else _plainer(Test(kind, frozenset({value})))
            case _:
                return None
        name = self.checked.record.attribute(subject)
        if test is None or name is None or self.checked.types.get(subject.id) != STRING:
            return None
        return self._key((name,)), test

    def _total(self, e: Expr) -> frozenset[str] | None:
        """The attributes that `e` reads, where it errs only for want of one; None for any other expression."""
        if constant(e) is not None:
            return frozenset()
        name = self.checked.record.attribute(e)
        if name is not None:
            return frozenset({name}) if self.checked.types.get(e.id) in SCALARS else None
        match e:
            case ListExpr(items=items, optional=optional) if not optional:
                return self._together(items)
            case Call(function=function, args=args, target=target) if function not in (AND, OR, CONDITIONAL):
                rows = self.checked.overloads.get(e.id, ())
                given = args if target is None else (target, *args)
                if not rows or not all(row.total for row in rows):
                    return None
                if any(row.pattern is not None and _text(given[row.pattern]) is None for row in rows):
                    return None
                if any(is_dynamic(self.checked.types[a.id]) for a in given):
                    return None
                return self._together(given)
            case _:
                return None

    def _together(self, parts: Sequence[Expr]) -> frozenset[str] | None:
        found = [self._total(p) for p in parts]
        return None if None in found else frozenset().union(*(f for f in found if f is not None))


def _plainer(test: Test) -> Test:
    """The same test without a pattern, where this one only anchors a text."""
    literal = literal_of(test.value) if test.kind is TestKind.MATCHES else None
    if literal is None or literal.rest not in ("", "$"):
        return test
    if literal.rest:
        return among((literal.text,)) if literal.anchored else Test(TestKind.SUFFIX, frozenset({literal.text}))
    return Test(TestKind.PREFIX if literal.anchored else TestKind.CONTAINS, frozenset({literal.text}))


def _present(key: Key, wanted: bool) -> Constraint:
    return Constraint(False) if wanted else Constraint(not key.sure, None)


def _tested(key: Key, test: Test) -> Constraint:
    return Constraint(not key.sure, normal((test,)))


def _text(e: Expr) -> str | None:
    return e.value if isinstance(e, Lit) and e.kind is LitKind.STRING and isinstance(e.value, str) else None
