"""The closed union of CEL syntax-tree nodes.

Nodes are frozen and compared by structure: `id` and `span` take no part. What a pass learns about a node goes into a
table keyed by `id`, never onto the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import is_not
from typing import TypeAlias, assert_never

from .source import NOWHERE, Span


class LitKind(StrEnum):
    """The type of a literal; in Python 1 == True == 1.0, in CEL they are three values."""

    NULL = "null_type"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every node has: a key into side tables, and where it was written."""

    id: int = field(default=0, compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lit(Node):
    """A literal. A double is compared by its bits, so that -0.0 and NaN are values like any other."""

    kind: LitKind
    value: bool | int | float | str | bytes | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lit) or self.kind is not other.kind:
            return NotImplemented if not isinstance(other, Lit) else False
        if self.kind is LitKind.DOUBLE:
            return repr(self.value) == repr(other.value)
        return self.value == other.value

    def __hash__(self) -> int:
        return hash((self.kind, repr(self.value)))


@dataclass(frozen=True, slots=True)
class Ident(Node):
    """A name. A leading dot (`.a`, the root scope) is kept in `absolute`."""

    name: str
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`operand.field`, or `operand.?field` when optional."""

    operand: Expr
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Has(Node):
    """`has(operand.field)`."""

    operand: Expr
    field: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function, a method (`target` is set) or an operator.

    Operators are calls by their CEL names: `!_ -_ _+_ _-_ _*_ _/_ _%_ _==_ _!=_ _<_ _<=_ _>_ _>=_ @in _?_:_ _[_]
    _[?_]`. `_&&_` and `_||_` take two or more operands and never hold an operand that is the same operator (see
    `conjunction` and `disjunction`): both are associative in CEL.
    """

    function: str
    args: tuple[Expr, ...]
    target: Expr | None = None


@dataclass(frozen=True, slots=True)
class ListExpr(Node):
    """`[a, b]`; `optional` holds the indexes of items written `?a`."""

    items: tuple[Expr, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Entry(Node):
    """One `key: value` of a map."""

    key: Expr
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapExpr(Node):
    """`{k: v}`."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class FieldInit(Node):
    """One `field: value` of a message."""

    field: str
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Message(Node):
    """`type.name{field: value}`: parsed so that it can be refused with a reason."""

    name: str
    fields: tuple[FieldInit, ...]


class MacroKind(StrEnum):
    """The comprehension macros."""

    ALL = "all"
    EXISTS = "exists"
    EXISTS_ONE = "exists_one"
    MAP = "map"
    FILTER = "filter"
    TRANSFORM_LIST = "transformList"
    TRANSFORM_MAP = "transformMap"
    TRANSFORM_MAP_ENTRY = "transformMapEntry"
    SORT_BY = "sortBy"
    OPT_MAP = "optMap"
    OPT_FLAT_MAP = "optFlatMap"


QUANTIFIERS = frozenset({MacroKind.ALL, MacroKind.EXISTS, MacroKind.EXISTS_ONE})
"""The macros whose value is a bool."""
STANDARD = QUANTIFIERS | {MacroKind.MAP, MacroKind.FILTER}
"""The macros of the language's definition; all others are of extensions."""
KEEPING = frozenset({MacroKind.FILTER, MacroKind.SORT_BY})
"""The macros whose value is a list of elements of what they go over."""
MAPPING = frozenset({MacroKind.MAP, MacroKind.TRANSFORM_LIST})
"""The macros that make a list of what their turns make."""


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """`range.macro(variable, body)`, or `range.macro(variable, second, body)` with a variable for index and value.

    `condition` is the argument before the body of a `map`, `transformList` or `transformMap` that filters, too.
    """

    macro: MacroKind
    range: Expr
    variable: str
    body: Expr
    condition: Expr | None = None
    second: str = ""


@dataclass(frozen=True, slots=True)
class Bind(Node):
    """`cel.bind(variable, value, body)`."""

    variable: str
    value: Expr
    body: Expr


Expr: TypeAlias = Lit | Ident | Select | Has | Call | ListExpr | MapExpr | Message | Comprehension | Bind

AND, OR, NOT, NEGATE = "_&&_", "_||_", "!_", "-_"
EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS = "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"
ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO = "_+_", "_-_", "_*_", "_/_", "_%_"
IN, CONDITIONAL, INDEX, OPTIONAL_INDEX = "@in", "_?_:_", "_[_]", "_[?_]"


def children(e: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in source order."""
    match e:
        case Lit() | Ident():
            return ()
        case Call(args=args, target=target):
            return args if target is None else (target, *args)
        case Select(operand=operand) | Has(operand=operand):
            return (operand,)
        case ListExpr(items=items):
            return items
        case MapExpr(entries=entries):
            return tuple(x for entry in entries for x in (entry.key, entry.value))
        case Message(fields=fields):
            return tuple(f.value for f in fields)
        case Comprehension(range=range_, body=body, condition=condition):
            return (range_, body) if condition is None else (range_, condition, body)
        case Bind(value=value, body=body):
            return (value, body)
        case _:
            assert_never(e)


def with_children(e: Expr, new: tuple[Expr, ...]) -> Expr:
    """`e` with its direct subexpressions replaced, in the order of `children`."""
    match e:
        case Lit() | Ident():
            return e
        case Select() | Has():
            return replace(e, operand=new[0])
        case Call(target=None):
            return replace(e, args=new)
        case Call():
            return replace(e, target=new[0], args=new[1:])
        case ListExpr():
            return replace(e, items=new)
        case MapExpr(entries=entries):
            pairs = zip(entries, new[::2], new[1::2], strict=True)
            return replace(e, entries=tuple(replace(entry, key=k, value=v) for entry, k, v in pairs))
        case Message(fields=fields):
            return replace(e, fields=tuple(replace(f, value=v) for f, v in zip(fields, new, strict=True)))
        case Comprehension(condition=None):
            return replace(e, range=new[0], body=new[1])
        case Comprehension():
            return replace(e, range=new[0], condition=new[1], body=new[2])
        case Bind():
            return replace(e, value=new[0], body=new[1])
        case _:
            assert_never(e)


def variables(e: Expr) -> frozenset[str]:
    """The names that `e` binds in its body (and condition), not in its range or value."""
    match e:
        case Comprehension(variable=variable, second=second):
            return frozenset({variable, second} - {""})
        case Bind(variable=variable):
            return frozenset({variable})
        case _:
            return frozenset()


def walk(e: Expr) -> Iterator[Expr]:
    """`e` and everything below it, parents first, without recursion."""
    stack = [e]
    while stack:
        node = stack.pop()
        yield node
        below = children(node)
        if below:
            stack.extend(below[::-1])


def transform(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`e` rebuilt from the leaves up, `change` applied to every node once."""
    old = children(e)
    if not old:
        return change(e)
    new = [transform(c, change) for c in old]
    return change(with_children(e, tuple(new)) if any(map(is_not, old, new)) else e)


def numbered(e: Expr) -> Expr:
    """`e`, its nodes numbered anew unless each has an id of its own."""
    ids = [node.id for node in walk(e)]
    distinct = set(ids)
    return e if len(distinct) == len(ids) and 0 not in distinct else renumber(e)


def renumber(e: Expr) -> Expr:
    """`e` with fresh ids 1, 2, ..., so that every node is its own key in a side table."""
    count = 0

    def number(node: Expr) -> Expr:
        nonlocal count
        count += 1
        return replace(node, id=count)

    return transform(e, number)


def conjunction(terms: tuple[Expr, ...], span: Span = NOWHERE, id: int = 0) -> Expr:  # noqa: A002 a node's own field
    """All of `terms` as one flat `&&`; `true` for none, the term itself for one."""
    return _flat(AND, True, terms, span, id)


def disjunction(terms: tuple[Expr, ...], span: Span = NOWHERE, id: int = 0) -> Expr:  # noqa: A002 a node's own field
    """Any of `terms` as one flat `||`; `false` for none, the term itself for one."""
    return _flat(OR, False, terms, span, id)


def _flat(function: str, neutral: bool, terms: tuple[Expr, ...], span: Span, number: int) -> Expr:
    flat: list[Expr] = []
    for term in terms:
        flat.extend(term.args if isinstance(term, Call) and term.function == function else (term,))
    if not flat:
        return Lit(LitKind.BOOL, neutral, id=number, span=span)
    return flat[0] if len(flat) == 1 else Call(function, tuple(flat), id=number, span=span)


def conjuncts(e: Expr) -> tuple[Expr, ...]:
    """The operands of a top-level `&&`, or the expression itself."""
    return e.args if isinstance(e, Call) and e.function == AND else (e,)


def string(value: str, span: Span = NOWHERE) -> Lit:
    """A string literal."""
    return Lit(LitKind.STRING, value, span=span)
