"""The SQL that parses JSON text, alike on every Spark release and whatever the session sets.

Newer releases refuse an unpaired surrogate escape (`"\\ud800"`) while the setting `VALIDATES` is on, as it is by default.
Older ones lack the setting and put `?` in the place of the escape: there the text is searched for one first.
"""

from __future__ import annotations

from .jsonvalues import MAX_DIGITS, MAX_NAME
from .sql import text_literal

VALIDATES = "spark.sql.variant.validateUnicodeInJsonParsing"
"""The session setting under which Spark's parser refuses an unpaired surrogate escape by itself."""
KEEPS_LAST = "spark.sql.variant.allowDuplicateKeys"
"""The session setting under which Spark's parser takes an object with a key twice, and keeps the last."""
INFINITY = text_literal('Infinity"')
"""How JSON text ends that may stand for infinity: Spark writes 1e400, too large for a double, as it writes a text."""

_ESCAPE = text_literal("\\u")
_BACKSLASH, _BLANKS = text_literal("\\\\"), text_literal("  ")
_HIGH, _LOW = "\\\\u[dD][89abAB][0-9a-fA-F]{2}", "\\\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# Only where no escaped backslash is left; looking around by a fixed width, it takes linear time and no stack.
_UNPAIRED = text_literal(f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}")
# Looking back, they begin nowhere but where a number does, and take linear time.
_LONG_NUMBER = text_literal(f"(?<![0-9.eE+-])[0-9.eE+-]{{{MAX_DIGITS - 100}}}")
# Fewer than 200 digits before an exponent of two: below 1e300.
_LARGE_NUMBER = text_literal("[0-9][eE][+]?[0-9]{3}|(?<![0-9])[0-9]{200}")


def parsed(text: str, *, checked: bool = False) -> str:
    """The SQL of the VARIANT in JSON text, NULL where there is none; text after the value is ignored.

    `checked`: the text is searched for unpaired surrogate escapes, because the session's parser would take them.
    `text` is SQL of type STRING without collation, and is then written three times.
    """
    return f"try_parse_json({refused(text)})" if checked else f"try_parse_json({text})"


def refused(text: str) -> str:
    """`text`, or NULL where it holds an unpaired surrogate escape. Most texts hold no `\\u`, and cost one search."""
    unpaired = f"contains({text}, {_ESCAPE}) AND rlike(replace({text}, {_BACKSLASH}, {_BLANKS}), {_UNPAIRED})"
    return f"CASE WHEN NOT ({unpaired}) THEN {text} END"


def is_plain(text: str) -> str:
    """The SQL condition that JSON text is plain: Python's parser reads it as Spark's does, and refuses what that refuses.

    That is an object or array without `\\u`, none of whose names or numbers is so long that Spark's parser may refuse it.
    Levels and equal keys are left to be counted (see `jsonvalues.read_payload`). `text` is written often.
    """
    return (
        f"octet_length({text}) <= {MAX_NAME} AND (startswith({text}, '{{') OR startswith({text}, '[')) AND is_valid_utf8({text})"
        f" AND NOT contains({text}, {_ESCAPE}) AND NOT contains({text}, {INFINITY})"
        f" AND (octet_length({text}) < {MAX_DIGITS} OR NOT rlike({text}, {_LONG_NUMBER}))"
    )


def may_be_infinite(text: str) -> str:
    """The SQL condition that JSON text may hold a number too large for a double: a cheap one that is seldom true."""
    return f"rlike({text}, {_LARGE_NUMBER})"


def marked(text: str) -> str:
    """The SQL of JSON text that is not plain, so that it can be told; bytes that are no text are read as Java reads them."""
    return f"concat(' ', decode(encode({text}, 'UTF-16BE'), 'UTF-16BE'))"
