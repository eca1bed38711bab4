"""The canonical CEL text of a syntax tree: one line, minimal parentheses; parsing it gives the same tree."""

from __future__ import annotations

import re
from typing import assert_never

from .literals import quoted, quoted_bytes
from .nodes import (
    ADD,
    AND,
    CONDITIONAL,
    DIVIDE,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    INDEX,
    LESS,
    LESS_EQUALS,
    MODULO,
    MULTIPLY,
    NEGATE,
    NOT,
    NOT_EQUALS,
    OPTIONAL_INDEX,
    OR,
    SUBTRACT,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MacroKind,
    MapExpr,
    Message,
    Select,
)
from .operators import spelling

_TERNARY, _OR, _AND, _RELATION, _ADDITION, _MULTIPLICATION, _UNARY, _MEMBER = range(8)
_BRIEF = 60
_BINARY = {
    **dict.fromkeys((EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS, IN), _RELATION),
    **dict.fromkeys((ADD, SUBTRACT), _ADDITION),
    **dict.fromkeys((MULTIPLY, DIVIDE, MODULO), _MULTIPLICATION),
}
_MACROS = frozenset({"has"})
"""Macros that are called as functions are: a function of that name is told apart by a leading dot."""
_SELECTOR = re.compile(r"(?!(?:true|false|null|in)\b)[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def brief(e: Expr) -> str:
    """The text of `e`, cut where it is too long for a message."""
    text = unparse(e)
    return text if len(text) <= _BRIEF else text[: _BRIEF - 3] + "..."


def unparse(e: Expr) -> str:
    """The text of `e`."""
    match e:
        case Lit():
            return _literal(e)
        case Ident(name=name, absolute=absolute):
            return f".{name}" if absolute else name
        case Select(operand=operand, field=field, optional=optional):
            return f"{_at(operand, _MEMBER)}{'.?' if optional else '.'}{_selector(field)}"
        case Has(operand=operand, field=field):
            return f"has({_at(operand, _MEMBER)}.{_selector(field)})"
        case Call():
            return _call(e)
        case ListExpr(items=items, optional=optional):
            return f"[{', '.join(('?' if i in optional else '') + unparse(x) for i, x in enumerate(items))}]"
        case MapExpr(entries=entries):
            shown = (f"{'?' if x.optional else ''}{unparse(x.key)}: {unparse(x.value)}" for x in entries)
            return "{" + ", ".join(shown) + "}"
        case Message(name=name, fields=fields):
            inits = (f"{'?' if f.optional else ''}{_selector(f.field)}: {unparse(f.value)}" for f in fields)
            return name + "{" + ", ".join(inits) + "}"
        case Comprehension(range=range_, body=body):
            names = [e.variable, e.second] if e.second else [e.variable]
            parts = [*names, *([unparse(e.condition)] if e.condition is not None else []), unparse(body)]
            macro = "existsOne" if e.second and e.macro is MacroKind.EXISTS_ONE else e.macro
            return f"{_at(range_, _MEMBER)}.{macro}({', '.join(parts)})"
        case Bind(variable=variable, value=value, body=body):
            return f"cel.bind({variable}, {unparse(value)}, {unparse(body)})"
        case _:
            assert_never(e)


def _literal(e: Lit) -> str:
    match e.value:
        case None:
            return "null"
        case bool():
            return "true" if e.value else "false"
        case str():
            return quoted(e.value)
        case bytes():
            return quoted_bytes(e.value)
        case _:
            return f"{e.value!r}u" if e.kind is LitKind.UINT else repr(e.value)


def _call(e: Call) -> str:
    args, function = e.args, e.function
    if e.target is not None:
        return f"{_at(e.target, _MEMBER)}.{function}({', '.join(map(unparse, args))})"
    if function in (AND, OR):
        level = _AND if function == AND else _OR
        return f" {spelling(function)} ".join(_at(a, level + 1) for a in args)
    if function == CONDITIONAL:
        return f"{_at(args[0], _OR)} ? {_at(args[1], _OR)} : {_at(args[2], _TERNARY)}"
    if function in (NOT, NEGATE):
        sign = "!" if function == NOT else "-"
        number = function == NEGATE and isinstance(args[0], Lit)
        other = isinstance(args[0], Call) and args[0].function in (NOT, NEGATE) and args[0].function != function
        return f"{sign}({unparse(args[0])})" if number or other else sign + _at(args[0], _UNARY)
    if function in (INDEX, OPTIONAL_INDEX):
        return f"{_at(args[0], _MEMBER)}[{'?' if function == OPTIONAL_INDEX else ''}{unparse(args[1])}]"
    if function in _BINARY:
        level = _BINARY[function]
        return f"{_at(args[0], level)} {spelling(function)} {_at(args[1], level + 1)}"
    dot = "." if function in _MACROS else ""
    return f"{dot}{function}({', '.join(map(unparse, args))})"


def _at(e: Expr, level: int) -> str:
    """`e` where an expression of `level` or tighter stands."""
    return unparse(e) if _level(e) >= level else f"({unparse(e)})"


def _level(e: Expr) -> int:
    match e:
        case Lit():
            return _UNARY if _is_negative(e) else _MEMBER
        case Call(function=function, target=None):
            levels = {AND: _AND, OR: _OR, CONDITIONAL: _TERNARY, NOT: _UNARY, NEGATE: _UNARY}
            return levels.get(function, _BINARY.get(function, _MEMBER))
        case _:
            return _MEMBER


def _is_negative(e: Lit) -> bool:
    return isinstance(e.value, int | float) and not isinstance(e.value, bool) and repr(e.value).startswith("-")


def _selector(name: str) -> str:
    return name if _SELECTOR.fullmatch(name) else f"`{name}`"
