"""Which searches take linear time and bounded stack in Java, and how they are written so that they do.

java.util.regex goes back and tries again, and it recurses. A search is a row of *scans* (repetitions without a small
bound) with *pieces* between them (few ways, short). The search itself is a first scan: it tries every start.
A scan is harmless in one of four ways:

* committed: the next character alone decides when it ends, so it is possessive and never goes back;
* earliest: in `C*MD*`, where D takes all that C and M take, only the first M matters, so `(?>C*?M)` never goes back.
  For the search itself: in `MD*` only the first M in each run of D matters, and the search starts where a run starts;
* last: after it comes a piece only, so going back costs little;
* fenced: something just before the next scan is outside that scan's characters, so no two tries scan the same text.

What fits none of these is not translated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from . import charset
from .charset import ALL, CharSet
from .java import MAX_COPIES, backtracking, chars, committed, counted, is_row
from .parse import NotTranslated
from .simplify import repeat, sequence
from .tree import (
    At,
    Chars,
    Either,
    Place,
    Regex,
    Repeat,
    Sequence,
    alphabet,
    asks,
    first,
    items_of,
    lengths,
    size,
    unbounded,
    ways,
    work,
)

MAX_WORK = 256
MAX_WORK_ONCE = 20_000
MAX_NODES = 1_000
MAX_TEXT = 30_000
MAX_VARIANTS = 32
_FEW = 8
_MORE = 64
_AGAIN = "a repetition would scan the same text again from many places"


def java(r: Regex) -> str:
    """The Java pattern whose `find` is a search for r. Raises NotTranslated where none is exact and safe."""
    if asks(r, Place.NOT_WORD_EDGE) and lengths(r)[0] == 0:
        raise NotTranslated("\\B matches inside a character's bytes, and Java knows no bytes")
    if size(r) > MAX_NODES:
        raise NotTranslated("the pattern is too large")
    branches = r.branches if isinstance(r, Either) else (r,)
    if sum(map(unbounded, branches)) > MAX_VARIANTS:
        raise NotTranslated("too many alternatives would each scan the whole text")
    text = "|".join(map(_search, branches))
    if len(text) > MAX_TEXT:
        raise NotTranslated("the Java pattern would be too long")
    return text


def _search(r: Regex) -> str:
    try:
        return _whole(r)
    except NotTranslated:
        variants = _variants(r)
        if variants == [r]:
            raise
        return "|".join(_whole(v) for v in variants)


def _whole(r: Regex) -> str:
    """One search, read in each of the ways that may prove it safe; the reason given is the first way's."""
    reason: NotTranslated | None = None
    for few in (_FEW, _MORE):
        for block in range(len(_Search.of(r, few).scans) or 1):
            try:
                return _Search.of(r, few).text(block)
            except NotTranslated as failure:
                reason = reason or failure
    raise reason or AssertionError("there is always one way to try")


def _variants(r: Regex) -> list[Regex]:
    """The same as several patterns with fewer choices each: those up to the last unbounded repetition, taken apart."""
    items = items_of(r)
    last = max((i for i, item in enumerate(items) if unbounded(item)), default=-1)
    choices = [_choices(item) if i <= last else [item] for i, item in enumerate(items)]
    total = 1
    for c in choices:
        total *= len(c)
    return [sequence(found) for found in product(*choices)] if total <= MAX_VARIANTS else [r]


def _choices(item: Regex) -> list[Regex]:
    match item:
        case Either(branches):
            return [v for b in branches for v in _variants(b)]
        case Repeat(body, low, high) if high is not None and not is_row(body) and size(body) * high <= MAX_COPIES:
            return [v for n in range(low, high + 1) for v in _variants(sequence([body] * n))]
        case Repeat(Chars() as body, low, high) if high is not None and high - low <= _FEW:
            return [repeat(body, n, n) for n in range(low, high + 1)]
        case _:
            return [item]


def _fixed(piece: Regex) -> bool:
    least, most = lengths(piece)
    return least == most


@dataclass(slots=True)
class _Search:
    """pieces[0] scans[0] pieces[1] .. scans[-1] pieces[-1]; and, while it is written, how often a place is tried.

    `runs`: there is one try, or few, in each longest run of these characters; None: tries may start anywhere.
    `tries`: a bound on how many tries may pass one place of the text.
    """

    pieces: list[Regex]
    scans: list[Repeat]
    runs: CharSet | None = None
    tries: int = 1
    out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, r: Regex, few: int) -> _Search:
        """The scans of r: what repeats without bound, with a spread of more than `few`, or in too many ways."""
        pieces: list[list[Regex]] = [[]]
        scans: list[Repeat] = []
        for item in items_of(r):
            match item:
                case Repeat(Chars() as body, low, high) if high is None or high - low > few:
                    pieces[-1].append(repeat(body, low, low))
                    scans.append(Repeat(body, 0, None if high is None else high - low))
                case _ if unbounded(item) or work(item) > MAX_WORK:
                    scans.append(item if isinstance(item, Repeat) else Repeat(item, 1, 1))
                case _:
                    pieces[-1].append(item)
                    continue
            pieces.append([])
        return cls([sequence(p) for p in pieces], scans)

    def text(self, block: int) -> str:
        """The Java text; the first `block` scans are written as `_block` does. Raises NotTranslated."""
        once = items_of(self.pieces[0])[:1] == (At(Place.TEXT_START),)
        if not self.scans:
            self._spend(self.pieces[0], MAX_WORK_ONCE if once else MAX_WORK)
            return backtracking(self.pieces[0])
        if block:
            self._block(block)
        else:
            self._start(once)
        for i in range(block, len(self.scans)):
            self._scan(i)
        return "".join(self.out)

    def _block(self, end: int) -> None:
        """Writes what stands before the scan `end` as one thing of which only the first match matters.

        That is so where all of it is inside the scan's characters and a later start never ends earlier: its pieces have
        one length each, and its scans are possessive loops over one set of characters.
        """
        run = alphabet(self.scans[end])
        loops = all(_is_class_loop(s) and charset.subset(alphabet(s), run) for s in self.scans[: end + 1])
        if not loops or not all(_fixed(p) and charset.subset(alphabet(p), run) for p in self.pieces[: end + 1]):
            raise NotTranslated(_AGAIN)
        self._leave(self.pieces[0])
        for i in range(end):
            if not self._scan(i):
                raise NotTranslated(_AGAIN)
        text, self.out = "".join(self.out), []
        self._from_run_start(run, text)
        self.tries = 1

    def _spend(self, piece: Regex, limit: int = MAX_WORK) -> None:
        if self.tries * work(piece) > limit:
            raise NotTranslated("it can match in too many ways from one place")

    def _start(self, once: bool) -> None:
        piece, scan = self.pieces[0], self.scans[0]
        if once:
            self.runs = ALL
            self._leave(piece)
        elif _is_class_loop(scan) and _fixed(piece) and charset.subset(alphabet(piece), alphabet(scan)):
            self._from_run_start(alphabet(scan), backtracking(piece))
            self.tries = ways(piece)
            self._spend(piece)
        else:
            self._leave(piece)

    def _from_run_start(self, run: CharSet, text: str) -> None:
        """Writes the first match of `text` in each longest run of the characters."""
        start = "\\A" if run == ALL else f"(?<!{chars(run)})"
        self.out.append(f"{start}(?>{chars(run)}*?{text})")
        self.runs = run

    def _leave(self, piece: Regex, text: str | None = None) -> None:
        """Writes a piece and notes how many tries come out of it."""
        self.out.append(backtracking(piece) if text is None else text)
        self._spend(piece)
        least, most = lengths(piece)
        self.tries *= ways(piece)
        if self.runs is None:
            self.tries *= most - least + 1
        elif not charset.subset(alphabet(piece), self.runs):
            self.runs = None
            self.tries *= most + 1

    def _scan(self, i: int) -> bool:
        """Writes one scan and the piece after it; whether the scan is committed. Raises NotTranslated."""
        scan, piece, over = self.scans[i], self.pieces[i + 1], alphabet(self.scans[i])
        inside = self.runs is not None and charset.subset(over, self.runs)
        if not inside:
            self.runs = None
            self.tries *= self._fence(i, over)
        follow = ALL
        for j in range(len(self.scans) - 1, i - 1, -1):
            follow = first(self.pieces[j + 1], follow)
            follow = first(self.scans[j], follow) if j > i else follow
        sure = committed(scan, follow)
        if sure is not None:
            self.out.append(sure)
            self._leave(piece)
        elif not is_row(scan.body):
            raise NotTranslated("where a repeated group ends is not decided by the next character")
        elif i + 1 < len(self.scans) and self._earliest(i):
            self._leave(piece, f"(?>{chars(over)}{counted(scan.low, scan.high)}?{backtracking(piece)})")
        else:
            lazy = "" if asks(piece, Place.TEXT_END) else "?"
            self.out.append(backtracking(scan) + lazy)
            self.runs = None
            self._leave(piece)
        return sure is not None

    def _earliest(self, i: int) -> bool:
        """Whether only the first match of the piece after this scan matters."""
        scan, piece, then = self.scans[i], self.pieces[i + 1], self.scans[i + 1]
        if not (isinstance(scan.body, Chars) and _is_class_loop(then) and _fixed(piece)):
            return False
        return charset.subset(charset.union(alphabet(scan), alphabet(piece)), alphabet(then))

    def _fence(self, i: int, over: CharSet) -> int:
        """How far before this scan something must stand that the scan does not take. Raises NotTranslated."""
        distance = 0
        for j in range(i, -1, -1):
            found = _separator(self.pieces[j], over)
            if found is not None:
                return distance + found
            distance += lengths(self.pieces[j])[1]
            if j and not charset.disjoint(alphabet(self.scans[j - 1]), over):
                break
        raise NotTranslated(_AGAIN)


def _is_class_loop(scan: Repeat) -> bool:
    return isinstance(scan.body, Chars) and scan.low == 0 and scan.high is None


def _separator(r: Regex, over: CharSet) -> int | None:
    """The most characters from the end of a match of r back to one outside `over`; None where there may be none."""
    match r:
        case Chars(found):
            return 1 if charset.disjoint(found, over) else None
        case At():
            return None
        case Sequence(items):
            distance = 0
            for item in reversed(items):
                found_at = _separator(item, over)
                if found_at is not None:
                    return distance + found_at
                distance += lengths(item)[1]
            return None
        case Either(branches):
            each = [_separator(b, over) for b in branches]
            known = [d for d in each if d is not None]
            return max(known) if len(known) == len(each) else None
        case Repeat(body, low, _):
            return _separator(body, over) if low else None
