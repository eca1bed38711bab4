"""The text of a Kubernetes label selector as requirements: the tokens and the grammar of `k8s.io/apimachinery`.

`in` and `notin` are operators after a key, and names elsewhere. A value may be empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ..diagnostics import Diagnostic
from ..source import Source, Span

_TOKEN = re.compile(r"[ \t\r\n]*(?P<sign>==|!=|[=!(),<>])|[ \t\r\n]*(?P<name>[^ \t\r\n=!(),<>]+)")
_BLANK = " \t\r\n"
_SIGNS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", ">": "Gt", "<": "Lt"}
_SETS = ("in", "notin")


class Part(NamedTuple):
    """A name or sign, and where it stands."""

    text: str
    span: Span


class Requirement(NamedTuple):
    """What is asked of one label: In, NotIn, Exists, DoesNotExist, Gt or Lt, and the values that it names."""

    key: Part
    operator: str
    values: tuple[Part, ...]
    span: Span


class _WrongError(Exception):
    """Ends the reading of a selector."""

    def __init__(self, at: Part, wanted: str, help_: str = "") -> None:
        found = f"found '{at.text}'" if at.text else "the selector ends"
        super().__init__(f"{found}, expected {wanted}")
        self.at, self.help = at.span, help_


def requirements(source: Source) -> tuple[tuple[Requirement, ...], tuple[Diagnostic, ...]]:
    """The requirements of a selector, in the order written; none for an empty one."""
    try:
        return _Reader(_tokens(source.text)).selector(), ()
    except _WrongError as e:
        return (), (Diagnostic("TRI349", str(e), source, e.at, e.help),)


def _tokens(text: str) -> list[Part]:
    """The names and signs, and then the empty name at the end."""
    end = len(text.rstrip(_BLANK))
    found = (next((m.group(n), m.span(n)) for n in ("sign", "name") if m[n]) for m in _TOKEN.finditer(text, 0, end))
    return [*(Part(token, Span(*at)) for token, at in found), Part("", Span(end, end))]


@dataclass
class _Reader:
    """Reads requirements from tokens; `at` is the next one."""

    tokens: list[Part]
    at: int = field(default=0)

    def selector(self) -> tuple[Requirement, ...]:
        found: list[Requirement] = []
        if not self.next.text:
            return ()
        while True:
            found.append(self.requirement())
            after = self.take()
            if not after.text:
                return tuple(found)
            if after.text != ",":
                raise _WrongError(after, "',' or the end", _after_help(after, found[-1]))

    @property
    def next(self) -> Part:
        return self.tokens[self.at]

    def take(self) -> Part:
        part = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return part

    def requirement(self) -> Requirement:
        found_before = self.at > 0
        denied = self.next if self.next.text == "!" else None
        if denied is not None:
            self.take()
        key = self.take()
        if not _is_name(key):
            help_ = "remove the last ','" if found_before and not key.text else ""
            raise _WrongError(key, "a key" if denied is not None else "a key or '!'", help_)
        if denied is not None:
            return Requirement(key, "DoesNotExist", (), Span(denied.span.start, key.span.end))
        if self.next.text in ("", ","):
            return Requirement(key, "Exists", (), key.span)
        operator = self.take()
        if operator.text not in _OPERATORS:
            raise _WrongError(operator, "one of =, ==, !=, in, notin, <, >", _operator_help(operator))
        values = self.set() if operator.text in _SETS else (self.value(),)
        end = max(operator.span.end, self.tokens[self.at - 1].span.end)
        return Requirement(key, _OPERATORS[operator.text], values, Span(key.span.start, end))

    def value(self) -> Part:
        """One value; nothing before ',' or the end is the empty one."""
        if self.next.text in ("", ","):
            end = self.tokens[self.at - 1].span.end
            return Part("", Span(end, end))
        value = self.take()
        if not _is_name(value):
            raise _WrongError(value, "a value")
        return value

    def set(self) -> tuple[Part, ...]:
        """Values in parentheses: each once, in order. Nothing between two signs is the empty value."""
        opening = self.take()
        if opening.text != "(":
            raise _WrongError(opening, "'('", "write the values in parentheses: (a, b)")
        found: dict[str, Part] = {}
        if self.next.text == ")":
            found[""] = Part("", Span(self.next.span.start, self.next.span.start))
        while self.next.text != ")":
            part = self.take()
            if _is_name(part):
                found.setdefault(part.text, part)
                if self.next.text not in (",", ")"):
                    raise _WrongError(self.next, "',' or ')'", "separate the values by ','")
            elif part.text == ",":
                self.comma(found, part)
            else:
                raise _WrongError(part, "a value, ',' or ')'")
        self.take()
        return tuple(sorted(found.values()))

    def comma(self, found: dict[str, Part], comma: Part) -> None:
        """What a comma in a set says of the values beside it. Three in a row are read, two before the end are not."""
        empty = Part("", Span(comma.span.end, comma.span.end))
        if not found or self.next.text in (",", ")"):
            found.setdefault("", empty)
        if self.next.text == ",":
            self.take()
            if self.next.text == ")":
                raise _WrongError(self.next, "a value or ','", "write one ',' for an empty value at the end")


def _is_name(part: Part) -> bool:
    return bool(part.text) and part.text not in _SIGNS


def _operator_help(operator: Part) -> str:
    if operator.text in ("not", "nott", "NOTIN", "NotIn", "notIn"):
        return "did you mean 'notin'?"
    if operator.text in ("IN", "In"):
        return "did you mean 'in'?"
    return "separate requirements by ','" if _is_name(operator) else ""


def _after_help(after: Part, last: Requirement) -> str:
    if last.operator == "DoesNotExist" and after.text in _OPERATORS:
        wanted = "notin" if after.text in _SETS else "!="
        return f"to deny values write {last.key.text} {wanted} ..."
    return "separate requirements by ','"
