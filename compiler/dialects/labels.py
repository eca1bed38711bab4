"""Kubernetes label selectors over the attributes of an event, or a map in its payload, as text or as an object.

An object has `matchLabels` and `matchExpressions`, or a text as `selector`, and may have a `path` to the map.

As in Kubernetes, an event without the attribute passes `!=` and `notin`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..diagnostics import errors
from ..documents.document import Mapping, Place, Scalar, Sequence, described, embedded, is_null, items, member, members
from ..nodes import EQUALS, GREATER, IN, LESS, Call, Expr, ListExpr, Lit, LitKind, conjunction, conjuncts, string
from ..source import Span
from ..suggest import closest, did_you_mean
from .given import yaml_place
from .inverse import inverse
from .label_maps import AttributeLabels, Labels, MapLabels, Term, read_map, written
from .label_selector_cel import WHOLE_NUMBER
from .label_selector_text import Part, Requirement, requirements
from .model import Dialect, Findings, Translation, within
from .predicates import TIME, attribute_text

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?", re.ASCII)
_DNS = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII)
_LONGEST_NAME, _LONGEST_PREFIX, _LARGEST = 63, 253, 2**63 - 1
_COMPARED = {"Gt": GREATER, "Lt": LESS}
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_FIELDS = ("matchLabels", "matchExpressions", "selector", "path")
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
    labels, whole = AttributeLabels(), Place(place.value, source, "", place.at)
    terms = _text_terms(whole, labels, findings)
    expr = None if terms is None else labels.joined(terms, Span(0, len(source.text)))
    return Translation(expr, source, tuple(findings.found), "labels")


def _text_terms(place: Place, labels: Labels, findings: Findings) -> list[Term] | None:
    """The terms of the text that the whole source at a place is; None where one was refused."""
    asked, found = requirements(place.source)
    findings.found.extend(found)
    terms = [_term(one, labels, place, findings) for one in asked]
    return None if found else _whole(terms)


def _whole(terms: list[Term | None]) -> list[Term] | None:
    kept = [term for term in terms if term is not None]
    return kept if len(kept) == len(terms) else None


def _object(place: Place) -> Translation:
    findings = Findings()
    _known_only(place, _FIELDS, findings)
    for name, entry in members(place):
        if name in _FIELDS and name != "path" and is_null(entry.value):
            message = f"'{entry.path}' is null, and asks for nothing"
            findings.report("TRI355", entry, message, "write what it asks for, or remove it")
    path = dict(members(place)).get("path")
    labels = AttributeLabels() if path is None else read_map(path, findings)
    terms: list[Term | None] = []
    pairs, expressions, text = (member(place, name) for name in _FIELDS[:3])
    if pairs is not None and findings.expect_mapping(pairs):
        terms += [_label(key, entry, labels, findings) for key, entry in members(pairs)]
    if expressions is not None and _is_list(expressions, findings):
        terms += [_expression(item, labels, findings) for item in items(expressions)]
    if text is not None and findings.expect_string(text) is not None:
        terms += _selector(text, labels, findings)
    kept = None if errors(tuple(findings.found)) else _whole(terms)
    expr = None if kept is None else labels.joined(kept, place.value.span)
    return Translation(expr, place.source, tuple(findings.found), "labels")


def _selector(place: Place, labels: Labels, findings: Findings) -> list[Term | None]:
    """The terms of the text in an object, with their places in the object's own text."""
    source = embedded(place)
    terms = _text_terms(Place(place.value, source, place.path, place.at), labels, findings)
    found: list[Term | None] = []
    for term in terms or ():
        translation = Translation(term.test, source, (), "labels")
        test = within(translation, place.source, place.value.span)
        found.append(None if test is None else term._replace(test=test, span=place.value.span))
    return found if terms is not None else [None]


def _label(key: str, entry: Place, labels: Labels, findings: Findings) -> Term | None:
    text = attribute_text(entry, findings)
    if text is None:
        return None
    value = Part(text, entry.value.span)
    span = Span(min(entry.at.start, value.span.start), max(entry.at.end, value.span.end))
    return _term(Requirement(Part(key, entry.at), "In", (value,), span), labels, entry, findings)


def _expression(place: Place, labels: Labels, findings: Findings) -> Term | None:
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
    return _term(Requirement(key, name, values, place.value.span), labels, place, findings)


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


def _term(asked: Requirement, labels: Labels, place: Place, findings: Findings) -> Term | None:
    """What one requirement asks for, which is no error for any event; None where it was refused."""
    known = len(findings.found)
    _check_key(asked, labels, place, findings)
    for value in asked.values:
        _check_value(value, asked.operator, place, findings)
    if len(findings.found) > known:
        return None
    key = asked.key
    match asked.operator:
        case "Exists" | "DoesNotExist":
            return Term(labels.has(key.text, key.span), asked.operator == "DoesNotExist", asked.span)
        case "In" | "NotIn":
            test = conjunction((labels.has(key.text, key.span), _one_of(asked, labels)), asked.span)
            return Term(_without_true(test), asked.operator == "NotIn", asked.span)
        case _:
            return Term(_without_true(_compared(asked, labels)), False, asked.span)


def _without_true(e: Expr) -> Expr:
    return conjunction(tuple(term for term in conjuncts(e) if term != conjunction(())), e.span)


def _one_of(asked: Requirement, labels: Labels) -> Expr:
    subject = labels.value(asked.key.text, asked.key.span)
    first = {value.text: string(value.text, value.span) for value in reversed(asked.values)}
    values = labels.values(tuple(first[text] for text in sorted(first)), asked.span)
    if len(values) == 1:
        return Call(EQUALS, (subject, values[0]), span=asked.span)
    return Call(IN, (subject, ListExpr(values, span=asked.span)), span=asked.span)


def _compared(asked: Requirement, labels: Labels) -> Expr:
    """That there is the label, that it is a whole number of 64 bits, and on which side of the value it is."""
    key, (value,) = asked.key, asked.values
    subject = labels.value(key.text, key.span)
    whole = Call("matches", (string(WHOLE_NUMBER, asked.span),), subject, span=asked.span)
    number = Call("int", (subject,), span=key.span)
    limit = Lit(LitKind.INT, int(value.text), span=value.span)
    compared = Call(_COMPARED[asked.operator], (number, limit), span=asked.span)
    there = (labels.has(key.text, key.span), *labels.kinds(key.text, key.span))
    return conjunction((*there, whole, compared), asked.span)


def _check_key(asked: Requirement, labels: Labels, place: Place, findings: Findings) -> None:
    key = asked.key
    prefix, slash, name = key.text.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _DNS.fullmatch(prefix)):
        help_ = f"lower-case letters, digits, '-' and '.', at most {_LONGEST_PREFIX} characters, as 'example.com'"
        findings.report("TRI350", place, f"'{prefix}', the prefix of a label's key, is no DNS name", help_, at=key.span)
    _check_text(name, key.span, "the name of a label", place, findings)
    if isinstance(labels, MapLabels):
        return
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
    from_cel=inverse(to_cel, written),
    doc="A label selector of Kubernetes over the attributes, or a map in the payload, as text or as an object.",
    example="env in (prod, test), tier != web, !canary",
    page="labels",
    text=True,
    suffix=".labels",
    order=5,
)
