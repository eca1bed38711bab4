"""What a filter can be seen to do before any event: never match, always match, or ask the same twice.

A filter never matches if no event makes it true: an error is no match. It always matches if every event makes it true,
so that only what cannot err counts. A term is redundant if the outcome is the same without it, errors included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..celtypes import CelType, Record, is_dynamic
from ..check import Checked
from ..diagnostics import Diagnostic
from ..environments.model import Environment
from ..nodes import (
    AND,
    CONDITIONAL,
    EQUALS,
    NOT,
    NOT_EQUALS,
    OR,
    Bind,
    Call,
    Comprehension,
    Expr,
    Ident,
    Lit,
    MacroKind,
    children,
    variables,
)
from ..source import Source
from ..unparse import brief
from .certainty import errs_with, never_errs
from .constraints import (
    Atom,
    TestKind,
    atom,
    constant,
    errs_only_with_subject,
    excludes,
    implies,
    impossible,
    is_finite,
    leave_none,
    needs,
    opposite,
    work,
)

MAX_TERMS = 100
"""Terms of one `&&` or `||` that are held against each other; of more, nothing is said."""
MAX_WORK = 30_000
"""Terms looked at and values compared for one filter; of what is left then, nothing is said."""
_Terms: TypeAlias = tuple[Expr, ...]
"""The terms that decide a whole, in the order in which they are written."""


def analyse(checked: Checked, source: Source) -> tuple[Diagnostic, ...]:
    """TRI251, TRI252 and TRI253 about a checked filter and its parts, the outermost of each."""
    run = _Run(checked.types, checked.environment)
    whole = checked.expr
    found: list[Diagnostic] = []
    pushed = _pushed(whole)
    if not isinstance(whole, Lit) and (terms := run.never(pushed, ())) is not None:
        found.append(_unsatisfiable(terms, source, "the filter never matches"))
    elif not isinstance(whole, Lit) and (terms := run.always(pushed, frozenset())) is not None:
        found.append(_always(terms, source, "the filter matches every event"))
    else:
        found.extend(_within(run, whole, source, frozenset()))
    return tuple(dict.fromkeys(found))


def never_matches(checked: Checked, failing: tuple[Expr, ...]) -> bool:
    """Whether no event makes the filter true, where these constants in it are an error whenever they are evaluated."""
    run = _Run(checked.types, checked.environment, failing=failing)
    return run.never(_pushed(checked.expr), ()) is not None


def _parts(run: _Run, e: Expr, source: Source, bound: frozenset[str]) -> Iterator[Diagnostic]:
    """What there is to say about the conjunctions and disjunctions in `e`."""
    logic = isinstance(e, Call) and e.function in (AND, OR)
    if logic and (terms := run.never(_pushed(e), ())) is not None:
        yield _unsatisfiable(terms, source, "this part never holds")
        return
    if logic and (terms := run.always(_pushed(e), bound)) is not None:
        yield _always(terms, source, "this part holds for every event")
        return
    yield from _within(run, e, source, bound)


def _within(run: _Run, e: Expr, source: Source, bound: frozenset[str]) -> Iterator[Diagnostic]:
    """What there is to say about the terms of `e`, of which nothing is to be said as a whole."""
    if isinstance(e, Call) and e.function in (AND, OR):
        for term, by in run.redundant(e):
            message = f"'{brief(term)}' adds nothing to '{brief(by)}'"
            yield Diagnostic("TRI253", message, source, term.span, "remove it: the outcome is the same without it")
    inner = bound | variables(e)
    for i, child in enumerate(children(e)):
        yield from _parts(run, child, source, inner if i else bound)


def _unsatisfiable(terms: _Terms, source: Source, outcome: str) -> Diagnostic:
    said, last = _listed(terms, "and"), terms[-1].span
    if len(terms) == 1:
        return Diagnostic("TRI251", f"{said} never holds: {outcome}", source, last)
    message = f"{said} never hold together: {outcome}"
    return Diagnostic("TRI251", message, source, last, "an error, such as an absent attribute, is no match")


def _always(terms: _Terms, source: Source, outcome: str) -> Diagnostic:
    return Diagnostic("TRI252", f"{_listed(terms, 'or')} always holds: {outcome}", source, terms[-1].span)


def _listed(terms: _Terms, word: str) -> str:
    *some, last = [f"'{brief(term)}'" for term in terms]
    return f"{', '.join(some)} {word} {last}" if some else last


def _pushed(e: Expr, negated: bool = False) -> Expr:
    """`e`, or its opposite, with negations only around what is no logic; exact, errors included."""
    match e:
        case Call(function=function, args=(inner,)) if function == NOT:
            found = _pushed(inner, not negated)
            return found if isinstance(found, Call) and found.function in (AND, OR) else replace(found, span=e.span)
        case Call(function=function, args=args) if function in (AND, OR):
            inner_ = tuple([_pushed(a, negated) for a in args])
            if not negated and all(a is b for a, b in zip(args, inner_, strict=True)):
                return e
            return replace(e, function={AND: OR, OR: AND}[function] if negated else function, args=inner_)
        case Call(function=function) if negated and function in (EQUALS, NOT_EQUALS):
            return replace(e, function=NOT_EQUALS if function == EQUALS else EQUALS)
        case _:
            return Call(NOT, (e,), span=e.span) if negated else e


@dataclass
class _Run:
    """One analysis. `left` is the work that it may still do; `failing` are constants that err."""

    types: Mapping[int, CelType]
    environment: Environment
    left: int = MAX_WORK
    failing: tuple[Expr, ...] = ()
    atoms: dict[int, tuple[Expr, Atom | None]] = field(default_factory=dict)

    def atom(self, e: Expr) -> Atom | None:
        """The test that `e` is, looked at once; the node is kept, so that its `id()` stays its own."""
        known = self.atoms.get(id(e))
        if known is None:
            known = self.atoms[id(e)] = (e, atom(e, self.types))
        return known[1]

    def spend(self, work: int) -> bool:
        """Whether there is enough left for the work, which is then done."""
        self.left -= work
        return self.left >= 0

    def never(self, e: Expr, given: tuple[Atom, ...]) -> _Terms | None:
        """The terms for which `e` is true for no event on which all that is given is true; None when it may be."""
        if not self.spend(1 + len(given)):
            return None
        if any(errs_with(e, part) for part in self.failing):
            return (e,)
        match e:
            case Call(function=function, args=args) if function == AND:
                return self._never_all(_flat(args, AND), given)
            case Call(function=function, args=args) if function == OR and self.atom(e) is None:
                found = [self.never(a, given) for a in args]
                return next(iter(found), None) if None not in found else None
            case Call(function=function, args=(_, then, other)) if function == CONDITIONAL:
                both = self.never(then, given), self.never(other, given)
                return both[0] if None not in both else None
            case Comprehension(macro=MacroKind.EXISTS | MacroKind.EXISTS_ONE, body=body):
                return self.never(_pushed(body), ())
            case Bind(body=body):
                return self.never(_pushed(body), ())
            case _:
                return self._never_alone(e, given)

    def _never_alone(self, e: Expr, given: tuple[Atom, ...]) -> _Terms | None:
        if (value := constant(e)) is not None:
            return None if value[0] is True else (e,)
        found = self.atom(e)
        if found is None:
            return None
        if impossible(found):
            return (e,)
        return next(((other.written, e) for other in given if excludes(other, found)), None)

    def _never_all(self, args: tuple[Expr, ...], given: tuple[Atom, ...]) -> _Terms | None:
        if len(args) > MAX_TERMS:
            return None
        atoms = [(a, self.atom(a)) for a in args]
        terms = _opposites(args) or self._first_pair(atoms, excludes) or self._none_left(atoms)
        if terms is not None:
            return terms
        known = (*given, *(found for _, found in atoms if found is not None))
        for a, found in atoms:
            terms = self.never(a, given if found is not None else known)
            if terms is not None:
                return terms
        return None

    def always(self, e: Expr, bound: frozenset[str]) -> _Terms | None:
        """The terms for which `e` is true for every event; None when it may not be."""
        if not self.spend(1):
            return None
        match e:
            case Call(function=function, args=args) if function == OR:
                return self._always_any(_flat(args, OR), bound)
            case Call(function=function, args=args) if function == AND:
                found = [self.always(a, bound) for a in args]
                return next(iter(found), None) if None not in found else None
            case _:
                if (value := constant(e)) is not None:
                    return (e,) if value[0] is True else None
                found_ = self.atom(e)
                sure = found_ is not None and impossible(opposite(found_)) and self._never_errs(e, bound)
                return (e,) if sure else None

    def _always_any(self, args: tuple[Expr, ...], bound: frozenset[str]) -> _Terms | None:
        if len(args) > MAX_TERMS:
            return None
        for a in args:
            terms = self.always(a, bound)
            if terms is not None:
                return terms
        sure = [(a, self.atom(a)) for a in args if self._never_errs(a, bound)]
        against = [(a, found and opposite(found)) for a, found in sure]
        return _opposites(tuple(a for a, _ in sure)) or self._first_pair(against, excludes) or self._none_left(against)

    def _first_pair(
        self, atoms: Sequence[tuple[Expr, Atom | None]], related: Callable[[Atom, Atom], bool]
    ) -> _Terms | None:
        """The first two terms that are so related."""
        for i, (a, first) in enumerate(atoms):
            if first is not None:
                for b, second in atoms[:i]:
                    if second is not None and self.spend(work(first, second)) and related(second, first):
                        return b, a
        return None

    def _none_left(self, atoms: Sequence[tuple[Expr, Atom | None]]) -> _Terms | None:
        """A term that lists values, and those that leave none of them."""
        tests = {id(e): (e, found) for e, found in atoms if found is not None and found.test is not TestKind.PRESENT}
        for e, listing in tests.values():
            of_it = [i for i in tests if (tests[i][1].subject, tests[i][1].sized) == (listing.subject, listing.sized)]
            enough = is_finite(listing) and len(of_it) > 2 and self.spend(len(listing.operands) * len(of_it) ** 2)
            if not enough or not leave_none([listing, *(tests[i][1] for i in of_it)]):
                continue
            for i in list(of_it):
                rest = [other for other in of_it if other != i]
                if i != id(e) and leave_none([listing, *(tests[other][1] for other in rest)]):
                    of_it = rest
            return tuple(tests[i][0] for i in of_it)
        return None

    def _never_errs(self, e: Expr, bound: frozenset[str]) -> bool:
        """Whether every event makes `e` true or false: it tests what every event has, and as it may be tested."""
        if never_errs(e, self.types):
            return True
        found = self.atom(e)
        if found is None or found.test is TestKind.PRESENT or not errs_only_with_subject(found):
            return False
        (base, keys) = found.subject
        if not isinstance(base, Ident) or base.name in bound or len(keys) > 1:
            return False
        root = self.environment.root(base.name)
        if isinstance(root, Record):
            declared = root.field(str(keys[0])) if keys else None
            return declared is not None and declared.required
        if root is None or keys or is_dynamic(root):
            return False
        return not self.environment.stored(base.name).optional

    def redundant(self, e: Call) -> Iterator[tuple[Expr, Expr]]:
        """Terms of `&&` or `||` that may go, each with the term that makes it so."""
        if len(e.args) > MAX_TERMS:
            return
        dual = OR if e.function == AND else AND
        atoms = [self.atom(a) for a in e.args]
        gone: set[int] = set()
        for i, term in enumerate(e.args):
            for j, by in enumerate(e.args):
                if i == j or j in gone or not self.spend(1):
                    continue
                if term == by:
                    needed = i < j  # of two that are the same, the first stays
                else:
                    needed = not _absorbed(term, by, dual) and self._says_more(atoms[i], atoms[j], e.function, i < j)
                if not needed:
                    gone.add(i)
                    yield term, by
                    break

    def _says_more(self, term: Atom | None, by: Atom | None, function: str, first: bool) -> bool:
        """Whether the term is needed beside the other; of two that say the same, the first is."""
        if term is None or by is None or not self.spend(work(term, by)) or not _says_no_more(term, by, function):
            return True
        return first and _says_no_more(by, term, function)


def _opposites(args: tuple[Expr, ...]) -> _Terms | None:
    """The first two terms of which one is the negation of the other."""
    seen: dict[Expr, Expr] = {}
    for a in args:
        negation = _pushed(a, negated=True)
        if negation in seen:
            return seen[negation], a
        seen.setdefault(a, a)
    return None


def _flat(args: tuple[Expr, ...], function: str) -> tuple[Expr, ...]:
    """The terms, with those of nested calls of the same function."""
    flat: list[Expr] = []
    for a in args:
        flat.extend(_flat(a.args, function) if isinstance(a, Call) and a.function == function else (a,))
    return tuple(flat)


def _absorbed(term: Expr, by: Expr, dual: str) -> bool:
    """Whether `term` is made of `by` and more: `a && b` beside `a` in a disjunction."""
    if not isinstance(term, Call) or term.function != dual:
        return False
    parts = set(by.args) if isinstance(by, Call) and by.function == dual else {by}
    return parts < set(term.args)


def _says_no_more(term: Atom, by: Atom, function: str) -> bool:
    """Whether `by && term` is `by`, or `by || term` is `by`, on every event, errors included.

    That one is true wherever the other is does not suffice: where the narrow one errs, the wide one must not be false.
    """
    narrow, wide = (by, term) if function == AND else (term, by)
    if not implies(narrow, wide):
        return False
    return errs_only_with_subject(narrow) or needs(narrow) == needs(wide)
