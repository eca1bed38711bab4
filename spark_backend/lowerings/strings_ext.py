"""The strings extension. Spark's positions count code points too, but clip what is out of the text: that is checked.

No template leaves a text to be read as a Java pattern: separators are quoted.
"""

from __future__ import annotations

import string

from ..reasons import NotNative
from ..sql import MAX_MADE, Sql, text_literal
from .registry import lowers

_BLANKS = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""White space, as the Unicode property White_Space has it."""
_INT_MAX = 2**31 - 1
_NONE = "CAST(array() AS ARRAY<STRING>)"


def _length(text: Sql) -> str:
    return f"char_length({text.text})"


def _int(number: str) -> str:
    return f"try_cast({number} AS INT)"


def _after(position: Sql) -> str:
    """The position as Spark counts: from 1."""
    return _int(f"try_add({position.text}, 1L)")


@lowers("string_char_at_int", twice=(0, 1), depth=4)
def _char_at(subject: Sql, at: Sql) -> str:
    return f"CASE WHEN {at} BETWEEN 0L AND {_length(subject)} THEN substring({subject.text}, {_after(at)}, 1) END"


@lowers("string_substring_int", twice=(0, 1), depth=4)
def _from(subject: Sql, start: Sql) -> str:
    return f"CASE WHEN {start} BETWEEN 0L AND {_length(subject)} THEN substring({subject.text}, {_after(start)}) END"


@lowers("string_substring_int_int", twice=(0, 1, 2), depth=4)
def _between(subject: Sql, start: Sql, end: Sql) -> str:
    fits = f"{start} BETWEEN 0L AND {end} AND {end} <= {_length(subject)}"
    count = _int(f"try_subtract({end.text}, {start.text})")
    return f"CASE WHEN {fits} THEN substring({subject.text}, {_after(start)}, {count}) END"


@lowers("string_index_of_string", infix=True, depth=2)
def _index_of(subject: Sql, part: Sql) -> str:
    return f"CAST(instr({subject.text}, {part.text}) AS BIGINT) - 1L"


@lowers("string_index_of_string_int", twice=(0, 1, 2), depth=4)
def _index_from(subject: Sql, part: Sql, start: Sql) -> str:
    found = f"CAST(locate({part.text}, {subject.text}, {_after(start)}) AS BIGINT) - 1L"
    which = f"CASE WHEN {part} = '' THEN {start} ELSE {found} END"
    return f"CASE WHEN {start} BETWEEN 0L AND {_length(subject)} AND {part} IS NOT NULL THEN {which} END"


def _last(subject: str, part: str) -> str:
    """The last occurrence is the first of the reversed text in the reversed text."""
    behind = f"instr(reverse({subject}), reverse({part}))"
    at = f"CAST(char_length({subject}) - char_length({part}) - {behind} + 1 AS BIGINT)"
    return f"CASE WHEN contains({subject}, {part}) THEN {at} WHEN NOT contains({subject}, {part}) THEN -1L END"


@lowers("string_last_index_of_string", twice=(0, 1), depth=4)
def _last_index_of(subject: Sql, part: Sql) -> str:
    return _last(subject.text, part.text)


@lowers("string_last_index_of_string_int", twice=(0, 1, 2), depth=9)
def _last_index_to(subject: Sql, part: Sql, start: Sql) -> str:
    """What begins at or before the position ends at most the part's length after it."""
    end = _int(f"try_add({start.text}, {_length(part)})")
    head = f"substring({subject.text}, 1, {end})"
    return f"CASE WHEN {start} BETWEEN 0L AND {_length(subject)} THEN {_last(head, part.text)} END"


@lowers("string_lower_ascii")
def _lower(subject: Sql) -> str:
    return f"translate({subject.text}, '{string.ascii_uppercase}', '{string.ascii_lowercase}')"


@lowers("string_upper_ascii")
def _upper(subject: Sql) -> str:
    return f"translate({subject.text}, '{string.ascii_lowercase}', '{string.ascii_uppercase}')"


@lowers("string_trim")
def _trim(subject: Sql) -> str:
    return f"trim(BOTH {text_literal(_BLANKS)} FROM {subject.text})"


@lowers("string_replace_string_string", twice=(0, 1, 2), depth=5)
def _replace(subject: Sql, old: Sql, new: Sql) -> str:
    """An empty text is between all code points, and at both ends."""
    whole = f"replace({subject.text}, {old.text}, {new.text})"
    most = _made(f"octet_length({subject.text}) + 1", new)
    if new.literal is None:  # how often it is there is counted only where as often as can be is too often
        places = f"(octet_length({subject.text}) - octet_length(replace({subject.text}, {old.text}, ''))) / octet_length({old.text})"
        whole = f"CASE WHEN {most} OR {_made(places, new)} THEN {whole} END"
    if old.literal:
        return whole
    spread = f"concat({new.text}, array_join(split({subject.text}, '', -1), {new.text}), {new.text})"
    empty = f"CASE WHEN {subject} = '' THEN {new} ELSE {spread} END"
    if new.literal is None:
        empty = f"CASE WHEN {most} THEN {empty} END"
    return f"CASE WHEN {old} = '' THEN {empty} WHEN {old} <> '' THEN {whole} END"


def _made(places: str, new: Sql) -> str:
    """Whether so many times a text are not too long a text."""
    return f"CAST({places} AS DOUBLE) * octet_length({new.text}) <= {MAX_MADE}"


@lowers("string_replace_string_string_int", twice=(0, 1, 2), depth=6)
def _replace_some(subject: Sql, old: Sql, new: Sql, limit: Sql) -> str:
    count = _limit(limit)
    if count < 0:
        return _replace(subject, old, new)
    if not old.literal:
        raise NotNative("a limited replacement of a text that may be empty")
    if count == 0:
        return f"CASE WHEN {old} IS NOT NULL AND {new} IS NOT NULL THEN {subject} END"
    found = f"array_join(split({subject.text}, {_quoted(old)}, {min(count + 1, _INT_MAX)}), {new.text})"
    if new.literal is not None:
        return found
    return f"CASE WHEN {_made(f'{count}', new)} OR {_made(f'octet_length({subject.text}) + 1', new)} THEN {found} END"


@lowers("string_split_string", twice=(0, 1), depth=5)
def _split(subject: Sql, separator: Sql) -> str:
    parts = f"split({subject.text}, {_quoted(separator)}, -1)"
    if separator.literal:
        return parts
    return f"CASE WHEN {separator} = '' THEN {_points(subject)} WHEN {separator} <> '' THEN {parts} END"


@lowers("string_split_string_int", twice=(0, 1), depth=6)
def _split_some(subject: Sql, separator: Sql, limit: Sql) -> str:
    """Code points are counted here: a setting of the session changes what Spark's own limit does to them."""
    count = _limit(limit)
    if count < 0:
        return _split(subject, separator)
    if count == 0:
        return f"CASE WHEN {subject} IS NOT NULL AND {separator} IS NOT NULL THEN {_NONE} END"
    count = min(count, _INT_MAX)
    parts = f"split({subject.text}, {_quoted(separator)}, {count})"
    if separator.literal:
        return parts
    points = _points(subject)
    some = f"concat(slice({points}, 1, {count - 1}), array(substring({subject.text}, {count})))"
    cut = f"CASE WHEN {_length(subject)} <= {count} THEN {points} ELSE {some} END"
    return f"CASE WHEN {separator} = '' THEN {cut} WHEN {separator} <> '' THEN {parts} END"


def _points(subject: Sql) -> str:
    """The code points, none of an empty text; Spark splits that into one part."""
    return f"CASE WHEN {subject} = '' THEN {_NONE} ELSE split({subject.text}, '', -1) END"


def _limit(limit: Sql) -> int:
    if isinstance(limit.literal, int):
        return limit.literal
    raise NotNative("a limit that is computed")


def _quoted(text: Sql) -> str:
    """The SQL of a Java pattern that matches the text itself."""
    if isinstance(text.literal, str):
        return text_literal("".join(f"\\{c}" if c.isascii() and not c.isalnum() else c for c in text.literal))
    end, split_end = text_literal("\\E"), text_literal("\\E\\\\E\\Q")
    return f"concat({text_literal(chr(92) + 'Q')}, replace({text.text}, {end}, {split_end}), {end})"
