"""JSON text read in Python, exactly as Spark's parser reads it: its limits are those of Jackson 2."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from tricel.compiler.documents.surrogates import lone

MAX_DEPTH = 1000
"""Levels of nesting in JSON, as Spark's parser bounds them."""
MAX_DIGITS = 1000
"""Digits of a number in JSON, those of its exponent included, as Spark's parser bounds them."""
MAX_NAME = 50_000
"""UTF-16 units of a name in an object, as Spark's parser bounds them."""
_FRAMES = 5 * MAX_DEPTH  # of Python: each level takes two to four calls to read, or to walk
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_DECODER: json.JSONDecoder


def read_json(text: str, depth: int = MAX_DEPTH, *, trailing: bool = False) -> Any:
    """A JSON value as CEL has it: numbers are double, and there is one zero.

    With `trailing`, what follows the value is ignored, as Spark's parser ignores it.

    Raises:
        ValueError: for what is not JSON: a key twice, NaN, a lone surrogate, anything over a limit.
    """
    if text.count("[") + text.count("{") > depth // 4:
        _check_depth(text, depth)
        allow_nesting()
    start = len(text) - len(text.lstrip(" \t\r\n"))
    value, end = _DECODER.raw_decode(text, start)
    if not trailing and text[end:].strip(" \t\r\n"):
        raise ValueError("text after the value")
    if "\\u" in text and any(_SURROGATE.search(s) for s in _strings(value)):
        at = lone(text)
        raise ValueError("a lone surrogate" if at is None else f"a lone surrogate at column {at.start + 1}")
    return value


def read_written(text: str) -> Any:
    """A JSON value as `read_json` has it, of text that Spark wrote, which holds no blanks; its numbers are of the type `float`.

    Raises:
        ValueError: for what is not JSON.
    """
    found, end = (_WRITTEN_ZEROS if "-0" in text else _WRITTEN)(text)
    if end != len(text):
        raise ValueError("text after the value")
    return found


def read_payload(text: str) -> Any:
    """A JSON value as `read_json` has it, of a payload as it travels (see `columns.payload_text`).

    It is plain JSON text, what Spark wrote of some that is not, or after a blank any that Spark's parser takes. Its
    numbers are of the type `float` and no other. What follows the value is ignored.

    Raises:
        ValueError: for what is not JSON.
    """
    if text.startswith(" "):
        return plain(read_json(text, trailing=True))
    if len(text) > 2 * MAX_DEPTH and text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text, MAX_DEPTH)
    may_be_zero = "-0" in text or "e-" in text or "E-" in text
    return (_PLAIN_ZEROS if may_be_zero else _PLAIN)(text)[0]


def allow_nesting() -> None:
    """Lets Python recurse into the deepest value that Spark's parser takes. It stays so, for other threads' sake."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))


def _check_depth(text: str, depth: int) -> None:
    level = 0
    for found in _BRACKET.finditer(text):
        match found[0]:
            case "[" | "{":
                level += 1
                if level > depth:
                    raise ValueError("nested too deeply")
            case "]" | "}":
                level -= 1
                if not level:
                    return


def _strings(value: Any) -> Iterator[str]:
    rest = [value]
    while rest:
        match rest.pop():
            case str(text):
                yield text
            case dict(members):
                yield from members
                rest.extend(members.values())
            case list(items):
                rest.extend(items)


class Number(float):
    """A double that knows how it was written."""

    text: str


class Int(Number):
    """A double that was written without fraction or exponent, as an integer attribute is."""


def _int(text: str) -> float:
    return _number(Int, text)


def _float(text: str) -> float:
    return _number(Number, text)


def _number(kind: type[Number], text: str) -> Number:
    if len(text) > MAX_DIGITS and sum(map(str.isdigit, text)) > MAX_DIGITS:
        raise ValueError("a number that is too long")
    found = kind(float(text) + 0.0)
    found.text = text
    return found


def _double(text: str) -> float:
    return float(text) + 0.0


def _constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = _members(pairs)
    if any(len(k) > MAX_NAME // 2 and len(utf16(k)) > 2 * MAX_NAME for k in found):
        raise ValueError("a name that is too long")
    return found


_DECODER = json.JSONDecoder(parse_int=_int, parse_float=_float, parse_constant=_constant, object_pairs_hook=_object)
_WRITTEN, _WRITTEN_ZEROS = (json.JSONDecoder(parse_int=n, parse_float=n).raw_decode for n in (float, _double))
_PLAIN, _PLAIN_ZEROS = (
    json.JSONDecoder(parse_int=n, parse_float=n, parse_constant=_constant, object_pairs_hook=_members).raw_decode
    for n in (float, _double)
)


def plain(value: Any) -> Any:
    """A JSON value whose numbers are doubles and nothing more: engines look at the exact type. There is one zero."""
    match value:
        case bool():
            return value
        case int() | float():
            return float(value) + 0.0
        case dict():
            return {k: plain(v) for k, v in value.items()}
        case list():
            return [plain(v) for v in value]
        case _:
            return value


def utf16(text: str) -> bytes:
    """The text as Java orders and measures it."""
    return text.encode("utf-16-be", "surrogatepass")
