"""Shapes: what filters with one skeleton have in common, lowered once, with their constants as columns.

A constant becomes a column wherever the lowering takes one; where it must see the constant itself (a double where an
int is compared, ...) the constant stays, and filters that differ in it are of different shapes. So a conjunct of a
shape is native whenever the same conjunct of the filter is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tricel.compiler import CheckedFilter, CompileError, Environment, check, errors, unparse
from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.check import Checked
from tricel.compiler.faults import bounded, kind_and_place
from tricel.compiler.nodes import IN, OR, Call, Expr, Ident, conjunction, renumber

from ...compiled_filter import CompiledFilter, lower_filter
from ...sql import (
    Scope,
    Sql,
    Typed,
    Written,
    all_of,
    boolean,
    case,
    column,
    equal,
    function,
    is_not_null,
    topics,
    variant,
)
from ...sql.context import MAX_NESTING
from ...sql.handlers.topic_filters import text_of
from ...sql.layout import Layout, LayoutError
from ...sql.lower import Lowering
from ...sql.names import Names
from ...sql.reasons import NotNative, Reason
from .levels import Subjects
from .skeletons import FEW_LEVELS, Hole, Part, Value, skeleton, with_holes

_DEEPEST = MAX_NESTING - 40
"""Nesting of a shape's SQL, which leaves room for the choice among shapes around it."""


@dataclass(frozen=True, slots=True)
class Slot:
    """How a parameter travels: the letter of its columns, and its type in CEL. `topics`: a topic filter by its levels,
    and says how it is compared."""

    letter: str
    type: CelType
    topics: str = ""


STRING, INT, DOUBLE = Slot("s", t.STRING), Slot("i", t.INT), Slot("d", t.DOUBLE)
TIMESTAMP = Slot("i", t.TIMESTAMP)
STRINGS, INTS, DOUBLES = Slot("ls", t.list_of(t.STRING)), Slot("li", t.list_of(t.INT)), Slot("ld", t.list_of(t.DOUBLE))
TOPIC = Slot("s", t.STRING, "whole")
TOPICS, MANY_LEVELS = Slot("ls", t.STRING, "few levels"), Slot("ls", t.STRING, "levels")
_OPTIONS: Mapping[Hole, tuple[Slot, ...]] = {
    Hole.STRING: (STRING,),
    Hole.INT: (INT,),
    Hole.DOUBLE: (DOUBLE,),
    Hole.ANY_INT: (INT, DOUBLE),
    Hole.ANY_DOUBLE: (DOUBLE, INT),
    Hole.TIMESTAMP: (TIMESTAMP,),
    Hole.TOPIC: (TOPIC,),
    Hole.TOPICS: (TOPICS,),
    Hole.MANY_LEVELS: (MANY_LEVELS,),
    Hole.STRINGS: (STRINGS,),
    Hole.INTS: (INTS, DOUBLES),
    Hole.DOUBLES: (DOUBLES,),
}


def converted(slot: Slot, value: Value) -> Parameter:
    """A constant as the slot holds it. An int becomes the double of the same number, and the other way round."""
    match slot, value:
        case Slot(topics="few levels"), str():
            return topics.parameter(value)
        case Slot(topics="levels"), str():
            return tuple(value.split("/"))
        case Slot(letter="d"), int() | float():
            return float(value)
        case Slot(letter="i"), int() | float():
            return int(value)
        case Slot(letter="ld"), tuple():
            return tuple(float(v) for v in value)
        case _:
            return value


Parameter: TypeAlias = Value | tuple[str | None, ...]
"""A constant as it travels."""


@dataclass(frozen=True, eq=False)
class Shape:
    """One shape. `slots` are None for the constants that stay in it.

    `sql` is the condition of its native conjuncts over the events' columns, `documents` and parameters, NULL where it
    errs; TRUE when no conjunct is native. `truth` is TRUE for the same events and does not tell an error from false.
    `residual` are the positions among `parts`, one filter of the shape, of the conjuncts that the fallback evaluates,
    and `reasons` why.
    """

    number: int
    slots: tuple[Slot | None, ...]
    sql: Sql
    truth: Sql
    documents: Mapping[str, Sql]
    parts: tuple[Part, ...]
    filter: CheckedFilter
    layout: Layout
    residual: tuple[int, ...]
    reasons: tuple[str, ...] = ()

    @property
    def cel(self) -> str:
        """One filter of the shape with "?" for each constant in which others may differ, for people."""
        return " && ".join(self.part(i) for i in range(len(self.parts)))

    def part(self, position: int) -> str:
        """One of its conjuncts, in the same way."""
        before = sum(len(p.constants) for p in self.parts[:position])
        part = self.parts[position]
        kept = [s is None and position not in self.residual for s in self.slots[before : before + len(part.constants)]]
        names = iter([None if k else f"?{i}" for i, k in enumerate(kept)])
        text = unparse(with_holes(part.written, names, self.filter.checked.record))
        text = re.sub(r"\.\?\d+", "?", text)
        return (
            f"({text})"
            if len(self.parts) > 1 and isinstance(part.written, Call) and part.written.function == OR
            else text
        )


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A filter as one of a shape: all constants, in the order of the shape's `slots`.

    `residual` is what the fallback evaluates of it, as a filter of its own.
    """

    id: str
    shape: Shape
    values: tuple[Value, ...]
    residual: CompiledFilter | None = None

    @property
    def parameters(self) -> Iterator[tuple[Slot, Parameter]]:
        """The constants that are not in the shape, as they travel."""
        for slot, value in zip(self.shape.slots, self.values, strict=True):
            if slot is not None:
                yield slot, converted(slot, value)


@dataclass
class Shapes:
    """The shapes met so far, for events of one table. `layouts` tells where an environment's roots are."""

    names: Names
    layouts: Mapping[Environment, Layout]
    found: list[Shape] = field(default_factory=list)
    subjects: Subjects = field(default_factory=Subjects)
    _choices: dict[tuple[Environment, str], tuple[Slot | None, ...]] = field(default_factory=dict)
    _shapes: dict[tuple[object, ...], Shape] = field(default_factory=dict)

    def member(self, id_: str, compiled: CompiledFilter) -> Member:
        """The filter by its shape.

        Raises:
            CompileError: where the filter does not fit the columns' types, or neither Spark nor the engine takes it.
        """
        return bounded(
            lambda: self._member(id_, compiled),
            lambda fault: self._alone(id_, compiled, fault),
            CompileError,
            LayoutError,
        )

    def _alone(self, id_: str, compiled: CompiledFilter, fault: Exception) -> Member:
        """A filter whose shape cannot be read for a fault of ours: a shape of its own, all of it left to its engine."""
        filter_ = compiled.checked
        written = filter_.checked.expr
        layout = self.layouts[filter_.checked.environment]
        residual = _residual((written,), compiled, layout)
        reason = f"a fault of tricel: {kind_and_place(fault)}"
        shape = Shape(
            len(self.found), (), all_of(()), all_of(()), {}, (Part(id_, (), written),), filter_, layout, (0,), (reason,)
        )
        self.found.append(shape)
        return Member(id_, shape, (), residual)

    def _member(self, id_: str, compiled: CompiledFilter) -> Member:
        filter_ = compiled.checked
        environment = filter_.checked.environment
        parts = skeleton(filter_.checked.expr, filter_.checked.record)
        slots: list[Slot | None] = []
        for part in parts:
            slots += self._choice(part, filter_)
        constants = [c for p in parts for c in p.constants]
        kept = tuple(repr(c.value) for c, s in zip(constants, slots, strict=True) if s is None)
        key = (environment, tuple(p.key for p in parts), tuple(slots), kept)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self._shape(parts, filter_, tuple(slots))
        residual = None
        if shape.residual:
            residual = _residual(tuple(parts[i].written for i in shape.residual), compiled, shape.layout)
        return Member(id_, shape, tuple(c.value for c in constants), residual)

    def _choice(self, part: Part, filter_: CheckedFilter) -> tuple[Slot | None, ...]:
        """The slots of a conjunct's constants: as many as it can have and still be native."""
        key = (filter_.checked.environment, part.key)
        if key not in self._choices:
            self._choices[key] = self._choose(part, filter_)
        return self._choices[key]

    def _choose(self, part: Part, filter_: CheckedFilter) -> tuple[Slot | None, ...]:
        """Where a constant may be of either of two types, the one that makes the shorter condition."""
        options = [_OPTIONS[c.hole] for c in part.constants]
        sizes = [(size, -i) for i in (0, -1) if (size := self._size(part, tuple(o[i] for o in options), filter_))]
        if sizes:
            return tuple(o[-min(sizes)[1]] for o in options)
        none: tuple[Slot | None, ...] = (None,) * len(options)
        if not self._size(part, none, filter_):
            return none
        alone = tuple(
            next((s for s in o if self._size(part, (*none[:i], s, *none[i + 1 :]), filter_)), None)
            for i, o in enumerate(options)
        )
        return alone if self._size(part, alone, filter_) else none

    def _size(self, part: Part, slots: tuple[Slot | None, ...], filter_: CheckedFilter) -> int:
        """The length of a conjunct's SQL with these slots; 0 where it is not native."""
        try:
            checked, parameters = self._checked((part,), slots, filter_)
            return self._lowering(checked, parameters, filter_).condition(checked.expr, {}).sql.extent.length
        except (NotNative, CompileError):
            return 0

    def checked(self, shape: Shape) -> Checked:
        """A shape's conjuncts with a root, named by `names.hole`, for each constant: what its covers are read from."""
        return self._checked(shape.parts, shape.slots, shape.filter, holes=True)[0]

    def lowering(self, checked: Checked, shape: Shape) -> ShapeLowering:
        """The lowering of values of the events of a shape."""
        return self._lowering(checked, {}, shape.filter)

    def _checked(
        self, parts: Sequence[Part], slots: Sequence[Slot | None], filter_: CheckedFilter, *, holes: bool = False
    ) -> tuple[Checked, dict[str, Parameterized]]:
        """The conjuncts with a root for each slot, or, for `holes`, for each constant, checked; and the roots' SQL."""
        used: dict[str, int] = {}
        parameters: dict[str, Parameterized] = {}
        roots: list[str | None] = []
        types: list[tuple[str, CelType]] = []
        for number, (slot, constant) in enumerate(zip(slots, (c for p in parts for c in p.constants), strict=True)):
            if slot is None and not holes:
                roots.append(None)
                continue
            root = self.names.hole(number)
            roots.append(root)
            types.append((root, (slot or _OPTIONS[constant.hole][0]).type))
            if slot is not None:
                parameters[root] = _parameter(slot, used.setdefault(slot.letter, 0), self.names)
                used[slot.letter] += 1
        names = iter(roots)
        expr = renumber(conjunction(tuple(with_holes(p.written, names, filter_.checked.record) for p in parts)))
        base = filter_.checked.environment
        typed = self.layouts[base].environment(base)
        checked = check(
            expr,
            replace(typed, roots=(*typed.roots, *types), container=""),
            filter_.source,
            version=filter_.checked.version,
        )
        if errors(checked.diagnostics):
            raise CompileError(checked.diagnostics)
        return checked, parameters

    def _lowering(
        self, checked: Checked, parameters: dict[str, Parameterized], filter_: CheckedFilter
    ) -> ShapeLowering:
        layout = self.layouts[filter_.checked.environment]
        return ShapeLowering(checked, layout, parameters=parameters, names=self.names, subjects=self.subjects)

    def _shape(self, parts: tuple[Part, ...], filter_: CheckedFilter, slots: tuple[Slot | None, ...]) -> Shape:
        checked, parameters = self._checked(parts, slots, filter_)
        walk = self._lowering(checked, parameters, filter_)
        native, truths, residual, reasons = [], [], [], []
        for number, conjunct in enumerate(_conjuncts(checked.expr, parts)):
            read = dict(walk.documents)
            try:
                body = walk.condition(conjunct, {})
                if body.sql.extent.depth > _DEEPEST:
                    raise NotNative(Reason.DEEP_SHAPE)
            except NotNative as refusal:
                walk.documents = read  # what the fallback alone reads is parsed for candidates, not for every event
                residual.append(number)
                reasons.append(refusal.reason)
                continue
            native.append(body.sql)
            truths.append(body.truth)
        sql = all_of(native)
        key = (filter_.checked.environment, sql, slots, tuple(parts[i].key for i in residual))
        if key in self._shapes:
            return self._shapes[key]
        self._shapes[key] = shape = Shape(
            number=len(self.found),
            slots=slots,
            sql=sql,
            truth=all_of(truths),
            documents=dict(walk.documents),
            parts=parts,
            filter=filter_,
            layout=walk.layout,
            residual=tuple(residual),
            reasons=tuple(reasons),
        )
        self.found.append(shape)
        return shape


def _conjuncts(e: Expr, parts: tuple[Part, ...]) -> tuple[Expr, ...]:
    return e.args if len(parts) > 1 and isinstance(e, Call) else (e,)


@dataclass(frozen=True, slots=True)
class Parameterized:
    """A root that is a parameter: its columns, and how it travels."""

    value: Typed
    slot: Slot


def _parameter(slot: Slot, index: int, names: Names) -> Parameterized:
    sql = names.parameter(slot.letter, index)
    value = Typed(function("timestamp_micros", sql) if slot.type == t.TIMESTAMP else sql, slot.type, nan=False)
    return Parameterized(value, slot)


def _residual(exprs: tuple[Expr, ...], compiled: CompiledFilter, layout: Layout) -> CompiledFilter:
    whole = compiled.checked
    part = renumber(conjunction(exprs))
    checked = check(part, layout.environment(whole.checked.environment), whole.source, version=whole.checked.version)
    if errors(checked.diagnostics):
        raise CompileError(checked.diagnostics)
    return lower_filter(CheckedFilter(checked, whole.source, whole.dialect, whole.warnings), layout, compiled.engine)


@dataclass
class ShapeLowering(Lowering):
    """The lowering of a shape: `parameters` are roots that are columns of another table, JSON texts are parsed already.

    So are the levels of the topics that `subjects` knows.
    """

    parameters: Mapping[str, Parameterized] = field(default_factory=dict)
    names: Names = field(default_factory=lambda: Names(""))
    subjects: Subjects = field(default_factory=Subjects)

    def parsed(self, name: str) -> Typed:
        """The column of a parsed JSON text."""
        return Typed(column(self.names.document(name)), t.JSON, from_json=True)

    def walk(self, e: Expr, scope: Scope) -> Typed | Written:
        """The SQL of one node; a parameter is its column."""
        match e:
            case Ident(name=name, absolute=True) if name in self.parameters:
                return self.parameters[name].value
            case Call(target=topic, args=(Ident(name=name, absolute=True),)) if (
                topic is not None and name in self.parameters and self.parameters[name].slot.topics
            ):
                return self._matched(topic, self.parameters[name], scope)
            case Call(function=function, args=(item, Ident(name=name, absolute=True))) if (
                function == IN and name in self.parameters
            ):
                return self._in_parameter(item, self.parameters[name].value, scope)
            case _:
                return super().walk(e, scope)

    def _matched(self, e: Expr, given: Parameterized, scope: Scope) -> Typed:
        """Whether a topic filter, which is a parameter, matches a topic."""
        topic = text_of(self, e, scope)
        if given.slot == TOPIC:
            return boolean(equal(topic, given.value))
        of_topic = self.subjects.levels(topic.sql, self.names)
        if of_topic is not None:
            return self.let(topic, lambda text: self._by_levels(text, of_topic, given))
        return self.let(
            topic,
            lambda text: self.let(
                Typed(topics.levels(text), t.list_of(t.STRING)), lambda of: self._by_levels(text, of.sql, given)
            ),
        )

    @staticmethod
    def _by_levels(topic: Typed, of_topic: Sql, given: Parameterized) -> Typed:
        if given.slot == TOPICS:
            return boolean(topics.matches_parameter(of_topic, given.value, FEW_LEVELS))
        return boolean(topics.matches(of_topic, given.value, topic))

    def _in_parameter(self, item: Expr, items: Typed, scope: Scope) -> Typed:
        (element,) = items.type.params

        def test(v: Typed) -> Typed:
            if v.type == element:
                return boolean(function("array_contains", items, v))
            read = variant.read_as(v, element) if v.type == t.JSON else None
            if read is None:
                raise NotNative(Reason.ODD_ITEM, v.type)
            return boolean(case((function("array_contains", items, read), True), (is_not_null(v), False)))

        return self.let(self.lower(item, scope), test)
