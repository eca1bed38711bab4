"""EMQX's message validations as policies: `schema_validation { validations = [...] }` in HOCON, JSON or YAML.

The names of the document that proposed them are read as well, with a warning. Other roots of a configuration are passed
over, and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from ..diagnostics import Diagnostic, errors
from ..dialects.model import Findings
from ..documents.document import (
    Document,
    Mapping,
    Place,
    Scalar,
    Sequence,
    items,
    member,
    members,
    read_documents,
    root,
)
from ..documents.hocon import read_hocon
from ..faults import bounded, internal_error
from ..patterns.topic_filters import TopicError, check_topic_filter
from ..policies.model import Action, Check, CheckType, LogLevel, Policy, Strategy
from ..source import NOWHERE, Source
from ..suggest import closest, did_you_mean
from .inverted_comments import inverted
from .validation_options import CHECKS, LONGEST_NAME, NAME, REFUSED, ROOTS, VALIDATION, Kind, Option

HOCON_SUFFIXES = (".conf", ".hocon")
_NAME = re.compile(NAME, re.ASCII)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)


@dataclass(frozen=True)
class Configuration:
    """The policies of a text in order, and how many other roots it has."""

    policies: tuple[Policy, ...]
    passed_over: int = 0


def read_validations(source: Source) -> tuple[Configuration, tuple[Diagnostic, ...]]:
    """The validations that are right, and what is said of the text; HOCON where its name has a suffix of that."""
    nothing = Configuration(())
    return bounded(lambda: _read(source), lambda fault: (nothing, (internal_error(fault, source, NOWHERE),)))


def is_configuration(source: Source) -> bool:
    """Whether a text is to be read for validations: HOCON, or the root of validations in a text without a `kind`."""
    if PurePath(source.name).suffix in HOCON_SUFFIXES:
        return True
    return any(word in source.text for word in ROOTS) and "kind" not in source.text


def _read(source: Source) -> tuple[Configuration, tuple[Diagnostic, ...]]:
    documents: tuple[Document, ...]
    if PurePath(source.name).suffix in HOCON_SUFFIXES:
        if "validations" not in source.text:  # of another program, or without validations
            return Configuration(()), ()
        document, found = read_hocon(source)
        documents = () if document is None else (document,)
    else:
        documents, found = read_documents(source)
    findings = Findings([*found, *(d for document in documents for d in document.diagnostics)])
    policies: list[Policy] = []
    passed_over = 0
    names: dict[str, Place] = {}
    for document in documents:
        lists, others = _lists(root(document), findings)
        passed_over += others
        for place in (entry for each in lists for entry in items(each)):
            policy = _policy(place, len(policies), names, findings)
            if policy is not None:
                policies.append(policy)
    return Configuration(tuple(policies), passed_over), tuple(findings.found)


def _lists(top: Place, findings: Findings) -> tuple[list[Place], int]:
    """The lists of validations, and the number of other roots."""
    lists: list[Place] = []
    others = 0
    for name, place in members(top):
        if name == "validations":
            lists.append(place)
        elif name not in ROOTS:
            others += 1
        else:
            if name != ROOTS[0]:
                findings.report("TRI398", place, f"the root '{name}' is '{ROOTS[0]}' in EMQX", f"write '{ROOTS[0]}'")
            if findings.expect_mapping(place):
                inner = dict(members(place))
                lists.extend(p for n, p in inner.items() if n == "validations")
                for n, p in inner.items():
                    if n != "validations":
                        help_ = did_you_mean(closest(n, ("validations",))) or "known options: validations"
                        findings.report("TRI395", p, f"'{p.path}' is no option", help_)
    for place in lists:
        if not isinstance(place.value, Sequence):
            findings.report("TRI394", place, f"'{place.path}' must be a list", "write '[ { name = ... } ]'")
    return lists, others


def _policy(place: Place, order: int, names: dict[str, Place], findings: Findings) -> Policy | None:
    before = len(findings.found)
    given = _options(place, VALIDATION, "a validation", findings)
    if given is None:
        return None
    name = _name(given, names, findings)
    topics = _topics(given, findings)
    checks = _checks(place, given, findings)
    level = _level(given, findings)
    if errors(findings.found[before:]):
        return None
    return Policy(
        name,
        order,
        topics,
        checks,
        Strategy(_text(given, "strategy")),
        Action(_text(given, "failure_action")),
        level,
        _flag(given, "enable"),
        tuple(_strings(given.get("tags"))),
        _text(given, "description"),
    )


def _options(place: Place, options: tuple[Option, ...], what: str, findings: Findings) -> dict[str, Place] | None:
    """The entries of an object by name, each of the kind that its option asks for; None where it is no object."""
    if not findings.expect_mapping(place):
        return None
    known = {option.name: option for option in options}
    for name, entry in members(place):
        option = known.get(name)
        if option is None:
            shown = [o.name for o in options if not o.now]
            help_ = did_you_mean(closest(name, shown)) or f"known options: {', '.join(shown)}"
            findings.report("TRI395", entry, f"{what} has no option '{name}'", help_)
            continue
        if option.now:
            findings.report("TRI398", entry, f"EMQX has no option '{name}' of a validation", f"write {option.now}")
        _check_kind(entry, option, findings)
    given = {name: found for name in known if (found := member(place, name)) is not None}
    for option in options:
        if option.required and option.name not in given:
            help_ = f"one of {', '.join(option.choices)}" if option.choices else option.doc
            findings.report("TRI394", place, f"{what} lacks '{option.name}'", help_)
    return given


def _check_kind(place: Place, option: Option, findings: Findings) -> None:
    value = place.value
    match option.kind:
        case Kind.TEXT:
            text = findings.expect_string(place)
            if text is not None and option.choices and text not in option.choices:
                wanted = " | ".join(option.choices)
                help_ = did_you_mean(closest(text, option.choices)) or f"expected {wanted}"
                message = f"'{option.name}' is '{text}', expected {wanted}"
                findings.report("TRI394", place, message, help_, at=value.span)
        case Kind.BOOLEAN:
            if not (isinstance(value, Scalar) and isinstance(value.value, bool)):
                findings.report(
                    "TRI394", place, f"'{option.name}' must be true or false", "write true or false", at=value.span
                )
        case Kind.TEXTS | Kind.TEXT_OR_TEXTS:
            if not (option.kind is Kind.TEXT_OR_TEXTS and isinstance(value, Scalar)):
                _check_list(place, option, findings)
            for each in items(place) or ([place] if isinstance(value, Scalar) else ()):
                findings.expect_string(each)
        case Kind.CHECKS:
            _check_list(place, option, findings)
        case Kind.OBJECT:
            _options(place, option.options, f"'{option.name}'", findings)


def _check_list(place: Place, option: Option, findings: Findings) -> None:
    if not isinstance(place.value, Sequence):
        findings.report("TRI394", place, f"'{option.name}' must be a list", "write '[ ... ]'", at=place.value.span)


def _name(given: dict[str, Place], names: dict[str, Place], findings: Findings) -> str:
    place = given.get("name")
    name = _text(given, "name")
    if place is None or not isinstance(place.value, Scalar) or not isinstance(place.value.value, str):
        return name
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        help_ = f"a letter or digit, then letters, digits, '_' and '-', at most {LONGEST_NAME} in all"
        findings.report("TRI394", place, f"'{name}' is no name of a validation", help_, at=place.value.span)
    elif name in names:
        line = place.source.position(names[name].at.start).line
        findings.report(
            "TRI396",
            place,
            f"a validation '{name}' is already on line {line}",
            "name each validation once",
            at=place.value.span,
        )
    else:
        names[name] = place
    return name


def _topics(given: dict[str, Place], findings: Findings) -> tuple[str, ...]:
    place = given.get("topics")
    if place is None:
        return ()
    if isinstance(place.value, Sequence) and not place.value.items:
        findings.report("TRI394", place, "at least one topic filter must be defined", "write one, such as 't/#'")
    parts = items(place) or (place,)
    topics: list[str] = []
    for part in parts:
        value = part.value
        if isinstance(value, Scalar) and isinstance(value.value, str):
            topics.append(value.value)
            try:
                check_topic_filter(value.value)
            except TopicError as e:
                findings.report(
                    "TRI394",
                    part,
                    f"'{value.value}' is no topic filter: {e}",
                    "write one, such as 't/+/x' or 't/#'",
                    at=value.span,
                )
    twice = sorted(topic for topic, count in Counter(topics).items() if count > 1)
    if twice:
        findings.report("TRI396", place, f"duplicated topics: {', '.join(twice)}", "write each topic filter once")
    return tuple(topics)


def _checks(validation: Place, given: dict[str, Place], findings: Findings) -> tuple[Check, ...]:
    place = given.get("checks")
    if place is None or not isinstance(place.value, Sequence):
        return ()
    if not place.value.items:
        findings.report(
            "TRI394",
            place,
            "at least one check must be defined",
            "write one, such as '{ type = sql, sql = \"SELECT * WHERE ...\" }'",
        )
    checks = [check for each in items(place) if (check := _check(each, findings)) is not None]
    pairs = Counter((c.type, c.text) for c in checks if c.type is not CheckType.SQL)
    twice = ", ".join(f"{type_}:{text}" for (type_, text), count in sorted(pairs.items()) if count > 1)
    if twice:
        findings.report("TRI396", place, f"duplicated schema checks: {twice}", "check each schema once")
    spoken = _text(given, "description")
    for check in checks:
        if check.type is CheckType.SQL and check.place is not None:
            said = inverted(check.text, _written(check.place, validation), spoken)
            if said:
                message = f"a message passes where '{said}' holds, and the comment calls such a message invalid"
                findings.report("TRI399", check.place, message, "turn the comparison round, or the comment")
    return tuple(checks)


def _written(sql: Place, validation: Place) -> str:
    """The lines of comments that stand before the SQL within its validation, up to the check before it."""
    text = sql.source.text
    begin = text.rfind("{", min(validation.value.span.start, sql.at.start), sql.at.start)
    lines = text[max(begin, 0) : sql.at.start].split("\n")
    return " ".join(line.strip().lstrip("#/ ") for line in lines if line.strip().startswith(("#", "//")))


def _check(place: Place, findings: Findings) -> Check | None:
    if not findings.expect_mapping(place):
        return None
    type_place = member(place, "type")
    word = _string(type_place)
    if word not in tuple(CheckType):
        wanted = " | ".join(CheckType)
        at = place if type_place is None else type_place
        message = (
            f"the type of a check is '{word}', expected {wanted}"
            if word
            else f"a check lacks 'type', expected {wanted}"
        )
        findings.report(
            "TRI394",
            at,
            message,
            did_you_mean(closest(word, tuple(CheckType))) or f"expected {wanted}",
            at=at.value.span if word else None,
        )
        return None
    type_ = CheckType(word)
    given = _options(place, CHECKS[type_], f"a check of type '{type_}'", findings)
    if given is None:
        return None
    if type_ in REFUSED:
        findings.report(
            "TRI397",
            place,
            f"checks of type '{type_}' are not evaluated: {REFUSED[type_]}",
            "check a schema, or a condition",
        )
    sql = given.get("sql")
    if sql is not None:
        _check_sql(sql, findings)
    text = _text(given, "sql" if type_ is CheckType.SQL else "schema")
    return Check(type_, text, _text(given, "message_type"), sql if sql is not None else place)


def _check_sql(place: Place, findings: Findings) -> None:
    text = _QUOTED.sub(lambda m: " " * len(m[0]), _string(place))
    if text.lstrip()[:7].lower() == "foreach":
        findings.report(
            "TRI394",
            place,
            "foreach_not_allowed: the SQL of a check has no FOREACH",
            "write 'SELECT ... WHERE ...'",
            at=place.value.span,
        )
    elif _FROM.search(text):
        findings.report(
            "TRI394",
            place,
            "non_empty_from_clause: the SQL of a check has no FROM",
            "write 'SELECT ... WHERE ...'; 'topics' says where from",
            at=place.value.span,
        )


def _level(given: dict[str, Place], findings: Findings) -> LogLevel:
    old, new = given.get("log_failure_at"), given.get("log_failure")
    inner = None if new is None or not isinstance(new.value, Mapping) else member(new, "level")
    if old is not None and inner is not None:
        findings.report("TRI396", old, "the level of the log is said twice", "keep 'log_failure'")
    word = _string(inner) or _string(old)
    return LogLevel(word) if word in tuple(LogLevel) else LogLevel.INFO


def _text(given: dict[str, Place], name: str) -> str:
    return _string(given.get(name))


def _string(place: Place | None) -> str:
    value = None if place is None else place.value
    return value.value if isinstance(value, Scalar) and isinstance(value.value, str) else ""


def _strings(place: Place | None) -> Iterable[str]:
    return () if place is None else (_string(each) for each in items(place))


def _flag(given: dict[str, Place], name: str) -> bool:
    place = given.get(name)
    return place is None or (isinstance(place.value, Scalar) and place.value.value is True)
