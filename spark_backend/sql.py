"""Spark SQL text, built so that it can hold any value and means the same under every session setting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from .sparktypes import SparkType

NULL = "parse_json('null')"
"""CEL's null, which is a value: SQL's NULL is an error."""
MAX_MADE = 200_000_000
"""Bytes of a text that is made as long as the product of two others: Spark ends the query where one has over 2^31."""
PathKey = str | int
_PLAIN = re.compile(r"[A-Za-z0-9 ._/:,@-]*")
_PLAIN_PATH = re.compile(r"\$(?:\.[A-Za-z0-9_]+|\[[0-9]+\])*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Sql:
    """One SQL expression: the text, and what the lowering may assume of it.

    `type` is what the value is in CEL; a dynamic value is a VARIANT. NULL is a CEL error, whatever the type.
    `infix`: needs parentheses as an operand; `joined_by` is AND or OR where the text is operands joined by it. `cheap`: may be written twice (a column, a variable, a constant path).
    `nan`: a double that may be NaN. `from_json`: a VARIANT that was parsed from JSON text, hence holds no binary,
    no time and no NaN. `depth`: levels of nesting in the text. `path`: a VARIANT reached by constant keys from a
    base text, so that typed reads go there in one step. `shape`: the Spark type behind a typed column.
    `truth`: a cheaper condition that is TRUE for the same events, and FALSE or NULL for all others alike.
    `items`: the parts of a list written in the filter, or the values of a map with these `keys`; `text` is then empty.
    """

    text: str
    type: CelType
    infix: bool = False
    joined_by: str = ""
    cheap: bool = False
    nan: bool = True
    from_json: bool = False
    depth: int = 0
    literal: object = None
    path: tuple[str, tuple[PathKey, ...]] | None = None
    shape: SparkType | None = None
    truth: str = ""
    items: tuple[Sql, ...] | None = None
    keys: tuple[str, ...] | None = None

    def __str__(self) -> str:
        """The text as an operand: parenthesised where that is needed."""
        return f"({self.text})" if self.infix else self.text

    @property
    def is_literal(self) -> bool:
        """Whether it is a literal, and so no error."""
        return self.literal is not None or (self.type == t.NULL and self.text == NULL)

    def at(self, key: PathKey) -> Sql:
        """The VARIANT one constant key further; this must be a VARIANT."""
        base, keys = self.path or (str(self), ())
        keys = (*keys, key)
        text = f"try_variant_get({base}, {path_literal(keys)}, 'variant')"
        depth = self.depth + (not self.path)
        return Sql(
            text, t.JSON, cheap=self.cheap, nan=self.nan, from_json=self.from_json, depth=depth, path=(base, keys)
        )

    def read(self, sql_type: str) -> str:
        """The VARIANT cast to a Spark type; NULL where Spark cannot cast it. Spark's casts coerce: guard them."""
        base, keys = self.path or (str(self), ())
        return f"try_variant_get({base}, {path_literal(keys)}, '{sql_type}')"


def deepest(operands: Iterable[Sql]) -> int:
    """The nesting of the deepest operand."""
    return max((o.depth for o in operands), default=0)


def text_literal(value: str) -> str:
    """A string literal. Anything but plain characters goes through its bytes, which no session setting can change.

    Spark substitutes `${...}` inside quotes and, by configuration, keeps or reads backslash escapes.
    """
    if _PLAIN.fullmatch(value):
        return f"'{value}'"
    return f"decode(X'{value.encode().hex().upper()}', 'utf-8')"


def literal(value: bool | int | float | str, type_: CelType) -> Sql:
    """A literal of one of the scalar types that SQL has."""
    match value:
        case bool():
            text = "TRUE" if value else "FALSE"
        case int():
            text = f"{value}L"
        case float():
            text = f"{value!r}D"
        case str():
            text = text_literal(value)
    return Sql(text, type_, cheap=True, nan=False, literal=value)


def name(identifier: str) -> str:
    """A column or field name, quoted."""
    return "`" + identifier.replace("`", "``") + "`"


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


def in_path(key: PathKey) -> bool:
    """Whether a VARIANT path can name the key: it has no escapes, so not a key with both kinds of quotes."""
    if isinstance(key, int):
        return 0 <= key < 2**31
    return not ("'" in key and '"' in key)


def joined(word: str, operands: Sequence[Sql]) -> Sql:
    """Conditions joined by AND or OR; an operand that is joined by the other word is parenthesised."""
    parts = [o.text if o.joined_by in ("", word) else f"({o.text})" for o in operands]
    text = f" {word} ".join(parts)
    truth = f" {word} ".join(f"({o.truth})" if o.truth else str(o) for o in operands)
    truth = truth if any(o.truth for o in operands) else ""
    return Sql(text, t.BOOL, infix=True, joined_by=word, depth=deepest(operands) + 1, truth=truth)


def boolean(text: str, operands: Iterable[Sql], *, infix: bool = False) -> Sql:
    """A boolean made from `operands`."""
    return Sql(text, t.BOOL, infix=infix, depth=deepest(operands) + 1)
