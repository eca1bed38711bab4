"""Which parts of an expression are attributes of an event: the one place that tells."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from ..celtypes import TIMESTAMP
from ..nodes import IN, INDEX, Call, Expr, Has, Ident, Lit, Select, string
from ..source import NOWHERE, Span
from .model import Environment

_NAME = re.compile(r"[a-z][a-z0-9]*", re.ASCII)
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class AttributeRecord:
    """The root that is the record of attributes, empty where there is none, and the attributes that are times."""

    name: str = ""
    times: frozenset[str] = frozenset()

    def is_it(self, e: Expr, bound: Container[str] = ()) -> bool:
        """Whether the expression is the record itself; `bound` are the variables around it."""
        return isinstance(e, Ident) and bool(e.name) and e.name == self.name and (e.absolute or e.name not in bound)

    def attribute(self, e: Expr, bound: Container[str] = ()) -> str | None:
        """The attribute that `ce.name` or `ce["name"]` reads; None for any other expression."""
        match e:
            case Select(operand=operand, field=name) if self.is_it(operand, bound):
                return name
            case Call(function=function, args=(operand, Lit(value=str(name)))) if function == INDEX and self.is_it(
                operand, bound
            ):
                return name
            case _:
                return None

    def asked(self, e: Expr, bound: Container[str] = ()) -> str | None:
        """The attribute that `has(ce.name)` or `"name" in ce` asks for; None for any other expression."""
        match e:
            case Has(operand=operand, field=name) if self.is_it(operand, bound):
                return name
            case Call(function=function, args=(Lit(value=str(name)), operand)) if function == IN and self.is_it(
                operand, bound
            ):
                return name
            case _:
                return None


NO_RECORD = AttributeRecord()


def record_of(environment: Environment) -> AttributeRecord:
    """The record of attributes of an environment."""
    record = environment.record_type
    if record is None:
        return NO_RECORD
    if environment.attributes is not None:
        return AttributeRecord(environment.record, frozenset(environment.attributes.times))
    return AttributeRecord(environment.record, frozenset(n for n, f in record.fields if f.type == TIMESTAMP))


def attribute(record: str, name: str, at: Span = NOWHERE) -> Expr:
    """The value of an attribute of the record that is called so."""
    if selectable(name):
        return Select(Ident(record, span=at), name, span=at)
    return Call(INDEX, (Ident(record, span=at), string(name, at)), span=at)


def presence(record: str, name: str, at: Span = NOWHERE) -> Expr:
    """That an event has the attribute."""
    if selectable(name):
        return Has(Ident(record, span=at), name, span=at)
    return Call(IN, (string(name, at), Ident(record, span=at)), span=at)


def selectable(name: str) -> bool:
    """Whether CEL can write `.name`, here of lower-case letters and digits alone."""
    return _NAME.fullmatch(name) is not None and name not in _RESERVED
