"""Forms of the founding proposal's drafts: they are refused, with the same filter in a form that is read."""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence
from typing import NamedTuple

from ..documents.document import Mapping, Place, Scalar, Sequence, items, member, members
from ..nodes import NOT, Call, Expr, Ident, Select, conjunction, disjunction, string
from ..unparse import unparse
from . import expression
from .combinators import Known, filter_object
from .model import Dialect, Rows, Under, standing

_NESTED = ("cel", "javascript")
_MATCHES = {"matchTypes": "type", "matchType": "type", "matchSource": "source", "matchSources": "source"}
_LISTS = {"and": conjunction, "or": disjunction}
DRAFTS = (*_NESTED, *_MATCHES, *_LISTS)
"""What the drafts, and the alternatives that they name, have under `filter`."""

_LONGEST = 400
"""Characters of an expression that is suggested whole."""
_GENERAL = {
    **dict.fromkeys(_NESTED, "write the expression itself: filter.expression: ..."),
    **dict.fromkeys(_MATCHES, 'write filter.expression: ce.type.match("prefix*")'),
    "and": "write filters: [{all: [...]}], or join expressions with '&&' in filter.expression",
    "or": "write filters: [{any: [...]}], or join expressions with '||' in filter.expression",
}

Dialects = AbstractSequence[Dialect]


def current_form(name: str, given: AbstractSequence[tuple[str, Place]], dialects: Dialects) -> str:
    """How to write what a draft's form says: the whole of `given`, all entries that stand together, as one expression.

    `dialects` are those that are read. Where the entries cannot be read, the form is named without their text.
    """
    text = _own_text(given[0][1]) if len(given) == 1 and name in _NESTED else ""
    if not text:
        expr = _all(given, _Known(standing(dialects, Under.FILTER), standing(dialects, Under.FILTERS)))
        text = "" if expr is None else unparse(expr)
    return f"write filter.expression: {text}" if 0 < len(text) <= _LONGEST else _GENERAL[name]


class _Known(NamedTuple):
    """The dialects that stand under `filter`, and those that one filter of `filters` may have."""

    forms: Rows
    filters: Rows


def _all(given: AbstractSequence[tuple[str, Place]], known: _Known) -> Expr | None:
    terms = [_one(name, entry, known) for name, entry in given]
    kept = tuple(term for term in terms if term is not None)
    return conjunction(kept, given[0][1].value.span) if kept and len(kept) == len(terms) else None


def _one(name: str, entry: Place, known: _Known) -> Expr | None:
    if name in known.forms:
        return known.forms[name].to_cel(entry).expr
    if name in _NESTED:
        inner = _nested(entry)
        return None if inner is None else expression.to_cel(inner).expr
    if name in _MATCHES:
        return _matches(_MATCHES[name], entry)
    if name in _LISTS and isinstance(entry.value, Sequence):
        terms = [_item(item, known) for item in items(entry)]
        kept = tuple(term for term in terms if term is not None)
        return _LISTS[name](kept, entry.value.span) if kept and len(kept) == len(terms) else None
    if name == "not":
        inner_expr = _item(entry, known)
        return None if inner_expr is None else Call(NOT, (inner_expr,), span=entry.value.span)
    return None


def _nested(entry: Place) -> Place | None:
    return member(entry, "expression") if isinstance(entry.value, Mapping) else entry


def _own_text(entry: Place) -> str:
    """The expression as it is written, on one line; empty where there is none."""
    inner = _nested(entry)
    value = inner.value if inner is not None else None
    return (
        " ".join(value.value.split("\n")).strip() if isinstance(value, Scalar) and isinstance(value.value, str) else ""
    )


def _item(item: Place, known: _Known) -> Expr | None:
    given = members(item)
    if len(given) == 1 and given[0][0] in known.filters and given[0][0] != "not":
        return filter_object(Known(lambda: known.filters), item).expr
    return _all(given, known) if given else None


def _matches(attribute: str, entry: Place) -> Expr | None:
    globs = items(entry) if isinstance(entry.value, Sequence) else (entry,)
    tests = []
    for glob in globs:
        if not isinstance(glob.value, Scalar) or not isinstance(glob.value.value, str):
            return None
        at = glob.value.span
        subject = Select(Ident("ce", span=at), attribute, span=at)
        tests.append(Call("match", (string(glob.value.value, at),), subject, span=at))
    return disjunction(tuple(tests), entry.value.span) if tests else None
