"""The syntax tree of rule SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...source import Span


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text or a truth value."""

    value: bool | int | float | str
    span: Span


@dataclass(frozen=True, slots=True)
class Path:
    """A name and what follows it: keys as texts, positions as numbers, and positions that another path holds."""

    name: str
    steps: tuple[str | int | Path, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its name, with dots where it has them; `at` is the name."""

    name: str
    args: tuple[Node, ...]
    span: Span
    at: Span


@dataclass(frozen=True, slots=True)
class Not:
    """`NOT x`."""

    operand: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Logic:
    """`AND` or `OR` of two operands or more."""

    operator: str
    operands: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison; `<>` is written `!=`."""

    operator: str
    left: Node
    right: Node
    span: Span


@dataclass(frozen=True, slots=True)
class In:
    """`x IN (a, b)`, or `x NOT IN (a, b)`."""

    left: Node
    items: tuple[Node, ...]
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One operation of `+ - * / div`."""

    operator: str
    left: Node
    right: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Negative:
    """`-x`."""

    operand: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Items:
    """A list that is written out."""

    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Range:
    """`[1..3]`, or the part of what a path holds."""

    of: Path | None
    first: int
    last: int
    span: Span


@dataclass(frozen=True, slots=True)
class Case:
    """`CASE [x] WHEN a THEN b ELSE c END`."""

    subject: Node | None
    whens: tuple[tuple[Node, Node], ...]
    otherwise: Node | None
    span: Span


@dataclass(frozen=True, slots=True)
class Field:
    """A field of SELECT: an expression (None for `*`), and the name that it is given."""

    value: Node | None
    alias: Path | None
    span: Span


@dataclass(frozen=True, slots=True)
class Select:
    """A whole check. `source` is where FROM stands, if it does."""

    fields: tuple[Field, ...]
    where: Node | None
    source: Span | None
    span: Span


Node: TypeAlias = Literal | Path | Call | Not | Logic | Comparison | In | Arithmetic | Negative | Items | Range | Case
