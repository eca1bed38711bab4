"""The one writer of SQL text. The text means the same under every session setting, whatever values it holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import assert_never

from .tree import (
    Case,
    Cast,
    Column,
    Field,
    Function,
    Lambda,
    Literal,
    LiteralType,
    Operator,
    PathKey,
    Sql,
    Variable,
    in_parentheses,
)

_PLAIN = re.compile(r"[A-Za-z0-9 ._/:,@<>={}+-]*")
_PLAIN_PATH = re.compile(r"\$(?:\.[A-Za-z0-9_]+|\[[0-9]+\])*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_POSTFIX = frozenset({"IS NULL", "IS NOT NULL", "IS TRUE"})


WIDTH = 110
"""Characters of a line, from which on a text for people is broken."""
_FARTHEST = 40
"""The farthest that lines are indented: texts may be nested in hundreds of levels."""


def render(node: Sql, taken: frozenset[str] = frozenset(), *, lines: bool = False) -> str:
    """The text of a node. `taken` are names in lower case that variables must not have: those of the columns.

    With `lines` the outermost conditions stand on lines of their own, and what is long is broken, for people.
    """
    writer = _Writer(taken)
    return writer.conditions(node) if lines else writer.text(node)


@lru_cache(maxsize=4096)
def text_literal(value: str) -> str:
    """A string literal. Anything but plain characters goes through its bytes, which no session setting can change.

    Spark substitutes `${...}` inside quotes and, by configuration, keeps or reads backslash escapes.
    """
    if _PLAIN.fullmatch(value):
        return f"'{value}'"
    return f"decode(X'{value.encode().hex().upper()}', 'utf-8')"


def quoted(identifier: str) -> str:
    """A column or field name, quoted."""
    return "`" + identifier.replace("`", "``") + "`"


@lru_cache(maxsize=4096)
def path_literal(keys: tuple[PathKey, ...]) -> str:
    """A VARIANT path as a string literal. The keys must satisfy `in_path`."""
    steps = []
    for key in keys:
        if isinstance(key, int):
            steps.append(f"[{key}]")
        elif _NAME.fullmatch(key):
            steps.append(f".{key}")
        else:
            quote = "'" if "'" not in key else '"'
            steps.append(f"[{quote}{key}{quote}]")
    path = "$" + "".join(steps)
    return f"'{path}'" if _PLAIN_PATH.fullmatch(path) else text_literal(path)


class _Writer:
    """One text. `_names` are those of the variables around what is written; one inside another has another name."""

    def __init__(self, taken: frozenset[str]) -> None:
        self._taken = taken
        self._names: dict[Variable, str] = {}

    def text(self, node: Sql) -> str:
        """The text in one line."""
        if isinstance(node, Function):
            return f"{node.name}({', '.join([self.text(a) for a in node.args])})"
        if isinstance(node, Literal):
            return _literal(node.value, node.type)
        if isinstance(node, Variable):
            return self._names.get(node) or node.name
        if isinstance(node, Operator):
            return self._operator(node, self.text)
        if isinstance(node, Column):
            return quoted(node.name)
        if isinstance(node, Cast):
            return self._cast(node, self.text)
        if isinstance(node, Case):
            return self._case(node, self.text, self.text)
        if isinstance(node, Field):
            whole = self.text(node.operand)
            return f"{whole if isinstance(node.operand, _NAMED) else f'({whole})'}.{quoted(node.name)}"
        if isinstance(node, Lambda):
            return self._lambda(node, self.text, " ")
        assert_never(node)

    def conditions(self, node: Sql) -> str:
        """The text in lines; each of conditions joined by AND begins one."""
        return self._joined(node, 0) if isinstance(node, Operator) and node.sign == "AND" else self.block(node, 0)

    def block(self, node: Sql, indent: int) -> str:
        """The text, with line breaks where it is too long for the line that begins at `indent`."""
        if node.extent.length <= WIDTH - indent:
            return self.text(node)
        indent = min(indent, _FARTHEST)
        line, inner = "\n" + " " * indent, "\n" + " " * (indent + 2)

        def within(part: Sql) -> str:
            return self.block(part, indent + 2)

        match node:
            case Function(
                name="get",
                args=(
                    Function(name="transform", args=(Function(name="array", args=(value,)), Lambda() as body)),
                    Literal(value=0),
                ),
            ):
                outer = within(value) if self._names else _written_before(value, indent + 2, self._taken)
                return f"get(transform(array({outer}), {self._lambda(body, within, inner)}{line}), 0)"
            case Function(name=name, args=args):
                return f"{name}({inner}{f',{inner}'.join([within(a) for a in args])}{line})"
            case Operator(sign="AND" | "OR"):
                return self._joined(node, indent)
            case Operator():
                return self._operator(node, lambda part: self.block(part, indent))
            case Cast():
                return self._cast(node, within)
            case Case():
                return self._case(node, within, lambda then: self.block(then, indent + 4), inner, line)
            case Lambda():
                return self._lambda(node, within, inner)
            case _:
                return self.text(node)

    def _joined(self, node: Operator, indent: int) -> str:
        """The operands of AND or OR, a line for each."""
        parts = []
        for i, operand in enumerate(node.operands):
            part = self.block(operand, indent + (len(node.sign) + 1 if i else 0))
            parts.append(f"({part})" if in_parentheses(node, i) else part)
        return f"\n{' ' * indent}{node.sign} ".join(parts)

    def _operator(self, node: Operator, write: Callable[[Sql], str]) -> str:
        sign = node.sign
        parts = [write(o) for o in node.operands]
        for i in range(len(parts)):
            if in_parentheses(node, i):
                parts[i] = f"({parts[i]})"
        if sign in _POSTFIX:
            return f"{parts[0]} {sign}"
        if sign in ("IN", "NOT IN"):
            return f"{parts[0]} {sign} ({', '.join(parts[1:])})"
        if sign == "BETWEEN":
            return f"{parts[0]} BETWEEN {parts[1]} AND {parts[2]}"
        return f"{sign} {parts[0]}" if len(parts) == 1 else f" {sign} ".join(parts)

    def _cast(self, node: Cast, write: Callable[[Sql], str]) -> str:
        return f"{'try_cast' if node.total else 'CAST'}({write(node.operand)} AS {node.type})"

    def _case(
        self,
        node: Case,
        write: Callable[[Sql], str],
        write_then: Callable[[Sql], str],
        break_: str = " ",
        end: str = " ",
    ) -> str:
        parts = ["CASE" if node.subject is None else f"CASE {write(node.subject)}"]
        for test, then in node.branches:
            if break_ == " " or test.extent.length + then.extent.length < WIDTH - len(break_):
                parts.append(f"WHEN {write(test)} THEN {write(then)}")
            else:
                parts.append(f"WHEN {write(test)}{break_}  THEN {write_then(then)}")
        if node.otherwise is not None:
            parts.append(f"ELSE {write(node.otherwise)}")
        return f"{break_.join(parts)}{end}END"

    def _lambda(self, node: Lambda, write: Callable[[Sql], str], break_: str) -> str:
        names = []
        for v in node.variables:
            self._names[v] = name = v.name or self._fresh()
            names.append(name)
        body = write(node.body)
        for v in node.variables:
            del self._names[v]
        variables = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"{variables} ->{break_}{body}"

    def _fresh(self) -> str:
        number = len(self._names) + 1
        while (name := f"v{number}") in self._taken or name in self._names.values():
            number += 1
        return name


@lru_cache(maxsize=256)
def _written_before(node: Sql, indent: int, taken: frozenset[str]) -> str:
    """What is bound outermost: a payload's parse, the same in many filters."""
    return _Writer(taken).block(node, indent)


_NAMED = (Column, Variable, Field, Function)


_SUFFIX = {
    LiteralType.BIGINT: "L",
    LiteralType.INT: "",
    LiteralType.DOUBLE: "D",
    LiteralType.DECIMAL: "BD",
}
"""What follows the digits of a number."""


def _literal(value: object, type_: LiteralType) -> str:
    if isinstance(value, str) and type_ is LiteralType.STRING:
        return text_literal(value)
    if isinstance(value, tuple):
        return path_literal(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    return f"{value}{_SUFFIX[type_]}"
