"""Equality of whole JSON values: each is written out level by level as text, and the texts are compared.

Spark cannot compare VARIANTs. Here a value becomes an ARRAY<ARRAY<STRING>>, one array for each level of nesting: a
scalar is its kind and its text, a list is its length, an object is its keys in order. Since that says which values
belong together, two values are equal exactly when their arrays are. SQL cannot recurse, so the levels are walked by
`aggregate`, in stages that are skipped once nothing is left; every step looks one level down and no further, which
keeps the JVM's stack shallow on a deep payload.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from . import dynamic
from .sql import Sql

DEPTH = 16
"""Levels of nesting in the SQL of `same`."""
_STAGES = "4, 8, 20, 50, 125, 310, 560"
"""Levels walked by each stage: most values end in the first, and Spark's JSON parser takes 1,000 levels.

A stage is walked to its end, some twenty microseconds a level: no more than twice as many as a value has.
"""


def same(a: Sql, b: Sql, fresh: Callable[[], str]) -> str:
    """Whether two VARIANTs are equal as CEL values; NULL where either is none. `fresh` names variables."""
    json = a.from_json and b.from_json
    left, right = _Writer(fresh, json, "'N'"), _Writer(fresh, json, "'M'")  # two marks: NaN equals nothing
    whole = f"{left.levels(a)} = {right.levels(b)}"
    scalars = f"{left.scalar(a)} = {right.scalar(b)}"
    one, other = dynamic.is_container(a), dynamic.is_container(b)
    both = f"CASE WHEN {one} THEN CASE WHEN {other} THEN {whole} ELSE FALSE END"
    return f"CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {both} WHEN {other} THEN FALSE ELSE {scalars} END END"


def key(v: Sql, fresh: Callable[[], str], nan: str) -> str:
    """A text that two VARIANTs share exactly where they are equal as CEL values; NULL for what CEL does not have.

    `nan` is the SQL of the text of NaN, which equals nothing: another for each value that it must differ from.
    """
    writer, level, part = _Writer(fresh, v.from_json, nan), fresh(), fresh()
    parts = f"transform({level}, {part} -> concat(CAST(octet_length({part}) AS STRING), ':', {part}))"
    counted = f"concat(array(CAST(array_size({level}) AS STRING)), {parts})"
    whole = f"concat('c', array_join(flatten(transform({writer.levels(v)}, {level} -> {counted})), ','))"
    return f"CASE WHEN {dynamic.is_container(v)} THEN {whole} ELSE {writer.scalar(v)} END"


def scalar_key(v: Sql, nan: str) -> str:
    """The same for scalars, to be compared with those of scalars: a text of no scalar for any other value."""
    scalar = _Writer(lambda: "", v.from_json, nan).scalar(v)
    if not v.from_json:
        scalar = f"coalesce({scalar}, 'c')"
    return f"CASE WHEN {dynamic.is_container(v)} THEN 'c' ELSE {scalar} END"


@dataclass(frozen=True)
class _Writer:
    """`json`: the values come from JSON text, so Spark has put the keys in order and there is no NaN and no binary."""

    fresh: Callable[[], str]
    json: bool
    nan: str

    def levels(self, v: Sql) -> str:
        """The value's levels; NULL where one holds what CEL does not have."""
        outer, count, inner, step, item = (self.fresh() for _ in range(5))
        x = replace(v, text=item, path=None, infix=False)
        children = f"WHEN {item}.l IS NOT NULL THEN {item}.l WHEN {item}.m IS NOT NULL THEN {self._values(f'{item}.m')}"
        children = f"transform({inner}.v, {item} -> CASE {children} ELSE CAST(array() AS ARRAY<VARIANT>) END)"
        below = f"transform(flatten({children}), {item} -> {self._node(x)})"
        written = f"flatten(transform({inner}.v, {item} -> {self._signature(item)}))"
        level = f"({inner}, {step}) -> struct({below} AS v, concat({inner}.o, array({written})) AS o)"
        steps = f"array_repeat(0, CASE WHEN array_size({outer}.v) = 0 THEN 0 ELSE {count} END)"
        start = f"struct(array({self._node(v)}) AS v, CAST(array() AS ARRAY<ARRAY<STRING>>) AS o)"
        certain = f"array_size({outer}.v) = 0"
        if not self.json:
            whole = f"{item} IS NOT NULL AND forall({item}, {step} -> {step} IS NOT NULL)"
            certain += f" AND forall({outer}.o, {item} -> {whole})"
        end = f"{outer} -> CASE WHEN {certain} THEN {outer}.o END"
        return (
            f"aggregate(array({_STAGES}), {start}, ({outer}, {count}) -> aggregate({steps}, {outer}, {level}), {end})"
        )

    def _node(self, x: Sql) -> str:
        """The value read once: as a list, as an object's entries, or as a scalar's text."""
        scalar = f"CASE WHEN NOT {dynamic.is_container(x)} THEN {self.scalar(x)} END"
        return f"struct({dynamic.list_(x)} AS l, {dynamic.entries(x)} AS m, {scalar} AS s)"

    def _signature(self, node: str) -> str:
        key = self.fresh()
        size = f"concat('l', CAST(array_size({node}.l) AS STRING))"
        keys = f"map_keys({node}.m)" if self.json else f"array_sort(map_keys({node}.m))"
        named = f"concat(array('o'), transform({keys}, {key} -> concat('k', {key})))"
        branches = f"WHEN {node}.l IS NOT NULL THEN array({size}) WHEN {node}.m IS NOT NULL THEN {named}"
        return f"CASE {branches} ELSE array({node}.s) END"

    def _values(self, entries: str) -> str:
        """An object's values in the order of their keys."""
        if self.json:
            return f"map_values({entries})"
        m, n = self.fresh(), self.fresh()
        order = f"({m}, {n}) -> CASE WHEN {m}.key < {n}.key THEN -1 WHEN {m}.key > {n}.key THEN 1 ELSE 0 END"
        return f"transform(array_sort(map_entries({entries}), {order}), {m} -> {m}.value)"

    def scalar(self, x: Sql) -> str:
        """A scalar's kind and text; numbers as doubles, with one zero."""
        kind = f"schema_of_variant({x})"
        text = f"WHEN 'STRING' THEN concat('s', {x.read('string')}) WHEN 'VOID' THEN 'n'"
        truth = f"WHEN 'BOOLEAN' THEN concat('b', {x.read('string')})"
        number = f"concat('d', CAST({x.read('double')} + 0D AS STRING))"
        if self.json:
            return f"CASE {kind} {text} {truth} ELSE {number} END"
        number = f"CASE WHEN isnan({x.read('double')}) THEN {self.nan} ELSE {number} END"
        binary = f"WHEN 'BINARY' THEN concat('x', hex({x.read('binary')}))"
        return (
            f"CASE {kind} {text} {truth} {binary} ELSE CASE WHEN {dynamic.is_number_kind(kind)} THEN {number} END END"
        )
