"""The strings extension. Spark's positions count code points too, but clip what is out of the text: that is checked.

No template leaves a text to be read as a Java pattern: separators are quoted.
"""

from __future__ import annotations

import string

from .. import (
    MAX_MADE,
    Operand,
    Sql,
    Typed,
    array,
    between,
    case,
    cast,
    equal,
    function,
    integer,
    is_not_null,
    not_,
    try_cast,
    unequal,
    when,
)
from ..reasons import NotNative, Reason
from .registry import lowers

_BLANKS = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""White space, as the Unicode property White_Space has it."""
_INT_MAX = 2**31 - 1
_NONE = cast(function("array"), "ARRAY<STRING>")


def _length(text: Operand) -> Sql:
    return function("char_length", text)


def _int(number: Operand) -> Sql:
    return try_cast(number, "INT")


def _after(position: Typed) -> Sql:
    """The position as Spark counts: from 1."""
    return _int(function("try_add", position, 1))


@lowers("string_char_at_int", twice=(0, 1))
def _char_at(subject: Typed, at: Typed) -> Sql:
    return when(between(at, 0, _length(subject)), function("substring", subject, _after(at), integer(1)))


@lowers("string_substring_int", twice=(0, 1))
def _from(subject: Typed, start: Typed) -> Sql:
    return when(between(start, 0, _length(subject)), function("substring", subject, _after(start)))


@lowers("string_substring_int_int", twice=(0, 1, 2))
def _between(subject: Typed, start: Typed, end: Typed) -> Sql:
    fits = between(start, 0, end) & (end <= _length(subject))
    count = _int(function("try_subtract", end, start))
    return when(fits, function("substring", subject, _after(start), count))


@lowers("string_index_of_string")
def _index_of(subject: Typed, part: Typed) -> Sql:
    return cast(function("instr", subject, part), "BIGINT") - 1


@lowers("string_index_of_string_int", twice=(0, 1, 2))
def _index_from(subject: Typed, part: Typed, start: Typed) -> Sql:
    found = cast(function("locate", part, subject, _after(start)), "BIGINT") - 1
    which = case((equal(part, ""), start), otherwise=found)
    return when(between(start, 0, _length(subject)) & is_not_null(part), which)


def _last(subject: Operand, part: Typed) -> Sql:
    """The last occurrence is the first of the reversed text in the reversed text."""
    behind = function("instr", function("reverse", subject), function("reverse", part))
    at = cast(_length(subject) - _length(part) - behind + integer(1), "BIGINT")
    is_there = function("contains", subject, part)
    return case((is_there, at), (not_(is_there), -1))


@lowers("string_last_index_of_string", twice=(0, 1))
def _last_index_of(subject: Typed, part: Typed) -> Sql:
    return _last(subject, part)


@lowers("string_last_index_of_string_int", twice=(0, 1, 2))
def _last_index_to(subject: Typed, part: Typed, start: Typed) -> Sql:
    """What begins at or before the position ends at most the part's length after it."""
    end = _int(function("try_add", start, _length(part)))
    head = function("substring", subject, integer(1), end)
    return when(between(start, 0, _length(subject)), _last(head, part))


@lowers("string_lower_ascii")
def _lower(subject: Typed) -> Sql:
    return function("translate", subject, string.ascii_uppercase, string.ascii_lowercase)


@lowers("string_upper_ascii")
def _upper(subject: Typed) -> Sql:
    return function("translate", subject, string.ascii_lowercase, string.ascii_uppercase)


@lowers("string_trim")
def _trim(subject: Typed) -> Sql:
    return function("btrim", subject, _BLANKS)


@lowers("string_replace_string_string", twice=(0, 1, 2))
def _replace(subject: Typed, old: Typed, new: Typed) -> Sql:
    """An empty text is between all code points, and at both ends."""
    whole: Sql = function("replace", subject, old, new)
    size = function("octet_length", subject)
    most = _made(size + integer(1), new)
    if not new.certain:  # how often it is there is counted only where as often as can be is too often
        without = function("octet_length", function("replace", subject, old, ""))
        places = (size - without) / function("octet_length", old)
        whole = when(most | _made(places, new), whole)
    if old.literal:
        return whole
    points = function("split", subject, "", integer(-1))
    spread = function("concat", new, function("array_join", points, new), new)
    empty = case((equal(subject, ""), new), otherwise=spread)
    if not new.certain:
        empty = when(most, empty)
    return case((equal(old, ""), empty), (unequal(old, ""), whole))


def _made(places: Operand, new: Typed) -> Sql:
    """Whether so many times a text are not too long a text. One that the filter has is not."""
    return cast(places, "DOUBLE") * function("octet_length", new) <= integer(MAX_MADE)


@lowers("string_replace_string_string_int", twice=(0, 1, 2))
def _replace_some(subject: Typed, old: Typed, new: Typed, limit: Typed) -> Sql:
    count = _limit(limit)
    if count < 0:
        return _replace(subject, old, new).sql
    if not old.literal:
        raise NotNative(Reason.LIMITED_REPLACEMENT)
    if count == 0:
        return when(is_not_null(old) & is_not_null(new), subject)
    parts = function("split", subject, _quoted(old), integer(min(count + 1, _INT_MAX)))
    found = function("array_join", parts, new)
    if new.certain:
        return found
    most = function("octet_length", subject) + integer(1)
    return when(_made(integer(count), new) | _made(most, new), found)


@lowers("string_split_string", twice=(0, 1))
def _split(subject: Typed, separator: Typed) -> Sql:
    parts = function("split", subject, _quoted(separator), integer(-1))
    if separator.literal:
        return parts
    return case((equal(separator, ""), _points(subject)), (unequal(separator, ""), parts))


@lowers("string_split_string_int", twice=(0, 1))
def _split_some(subject: Typed, separator: Typed, limit: Typed) -> Sql:
    """Code points are counted here: a setting of the session changes what Spark's own limit does to them."""
    count = _limit(limit)
    if count < 0:
        return _split(subject, separator).sql
    if count == 0:
        return when(is_not_null(subject) & is_not_null(separator), _NONE)
    count = min(count, _INT_MAX)
    parts = function("split", subject, _quoted(separator), integer(count))
    if separator.literal:
        return parts
    points = _points(subject)
    first = function("slice", points, integer(1), integer(count - 1))
    some = function("concat", first, array([function("substring", subject, integer(count))]))
    cut = case((_length(subject) <= integer(count), points), otherwise=some)
    return case((equal(separator, ""), cut), (unequal(separator, ""), parts))


def _points(subject: Typed) -> Sql:
    """The code points, none of an empty text; Spark splits that into one part."""
    return case((equal(subject, ""), _NONE), otherwise=function("split", subject, "", integer(-1)))


def _limit(limit: Typed) -> int:
    if isinstance(limit.literal, int):
        return limit.literal
    raise NotNative(Reason.COMPUTED_LIMIT)


def _quoted(text: Typed) -> Sql | str:
    """A Java pattern that matches the text itself."""
    if isinstance(text.literal, str):
        return "".join(f"\\{c}" if c.isascii() and not c.isalnum() else c for c in text.literal)
    return function("concat", "\\Q", function("replace", text, "\\E", "\\E\\\\E\\Q"), "\\E")
