"""Rule SQL evaluated directly, as EMQX's runtime does it: a walk over the syntax tree that knows nothing of CEL.

Strictly, a comparison of two kinds of value raises; with `coerce`, it is EMQX's.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tricel.compiler.dialects.rule_sql.tree import (
    Arithmetic,
    Call,
    Case,
    Comparison,
    In,
    Literal,
    Logic,
    Negative,
    Node,
    Not,
    Path,
    Select,
)


class RaisesError(Exception):
    """What EMQX's runtime raises."""


class _Undefined:
    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = _Undefined()
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDER = {"number": 0, "atom": 1, "map": 2, "list": 3, "text": 4}


def kind(value: Any) -> str:
    match value:
        case bool() | None:
            return "atom"
        case int() | float():
            return "number"
        case dict():
            return "map"
        case list():
            return "list"
        case _:
            return "text"


def passes(tree: Select, message: Mapping[str, Any], *, coerce: bool) -> bool:
    """Whether a message passes a check: `message` holds the columns that it has, the payload as its text."""
    run = _Run(message, coerce, {})
    try:
        for one in tree.fields:
            if one.value is not None:
                value = run.eval(one.value)
                if one.alias is not None and value is not UNDEFINED:
                    run.aliases[one.alias.name] = value
        return True if tree.where is None else run.condition(tree.where) is True
    except RaisesError:
        return False


@dataclass
class _Run:
    message: Mapping[str, Any]
    coerce: bool
    aliases: dict[str, Any]

    def condition(self, node: Node) -> Any:
        match node:
            case Logic(operator="AND", operands=operands):
                return self._joined(operands, True)
            case Logic(operands=operands):
                return self._joined(operands, False)
            case Not(operand=operand):
                if isinstance(operand, Logic | Not | In):
                    raise RaisesError
                value = self.eval(operand)
                return not value if isinstance(value, bool) else False
            case In(negated=True):
                raise RaisesError
            case In(left=left, items=items):
                value, found = self.eval(left), [self.eval(item) for item in items]
                return any(identical(value, other) for other in found)
            case Comparison() | Call():
                return self.eval(node)
            case Literal(value=bool(value)):
                return value
            case _:
                raise RaisesError

    def _joined(self, operands: tuple[Node, ...], neutral: bool) -> Any:
        value: Any = neutral
        for operand in operands:
            value = self.condition(operand)
            if not isinstance(value, bool):
                raise RaisesError
            if value is not neutral:
                return value
        return value

    def eval(self, node: Node) -> Any:
        match node:
            case Literal(value=value):
                return value
            case Path(name=name, steps=steps):
                return self._path(name, steps)
            case Comparison(operator=sign, left=left, right=right):
                return self.compare(sign, self.eval(left), self.eval(right))
            case Arithmetic(operator=sign, left=left, right=right):
                return self.arithmetic(sign, self.eval(left), self.eval(right))
            case Negative(operand=operand):
                return self.arithmetic("-", 0, self.eval(operand))
            case Case(subject=subject, whens=whens, otherwise=otherwise):
                return self._case(subject, whens, otherwise)
            case Call(name=name, args=args):
                return self._call(name, [self.eval(arg) for arg in args])
            case _:
                raise RaisesError

    def _path(self, name: str, steps: tuple[Any, ...]) -> Any:
        if name in self.aliases:
            value = self.aliases[name]
        elif name == "payload" and steps:
            try:
                value = json.loads(self.message["payload"])
            except ValueError:
                raise RaisesError from None
        else:
            value = self.message.get(name, UNDEFINED)
        for step in steps:
            value = self._step(value, step)
        return value

    def _step(self, value: Any, step: Any) -> Any:
        if isinstance(value, str):
            if value.lstrip(" \t\r\n")[:1] in ("{", "[", '"') and value.strip(" \t\r\n"):
                raise RaisesError  # EMQX reads it as JSON; the translation does not
            return UNDEFINED
        if isinstance(step, str):
            return value.get(step, UNDEFINED) if isinstance(value, dict) else UNDEFINED
        if not isinstance(value, list) or step == 0 or abs(step) > len(value):
            return UNDEFINED
        return value[step - 1] if step > 0 else value[step]

    def _case(self, subject: Node | None, whens: Any, otherwise: Node | None) -> Any:
        for when, then in whens:
            same = subject is not None and identical(self.eval(subject), self.eval(when))
            if same or (subject is None and self.condition(when) is True):
                return self.eval(then)
        return UNDEFINED if otherwise is None else self.eval(otherwise)

    def compare(self, sign: str, left: Any, right: Any) -> bool:
        if left is UNDEFINED or right is UNDEFINED:
            return left is right and sign in ("=", "<=", ">=")
        if sign == "=~":
            if not isinstance(left, str):
                raise RaisesError
            return matches(left.split("/"), right.split("/"))
        kinds = kind(left), kind(right)
        if not self.coerce:
            return self._strict(sign, left, right)
        if kinds == ("number", "text"):
            return _OPERATORS[sign](left, number(right))
        if kinds == ("text", "number"):
            return _OPERATORS[sign](number(left), right)
        if ("text" in kinds and "atom" in kinds) or kinds == ("atom", "atom"):
            return _OPERATORS[sign](atom(left), atom(right))
        if kinds[0] != kinds[1]:
            return _OPERATORS[sign](_ORDER[kinds[0]], _ORDER[kinds[1]])
        if kinds[0] in ("list", "map") and sign not in ("=", "!="):
            raise RaisesError
        return deep(sign, left, right)

    def _strict(self, sign: str, left: Any, right: Any) -> bool:
        if (kind(left), left is None, kind(right)) != (kind(right), right is None, kind(left)):
            raise RaisesError
        if (left is None or isinstance(left, dict | list)) and sign not in ("=", "!="):
            raise RaisesError
        return deep(sign, left, right)

    def arithmetic(self, sign: str, left: Any, right: Any) -> Any:
        if UNDEFINED in (left, right):
            raise RaisesError
        kinds = kind(left), kind(right)
        if sign == "+" and kinds == ("text", "text"):
            return left + right
        if sign == "+" and self.coerce and kinds in (("text", "number"), ("number", "text")):
            return "".join(v if isinstance(v, str) else str(whole(v)) for v in (left, right))
        if kinds != ("number", "number"):
            raise RaisesError
        if sign in ("div", "mod"):
            a, b = whole(left), whole(right)
            if not b:
                raise RaisesError
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if sign == "div" else a - b * quotient
        if sign == "/" and right == 0:
            raise RaisesError
        made = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign](
            float(left), float(right)
        )
        if made in (float("inf"), float("-inf")):
            raise RaisesError
        return made

    def _call(self, name: str, args: list[Any]) -> Any:
        one = args[0] if args else UNDEFINED
        match name:
            case "is_null":
                return one is UNDEFINED
            case "is_not_null":
                return one is not UNDEFINED
            case "is_null_var":
                return one is UNDEFINED or one is None
            case "is_not_null_var":
                return one is not UNDEFINED and one is not None
            case "is_str" | "is_num" | "is_map" | "is_array":
                names = {"is_str": "text", "is_num": "number", "is_map": "map", "is_array": "list"}
                return one is not UNDEFINED and kind(one) == names[name]
            case "is_bool":
                return isinstance(one, bool)
            case "is_int" | "is_float":
                return kind(one) == "number" and (float(one).is_integer() is (name == "is_int"))
            case "lower" | "upper" | "strlen" | "substr" | "concat" | "regex_match":
                return self._text(name, args)
            case "length" | "first" | "last" | "nth" | "contains":
                return self._list(name, args)
            case "map_get":
                if not isinstance(args[1], dict):
                    raise RaisesError
                return args[1].get(one, args[2] if len(args) > 2 else UNDEFINED)
            case "abs" | "floor" | "ceil" | "mod":
                return self._number(name, args)
            case "topic":
                levels = self.message["topic"].split("/")
                if args and not 1 <= args[0] <= len(levels):
                    raise RaisesError
                return levels[args[0] - 1] if args else self.message["topic"]
            case _:
                raise AssertionError(name)

    def _text(self, name: str, args: list[Any]) -> Any:
        if not isinstance(args[0], str) or (name == "concat" and not isinstance(args[1], str)):
            raise RaisesError
        match name:
            case "lower":
                return args[0].lower()
            case "upper":
                return args[0].upper()
            case "strlen":
                return len(args[0])
            case "substr":
                return args[0][args[1] :][: args[2]] if len(args) > 2 else args[0][args[1] :]
            case "concat":
                return args[0] + args[1]
            case _:
                return re.search(args[1], args[0]) is not None

    def _list(self, name: str, args: list[Any]) -> Any:
        items = args[-1]
        if not isinstance(items, list):
            raise RaisesError
        if name == "length":
            return len(items)
        if name == "contains":
            return any(identical(args[0], item) for item in items)
        at = {"first": 0, "last": len(items) - 1}.get(name)
        at = args[0] - 1 if at is None else at
        if not 0 <= at < len(items):
            raise RaisesError
        return items[at]

    def _number(self, name: str, args: list[Any]) -> Any:
        if any(arg is UNDEFINED or kind(arg) != "number" for arg in args):
            raise RaisesError
        if name == "mod":
            return self.arithmetic("mod", *args)
        if name == "abs":
            if isinstance(args[0], float) and not args[0].is_integer():
                raise RaisesError
            return abs(args[0])
        return args[0] // 1 if name == "floor" else -(-args[0] // 1)


def whole(value: Any) -> int:
    """A whole number: one whose value is, for how it is written is not seen."""
    if float(value) != int(value) or abs(value) >= 2**53:
        raise RaisesError
    return int(value)


def number(text: str) -> int | float:
    """The number that Erlang reads of a text."""
    if re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"[+-]?[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?", text, re.ASCII):
        value = float(text)
        if abs(value) != float("inf"):
            return value
    raise RaisesError


def atom(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def deep(sign: str, left: Any, right: Any) -> bool:
    """A comparison of one kind; truth values within lists and maps are no numbers."""
    if sign in ("=", "!="):
        return identical(left, right) is (sign == "=")
    return _OPERATORS[sign](left, right)


def identical(left: Any, right: Any) -> bool:
    if left is UNDEFINED or right is UNDEFINED:
        return left is right
    if kind(left) != kind(right) or (left is None) != (right is None):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(identical, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(identical(left[key], right[key]) for key in left)
    return bool(left == right)


def matches(topic: list[str], filter_: list[str]) -> bool:
    """MQTT 5.0, section 4.7, level by level."""
    if topic[0].startswith("$") and filter_[0] in ("+", "#"):
        return False
    for i, word in enumerate(filter_):
        if word == "#":
            return True
        if i >= len(topic) or word not in ("+", topic[i]):
            return False
    return len(filter_) == len(topic)
