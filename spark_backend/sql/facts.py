"""What follows from a node: its value where it is constant, whether it can be NULL, whether it may be written twice."""

from __future__ import annotations

from .tree import Case, Cast, Column, Field, Function, Lambda, Literal, LiteralType, Operator, Sql, Variable, children

MAX_REPEATED = 32
"""Steps of a value that is written again rather than bound to a variable: one more than reading a dynamic number takes."""
_KEEPS_CONSTANT = frozenset({"timestamp_micros"})
"""Functions whose value stands for that of their literal argument: another way to write it."""
_READS = frozenset(
    {
        *("try_variant_get", "schema_of_variant", "is_variant_null", "get", "try_element_at", "collate"),
        *(
            "array_size",
            "array_compact",
            "map_filter",
            "isnan",
            "startswith",
            "parse_json",
            "timestamp_micros",
            "unix_micros",
        ),
    }
)
"""Functions that find something in a value, in no more time than it takes to look there."""
_NEVER_NULL = frozenset({"IS NULL", "IS NOT NULL", "IS TRUE"})


def constant(node: Sql) -> object:
    """The value that a node stands for whatever the event is; None where that is not known, and for NULL.

    A time is its microseconds since 1970, a decimal its digits as an int.
    """
    match node:
        case Literal(value=value, type=type_) if type_ is not LiteralType.PATH:
            return value
        case Cast(operand=Literal(value=int() as value, type=LiteralType.DECIMAL)):
            return value
        case Operator(sign="-", operands=(Literal(value=float() as value),)):
            return -value
        case Function(name=name, args=(Literal(value=value),)) if name in _KEEPS_CONSTANT:
            return value
        case _:
            return None


def never_null(node: Sql) -> bool:
    """Whether a node has a value for every event: it is no error in CEL."""
    match node:
        case Literal(type=type_):
            return type_ is not LiteralType.NULL
        case Column(nullable=nullable):
            return not nullable
        case Function(name="parse_json", args=(Literal(),)):
            return True
        case Function(name=name, args=(arg,)) if name in _KEEPS_CONSTANT:
            return never_null(arg)
        case Function(name="get", args=(Column(nullable=False), Literal())):
            return True  # of an array that is made for it
        case Cast(operand=Literal(type=LiteralType.DECIMAL)):
            return True
        case Operator(sign="-", operands=(Literal(),)):
            return True
        case Operator(sign=sign):
            return sign in _NEVER_NULL
        case _:
            return False


def is_cheap(node: Sql) -> bool:
    """Whether a value may be written more than once: finding it again takes less than binding it to a variable.

    So it is for columns, variables, literals and few steps that read a part of one of them.
    """
    return _nodes(node, MAX_REPEATED) >= 0


def _nodes(node: Sql, most: int) -> int:
    """How many of `most` steps are left after a value that may be repeated; negative for any other value."""
    match node:
        case Literal():
            return most
        case Column() | Variable():
            return most - 1
        case Function(args=()):
            return most - 1
        case Function(name=name) if name not in _READS:
            return -1
        case Operator(operands=operands):
            left = most - len(operands)
        case Field() | Function() | Cast() | Lambda() | Case():
            left = most - 1
    for child in children(node):
        left = _nodes(child, left)
        if left < 0:
            return -1
    return left
