"""The lowering: a checked expression becomes one SQL expression in which NULL is a CEL error.

The walk is exact or it refuses: `NotNative` carries the reason, and the whole conjunct goes to the fallback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.check import Checked
from tricel.compiler.nodes import (
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MapExpr,
    Message,
    Select,
)

from . import calls, dynamic, made, selection
from .capability import OPTIONAL
from .comprehensions import comprehension
from .copies import refuse_copies
from .growth import refuse_growth
from .lambdas import MAX_LAMBDAS, TOO_MANY_LAMBDAS, refuse_unresolvable
from .layout import Layout
from .reasons import NotNative
from .sql import NULL, Sql, literal
from .stored import column, document_variable

MAX_NESTING = 220
"""Levels of nesting in emitted SQL that Spark's parser takes with its default stack, counted as `Sql.depth` counts."""
MAX_SQL = 1_000_000
"""Characters of SQL that one conjunct may become."""
_LET_DEPTH = 3
_TOO_DEEP = "nested deeper than Spark's parser takes"
_LITERAL_TYPES = {kind: CelType(kind.value) for kind in LitKind}


@dataclass
class Lowering:
    """One walk. `documents` are the JSON texts that it reads, each to be parsed once around the result.

    `in_turns`: what is lowered is within a macro. `forks`: it is written for each of two kinds of so many ranges.
    """

    checked: Checked
    layout: Layout
    documents: dict[str, Sql] = field(default_factory=dict)
    in_turns: bool = False
    forks: int = 0
    _count: int = 0
    _open: int = 0
    _level: int = 0

    def lower(self, e: Expr, scope: dict[str, Sql]) -> Sql:
        """The SQL of `e`; `scope` holds comprehension variables.

        Raises:
            NotNative: where there is no exact form.
        """
        return self.whole(self.parts(e, scope))

    def whole(self, value: Sql) -> Sql:
        """A value that SQL has; a list or map written in the filter is made."""
        return value if value.items is None else made.whole(self, value)

    def parts(self, e: Expr, scope: dict[str, Sql]) -> Sql:
        """The SQL of `e`, where a list or map written in the filter is left as its parts.

        Raises:
            NotNative: where there is no exact form.
        """
        if not self._level:
            refuse_copies(self.checked, e)
            refuse_growth(self.checked, e)
        self._level += 1
        try:
            found = self._lower(e, scope)
        finally:
            self._level -= 1
        if not self._level:
            refuse_unresolvable([found.text] if found.items is None else [i.text for i in found.items])
        if found.depth > MAX_NESTING:
            raise NotNative(_TOO_DEEP)
        if len(found.text) > MAX_SQL:
            raise NotNative("longer than a million characters of SQL")
        return found

    def condition(self, e: Expr, scope: dict[str, Sql]) -> Sql:
        """`e` as BOOLEAN; a dynamic value that is not a bool is an error."""
        return self.boolean(self.lower(e, scope))

    def boolean(self, found: Sql) -> Sql:
        """A value as BOOLEAN."""
        if found.type == t.JSON:
            return self.let(found, lambda v: replace(dynamic.read(v, t.BOOL), cheap=False))
        if found.type != t.BOOL:
            return Sql("CAST(NULL AS BOOLEAN)", t.BOOL)
        return found

    def variable(self) -> str:
        """A lambda variable's name that no column has."""
        while True:
            self._count += 1
            fresh = f"v{self._count}"
            if fresh not in self.layout.taken:
                return fresh

    def element(self, items: Sql) -> tuple[str, Sql]:
        """A fresh variable for the elements of a list, and the element that it stands for."""
        variable = self.variable()
        return variable, self.element_of(items, variable)

    def element_of(self, items: Sql, text: str) -> Sql:
        """An element of a list, by the text that is its SQL."""
        if items.shape is not None and items.shape.element is not None:
            return column(text, items.shape.element)
        return Sql(text, items.type.params[0], cheap=True, nan=items.nan, from_json=items.from_json)

    def let(self, value: Sql, body: Callable[[Sql], Sql]) -> Sql:
        """`body` of a value that may then be written many times."""
        if value.cheap:
            return body(value)
        if value.items is not None:
            return self.lets(value.items, lambda items: body(replace(value, items=tuple(items), cheap=True)))
        if self._open >= MAX_LAMBDAS:
            raise NotNative(TOO_MANY_LAMBDAS)
        variable = self.variable()
        self._open += 1
        try:
            named = replace(value, text=variable, infix=False, joined_by="", cheap=True, path=None, depth=0)
            inner = self.whole(body(named))
        finally:
            self._open -= 1
        text = f"get(transform(array({value.text}), {variable} -> {inner.text}), 0)"
        depth = max(value.depth, inner.depth) + _LET_DEPTH
        return replace(
            inner, text=text, infix=False, joined_by="", cheap=False, path=None, depth=depth, truth="", literal=None
        )

    def lets(self, values: Sequence[Sql], body: Callable[[list[Sql]], Sql], only: Sequence[int] | None = None) -> Sql:
        """`let` for several values; `only` names the positions to bind."""
        positions = [i for i in (range(len(values)) if only is None else only) if not values[i].cheap]

        def bind(done: list[Sql], rest: list[int]) -> Sql:
            if not rest:
                return body(done)
            i = rest[0]
            return self.let(done[i], lambda v: bind([*done[:i], v, *done[i + 1 :]], rest[1:]))

        return bind(list(values), positions)

    def document(self, key: str, text: str) -> Sql:
        """The VARIANT that JSON text parses to, by a variable that stands for it."""
        variable = document_variable(key, self.layout.taken)
        self.documents.setdefault(variable, Sql(text, t.JSON))
        return self.parsed(variable)

    def parsed(self, variable: str) -> Sql:
        """What the SQL calls the document of that variable."""
        return Sql(variable, t.JSON, cheap=True, from_json=True)

    def _lower(self, e: Expr, scope: dict[str, Sql]) -> Sql:
        match e:
            case Lit():
                return _lit(e)
            case Ident():
                return selection.ident(self, e, scope)
            case Select(optional=True):
                raise NotNative(OPTIONAL)
            case Select(operand=operand, field=key):
                return selection.member(self, e, operand, key, scope)
            case Has(operand=operand, field=key):
                return selection.has(self, operand, key, scope)
            case Call():
                return calls.call(self, e, scope)
            case Comprehension():
                return comprehension(self, e, scope)
            case ListExpr(items=items):
                if e.optional:
                    raise NotNative(OPTIONAL)
                return made.made_list([self.parts(i, scope) for i in items])
            case MapExpr(entries=entries):
                if any(entry.optional for entry in entries):
                    raise NotNative(OPTIONAL)
                return made.made_map(self, e, scope)
            case Bind():
                return self.let(self.parts(e.value, scope), lambda v: self.lower(e.body, {**scope, e.variable: v}))
            case Message():
                raise NotNative("a message made in the filter")
            case _:
                assert_never(e)


def _lit(e: Lit) -> Sql:
    match e.kind, e.value:
        case LitKind.NULL, _:
            return Sql(NULL, t.NULL, cheap=True)
        case LitKind.BYTES, bytes() as value:
            return Sql(f"X'{value.hex()}'", t.BYTES, cheap=True, literal=value)
        case kind, bool() | int() | float() | str() as value:
            return literal(value, _LITERAL_TYPES[kind])
        case _:
            raise NotNative("this literal")
