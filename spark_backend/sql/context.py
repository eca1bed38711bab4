"""What a handler is given: the walk that it goes on with, and values bound to variables.

The walk itself is handed in (`lower.Lowering`), so that no handler imports it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tricel.compiler import celtypes as t
from tricel.compiler.check import Checked
from tricel.compiler.nodes import Expr

from . import NO_BOOL, Extent, Operand, Part, Scope, Sql, Typed, Written, function, lambda_, named, variable, variant
from .bounds.aliasing import refuse_copies
from .bounds.growth import refuse_growth
from .bounds.lambdas import MAX_LAMBDAS, refuse_unresolvable
from .columns import document, document_variable, typed_column
from .layout import Layout
from .reasons import NotNative, Reason
from .spark_types import SparkType

MAX_NESTING = 220
"""Levels of nesting in emitted SQL that Spark's parser takes with its default stack, counted as `Extent.depth` counts."""
MAX_SQL = 1_000_000
"""Characters of SQL that one conjunct may become."""


@dataclass
class Context(ABC):
    """One walk, as its handlers see it. `documents` are the JSON texts that it reads, each to be parsed once around
    the result.

    `in_turns`: what is lowered is within a macro. `forks`: it is written for each of two kinds of so many ranges.
    """

    checked: Checked
    layout: Layout
    documents: dict[str, Sql] = field(default_factory=dict)
    in_turns: bool = False
    forks: int = 0
    _open: int = 0
    _level: int = 0

    def lower(self, e: Expr, scope: Scope) -> Typed:
        """The SQL of `e`; `scope` holds comprehension variables.

        Raises:
            NotNative: where there is no exact form.
        """
        return self.materialize(self.parts(e, scope))

    @abstractmethod
    def materialize(self, value: Part) -> Typed:
        """A value that SQL has; a list or map written in the filter is made."""

    @abstractmethod
    def walk(self, e: Expr, scope: Scope) -> Part:
        """`parts` of one node, by the handler of its kind."""

    def parts(self, e: Expr, scope: Scope) -> Part:
        """The SQL of `e`, where a list or map written in the filter is left as its parts.

        Raises:
            NotNative: where there is no exact form.
        """
        if not self._level:
            refuse_copies(self.checked, e)
            refuse_growth(self.checked, e)
        self._level += 1
        try:
            found = self.walk(e, scope)
        finally:
            self._level -= 1
        if isinstance(found, Typed):
            _refuse_too_much(found.sql.extent)
        if not self._level:
            refuse_unresolvable(_nodes(found))
        return found

    def condition(self, e: Expr, scope: Scope) -> Typed:
        """`e` as BOOLEAN; a dynamic value that is not a bool is an error."""
        return self.boolean(self.lower(e, scope))

    def boolean(self, found: Typed) -> Typed:
        """A value as BOOLEAN."""
        if found.type == t.JSON:
            return self.let(found, lambda v: variant.read(v, t.BOOL))
        return found if found.type == t.BOOL else NO_BOOL

    def element(self, items: Typed, node: Operand) -> Typed:
        """An element of a list, by the node that is its SQL."""
        if items.shape is not None and items.shape.element is not None:
            return typed_column(node, items.shape.element)
        return Typed(node.sql, items.type.params[0], nan=items.nan, from_json=items.from_json)

    def each(self, items: Typed, of: Callable[[Typed], Typed]) -> Typed:
        """The list of what `of` makes of each element of a list."""
        found: list[Typed] = []

        def body(v: Operand) -> Operand:
            found.append(of(self.element(items, v)))
            return found[0]

        sql = function("transform", items, lambda_(body))
        (each,) = found
        shape = None if each.shape is None else SparkType("array", element=each.shape)
        return Typed(sql, t.list_of(each.type), nan=each.nan, from_json=each.from_json, shape=shape)

    def let(self, value: Typed, body: Callable[[Typed], Typed]) -> Typed:
        """`body` of a value that may then be written many times."""
        return body(value) if value.cheap else self.bind(value, body)

    def bind(self, value: Typed, body: Callable[[Typed], Typed]) -> Typed:
        """`body` of a variable that stands for a value, however cheap that is."""
        if self._open >= MAX_LAMBDAS:
            raise NotNative(Reason.NESTED_LAMBDAS)
        name = variable()
        self._open += 1
        try:
            inner = body(value.like(name))
        finally:
            self._open -= 1
        return inner.like(named(value, name, inner))

    def let_part(self, value: Part, body: Callable[[Part], Part]) -> Typed:
        """`let` for what may be written in the filter: then its parts may be written many times."""
        return self.lets([value], lambda found: self.materialize(body(found[0])))

    def lets(
        self, values: Sequence[Part], body: Callable[[list[Part]], Typed], only: Sequence[int] | None = None
    ) -> Typed:
        """`let` for several values; `only` names the positions to bind."""

        def after(done: list[Part], rest: Sequence[int]) -> Typed:
            if not rest:
                return body(done)
            i, value = rest[0], done[rest[0]]

            def put(part: Part) -> Typed:
                return after([*done[:i], part, *done[i + 1 :]], rest[1:])

            if isinstance(value, Written):
                return self.lets(value.items, lambda items: put(value.of(tuple(items))))
            return self.let(value, put)

        return after(list(values), range(len(values)) if only is None else only)

    def typed_lets(
        self, values: Sequence[Typed], body: Callable[[list[Typed]], Typed], only: Sequence[int] | None = None
    ) -> Typed:
        """`lets` for values of which none is written in the filter as its parts."""
        return self.lets(values, lambda found: body([v for v in found if isinstance(v, Typed)]), only)

    def document(self, key: str, text: Sql) -> Typed:
        """The VARIANT that JSON text parses to, by a variable that stands for it."""
        name = document_variable(key, self.layout.taken)
        self.documents.setdefault(name, text)
        return self.parsed(name)

    def parsed(self, name: str) -> Typed:
        """What the SQL calls the document of that name."""
        return Typed(document(name), t.JSON, from_json=True)


def _refuse_too_much(extent: Extent) -> None:
    if extent.depth > MAX_NESTING:
        raise NotNative(Reason.NESTED)
    if extent.length > MAX_SQL:
        raise NotNative(Reason.LENGTH)


def _nodes(part: Part) -> list[Sql]:
    """The nodes of a value, or of all that is written in it."""
    return [part.sql] if isinstance(part, Typed) else [node for item in part.items for node in _nodes(item)]
