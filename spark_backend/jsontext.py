"""The SQL that parses JSON text, alike on every Spark release and whatever the session sets.

Newer releases refuse an unpaired surrogate escape (`"\\ud800"`) while the setting `VALIDATES` is on, as it is by default.
Older ones lack the setting and put `?` in the place of the escape: there the text is searched for one first.
"""

from __future__ import annotations

from .sql import text_literal

VALIDATES = "spark.sql.variant.validateUnicodeInJsonParsing"
"""The session setting under which Spark's parser refuses an unpaired surrogate escape by itself."""

_ESCAPE = text_literal("\\u")
_BACKSLASH, _BLANKS = text_literal("\\\\"), text_literal("  ")
_HIGH, _LOW = "\\\\u[dD][89abAB][0-9a-fA-F]{2}", "\\\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# Only where no escaped backslash is left; looking around by a fixed width, it takes linear time and no stack.
_UNPAIRED = text_literal(f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}")


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
