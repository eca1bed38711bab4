"""CEL text to a syntax tree. Everything wrong is a diagnostic; no text makes the parser raise or recurse.

The tree is built during the LALR parse, so depth and size are bounded as it grows.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeAlias

from lark import Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from tricel.grammar import cel_parser

from . import literals
from .diagnostics import Diagnostic
from .functions import ALL, BY_CALL, NAMESPACES
from .help.syntax import RESERVED, unclosed_string, unexpected_character, unexpected_token
from .limits import DEFAULT, MAX_DEPTH, MAX_NODES, Limits, over_text
from .nodes import (
    CONDITIONAL,
    IN,
    INDEX,
    NEGATE,
    NOT,
    OPTIONAL_INDEX,
    Bind,
    Call,
    Comprehension,
    Entry,
    Expr,
    FieldInit,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MacroKind,
    MapExpr,
    Message,
    Select,
    children,
    conjunction,
    disjunction,
)
from .source import Source, Span

_ONE, _TWO = 1, 2
_QUANTIFIER = {2: (_ONE, False), 3: (_TWO, False)}
_TRANSFORM = {3: (_TWO, False), 4: (_TWO, True)}
_MACROS: dict[str, tuple[MacroKind, dict[int, tuple[int, bool]]]] = {
    "all": (MacroKind.ALL, _QUANTIFIER),
    "exists": (MacroKind.EXISTS, _QUANTIFIER),
    "exists_one": (MacroKind.EXISTS_ONE, _QUANTIFIER),
    "existsOne": (MacroKind.EXISTS_ONE, _QUANTIFIER),
    "filter": (MacroKind.FILTER, {2: (_ONE, False)}),
    "map": (MacroKind.MAP, {2: (_ONE, False), 3: (_ONE, True)}),
    "transformList": (MacroKind.TRANSFORM_LIST, _TRANSFORM),
    "transformMap": (MacroKind.TRANSFORM_MAP, _TRANSFORM),
    "transformMapEntry": (MacroKind.TRANSFORM_MAP_ENTRY, _TRANSFORM),
    "sortBy": (MacroKind.SORT_BY, {2: (_ONE, False)}),
    "optMap": (MacroKind.OPT_MAP, {2: (_ONE, False)}),
    "optFlatMap": (MacroKind.OPT_FLAT_MAP, {2: (_ONE, False)}),
}
"""By name, and by the number of arguments: how many of them name variables, and whether a condition follows."""
_OF_MANY = frozenset(row.function for row in ALL if row.variadic)
"""Functions of any number of arguments: three or more are one list."""
_RANKS = {
    "||": 0,
    "&&": 1,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 2),
    **dict.fromkeys("+-", 3),
    **dict.fromkeys("*/%", 4),
}
"""Binary operators by how tightly they bind (CEL definition, "Syntax"). Those of one rank associate to the left."""
_FLAT = {"||": disjunction, "&&": conjunction}
"""Operators whose runs are one node."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(source: Source, limits: Limits = DEFAULT) -> tuple[Expr | None, tuple[Diagnostic, ...]]:
    """The tree of a CEL expression, its nodes numbered from 1 with spans in the source; None when there is an error.

    `limits` bounds the length of its text.
    """
    too_long = over_text(source, limits)
    if too_long:
        return None, too_long
    lone = _SURROGATE.search(source.text)
    if lone is not None:
        at = Span(lone.start(), lone.end())
        return None, (Diagnostic("TRI103", "a lone surrogate is not a character", source, at),)
    run = _Run(source)
    _ACTIVE.run = run
    try:
        tree = _parser().parse(source.text)
    except _OutgrownError:
        return None, tuple(run.diagnostics)
    except UnexpectedInput as e:
        run.syntax_error(e)
        return None, tuple(run.diagnostics)
    for node, literal in run.too_large.items():
        run.report("TRI103", literals.INT_RANGE, literal)
        del node
    return (None if run.diagnostics else tree), tuple(run.diagnostics)


class _OutgrownError(Exception):
    """The tree has outgrown a limit; nothing more is to be learnt."""


@dataclass
class _Run:
    """What one parse has found. `plain` are number literals that a minus may still join."""

    source: Source
    diagnostics: list[Diagnostic] = field(default_factory=list)
    depths: dict[int, int] = field(default_factory=dict)
    plain: set[int] = field(default_factory=set)
    too_large: dict[int, Span] = field(default_factory=dict)

    def report(self, code: str, message: str, span: Span, help_: str = "") -> None:
        """Records a problem."""
        self.diagnostics.append(Diagnostic(code, message, self.source, span, help_))

    def made(self, span: Span, make: Callable[..., Expr], *fields: object) -> Expr:
        """The node that `make` makes of `fields`, numbered and measured."""
        depths = self.depths
        number = len(depths) + 1
        node = make(*fields, id=number, span=span)
        depth = depths[number] = 1 + max([depths[c.id] for c in children(node)], default=0)
        if depth > MAX_DEPTH:
            self.report("TRI102", f"the expression is nested deeper than {MAX_DEPTH} levels", span)
            raise _OutgrownError
        if number > MAX_NODES:
            self.report("TRI102", f"the expression has more than {MAX_NODES:,} parts", span)
            raise _OutgrownError
        return node

    def syntax_error(self, e: UnexpectedInput) -> None:
        """What was not expected, in words."""
        text = self.source.text
        opened = _three_quotes(text, e)
        if opened is not None:
            found = unclosed_string(text, opened, 3)
        elif isinstance(e, UnexpectedCharacters):
            found = unexpected_character(text, e.pos_in_stream or 0)
        elif isinstance(e, UnexpectedToken) and e.token.type != "$END":
            start = e.token.start_pos or 0
            found = unexpected_token(text, Span(start, start + len(e.token)), frozenset(e.expected))
        else:
            end = len(text.rstrip())
            found = unexpected_token(text, Span(end, end), frozenset(getattr(e, "expected", ())))
        self.report("TRI101", found.message, found.span, found.help)


def _three_quotes(text: str, e: UnexpectedInput) -> int | None:
    """Where a string with three quotes begins that does not end, so that two of them were read as a string."""
    at = e.token.start_pos if isinstance(e, UnexpectedToken) else e.pos_in_stream
    before = getattr(e, "token_history", None)
    if not before or at is None or before[-1].end_pos != at or before[-1].type not in ("STRING", "BYTES"):
        return None
    read = str(before[-1])
    return before[-1].start_pos if text[at : at + 1] == read[-1] and read.lstrip("rRbB") == read[-1] * 2 else None


class _Active(threading.local):
    run: _Run


_ACTIVE = _Active()


@dataclass(frozen=True, slots=True)
class _Optional:
    """An item of a list written `?item`."""

    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class _Group:
    """Parts of a list, a map, a message or a call, with their place."""

    parts: tuple[Any, ...]
    span: Span


_Child: TypeAlias = Any


def _span(parts: list[_Child]) -> Span:
    first, last = parts[0], parts[-1]
    start = first.start_pos if isinstance(first, Token) else first.span.start
    end = last.end_pos if isinstance(last, Token) else last.span.end
    return Span(start or 0, end or 0)


def _made(parts: list[_Child], make: Callable[..., Expr], *fields: object) -> Expr:
    return _ACTIVE.run.made(_span(parts), make, *fields)


def _nothing(parts: list[_Child]) -> Expr:
    """What stands where an error was reported."""
    return _made(parts, Lit, LitKind.NULL, None)


def _joined(operator: str, operands: list[Expr]) -> Expr:
    """One operation on two operands, or on more of `&&` or `||`."""
    span = Span(operands[0].span.start, operands[-1].span.end)
    join = _FLAT.get(operator)
    if join is not None:
        return _ACTIVE.run.made(span, join, tuple(operands))
    return _ACTIVE.run.made(span, Call, IN if operator == "in" else f"_{operator}_", tuple(operands))


def _reduce(operands: list[Expr], pending: list[str]) -> None:
    """Makes one operand of the last ones, by the operator that is pending between them."""
    operator = pending.pop()
    count = 2
    while operator in _FLAT and pending and pending[-1] == operator:
        pending.pop()
        count += 1
    operands[-count:] = [_joined(operator, operands[-count:])]


def _inner(parts: list[_Child]) -> tuple[Any, ...]:
    """The parts of the group among the parts, if there is one."""
    return next((p.parts for p in parts if isinstance(p, _Group)), ())


def _grouped(parts: list[_Child]) -> _Group:
    return _Group(tuple(p for p in parts if not isinstance(p, Token)), _span(parts))


class _Builder(Transformer[Token, Any]):
    """The tree, rule by rule. Every method takes the rule's parts, punctuation included."""

    def start(self, parts: list[_Child]) -> Expr:
        return parts[0]  # type: ignore[no-any-return]

    def conditional(self, parts: list[_Child]) -> Expr:
        return _made(parts, Call, CONDITIONAL, (parts[0], parts[2], parts[4]))

    def operation(self, parts: list[_Child]) -> Expr:
        """Operands with operators between them: what binds tighter first, and of the same rank what is on the left."""
        if len(parts) == 3:
            return _joined(str(parts[1]), [parts[0], parts[2]])
        operands: list[Expr] = [parts[0]]
        pending: list[str] = []
        for operator, operand in zip(map(str, parts[1::2]), parts[2::2], strict=True):
            rank = _RANKS[operator]
            while pending and (_RANKS[pending[-1]] > rank or (_RANKS[pending[-1]] == rank and operator not in _FLAT)):
                _reduce(operands, pending)
            operands.append(operand)
            pending.append(operator)
        while pending:
            _reduce(operands, pending)
        return operands[0]

    def not_(self, parts: list[_Child]) -> Expr:
        return _made(parts, Call, NOT, (parts[1],))

    def negate(self, parts: list[_Child]) -> Expr:
        run, operand = _ACTIVE.run, parts[1]
        if isinstance(operand, Lit) and operand.id in run.plain:
            run.plain.discard(operand.id)
            if run.too_large.pop(operand.id, None) is not None:
                return _made(parts, Lit, LitKind.INT, -(2**63))
            if isinstance(operand.value, int | float):
                return _made(parts, Lit, operand.kind, -operand.value)
        return _made(parts, Call, NEGATE, (operand,))

    def signed(self, parts: list[_Child]) -> Expr:
        return self.negate([parts[0], self.literal(parts[1:])])

    def select(self, parts: list[_Child]) -> Expr:
        return _made(parts, Select, parts[0], _name(parts[2]))

    def optional_select(self, parts: list[_Child]) -> Expr:
        return _made(parts, Select, parts[0], _name(parts[3]), True)

    def index(self, parts: list[_Child]) -> Expr:
        return _made(parts, Call, INDEX, (parts[0], parts[2]))

    def optional_index(self, parts: list[_Child]) -> Expr:
        return _made(parts, Call, OPTIONAL_INDEX, (parts[0], parts[3]))

    def method(self, parts: list[_Child]) -> Expr:
        target, name, args = parts[0], str(parts[2]), _inner(parts)
        if name.startswith("`"):
            _ACTIVE.run.report("TRI101", "a function's name stands without backquotes", _span([parts[2]]))
        if isinstance(target, Ident) and not target.absolute and target.name in NAMESPACES:
            qualified = f"{target.name}.{name}"
            if qualified == "cel.bind":
                return self._bind(args, parts)
            if (qualified, False) in BY_CALL or (name, True) not in BY_CALL:
                return self._namespaced(qualified, args, parts)
        macro, forms = _MACROS.get(name, (None, {}))
        if macro is not None and len(args) in forms:
            return self._comprehension(macro, forms[len(args)], target, args, parts)
        return _made(parts, Call, name, args, target)

    def _comprehension(
        self, macro: MacroKind, form: tuple[int, bool], target: Expr, args: tuple[Expr, ...], parts: list[_Child]
    ) -> Expr:
        count, filtered = form
        names = [self._variable(a, str(macro), "x.exists(item, item > 0)") for a in args[:count]]
        if "" in names:
            return _nothing(parts)
        if len(set(names)) < count:
            _ACTIVE.run.report("TRI104", f"both variables of '{macro}' are called '{names[0]}'", args[1].span)
            return _nothing(parts)
        condition = args[count] if filtered else None
        return _made(parts, Comprehension, macro, target, names[0], args[-1], condition, *names[1:])

    def _bind(self, args: tuple[Expr, ...], parts: list[_Child]) -> Expr:
        if len(args) != 3:
            _ACTIVE.run.report("TRI104", "cel.bind() takes a name, its value and an expression", _span(parts))
            return _nothing(parts)
        variable = self._variable(args[0], "cel.bind", "cel.bind(x, data.total, x > 1.0)")
        return _made(parts, Bind, variable, args[1], args[2]) if variable else _nothing(parts)

    def _variable(self, e: Expr, macro: str, example: str) -> str:
        """The name that `e` is; empty, and reported, for anything else."""
        if isinstance(e, Ident) and not e.absolute:
            return e.name
        _ACTIVE.run.report("TRI104", f"'{macro}' needs a variable's name here", e.span, f"write it as in {example}")
        return ""

    def _namespaced(self, function: str, args: tuple[Expr, ...], parts: list[_Child]) -> Expr:
        if function in _OF_MANY and len(args) > 2:
            args = (_ACTIVE.run.made(Span(args[0].span.start, args[-1].span.end), ListExpr, args),)
        return _made(parts, Call, function, args)

    def call(self, parts: list[_Child]) -> Expr:
        name, args = self._unreserved(parts[0]), _inner(parts)
        if name != "has":
            return _made(parts, Call, name, args)
        if len(args) == 1 and isinstance(args[0], Select) and not args[0].optional:
            return _made(parts, Has, args[0].operand, args[0].field)
        _ACTIVE.run.report(
            "TRI104", "has() takes one field selection", _span(parts), 'as in has(ce.subject); for a key: "a.b" in ce'
        )
        return _nothing(parts)

    def absolute_call(self, parts: list[_Child]) -> Expr:
        return _made(parts, Call, self._unreserved(parts[1]), _inner(parts))

    def message(self, parts: list[_Child]) -> Expr:
        name = _qualified(parts[0], _ACTIVE.run.source.text)
        if name is None:
            _ACTIVE.run.report("TRI104", "a message begins with its type's name", parts[0].span)
            return _nothing(parts)
        return _made(parts, Message, name, _inner(parts))

    def ident(self, parts: list[_Child]) -> Expr:
        return _made(parts, Ident, self._unreserved(parts[0]))

    def absolute(self, parts: list[_Child]) -> Expr:
        return _made(parts, Ident, self._unreserved(parts[1]), True)

    def _unreserved(self, token: Token) -> str:
        """The name that a token is; reported where it is a reserved word."""
        if token in RESERVED:
            help_ = f"a field may be called so, a name may not: data.{token}"
            _ACTIVE.run.report("TRI101", f"'{token}' is a reserved word", _span([token]), help_)
        return str(token)

    def group(self, parts: list[_Child]) -> Expr:
        inner: Expr = parts[1]
        _ACTIVE.run.plain.discard(inner.id)
        return replace(inner, span=_span(parts))

    def list_(self, parts: list[_Child]) -> Expr:
        items = _inner(parts)
        optional = frozenset(i for i, item in enumerate(items) if isinstance(item, _Optional))
        values = tuple(item.value if isinstance(item, _Optional) else item for item in items)
        return _made(parts, ListExpr, values, optional)

    def map_(self, parts: list[_Child]) -> Expr:
        return _made(parts, MapExpr, _inner(parts))

    def arguments(self, parts: list[_Child]) -> _Group:
        return _grouped(parts)

    items = entries = fields = arguments

    def optional_item(self, parts: list[_Child]) -> _Optional:
        return _Optional(parts[1], _span(parts))

    def entry(self, parts: list[_Child]) -> Entry:
        return Entry(parts[0], parts[2], span=_span(parts))

    def optional_entry(self, parts: list[_Child]) -> Entry:
        return Entry(parts[1], parts[3], optional=True, span=_span(parts))

    def field(self, parts: list[_Child]) -> FieldInit:
        return FieldInit(_name(parts[0]), parts[2], span=_span(parts))

    def optional_field(self, parts: list[_Child]) -> FieldInit:
        return FieldInit(_name(parts[1]), parts[3], optional=True, span=_span(parts))

    def literal(self, parts: list[_Child]) -> Expr:
        token: Token = parts[0]
        try:
            return self._literal(token, parts)
        except literals.BadLiteral as e:
            start = token.start_pos or 0
            end = start + (len(token) if e.end is None else e.end)
            _ACTIVE.run.report("TRI103", str(e), Span(start + e.start, end))
            return _nothing(parts)

    def _literal(self, token: Token, parts: list[_Child]) -> Expr:
        run = _ACTIVE.run
        match token.type:
            case "INT":
                too_large = literals.is_int_min(token)
                found = _made(parts, Lit, LitKind.INT, 0 if too_large else literals.int_value(token))
                run.plain.add(found.id)
                if too_large:
                    run.too_large[found.id] = found.span
                return found
            case "FLOAT":
                value = float(token)
                if math.isinf(value):
                    raise literals.BadLiteral("the number is too large for a double")
                found = _made(parts, Lit, LitKind.DOUBLE, value)
                run.plain.add(found.id)
                return found
            case "UINT":
                return _made(parts, Lit, LitKind.UINT, literals.uint_value(token))
            case "STRING":
                return _made(parts, Lit, LitKind.STRING, literals.string_value(token))
            case "BYTES":
                return _made(parts, Lit, LitKind.BYTES, literals.bytes_value(token))
            case "NULL":
                return _made(parts, Lit, LitKind.NULL, None)
            case _:
                return _made(parts, Lit, LitKind.BOOL, token == "true")


def _name(token: Token) -> str:
    return str(token).strip("`")


def _qualified(e: Expr, text: str) -> str | None:
    """The dotted name that `a.b.c` is; None for any other expression, and for one in parentheses or backquotes."""
    names: list[str] = []
    while isinstance(e, Select) and not e.optional and text[e.span.end - 1] not in "`)":
        names.append(e.field)
        e = e.operand
    if not isinstance(e, Ident) or text[e.span.end - 1] == ")":
        return None
    return ("." if e.absolute else "") + ".".join((e.name, *reversed(names)))


@cache
def _parser() -> Any:
    return cel_parser(_Builder(visit_tokens=False))
