"""Which parts of an expression are attributes of an event: the one place that tells."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from ..celtypes import TIMESTAMP
from ..nodes import INDEX, Call, Expr, Ident, Lit, Select
from .model import Environment


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


NO_RECORD = AttributeRecord()


def record_of(environment: Environment) -> AttributeRecord:
    """The record of attributes of an environment."""
    record = environment.record_type
    if record is None:
        return NO_RECORD
    if environment.attributes is not None:
        return AttributeRecord(environment.record, frozenset(environment.attributes.times))
    return AttributeRecord(environment.record, frozenset(n for n, f in record.fields if f.type == TIMESTAMP))
