"""The sets extension: lists as sets, by CEL's `==`."""

from __future__ import annotations

from collections.abc import Callable

from tricel.compiler.nodes import Expr

from .. import Part, Scope, Sql, Typed, Written, all_of, boolean, equal, function, integer, when
from ..context import Context
from ..functions import Handler, handles
from . import constructors, equality_keys

_Test = Callable[[Typed, Typed], Sql]


def _contains(a: Typed, b: Typed) -> Sql:
    return equal(function("array_size", function("array_except", b, a)), integer(0))


def _equivalent(a: Typed, b: Typed) -> Sql:
    return _contains(a, b) & _contains(b, a)


def _intersects(a: Typed, b: Typed) -> Sql:
    return function("array_size", function("array_intersect", a, b)) > integer(0)


def _by(test: _Test, *, twice: bool = False) -> Handler:
    """The call that is `test` of the keys of its two lists; `twice`: the test writes each twice."""

    def lower(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
        lists = [equality_keys.ready(context, context.parts(a, scope)) for a in args]
        written = [i for i, held in enumerate(lists) if isinstance(held, Written)]
        return context.lets(lists, lambda o: _tested(context, o[0], o[1], test, twice), written)

    return lower


def _tested(context: Context, a: Part, b: Part, test: _Test, twice: bool) -> Typed:
    keys = equality_keys.keys(context, a, b)

    def tested(found: list[Typed]) -> Typed:
        whole = boolean(test(*found))
        tests = [
            equal(function("array_size", function("array_compact", found[i])), function("array_size", found[i]))
            for i in keys.doubtful
        ]
        return boolean(when(all_of(tests), whole)) if tests else whole

    found = context.typed_lets(keys.arrays, tested, [0, 1] if twice else keys.doubtful)
    return constructors.unless_null([held for held in (a, b) if isinstance(held, Written)], found)


_WHOLE = "all but structs, maps and lists of typed columns compared whole"
handles("list_sets_contains_list", condition=_WHOLE)(_by(_contains))
handles("list_sets_equivalent_list", condition=_WHOLE)(_by(_equivalent, twice=True))
handles("list_sets_intersects_list", condition=_WHOLE)(_by(_intersects))
