"""CloudEvents SQL as a tree. Everything wrong is a diagnostic; no text makes the reader raise or recurse.

The grammar is that of the specification's `CESQLParser.g4`: NOT and the minus bind tighter than LIKE and IN, those
tighter than arithmetic, that tighter than comparisons; AND, OR and XOR have one precedence and associate to the right.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

from lark import Token, Transformer
from lark.exceptions import UnexpectedInput
from tricel.grammar import cesql_parser

from ...diagnostics import Diagnostic
from ...source import Source, Span
from ..reading import Active, OutgrownError, Run, span_of, span_of_token, unreadable
from .syntax_help import syntax_problem
from .tree import Attribute, Binary, Call, Exists, Group, In, Like, Literal, Logic, Node, Unary

_LOGIC = ("AND", "OR", "XOR")
_RANKS = {
    **dict.fromkeys(_LOGIC, 0),
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), 1),
    **dict.fromkeys("+-", 2),
    **dict.fromkeys("*/%", 3),
}
"""Binary operators by how tightly they bind. The first rank associates to the right, all others to the left."""
_LOWEST, _HIGHEST = -(2**31), 2**31 - 1
_Part: TypeAlias = Any


def read(source: Source) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    """The tree of an expression; None where there is an error."""
    problems = unreadable(source)
    if problems:
        return None, problems
    run = _ACTIVE.run = Run(source)
    try:
        tree = _parser().parse(source.text)
    except OutgrownError:
        return None, tuple(run.found)
    except UnexpectedInput as e:
        message, span, help_ = syntax_problem(source.text, e)
        run.report("TRI360", message, span, help_)
        return None, tuple(run.found)
    return (None if any(d.severity == "error" for d in run.found) else tree), tuple(run.found)


_ACTIVE = Active()


def _nodes(parts: list[_Part]) -> tuple[Node, ...]:
    return tuple(part for part in parts if not isinstance(part, Token | list))


class _Builder(Transformer[Token, Any]):
    """The tree, rule by rule. Every method takes the rule's parts, punctuation included."""

    def start(self, parts: list[_Part]) -> Node:
        return parts[0]  # type: ignore[no-any-return]

    def literal(self, parts: list[_Part]) -> Node:
        token: Token = parts[0]
        value: bool | int | str
        match token.type:
            case "INT":
                value = _integer(token)
            case "STRING":
                value = _text(token)
            case _:
                value = token.type == "TRUE"
        return _ACTIVE.run.made(Literal(value, span_of_token(token)))

    def attribute(self, parts: list[_Part]) -> Node:
        return _ACTIVE.run.made(Attribute(str(parts[0]), span_of_token(parts[0])))

    def exists(self, parts: list[_Part]) -> Node:
        return _ACTIVE.run.made(Exists(str(parts[1]), span_of(parts), span_of_token(parts[1])))

    def group(self, parts: list[_Part]) -> Node:
        return _ACTIVE.run.made(Group(parts[1], span_of(parts)), parts[1])

    def not_(self, parts: list[_Part]) -> Node:
        return _ACTIVE.run.made(Unary("NOT", parts[1], span_of(parts)), parts[1])

    def minus(self, parts: list[_Part]) -> Node:
        return _ACTIVE.run.made(Unary("-", parts[1], span_of(parts)), parts[1])

    def items(self, parts: list[_Part]) -> list[Node]:
        return [part for part in parts if not isinstance(part, Token)]

    def call(self, parts: list[_Part]) -> Node:
        args = parts[2] if isinstance(parts[2], list) else []
        return _ACTIVE.run.made(Call(parts[0].upper(), tuple(args), span_of(parts), span_of_token(parts[0])), *args)

    def in_(self, parts: list[_Part]) -> Node:
        items = parts[-2]
        return _ACTIVE.run.made(In(parts[0], tuple(items), len(parts) > 5, span_of(parts)), parts[0], *items)

    def like(self, parts: list[_Part]) -> Node:
        pattern = Literal(_text(parts[-1]), span_of_token(parts[-1]))
        return _ACTIVE.run.made(Like(parts[0], pattern, len(parts) > 3, span_of(parts)), parts[0])

    def operation(self, parts: list[_Part]) -> Node:
        """A run of operands with operators between them."""
        operands: list[Node] = [parts[0]]
        pending: list[str] = []
        for i in range(1, len(parts), 2):
            operator = parts[i].upper()
            operator = "!=" if operator == "<>" else operator
            rank = _RANKS[operator]
            while pending and _RANKS[pending[-1]] >= max(rank, 1):
                _reduce(operands, pending)
            pending.append(operator)
            operands.append(parts[i + 1])
        while pending:
            _reduce(operands, pending)
        return operands[0]


def _reduce(operands: list[Node], pending: list[str]) -> None:
    """Makes one operand of the last two, by the operator between them; of more, where that is a run of one `_LOGIC`."""
    operator = pending.pop()
    if operator not in _LOGIC:
        right, left = operands.pop(), operands.pop()
        span = Span(left.span.start, right.span.end)
        operands.append(_ACTIVE.run.made(Binary(operator, left, right, span), left, right))
        return
    count = 2
    while pending and pending[-1] == operator:
        pending.pop()
        count += 1
    some = tuple(operands[-count:])
    span = Span(some[0].span.start, some[-1].span.end)
    operands[-count:] = [_ACTIVE.run.made(Logic(operator, some, span), *some)]


def _integer(token: Token) -> int:
    digits = token.lstrip("+-").lstrip("0") or "0"
    value = int(digits) if len(digits) <= len(str(_HIGHEST)) else _HIGHEST + 2
    value = -value if token[0] == "-" else value
    if not _LOWEST <= value <= _HIGHEST:
        help_ = f"numbers are from {_LOWEST} to {_HIGHEST}"
        _ACTIVE.run.report("TRI360", f"'{token[:40]}' is no number of 32 bits", span_of_token(token), help_)
        return 0
    return value


def _text(token: Token) -> str:
    """The content of a string: only the quote that it is written with can be escaped."""
    quote, body = token[0], token[1:-1]
    text = body.replace(f"\\{quote}", quote)
    if quote * 2 in body.replace(f"\\{quote}", ""):
        message = f"{quote}{quote} inside a string is two quotes, not one"
        _ACTIVE.run.report("TRI367", message, span_of_token(token), f"for one quote write \\{quote}")
    return text


@cache
def _parser() -> Any:
    return cesql_parser(_Builder(visit_tokens=False))
