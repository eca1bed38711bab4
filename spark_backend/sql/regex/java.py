"""Trees as java.util.regex text: no flags, no named classes, so that it means the same on every Java."""

from __future__ import annotations

from . import charset
from .charset import ALL, NEWLINE, NONE, WORD, CharSet
from .parse import NotTranslated
from .tree import At, Chars, Either, Place, Regex, Repeat, Sequence, first, lengths, size

MAX_COPIES = 300
_TREE_FROM = 24


def chars(s: CharSet) -> str:
    """One character of the set: a literal or a class."""
    if not s:
        return "(?!)"
    if s == ALL:
        return "[\\x{0}-\\x{D7FF}\\x{E000}-\\x{10FFFF}]"
    if len(s) == 1 and s[0][0] == s[0][1]:
        return _point(s[0][0])
    others = charset.complement(s, surrogates=True)
    return f"[^{_ranges(others)}]" if len(others) < len(s) and len(others) < _TREE_FROM else f"[{_ranges(s)}]"


def _ranges(s: CharSet) -> str:
    """The inside of a class. Java tries ranges one by one: long lists become a tree of intersections."""
    if len(s) < _TREE_FROM:
        return "".join(_range(low, high) for low, high in s)
    half = len(s) // 2
    left, right = s[:half], s[half:]
    bounds = [_range(part[0][0], part[-1][1]) for part in (left, right)]
    return f"[{bounds[0]}&&[{_ranges(left)}]][{bounds[1]}&&[{_ranges(right)}]]"


def _range(low: int, high: int) -> str:
    return _point(low) if low == high else f"{_point(low)}-{_point(high)}"


def _point(c: int) -> str:
    return chr(c) if c < 128 and (chr(c).isalnum() or chr(c) in "_/:,@=") else f"\\x{{{c:X}}}"


_W = chars(WORD)
_PLACES = {
    Place.TEXT_START: "\\A",
    Place.TEXT_END: "\\z",
    Place.LINE_START: f"(?:\\A|(?<={chars(NEWLINE)}))",
    Place.LINE_END: f"(?={chars(NEWLINE)}|\\z)",
    Place.WORD_EDGE: f"(?:(?<={_W})(?!{_W})|(?<!{_W})(?={_W}))",
    Place.NOT_WORD_EDGE: f"(?:(?<={_W})(?={_W})|(?<!{_W})(?!{_W}))",
}


def counted(low: int, high: int | None) -> str:
    """A count as a suffix, as short as Java takes it."""
    match low, high:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case _, None:
            return f"{{{low},}}"
        case _:
            return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def is_row(r: Regex) -> bool:
    """Whether it is a fixed row of characters, which Java repeats in a loop and not by recursion."""
    return isinstance(r, Chars) or (isinstance(r, Sequence) and all(isinstance(i, Chars) for i in r.items))


def atom(r: Regex) -> str:
    """The text as something a count can follow."""
    return chars(r.set) if isinstance(r, Chars) and r.set else f"(?:{backtracking(r)})"


def backtracking(r: Regex) -> str:
    """The text that tries every way. Only for what has few ways; Java's recursive loops are written out as copies."""
    match r:
        case Chars(found):
            return chars(found)
        case At(place):
            return _PLACES[place]
        case Sequence(items):
            return "".join(backtracking(i) for i in items)
        case Either(branches):
            return f"(?:{'|'.join(backtracking(b) for b in branches)})"
        case Repeat(body, low, high):
            if is_row(body):
                return atom(body) + counted(low, high)
            if high is None or size(body) * high > MAX_COPIES:
                raise NotTranslated("a group is repeated too often")
            once = backtracking(body)
            optional = ""
            for _ in range(high - low):
                optional = f"(?:{once}{optional})?"
            return once * low + optional


def committed(r: Regex, follow: CharSet) -> str | None:
    """The text that never goes back, where the next character alone decides every choice; else None.

    `follow` is what can stand after it. Possessive counts make Java loop without recursion and without a second try,
    so this takes linear time and constant stack whatever it repeats.
    """
    match r:
        case Chars() | At():
            return backtracking(r)
        case Sequence(items):
            texts: list[str] = []
            for item in reversed(items):
                text = committed(item, follow)
                if text is None:
                    return None
                texts.append(text)
                follow = first(item, follow)
            return "".join(reversed(texts))
        case Either(branches):
            seen = NONE
            found: list[str] = []
            for branch in branches:
                start, text = first(branch, follow), committed(branch, follow)
                if text is None or lengths(branch)[0] == 0 or not charset.disjoint(start, seen):
                    return None
                seen = charset.union(seen, start)
                found.append(text)
            return f"(?>{'|'.join(found)})"
        case Repeat(body, low, high):
            start = first(body, NONE)
            if lengths(body)[0] == 0 or (low != high and not charset.disjoint(start, follow)):
                return None
            text = committed(body, charset.union(start, follow))
            if text is None:
                return None
            return (text if isinstance(body, Chars) else f"(?:{text})") + counted(low, high) + "+"
