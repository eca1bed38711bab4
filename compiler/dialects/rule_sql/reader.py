"""Rule SQL as a tree. Everything wrong is a diagnostic; no text makes the reader raise or recurse.

The grammar is that of EMQX's rule SQL 0.2: OR binds least, then AND, NOT, comparisons, `+ -`, `* / div`, and a sign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from lark import Token, Transformer
from lark.exceptions import UnexpectedInput
from tricel.grammar import rule_sql_parser

from ...diagnostics import Diagnostic
from ...limits import MAX_DEPTH
from ...source import Source, Span
from ..reading import Active, OutgrownError, Run, span_of, span_of_token, unreadable
from .syntax_help import syntax_problem
from .tree import (
    Arithmetic,
    Call,
    Case,
    Comparison,
    Field,
    In,
    Items,
    Literal,
    Logic,
    Negative,
    Not,
    Path,
    Range,
    Select,
)

_FOREACH = re.compile(r"\s*(foreach)\b", re.IGNORECASE)
_LONGEST_NUMBER = 300
_Part: TypeAlias = Any


def read(source: Source) -> tuple[Select | None, tuple[Diagnostic, ...]]:
    """The tree of a check; None where there is an error."""
    problems = unreadable(source)
    if problems:
        return None, problems
    foreach = _FOREACH.match(source.text)
    if foreach is not None:
        help_ = "write SELECT: a check is asked once for a message, not for each element"
        return None, (Diagnostic("TRI381", "a check has no FOREACH", source, Span(*foreach.span(1)), help_),)
    run = _ACTIVE.run = Run(source, "check", MAX_DEPTH // 2)
    try:
        tree: Select = _parser().parse(source.text)
    except OutgrownError:
        return None, tuple(run.found)
    except UnexpectedInput as e:
        message, span, help_ = syntax_problem(source.text, e)
        run.report("TRI380", message, span, help_)
        return None, tuple(run.found)
    if tree.source is not None:
        help_ = "remove it: the topics stand beside the checks, under 'topics'"
        run.report("TRI381", "a check has no FROM", tree.source, help_)
    return (None if run.found else tree), tuple(run.found)


_ACTIVE = Active()


def _made(node: Any, *below: Any) -> Any:
    return _ACTIVE.run.made(node, *below)


def _unquoted(token: str) -> str:
    """A text or a name without its quotes: all single ones around it, then all double ones, as EMQX takes them off."""
    return token.strip("'").strip('"')


def _integer(token: Token) -> int:
    if len(token) > _LONGEST_NUMBER:
        _ACTIVE.run.report("TRI380", f"a number has more than {_LONGEST_NUMBER} digits", span_of_token(token))
        return 0
    return int(token)


def _below(parts: list[_Part]) -> list[_Part]:
    return [part for part in parts if not isinstance(part, Token | tuple)]


@dataclass(frozen=True, slots=True)
class _Step:
    value: str | int | Path
    span: Span


class _Builder(Transformer[Token, Any]):
    """The tree, rule by rule. Every method takes the rule's parts, punctuation included."""

    def start(self, parts: list[_Part]) -> Select:
        types = [part.type if isinstance(part, Token) else "" for part in parts]
        source = None
        if "FROM" in types:
            at = types.index("FROM")
            end = types.index("WHERE") if "WHERE" in types else len(parts)
            source = Span(parts[at].start_pos or 0, span_of(parts[at:end]).end)
        where = parts[types.index("WHERE") + 1] if "WHERE" in types else None
        return Select(tuple(parts[1]), where, source, Span(parts[0].start_pos or 0, _end(parts[-1])))

    def fields(self, parts: list[_Part]) -> list[Field]:
        return [part for part in parts if isinstance(part, Field)]

    def star(self, parts: list[_Part]) -> Field:
        return Field(None, None, span_of_token(parts[0]))

    def plain(self, parts: list[_Part]) -> Field:
        return Field(parts[0], None, parts[0].span)

    def named(self, parts: list[_Part]) -> Field:
        return Field(parts[0], parts[-1], span_of([parts[0], parts[-1]]))

    def source(self, parts: list[_Part]) -> Token:
        return parts[0]  # type: ignore[no-any-return]

    def logic(self, parts: list[_Part]) -> _Part:
        """AND binds tighter than OR."""
        terms: list[list[_Part]] = [[parts[0]]]
        for i in range(1, len(parts), 2):
            if parts[i].upper() == "AND":
                terms[-1].append(parts[i + 1])
            else:
                terms.append([parts[i + 1]])
        joined = [_joined("AND", term) for term in terms]
        return _joined("OR", joined)

    def not_(self, parts: list[_Part]) -> _Part:
        return _made(Not(parts[1], span_of(parts)), parts[1])

    def comparison(self, parts: list[_Part]) -> _Part:
        operator = "!=" if parts[1] == "<>" else str(parts[1])
        return _made(Comparison(operator, parts[0], parts[2], span_of(parts)), parts[0], parts[2])

    def in_(self, parts: list[_Part]) -> _Part:
        items = parts[-2]
        negated = parts[1].type == "NOT"
        return _made(In(parts[0], tuple(items), negated, span_of(parts)), parts[0], *items)

    def arithmetic(self, parts: list[_Part]) -> _Part:
        """`* / div` bind tighter than `+ -`, and all from the left."""
        operands: list[_Part] = [parts[0]]
        pending: list[str] = []
        for i in range(1, len(parts), 2):
            rank = parts[i] in ("*", "/", "div")
            while pending and (pending[-1] in ("*", "/", "div")) >= rank:
                _reduce(operands, pending)
            pending.append(str(parts[i]))
            operands.append(parts[i + 1])
        while pending:
            _reduce(operands, pending)
        return operands[0]

    def sign(self, parts: list[_Part]) -> _Part:
        return parts[1] if parts[0] == "+" else _made(Negative(parts[1], span_of(parts)), parts[1])

    def literal(self, parts: list[_Part]) -> _Part:
        token: Token = parts[0]
        value: bool | int | float | str
        match token.type:
            case "INT":
                value = _integer(token)
            case "FLOAT":
                value = float(token)
                if value in (float("inf"), float("-inf")):
                    _ACTIVE.run.report("TRI380", f"'{token[:40]}' is no number of 64 bits", span_of_token(token))
            case "STRING":
                value = _unquoted(token)
            case _:
                value = token.type == "TRUE"
        return _made(Literal(value, span_of_token(token)))

    def group(self, parts: list[_Part]) -> _Part:
        return parts[1]

    def items(self, parts: list[_Part]) -> list[_Part]:
        return _below(parts)

    def list_(self, parts: list[_Part]) -> _Part:
        items = parts[1] if isinstance(parts[1], list) else []
        return _made(Items(tuple(items), span_of(parts)), *items)

    def whole(self, parts: list[_Part]) -> _Step:
        number = _integer(parts[-1])
        return _Step(-number if parts[0] == "-" else number, span_of(parts))

    def range(self, parts: list[_Part]) -> _Part:
        first, last = (int(str(part.value)) for part in parts if isinstance(part, _Step))
        return _made(Range(None, first, last, span_of(parts)))

    def part(self, parts: list[_Part]) -> _Part:
        return self.range(parts)

    def key(self, parts: list[_Part]) -> _Step:
        return _Step(_unquoted(parts[1]), span_of(parts))

    def index(self, parts: list[_Part]) -> _Step:
        return _Step(parts[1].value, span_of(parts))

    def computed(self, parts: list[_Part]) -> _Step:
        return _Step(parts[1], span_of(parts))

    def path(self, parts: list[_Part]) -> _Part:
        whole = next((i for i, part in enumerate(parts) if isinstance(part, Range)), None)
        if whole is not None:
            of, part = self.path(parts[:whole]), parts[whole]
            if whole + 1 < len(parts):
                _ACTIVE.run.report("TRI380", "nothing follows a part of a list", parts[whole + 1].span)
            return _made(Range(of, part.first, part.last, span_of(parts)), of)
        steps = tuple(part.value for part in parts[1:])
        if len(steps) > MAX_DEPTH // 2:
            _ACTIVE.run.report("TRI102", f"a path has more than {MAX_DEPTH // 2} steps", span_of(parts))
            raise OutgrownError
        return _made(Path(_unquoted(parts[0]), steps, span_of(parts)))

    def call(self, parts: list[_Part]) -> _Part:
        at = parts[0]
        if isinstance(at, Range):
            _ACTIVE.run.report("TRI380", "a part of a list is no function", at.span)
            return at
        args = parts[2] if isinstance(parts[2], list) else []
        name = ".".join([at.name, *(str(step) for step in at.steps)])
        return _made(Call(name, tuple(args), span_of(parts), at.span), *args)

    def when(self, parts: list[_Part]) -> tuple[_Part, _Part]:
        return parts[1], parts[3]

    def case(self, parts: list[_Part]) -> _Part:
        whens = tuple(part for part in parts if isinstance(part, tuple))
        types = [part.type if isinstance(part, Token) else "" for part in parts]
        otherwise = parts[types.index("ELSE") + 1] if "ELSE" in types else None
        subject = None if isinstance(parts[1], tuple) else parts[1]
        below = [node for node in (subject, otherwise, *(n for pair in whens for n in pair)) if node is not None]
        return _made(Case(subject, whens, otherwise, span_of(parts)), *below)


def _end(part: _Part) -> int:
    last = part[-1] if isinstance(part, list) else part
    return (last.end_pos or 0) if isinstance(last, Token) else int(last.span.end)


def _joined(operator: str, terms: list[_Part]) -> _Part:
    if len(terms) == 1:
        return terms[0]
    return _made(Logic(operator, tuple(terms), span_of([terms[0], terms[-1]])), *terms)


def _reduce(operands: list[_Part], pending: list[str]) -> None:
    right, left = operands.pop(), operands.pop()
    operands.append(_made(Arithmetic(pending.pop(), left, right, span_of([left, right])), left, right))


@cache
def _parser() -> Any:
    return rule_sql_parser(_Builder(visit_tokens=False))
