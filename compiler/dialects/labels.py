"""Kubernetes label selectors over the attributes of an event, as text or as `matchLabels` and `matchExpressions`.

As in Kubernetes, an event without the attribute passes `!=` and `notin`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..diagnostics import errors
from ..documents.document import Mapping, Place, Scalar, Sequence, described, embedded, items, member, members
from ..nodes import EQUALS, GREATER, IN, LESS, NOT, Call, Expr, ListExpr, Lit, LitKind, conjunction, disjunction, string
from ..source import Span
from ..suggest import closest, did_you_mean
from .given import yaml_place
from .inverse import inverse
from .label_selector_cel import WHOLE_NUMBER, selector_of
from .label_selector_text import Part, Requirement, requirements
from .model import Dialect, Findings, Translation, all_of
from .predicates import TIME, attribute, attribute_text, has_attribute, is_required

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?", re.ASCII)
_DNS = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII)
_LONGEST_NAME, _LONGEST_PREFIX, _LARGEST = 63, 253, 2**63 - 1
_COMPARED = {"Gt": GREATER, "Lt": LESS}
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_FIELDS = ("matchLabels", "matchExpressions")
_EXPRESSION_FIELDS = ("key", "operator", "values")
_DATA = ("{", *(f"{name}:" for name in _FIELDS))
"""How the text of a selector that is an object begins. No other selector has such signs."""


def to_cel(place: Place) -> Translation:
    """`a=b,!c` as `has(ce.a) && ce.a == "b" && !has(ce.c)`; no requirement at all is every event."""
    if isinstance(place.value, Mapping):
        return _object(place)
    findings = Findings()
    if not isinstance(place.value, Scalar) or not isinstance(place.value.value, str):
        message = f"'{place.path}' must be a string or a mapping, this is {described(place.value)}"
        findings.report("TRI310", place, message, at=place.value.span)
        return Translation(None, place.source, tuple(findings.found), "labels")
    source = embedded(place)
    if source.text.lstrip().startswith(_DATA):
        inner, found = yaml_place(source, place.path)
        if inner is None or errors(found) or not findings.expect_mapping(inner):
            return Translation(None, source, (*found, *findings.found), "labels")
        translation = _object(inner)
        return replace(translation, diagnostics=(*found, *translation.diagnostics))
    asked, found = requirements(source)
    if found:
        return Translation(None, source, found, "labels")
    whole = Place(place.value, source, "", place.at)
    terms = [_term(one, whole, findings) for one in asked]
    return Translation(all_of(terms, Span(0, len(source.text))), source, tuple(findings.found), "labels")


def _object(place: Place) -> Translation:
    findings = Findings()
    _known_only(place, _FIELDS, findings)
    terms: list[Expr | None] = []
    labels, expressions = member(place, "matchLabels"), member(place, "matchExpressions")
    if labels is not None and findings.expect_mapping(labels):
        terms += [_label(key, entry, findings) for key, entry in members(labels)]
    if expressions is not None and _is_list(expressions, findings):
        terms += [_expression(item, findings) for item in items(expressions)]
    expr = None if findings.found else all_of(terms, place.value.span)
    return Translation(expr, place.source, tuple(findings.found), "labels")


def _label(key: str, entry: Place, findings: Findings) -> Expr | None:
    text = attribute_text(entry, findings)
    if text is None:
        return None
    value = Part(text, entry.value.span)
    span = Span(min(entry.at.start, value.span.start), max(entry.at.end, value.span.end))
    return _term(Requirement(Part(key, entry.at), "In", (value,), span), entry, findings)


def _expression(place: Place, findings: Findings) -> Expr | None:
    if not findings.expect_mapping(place):
        return None
    _known_only(place, _EXPRESSION_FIELDS, findings)
    key, operator = _text(place, "key", findings), _text(place, "operator", findings)
    given = member(place, "values")
    values = _values(given, findings) if given is not None else ()
    if key is None or operator is None or values is None:
        return None
    name = operator.text
    if name not in _OPERATORS:
        help_ = did_you_mean(closest(name, _OPERATORS)) or f"one of {', '.join(_OPERATORS)}"
        findings.report("TRI349", place, f"there is no operator '{name}'", help_, at=operator.span)
        return None
    if (name in ("In", "NotIn")) != bool(values):
        wanted = "takes no values" if values else "needs at least one value"
        findings.report("TRI349", given or place, f"'{name}' {wanted}", "see 'tricel rule TRI349'")
        return None
    return _term(Requirement(key, name, values, place.value.span), place, findings)


def _text(place: Place, name: str, findings: Findings) -> Part | None:
    entry = member(place, name)
    if entry is None:
        findings.report(
            "TRI349", place, f"'{place.path}.{name}' is missing", f"known fields: {', '.join(_EXPRESSION_FIELDS)}"
        )
        return None
    text = findings.expect_string(entry)
    return None if text is None else Part(text, entry.value.span)


def _values(place: Place, findings: Findings) -> tuple[Part, ...] | None:
    if not _is_list(place, findings):
        return None
    texts = [(attribute_text(item, findings), item.value.span) for item in items(place)]
    found = tuple(Part(text, span) for text, span in texts if text is not None)
    return found if len(found) == len(texts) else None


def _is_list(place: Place, findings: Findings) -> bool:
    if isinstance(place.value, Sequence):
        return True
    message = f"'{place.path}' must be a list, this is {described(place.value)}"
    findings.report("TRI310", place, message, at=place.value.span)
    return False


def _known_only(place: Place, known: tuple[str, ...], findings: Findings) -> None:
    for name, entry in members(place):
        if name not in known:
            help_ = did_you_mean(closest(name, known)) or f"known fields: {', '.join(known)}"
            findings.report("TRI349", entry, f"'{entry.path}' is not a field of a label selector", help_)


def _term(asked: Requirement, place: Place, findings: Findings) -> Expr | None:
    """One requirement as CEL that does not err; None where it was refused."""
    known = len(findings.found)
    _check_key(asked, place, findings)
    for value in asked.values:
        _check_value(value, asked.operator, place, findings)
    if len(findings.found) > known:
        return None
    name, at = asked.key.text, asked.key.span
    match asked.operator:
        case "Exists":
            return conjunction((), at) if is_required(name) else has_attribute(name, at)
        case "DoesNotExist" if is_required(name):
            return disjunction((), asked.span)
        case "DoesNotExist":
            return Call(NOT, (has_attribute(name, at),), span=asked.span)
        case "NotIn":
            return Call(NOT, (_guarded(asked, _one_of(asked)),), span=asked.span)
        case "In":
            return _guarded(asked, _one_of(asked))
        case _:
            return _guarded(asked, *_compared(asked))


def _guarded(asked: Requirement, *tests: Expr) -> Expr:
    name = asked.key.text
    guard = () if is_required(name) else (has_attribute(name, asked.key.span),)
    return conjunction((*guard, *tests), asked.span)


def _one_of(asked: Requirement) -> Expr:
    subject = attribute(asked.key.text, asked.key.span)
    first = {value.text: string(value.text, value.span) for value in reversed(asked.values)}
    values = tuple(first[text] for text in sorted(first))
    if len(values) == 1:
        return Call(EQUALS, (subject, values[0]), span=asked.span)
    return Call(IN, (subject, ListExpr(values, span=asked.span)), span=asked.span)


def _compared(asked: Requirement) -> tuple[Expr, Expr]:
    """That the attribute is a whole number, and on which side of the value it is."""
    subject, (value,) = attribute(asked.key.text, asked.key.span), asked.values
    whole = Call("matches", (string(WHOLE_NUMBER, asked.span),), subject, span=asked.span)
    number = Call("int", (subject,), span=asked.key.span)
    limit = Lit(LitKind.INT, int(value.text), span=value.span)
    return whole, Call(_COMPARED[asked.operator], (number, limit), span=asked.span)


def _check_key(asked: Requirement, place: Place, findings: Findings) -> None:
    key = asked.key
    prefix, slash, name = key.text.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _DNS.fullmatch(prefix)):
        help_ = f"lower-case letters, digits, '-' and '.', at most {_LONGEST_PREFIX} characters, as 'example.com'"
        findings.report("TRI350", place, f"'{prefix}', the prefix of a label's key, is no DNS name", help_, at=key.span)
    _check_text(name, key.span, "the name of a label", place, findings)
    if key.text == "data":
        findings.report(
            "TRI335", place, "'data' is the payload, not an attribute", "write the filter as CEL", at=key.span
        )
    if key.text == TIME and asked.operator not in ("Exists", "DoesNotExist"):
        help_ = 'compare instants in CEL: ce.time >= timestamp("2024-05-01T00:00:00Z")'
        findings.report("TRI338", place, "'time' is an instant, and no label's value is one", help_, at=key.span)


def _check_value(value: Part, operator: str, place: Place, findings: Findings) -> None:
    if value.text:
        _check_text(value.text, value.span, "the value of a label", place, findings)
    number = re.fullmatch(r"[0-9]+", value.text, re.ASCII)
    if operator in _COMPARED and (number is None or len(value.text) > _LONGEST_NAME or int(value.text) > _LARGEST):
        message = f"'{value.text}' is compared as a number, and is no whole number of 64 bits"
        findings.report("TRI350", place, message, "compare text by '=' or 'in'", at=value.span)


def _check_text(text: str, at: Span, what: str, place: Place, findings: Findings) -> None:
    if len(text) > _LONGEST_NAME:
        message = f"'{text}' has {len(text)} characters, and {what} has at most {_LONGEST_NAME}"
        findings.report("TRI350", place, message, at=at)
    elif not _NAME.fullmatch(text):
        help_ = "letters, digits, '-', '_' and '.', with a letter or digit at each end"
        findings.report("TRI350", place, f"'{text}' is not {what}", help_, at=at)


ROW = Dialect(
    name="labels",
    to_cel=to_cel,
    from_cel=inverse(to_cel, selector_of),
    doc="A label selector of Kubernetes over the attributes, as text or as `matchLabels` and `matchExpressions`.",
    example="env in (prod, test), tier != web, !canary",
    page="labels",
    text=True,
    order=5,
)
