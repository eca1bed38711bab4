"""Which conditions on attributes Spark pushes into a Parquet scan, whole.

A disjunction is pushed where every operand is: equality, `in`, orders, presence and tests of a text against a literal,
of a column or a field of a struct. A value out of a map is none, nor is a pattern, nor a column with a collation.
"""

from __future__ import annotations

from tricel.compiler.environments.attributes import AttributeRecord
from tricel.compiler.functions import TEXT_TESTS, TextTest
from tricel.compiler.nodes import (
    AND,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    NOT,
    NOT_EQUALS,
    OR,
    Call,
    Expr,
    ListExpr,
    Lit,
    LitKind,
)

from .layout import Layout

_LOGIC = frozenset({AND, OR, NOT})
_COMPARISONS = frozenset({EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS})
_TEXT_TESTS = frozenset(name for name, test in TEXT_TESTS.items() if test is not TextTest.MATCHES)


def is_pushed(e: Expr, layout: Layout, record: AttributeRecord) -> bool:
    """Whether Spark pushes the condition that `e` becomes. `record` is the record of attributes."""
    name = record.asked(e)
    if name is not None:
        return _is_column(name, layout)
    match e:
        case Call(function=function, args=args, target=None) if function in _LOGIC:
            return all(is_pushed(a, layout, record) for a in args)
        case Call(function=function, args=(subject, Lit(kind=LitKind.STRING)), target=None) if function in _COMPARISONS:
            return _is_text(subject, layout, record)
        case Call(function=function, args=(subject, ListExpr(items=items)), target=None) if function == IN:
            texts = all(isinstance(i, Lit) and i.kind is LitKind.STRING for i in items)
            return texts and _is_text(subject, layout, record)
        case Call(function=function, args=(Lit(kind=LitKind.STRING),), target=subject) if function in _TEXT_TESTS:
            return subject is not None and _is_text(subject, layout, record)
        case _:
            return False


def _is_text(e: Expr, layout: Layout, record: AttributeRecord) -> bool:
    name = record.attribute(e)
    return name is not None and _is_column(name, layout)


def _is_column(name: str, layout: Layout) -> bool:
    column = None if layout.attributes is None else layout.attributes.columns.get(name)
    return column is not None and column.type.name == "string" and not column.type.collated
