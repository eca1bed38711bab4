"""Keys for the elements of lists: two elements are equal in CEL exactly where their keys are equal in SQL.

Spark's functions of sets take time that grows with the lists and not with their product, but they take two values for
equal that CEL does not, and the other way about: NaN and NaN, 1 and 1.0. Of keys they are right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from . import canonical, dynamic, made
from .equality import EXACT_DOUBLE
from .reasons import UINT, NotNative
from .sql import Sql, deepest

if TYPE_CHECKING:
    from .lower import Lowering

PLAIN = frozenset({t.STRING, t.INT, t.BOOL, t.TIMESTAMP, t.DURATION})
"""Types whose values are their own keys."""
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Side:
    """A list's elements: those that the filter writes out, or one that stands for all, by the variable of a lambda."""

    elements: tuple[Sql, ...]
    variable: str = ""
    items: str = ""

    @staticmethod
    def of(lowering: Lowering, held: Sql) -> Side:
        """The elements of a list; of one that is written out they must be cheap."""
        if held.items is not None:
            return Side(held.items)
        variable, element = lowering.element(held)
        return Side((element,), variable, held.text)

    @property
    def types(self) -> frozenset[CelType]:
        """The types of the elements."""
        return frozenset(e.type for e in self.elements)

    @property
    def may_hold_none(self) -> bool:
        """Whether there may be a value that CEL does not have: in a VARIANT that was no JSON."""
        return any(e.type == t.JSON and not e.from_json for e in self.elements)

    def array(self, keys: Iterable[str], spark_type: str) -> str:
        """The array of the elements' keys."""
        if self.variable:
            (key,) = keys
            return self.items if key == self.variable else f"transform({self.items}, {self.variable} -> {key})"
        return f"array({', '.join(keys)})" if self.elements else f"CAST(array() AS ARRAY<{spark_type}>)"


@dataclass(frozen=True, slots=True)
class Keys:
    """The arrays of the keys of two lists; `doubtful` are those in which NULL stands for what CEL does not have."""

    arrays: tuple[Sql, Sql]
    doubtful: tuple[int, ...] = ()


def keys(lowering: Lowering, a: Sql, b: Sql) -> Keys:
    """The keys of two lists; an array is NULL where its list is.

    Raises:
        NotNative: where Spark has no exact form.
    """
    sides = Side.of(lowering, a), Side.of(lowering, b)
    types = sides[0].types | sides[1].types
    deep = False
    if (plain := _plain(*sides)) is not None:
        texts = [[_plainly(e) for e in side.elements] for side in sides]
    else:
        ints = types & t.NUMBERS <= {t.INT, t.UINT} and t.JSON not in types
        if not ints and all(_has_large_ints(side) for side in sides):
            raise NotNative("ints are compared with ints and with doubles: equality of the three is not transitive")
        deep = all(t.JSON in side.types for side in sides)
        texts = [
            [key(lowering, e, ints=ints, deep=deep, nan=nan) for e in side.elements]
            for side, nan in zip(sides, ("'N'", "'M'"), strict=True)
        ]
    if plain != t.BOOL:
        texts = [[_spread(k, plain) for k in side] for side in texts]
    spark_type = "BOOLEAN" if plain == t.BOOL else "STRING"
    depth = deepest((a, b, *sides[0].elements, *sides[1].elements)) + _DEPTH + canonical.DEPTH * (t.JSON in types)
    first, second = (
        Sql(side.array(found, spark_type), t.list_of(t.STRING), depth=depth)
        for side, found in zip(sides, texts, strict=True)
    )
    return Keys((first, second), tuple(i for i, side in enumerate(sides) if deep and side.may_hold_none))


def key(lowering: Lowering, x: Sql, *, ints: bool, deep: bool, nan: str) -> str:
    """The key of a value, which must be cheap: a letter for its kind, and its text.

    `ints`: there are no numbers but ints. `deep`: it may have to be compared with a list or an object. `nan` is the
    key of NaN, as in `canonical.key`.

    Raises:
        NotNative: where Spark has no exact form.
    """
    match x.type:
        case t.JSON:
            return canonical.key(x, lowering.variable, nan) if deep else canonical.scalar_key(x, nan)
        case t.NULL:
            return f"CASE WHEN {x} IS NOT NULL THEN 'n' END"
        case t.STRING:
            return f"concat('s', {x.text})"
        case t.BOOL:
            return f"concat('b', CAST({x.text} AS STRING))"
        case t.BYTES:
            return f"concat('x', hex({x.text}))"
        case t.TIMESTAMP:
            return f"concat('t', CAST(unix_micros({x.text}) AS STRING))"
        case t.DURATION:
            return f"concat('p', CAST({x.text} AS STRING))"
        case t.INT | t.UINT | t.DOUBLE:
            return _number(x, ints, nan)
        case _:
            raise NotNative(f"values of type '{x.type}' are compared whole")


def _number(x: Sql, ints: bool, nan: str) -> str:
    if x.type == t.UINT and not (isinstance(x.literal, int) and x.literal < 2**63):
        raise NotNative(UINT)
    text = f"{x.literal}L" if x.type == t.UINT else str(x)
    if ints:
        return f"concat('i', CAST({text} AS STRING))"
    number = f"concat('d', CAST(CAST({text} AS DOUBLE) + 0D AS STRING))"
    return f"CASE WHEN isnan({text}) THEN {nan} ELSE {number} END" if x.type == t.DOUBLE and x.nan else number


def _plain(a: Side, b: Side) -> CelType | None:
    """The type whose values are keys for both sides; strings are also for what in the data is none, which is NULL."""
    types = a.types | b.types
    if types == {t.STRING, t.JSON}:
        return t.STRING if t.JSON not in a.types or t.JSON not in b.types else None
    return next(iter(types)) if len(types) == 1 and types <= PLAIN else None


def _plainly(x: Sql) -> str:
    return dynamic.string(x) if x.type == t.JSON else x.text


def _spread(text: str, plain: CelType | None) -> str:
    """A key whose hash nobody can choose: of texts with equal hashes Spark's sets take the square of the time."""
    if plain == t.TIMESTAMP:
        text = f"unix_micros({text})"
    return f"sha2({text if plain in (None, t.STRING) else f'CAST({text} AS STRING)'}, 256)"


def _has_large_ints(side: Side) -> bool:
    """Whether there may be ints that are not told from one another as doubles."""
    ints = [e for e in side.elements if e.type in (t.INT, t.UINT)]
    return any(not isinstance(e.literal, int) or abs(e.literal) >= EXACT_DOUBLE for e in ints)


def ready(lowering: Lowering, held: Sql) -> Sql:
    """A list whose elements' keys can be asked for: of what a list in the filter holds, containers are made.

    Raises:
        NotNative: for what is no list, or where Spark has no type for a part.
    """
    if held.items is not None and held.keys is None:
        parts = tuple(p if p.items is None else made.as_variant(lowering.whole(p)) for p in held.items)
        return replace(held, items=parts, cheap=all(p.cheap for p in parts))
    if held.type == t.JSON:
        return dynamic.read(held, t.JSON_LIST)
    if held.type.name != "list":
        raise NotNative(f"a set made of a value of type '{held.type}'")
    return held
