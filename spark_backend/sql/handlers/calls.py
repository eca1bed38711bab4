"""Calls: operators, functions and methods, by whichever overloads the operands' types leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record
from tricel.compiler.functions import BY_CALL, LENGTHS, Overload
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

from .. import (
    ERROR,
    Part,
    Scope,
    Sql,
    Typed,
    Written,
    all_of,
    boolean,
    case,
    constant_of,
    is_not_null,
    joined,
    not_,
    variant,
)
from ..context import Context
from ..functions import LOWERINGS, Handler, handles, refusal, walked
from ..reasons import NotNative, Reason
from ..typed import SPAN, TIME
from . import constructors, equality, extremes, membership, selection, timestamps

_BARE = frozenset({t.NULL, t.BOOL, t.INT, t.STRING, t.BYTES, t.TIMESTAMP, t.DURATION, t.TYPE})
"""Types whose equality writes each operand once."""
_TYPE_NAMES = {
    **dict.fromkeys((t.TIMESTAMP, TIME), "google.protobuf.Timestamp"),
    **dict.fromkeys((t.DURATION, SPAN), "google.protobuf.Duration"),
}
_ORDERING = frozenset({LESS, LESS_EQUALS, GREATER, GREATER_EQUALS})
_MIRRORED = {LESS: ">", LESS_EQUALS: ">=", GREATER: "<", GREATER_EQUALS: "<="}


def call(context: Context, e: Call, scope: Scope) -> Part:
    """The SQL of a call; `scope` holds comprehension variables.

    Raises:
        NotNative: where there is no exact form.
    """
    args = e.args if e.target is None else (e.target, *e.args)
    if e.function in (AND, OR):
        terms = [context.condition(a, scope) for a in args]
        return joined("AND" if e.function == AND else "OR", terms)
    if e.function == NOT:
        return boolean(not_(context.condition(args[0], scope)))
    if e.function == CONDITIONAL:
        return _conditional(context, *args, scope=scope)
    if e.function == INDEX:
        return selection.index(context, e, args, scope)
    if e.function == OPTIONAL_INDEX:
        raise NotNative(Reason.OPTIONAL)
    if e.function == IN:
        return membership.contains(context, args[0], args[1], scope)
    rows = context.checked.overloads.get(e.id, ())
    if not rows:
        raise NotNative(Reason.UNCHECKED)
    if (handler := _handler(rows)) is not None:
        return handler(context, args, scope)
    comparison = e.function in _ORDERING or e.function in (EQUALS, NOT_EQUALS)
    operands = [extremes.compared(context, a, scope) if comparison else context.parts(a, scope) for a in args]
    if e.function in (EQUALS, NOT_EQUALS):
        return _equality(context, operands, negated=e.function == NOT_EQUALS)
    if e.function in LENGTHS and isinstance(operands[0], Written):
        return constructors.size(operands[0])
    if e.function == ADD and any(o.type.name == "list" for o in operands):
        return _add_lists(context, operands)
    given = [context.materialize(o) for o in operands]
    if e.function in _ORDERING:
        found = timestamps.compared(e.function.strip("_"), *given)
        if found is not None:
            return found
        given = list(equality.comparable(*given))
    taken = timestamps.of(context, e.function, given)
    if isinstance(taken, Typed):
        return taken
    given = list(taken)
    return _apply(context, _taking(e.function, e.target is not None, tuple([o.type for o in given])), given)


def _handler(rows: Sequence[Overload]) -> Handler | None:
    """What lowers a call of any of these overloads; None where that is no one thing."""
    entries = [LOWERINGS.get(row.id) for row in rows]
    found = {entry.handler if entry is not None else None for entry in entries}
    return found.pop() if len(found) == 1 else None


def _add_lists(context: Context, operands: Sequence[Part]) -> Part:
    a, b = (variant.read(o, t.JSON_LIST) if isinstance(o, Typed) and o.type == t.JSON else o for o in operands)
    return constructors.concatenated(context, a, b)


def _equality(context: Context, operands: list[Part], *, negated: bool) -> Typed:
    simple = operands[0].type == operands[1].type and operands[0].type in _BARE
    found = context.lets(operands, lambda o: equality.equals(context, *o), [] if simple else None)
    return boolean(not_(found)) if negated else found


def _conditional(context: Context, test: Expr, then: Expr, other: Expr, *, scope: Scope) -> Typed:
    condition = context.condition(test, scope)
    a, b = timestamps.alike(context.lower(then, scope), context.lower(other, scope))
    if a.type != b.type:
        a, b = constructors.as_variant(a), constructors.as_variant(b)
    if a.shape != b.shape:
        raise NotNative(Reason.COLUMN_RESULTS)

    def choose(c: Typed) -> Typed:
        found, json = case((c, a), (not_(c), b)), a.from_json and b.from_json
        return Typed(found, a.type, nan=a.nan or b.nan, from_json=json, shape=a.shape)

    return context.let(condition, choose)


def _apply(context: Context, rows: Sequence[Overload], operands: list[Typed]) -> Typed:
    """The call of whichever overload fits the values: one, or a choice made by the values' kinds."""
    for row in rows:
        lowering = LOWERINGS.get(row.id)
        if lowering is None or (lowering.template is None and lowering.parts is None):
            raise refusal(row.id, row.function)
    if not rows and all(o.type in t.SCALARS or (o.type == t.JSON and o.from_json) for o in operands):
        return ERROR
    if not rows:
        raise NotNative(Reason.NO_OVERLOAD)
    if len(rows) == 1:
        return _one(context, rows[0], operands)

    def choose(bound: list[Typed]) -> Typed:
        branches = [_one(context, row, bound) for row in rows]
        tests = [_fits(row, bound) for row in rows]
        if any(b.type != branches[0].type for b in branches):
            branches = [constructors.as_variant(b) for b in branches]
        json, nan = all(b.from_json for b in branches), any(b.nan for b in branches)
        return Typed(case(*zip(tests, branches, strict=True)), branches[0].type, nan=nan, from_json=json)

    return context.typed_lets(operands, choose)


def _one(context: Context, row: Overload, operands: list[Typed]) -> Typed:
    native = LOWERINGS[row.id]
    if native.parts is not None:
        return context.materialize(native.parts(context, operands))
    template = native.template
    if template is None:
        raise refusal(row.id, row.function)
    given = [_convert(o, p) for o, p in zip(operands, row.params, strict=True)]
    truth = _number_test(row, operands)

    def emit(bound: list[Typed]) -> Typed:
        return Typed(template(*bound).sql, row.result, nan=native.nan, when_true=truth)

    written_once = row.params == (t.DOUBLE, t.DOUBLE)
    repeated = [i for i in native.twice if not written_once or given[i].nan]
    return context.typed_lets(given, emit, repeated)


def _number_test(row: Overload, operands: list[Typed]) -> Callable[[], Sql] | None:
    """What holds where an ordering between a dynamic value and a number that the events do not change does."""
    if row.function not in _ORDERING or row.params != (t.DOUBLE, t.DOUBLE):
        return None
    a, b = operands
    if a.type == t.JSON and b.certain:
        return lambda: variant.double_holds(a, row.function.strip("_"), b)
    if b.type == t.JSON and a.certain:
        return lambda: variant.double_holds(b, _MIRRORED[row.function], a)
    return None


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


def _fits(row: Overload, operands: list[Typed]) -> Sql:
    """Whether the values are of the kinds that the overload takes; TRUE or FALSE."""
    return all_of([_is_kind(o, p) for o, p in zip(operands, row.params, strict=True) if o.type == t.JSON])


def _is_kind(v: Typed, wanted: CelType) -> Sql:
    if wanted.name in ("list", "map"):
        return variant.is_list(v) if wanted.name == "list" else variant.is_object(v)
    return is_not_null(variant.read(v, wanted))


def _convert(o: Typed, wanted: CelType) -> Typed:
    return variant.read(o, wanted) if o.type == t.JSON else o


def _type_name(v: Part) -> Typed:
    """`type(v)`, by name."""
    if isinstance(v, Typed) and v.type == t.JSON:
        return Typed(variant.type_name(v), t.TYPE)
    known = "map" if isinstance(v.type, Record) else _TYPE_NAMES.get(v.type, v.type.name)
    return constructors.unless_null([v], constant_of(known, t.TYPE))


@handles("type")
def _type(context: Context, args: tuple[Expr, ...], scope: Scope) -> Part:
    return context.let_part(context.parts(args[0], scope), _type_name)


@handles("to_dyn")
def _dyn(context: Context, args: tuple[Expr, ...], scope: Scope) -> Part:
    return context.parts(args[0], scope)


_WHOLE = "all but structs and maps of typed columns compared whole"
_ROUNDED = "the int rounded to a double, as CEL has it"
walked("logical_and", "logical_or", "logical_not", "conditional", "index_list")
walked("equals", "not_equals", "in_list", condition=_WHOLE)
walked("in_map", condition="string keys: of an object in the data, a map column, a map written in the filter, or ce")
walked("index_map", condition="a string key; an attribute of ce by its name written out")
walked("add_list", condition="lists of one type, or of JSON values", parts=_add_lists)
for _stem in ("less", "less_equals", "greater", "greater_equals"):
    walked(f"{_stem}_int64_double", f"{_stem}_double_int64", condition=_ROUNDED)
