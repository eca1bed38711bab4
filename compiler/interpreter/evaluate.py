"""The evaluator: a syntax tree becomes nested Python closures, which evaluate it as often as wanted.

An evaluation error is a `CelError`. It names the innermost expression that erred and is absorbed where CEL absorbs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from ..names import TYPE_NAMES
from ..nodes import (
    AND,
    CONDITIONAL,
    INDEX,
    OPTIONAL_INDEX,
    OR,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MacroKind,
    MapExpr,
    Message,
    Select,
)
from .dispatch import function
from .lists_ext import sorted_by
from .operators import lookup_key, position
from .values import ABSENT, CelError, Optional, TypeValue, Uint, Value, as_key, equals, from_key, kind
from .work import ELEMENT, counts, making, reading

MAX_STEPS = 1_000_000
"""Calls of functions and turns of macros that one evaluation may take."""
MAX_WORK = 2_000_000_000
"""Characters that all steps of one evaluation may read; what else they do is counted in these (see `work`)."""


@dataclass(slots=True)
class Frame:
    """One evaluation: what the roots hold, what the variables hold, and how many steps and how much work are left."""

    roots: Mapping[str, Value]
    variables: list[Value]
    steps: int
    work: int = MAX_WORK

    def step(self) -> None:
        """Takes a step.

        Raises:
            CelError: when there is none left.
        """
        self.steps -= 1
        if self.steps < 0:
            raise CelError("the evaluation takes too many steps")

    def spend(self, work: int) -> None:
        """Does work.

        Raises:
            CelError: when more has been done than one evaluation may do.
        """
        self.work -= work
        if self.work < 0:
            raise CelError("the evaluation reads or makes too much")


Step: TypeAlias = Callable[[Frame], Value]


@dataclass(frozen=True, slots=True)
class Evaluator:
    """A compiled expression."""

    run: Step
    variables: int

    def __call__(self, roots: Mapping[str, Value], max_steps: int = MAX_STEPS) -> Value:
        """The value for what the roots hold.

        Raises:
            CelError: where it is an evaluation error.
        """
        try:
            return self.run(Frame(roots, [None] * self.variables, max_steps))
        except RecursionError:
            raise CelError("the values are nested too deeply") from None


def evaluator(e: Expr) -> Evaluator:
    """The expression, compiled. It need not have been checked; names must be resolved."""
    builder = _Builder()
    return Evaluator(builder.build(e, {}), builder.count)


def evaluate(e: Expr, roots: Mapping[str, Value], max_steps: int = MAX_STEPS) -> Value:
    """The value of an expression.

    Raises:
        CelError: where it is an evaluation error.
    """
    return evaluator(e)(roots, max_steps)


@dataclass(frozen=True, slots=True)
class _Raised:
    """The error of a value that was bound: it is raised where the variable is used."""

    error: CelError


_NO_FIELD = object()


@dataclass
class _Builder:
    """`scope` maps the variables in sight to their places in the frame."""

    count: int = field(default=0)

    def build(self, e: Expr, scope: Mapping[str, int]) -> Step:
        """The closure that evaluates `e`."""
        match e:
            case Lit(kind=kind_, value=value):
                constant = Uint(value) if kind_ is LitKind.UINT and isinstance(value, int) else value
                return lambda _: constant
            case Ident():
                return _blamed(e, self._ident(e, scope))
            case Select():
                return _blamed(e, self._select(e, scope))
            case Has(operand=operand, field=name):
                holder = self.build(operand, scope)
                return _blamed(e, lambda frame: _has(holder(frame), name))
            case Call():
                return _blamed(e, self._call(e, scope))
            case ListExpr():
                return _blamed(e, self._list(e, scope))
            case MapExpr():
                return _blamed(e, self._map(e, scope))
            case Message(name=name):
                return _blamed(e, _raising(f"messages cannot be made: '{name}'"))
            case Comprehension():
                return _blamed(e, self._comprehension(e, scope))
            case Bind():
                return self._bind(e, scope)
            case _:
                assert_never(e)

    def _place(self) -> int:
        self.count += 1
        return self.count - 1

    def _ident(self, e: Ident, scope: Mapping[str, int]) -> Step:
        name = e.name
        if name in scope and not e.absolute:
            place = scope[name]

            def variable(frame: Frame) -> Value:
                found = frame.variables[place]
                if type(found) is _Raised:
                    raise found.error
                return found

            return variable
        type_value = TypeValue(name) if name in TYPE_NAMES else None

        def root(frame: Frame) -> Value:
            if name in frame.roots:
                return frame.roots[name]
            if type_value is not None:
                return type_value
            raise CelError(f"no such attribute: '{name}'")

        return root

    def _select(self, e: Select, scope: Mapping[str, int]) -> Step:
        holder, name, optional = self.build(e.operand, scope), e.field, e.optional

        def select(frame: Frame) -> Value:
            value = holder(frame)
            if type(value) is dict and not optional:
                if name in value:
                    return value[name]
                raise CelError(f"no such key: '{name}'")
            if optional or type(value) is Optional:
                found = _find(value, lambda v: _field(v, name))
                return ABSENT if found is _NO_FIELD else Optional(found)
            return _field(value, name)

        return select

    def _call(self, e: Call, scope: Mapping[str, int]) -> Step:
        args = [self.build(a, scope) for a in (e.args if e.target is None else (e.target, *e.args))]
        match e.function:
            case name if name == AND:
                return _logic(args, absorbing=False)
            case name if name == OR:
                return _logic(args, absorbing=True)
            case name if name == CONDITIONAL:
                return _conditional(*args)
            case name if name in (INDEX, OPTIONAL_INDEX):
                return _index(*args, optional=name == OPTIONAL_INDEX)
            case "or" | "orValue" as name if e.target is not None and len(args) == 2:
                return _otherwise(*args, keep=name == "or")
        call = function(e.function, member=e.target is not None)
        if len(args) == 1:
            return _unary(e.function, call, *args)
        if len(args) == 2:
            return _binary(e.function, call, *args)

        def run(frame: Frame) -> Value:
            frame.step()
            values = tuple(arg(frame) for arg in args)
            frame.spend(reading(e.function, values, frame.work))
            found = call(*values)
            frame.spend(making(values, found))
            return found

        return run

    def _list(self, e: ListExpr, scope: Mapping[str, int]) -> Step:
        items = [self.build(item, scope) for item in e.items]
        size = len(items) * ELEMENT
        if not e.optional:

            def plain(frame: Frame) -> Value:
                frame.spend(size)
                return [item(frame) for item in items]

            return plain
        marked = [(item, i in e.optional) for i, item in enumerate(items)]

        def build(frame: Frame) -> Value:
            frame.spend(size)
            found = []
            for item, optional in marked:
                value = item(frame)
                if not optional:
                    found.append(value)
                elif _is_present(value):
                    found.append(value.value)
            return found

        return build

    def _map(self, e: MapExpr, scope: Mapping[str, int]) -> Step:
        entries = [(self.build(x.key, scope), self.build(x.value, scope), x.optional) for x in e.entries]

        def build(frame: Frame) -> Value:
            frame.spend(len(entries) * ELEMENT)
            found: dict[Value, Value] = {}
            for key, value, optional in entries:
                k, v = as_key(key(frame)), value(frame)
                if k in found:
                    raise CelError("failed with repeated key")
                if not optional:
                    found[k] = v
                elif _is_present(v):
                    found[k] = v.value
            return found

        return build

    def _bind(self, e: Bind, scope: Mapping[str, int]) -> Step:
        value, place = self.build(e.value, scope), self._place()
        body = self.build(e.body, {**scope, e.variable: place})

        def bind(frame: Frame) -> Value:
            try:
                frame.variables[place] = value(frame)
            except CelError as error:
                frame.variables[place] = _Raised(error)
            return body(frame)

        return bind

    def _comprehension(self, e: Comprehension, scope: Mapping[str, int]) -> Step:
        range_, place = self.build(e.range, scope), self._place()
        second = self._place() if e.second else -1
        inner = {**scope, e.variable: place} | ({e.second: second} if e.second else {})
        body = self.build(e.body, inner)
        condition = self.build(e.condition, inner) if e.condition is not None else None
        if e.macro in (MacroKind.OPT_MAP, MacroKind.OPT_FLAT_MAP):
            return _opt_map(range_, place, body, flat=e.macro is MacroKind.OPT_FLAT_MAP)

        def turns(frame: Frame) -> Iterator[tuple[Value, Value]]:
            """Each index or key with its element, set in the frame; what the condition turns down is left out."""
            items = range_(frame)
            if second >= 0:
                pairs = list(_pairs(items))
            elif type(items) is list:
                pairs = [(None, item) for item in items]
            else:
                pairs = [(None, key) for key, _ in _pairs(items)]
            for key, item in pairs:
                frame.step()
                if second >= 0:
                    frame.variables[place], frame.variables[second] = key, item
                else:
                    frame.variables[place] = item
                if condition is None or _bool(condition(frame)):
                    yield key, item

        return _MACROS[e.macro](turns, body)


def _blamed(e: Expr, step: Step) -> Step:
    """The step, whose errors name the expression unless they name one within it."""

    def run(frame: Frame) -> Value:
        try:
            return step(frame)
        except CelError as error:
            if error.expr is None:
                error.expr = e
            raise

    return run


def _raising(message: str) -> Step:
    def run(_: Frame) -> Value:
        raise CelError(message)

    return run


def _unary(name: str, call: Callable[..., Value], argument: Step) -> Step:
    def run(frame: Frame) -> Value:
        frame.step()
        value = argument(frame)
        if counts(value):
            frame.spend(reading(name, (value,), frame.work))
        found = call(value)
        if counts(found):
            frame.spend(making((value,), found))
        return found

    return run


def _binary(name: str, call: Callable[..., Value], first: Step, second: Step) -> Step:
    def run(frame: Frame) -> Value:
        frame.step()
        a, b = first(frame), second(frame)
        if counts(a) or counts(b):
            frame.spend(reading(name, (a, b), frame.work))
        found = call(a, b)
        if counts(found):
            frame.spend(making((a, b), found))
        return found

    return run


def _bool(value: Value) -> bool:
    if type(value) is not bool:
        raise CelError(f"no matching overload: '{kind(value)}' where a bool is needed")
    return value


def _logic(terms: list[Step], *, absorbing: bool) -> Step:
    """`&&` or `||`."""
    return lambda frame: _decided(terms, frame, absorbing=absorbing)


def _decided(terms: Iterable[Step], frame: Frame, *, absorbing: bool) -> bool:
    """The outcome of terms of which the absorbing value outweighs an error, wherever it stands."""
    failed: CelError | None = None
    for term in terms:
        try:
            if _bool(term(frame)) is absorbing:
                return absorbing
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not absorbing


def _conditional(test: Step, then: Step, other: Step) -> Step:
    return lambda frame: then(frame) if _bool(test(frame)) else other(frame)


def _otherwise(target: Step, argument: Step, *, keep: bool) -> Step:
    """`or` (which keeps the optional) and `orValue`."""

    def run(frame: Frame) -> Value:
        found = target(frame)
        if _is_present(found):
            return found if keep else found.value
        other = argument(frame)
        if keep:
            _is_present(other)
        return other

    return run


def _is_present(value: Value) -> bool:
    if type(value) is not Optional:
        raise CelError(f"no matching overload: '{kind(value)}' where an optional value is needed")
    return value.present


def _index(holder: Step, index: Step, *, optional: bool) -> Step:
    def run(frame: Frame) -> Value:
        frame.step()
        value, key = holder(frame), index(frame)
        if optional or type(value) is Optional:
            found = _find(value, lambda v: _at(v, key))
            return ABSENT if found is _NO_FIELD else Optional(found)
        found = _at(value, key)
        if found is _NO_FIELD:
            raise CelError(f"no such key: {key!r}" if type(value) is dict else f"index out of range: {key}")
        return found

    return run


def _at(value: Value, key: Value) -> Value:
    """The element, or `_NO_FIELD`."""
    if type(value) is dict:
        return value.get(lookup_key(key), _NO_FIELD)
    if type(value) is list:
        if isinstance(key, int | float) and not isinstance(key, bool) and not 0 <= key < len(value):
            return _NO_FIELD
        return value[position(value, key)]
    raise CelError(f"no matching overload for '[]' applied to ({kind(value)}, {kind(key)})")


def _find(value: Value, read: Callable[[Value], Value]) -> Value:
    """What is read from a value or from what an optional holds; `_NO_FIELD` when there is nothing."""
    if type(value) is Optional:
        if not value.present:
            return _NO_FIELD
        value = value.value
    if type(value) is dict or type(value) is list:
        try:
            return read(value)
        except _NoFieldError:
            return _NO_FIELD
    return read(value)


class _NoFieldError(CelError):
    pass


def _field(value: Value, name: str) -> Value:
    if type(value) is not dict:
        raise CelError(f"type '{kind(value)}' has no fields: '{name}'")
    if name not in value:
        raise _NoFieldError(f"no such key: '{name}'")
    return value[name]


def _has(value: Value, name: str) -> bool:
    if type(value) is Optional:
        return value.present and _has(value.value, name)
    if type(value) is not dict:
        raise CelError(f"type '{kind(value)}' has no fields: '{name}'")
    return name in value


def _pairs(items: Value) -> Iterator[tuple[Value, Value]]:
    """Indexes with elements, or keys with values."""
    if type(items) is list:
        return enumerate(items)
    if type(items) is dict:
        return ((from_key(k), v) for k, v in items.items())
    raise CelError(f"no matching overload: a '{kind(items)}' cannot be ranged over")


Turns: TypeAlias = Callable[[Frame], Iterator[tuple[Value, Value]]]


def _quantifier(turns: Turns, body: Step, *, absorbing: bool) -> Step:
    return lambda frame: _decided((body for _ in turns(frame)), frame, absorbing=absorbing)


def _all(turns: Turns, body: Step) -> Step:
    return _quantifier(turns, body, absorbing=False)


def _exists(turns: Turns, body: Step) -> Step:
    return _quantifier(turns, body, absorbing=True)


def _exists_one(turns: Turns, body: Step) -> Step:
    return lambda frame: sum(_bool(body(frame)) for _ in turns(frame)) == 1


def _filter(turns: Turns, body: Step) -> Step:
    return lambda frame: [item for _, item in turns(frame) if _bool(body(frame))]


def _transform_list(turns: Turns, body: Step) -> Step:
    return lambda frame: [body(frame) for _ in turns(frame)]


def _transform_map(turns: Turns, body: Step) -> Step:
    return lambda frame: {as_key(key): body(frame) for key, _ in turns(frame)}


def _transform_map_entry(turns: Turns, body: Step) -> Step:
    def run(frame: Frame) -> Value:
        found: dict[Value, Value] = {}
        for _ in turns(frame):
            entry = body(frame)
            if type(entry) is not dict:
                raise CelError(f"no matching overload: '{kind(entry)}' where a map is needed")
            for key, value in entry.items():
                if key in found:
                    raise CelError("failed with repeated key")
                found[key] = value
        return found

    return run


def _sort_by(turns: Turns, body: Step) -> Step:
    def run(frame: Frame) -> Value:
        keyed = [(body(frame), item) for _, item in turns(frame)]
        return sorted_by([item for _, item in keyed], [key for key, _ in keyed])

    return run


_MACROS: Mapping[MacroKind, Callable[[Turns, Step], Step]] = {
    MacroKind.ALL: _all,
    MacroKind.EXISTS: _exists,
    MacroKind.EXISTS_ONE: _exists_one,
    MacroKind.FILTER: _filter,
    MacroKind.MAP: _transform_list,
    MacroKind.TRANSFORM_LIST: _transform_list,
    MacroKind.TRANSFORM_MAP: _transform_map,
    MacroKind.TRANSFORM_MAP_ENTRY: _transform_map_entry,
    MacroKind.SORT_BY: _sort_by,
}


def _opt_map(target: Step, place: int, body: Step, *, flat: bool) -> Step:
    def run(frame: Frame) -> Value:
        found = target(frame)
        if not _is_present(found):
            return ABSENT
        frame.variables[place] = found.value
        made = body(frame)
        if flat:
            _is_present(made)
        return made if flat else Optional(made)

    return run


def same(a: Value, b: Value) -> bool:
    """Whether two values are one: equal and of one type, NaN being itself; lists and maps element by element."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(k in b and same(v, b[k]) for k, v in a.items())
    if isinstance(a, Optional) and a.present and b.present:
        return same(a.value, b.value)
    return equals(a, b)
