"""The SQL that parses JSON text, alike on every Spark release and whatever the session sets.

Newer releases refuse an unpaired surrogate escape (`"\\ud800"`) while the setting `VALIDATES` is on, as it is by default.
Older ones lack the setting and put `?` in the place of the escape: there the text is searched for one first.
"""

from __future__ import annotations

from tricel.compiler.values.json_values import MAX_DIGITS, MAX_NAME

from . import Operand, Sql, all_of, function, not_, when

VALIDATES = "spark.sql.variant.validateUnicodeInJsonParsing"
"""The session setting under which Spark's parser refuses an unpaired surrogate escape by itself."""
KEEPS_LAST = "spark.sql.variant.allowDuplicateKeys"
"""The session setting under which Spark's parser takes an object with a key twice, and keeps the last."""
INFINITY = 'Infinity"'
"""How JSON text ends that may stand for infinity: Spark writes 1e400, too large for a double, as it writes a text."""

_ESCAPE = "\\u"
_HIGH, _LOW = "\\\\u[dD][89abAB][0-9a-fA-F]{2}", "\\\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# Only where no escaped backslash is left; looking around by a fixed width, it takes linear time and no stack.
_UNPAIRED = f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}"
# Looking back, they begin nowhere but where a number does, and take linear time.
_LONG_NUMBER = f"(?<![0-9.eE+-])[0-9.eE+-]{{{MAX_DIGITS - 100}}}"
# Fewer than 200 digits before an exponent of two: below 1e300.
_LARGE_NUMBER = "[0-9][eE][+]?[0-9]{3}|(?<![0-9])[0-9]{200}"


def parsed(text: Operand, *, checked: bool = False) -> Sql:
    """The VARIANT in JSON text, NULL where there is none; text after the value is ignored.

    `checked`: the text is searched for unpaired surrogate escapes, because the session's parser would take them.
    `text` is of type STRING without collation, and is then written three times.
    """
    return function("try_parse_json", refused(text) if checked else text)


def refused(text: Operand) -> Sql:
    """`text`, or NULL where it holds an unpaired surrogate escape. Most texts hold no `\\u`, and cost one search."""
    without = function("replace", text, "\\\\", "  ")
    unpaired = all_of([function("contains", text, _ESCAPE), function("rlike", without, _UNPAIRED)])
    return when(not_(unpaired), text)


def is_plain(text: Operand) -> Sql:
    """Whether JSON text is plain: Python's parser reads it as Spark's does, and refuses what that refuses.

    That is an object or array without `\\u`, none of whose names or numbers is so long that Spark's parser may refuse it.
    Levels and equal keys are left to be counted (see `json_values.read_payload`). `text` is written often.
    """
    length = function("octet_length", text)
    return all_of(
        [
            length <= MAX_NAME,
            function("startswith", text, "{") | function("startswith", text, "["),
            function("is_valid_utf8", text),
            not_(function("contains", text, _ESCAPE)),
            not_(function("contains", text, INFINITY)),
            (length < MAX_DIGITS) | not_(function("rlike", text, _LONG_NUMBER)),
        ]
    )


def may_be_infinite(text: Operand) -> Sql:
    """Whether JSON text may hold a number too large for a double: a cheap condition that is seldom true."""
    return function("rlike", text, _LARGE_NUMBER)


def marked(text: Operand) -> Sql:
    """JSON text that is not plain, so that it can be told; bytes that are no text are read as Java reads them."""
    return function("concat", " ", function("decode", function("encode", text, "UTF-16BE"), "UTF-16BE"))
