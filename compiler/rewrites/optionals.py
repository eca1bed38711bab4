"""Optional selections that are used up where they stand, as `has()` and plain selections.

`m.?f` is present where `has(m.f)`, and both err for what is no map; so `m.?f.orValue(d)` is `has(m.f) ? m.f : d`. A
selection from an optional is absent where that is: `m.?f.g.orValue(d)` is `has(m.f) && has(m.f.g) ? m.f.g : d`, where
the second test errs if the first is false, which `&&` absorbs. (CEL definition, "Optionals"; cel-go's `OptionalTypes`.)

What is written several times is a name, or a short selection from one; anything else is bound to a name first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias, assert_never

from ..celtypes import JSON, CelType
from ..functions import ALL
from ..nodes import (
    CONDITIONAL,
    EQUALS,
    INDEX,
    NOT,
    NOT_EQUALS,
    OPTIONAL_INDEX,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    Lit,
    LitKind,
    MacroKind,
    MapExpr,
    Select,
    children,
    conjunction,
    variables,
    walk,
    with_children,
)
from ..scopes import put
from ..source import Span

_MOST_STEPS = 6
"""Selections in a row that are tested one by one; each test repeats those before it."""
_MOST_COPIED = 8
"""Nodes of a selection that is written as often as it is used."""
_FIELD = re.compile(r"[A-Za-z0-9_./ -]+", re.ASCII)
"""Keys that a selection can name, with backquotes."""
OF_OPTIONALS = frozenset(
    row.function for row in ALL if any(type_.name == "optional_type" for type_ in (*row.params, row.result))
) | {OPTIONAL_INDEX}
"""Functions that take optionals or make them."""
_FLAT = {MacroKind.OPT_MAP: False, MacroKind.OPT_FLAT_MAP: True}


def optionals(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` without the optional values whose presence can be asked for by `has()`."""
    return e if _hides_optionals(e, types) else _Run(e, types).visit(e)


@dataclass(frozen=True, slots=True)
class _Path:
    """What is selected from `base`, which is no optional: by each step, a key and where it is written.

    `end` is `first` or `last` where it is selected from that element of `base`, a list, or is that element.
    """

    base: Expr
    steps: tuple[tuple[str, Span], ...]
    end: str = ""


@dataclass(frozen=True, slots=True)
class _Of:
    """`optional.of(value)`."""

    value: Expr


@dataclass(frozen=True, slots=True)
class _Nothing:
    """`optional.none()`."""


@dataclass(frozen=True, slots=True)
class _Or:
    """`first.or(second)`."""

    first: _Optional
    second: _Optional


@dataclass(frozen=True, slots=True)
class _Mapped:
    """`path.optFlatMap(variable, body)`."""

    path: _Path
    variable: str
    body: _Optional


_Optional: TypeAlias = _Path | _Of | _Nothing | _Or | _Mapped


@dataclass
class _Run:
    """One pass over the whole expression; nothing in an optional is visited before it is known to be used up."""

    whole: Expr
    types: Mapping[int, CelType]
    _taken: set[str] = field(default_factory=set)

    def visit(self, e: Expr) -> Expr:
        """`e` without the optionals that it uses up."""
        found = self._without(e)
        if found is not None:
            return found
        if isinstance(e, Bind) and (inlined := self._inlined(e)) is not None:
            return self.visit(inlined)
        old = children(e)
        new = tuple([self.visit(c) for c in old])
        return with_children(e, new) if any(a is not b for a, b in zip(old, new, strict=True)) else e

    def _without(self, e: Expr) -> Expr | None:
        """What `e` comes to, which uses an optional up; None for any other."""
        match e:
            case Call(function="orValue", target=target, args=(other,)) if target is not None:
                found = self._read(target)
                if found is None or (not isinstance(other, Lit) and _repeats_other(found)):
                    return None
                return self._or_value(found, self.visit(other), e)
            case Call(function="hasValue", target=target, args=()) if target is not None:
                found = self._read(target)
                return self._present(found, e) if found is not None and _is_used_up(found) else None
            case Call(function="value", target=target, args=()) if target is not None:
                found = self._read(target)
                return self._selected(found) if isinstance(found, _Path) and found.steps else None
            case Has(operand=operand, field=name) if (held := self._read(operand)) is not None:
                longer = self._longer(held, name, operand, e.span)
                return self._present(longer, e) if longer is not None else None
            case Call(function=function, args=(a, b)) if function in (EQUALS, NOT_EQUALS):
                equal = self._compared(a, b, e) or self._compared(b, a, e)
                if equal is None or function == EQUALS:
                    return equal
                return Call(NOT, (equal,), id=e.id, span=e.span)
            case _:
                return None

    def _inlined(self, e: Bind) -> Expr | None:
        """The body of `cel.bind` with the optional in the variable's place, where that is short and means the same."""
        found = self._read(e.value)
        if not isinstance(found, _Path) or not _is_short(found.base):
            return None
        body = put({e.variable: e.value}, e.body)
        return None if body is None else replace(body, span=e.span)

    def _compared(self, a: Expr, b: Expr, e: Expr) -> Expr | None:
        """Whether the optional `a` equals `b`, which is known before evaluation: no value, or a literal's."""
        match b:
            case Call(function="optional.none", args=(), target=None):
                pass
            case Call(function="optional.of", args=(Lit(),), target=None):
                pass
            case _:
                return None
        found = self._read(a)
        if not isinstance(found, _Path):
            return None
        if not b.args:
            return Call(NOT, (self._present(found, e),), id=e.id, span=e.span)
        base, name = self._base(found)
        tests, value = _steps(base, found)
        return self._bound(name, found, conjunction((*tests, Call(EQUALS, (value, b.args[0]), span=e.span)), e.span))

    def _read(self, e: Expr) -> _Optional | None:
        """The optional that `e` is, where that is known."""
        match e:
            case Call(function="optional.of", args=(value,), target=None):
                return _Of(value)
            case Call(function="optional.none", args=(), target=None):
                return _Nothing()
            case Call(function="or", target=target, args=(other,)) if target is not None:
                first = self._read(target)
                second = self._read(other) if first is not None else None
                if first is None or second is None or (_repeats_other(first) and not _is_constant(second)):
                    return None
                return _Or(first, second)
            case Call(function="first" | "last" as end, target=target, args=()) if target is not None:
                return self._of_end(target, end, e, [], doubtful=False)
            case Comprehension(macro=MacroKind.OPT_MAP | MacroKind.OPT_FLAT_MAP as macro, range=range_, body=body):
                path = self._read(range_)
                inner = self._read(body) if _FLAT[macro] else _Of(body)
                return _Mapped(path, e.variable, inner) if isinstance(path, _Path) and inner is not None else None
            case _:
                return self._path(e)

    def _path(self, e: Expr) -> _Path | None:
        """What `e` selects from, and by which keys; None where any but the last value may be an optional itself."""
        steps: list[tuple[str, Span]] = []
        doubtful = False
        while len(steps) < _MOST_STEPS:
            match e:
                case Select(operand=holder, field=name, optional=optional):
                    pass
                case Call(function=function, args=(holder, Lit(kind=LitKind.STRING, value=str(name)))) if function in (
                    INDEX,
                    OPTIONAL_INDEX,
                ) and _FIELD.fullmatch(name):
                    optional = function == OPTIONAL_INDEX
                case _:
                    return None
            steps.append((name, e.span))
            match holder:
                case Call(function="orValue", target=target, args=(MapExpr(entries=()),)) if optional and target:
                    holder = target  # of an empty map, as of nothing, an optional selection is absent
            held = self.types.get(holder.id)
            if held is None:
                return None
            if held.name != "optional_type":
                certain = held == JSON or not (doubtful or _may_nest(held))
                return _Path(holder, tuple(reversed(steps))) if optional and certain else None
            match holder:
                case Call(function="first" | "last" as end, target=target, args=()) if target is not None:
                    return self._of_end(target, end, holder, steps, doubtful=doubtful)
            doubtful = doubtful or _may_nest(held)
            e = holder
        return None

    def _of_end(self, items: Expr, end: str, e: Expr, steps: list[tuple[str, Span]], *, doubtful: bool) -> _Path | None:
        """What is selected from an end of a list, `e`; None where an element may be an optional itself."""
        held = self.types.get(e.id)
        if held is None or held.name != "optional_type":
            return None
        certain = held.params[0] == JSON or not (doubtful or _may_nest(held))
        return _Path(items, tuple(reversed(steps)), end) if certain else None

    def _longer(self, held: _Optional, name: str, operand: Expr, span: Span) -> _Path | None:
        """The path of what is selected by one more name from what a path selects."""
        if not isinstance(held, _Path):
            return None
        base, type_ = self.types.get(held.base.id), self.types.get(operand.id)
        if base != JSON and (type_ is None or _may_nest(type_)):
            return None
        return replace(held, steps=(*held.steps, (name, span))) if _FIELD.fullmatch(name) else None

    def _or_value(self, found: _Optional, other: Expr, e: Expr) -> Expr:
        """The value of the optional, or else `other`; in the place of `e`."""
        match found:
            case _Of(value=value):
                return self.visit(value)
            case _Nothing():
                return other
            case _Or(first=first, second=second):
                return self._or_value(first, self._or_value(second, other, e), e)
            case _Path():
                base, name = self._base(found)
                tests, value = _steps(base, found)
                chosen = Call(CONDITIONAL, (conjunction(tests, e.span), value, other), id=e.id, span=e.span)
                return self._bound(name, found, chosen)
            case _Mapped(path=path, variable=variable, body=body):
                base, name = self._base(path)
                tests, value = _steps(base, path)
                inner = _named(variable, value, self._or_value(body, other, e), e.span)
                chosen = Call(CONDITIONAL, (conjunction(tests, e.span), inner, other), id=e.id, span=e.span)
                return self._bound(name, path, chosen)
            case _:
                assert_never(found)

    def _present(self, found: _Optional, e: Expr) -> Expr:
        """Whether the optional has a value; in the place of `e`."""
        match found:
            case _Of() | _Nothing():
                return Lit(LitKind.BOOL, isinstance(found, _Of), span=e.span)
            case _Or(first=first, second=second):
                known = Lit(LitKind.BOOL, True, span=e.span)
                either = (self._present(first, e), known, self._present(second, e))
                return Call(CONDITIONAL, either, id=e.id, span=e.span)
            case _Path(steps=steps):
                base, name = (self.visit(found.base), "") if len(steps) == 1 and not found.end else self._base(found)
                return self._bound(name, found, conjunction(_steps(base, found)[0], e.span))
            case _Mapped(path=path, variable=variable, body=body):
                base, name = self._base(path)
                tests, value = _steps(base, path)
                inner = _named(variable, value, self._present(body, e), e.span)
                absent = Lit(LitKind.BOOL, False, span=e.span)
                chosen = Call(CONDITIONAL, (conjunction(tests, e.span), inner, absent), id=e.id, span=e.span)
                return self._bound(name, path, chosen)
            case _:
                assert_never(found)

    def _selected(self, path: _Path) -> Expr:
        """The value that the path leads to, an error where there is none."""
        return _steps(self.visit(path.base), path)[1]

    def _base(self, path: _Path) -> tuple[Expr, str]:
        """What is written for the base, and the name that it is to be bound to; empty where it is written as it is."""
        if _is_short(path.base):
            return path.base, ""
        name = self._fresh()
        return Ident(name, span=path.base.span), name

    def _bound(self, name: str, path: _Path, body: Expr) -> Expr:
        """`body`, in which the path's base has the name; see `_base`."""
        return Bind(name, self.visit(path.base), body, span=body.span) if name else body

    def _fresh(self) -> str:
        """A name that is nowhere in the expression."""
        if not self._taken:
            self._taken = {n.name for n in walk(self.whole) if isinstance(n, Ident)}
            self._taken.update(*(variables(n) for n in walk(self.whole)))
        name = next(n for i in count(1) if (n := f"object{i}" if i > 1 else "object") not in self._taken)
        self._taken.add(name)
        return name


def _hides_optionals(e: Expr, types: Mapping[int, CelType]) -> bool:
    """Whether an optional may be where the types tell of a JSON value: a value of type dyn that holds one passes for it."""
    for node in walk(e):
        type_ = types.get(node.id)
        if type_ is not None and _mentions(type_, "dyn"):
            held = (types.get(part.id) for part in _taken_up(node))
            if any(t is not None and _mentions(t, "optional_type") for t in held):
                return True
    return False


def _taken_up(e: Expr) -> tuple[Expr, ...]:
    """The parts that the value of `e` may be or hold as they are; what only reads an optional takes up none."""
    match e:
        case Select() | Has() | Call(function="_[_]" | "_[?_]" | "value"):
            return ()
        case Call(function="or" | "orValue", target=target, args=args) if target is not None:
            return args if e.function == "orValue" else ()
        case Comprehension(macro=macro, body=body) if macro in _FLAT:
            return () if _FLAT[macro] else (body,)
        case _:
            return children(e)


def _mentions(type_: CelType, name: str) -> bool:
    return type_.name == name or any(_mentions(p, name) for p in type_.params)


def _may_nest(type_: CelType) -> bool:
    """Whether what a value of this type holds, or is, may be an optional too."""
    held = type_.params[0] if type_.name == "optional_type" else type_
    return held.name in ("dyn", "optional_type")


def _repeats_other(found: _Optional) -> bool:
    """Whether the value of `orValue` would be written twice, once where a variable may hide its names."""
    match found:
        case _Mapped(body=body):
            return not isinstance(body, _Of)
        case _Or(first=first, second=second):
            return _repeats_other(first) or _repeats_other(second)
        case _:
            return False


def _is_constant(found: _Optional) -> bool:
    """Whether it is the same whatever names mean where it is written."""
    return isinstance(found, _Nothing) or (isinstance(found, _Of) and isinstance(found.value, Lit))


def _is_used_up(found: _Optional) -> bool:
    """Whether `hasValue()` of it becomes something else: of an end of a list, it is how that is asked."""
    return _is_testable(found) and not (isinstance(found, _Path) and found.end and not found.steps)


def _is_testable(found: _Optional) -> bool:
    """Whether its presence is known without evaluating what it holds, which may err."""
    match found:
        case _Of(value=value):
            return isinstance(value, Lit)
        case _Or(first=first, second=second):
            return _is_testable(first) and _is_testable(second)
        case _Mapped(body=body):
            return _is_testable(body)
        case _:
            return True


def _steps(base: Expr, path: _Path) -> tuple[tuple[Expr, ...], Expr]:
    """The tests that all steps are there, and what they lead to."""
    tests: list[Expr] = []
    if path.end:
        element = Call(path.end, (), base, span=base.span)
        tests.append(Call("hasValue", (), element, span=base.span))
        base = Call("value", (), element, span=base.span)
    for name, span in path.steps:
        tests.append(Has(base, name, span=span))
        base = Select(base, name, span=span)
    return tuple(tests), base


def _is_short(e: Expr) -> bool:
    """Whether `e` is a name, or a selection from one by a few constant keys."""
    for _ in range(_MOST_COPIED):
        match e:
            case Ident():
                return True
            case Select(operand=holder, optional=False) | Call(function="_[_]", args=(holder, Lit())):
                e = holder
            case _:
                return False
    return False


def _named(variable: str, value: Expr, body: Expr, span: Span) -> Expr:
    """`body`, where `variable` is `value`: put in its place where that is short and means the same there."""
    found = put({variable: value}, body) if _is_short(value) else None
    return Bind(variable, value, body, span=span) if found is None else found
