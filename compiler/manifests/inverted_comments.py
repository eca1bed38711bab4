"""A comment that calls invalid what its SQL lets pass.

What a comment means cannot be known. One thing is plain: where the SQL is one comparison of a path with a number, and the
comment has that path, the words for the same comparison, that number, and a word for what is turned down.
"""

from __future__ import annotations

import re

_WHERE = re.compile(
    r"\bwhere\s+([A-Za-z_][\w.]*)\s*(<=|>=|<|>)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*;?\s*\Z", re.IGNORECASE | re.ASCII
)
_WORDS = {
    "<": r"<(?!=)|less|lower|below|smaller|under",
    ">": r">(?!=)|greater|more|above|larger|over|higher",
    "<=": r"<=|at most|no more",
    ">=": r">=|at least|no less",
}
_TURNED_DOWN = re.compile(
    r"\b(?:in-?valid|drop(?:s|ped)?|reject(?:s|ed)?|refused?|discard(?:s|ed)?|fail(?:s|ed|ure)?)\b", re.IGNORECASE
)


def inverted(sql: str, *comments: str) -> str:
    """The comparison that some comment calls invalid and the SQL lets pass; empty where none plainly does."""
    found = _WHERE.search(sql)
    if found is None:
        return ""
    path, sign, number = found.groups()
    said = re.compile(
        rf"(?<![\w.]){re.escape(path)}(?![\w]|\.\w)[^.;]{{0,40}}?(?:{_WORDS[sign]})[^.;]{{0,20}}?(?<![\w.-]){re.escape(number)}(?![\w]|\.\d)",
        re.IGNORECASE,
    )
    for comment in comments:
        plain = comment[:2_000]
        if _TURNED_DOWN.search(plain) and said.search(plain):
            return f"{path} {sign} {number}"
    return ""
