"""SQL as Spark's parser reads it, and the tree that it was written from, in one form: Spark's own text of a tree.

That text has parentheses around every operator, and says of each part what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from pyspark.sql import SparkSession
from tricel.spark_backend.sql import (
    Case,
    Cast,
    Column,
    Field,
    Function,
    Lambda,
    Literal,
    LiteralType,
    Operator,
    Sql,
    Variable,
)
from tricel.spark_backend.sql.render import path_literal, text_literal

_IN_FULL = {"spark.sql.debug.maxToStringFields": str(2**31 - 1)}
_SIGNS = {"BETWEEN": "between", "IS NULL": "isnull", "IS NOT NULL": "isnotnull"}
_JSON_TYPES = {"TIMESTAMP_LTZ": "timestamp"}


class Parser:
    """Spark's own parser."""

    def __init__(self, spark: SparkSession) -> None:
        self._session = spark
        self._parser = spark._jsparkSession.sessionState().sqlParser()  # type: ignore[attr-defined]

    def read(self, sql: str) -> str:
        """What Spark reads in the text of an expression."""
        for key, value in _IN_FULL.items():
            self._session.conf.set(key, value)
        return str(self._parser.parseExpression(sql).toString())


def written(node: Sql) -> str:
    """The tree that the renderer was given, as Spark would show it. It has as many names as variables in one another."""
    return _written(node, {})


def _written(node: Sql, names: Mapping[Variable, str]) -> str:
    match node:
        case Literal(value=value, type=type_):
            return _literal(value, type_)
        case Column(name=name):
            return f"lambda '{name}" if names else f"'{name}"  # in a lambda Spark tells them apart later
        case Variable(name=name):
            return f"lambda '{names[node]}" if node in names else f"'{name}"
        case Field(operand=operand, name=name):
            return _field(_written(operand, names), operand, name)
        case Function(name=name, args=args):
            return f"'{name}({', '.join(_written(a, names) for a in args)})"
        case Cast(operand=operand, type=type_, total=total):
            as_ = _JSON_TYPES.get(type_, type_.lower())
            return f"{'try_' if total else ''}cast({_written(operand, names)} as {as_})"
        case Case(branches=branches, otherwise=otherwise, subject=subject):
            of = None if subject is None else _written(subject, names)
            parts = []
            for test, then in branches:
                read = _written(test, names)
                parts.append(f" WHEN {read if of is None else f'({of} = {read})'} THEN {_written(then, names)}")
            rest = "" if otherwise is None else f" ELSE {_written(otherwise, names)}"
            return f"CASE{''.join(parts)}{rest} END"
        case Lambda(variables=variables, body=body):
            inner = dict(names)
            for v in variables:
                inner[v] = v.name or f"v{len(inner) + 1}"
            bound = "".join(f", lambda '{inner[v]}" for v in variables)
            return f"lambdafunction({_written(body, inner)}{bound}, false)"
        case Operator(sign=sign, operands=operands):
            return _operator(sign, [_written(o, names) for o in operands], operands)


def _field(whole: str, operand: Sql, name: str) -> str:
    return (
        f"{whole}.{name}" if isinstance(operand, Column | Variable | Field) and "(" not in whole else f"{whole}[{name}]"
    )


def _operator(sign: str, parts: list[str], operands: Sequence[Sql]) -> str:
    match sign:
        case "AND" | "OR":
            return _balanced(sign, parts)
        case "NOT":
            return f"NOT {parts[0]}"
        case "<>":
            return f"NOT ({parts[0]} = {parts[1]})"
        case "IN":
            return f"{parts[0]} IN ({','.join(parts[1:])})"
        case "NOT IN":
            return f"NOT {parts[0]} IN ({','.join(parts[1:])})"
        case "BETWEEN" | "IS NULL" | "IS NOT NULL":
            mark = "'" if sign == "BETWEEN" else ""
            return f"{mark}{_SIGNS[sign]}({', '.join(parts)})"
        case "-" if len(parts) == 1:
            return f"-{parts[0]}"
        case "~":
            return f"~{parts[0]}"
        case _:
            return f"({parts[0]} {sign} {parts[1]})"


def _balanced(sign: str, parts: list[str]) -> str:
    """Spark's parser makes a balanced tree of the operands of AND, and of OR."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) - 1) // 2 + 1
    return f"({_balanced(sign, parts[:middle])} {sign} {_balanced(sign, parts[middle:])})"


def _literal(value: object, type_: LiteralType) -> str:
    match type_, value:
        case ((LiteralType.STRING | LiteralType.PATH), _):
            text = path_literal(value) if isinstance(value, tuple) else text_literal(str(value))
            if text.startswith("decode("):
                return f"'decode(0x{text.split(chr(39))[1]}, utf-8)"
            return text[1:-1]
        case LiteralType.BINARY, bytes():
            return f"0x{value.hex().upper()}"
        case LiteralType.NULL, _:
            return "null"
        case LiteralType.BOOLEAN, _:
            return str(value).lower()
        case LiteralType.DOUBLE, _:
            return _java_double(float(str(value)))
        case LiteralType.DECIMAL, _:
            return str(Decimal(str(value)))
        case _:
            return str(value)


def _java_double(value: float) -> str:
    """A double as Java writes it."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    shortest = min((f"{value:.{n}e}" for n in range(17) if float(f"{value:.{n}e}") == value), key=len)
    digits, _, exponent = shortest.partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
