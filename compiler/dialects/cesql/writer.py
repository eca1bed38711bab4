"""CEL as CloudEvents SQL. What is written is read again: it stands only where it is the same expression."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

from ...nodes import (
    ADD,
    AND,
    CONDITIONAL,
    DIVIDE,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    MODULO,
    MULTIPLY,
    NEGATE,
    NOT,
    NOT_EQUALS,
    OR,
    SUBTRACT,
    Call,
    Expr,
    ListExpr,
    Lit,
    walk,
)
from ..inverse import guard_of
from ..predicates import TIME, named
from .like import Sign, pattern_of
from .logic import TRUTHS, negative_normal
from .values import WHOLE_NUMBER, number_tests

_SIGNS = {EQUALS: "=", NOT_EQUALS: "!=", LESS: "<", LESS_EQUALS: "<=", GREATER: ">", GREATER_EQUALS: ">="}
_ARITHMETIC = {ADD: "+", SUBTRACT: "-", MULTIPLY: "*", DIVIDE: "/", MODULO: "%"}
_NAME = re.compile(r"[0-9]*[a-z][a-z0-9]*", re.ASCII)
_KEYWORDS = frozenset({"and", "or", "xor", "not", "like", "in", "exists", "true", "false"})
_METHODS = {"trim": "TRIM", "lowerAscii": "LOWER", "upperAscii": "UPPER"}
_GLOB = re.compile(r"\.\*|\.|\\([\\.+*?()|\[\]{}^$])|([^\\.+*?()|\[\]{}^$])", re.DOTALL)


class _NoWordsError(Exception):
    """CloudEvents SQL has no words for a part."""


def guesses(expr: Expr) -> list[str]:
    """Expressions that may mean the same, the shortest first: without the guards that reading adds, and with them."""
    normal = negative_normal(expr)
    found = []
    for keep in (False, True):
        with suppress(_NoWordsError):
            found.append(_Writer(keep).condition(normal))
    return list(dict.fromkeys(found))


class _Writer:
    """Writes an expression; `keep` is whether a guard is written where something beside it implies it."""

    def __init__(self, keep: bool) -> None:
        self.keep = keep

    def condition(self, e: Expr) -> str:
        match e:
            case Lit(value=bool(value)):
                return str(value).upper()
            case Call(function="IS_INT", args=(inner,)):
                return f"IS_INT({self.value(inner)})"
            case Call(function=function, args=args) if function == AND:
                return self.joined(" AND ", self.without_guards(args))
            case Call(function=function, args=args) if function == OR:
                return self.joined(" OR ", args)
            case Call(function=function, args=(inner,), target=None) if function == NOT:
                return self.denied(inner)
            case Call(function=function, args=(left, right)) if function in _SIGNS:
                return self.compared(function, left, right)
            case Call(function=function, args=(left, ListExpr(items=items))) if function == IN:
                return self.one_of(left, items, "IN")
            case Call(function=function, args=(Lit(value=str(text)),), target=subject) if subject is not None:
                return f"{self.value(subject)} LIKE {quoted(_pattern(function, text))}"
            case _:
                name = guard_of(e)
                if name is None:
                    raise _NoWordsError
                return f"EXISTS {_attribute(name)}"

    def joined(self, between: str, terms: tuple[Expr, ...]) -> str:
        if len(terms) == 1:
            return self.condition(terms[0])
        return between.join(self.operand(term) for term in terms)

    def operand(self, e: Expr) -> str:
        """A term of AND or OR: in parentheses where it is AND, OR or XOR itself."""
        match e:
            case Call(function=function, args=args) if function == AND:
                kept = self.without_guards(args)
                return self.operand(kept[0]) if len(kept) == 1 else f"({self.joined(' AND ', kept)})"
            case Call(function=function) if function == OR:
                return f"({self.condition(e)})"
            case Call(function=function, args=args) if function == NOT_EQUALS and all(map(_is_condition, args)):
                return f"({self.condition(e)})"
            case _:
                return self.condition(e)

    def without_guards(self, terms: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The terms, but for guards of what stands after them; the tests that a text is a number are one IS_INT."""
        kept: list[Expr] = []
        for i, term in enumerate(terms):
            number = _tested_number(term)
            if number is not None:
                if _is_whole(term) and (self.keep or not self.reads(Call("int", (number,)), terms, number)):
                    kept.append(Call("IS_INT", (number,)))
            elif self.keep or not self.guards(term, terms[i + 1 :]):
                kept.append(term)
        return tuple(kept)

    def guards(self, term: Expr, after: tuple[Expr, ...]) -> bool:
        """Whether a term asks for no more than what the terms after it need."""
        name = guard_of(term)
        if name is not None:
            return any(named(node) == name for later in after for node in walk(later))
        return _listed(term) is not None and any(node == _listed(term) for later in after for node in walk(later))

    def reads(self, number: Expr, terms: tuple[Expr, ...], text: Expr) -> bool:
        """Whether a term reads a number, other than to test the text that it is of."""
        return any(node == number for term in terms if _tested_number(term) != text for node in walk(term))

    def denied(self, inner: Expr) -> str:
        match inner:
            case Call(function=function, args=(left, ListExpr(items=items))) if function == IN:
                return self.one_of(left, items, "NOT IN")
            case Call(function=function, args=(Lit(value=str(text)),), target=subject) if subject is not None:
                return f"{self.value(subject)} NOT LIKE {quoted(_pattern(function, text))}"
            case _:
                text = self.condition(inner)
                return f"NOT {text}" if guard_of(inner) is not None else f"NOT ({text})"

    def compared(self, function: str, left: Expr, right: Expr) -> str:
        match left, right:
            case Call(function="lowerAscii", target=subject, args=()), Lit(value=("true" | "false") as truth) if (
                function == EQUALS and subject is not None
            ):
                return f"{self.value(subject)} = {truth.upper()}"
            case _, Call(function="timestamp", args=(Lit(value=str(text)),)) if named(left) == TIME:
                return f"time {_SIGNS[function]} {quoted(text)}"
            case Call(), Call() if function in (EQUALS, NOT_EQUALS) and _is_condition(left) and _is_condition(right):
                sign = "XOR" if function == NOT_EQUALS else "="
                return f"({self.condition(left)}) {sign} ({self.condition(right)})"
            case _:
                return f"{self.value(left)} {_SIGNS[function]} {self.value(right)}"

    def one_of(self, left: Expr, items: tuple[Expr, ...], operator: str) -> str:
        if _listed(Call(IN, (left, ListExpr(items)))) is not None:
            subject = left.target if isinstance(left, Call) else None
            if subject is None:
                raise _NoWordsError
            return f"{'NOT ' if operator != 'IN' else ''}IS_BOOL({self.value(subject)})"
        if named(left) == TIME:
            texts = [item.args[0] for item in items if isinstance(item, Call) and item.function == "timestamp"]
            items = tuple(texts) if len(texts) == len(items) else ()
        if not items:
            raise _NoWordsError
        return f"{self.value(left)} {operator} ({', '.join(map(self.value, items))})"

    def value(self, e: Expr) -> str:
        """A text or a number."""
        name = named(e)
        if name is not None:
            return _attribute(name)
        match e:
            case Lit(value=bool(value)):
                return str(value).upper()
            case Lit(value=str(text)):
                return quoted(text)
            case Lit(value=int(number)):
                return str(number)
            case Call(function="int", args=(inner,)):
                return self.value(inner) if named(inner) is not None else f"INT({self.value(inner)})"
            case Call(function="string", args=(inner,)):
                return f"STRING({self.value(inner)})"
            case Call(function="size", args=(Call(function="bytes", args=(inner,)) | inner,)):
                return f"LENGTH({self.value(inner)})"
            case Call(function="math.abs", args=(inner,)):
                return f"ABS({self.value(inner)})"
            case Call(function=function, args=(), target=subject) if function in _METHODS and subject is not None:
                return f"{_METHODS[function]}({self.value(subject)})"
            case Call(function=function, args=(inner,)) if function == NEGATE:
                return f"- {self.inner(inner)}"
            case Call(function=function, args=(left, right)) if function in _ARITHMETIC:
                if function == ADD and _is_text(left):
                    return f"CONCAT({', '.join(map(self.value, _added(e)))})"
                return f"{self.inner(left)} {_ARITHMETIC[function]} {self.inner(right)}"
            case Call(function=function, args=(condition, Lit(value="true"), Lit(value="false"))) if (
                function == CONDITIONAL
            ):
                return f"STRING({self.condition(condition)})"
            case _:
                raise _NoWordsError

    def inner(self, e: Expr) -> str:
        text = self.value(e)
        return f"({text})" if isinstance(e, Call) and e.function in (*_ARITHMETIC, NEGATE) else text


def quoted(text: str) -> str:
    """A string literal."""
    for quote in "'\"":
        body = text.replace(quote, f"\\{quote}")
        if re.fullmatch(rf"(?:[^{quote}\\]|\\.)*", body, re.DOTALL) and body.replace(f"\\{quote}", quote) == text:
            return f"{quote}{body}{quote}"
    raise _NoWordsError


def _attribute(name: str) -> str:
    if not _NAME.fullmatch(name) or name in _KEYWORDS:
        raise _NoWordsError
    return name


_PATTERNS: dict[str, Callable[[str], list[str]]] = {
    "startsWith": lambda text: [text, Sign.ANY],
    "endsWith": lambda text: [Sign.ANY, text],
    "contains": lambda text: [Sign.ANY, text, Sign.ANY],
}


def _pattern(function: str, text: str) -> str:
    """The pattern of LIKE that a method with one text is."""
    if function in _PATTERNS:
        return pattern_of(_PATTERNS[function](text))
    if function != "matches" or not (text.startswith("(?s)^") and text.endswith("$")):
        raise _NoWordsError
    body, at, parts = text[len("(?s)^") : -1], 0, []
    while at < len(body):
        found = _GLOB.match(body, at)
        if found is None:
            raise _NoWordsError
        at = found.end()
        parts.append(Sign.ANY if found[0] == ".*" else Sign.ONE if found[0] == "." else found[1] or found[2])
    return pattern_of(parts)


def _tested_number(term: Expr) -> Expr | None:
    """The text that a term tests to be a number of 32 bits, or to be within one end of their range."""
    match term:
        case Call(function="matches", args=(Lit(value=pattern),), target=subject) if pattern == WHOLE_NUMBER:
            return subject
        case Call(args=(Call(function="int", args=(subject,)), Lit())) if term in number_tests(subject, term.span):
            return subject
        case _:
            return None


def _is_whole(term: Expr) -> bool:
    return isinstance(term, Call) and term.function == "matches"


def _listed(term: Expr) -> Expr | None:
    """The text in lower case that a term tests to be one of the truth values."""
    match term:
        case Call(function=function, args=(Call(function="lowerAscii") as lower, ListExpr(items=items))) if (
            function == IN and tuple(item.value for item in items if isinstance(item, Lit)) == TRUTHS
        ):
            return lower
        case _:
            return None


def _is_condition(e: Expr) -> bool:
    return isinstance(e, Call) and (
        e.function in (AND, OR, NOT, IN, *_SIGNS, "startsWith", "endsWith", "contains", "matches")
    )


def _is_text(e: Expr) -> bool:
    """Whether an operand of `+` is a text: an attribute, a literal, or made of them."""
    return named(e) is not None or any(isinstance(node, Lit) and isinstance(node.value, str) for node in walk(e))


def _added(e: Expr) -> list[Expr]:
    return [*_added(e.args[0]), e.args[1]] if isinstance(e, Call) and e.function == ADD else [e]
