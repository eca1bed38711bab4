"""Keys for the elements of lists: two elements are equal in CEL exactly where their keys are equal in SQL.

Spark's functions of sets take time that grows with the lists and not with their product, but they take two values for
equal that CEL does not, and the other way about: NaN and NaN, 1 and 1.0. Of keys they are right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from .. import (
    Operand,
    Part,
    Sql,
    Typed,
    Variable,
    Written,
    array,
    bound,
    case,
    cast,
    function,
    integer,
    is_not_null,
    json_equality,
    variable,
    variant,
    when,
)
from ..context import Context
from ..reasons import NotNative, Reason
from . import constructors
from .equality import EXACT_DOUBLE

PLAIN = frozenset({t.STRING, t.INT, t.BOOL, t.TIMESTAMP, t.DURATION})
"""Types whose values are their own keys."""


@dataclass(frozen=True, slots=True)
class Side:
    """A list's elements: those that the filter writes out, or one that stands for all, by the variable of a lambda."""

    elements: tuple[Typed, ...]
    variable: Variable | None = None
    items: Sql | None = None

    @staticmethod
    def of(context: Context, held: Part) -> Side:
        """The elements of a list; of one that is written out they must be cheap."""
        if isinstance(held, Written):
            return Side(tuple([context.materialize(i) for i in held.items]))
        one = variable()
        return Side((context.element(held, one),), one, held.sql)

    @property
    def types(self) -> frozenset[CelType]:
        """The types of the elements."""
        return frozenset(e.type for e in self.elements)

    @property
    def may_hold_none(self) -> bool:
        """Whether there may be a value that CEL does not have: in a VARIANT that was no JSON."""
        return any(e.type == t.JSON and not e.from_json for e in self.elements)

    def array(self, keys: Iterable[Sql], spark_type: str) -> Sql:
        """The array of the elements' keys."""
        if self.variable is not None and self.items is not None:
            (key,) = keys
            each = bound((self.variable,), key)
            return self.items if key is self.variable else function("transform", self.items, each)
        return array([*keys]) if self.elements else cast(function("array"), f"ARRAY<{spark_type}>")


@dataclass(frozen=True, slots=True)
class Keys:
    """The arrays of the keys of two lists; `doubtful` are those in which NULL stands for what CEL does not have."""

    arrays: tuple[Typed, Typed]
    doubtful: tuple[int, ...] = ()


def keys(context: Context, a: Part, b: Part) -> Keys:
    """The keys of two lists; an array is NULL where its list is.

    Raises:
        NotNative: where Spark has no exact form.
    """
    sides = Side.of(context, a), Side.of(context, b)
    types = sides[0].types | sides[1].types
    deep = False
    if (plain := _plain(*sides)) is not None:
        found = [[_plainly(e) for e in side.elements] for side in sides]
    else:
        ints = types & t.NUMBERS <= {t.INT, t.UINT} and t.JSON not in types
        if not ints and all(_has_large_ints(side) for side in sides):
            raise NotNative(Reason.NOT_TRANSITIVE)
        deep = all(t.JSON in side.types for side in sides)
        found = [
            [key(e, ints=ints, deep=deep, nan=nan) for e in side.elements]
            for side, nan in zip(sides, ("N", "M"), strict=True)
        ]
    if plain != t.BOOL:
        found = [[_spread(k, plain) for k in side] for side in found]
    spark_type = "BOOLEAN" if plain == t.BOOL else "STRING"
    first, second = (
        Typed(side.array(each, spark_type), t.list_of(t.STRING)) for side, each in zip(sides, found, strict=True)
    )
    return Keys((first, second), tuple(i for i, side in enumerate(sides) if deep and side.may_hold_none))


def key(x: Typed, *, ints: bool, deep: bool, nan: Sql | str) -> Sql:
    """The key of a value, which must be cheap: a letter for its kind, and its text.

    `ints`: there are no numbers but ints. `deep`: it may have to be compared with a list or an object. `nan` is the
    key of NaN, as in `json_equality.key`.

    Raises:
        NotNative: where Spark has no exact form.
    """
    match x.type:
        case t.JSON:
            return json_equality.key(x, nan) if deep else json_equality.scalar_key(x, nan)
        case t.NULL:
            return when(is_not_null(x), "n")
        case t.STRING:
            return function("concat", "s", x)
        case t.BOOL:
            return function("concat", "b", cast(x, "STRING"))
        case t.BYTES:
            return function("concat", "x", function("hex", x))
        case t.TIMESTAMP:
            return function("concat", "t", cast(function("unix_micros", x), "STRING"))
        case t.DURATION:
            return function("concat", "p", cast(x, "STRING"))
        case t.INT | t.UINT | t.DOUBLE:
            return _number(x, ints, nan)
        case _:
            raise NotNative(Reason.VALUES_COMPARED_WHOLE, x.type)


def _number(x: Typed, ints: bool, nan: Sql | str) -> Sql:
    if x.type == t.UINT and not (isinstance(x.literal, int) and x.literal < 2**63):
        raise NotNative(Reason.UNSIGNED)
    if ints:
        return function("concat", "i", cast(x, "STRING"))
    number = function("concat", "d", cast(cast(x, "DOUBLE") + 0.0, "STRING"))
    if x.type == t.DOUBLE and x.nan:
        return case((function("isnan", x), nan), otherwise=number)
    return number


def _plain(a: Side, b: Side) -> CelType | None:
    """The type whose values are keys for both sides; strings are also for what in the data is none, which is NULL."""
    types = a.types | b.types
    if types == {t.STRING, t.JSON}:
        return t.STRING if t.JSON not in a.types or t.JSON not in b.types else None
    return next(iter(types)) if len(types) == 1 and types <= PLAIN else None


def _plainly(x: Typed) -> Sql:
    return variant.string(x) if x.type == t.JSON else x.sql


def _spread(key: Operand, plain: CelType | None) -> Sql:
    """A key whose hash nobody can choose: of texts with equal hashes Spark's sets take the square of the time."""
    if plain == t.TIMESTAMP:
        key = function("unix_micros", key)
    return function("sha2", key if plain in (None, t.STRING) else cast(key, "STRING"), integer(256))


def _has_large_ints(side: Side) -> bool:
    """Whether there may be ints that are not told from one another as doubles."""
    ints = [e for e in side.elements if e.type in (t.INT, t.UINT)]
    return any(not isinstance(e.literal, int) or abs(e.literal) >= EXACT_DOUBLE for e in ints)


def ready(context: Context, held: Part) -> Part:
    """A list whose elements' keys can be asked for: of what a list in the filter holds, containers are made.

    Raises:
        NotNative: for what is no list, or where Spark has no type for a part.
    """
    if isinstance(held, Written) and held.keys is None:
        items = [p if isinstance(p, Typed) else constructors.as_variant(context.materialize(p)) for p in held.items]
        return held.of(tuple(items))
    if isinstance(held, Typed) and held.type == t.JSON:
        return variant.read(held, t.JSON_LIST)
    if held.type.name != "list":
        raise NotNative(Reason.SET, held.type)
    return held
