"""A filter without its constants: filters that differ in constants alone have one skeleton.

The skeleton is normalised, keeping CEL's meaning: operands of `&&` and `||` are put in order (both are commutative),
equalities of one value joined by `||` become one `in`, and patterns that are plain text become string functions.
What decides how a filter is lowered stays in the skeleton: patterns, keys and indexes, truth values, null.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

from tricel.compiler.environments.attributes import AttributeRecord
from tricel.compiler.functions import TEXT_TESTS, TextTest
from tricel.compiler.nodes import (
    AND,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    INDEX,
    LESS,
    LESS_EQUALS,
    NOT_EQUALS,
    OPTIONAL_INDEX,
    OR,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MapExpr,
    Message,
    Select,
    children,
    conjuncts,
    with_children,
)
from tricel.compiler.patterns.topic_filters import REST, is_filter, is_wild
from tricel.compiler.patterns.written import TOPIC_FILTER_ARGUMENT
from tricel.compiler.values.rfc3339 import microseconds

from ...sql import regex

_COMPARISONS = frozenset({EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS})
_EXACT = 2**53
FEW_LEVELS = 8
"""Levels of a topic filter that are compared each by itself; those of others go through functions of lists."""
_TESTING = {test: function for function, test in TEXT_TESTS.items()}


class Hole(StrEnum):
    """What stands where a constant was. `ANY_INT` and `ANY_DOUBLE` are compared, where CEL takes either type."""

    STRING = "string"
    INT = "int"
    DOUBLE = "double"
    ANY_INT = "int or double"
    ANY_DOUBLE = "double or int"
    TIMESTAMP = "timestamp"
    TOPIC = "topic filter without wildcards"
    TOPICS = "topic filter of few levels"
    MANY_LEVELS = "topic filter of many levels"
    STRINGS = "list of strings"
    INTS = "list of ints or doubles"
    DOUBLES = "list of doubles"


Value: TypeAlias = str | int | float | tuple[str, ...] | tuple[int, ...] | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a filter; `written` is the expression it stood for."""

    hole: Hole
    value: Value
    written: Expr


@dataclass(frozen=True, slots=True)
class Part:
    """One top-level conjunct: its key, its constants in the order of their holes, and the conjunct as it was written.

    Two conjuncts have the same key exactly when they differ in constants alone.
    """

    key: str
    constants: tuple[Constant, ...]
    written: Expr


def skeleton(e: Expr, record: AttributeRecord) -> tuple[Part, ...]:
    """The conjuncts of a filter, in the order of their keys; `record` is the record of attributes of its environment."""
    parts = []
    for conjunct in conjuncts(e):
        constants: list[Constant] = []
        key = _key(conjunct, constants, record, False)
        parts.append(Part(key, tuple(constants), conjunct))
    parts.sort(key=lambda p: p.key)
    return tuple(parts)


def with_holes(e: Expr, names: Iterator[str | None], record: AttributeRecord, inside: bool = False) -> Expr:
    """A conjunct, normalised, with each constant replaced by the root of the next name; None, or none left, keeps it."""
    if (constant := _constant(e)) is not None:
        name = next(names, None)
        return e if name is None else _hole(name, constant)
    match e:
        case Call(function=function) if function in (AND, OR):
            return _logic(e, tuple(with_holes(o, names, record, inside) for _, _, o in _operands(e, record, inside)))
        case Call(function=function, target=None, args=(left, right)) if function in _COMPARISONS:
            left, right = _turned(function, left, right)
            return replace(e, args=tuple(_compared(x, names, record, inside) for x in (left, right)))
        case Call(function=function, args=(item, holder)) if function == IN:
            if _names_attribute(e, record):
                return e
            return replace(e, args=(with_holes(item, names, record, inside), _listed(holder, names, record, inside)))
        case Call(function=function, args=(operand, key)) if function in (INDEX, OPTIONAL_INDEX):
            kept = key if isinstance(key, Lit) else with_holes(key, names, record, inside)
            return replace(e, args=(with_holes(operand, names, record, inside), kept))
        case Call(function=function) if TEXT_TESTS.get(function) is TextTest.MATCHES:
            plain = _plain_pattern(e, record, inside)
            if plain is not e:
                return with_holes(plain, names, record, inside)
            return replace(e, target=None if e.target is None else with_holes(e.target, names, record, inside))
        case Call(function=function, args=(Lit() as filter_,), target=topic) if (
            topic is not None and function in TOPIC_FILTER_ARGUMENT
        ):
            subject, asked = with_holes(topic, names, record, inside), _topic_filter(filter_)
            name = None if asked is None else next(names, None)
            kept = filter_ if name is None or asked is None else _hole(name, asked)
            return replace(e, target=subject, args=(kept,))
        case _:
            inner = inside or isinstance(e, Comprehension | Bind)
            return with_children(e, tuple(with_holes(c, names, record, inner) for c in children(e)))


def _hole(name: str, constant: Constant) -> Expr:
    return Ident(name, absolute=True, span=constant.written.span)


def _compared(e: Expr, names: Iterator[str | None], record: AttributeRecord, inside: bool) -> Expr:
    constant = _constant(e, compared=True)
    if constant is None:
        return with_holes(e, names, record, inside)
    name = next(names, None)
    return e if name is None else _hole(name, constant)


def _listed(e: Expr, names: Iterator[str | None], record: AttributeRecord, inside: bool) -> Expr:
    constant = _list_constant(e)
    if constant is None:
        return e if isinstance(e, ListExpr) else with_holes(e, names, record, inside)
    name = next(names, None)
    return e if name is None else _hole(name, constant)


def _key(e: Expr, found: list[Constant], record: AttributeRecord, inside: bool) -> str:
    """The normalised text of `e` without its constants, which are added to `found` in the order of `with_holes`."""
    constant = _constant(e)
    if constant is not None:
        found.append(constant)
        return f"?{constant.hole.name}"
    match e:
        case Lit(kind=kind, value=value):
            return f"{kind.name}:{value!r}"
        case Ident(name=name, absolute=absolute):
            return f".{name}" if absolute else name
        case Select(operand=operand, field=field, optional=optional):
            return f"{_key(operand, found, record, inside)}.{'?' * optional}{field!r}"
        case Has(operand=operand, field=field):
            return f"has({_key(operand, found, record, inside)}.{field!r})"
        case Call(function=function) if function in (AND, OR):
            pieces = [(key, constants) for key, constants, _ in _operands(e, record, inside)]
            for _, constants in pieces:
                found.extend(constants)
            return pieces[0][0] if len(pieces) == 1 else f"{function}({','.join([key for key, _ in pieces])})"
        case Call(function=function, target=None, args=(left, right)) if function in _COMPARISONS:
            left, right = _turned(function, left, right)
            return f"{function}({_compared_key(left, found, record, inside)},{_compared_key(right, found, record, inside)})"
        case Call(function=function, args=(item, holder)) if function == IN:
            first = _verbatim(item) if _names_attribute(e, record) else _key(item, found, record, inside)
            return f"in({first},{_listed_key(holder, found, record, inside)})"
        case Call(function=function, args=(operand, key)) if function in (INDEX, OPTIONAL_INDEX):
            base = _key(operand, found, record, inside)
            index = f"{key.kind.name}:{key.value!r}" if isinstance(key, Lit) else _key(key, found, record, inside)
            return f"{base}{'?' * (function == OPTIONAL_INDEX)}[{index}]"
        case Call(function=function, args=args, target=target) if TEXT_TESTS.get(function) is TextTest.MATCHES:
            plain = _plain_pattern(e, record, inside)
            if plain is not e:
                return _key(plain, found, record, inside)
            subject = "" if target is None else _key(target, found, record, inside)
            return f"{subject}.{function}({','.join(map(_verbatim, args))})"
        case Call(function=function, args=(Lit() as filter_,), target=topic) if (
            topic is not None and function in TOPIC_FILTER_ARGUMENT
        ):
            subject, asked = _key(topic, found, record, inside), _topic_filter(filter_)
            if asked is None:
                return f"{subject}.{function}({_verbatim(filter_)})"
            found.append(asked)
            return f"{subject}.{function}(?{asked.hole.name})"
        case Call(function=function, args=args, target=target):
            subject = "" if target is None else f"{_key(target, found, record, inside)}."
            return f"{subject}{function}({','.join([_key(a, found, record, inside) for a in args])})"
        case ListExpr(items=items, optional=optional):
            return f"[{','.join([_key(i, found, record, inside) for i in items])}]{sorted(optional) or ''}"
        case Comprehension(macro=macro, variable=variable, condition=condition):
            inner = ",".join([_key(c, found, record, True) for c in children(e)])
            return f"{macro.name}({variable},{condition is not None},{inner})"
        case Bind(variable=variable):
            return f"bind({variable},{','.join([_key(c, found, record, True) for c in children(e)])})"
        case MapExpr(entries=entries):
            marks = "".join("?" if entry.optional else "." for entry in entries)
            return f"map{marks}({','.join([_key(c, found, record, inside) for c in children(e)])})"
        case Message(name=name, fields=fields):
            marks = ",".join(f"{f.field!r}{'?' * f.optional}" for f in fields)
            return f"message {name}({marks};{','.join([_key(c, found, record, inside) for c in children(e)])})"
        case _:
            assert_never(e)


def _compared_key(e: Expr, found: list[Constant], record: AttributeRecord, inside: bool) -> str:
    constant = _constant(e, compared=True)
    if constant is None:
        return _key(e, found, record, inside)
    found.append(constant)
    return f"?{constant.hole.name}"


def _listed_key(e: Expr, found: list[Constant], record: AttributeRecord, inside: bool) -> str:
    constant = _list_constant(e)
    if constant is not None:
        found.append(constant)
        return f"?{constant.hole.name}"
    return _verbatim(e) if isinstance(e, ListExpr) else _key(e, found, record, inside)


def _verbatim(e: Expr) -> str:
    """`e` with its constants in it."""
    return repr(e)


def _constant(e: Expr, *, compared: bool = False) -> Constant | None:
    match e:
        case Lit(kind=LitKind.STRING, value=str(text)):
            return Constant(Hole.STRING, text, e)
        case Lit(kind=LitKind.INT, value=int(number)):
            return Constant(Hole.ANY_INT if compared and abs(number) <= _EXACT else Hole.INT, number, e)
        case Lit(kind=LitKind.DOUBLE, value=float(number)) if _ordinary(number):
            whole = compared and number.is_integer() and abs(number) <= _EXACT
            return Constant(Hole.ANY_DOUBLE if whole else Hole.DOUBLE, number, e)
        case Call(function="timestamp", target=None, args=(Lit(kind=LitKind.STRING, value=str(text)),)):
            micros, exact = microseconds(text) or (0, False)
            return Constant(Hole.TIMESTAMP, micros, e) if exact else None
        case _:
            return None


def _topic_filter(e: Lit) -> Constant | None:
    """A topic filter as a constant; None for what is none, and for `#`, which is a test of its own."""
    if not isinstance(e.value, str) or e.value == REST or not is_filter(e.value):
        return None
    if not is_wild(e.value):
        return Constant(Hole.TOPIC, e.value, e)
    return Constant(Hole.TOPICS if e.value.count("/") < FEW_LEVELS else Hole.MANY_LEVELS, e.value, e)


def _list_constant(e: Expr) -> Constant | None:
    """A list of strings, or of numbers, as one constant."""
    if not isinstance(e, ListExpr) or e.optional or not e.items or not all(isinstance(i, Lit) for i in e.items):
        return None
    kinds = {i.kind for i in e.items if isinstance(i, Lit)}
    values = [i.value for i in e.items if isinstance(i, Lit)]
    if kinds == {LitKind.STRING}:
        return Constant(Hole.STRINGS, tuple(str(v) for v in values), e)
    if kinds == {LitKind.INT} and all(isinstance(v, int) and abs(v) <= _EXACT for v in values):
        return Constant(Hole.INTS, tuple(v for v in values if isinstance(v, int)), e)
    if kinds == {LitKind.DOUBLE} and all(isinstance(v, float) and _ordinary(v) for v in values):
        return Constant(Hole.DOUBLES, tuple(v for v in values if isinstance(v, float)), e)
    return None


def _ordinary(number: float) -> bool:
    """Whether a double is written in SQL as any other: finite, and not -0.0."""
    return math.isfinite(number) and not (number == 0 and math.copysign(1, number) < 0)


def _names_attribute(e: Call, record: AttributeRecord) -> bool:
    """Whether this is `"name" in ce`, which asks for an attribute."""
    item, holder = e.args
    return isinstance(item, Lit) and record.is_it(holder)


def _turned(function: str, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """The operands of an equality with a constant last."""
    turn = function in (EQUALS, NOT_EQUALS) and isinstance(left, Lit) and not isinstance(right, Lit)
    return (right, left) if turn else (left, right)


def _logic(e: Call, operands: tuple[Expr, ...]) -> Expr:
    """`&&` or `||` of operands, of which there may be one left."""
    return operands[0] if len(operands) == 1 else replace(e, args=operands)


def _operands(e: Call, record: AttributeRecord, inside: bool) -> list[tuple[str, list[Constant], Expr]]:
    """The operands of `&&` or `||` with key and constants, in the order of their keys, equalities of one value joined."""
    keyed = []
    for operand in _joined_equalities(e.args) if e.function == OR else e.args:
        constants: list[Constant] = []
        keyed.append((_key(operand, constants, record, inside), constants, operand))
    keyed.sort(key=lambda found: found[0])
    return keyed


def _joined_equalities(operands: tuple[Expr, ...]) -> list[Expr]:
    """`x == "a" || x == "b" || x in ["c"]` as `x in ["a", "b", "c"]`: each errs exactly when `x` does."""
    groups: dict[Expr, list[Expr]] = {}
    kept: list[Expr] = []
    for operand in operands:
        match operand:
            case Call(function="_==_", args=(left, right)):
                value, literal = _turned(EQUALS, left, right)
                texts = [literal]
            case Call(function="@in", args=(value, ListExpr(items=items, optional=optional))) if items and not optional:
                texts = list(items)
            case _:
                kept.append(operand)
                continue
        if all(isinstance(t, Lit) and t.kind is LitKind.STRING for t in texts) and not isinstance(value, Lit):
            groups.setdefault(value, []).append(operand)
        else:
            kept.append(operand)
    for value, alike in groups.items():
        if len(alike) == 1:
            kept.append(alike[0])
            continue
        items = tuple(t for o in alike if isinstance(o, Call) for t in _texts(o))
        kept.append(Call(IN, (value, ListExpr(items)), span=alike[0].span))
    return kept


def _texts(operand: Call) -> tuple[Expr, ...]:
    last = operand.args[1]
    if isinstance(last, ListExpr):
        return last.items
    return (_turned(EQUALS, *operand.args)[1],)


def _plain_pattern(e: Call, record: AttributeRecord, inside: bool) -> Expr:
    """A search for plain text as a string function; `e` itself where the pattern is more than that."""
    operands = e.args if e.target is None else (e.target, *e.args)
    if len(operands) != 2 or not isinstance(operands[1], Lit) or not isinstance(operands[1].value, str):
        return e
    subject, pattern = operands
    match regex.plan(operands[1].value):
        case regex.StartsWith(values=(text,)):
            return Call(
                _TESTING[TextTest.PREFIX], (Lit(LitKind.STRING, text, span=pattern.span),), subject, span=e.span
            )
        case regex.EndsWith(values=(text,)):
            return Call(
                _TESTING[TextTest.SUFFIX], (Lit(LitKind.STRING, text, span=pattern.span),), subject, span=e.span
            )
        case regex.Contains(values=(text,)):
            return Call(
                _TESTING[TextTest.CONTAINS], (Lit(LitKind.STRING, text, span=pattern.span),), subject, span=e.span
            )
        case regex.Equals(values=(text,)) if record.attribute(subject) is not None and not inside:
            return Call(EQUALS, (subject, Lit(LitKind.STRING, text, span=pattern.span)), span=e.span)
        case _:
            return e
