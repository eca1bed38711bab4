"""Patterns of Perl, of which those are taken that RE2 matches alike."""

from __future__ import annotations

import re

_PART = re.compile(r"\\(.)|\[(?:\\.|[^\]\\])*\]|\$|\(\?|[^\\]", re.DOTALL)
_ESCAPES = frozenset("dwDW\\.^$|()[]{}*+?/-")


def unsafe(pattern: str) -> str:
    """Why a pattern may mean something else in RE2; empty where it means the same, or is no pattern there."""
    if not pattern.isascii():
        return "a pattern with letters beyond ASCII is one of bytes in EMQX"
    if re.search(r"[*+?}]\+", pattern):
        return "RE2 has no possessive repetitions"
    for found in _PART.finditer(pattern):
        part = found[0]
        if part == "(?" and pattern[found.start() : found.start() + 3] != "(?:":
            return "CEL has no such group: RE2 has no lookaround, and options differ"
        if found[1] is not None and found[1] not in _ESCAPES:
            return f"'\\{found[1]}' differs in RE2"
        if part.startswith("["):
            if part.startswith(("[]", "[^]")) or "[:" in part or "[" in part[1:]:
                return "a set with brackets in it differs in RE2"
            if any(c not in _ESCAPES for c in re.findall(r"\\(.)", part, re.DOTALL)):
                return "an escape in a set differs in RE2"
        if part == "$" and pattern[found.end() : found.end() + 1] not in ("", ")", "|"):
            return "'$' within a pattern differs in RE2"
    return ""


def written_for_re2(pattern: str) -> str:
    """The pattern with `$` as Perl has it: at the end, or before a line break there."""
    return _PART.sub(lambda found: r"(?:\n?\z)" if found[0] == "$" else found[0], pattern)
