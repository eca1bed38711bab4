"""Pattern text -> tree. The text is one that RE2 has accepted, so this only has to read it as RE2 does.

Syntax: https://github.com/google/re2/wiki/Syntax, held against RE2 itself by the tests.
"""

from __future__ import annotations

import re

from . import charset
from .charset import ALL, NEWLINE
from .simplify import either, repeat, sequence
from .tree import At, Chars, Place, Regex

MAX_NESTING = 50
MAX_LENGTH = 20_000

_COUNT = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_GROUP = re.compile(r"\?(?:P?<[^>]*>|([imsU]*)(?:-([imsU]+))?([:)]))")
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{[^}]*\}|.)|x(?:\{[0-9A-Fa-f]+\}|[0-9A-Fa-f]{2})|0[0-7]{0,2}|[1-7][0-7]{1,2}|.)", re.S
)
_CONTROLS = {"a": "\x07", "f": "\x0c", "n": "\n", "r": "\r", "t": "\t", "v": "\x0b"}
_PLACES = {"A": Place.TEXT_START, "z": Place.TEXT_END, "b": Place.WORD_EDGE, "B": Place.NOT_WORD_EDGE}


class NotTranslated(Exception):
    """The pattern has no Java form that is both exact and safe; the text says why, as it is shown to a person."""


def parse(pattern: str) -> Regex:
    """The tree of a pattern that RE2 accepts. Raises NotTranslated."""
    if len(pattern) > MAX_LENGTH:
        raise NotTranslated(f"the pattern is longer than {MAX_LENGTH} characters")
    return _Parser(pattern).alternatives("", 0)


class _Parser:
    """One position in one pattern. Flags are letters of `ims`; the set is replaced, never changed."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def alternatives(self, flags: str, depth: int) -> Regex:
        """Everything up to the end of the group, or of the pattern."""
        if depth > MAX_NESTING:
            raise NotTranslated(f"groups are nested more than {MAX_NESTING} deep")
        branches: list[Regex] = []
        items: list[Regex] = []
        while self.at < len(self.pattern):
            c = self.pattern[self.at]
            if c == ")":
                break
            if c == "|":
                self.at += 1
                branches.append(sequence(items))
                items = []
            elif c == "(":
                flags = self._group(items, flags, depth)
            elif c in "*+?" or (c == "{" and _COUNT.match(self.pattern, self.at)):
                items.append(self._repeated(items.pop()))
            else:
                items += self._atom(c, flags)
        branches.append(sequence(items))
        return either(branches)

    def _group(self, items: list[Regex], flags: str, depth: int) -> str:
        """Reads a group onto `items`, or a change of flags; returns the flags from here on."""
        inner = flags
        self.at += 1
        found = _GROUP.match(self.pattern, self.at)
        if found:
            self.at = found.end()
            if found[3]:
                inner = "".join(f for f in "ims" if f in flags + found[1] and f not in (found[2] or ""))
            if found[3] == ")":
                return inner
        items.append(self.alternatives(inner, depth + 1))
        self.at += 1
        return flags

    def _repeated(self, body: Regex) -> Regex:
        c = self.pattern[self.at]
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(c, (0, 0))
        if c == "{":
            count = _COUNT.match(self.pattern, self.at)
            assert count is not None
            low = int(count[1])
            high = low if not count[2] else int(count[3]) if count[3] else None
            self.at = count.end()
        else:
            self.at += 1
        if self.pattern[self.at : self.at + 1] == "?":
            self.at += 1
        return repeat(body, low, high)

    def _atom(self, c: str, flags: str) -> list[Regex]:
        """What one item stands for; nothing for an empty quotation, several for a longer one."""
        if c == "\\":
            return self._escape(flags)
        if c == "[":
            return [Chars(charset.ask(self._class(), "i" in flags))]
        self.at += 1
        match c:
            case ".":
                return [Chars(ALL if "s" in flags else charset.complement(NEWLINE))]
            case "^":
                return [At(Place.LINE_START if "m" in flags else Place.TEXT_START)]
            case "$":
                return [At(Place.LINE_END if "m" in flags else Place.TEXT_END)]
            case _:
                return [Chars(charset.literal(c, "i" in flags))]

    def _escape(self, flags: str) -> list[Regex]:
        found = _ESCAPE.match(self.pattern, self.at)
        assert found is not None
        token, fold = found[0], "i" in flags
        kind = token[1]
        if kind == "Q":
            end = self.pattern.find("\\E", self.at + 2)
            text = self.pattern[self.at + 2 : end if end >= 0 else None]
            self.at = end + 2 if end >= 0 else len(self.pattern)
            return [Chars(charset.literal(c, fold)) for c in text]
        self.at = found.end()
        if kind == "C":
            raise NotTranslated("\\C matches one byte, and Java knows no bytes")
        if kind in _PLACES:
            return [At(_PLACES[kind])]
        if kind in "dDsSwWpP":
            return [Chars(charset.ask(token, fold))]
        return [Chars(charset.literal(_escaped(token), fold))]

    def _class(self) -> str:
        """The text of a bracketed class, from `[` to its `]`."""
        p, start = self.pattern, self.at
        i = start + (2 if p[start + 1] == "^" else 1)
        opened = i
        while p[i] != "]" or i == opened:
            if p[i] == "\\":
                escape = _ESCAPE.match(p, i)
                assert escape is not None
                i = escape.end()
            elif p.startswith("[:", i) and p.find(":]", i + 2) >= 0:
                i = p.find(":]", i + 2) + 2
            else:
                i += 1
        self.at = i + 1
        return p[start : self.at]


def _escaped(token: str) -> str:
    """The character that an escape names."""
    kind, rest = token[1], token[2:]
    if kind == "x":
        return chr(int(rest.strip("{}"), 16))
    if kind in "01234567":
        return chr(int(kind + rest, 8))
    return _CONTROLS.get(kind, kind)
