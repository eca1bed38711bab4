"""The syntax tree of CloudEvents SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...source import Span


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text or a truth value."""

    value: bool | int | str
    span: Span


@dataclass(frozen=True, slots=True)
class Attribute:
    """The value of an attribute, by its name as written."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Exists:
    """`EXISTS name`."""

    name: str
    span: Span
    at: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """`NOT x` or `-x`."""

    operator: str
    operand: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """A comparison or an arithmetic operation; `<>` is written `!=`."""

    operator: str
    left: Node
    right: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Logic:
    """`AND`, `OR` or `XOR` of two operands or more. All three are associative, errors included."""

    operator: str
    operands: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Like:
    """`x LIKE pattern`, or `x NOT LIKE pattern`."""

    left: Node
    pattern: Literal
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class In:
    """`x IN (a, b)`, or `x NOT IN (a, b)`."""

    left: Node
    items: tuple[Node, ...]
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A function, by its name in upper case; `at` is the name."""

    name: str
    args: tuple[Node, ...]
    span: Span
    at: Span


@dataclass(frozen=True, slots=True)
class Group:
    """An expression in parentheses."""

    inner: Node
    span: Span


Node: TypeAlias = Literal | Attribute | Exists | Unary | Binary | Logic | Like | In | Call | Group


def ungrouped(node: Node) -> Node:
    """The expression inside all parentheses."""
    while isinstance(node, Group):
        node = node.inner
    return node
