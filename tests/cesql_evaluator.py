"""CloudEvents SQL evaluated directly, from its specification: a parser and an evaluator that know nothing of CEL.

`Meaning` says where Knative's library does otherwise than the specification.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Value: TypeAlias = bool | int | str
Event: TypeAlias = Mapping[str, str]
"""Attributes by name, as texts; `time` as an RFC 3339 text, which is compared as an instant."""
LOW, HIGH = -(2**31), 2**31 - 1


class CesqlError(Exception):
    """An error of evaluation, of any of the specification's kinds."""


class WrongSyntaxError(Exception):
    """The text is no expression."""


@dataclass(frozen=True)
class Meaning:
    """The specification's, or that of Knative's library."""

    knative: bool = False


SPECIFIED, KNATIVE = Meaning(), Meaning(knative=True)

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<string>'(?:''|\\.|[^'\\])*'|"(?:""|\\.|[^"\\])*")
    | (?P<int>[+-]?[0-9]+)(?![A-Za-z0-9])
    | (?P<word>[A-Za-z0-9][A-Za-z0-9_]*)
    | (?P<sign><>|!=|<=|>=|[-+*/%=<>(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = {"AND", "OR", "XOR", "NOT", "LIKE", "IN", "EXISTS", "TRUE", "FALSE"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    """The tokens of a text, and one for its end."""
    found: list[Token] = []
    at, end = 0, len(text.rstrip(" \t\r\n"))
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise WrongSyntaxError(f"at {at}")
        word = match[match.lastgroup]
        kind = match.lastgroup
        if kind == "word" and word.upper() in _KEYWORDS:
            kind, word = "keyword", word.upper()
        found.append(Token(kind, word))
        at = match.end()
    return [*found, Token("end", "")]


Run: TypeAlias = Callable[[Event], Value]
Tree: TypeAlias = tuple[Any, ...]


class Parser:
    """The grammar by recursive descent; a tree is a tuple that begins with its kind."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.at = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> str | None:
        token = self.next
        if token.kind in ("sign", "keyword") and token.text in texts:
            self.at += 1
            return token.text
        return None

    def need(self, text: str) -> None:
        if self.take(text) is None:
            raise WrongSyntaxError(f"expected {text}, found {self.next.text}")

    def whole(self) -> Tree:
        tree = self.logic()
        if self.next.kind != "end":
            raise WrongSyntaxError(f"found {self.next.text}")
        return tree

    def logic(self) -> Tree:
        left = self.left_to_right(
            lambda: self.left_to_right(lambda: self.left_to_right(self.matched, "*", "/", "%"), "+", "-"),
            *("=", "!=", "<>", "<", "<=", ">", ">="),
        )
        operator = self.take("AND", "OR", "XOR")
        return left if operator is None else (operator, left, self.logic())

    def left_to_right(self, operand: Callable[[], Tree], *operators: str) -> Tree:
        left = operand()
        while (operator := self.take(*operators)) is not None:
            left = (operator, left, operand())
        return left

    def matched(self) -> Tree:
        left = self.unary()
        while True:
            before = self.at
            denied = self.take("NOT") is not None
            if self.take("LIKE"):
                if self.next.kind != "string":
                    raise WrongSyntaxError("a pattern is a string")
                left = ("LIKE", left, unquoted(self.next.text))
                self.at += 1
            elif self.take("IN"):
                self.need("(")
                items = [self.logic()]
                while self.take(","):
                    items.append(self.logic())
                self.need(")")
                left = ("IN", left, items)
            else:
                self.at = before
                return left
            left = ("NOT", left) if denied else left

    def unary(self) -> Tree:
        operator = self.take("NOT", "-")
        if operator is not None:
            return ("NOT" if operator == "NOT" else "MINUS", self.unary())
        if self.take("EXISTS"):
            return ("EXISTS", self.name())
        if self.take("("):
            inner = self.logic()
            self.need(")")
            return inner
        for word, value in (("TRUE", True), ("FALSE", False)):
            if self.take(word):
                return ("literal", value)
        token = self.next
        if token.kind == "string":
            self.at += 1
            return ("literal", unquoted(token.text))
        if token.kind == "int":
            self.at += 1
            if not LOW <= int(token.text) <= HIGH:
                raise WrongSyntaxError("no number of 32 bits")
            return ("literal", int(token.text))
        name = self.name(function=True)
        if self.take("(") is None:
            if "_" in name:
                raise WrongSyntaxError("no name")
            return ("attribute", name)
        args: list[Tree] = []
        if self.take(")") is None:
            args.append(self.logic())
            while self.take(","):
                args.append(self.logic())
            self.need(")")
        return ("call", name.upper(), args)

    def name(self, function: bool = False) -> str:
        token = self.next
        if token.kind != "word" or ("_" in token.text and not function):
            raise WrongSyntaxError(f"found {token.text}")
        self.at += 1
        return token.text.lower()


def unquoted(text: str) -> str:
    return text[1:-1].replace("\\" + text[0], text[0])


def passes(tree: Tree, event: Event, meaning: Meaning) -> bool:
    """Whether an event passes a filter: the value is true, and nothing erred."""
    try:
        return evaluate(tree, event, meaning) is True
    except CesqlError:
        return False


def evaluate(tree: Tree, event: Event, meaning: Meaning) -> Value:
    """The value.

    Raises:
        CesqlError: where anything errs.
    """
    return _Evaluation(event, meaning).value(tree)


@dataclass(frozen=True)
class _Evaluation:
    event: Event
    meaning: Meaning

    def value(self, tree: Tree) -> Value:
        match tree:
            case ("literal", value):
                return value  # type: ignore[no-any-return]
            case ("attribute", name):
                if name not in self.event:
                    raise CesqlError(f"missing {name}")
                return self.event[name]
            case ("EXISTS", name):
                return name in self.event
            case ("NOT", inner):
                return not to_bool(self.value(inner))
            case ("MINUS", inner):
                return self.limited(-to_int(self.value(inner)))
            case ("AND", left, right):
                return to_bool(self.value(left)) and to_bool(self.value(right))
            case ("OR", left, right):
                return to_bool(self.value(left)) or to_bool(self.value(right))
            case ("XOR", left, right):
                one, other = self.value(left), self.value(right)
                return to_bool(one) != to_bool(other)
            case ("LIKE", left, pattern):
                return like(to_string(self.value(left)), pattern)
            case ("IN", left, items):
                return self.among(left, items)
            case ("call", name, args):
                return self.call(name, [self.value(arg) for arg in args])
            case (("=" | "!=" | "<>") as operator, left, right):
                return self.equal(left, right) == (operator == "=")
            case (operator, left, right):
                one, other = self.value(left), self.value(right)
                return self.numeric(operator, to_int(one), to_int(other))
        raise AssertionError(tree)

    def equal(self, left: Tree, right: Tree) -> bool:
        one, other = self.value(left), self.value(right)
        if ("attribute", "time") in (left, right):
            return instant(str(one)) == instant(str(other))
        return cast(one, type(other)) == other

    def among(self, left: Tree, items: list[Tree]) -> bool:
        value = self.value(left)
        if left == ("attribute", "time"):
            return any(instant(str(value)) == instant(str(self.value(item))) for item in items)
        found = False
        for item in items:
            found = found or value == cast(self.value(item), type(value))
            if found and self.meaning.knative:
                return True
            if found:
                cast(self.value(item), type(value))  # an error in any of them is one
        return found

    def numeric(self, operator: str, x: int, y: int) -> Value:
        match operator:
            case "<":
                return x < y
            case "<=":
                return x <= y
            case ">":
                return x > y
            case ">=":
                return x >= y
            case "+":
                return self.limited(x + y)
            case "-":
                return self.limited(x - y)
            case "*":
                return self.limited(x * y)
        if y == 0:
            raise CesqlError("division by zero")
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return self.limited(quotient) if operator == "/" else x - y * quotient

    def limited(self, number: int) -> int:
        if self.meaning.knative:
            return (number - LOW) % 2**32 + LOW
        if not LOW <= number <= HIGH:
            raise CesqlError("overflow")
        return number

    def call(self, name: str, args: list[Value]) -> Value:
        match name, args:
            case "INT", [x]:
                return to_int(x)
            case "BOOL", [x]:
                return to_bool(x)
            case "STRING", [x]:
                return to_string(x)
            case "IS_INT", [x]:
                return can_cast(x, int)
            case "IS_BOOL", [x]:
                return can_cast(x, bool)
            case "ABS", [x]:
                if to_int(x) == LOW:
                    raise CesqlError("overflow")
                return abs(to_int(x))
            case "LENGTH", [x]:
                text = to_string(x)
                return len(text.encode()) if self.meaning.knative else len(text)
            case "CONCAT", _:
                return "".join(map(to_string, args))
            case "CONCAT_WS", [delimiter, *rest]:
                return to_string(delimiter).join(map(to_string, rest))
            case "LOWER", [x]:
                return ascii_only(to_string(x), str.lower)
            case "UPPER", [x]:
                return ascii_only(to_string(x), str.upper)
            case "TRIM", [x]:
                return to_string(x).strip(WHITE_SPACE)
            case (("LEFT" | "RIGHT"), [x, n]):
                text, many = to_string(x), to_int(n)
                if many < 0:
                    raise CesqlError("negative")
                return text[:many] if name == "LEFT" else text[max(len(text) - many, 0) :]
            case "SUBSTRING", [x, pos]:
                return self.substring(to_string(x), to_int(pos), HIGH)
            case "SUBSTRING", [x, pos, many]:
                return self.substring(to_string(x), to_int(pos), to_int(many))
        raise AssertionError(f"the compiler refuses {name} of {len(args)}")

    def substring(self, text: str, position: int, many: int) -> str:
        if abs(position) > len(text) or (many < 0 and not (position == 0 and self.meaning.knative)):
            raise CesqlError("beyond the text")
        if position == 0:
            return ""
        begin = position - 1 if position > 0 else len(text) + position
        return text[begin : begin + many]


WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with Unicode's property White_Space."""


def ascii_only(text: str, change: Callable[[str], str]) -> str:
    """What tricel documents of LOWER and UPPER: letters beyond ASCII stay."""
    return "".join(change(c) if c.isascii() else c for c in text)


def cast(value: Value, type_: type) -> Value:
    return to_bool(value) if type_ is bool else to_int(value) if type_ is int else to_string(value)


def can_cast(value: Value, type_: type) -> bool:
    try:
        cast(value, type_)
    except CesqlError:
        return False
    return True


def to_bool(value: Value) -> bool:
    if isinstance(value, str):
        if value.isascii() and value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise CesqlError("cast")
    return bool(value)


def to_int(value: Value) -> int:
    if isinstance(value, str):
        digits = value[1:] if value[:1] in ("+", "-") else value
        if not digits or set(digits) - set("0123456789"):
            raise CesqlError("cast")
        digits = digits.lstrip("0") or "0"
        number = int(digits) if len(digits) < 20 else HIGH + 2
        number = -number if value[0] == "-" else number
        if not LOW <= number <= HIGH:
            raise CesqlError("cast")
        return number
    return int(value)


def to_string(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def like(text: str, pattern: str) -> bool:
    """The pattern by dynamic programming: which of its beginnings the text so far matches."""
    parts: list[str | None] = []
    at = 0
    while at < len(pattern):
        if pattern[at : at + 2] in ("\\%", "\\_"):
            parts.append("=" + pattern[at + 1])
            at += 2
        else:
            parts.append({"%": "*", "_": "?"}.get(pattern[at], "=" + pattern[at]))
            at += 1
    reached = {0}
    for c in [None, *text]:
        if c is not None:
            reached = {i for i in reached if i < len(parts) and parts[i] == "*"} | {
                i + 1 for i in reached if i < len(parts) and parts[i] in ("?", f"={c}")
            }
        for i in range(len(parts)):
            if i in reached and parts[i] == "*":
                reached.add(i + 1)
    return len(parts) in reached


def instant(text: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        raise CesqlError("no time") from None
