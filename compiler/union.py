"""The union of filters: one expression that holds for every event on which any of them is true or errs, and never errs.

A source of events may apply it, and nothing is lost downstream: what it turns down every filter turns down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from .analysis.disjunctions import TRUE, Index, Term, simplified, uncovered
from .analysis.factoring import Writer
from .analysis.outcomes import Outcomes
from .analysis.saying import Saying
from .analysis.widening import widened
from .check import Checked, check
from .diagnostics import errors
from .environments.cloudevent import CLOUD_EVENT
from .environments.model import Environment
from .nodes import Expr, disjunction, renumber, walk
from .rewrites import simplified as rewritten
from .source import Source
from .unparse import brief, unparse
from .versions import CURRENT


class Checkable(Protocol):
    """A filter that has been checked."""

    @property
    def checked(self) -> Checked:
        """Its expression, and what the checker learnt."""


@dataclass(frozen=True, slots=True)
class Wide:
    """A filter of which the union says less: the `parts` that it leaves out, as CEL."""

    filter: int
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Union:
    """One expression that holds for every event on which any of some filters is true or errs, and that never errs.

    Filters are known by their positions. `before` are the nodes of the disjunction of them all, `after` those of the
    union. `wide` are filters for which the union holds for more events than they are true or err on, and `everything`
    those for which it must hold for every event. `widened`: it says less than could be said, for its size.
    """

    checked: Checked
    before: int
    after: int
    wide: tuple[Wide, ...]
    everything: tuple[int, ...]
    widened: bool
    terms: tuple[Term, ...] = field(repr=False)
    writer: Writer = field(repr=False)

    @property
    def exact(self) -> bool:
        """Whether it holds for no other event than those on which a filter is true or errs."""
        return not self.wide and not self.widened

    @property
    def cel(self) -> str:
        """The expression's text."""
        return unparse(self.checked.expr)

    @property
    def plain(self) -> Expr:
        """The same, with each test beside its own guard and no list of values, as dialects without CEL say it."""
        return replace(self.writer, plain=True).expression(self.terms)


def union(
    filters: Sequence[Checkable],
    max_nodes: int | None = None,
    *,
    complete: bool = True,
    says: Callable[[Expr], bool] | None = None,
) -> Union:
    """The union of filters on one kind of event. Of no filter it is `false`.

    With `max_nodes` it has no more nodes, and may hold for more events. `complete`: every event has the attributes that
    the environment requires; without it the union asks whether they are there. With `says` what is asked of an attribute
    is only in the union as far as that takes an expression of it, as CEL has it or as in `plain`. Filters of another
    version of the language than the current one lend only their tests of texts against literals.

    Raises:
        ValueError: where the filters are on different kinds of events, or on events without a record of attributes, or
            `max_nodes` is less than 1.
    """
    if max_nodes is not None and max_nodes < 1:
        raise ValueError(f"an expression has at least 1 node, not {max_nodes}")
    environment = _environment(filters)
    sure = environment.required if complete else frozenset()
    writer = Writer(environment.record)
    saying = None if says is None else Saying(writer, says)
    found = [_outcomes(f.checked, sure, saying) for f in filters]
    terms = simplified(t for passing, _ in found for t in passing)
    smaller = terms
    if max_nodes is not None:
        smaller = widened(terms, lambda some: nodes(writer.expression(some)), max_nodes)
    checked = check(renumber(writer.expression(smaller)), environment, Source(""))
    if errors(checked.diagnostics):
        raise AssertionError(f"the union is no filter: {checked.diagnostics}")
    return Union(
        checked,
        nodes(disjunction(tuple(f.checked.expr for f in filters))),
        nodes(checked.expr),
        tuple(_wide(found)),
        tuple(i for i, (passing, _) in enumerate(found) if passing == [TRUE]),
        smaller is not terms,
        tuple(smaller),
        writer,
    )


def nodes(e: Expr) -> int:
    """How many nodes an expression has."""
    return sum(1 for _ in walk(e))


def _environment(filters: Sequence[Checkable]) -> Environment:
    known = [f.checked.environment for f in filters] or [CLOUD_EVENT]
    first = known[0]
    if first.record_type is None:
        raise ValueError(f"a union is about attributes, and a {first.name} has no record of them")
    for other in known:
        if (other.name, other.record, other.record_type) != (first.name, first.record, first.record_type):
            raise ValueError(f"a union is of filters on one kind of event, not on {first.name} and {other.name}")
    return first


def _outcomes(checked: Checked, sure: frozenset[str], saying: Saying | None) -> tuple[list[Term], tuple[str, ...]]:
    """The terms of one filter, and the parts that they do not say."""
    simpler = rewritten(checked, Source(""), spelled=True)
    run = Outcomes(simpler, sure, others=checked.version is CURRENT)
    terms = run.passing()
    lost = [brief(e) for e in run.lost]
    if saying is not None:
        terms = simplified([saying.loosened(term, lost) for term in terms])
    return terms, tuple(dict.fromkeys(lost))


def _wide(found: Sequence[tuple[list[Term], tuple[str, ...]]]) -> Iterator[Wide]:
    """The filters that let more in than they say, but for those of which the exact ones let in all."""
    exact = simplified(t for terms, lost in found if not lost for t in terms)
    index = Index.of(exact)
    for i, (terms, lost) in enumerate(found):
        if lost and any(uncovered(term, exact, index) is not None for term in terms):
            yield Wide(i, lost)
