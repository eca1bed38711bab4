"""The sets extension: lists as sets, by CEL's `==`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tricel.compiler.nodes import Expr

from . import likeness, made
from .sql import Sql, boolean

if TYPE_CHECKING:
    from .lower import Lowering
    from .special import Special

_Test = Callable[[Sql, Sql], str]


def _contains(a: Sql, b: Sql) -> str:
    return f"array_size(array_except({b.text}, {a.text})) = 0"


def _equivalent(a: Sql, b: Sql) -> str:
    return f"{_contains(a, b)} AND {_contains(b, a)}"


def _intersects(a: Sql, b: Sql) -> str:
    return f"array_size(array_intersect({a.text}, {b.text})) > 0"


def _by(test: _Test, *, twice: bool = False) -> Special:
    """The call that is `test` of the keys of its two lists; `twice`: the test writes each twice."""

    def lower(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
        lists = [likeness.ready(lowering, lowering.parts(a, scope)) for a in args]
        written = [i for i, held in enumerate(lists) if held.items is not None]
        return lowering.lets(lists, lambda o: _tested(lowering, o[0], o[1], test, twice), written)

    return lower


def _tested(lowering: Lowering, a: Sql, b: Sql, test: _Test, twice: bool) -> Sql:
    keys = likeness.keys(lowering, a, b)

    def tested(found: list[Sql]) -> Sql:
        whole = boolean(test(*found), found, infix=True)
        tests = [f"array_size(array_compact({found[i].text})) = array_size({found[i].text})" for i in keys.doubtful]
        if not tests:
            return whole
        return boolean(f"CASE WHEN {' AND '.join(tests)} THEN {whole.text} END", (whole,))

    found = lowering.lets(keys.arrays, tested, [0, 1] if twice else keys.doubtful)
    return made.when_certain([held for held in (a, b) if held.items is not None], found)


CALLS: Mapping[str, Special] = {
    "list_sets_contains_list": _by(_contains),
    "list_sets_equivalent_list": _by(_equivalent, twice=True),
    "list_sets_intersects_list": _by(_intersects),
}
"""By overload id."""
