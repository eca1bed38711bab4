"""The lambdas of an SQL value, and how many of them Spark can give types to and compile."""

from __future__ import annotations

from collections.abc import Sequence

from .. import Function, Lambda, Sql, children
from ..reasons import NotNative, Reason

MAX_LAMBDAS = 16
"""Lambdas in one another. Each doubles how often Spark asks for types: sixteen take it a second, twenty-four eleven."""
MAX_ROUNDS = 80
"""Lambdas that wait for one another's types. Spark resolves one a round, and gives up after a hundred rounds."""
MAX_IN_ALL = 300
"""Lambdas in one conjunct. All of them are in one generated method: 350 take a gigabyte and ten seconds to compile."""


def refuse_unresolvable(parts: Sequence[Sql]) -> None:
    """Looks at the lambdas of the parts of one value.

    Raises:
        NotNative: where the analyzer would give up on their types or take too long, or the compiler would.
    """
    in_all = sum(part.extent.lambdas for part in parts)
    if in_all <= MAX_LAMBDAS:
        return
    if in_all > MAX_IN_ALL:
        raise NotNative(Reason.LAMBDAS)
    if max(map(_nested, parts)) > MAX_LAMBDAS or max(map(_rounds, parts)) > MAX_ROUNDS:
        raise NotNative(Reason.NESTED_LAMBDAS)


def _nested(node: Sql) -> int:
    """How many lambdas there are in one another."""
    if not node.extent.lambdas:
        return 0
    return max(map(_nested, children(node)), default=0) + isinstance(node, Lambda)


def _rounds(node: Sql) -> int:
    """How many rounds the types take. A call's lambda waits for what it is given, and what is in it waits for that."""
    if not node.extent.lambdas:
        return 0
    if not isinstance(node, Function):
        return max(map(_rounds, children(node)), default=0)
    before, within = 0, 0
    for arg in node.args:
        if isinstance(arg, Lambda):
            before += within + 1
            within = _rounds(arg.body)
        else:
            within = max(within, _rounds(arg))
    return before + within
