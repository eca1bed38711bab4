"""The functions of CloudEvents SQL (specification, section 3.5, and its compatibility kit) as CEL that never errs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ...interpreter import evaluate
from ...limits import MAX_DEPTH
from ...nodes import (
    ADD,
    CONDITIONAL,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    INDEX,
    LESS,
    LESS_EQUALS,
    NOT_EQUALS,
    SUBTRACT,
    Bind,
    Call,
    Expr,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    Select,
    string,
)
from ...source import Span
from .logic import FALSE, INT_MAX, INT_MIN, TRUE, Leaf, OutgrownError, Terms, Truth, conj, constant, defined, disj
from .profiles import Profile
from .values import Int, Text, Value, integer, literal, never, number_of, number_tests, relation, to_truth


class Site(Protocol):
    """Where a function is called: its place, what meaning is asked for, and what it may say."""

    profile: Profile

    def fresh(self) -> str:
        """A name that nothing else has."""

    def only_ascii(self, span: Span) -> None:
        """Says that letters beyond ASCII stay as they are."""

    def errs(self, message: str, span: Span) -> None:
        """Says that a call errs whatever the event is."""


Build: TypeAlias = Callable[..., Value]
"""The value of a call: of the site, the span, and the arguments, each cast to its parameter's type."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function: the types of its parameters (`any`, `text`, `int` or `truth`) and of further ones (`more`), and its value.

    `least` is how many arguments it takes at least, where that is fewer than its parameters; `result` its type.
    """

    name: str
    parameters: tuple[str, ...]
    build: Build
    result: str
    more: str = ""
    least: int = -1

    @property
    def arity(self) -> tuple[int, int | None]:
        """The least and the greatest number of arguments."""
        least = self.least if self.least >= 0 else len(self.parameters)
        return least, None if self.more else len(self.parameters)


def _call(span: Span, function: str, *args: Expr, target: Expr | None = None) -> Expr:
    return Call(function, args, target, span=span)


def _number(value: int, span: Span) -> Expr:
    return Lit(LitKind.INT, value, span=span)


def _let(site: Site, value: Expr, body: Callable[[Expr], Expr]) -> Expr:
    """What `body` makes of a value: bound to a name first, unless it is as short as one."""
    match value:
        case Lit() | Ident() | Select(operand=Ident()):
            return body(value)
        case Call(function=function, args=(Ident(), Lit())) if function == INDEX:
            return body(value)
        case _:
            name = site.fresh()
            return Bind(name, value, body(Ident(name, span=value.span)), span=value.span)


def _size(text: Expr, span: Span) -> Expr:
    if isinstance(text, Lit) and isinstance(text.value, str):
        return _number(len(text.value), span)
    return _call(span, "size", text)


def _cast(site: Site, span: Span, value: Value) -> Value:
    """The argument, which has been cast to the parameter's type."""
    return value


def _is_int(site: Site, span: Span, value: Int | Text | Truth) -> Value:
    """Whether a cast to Integer would not err: truth values have one."""
    match value:
        case Text(ok=ok, expr=expr, cast_from=None) if literal(value) is None:
            test = conj(number_tests(expr, span))
            return Leaf(ok, test, _call(span, "!_", test))
        case Text(cast_from=Int(ok=ok)):
            return _always(True, ok)
        case Text(ok=ok):
            known = literal(value)
            return _always(isinstance(known, str) and number_of(known) is not None, ok)
        case Int(ok=ok):
            return _always(True, ok)
        case _:
            return _always(True, defined(value))


def _is_bool(site: Site, span: Span, value: Int | Text | Truth) -> Value:
    """Whether a cast to Boolean would not err: numbers have one."""
    match value:
        case Text(ok=ok):
            truth = to_truth(value, span)
            if truth is None:
                return _always(False, ok)
            if literal(value) is not None or not isinstance(truth, Leaf) or value.cast_from is not None:
                return _always(True, ok)
            test = truth.ok[-1]
            return Leaf(ok, test, _call(span, "!_", test))
        case Int(ok=ok):
            return _always(True, ok)
        case _:
            return _always(True, defined(value))


def _always(value: bool, ok: Terms) -> Leaf:
    known = constant(value)
    return Leaf(ok, known.yes, known.no)


def _length(site: Site, span: Span, text: Text) -> Value:
    known = literal(text)
    if isinstance(known, str):
        return integer(len(known.encode()) if site.profile.counts_bytes else len(known), span)
    counted = _call(span, "bytes", text.expr) if site.profile.counts_bytes else text.expr
    return Int(text.ok, _call(span, "size", counted), 0, INT_MAX)


def _concat(site: Site, span: Span, *texts: Text) -> Value:
    parts: list[Expr] = []
    for text in texts:
        last = parts[-1] if parts else None
        if isinstance(last, Lit) and isinstance(text.expr, Lit):
            parts[-1] = string("".join(str(part.value) for part in (last, text.expr)), span)
        elif text.expr != string(""):
            parts.append(text.expr)
    if len(parts) > MAX_DEPTH:
        raise OutgrownError
    ok = tuple(term for text in texts for term in text.ok)
    joined = parts[0] if parts else string("", span)
    for part in parts[1:]:
        joined = _call(span, ADD, joined, part)
    return Text(ok, joined)


def _concat_ws(site: Site, span: Span, delimiter: Text, *texts: Text) -> Value:
    if isinstance(delimiter.expr, Lit):
        between = [part for text in texts for part in (delimiter, text)][1:]
        joined = _concat(site, span, *between)
        assert isinstance(joined, Text)
        return Text((*delimiter.ok, *joined.ok), joined.expr)
    ok = (*delimiter.ok, *(term for text in texts for term in text.ok))
    if len(texts) < 2:
        return Text(ok, texts[0].expr if texts else string("", span))
    items = ListExpr(tuple(text.expr for text in texts), span=span)
    return Text(ok, _call(span, "join", delimiter.expr, target=items))


def _cased(site: Site, span: Span, text: Text, fold: Callable[[str], str], method: str) -> Value:
    known = literal(text)
    if isinstance(known, str):
        return Text((), string(fold(known), span))
    site.only_ascii(span)
    return Text(text.ok, _call(span, method, target=text.expr))


def _lower(site: Site, span: Span, text: Text) -> Value:
    return _cased(site, span, text, lower, "lowerAscii")


def _upper(site: Site, span: Span, text: Text) -> Value:
    return _cased(site, span, text, upper, "upperAscii")


def lower(text: str) -> str:
    """The text with each character in lower case, by Unicode's mapping of one character to one."""
    return "".join("i" if c == "\u0130" else c.lower() for c in text)


def upper(text: str) -> str:
    """The text with each character in upper case, by Unicode's mapping of one character to one."""
    return "".join(next((m for m in (c.upper(), c.title()) if len(m) == 1), c) for c in text)


def _trim(site: Site, span: Span, text: Text) -> Value:
    trimmed = _call(span, "trim", target=text.expr)
    return Text((), string(str(evaluate(trimmed, {})), span)) if literal(text) is not None else Text(text.ok, trimmed)


def _left(site: Site, span: Span, text: Text, count: Int) -> Value:
    def cut(whole: Expr, n: Expr) -> Expr:
        short = _call(span, LESS_EQUALS, _size(whole, span), n)
        return _call(span, CONDITIONAL, short, whole, _call(span, "substring", _number(0, span), n, target=whole))

    return _ended(site, span, text, count, cut, lambda whole, n: whole[:n])


def _right(site: Site, span: Span, text: Text, count: Int) -> Value:
    def cut(whole: Expr, n: Expr) -> Expr:
        short = _call(span, LESS_EQUALS, _size(whole, span), n)
        begin = _call(span, SUBTRACT, _size(whole, span), n)
        return _call(span, CONDITIONAL, short, whole, _call(span, "substring", begin, target=whole))

    return _ended(site, span, text, count, cut, lambda whole, n: whole[max(len(whole) - n, 0) :])


def _ended(
    site: Site, span: Span, text: Text, count: Int, cut: Callable[[Expr, Expr], Expr], known: Callable[[str, int], str]
) -> Value:
    """An end of a text, which is `known` of a text and a number that are: an error for fewer than no characters."""
    enough = () if count.low >= 0 else (relation(GREATER_EQUALS, count.expr, _number(0, span), span),)
    _never_beyond(site, enough, span)
    whole, n = literal(text), literal(count)
    if isinstance(whole, str) and isinstance(n, int) and n >= 0:
        return Text((), string(known(whole, n), span))
    expr = _let(site, count.expr, lambda n: _let(site, text.expr, lambda whole: cut(whole, n)))
    return Text((*text.ok, *count.ok, *enough), expr)


def _never_beyond(site: Site, tests: Terms, span: Span) -> None:
    if FALSE in tests:
        site.errs("the text has no such part", span)


def _substring(site: Site, span: Span, text: Text, position: Int, length: Int | None = None) -> Value:
    """From a position, the first being 1 and the last -1: empty at 0, and an error beyond both ends."""
    at = literal(position)
    ok = (*text.ok, *position.ok, *(length.ok if length is not None else ()))
    size, zero = _size(text.expr, span), _number(0, span)
    within: Terms
    if isinstance(at, int):
        within = (relation(GREATER_EQUALS, size, _number(abs(at), span), span),) if at else ()
    else:
        within = (
            _call(span, LESS_EQUALS, position.expr, size),
            _call(span, GREATER_EQUALS, _call(span, ADD, position.expr, size), zero),
        )
    if length is not None and length.low < 0:
        counted = relation(GREATER_EQUALS, length.expr, zero, span)
        if site.profile.stops_at_position_0:
            if at == 0:
                counted = TRUE
            elif at is None:
                counted = disj((_call(span, EQUALS, position.expr, zero), counted))
        within = (*within, counted)

    def cut(whole: Expr, begin: Expr) -> Expr:
        if length is None:
            return _call(span, "substring", begin, target=whole)

        def until(end: Expr) -> Expr:
            size = _size(whole, span)
            last = _call(span, CONDITIONAL, _call(span, LESS, size, end), size, end)
            return _call(span, "substring", begin, last, target=whole)

        if isinstance(begin, Lit) and isinstance(length.expr, Lit):
            return until(_number(_value(begin) + _value(length.expr), span))
        return _let(site, _call(span, ADD, begin, length.expr), until)

    def of(whole: Expr) -> Expr:
        if at == 0:
            return string("", span)
        if isinstance(at, int):
            begin = _number(at - 1, span) if at > 0 else _call(span, ADD, _size(whole, span), _number(at, span))
            return _let(site, begin, lambda first: cut(whole, first))

        def from_(position: Expr) -> Expr:
            forward = _call(span, SUBTRACT, position, _number(1, span))
            backward = _call(span, ADD, _size(whole, span), position)
            begin = _call(span, CONDITIONAL, _call(span, GREATER, position, zero), forward, backward)
            taken = _let(site, begin, lambda first: cut(whole, first))
            return _call(span, CONDITIONAL, _call(span, EQUALS, position, zero), string("", span), taken)

        return _let(site, position.expr, from_)

    _never_beyond(site, within, span)
    ok = (*ok, *(term for term in within if term != TRUE))
    known, count = literal(text), literal(length) if length is not None else INT_MAX
    if not ok and isinstance(known, str) and isinstance(at, int) and isinstance(count, int):
        begin = at - 1 if at > 0 else len(known) + at
        return Text((), string(known[begin : begin + max(count, 0)] if at else "", span))
    return Text(ok, _let(site, text.expr, of))


def _value(e: Lit) -> int:
    return e.value if isinstance(e.value, int) else 0


def _abs(site: Site, span: Span, number: Int) -> Value:
    """The absolute value; the lowest number has none."""
    known = literal(number)
    if isinstance(known, int):
        if known == INT_MIN:
            site.errs("the lowest number has no absolute value", span)
            return never("int", span)
        return integer(abs(known), span)
    if number.low >= 0:
        return number
    lowest = relation(NOT_EQUALS, number.expr, _number(INT_MIN, span), span)
    ok = (*number.ok, lowest) if number.low == INT_MIN else number.ok
    return Int(ok, _call(span, "math.abs", number.expr), 0, min(INT_MAX, max(-number.low, number.high)))


FUNCTIONS = {
    row.name: row
    for row in (
        Function("INT", ("int",), _cast, "int"),
        Function("BOOL", ("truth",), _cast, "truth"),
        Function("STRING", ("text",), _cast, "text"),
        Function("IS_INT", ("any",), _is_int, "truth"),
        Function("IS_BOOL", ("any",), _is_bool, "truth"),
        Function("ABS", ("int",), _abs, "int"),
        Function("LENGTH", ("text",), _length, "int"),
        Function("CONCAT", (), _concat, "text", more="text"),
        Function("CONCAT_WS", ("text",), _concat_ws, "text", more="text"),
        Function("LOWER", ("text",), _lower, "text"),
        Function("UPPER", ("text",), _upper, "text"),
        Function("TRIM", ("text",), _trim, "text"),
        Function("LEFT", ("text", "int"), _left, "text"),
        Function("RIGHT", ("text", "int"), _right, "text"),
        Function("SUBSTRING", ("text", "int", "int"), _substring, "text", least=2),
    )
}
"""Every function, by its name."""
