"""Calls: operators, functions and methods, by whichever overloads the operands' types leave."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record
from tricel.compiler.functions import BY_CALL, Overload
from tricel.compiler.nodes import (
    ADD,
    AND,
    CONDITIONAL,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    INDEX,
    LESS,
    LESS_EQUALS,
    NOT,
    NOT_EQUALS,
    OPTIONAL_INDEX,
    OR,
    Call,
    Expr,
)

from . import dynamic, equality, extremes, made, membership, nanos, selection, special
from .capability import OPTIONAL, reason_for
from .lowerings import NATIVE
from .reasons import NotNative
from .sql import Sql, boolean, deepest, joined, literal

if TYPE_CHECKING:
    from .lower import Lowering

_BARE = frozenset({t.NULL, t.BOOL, t.INT, t.STRING, t.BYTES, t.TIMESTAMP, t.DURATION, t.TYPE})
"""Types whose equality writes each operand once."""
_ADD_LIST = "add_list"
_TYPE_NAMES = {
    **dict.fromkeys((t.TIMESTAMP, nanos.TIME), "google.protobuf.Timestamp"),
    **dict.fromkeys((t.DURATION, nanos.SPAN), "google.protobuf.Duration"),
}
_ORDERING = frozenset({LESS, LESS_EQUALS, GREATER, GREATER_EQUALS})
_MIRRORED = {LESS: ">", LESS_EQUALS: ">=", GREATER: "<", GREATER_EQUALS: "<="}


def call(lowering: Lowering, e: Call, scope: dict[str, Sql]) -> Sql:
    """The SQL of a call; `scope` holds comprehension variables.

    Raises:
        NotNative: where there is no exact form.
    """
    args = e.args if e.target is None else (e.target, *e.args)
    if e.function in (AND, OR):
        terms = [lowering.condition(a, scope) for a in args]
        return joined("AND" if e.function == AND else "OR", terms)
    if e.function == NOT:
        inner = lowering.condition(args[0], scope)
        return boolean(f"NOT {inner}", (inner,), infix=True)
    if e.function == CONDITIONAL:
        return _conditional(lowering, *args, scope=scope)
    if e.function == INDEX:
        return selection.index(lowering, e, args, scope)
    if e.function == OPTIONAL_INDEX:
        raise NotNative(OPTIONAL)
    if e.function == IN:
        return membership.contains(lowering, args[0], args[1], scope)
    rows = lowering.checked.overloads.get(e.id, ())
    if not rows:
        raise NotNative("a call that was not checked")
    if (lower := special.of(rows)) is not None:
        return lower(lowering, args, scope)
    if e.function in extremes.FUNCTIONS:
        return extremes.extreme(lowering, e, scope)
    comparison = e.function in _ORDERING or e.function in (EQUALS, NOT_EQUALS)
    operands = [extremes.compared(lowering, a, scope) if comparison else lowering.parts(a, scope) for a in args]
    if e.function in (EQUALS, NOT_EQUALS):
        return _equality(lowering, operands, negated=e.function == NOT_EQUALS)
    if e.function == "type":
        return lowering.let(operands[0], _type_name)
    if e.function == "dyn":
        return operands[0]
    if e.function == "size" and operands[0].items is not None:
        return made.size(operands[0])
    if e.function == ADD and any(o.type.name == "list" for o in operands):
        return _add_lists(lowering, operands)
    operands = [lowering.whole(o) for o in operands]
    if e.function in special.READ and operands[0].type in (t.STRING, t.JSON):
        return special.READ[e.function](lowering, operands[0])
    if e.function in _ORDERING:
        found = nanos.compared(e.function.strip("_"), *operands)
        if found is not None:
            return found
        operands = _comparable(operands)
    taken = nanos.of(lowering, e.function, operands)
    if isinstance(taken, Sql):
        return taken
    operands = list(taken)
    return _apply(lowering, _taking(e.function, e.target is not None, tuple([o.type for o in operands])), operands)


def _add_lists(lowering: Lowering, operands: list[Sql]) -> Sql:
    return made.concatenated(lowering, *(dynamic.read(o, t.JSON_LIST) if o.type == t.JSON else o for o in operands))


def _equality(lowering: Lowering, operands: list[Sql], *, negated: bool) -> Sql:
    simple = operands[0].type == operands[1].type and operands[0].type in _BARE
    found = lowering.lets(operands, lambda o: equality.equals(lowering, *o), [] if simple else None)
    return boolean(f"NOT {found}", (found,), infix=True) if negated else found


def _conditional(lowering: Lowering, test: Expr, then: Expr, other: Expr, *, scope: dict[str, Sql]) -> Sql:
    condition = lowering.condition(test, scope)
    a, b = nanos.alike(lowering.lower(then, scope), lowering.lower(other, scope))
    if a.type != b.type:
        a, b = made.as_variant(a), made.as_variant(b)
    if a.shape != b.shape:
        raise NotNative("the two results have different columns' types")

    def choose(c: Sql) -> Sql:
        text = f"CASE WHEN {c.text} THEN {a.text} WHEN NOT {c} THEN {b.text} END"
        json = a.from_json and b.from_json
        return Sql(text, a.type, nan=a.nan or b.nan, from_json=json, depth=deepest((c, a, b)) + 1, shape=a.shape)

    return lowering.let(condition, choose)


def _apply(lowering: Lowering, rows: Sequence[Overload], operands: list[Sql]) -> Sql:
    """The call of whichever overload fits the values: one, or a choice made by the values' kinds."""
    for row in rows:
        if row.id not in NATIVE and row.id != _ADD_LIST:
            raise NotNative(reason_for(row.id))
    if not rows and all(o.type in t.SCALARS or (o.type == t.JSON and o.from_json) for o in operands):
        return Sql("CAST(NULL AS VARIANT)", t.JSON, cheap=True, from_json=True)
    if not rows:
        raise NotNative("the columns' types fit no overload")
    if len(rows) == 1:
        return _one(lowering, rows[0], operands)

    def choose(bound: list[Sql]) -> Sql:
        branches = [_one(lowering, row, bound) for row in rows]
        tests = [_fits(row, bound) for row in rows]
        if any(b.type != branches[0].type for b in branches):
            branches = [made.as_variant(b) for b in branches]
        text = " ".join(f"WHEN {test} THEN {b.text}" for test, b in zip(tests, branches, strict=True))
        json, nan = all(b.from_json for b in branches), any(b.nan for b in branches)
        return Sql(f"CASE {text} END", branches[0].type, nan=nan, from_json=json, depth=deepest(branches) + 1)

    return lowering.lets(operands, choose)


def _one(lowering: Lowering, row: Overload, operands: list[Sql]) -> Sql:
    if row.id == _ADD_LIST:
        return _add_lists(lowering, operands)
    native = NATIVE[row.id]
    given = [_convert(o, p) for o, p in zip(operands, row.params, strict=True)]

    def emit(bound: list[Sql]) -> Sql:
        text = native.template(*bound)
        truth = _number_test(row, operands)
        return Sql(
            text,
            row.result,
            infix=native.infix,
            nan=native.nan,
            depth=deepest(bound) + native.depth,
            truth=truth,
        )

    written_once = row.params == (t.DOUBLE, t.DOUBLE)
    repeated = [i for i in native.twice if not written_once or given[i].nan]
    return lowering.lets(given, emit, repeated)


def _number_test(row: Overload, operands: list[Sql]) -> str:
    """The `truth` of an ordering between a dynamic value and a number written in the filter."""
    if row.function not in _ORDERING or row.params != (t.DOUBLE, t.DOUBLE):
        return ""
    a, b = operands
    if a.type == t.JSON and b.literal is not None:
        return dynamic.double_holds(a, f"{row.function.strip('_')} {b.text}")
    if b.type == t.JSON and a.literal is not None:
        return dynamic.double_holds(b, f"{_MIRRORED[row.function]} {a.text}")
    return ""


def _comparable(operands: list[Sql]) -> list[Sql]:
    """Two numbers to be ordered, in one type; anything else as it is."""
    return list(equality.comparable(*operands))


@lru_cache(maxsize=1024)
def _taking(function: str, member: bool, types: tuple[CelType, ...]) -> tuple[Overload, ...]:
    """The overloads that values of these types may fit."""
    rows = BY_CALL[function, member]
    return tuple(row for row in rows if len(types) == len(row.params) and all(map(_fit, types, row.params)))


def _fit(given: CelType, wanted: CelType) -> bool:
    if wanted.is_parameter:
        return True
    if given == t.JSON:
        return wanted in t.JSON_KINDS or wanted.name in ("list", "map")
    return given == wanted or (given.name == wanted.name and wanted.name in ("list", "map"))


def _fits(row: Overload, operands: list[Sql]) -> str:
    """Whether the values are of the kinds that the overload takes; TRUE or FALSE."""
    tests = [_is_kind(o, p) for o, p in zip(operands, row.params, strict=True) if o.type == t.JSON]
    return " AND ".join(tests)


def _is_kind(v: Sql, wanted: CelType) -> str:
    if wanted.name in ("list", "map"):
        return dynamic.is_list(v) if wanted.name == "list" else dynamic.is_object(v)
    return f"{dynamic.read(v, wanted)} IS NOT NULL"


def _convert(o: Sql, wanted: CelType) -> Sql:
    return dynamic.read(o, wanted) if o.type == t.JSON else o


def _type_name(v: Sql) -> Sql:
    """`type(v)`, by name."""
    if v.type == t.JSON:
        return Sql(dynamic.type_name(v), t.TYPE, depth=v.depth + 2)
    known = "map" if isinstance(v.type, Record) else _TYPE_NAMES.get(v.type, v.type.name)
    return made.when_certain([v], literal(known, t.TYPE))
