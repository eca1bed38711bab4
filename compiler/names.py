"""Name resolution: which selections are one dotted name (CEL definition, "Name Resolution").

In a container `a.b` the name `c.d` may be `a.b.c.d`, `a.c.d` or `c.d`, the longest container first, and of the names
that are known the one that takes in the most selections. A variable of a macro hides all of them; a leading dot goes
past the container.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .environments.model import Environment
from .nodes import Expr, Ident, Select, children, variables, walk, with_children

TYPE_NAMES = frozenset(
    {
        *("bool", "bytes", "double", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint"),
        *("google.protobuf.Timestamp", "google.protobuf.Duration"),
    }
)
"""The names of types, which are values of type `type`."""


def resolve(e: Expr, environment: Environment) -> Expr:
    """`e` with every selection that is a known name replaced by that name."""
    known = {name for name, _ in environment.roots} | TYPE_NAMES
    if not environment.container:
        heads = {name.partition(".")[0] for name in known if "." in name}
        if not any(isinstance(node, Ident) and node.name in heads for node in walk(e)):
            return e
    return _resolve(e, environment.container, known, frozenset())


def _resolve(e: Expr, container: str, known: set[str], bound: frozenset[str]) -> Expr:
    path = _path(e)
    if path is not None:
        return _as_name(e, path, container, known, bound)
    inner = bound | variables(e)
    new = (_resolve(c, container, known, inner if i else bound) for i, c in enumerate(children(e)))
    return with_children(e, tuple(new))


def _path(e: Expr) -> tuple[str, ...] | None:
    """The names that `a.b.c` is made of; None for any other expression."""
    names: list[str] = []
    while isinstance(e, Select) and not e.optional:
        names.append(e.field)
        e = e.operand
    return (e.name, *reversed(names)) if isinstance(e, Ident) else None


def _as_name(e: Expr, path: tuple[str, ...], container: str, known: set[str], bound: frozenset[str]) -> Expr:
    absolute = _base(e).absolute
    if path[0] in bound and not absolute:
        return e
    for prefix in [""] if absolute else _containers(container):
        for taken in range(len(path), 0, -1):
            name = prefix + ".".join(path[:taken])
            if name in known:
                return _replaced(e, len(path) - taken, name)
    return e


def _containers(container: str) -> Iterator[str]:
    parts = container.split(".") if container else []
    for n in range(len(parts), -1, -1):
        yield "".join(f"{part}." for part in parts[:n])


def _base(e: Expr) -> Ident:
    while isinstance(e, Select):
        e = e.operand
    if not isinstance(e, Ident):
        raise TypeError("not a name")
    return e


def _replaced(e: Expr, left: int, name: str) -> Expr:
    """`e` whose innermost selections, all but the `left` outermost, are the name."""
    if left and isinstance(e, Select):
        return replace(e, operand=_replaced(e.operand, left - 1, name))
    return Ident(name, _base(e).absolute, id=e.id, span=e.span)
