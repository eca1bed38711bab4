"""Spark SQL as a tree: a closed union of nodes, built by the constructors below and written by `render` alone.

Nobody joins text: what needs parentheses, how deep the text is nested and how long it is follow from the tree.
A value of Python stands for its literal: an int is a BIGINT (`integer` makes an INT), a float a DOUBLE, a str a STRING.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeAlias, assert_never

PathKey: TypeAlias = str | int
Scalar: TypeAlias = bool | int | float | str


class Extent(NamedTuple):
    """How large the text of a node is: its characters, the levels of its nesting, and how many lambdas are in it."""

    length: int
    depth: int = 0
    lambdas: int = 0


_NEW = tuple.__new__  # a third of the time that the constructor of an Extent takes: there is one for each node


class Operand(Protocol):
    """A node, or a value that has one."""

    @property
    def sql(self) -> Sql:
        """The node."""


class Operators:
    """The operators of Python that build SQL's: `//` is `div`, `&`, `|` and `~` are AND, OR and NOT."""

    __slots__ = ()

    def __add__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator("+", self, other)

    def __sub__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator("-", self, other)

    def __mul__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator("*", self, other)

    def __truediv__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator("/", self, other)

    def __floordiv__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator("div", self, other)

    def __mod__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator("%", self, other)

    def __neg__(self: Operand) -> Operator:
        return operator("-", self)

    def __lt__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator("<", self, other)

    def __le__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator("<=", self, other)

    def __gt__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator(">", self, other)

    def __ge__(self: Operand, other: Operand | Scalar) -> Operator:
        return operator(">=", self, other)

    def __and__(self: Operand, other: Operand | Scalar) -> Sql:
        return all_of((self, other))

    def __or__(self: Operand, other: Operand | Scalar) -> Sql:
        return any_of((self, other))

    def __invert__(self: Operand) -> Operator:
        return not_(self)


class Node(Operators):
    """What all nodes have. `binding` is how tightly the outermost part of their text binds."""

    __slots__ = ()
    binding = 100

    @property
    def sql(self) -> Sql:
        """The node itself."""
        return self  # type: ignore[return-value]


class LiteralType(StrEnum):
    """How a literal is written."""

    BOOLEAN = "BOOLEAN"
    INT = "INT"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    STRING = "STRING"
    BINARY = "BINARY"
    NULL = "NULL"
    PATH = "PATH"


@dataclass(slots=True, unsafe_hash=True)
class Literal(Node):
    """A constant. That of a PATH is the keys that lead from a VARIANT to a part of it."""

    value: bool | int | float | str | bytes | tuple[PathKey, ...] | None
    type: LiteralType
    extent: Extent = field(compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Column(Node):
    """A column of the events by its name. `nullable`: it may be NULL."""

    name: str
    nullable: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(slots=True, eq=False)
class Variable(Node):
    """What a lambda binds. Those of one name are one; the renderer names those without."""

    name: str
    extent: Extent = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Variable) and bool(self.name) and self.name == other.name)

    def __hash__(self) -> int:
        return hash(self.name) if self.name else id(self)


@dataclass(slots=True, unsafe_hash=True)
class Field(Node):
    """A field of a struct."""

    operand: Sql
    name: str
    extent: Extent = field(compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Function(Node):
    """A call."""

    name: str
    args: tuple[Sql, ...]
    extent: Extent = field(compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Operator(Node):
    """An operator: prefix or postfix of one operand, infix of two, AND and OR of two or more.

    The first operand of `IN` and `NOT IN` is looked for among the others; of `BETWEEN` they are the value and its bounds.
    """

    sign: str
    operands: tuple[Sql, ...]
    binding: int = field(compare=False, repr=False)
    extent: Extent = field(compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Case(Node):
    """CASE. With a `subject` the tests are values that it may equal; without `otherwise` it is NULL where none holds."""

    branches: tuple[tuple[Sql, Sql], ...]
    otherwise: Sql | None
    subject: Sql | None
    extent: Extent = field(compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Cast(Node):
    """A cast to a type by its SQL name. `total`: NULL where it is not possible, instead of an error (`try_cast`)."""

    operand: Sql
    type: str
    total: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(slots=True, eq=False)
class Lambda(Node):
    """A function given to a function. Two are equal that differ in nothing but their variables."""

    variables: tuple[Variable, ...]
    body: Sql
    extent: Extent = field(repr=False)
    binding = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lambda) and _alike(self, other, {})

    def __hash__(self) -> int:
        return hash((len(self.variables), self.extent))


Sql: TypeAlias = Literal | Column | Variable | Field | Function | Operator | Case | Cast | Lambda

PRIMARY = 100
_UNARY = 90
_BINDING = {
    **dict.fromkeys(("*", "/", "%", "div"), 80),
    **dict.fromkeys(("+", "-"), 70),
    **{"&": 60, "^": 55, "|": 50},
    **dict.fromkeys(("=", "<=>", "<>", "<", "<=", ">", ">="), 40),
    **dict.fromkeys(("IS NULL", "IS NOT NULL", "IS TRUE", "IN", "NOT IN", "BETWEEN"), 30),
    **{"NOT": 20, "AND": 10, "OR": 5},
}
"""How tightly an operator binds, as in Spark's grammar (SqlBaseParser.g4: booleanExpression, valueExpression)."""
_PREDICATE, _COMPARISON, _ARITHMETIC = 30, 40, 50
_VARIABLE_LENGTH = 3


def in_parentheses(parent: Operator, position: int) -> bool:
    """Whether an operand is written in parentheses."""
    return _in_parentheses(parent.sign, parent.binding, position, parent.operands[position].binding)


def _in_parentheses(sign: str, own: int, position: int, inner: int) -> bool:
    """Whether an operand that binds so tightly is in parentheses: where Spark's grammar wants them, and a reader does.

    A reader does around what is negated, around AND in OR, and around a comparison that is compared.
    """
    if inner == PRIMARY:
        return False
    if own >= _ARITHMETIC:
        return inner < own or (inner == own and (position > 0 or own == _UNARY))
    if own >= _PREDICATE:
        return inner <= _COMPARISON and not (position > 0 and sign in ("IN", "NOT IN"))
    if sign == "NOT":
        return True
    return inner <= own or (sign == "OR" and inner == _BINDING["AND"])


def children(node: Sql) -> tuple[Sql, ...]:
    """The nodes that a node is made of, in the order of its text."""
    match node:
        case Literal() | Column() | Variable():
            return ()
        case Field(operand=operand) | Cast(operand=operand):
            return (operand,)
        case Function(args=args):
            return args
        case Operator(operands=operands):
            return operands
        case Case(branches=branches, otherwise=otherwise, subject=subject):
            parts = [] if subject is None else [subject]
            for test, then in branches:
                parts += (test, then)
            return (*parts, *(() if otherwise is None else (otherwise,)))
        case Lambda(variables=variables, body=body):
            return (*variables, body)
        case _:
            assert_never(node)


def _alike(a: Sql, b: Sql, pairs: dict[Variable, Variable]) -> bool:
    """Whether two nodes are equal where each of the variables in `pairs` is its partner."""
    if isinstance(a, Variable):
        return pairs.get(a, a) == b
    if not a.extent.lambdas and not pairs:
        return a == b
    if type(a) is not type(b) or _label(a) != _label(b):
        return False
    if isinstance(a, Lambda) and isinstance(b, Lambda):
        pairs = {**pairs, **dict(zip(a.variables, b.variables, strict=True))}
        return _alike(a.body, b.body, pairs)
    return all(_alike(x, y, pairs) for x, y in zip(children(a), children(b), strict=True))


def _label(node: Sql) -> object:
    """What a node is besides its children."""
    match node:
        case Literal() | Column() | Variable():
            return node
        case Field(name=name):
            return name
        case Function(name=name, args=args):
            return name, len(args)
        case Operator(sign=sign, operands=operands):
            return sign, len(operands)
        case Case(branches=branches, otherwise=otherwise, subject=subject):
            return len(branches), otherwise is None, subject is None
        case Cast(type=type_, total=total):
            return type_, total
        case Lambda(variables=variables):
            return len(variables)
        case _:
            assert_never(node)


def _around(parts: Iterable[Sql], length: int, lambdas: int = 0) -> Extent:
    """The extent of a node one level above its parts."""
    depth = 0
    for part in parts:
        more, below, within = part.extent
        length += more + 2
        lambdas += within
        if below > depth:
            depth = below
    return _NEW(Extent, (length, depth + 1, lambdas))


def sql_of(x: Operand | Scalar) -> Sql:
    """The node of an operand; of a value of Python, its literal."""
    return literal(x) if isinstance(x, _SCALARS) else x.sql


_SCALARS = (str, int, float)
_LITERALS = {
    str: (LiteralType.STRING, 2),
    bool: (LiteralType.BOOLEAN, 0),
    int: (LiteralType.BIGINT, 1),
    float: (LiteralType.DOUBLE, 1),
    bytes: (LiteralType.BINARY, 3),
}
"""The type of a literal by that of its value, and the characters that its text has besides."""


def literal(value: Scalar | bytes) -> Sql:
    """A literal of the type that the value has in CEL; infinity and NaN are casts, for SQL cannot write them."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return cast("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity", "DOUBLE")
        if not value and math.copysign(1, value) < 0:
            return -literal(0.0)  # which Python takes for equal to 0.0
    type_, more = _LITERALS[type(value)]
    length = len(value) if isinstance(value, (str, bytes)) else len(str(value))
    return Literal(value, type_, _NEW(Extent, (length + more, 0, 0)))


def integer(value: int) -> Literal:
    """An INT of 32 bits, which positions and lengths are."""
    return Literal(value, LiteralType.INT, Extent(len(str(value))))


def decimal(value: int | str) -> Literal:
    """A DECIMAL by its digits, of as many as they are."""
    return Literal(value, LiteralType.DECIMAL, Extent(len(str(value)) + 2))


_NULL = Literal(None, LiteralType.NULL, Extent(4))


def null(type_: str) -> Cast:
    """NULL of an SQL type: what CEL calls an error."""
    return Cast(_NULL, type_, False, Extent(len(type_) + 14, 1))


def column(name: str, *, nullable: bool = True) -> Column:
    """A column by its name."""
    return Column(name, nullable, Extent(len(name) + 2))


def variable(name: str = "") -> Variable:
    """A variable for a lambda, with a name or to be given one."""
    return Variable(name, Extent(len(name) or _VARIABLE_LENGTH))


def field_of(operand: Operand, name: str) -> Field:
    """A field of a struct."""
    inner = operand.sql
    length, depth, lambdas = inner.extent
    return Field(inner, name, Extent(length + len(name) + 3, depth, lambdas))


def function(name: str, *args: Operand | Scalar) -> Function:
    """A call of a function."""
    parts = tuple([sql_of(a) for a in args])
    return Function(name, parts, _around(parts, len(name)))


def operator(sign: str, *operands: Operand | Scalar) -> Operator:
    """An operator and its operands. AND and OR take any number; those among them of the same sign become part of it."""
    parts: list[Sql] = []
    joins = sign in ("AND", "OR")
    for operand in operands:
        part = sql_of(operand)
        if joins and isinstance(part, Operator) and part.sign == sign:
            parts += part.operands
        else:
            parts.append(part)
    own = _UNARY if len(parts) == 1 and sign in ("-", "~") else _BINDING[sign]
    length, depth, lambdas = len(sign), 0, 0
    for i, part in enumerate(parts):
        more, below, within = part.extent
        length += more + 2
        lambdas += within
        if _in_parentheses(sign, own, i, part.binding):
            below += 1
        if below > depth:
            depth = below
    return Operator(sign, tuple(parts), own, _NEW(Extent, (length, depth + 1, lambdas)))


def all_of(tests: Sequence[Operand | Scalar]) -> Sql:
    """The tests joined by AND: the one, where it is one, and TRUE, where there is none."""
    return operator("AND", *tests) if len(tests) > 1 else sql_of(tests[0]) if tests else literal(True)


def any_of(tests: Sequence[Operand | Scalar]) -> Sql:
    """The tests joined by OR: the one, where it is one, and FALSE, where there is none."""
    return operator("OR", *tests) if len(tests) > 1 else sql_of(tests[0]) if tests else literal(False)


def not_(test: Operand) -> Operator:
    """NOT."""
    return operator("NOT", test)


def case(
    *branches: tuple[Operand | Scalar, Operand | Scalar],
    otherwise: Operand | Scalar | None = None,
    subject: Operand | None = None,
) -> Case:
    """CASE, with the branches in their order."""
    pairs = tuple([(sql_of(test), sql_of(then)) for test, then in branches])
    rest = None if otherwise is None else sql_of(otherwise)
    of = None if subject is None else subject.sql
    parts = [part for pair in pairs for part in pair]
    parts += [x for x in (rest, of) if x is not None]
    return Case(pairs, rest, of, _around(parts, 8 + 10 * len(pairs)))


def cast(x: Operand | Scalar, type_: str) -> Cast:
    """CAST: for what cannot fail."""
    part = sql_of(x)
    return Cast(part, type_, False, _around((part,), len(type_) + 10))


def try_cast(x: Operand | Scalar, type_: str) -> Cast:
    """The value as another type, NULL where it has none there."""
    part = sql_of(x)
    return Cast(part, type_, True, _around((part,), len(type_) + 14))


def bound(variables: tuple[Variable, ...], body: Operand) -> Lambda:
    """The lambda of variables that its body names already."""
    inner = body.sql
    return Lambda(variables, inner, _around((*variables, inner), 4, 1))
