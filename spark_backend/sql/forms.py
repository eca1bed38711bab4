"""Forms of SQL that are built from the constructors of the tree, each in one way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .tree import (
    Case,
    Extent,
    Function,
    Lambda,
    Literal,
    LiteralType,
    Operand,
    Operator,
    PathKey,
    Scalar,
    Sql,
    Variable,
    bound,
    case,
    function,
    integer,
    operator,
    variable,
)


def equal(a: Operand | Scalar, b: Operand | Scalar) -> Operator:
    """`a = b`."""
    return operator("=", a, b)


def unequal(a: Operand | Scalar, b: Operand | Scalar) -> Operator:
    """`a <> b`."""
    return operator("<>", a, b)


def is_null(x: Operand) -> Operator:
    """Whether it is NULL, which in a value of CEL is an error."""
    return operator("IS NULL", x)


def is_not_null(x: Operand) -> Operator:
    """Whether it is not NULL."""
    return operator("IS NOT NULL", x)


def is_in(x: Operand, options: Sequence[Operand | Scalar]) -> Operator:
    """`x IN (...)`."""
    return operator("IN", x, *options)


def between(x: Operand, least: Operand | Scalar, most: Operand | Scalar) -> Operator:
    """`x BETWEEN least AND most`."""
    return operator("BETWEEN", x, least, most)


def when(test: Operand | Scalar, then: Operand | Scalar) -> Case:
    """`then` where the test holds, else NULL."""
    return case((test, then))


def lambda_(body: Callable[..., Operand], names: Sequence[str] = ("",)) -> Lambda:
    """The lambda whose body `body` makes of its variables: one of a name, or to be named, for each of `names`."""
    variables = tuple([variable(name) for name in names])
    return bound(variables, body(*variables))


def lambda2(body: Callable[[Variable, Variable], Operand]) -> Lambda:
    """A lambda of two variables."""
    return lambda_(body, ("", ""))


def array(items: Sequence[Operand | Scalar]) -> Function:
    """An array of the items, one at least."""
    return function("array", *items)


def get(items: Operand, index: Operand | int) -> Function:
    """An element by its index from 0, NULL where there is none."""
    return function("get", items, integer(index) if isinstance(index, int) else index)


def named(value: Operand, name: Variable, body: Operand) -> Function:
    """`body`, in which the variable stands for the value: the one way to compute it once and write it many times."""
    return get(function("transform", array([value]), bound((name,), body)), 0)


def struct(**fields: Operand | Scalar) -> Function:
    """A struct of the fields in their order."""
    return function("named_struct", *(x for pair in fields.items() for x in pair))


def read_variant(v: Operand, type_: str, keys: tuple[PathKey, ...] = ()) -> Function:
    """What a VARIANT holds under constant keys, cast to a type; NULL where there is nothing, or Spark cannot cast it.

    The keys must satisfy `in_path`. Reads under one another become one. Spark's casts coerce: guard them.
    """
    base = v.sql
    if (before := path_of(base)) is not None:
        base, keys = before[0], (*before[1], *keys)
    return function(
        "try_variant_get", base, Literal(keys, LiteralType.PATH, Extent(4 + sum(len(str(k)) + 4 for k in keys))), type_
    )


def path_of(node: Sql) -> tuple[Sql, tuple[PathKey, ...]] | None:
    """The value, and the constant keys in it, that a node reads as a VARIANT; None for any other node."""
    match node:
        case Function(name="try_variant_get", args=(base, Literal(value=tuple() as keys), Literal(value="variant"))):
            return base, keys
        case _:
            return None


def in_path(key: PathKey) -> bool:
    """Whether a VARIANT path can name the key: it has no escapes, so not a key with both kinds of quotes."""
    if isinstance(key, int):
        return 0 <= key < 2**31
    return not ("'" in key and '"' in key)
