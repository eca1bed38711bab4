"""What an expression reads from an event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..environments.attributes import AttributeRecord, record_of
from ..environments.model import Environment
from ..nodes import INDEX, Bind, Call, Comprehension, Expr, Has, Ident, Lit, LitKind, Select, children, variables

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Requirements:
    """`attributes` by name; `paths` into the other roots, each beginning with the root's name.

    `whole` names the roots that are read as a value of their own, such as `ce` in `size(ce)`. `record` is the record of
    attributes, where it is read at all.
    """

    attributes: frozenset[str] = frozenset()
    paths: frozenset[Path] = frozenset()
    whole: frozenset[str] = frozenset()
    record: str = ""

    @property
    def roots(self) -> frozenset[str]:
        """Every root that is read at all."""
        return frozenset({self.record} - {""} | {str(p[0]) for p in self.paths} | self.whole)

    @property
    def all_attributes(self) -> bool:
        """Whether the record of attributes is read as a value of its own."""
        return self.record in self.whole


def together(needs: Iterable[Requirements]) -> Requirements:
    """What several expressions read, as one."""
    all_ = list(needs)
    return Requirements(
        frozenset[str]().union(*(n.attributes for n in all_)),
        frozenset[Path]().union(*(n.paths for n in all_)),
        frozenset[str]().union(*(n.whole for n in all_)),
        next((n.record for n in all_ if n.record), ""),
    )


def requirements(exprs: Iterable[Expr], environment: Environment) -> Requirements:
    """What the expressions read together."""
    found: set[Path] = set()
    record = record_of(environment)
    for e in exprs:
        _collect(e, environment, record, frozenset(), found)
    attributes = frozenset(str(p[1]) for p in found if p[0] == record.name and len(p) > 1)
    paths = frozenset(p for p in found if p[0] != record.name)
    whole = frozenset(str(p[0]) for p in found if len(p) == 1)
    return Requirements(attributes, paths, whole, record.name if attributes or record.name in whole else "")


def constant_path(e: Expr, *, through_optionals: bool = False) -> tuple[Expr, Path]:
    """`e` as a base and the constant keys and indexes selected from it, outermost last.

    `through_optionals`: an optional selection counts as one, too.
    """
    keys: list[str | int] = []
    while True:
        match e:
            case Select(operand=operand, field=field, optional=optional) if not optional or through_optionals:
                keys.append(field)
                e = operand
            case Call(
                function="_[_]" | "_[?_]" as function,
                args=(operand, Lit(kind=LitKind.STRING | LitKind.INT, value=str() | int() as key)),
            ) if function == INDEX or through_optionals:
                keys.append(key)
                e = operand
            case _:
                return e, tuple(reversed(keys))


def _collect(
    e: Expr, environment: Environment, record: AttributeRecord, bound: frozenset[str], found: set[Path]
) -> None:
    inner = Select(e.operand, e.field) if isinstance(e, Has) else e
    base, keys = constant_path(inner, through_optionals=True)
    if isinstance(base, Ident):
        if (base.absolute or base.name not in bound) and environment.root(base.name) is not None:
            found.add((base.name, *keys))
        return
    if keys:
        _collect(base, environment, record, bound, found)
        return
    match e:
        case Call(function="@in", args=(Lit(kind=LitKind.STRING, value=str(name)), holder)) if record.is_it(
            holder, bound
        ):
            found.add((record.name, name))
        case Comprehension() | Bind():
            outer, *inner_parts = children(e)
            _collect(outer, environment, record, bound, found)
            for part in inner_parts:
                _collect(part, environment, record, bound | variables(e), found)
        case _:
            for child in children(e):
                _collect(child, environment, record, bound, found)
