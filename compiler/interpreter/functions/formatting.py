"""`format` of the strings extension: text with clauses such as `%s` and `%.2f` (cel-go `ext.Strings`, version 4).

Clauses are `%s` any value, `%d` a number, `%f` and `%e` a number with 6 digits after the point or as many as `%.nf`
says, `%b` a whole number or bool, `%o` a whole number, `%x` and `%X` a whole number, text or bytes, `%%` a percent.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from ...values import rfc3339
from ...values.cel import CelError, Duration, Timestamp, TypeValue, Uint, Value, from_key
from ..operators import MAX_SIZE
from .standard import type_of

_CLAUSE = re.compile(r"%(?:(%)|(\.\d*)?(.)|)", re.ASCII | re.DOTALL)
_DIGITS = 6
_MAX_DIGITS = 1000
_SECOND = 10**9


class _Text:
    """Text as it grows; past `MAX_SIZE` code points it is an error, before the whole is in memory."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0

    def add(self, part: str) -> None:
        self.size += len(part)
        if self.size > MAX_SIZE:
            raise CelError(f"a text of more than {MAX_SIZE:,} code points")
        self.parts.append(part)


def format_text(template: str, args: list[Value]) -> str:
    """The template with its clauses replaced by the arguments in order; arguments left over are ignored.

    Raises:
        CelError: for a clause that is not one, one without an argument or with one of a wrong type, and for a result
            over `MAX_SIZE`.
    """
    out, taken, end = _Text(), 0, 0
    for clause in _CLAUSE.finditer(template):
        out.add(template[end : clause.start()])
        end = clause.end()
        if clause[1]:
            out.add("%")
            continue
        if taken >= len(args):
            raise CelError(f"index {taken} out of range")
        _clause(out, clause[2], clause[3], args[taken], template)
        taken += 1
    out.add(template[end:])
    return "".join(out.parts)


def _clause(out: _Text, precision: str | None, verb: str | None, arg: Value, template: str) -> None:
    if verb is None:
        raise CelError("unexpected end of string")
    digits = _DIGITS if precision is None else _digits(precision)
    if verb == "s":
        _write(out, arg)
        return
    wanted, takes, write = _NUMERIC.get(verb, ("", (), None))
    if write is None:
        raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    if type(arg) not in takes:
        raise CelError(f"error during formatting: {wanted}, was given {type_of(arg).name}")
    out.add(write(arg, digits))


def _digits(precision: str) -> int:
    digits = precision[1:].lstrip("0") or precision[1:2]
    if not digits:
        raise CelError("could not parse formatting clause: error while parsing precision: no digits")
    if len(digits) > 4 or int(digits) > _MAX_DIGITS:
        raise CelError(
            "could not parse formatting clause: error while parsing precision: "
            f"precision {digits[:20]} exceeds maximum allowed precision {_MAX_DIGITS}"
        )
    return int(digits)


def _write(out: _Text, value: Value) -> None:
    match value:
        case list():
            out.add("[")
            for i, item in enumerate(value):
                if i:
                    out.add(", ")
                _write(out, item)
            out.add("]")
        case dict():
            out.add("{")
            named = sorted(((_scalar(from_key(key)), v) for key, v in value.items()), key=lambda entry: entry[0])
            for i, (name, v) in enumerate(named):
                out.add(f", {name}: " if i else f"{name}: ")
                _write(out, v)
            out.add("}")
        case _:
            out.add(_scalar(value))


def _scalar(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return _plain(value)
        case str():
            return value
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise CelError("error during formatting: bytes that are not UTF-8") from None
        case Timestamp(nanos=nanos):
            return _timestamp(nanos)
        case Duration(nanos=nanos):
            seconds, rest = divmod(abs(nanos), _SECOND)
            return ("-" if nanos < 0 else "") + _plain(seconds + rest / _SECOND) + "s"
        case TypeValue(name=name):
            return name
        case _:
            raise CelError(
                "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
                f"lists, types, durations, and timestamps, was given {type_of(value).name}"
            )


def _timestamp(nanos: int) -> str:
    whole, dot, fraction = rfc3339.text_of(nanos).removesuffix("Z").partition(".")
    return f"{whole}{dot}{fraction.rstrip('0')}Z"


def _special(value: float) -> str:
    return "" if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _plain(value: float) -> str:
    """The fewest digits that read back as the double, without an exponent."""
    return _special(value) or format(Decimal(repr(value)), "f").removesuffix(".0")


def _decimal(value: Value, _: int) -> str:
    return _plain(value) if isinstance(value, float) else str(int(value))


def _fixed(value: Value, digits: int) -> str:
    return _special(float(value)) or f"{float(value):.{digits}f}"


def _scientific(value: Value, digits: int) -> str:
    return _special(float(value)) or f"{float(value):.{digits}e}"


def _binary(value: Value, _: int) -> str:
    return f"{int(value):b}"


def _octal(value: Value, _: int) -> str:
    return f"{int(value):o}"


def _hexadecimal(value: Value, _: int) -> str:
    if isinstance(value, int):
        return f"{int(value):x}"
    return (value.encode() if isinstance(value, str) else value).hex()


def _upper_hexadecimal(value: Value, _: int) -> str:
    return _hexadecimal(value, 0).upper()


_HEX = "only integers, byte buffers, and strings can be formatted as hex"
_NUMERIC = {
    "d": ("decimal clause can only be used on integers", (int, Uint, float), _decimal),
    "f": ("fixed-point clause can only be used on numbers", (int, Uint, float), _fixed),
    "e": ("scientific clause can only be used on numbers", (int, Uint, float), _scientific),
    "b": ("only integers and bools can be formatted as binary", (int, Uint, bool), _binary),
    "o": ("octal clause can only be used on integers", (int, Uint), _octal),
    "x": (_HEX, (int, Uint, str, bytes), _hexadecimal),
    "X": (_HEX, (int, Uint, str, bytes), _upper_hexadecimal),
}
"""A clause's letter -> what it is for, the classes that it takes, and how it writes a value with so many digits."""
