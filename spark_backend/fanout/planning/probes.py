"""What events are asked in SQL: the probes of covers, each the value that decides a test."""

from __future__ import annotations

from dataclasses import dataclass, field

from tricel.compiler import celtypes as t
from tricel.compiler import unparse
from tricel.compiler.analysis import covers
from tricel.compiler.celtypes import CelType
from tricel.compiler.nodes import Expr, Has

from ...sql import Sql, children, path_of, variant
from ...sql.handlers import selection
from ...sql.layout import LayoutError
from ...sql.lower import Lowering
from ...sql.reasons import NotNative


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that every event is asked: a value, or its beginning or end. `sql` is NULL where there is no value.

    `how` is "equals", "prefix", "suffix", or "filter" for a topic filter; `type` is string, double or int. `documents` are the JSON texts that the
    value is in. `always`: an event that lacks it breaks the specification.
    """

    how: str
    sql: Sql
    type: CelType
    cel: str = field(compare=False)
    documents: frozenset[str] = field(default=frozenset(), compare=False)
    always: bool = field(default=False, compare=False)

    @property
    def value(self) -> Sql:
        """What is asked for, whichever way."""
        return self.sql


Key = covers.Key[Probe]
Cover = covers.Cover[Probe]


@dataclass(frozen=True)
class SqlProber:
    """What events can be asked, by the SQL of a walk."""

    walk: Lowering

    def presence(self, e: Has) -> Probe | None:
        """What asks for the attribute of the record that `e` asks for; None where no event can have it."""
        try:
            found = selection.attribute(self.walk, e.field)
        except (NotNative, LayoutError):
            return None
        return Probe("equals", found.sql, found.type, f"{self.walk.checked.record.name}.{e.field}")

    def test(self, subject: Expr, constant: Expr, how: str) -> Probe | None:
        """The question whose answer decides a test of `subject` against a constant; None where none does."""
        constant_type = self.walk.checked.types[constant.id]
        wanted = constant_type.params[0] if constant_type.name == "list" else constant_type
        try:
            value = self.walk.lower(subject, {})
        except (NotNative, LayoutError):
            return None
        if value.type == t.JSON and path_of(value.sql) is None:
            return None
        if value.type == t.JSON:
            wanted = t.DOUBLE if wanted == t.INT else wanted
            read = variant.read_as(value, wanted) if wanted in (t.STRING, t.DOUBLE) else None
            if read is None:
                return None
            value = read
        if value.type != wanted or wanted not in (t.STRING, t.INT, t.DOUBLE):
            return None
        named = self.walk.checked.record.attribute(subject)
        sql = value.sql
        documents = frozenset(k for k in self.walk.documents if _reads(sql, self.walk.parsed(k).sql))
        always = named in self.walk.checked.environment.required
        return Probe(how, sql, wanted, unparse(subject), documents, always)


def _reads(node: Sql, wanted: Sql) -> bool:
    return node == wanted or any(_reads(child, wanted) for child in children(node))
