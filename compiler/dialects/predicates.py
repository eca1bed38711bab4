"""Tests of one context attribute, as CEL that never errs: an attribute that may be absent is guarded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..documents.document import Place, Scalar, described
from ..environments import attributes
from ..environments.attribute_names import RECORD
from ..environments.attributes import presence
from ..environments.cloudevent import CONTEXT_ATTRIBUTES
from ..nodes import EQUALS, NOT_EQUALS, Call, Expr, Ident, Select, conjunction, string
from ..source import Span
from ..values.rfc3339 import microseconds
from .model import Findings

_NAME = re.compile(r"[a-z][a-z0-9]*", re.ASCII)
_ANY_NAME = re.compile(r"[a-z0-9]+", re.ASCII)
_DOTTED = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z][a-z0-9]*)*", re.ASCII)
_LONGEST_NAME = 20
_METHODS = {"prefix": "startsWith", "suffix": "endsWith"}
_PARAMETERS = "(?:[ \\t]*;|$)"
"""What follows the media type in a content type, as a pattern."""
_SIGN = r"[\\.+*?()|\[\]{}^$]"
MEDIA_TYPE = "datamediatype"
TIME = "time"


@dataclass(frozen=True)
class Rules:
    """What one definition of the filters says of attributes.

    `names` are the names that it takes, and `naming` says so; `aliases` are old names of others. `derived` says that
    it knows `datamediatype`, which no event carries; `timely`, that the beginning and end of `time` can be asked, in the
    text that `string()` makes of it.
    """

    names: re.Pattern[str]
    naming: str
    aliases: Mapping[str, str] = field(default_factory=dict)
    derived: bool = False
    timely: bool = False


KNATIVE = Rules(
    _NAME, "begins with a letter and has only lower-case letters and digits", {"schemaurl": "dataschema"}, derived=True
)
CLOUD_EVENTS = Rules(_ANY_NAME, "has only lower-case letters and digits", timely=True)
"""The CloudEvents specification, section "Attribute Naming Convention", and the Subscriptions API, section 3.2.4.1."""


def attribute_name(
    place: Place, name: str, findings: Findings, *, dotted: bool = False, rules: Rules = KNATIVE
) -> str | None:
    """The attribute that a filter names, aliases resolved; None, and a report, where it cannot be one."""
    if name == "data":
        help_ = "test the payload with an expression"
        if rules is KNATIVE:
            help_ += ": filter.expression: data.field == ..."
        findings.report("TRI335", place, "'data' is the payload, not an attribute", help_)
        return None
    if not (_DOTTED if dotted else rules.names).fullmatch(name):
        message = f"'{place.path}': an attribute name {rules.naming}"
        findings.report("TRI333", place, message, _name_help(name, rules))
        return None
    if max(map(len, name.split("."))) > _LONGEST_NAME:
        message = f"attribute name '{name}' has more than {_LONGEST_NAME} characters, which CloudEvents advises against"
        findings.report("TRI334", place, message, "producers and brokers may refuse or cut such a name")
    if name in rules.aliases:
        message = f"'{name}' is an old name of the attribute '{rules.aliases[name]}'"
        findings.report("TRI340", place, message, f"write '{rules.aliases[name]}'")
    return rules.aliases.get(name, name)


def attribute_text(place: Place, findings: Findings) -> str | None:
    """The string that an attribute is compared with; None, and a report, for a value that is not a string."""
    value = place.value
    if isinstance(value, Scalar) and isinstance(value.value, str):
        return value.value
    help_ = "write the value as a string"
    if isinstance(value, Scalar) and value.value is not None:
        help_ = f'put it in quotes: "{value.text[:40]}"; attributes are compared in their text form'
    message = f"'{place.path}' must be a string, this is {described(value)}"
    findings.report("TRI336", place, message, help_, at=value.span)
    return None


def exact(name: str, value: str, place: Place, findings: Findings, rules: Rules = KNATIVE) -> Expr | None:
    """That the attribute is present and equal to `value`; for `time`, the same instant."""
    here, literal = _spans(place)
    if name == MEDIA_TYPE and rules.derived:
        return _media_type(value, place, findings)
    wanted: Expr = string(value, literal)
    if name == TIME:
        if microseconds(value) is None:
            help_ = "write a time such as '2024-05-01T12:30:00Z', with a zone"
            findings.report("TRI337", place, f"'{value[:60]}' is not an RFC 3339 time", help_, at=literal)
            return None
        wanted = Call("timestamp", (wanted,), span=literal)
    return _guarded(name, place, Call(EQUALS, (attribute(name, place.at), wanted), span=here))


def affix(kind: str, name: str, value: str, place: Place, findings: Findings, rules: Rules = KNATIVE) -> Expr | None:
    """That the attribute is present and begins (`prefix`) or ends (`suffix`) with `value`."""
    here, literal = _spans(place)
    if name == TIME and not rules.timely:
        message = f"'{kind}' cannot be used on 'time': a time is an instant, and has many text forms"
        findings.report("TRI338", place, message, 'compare instants: ce.time >= timestamp("2024-05-01T00:00:00Z")')
        return None
    if name == MEDIA_TYPE and rules.derived:
        help_ = f"use '{kind}' on 'datacontenttype', or 'exact'"
        findings.report("TRI338", place, f"'{kind}' cannot be used on 'datamediatype', which is derived", help_)
        return None
    subject = attribute(name, place.at)
    if name == TIME:
        subject = Call("string", (subject,), span=place.at)
    test = Call(_METHODS[kind], (string(value, literal),), subject, span=here)
    return _guarded(name, place, test)


def present(name: str, place: Place) -> Expr:
    """That the attribute is present and not empty. The required attributes always are."""
    here, literal = _spans(place)
    name = "datacontenttype" if name == MEDIA_TYPE else name
    if name == TIME:
        return has_attribute(name, here)
    if is_required(name):
        return conjunction((), here)
    return _guarded(name, place, Call(NOT_EQUALS, (attribute(name, place.at), string("", literal)), span=here))


def tested(e: Expr) -> tuple[str, str, str, Span] | None:
    """The (kind, attribute, value, span) of a test that `exact` or `affix` wrote, without its guard."""
    match e:
        case Call(function="_==_", args=(left, Call(function="timestamp", args=(right,)))) if _text(right) is not None:
            found = ("exact", named(left), _text(right))
        case Call(function="_==_", args=(left, right)):
            found = ("exact", named(left), _text(right))
        case Call(function="startsWith", target=left, args=(right,)):
            found = ("prefix", _named_text(left), _text(right))
        case Call(function="endsWith", target=left, args=(right,)):
            found = ("suffix", _named_text(left), _text(right))
        case _:
            return None
    kind, name, value = found
    return (kind, name, value, e.span) if name is not None and value is not None else None


def quote_pattern(text: str) -> str:
    """An RE2 pattern that matches exactly `text`."""
    return re.sub(_SIGN, lambda found: "\\" + found[0], text)


def media_type_of(pattern: str) -> str | None:
    """The media type that a pattern asks `datacontenttype` for, as `exact` writes it."""
    if not (pattern.startswith("^") and pattern.endswith(_PARAMETERS)):
        return None
    return re.sub(rf"\\({_SIGN})", r"\1", pattern[1 : -len(_PARAMETERS)])


def _media_type(value: str, place: Place, findings: Findings) -> Expr | None:
    here, literal = _spans(place)
    if ";" in value or value != value.strip():
        message = f"'{value[:60]}' is never a media type: it is what stands before ';', without spaces around it"
        findings.report("TRI338", place, message, "remove the parameters, or test 'datacontenttype'", at=literal)
        return None
    pattern = string(f"^{quote_pattern(value)}{_PARAMETERS}", literal)
    name = "datacontenttype"
    return _guarded(name, place, Call("matches", (pattern,), attribute(name, place.at), span=here))


def _guarded(name: str, place: Place, test: Expr) -> Expr:
    here, _ = _spans(place)
    return test if is_required(name) else conjunction((has_attribute(name, here), test), here)


def has_attribute(name: str, at: Span) -> Expr:
    """That an event has the attribute."""
    return presence(RECORD, name, at)


def attribute(name: str, at: Span) -> Expr:
    """The value of an attribute."""
    return attributes.attribute(RECORD, name, at)


def is_required(name: str) -> bool:
    """Whether every event has the attribute."""
    declared = CONTEXT_ATTRIBUTES.field(name)
    return declared is not None and declared.required


def named(e: Expr | None) -> str | None:
    """The attribute that `e` is; None where it is none."""
    match e:
        case Select(operand=Ident(name="ce"), field=name, optional=False):
            return name
        case Call(function="_[_]", args=(Ident(name="ce"), key)):
            return _text(key)
        case _:
            return None


def _named_text(e: Expr | None) -> str | None:
    """The attribute of which `e` is the text."""
    match e:
        case Call(function="string", target=None, args=(Select(operand=Ident(name="ce"), field=name),)) if name == TIME:
            return name
        case _:
            return named(e)


def _text(e: Expr) -> str | None:
    value = getattr(e, "value", None)
    return value if isinstance(value, str) else None


def _spans(place: Place) -> tuple[Span, Span]:
    """The entry (key and value), and the value."""
    value = place.value.span
    return Span(min(place.at.start, value.start), max(place.at.end, value.end)), value


def _name_help(name: str, rules: Rules) -> str:
    plain_name = re.sub(r"[^a-z0-9]", "", name.lower())
    if rules is not KNATIVE:
        return f"no event has such an attribute; did you mean '{plain_name[:40]}'?" if plain_name else ""
    plain_name = plain_name.lstrip("0123456789")
    if not plain_name:
        return ""
    if "." in name:
        return "dotted names are read in 'filter.attributes' only; CloudEvents 1.0 has none"
    return f"an event cannot carry this attribute through Knative; did you mean '{plain_name[:40]}'?"
