"""HOCON text as values that know where they were written (HOCON, "Human-Optimized Config Object Notation"; emqx/hocon).

Nothing but the text is read: `include` and substitutions from the environment are refused. Where EMQX and the
specification take a text otherwise, the specification is followed, with a warning; what the specification refuses, and
EMQX takes, is taken as EMQX has it, with a warning as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tricel.grammar import hocon_lexer

from ..diagnostics import Diagnostic, errors
from ..source import Source, Span
from .document import MAX_DEPTH, MAX_LENGTH, Document, Scalar
from .hocon_strings import triple, unescaped
from .hocon_tree import Earlier, Elements, Fields, Item, Joined, Node, Reference
from .hocon_values import Substitution, TooLargeError

MAX_PROBLEMS = 100
"""After so many problems of syntax a text is not read on."""

_INT = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_KEYWORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")
_STRINGS = ("WORD", "QUOTED", "TRIPLE")
_UNFINISHED = {
    "QUOTED_OPEN": ("the string has no closing '\"' on its line", "close it, or use three quotes for several lines"),
    "TRIPLE_OPEN": ('the string has no closing \'"""\'', "close it"),
    "SUBSTITUTION_OPEN": ("the substitution has no closing '}'", "write '${a.b}'"),
}
_GOES_ON = {"SUBSTITUTION": "text", "OPEN": "object", "OPEN_LIST": "list"}
"""What begins with a token that no field begins with."""
_END = "END"


def read_hocon(source: Source) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """The document, and what is said of its text; None where anything is an error. A text of nothing is an empty object."""
    if len(source.text) > MAX_LENGTH:
        message = f"the text has {len(source.text)} characters, more than {MAX_LENGTH}"
        return None, (Diagnostic("TRI305", message, source, Span(0, 0), "split the file"),)
    reader = _Reader(source)
    found = reader.diagnostics
    try:
        root = reader.document()
        if not errors(found):
            substitution = Substitution(source, root, reader.count)
            value = substitution.value()
            found = [*found, *substitution.diagnostics]
            if not errors(found):
                return Document(value, source), tuple(found)
    except TooLargeError as e:
        found = [*found, Diagnostic("TRI305", e.message, source, e.at, e.help)]
    except _EnoughError:
        pass
    return None, tuple(found)


class _EnoughError(Exception):
    """There are more problems than anyone reads."""


class _Reader:
    """One pass over the tokens; after a problem it goes on behind the field or element that has it."""

    def __init__(self, source: Source, at: Span | None = None, diagnostics: list[Diagnostic] | None = None) -> None:
        self.source, self.text = source, source.text
        self.diagnostics: list[Diagnostic] = [] if diagnostics is None else diagnostics
        self.problems = 0
        self.count = 0
        self.references = 0
        self.level = 0
        self.owner: Item | None = None
        span = Span(0, len(source.text)) if at is None else at
        self.last, self.shift = span.end, span.start
        self.tokens: Iterator[Any] = iter(
            hocon_lexer().lex(source.text if at is None else source.text[at.start : at.end])
        )
        self.before, self.kind, self.start, self.end, self.ended = _END, _END, span.start, span.start, span.start
        self.advance()

    def advance(self) -> None:
        """Goes on to the next token; `before` is the kind of the last one, and `ended` where that did."""
        self.before, self.ended = self.kind, self.end
        token = next(self.tokens, None)
        if token is None:
            self.kind, self.start, self.end = _END, self.last, self.last
        else:
            self.kind, self.start, self.end = token.type, token.start_pos + self.shift, token.end_pos + self.shift

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def report(self, at: Span, message: str, help_: str, code: str = "TRI390") -> None:
        self.diagnostics.append(Diagnostic(code, message, self.source, at, help_))
        self.problems += code != "TRI393"
        if self.problems >= MAX_PROBLEMS:
            raise _EnoughError

    def otherwise(self, at: Span, message: str, help_: str) -> None:
        """Warns of what EMQX and the specification take otherwise, as often as there are problems that anyone reads."""
        if len(self.diagnostics) < MAX_PROBLEMS:
            self.report(at, message, help_, "TRI393")

    # The document, objects and lists.

    def document(self) -> Fields | Elements:
        """The root: an object with or without braces, or a list."""
        self.lines()
        if self.kind not in ("OPEN", "OPEN_LIST"):
            return self.fields("", Span(0, 0))
        root = self.read_object() if self.kind == "OPEN" else self.read_list()
        self.lines()
        if self.kind != _END:
            self.report(self.span, "there is something behind the end of the document", "remove it, or the braces")
        return root

    def lines(self) -> bool:
        """Passes over line breaks; whether there was one."""
        was = self.kind == "NEWLINE"
        while self.kind == "NEWLINE":
            self.advance()
        return was

    def separators(self, first: bool) -> tuple[bool, bool]:
        """Passes over line breaks and a comma: whether there was any of them, and whether there was a comma."""
        comma, line = False, self.before == "NEWLINE"
        while self.kind in ("NEWLINE", "COMMA"):
            if self.kind == "COMMA":
                if comma or first:
                    self.report(self.span, "a comma that follows no value", "remove it")
                comma = True
            line = True
            self.advance()
        return line, comma

    def deeper(self, count: int, at: Span) -> None:
        self.level += count
        if self.level > MAX_DEPTH:
            raise TooLargeError(at, f"more than {MAX_DEPTH} levels of nesting", "flatten the document")

    def read_object(self) -> Fields:
        opening = self.span
        self.deeper(1, opening)
        self.advance()
        fields = self.fields("CLOSE", opening)
        fields.span = Span(opening.start, self.ended)
        self.level -= 1
        return fields

    def fields(self, closing: str, opening: Span) -> Fields:
        fields = Fields({}, Span(0, len(self.text)))
        last: Item | None = None
        first = True
        while True:
            apart, comma = self.separators(first)
            if self.closed(closing, opening):
                return fields
            if self.kind in ("CLOSE", "CLOSE_LIST"):
                self.report(self.span, f"'{self.text[self.start]}' closes nothing", "remove it")
                self.advance()
            elif not apart and not first:
                self.misplaced()
            else:
                last = self.field(fields, None if comma else last)
            first = False

    def closed(self, closing: str, opening: Span) -> bool:
        """Whether what was opened ends here."""
        if self.kind == _END:
            if closing:
                self.report(opening, f"'{self.text[opening.start]}' is not closed", "close it")
            return True
        if self.kind != closing:
            return False
        self.advance()
        return True

    def read_list(self) -> Elements:
        opening = self.span
        self.deeper(1, opening)
        self.advance()
        elements = Elements([], opening)
        first, last, warned = True, None, False
        while True:
            apart, comma = self.separators(first)
            if self.closed("CLOSE_LIST", opening):
                break
            if self.kind == "CLOSE":
                self.report(self.span, "'}' closes nothing", "remove it")
                self.advance()
            elif not apart and not first:
                self.misplaced()
            else:
                node = self.value([])
                if node is not None:
                    elements.nodes.append(node)
                    if last is not None and not comma and not warned and _spliced(last) and _spliced(node):
                        warned = True
                        message = "EMQX joins this to the element before it, from which a line break alone separates it"
                        self.otherwise(_first(node.span, self.text), message, "write a comma between the two")
                last = node
            first = False
        elements.span = Span(opening.start, self.ended)
        self.level -= 1
        return elements

    def misplaced(self) -> None:
        """Reports the token that cannot stand behind a value, and goes on behind the field."""
        written = self.text[self.start : self.end]
        if self.kind in _UNFINISHED:
            self.report(self.span, *_UNFINISHED[self.kind])
        else:
            self.report(self.span, f"'{written}' cannot stand here", "put a text that has it in double quotes")
        self.recover()

    def recover(self) -> None:
        """Passes over the rest of a field or element."""
        depth = 0
        while self.kind != _END:
            if depth == 0 and self.kind in ("NEWLINE", "COMMA", "CLOSE", "CLOSE_LIST"):
                return
            depth += (self.kind in ("OPEN", "OPEN_LIST")) - (self.kind in ("CLOSE", "CLOSE_LIST"))
            self.advance()

    # One field.

    def field(self, fields: Fields, last: Item | None) -> Item | None:
        """Reads a field into the object; or what EMQX takes for the rest of the value of the field on the line before."""
        if self.kind not in _STRINGS:
            if last is not None and self.goes_on(last):
                return self.continued(last, [])
            self.misplaced()
            return None
        pieces = self.strings()
        at = Span(pieces[0][2].span.start, pieces[-1][2].span.end)
        if pieces[0][1] == "WORD" and pieces[0][2].text.split("(")[0] == "include":
            self.report(at, "'include' is not read: no file, URL or class path is", "write the fields out", "TRI391")
            self.recover()
            return None
        self.lines()
        if self.kind not in ("SEPARATOR", "APPEND", "OPEN"):
            if last is not None and _kind(last.value) in ("", "text") and all(_is_text(p[2]) for p in pieces):
                return self.continued(last, [(gap, scalar) for gap, _, scalar in pieces])
            name = self.text[at.start : at.end]
            self.report(at, f"'{name}' has no value", f"write '{name} = ...', or put a text that goes on in quotes")
            if self.text.find("\n", at.end, self.start) < 0:
                self.recover()
            return None
        path = self.path(pieces)
        return None if path is None else self.given(fields, path, at)

    def goes_on(self, last: Item) -> bool:
        """Whether EMQX joins what begins here to the value of the field before."""
        kind = _kind(last.value)
        return self.kind in _GOES_ON and (
            kind in ("", _GOES_ON[self.kind]) or (self.kind == "SUBSTITUTION" and kind != "no")
        )

    def given(self, fields: Fields, path: list[Scalar], at: Span) -> Item | None:
        """Reads the value of a key into the object."""
        appending = self.kind == "APPEND"
        if self.kind != "OPEN":
            self.advance()
            self.lines()
        outside = self.owner
        self.deeper(len(path) - 1, at)
        references = self.references
        self.count += len(path)
        for key in path[:-1]:
            slot = fields.slot(key.text)
            inner = slot.items[-1].value if slot.items else None
            if not isinstance(inner, Fields):
                inner = Fields({}, at)
                slot.add(Item(key, self.owner, inner))
            self.owner, fields = slot.items[-1], inner
        item = self.owner = Item(path[-1], self.owner, path[-1])
        value = self.value([])
        self.owner = outside
        self.level -= len(path) - 1
        if value is None:
            return None
        slot = fields.slot(item.key.text)
        if appending:
            before = slot.items[-1].value if slot.items else None
            if isinstance(before, Elements) and references == self.references:
                before.nodes.append(value)
                return None
            single = Elements([value], value.span)
            parts: list[tuple[str, Node]] = [("", Earlier(item, item.key.span)), ("", single)]
            value = Joined(parts, value.span) if slot.items else single
        item.value = value
        slot.add(item)
        return None if appending else item

    def continued(self, item: Item, pieces: list[tuple[str, Scalar]]) -> Item:
        at = pieces[0][1].span if pieces else self.span
        message = "EMQX takes this for more of the value on the line before, which the specification does not"
        self.otherwise(at, message, "write the value in one piece")
        outside, self.owner = self.owner, item
        value = self.value(pieces)
        self.owner = outside
        if value is not None:
            before: list[tuple[str, Node]] = item.value.parts if isinstance(item.value, Joined) else [("", item.value)]
            after: list[tuple[str, Node]] = value.parts if isinstance(value, Joined) else [("", value)]
            before.extend(after)
            item.value = Joined(before, Span(item.value.span.start, value.span.end))
        return item

    def strings(self) -> list[tuple[str, str, Scalar]]:
        """Strings one after another: the white space before each, the kind of its token, and itself."""
        found: list[tuple[str, str, Scalar]] = []
        while self.kind in _STRINGS:
            gap = self.text[self.ended : self.start] if found else ""
            found.append((gap, self.kind, self.scalar()))
            self.advance()
        return found

    def path(self, pieces: list[tuple[str, str, Scalar]]) -> list[Scalar] | None:
        """The keys of a path: its words are divided at their dots. None, and a report, where one is empty."""
        keys: list[Scalar] = []
        text, quoted, start, end = "", False, pieces[0][2].span.start, pieces[0][2].span.start

        def close() -> bool:
            keys.append(Scalar(text, text, Span(start, max(start, end)), '"' if quoted else ""))
            return bool(text) or quoted

        good = True
        for gap, kind, scalar in pieces:
            text += gap
            if kind != "WORD":
                text, quoted, end = text + scalar.text, True, scalar.span.end
                continue
            at = scalar.span.start
            for number, part in enumerate(scalar.text.split(".")):
                if number:
                    good &= close()
                    text, quoted, start = "", False, at
                text, end = text + part, at + len(part)
                at += len(part) + 1
        good &= close()
        at_all = Span(pieces[0][2].span.start, pieces[-1][2].span.end)
        if not good:
            self.report(at_all, "a part of the path is empty", 'write "" for a key without characters')
            self.recover()
            return None
        if any(gap for gap, _, _ in pieces):
            self.otherwise(at_all, "EMQX refuses a key of several words", "put the key in double quotes")
        return keys

    # One value.

    def value(self, pieces: list[tuple[str, Scalar]]) -> Node | None:
        """The value that begins here, of one part or joined of several; None, and a report, where there is none."""
        parts: list[tuple[str, Node]] = list(pieces)
        while not (parts and self.before == "NEWLINE"):
            gap = self.text[self.ended : self.start] if parts else ""
            match self.kind:
                case "WORD" | "QUOTED" | "TRIPLE":
                    node: Node | None = self.scalar()
                    self.advance()
                case "SUBSTITUTION":
                    node = self.reference()
                    self.advance()
                case "OPEN":
                    node = self.read_object()
                case "OPEN_LIST":
                    node = self.read_list()
                case _:
                    break
            self.count += 1
            if node is None:
                self.recover()
                return None
            parts.append((gap, node))
        if not parts:
            self.no_value()
            return None
        if len(parts) == 1:
            return parts[0][1]
        joined = Joined(parts, Span(parts[0][1].span.start, parts[-1][1].span.end))
        self.told_of_joining(joined)
        return joined

    def no_value(self) -> None:
        if self.kind in _UNFINISHED or self.kind in ("WRONG", "SEPARATOR", "APPEND"):
            self.misplaced()
            return
        at = Span(max(0, self.ended - 1), self.ended)
        self.report(at, "there is no value here", "write one, '\"\"' for an empty text")

    def told_of_joining(self, joined: Joined) -> None:
        texts = [(gap, n) for gap, n in joined.parts if isinstance(n, Scalar | Reference)]
        if len(texts) < len(joined.parts):
            return
        if any(isinstance(n, Scalar) and not _is_text(n) for _, n in texts):
            message = "EMQX joins no number, true, false or null to other texts"
            self.otherwise(joined.span, message, "put the whole in double quotes")
        elif any(gap for gap, _ in texts[1:]):
            message = "EMQX joins these without the space between them"
            self.otherwise(joined.span, message, "put the whole in double quotes")

    def scalar(self) -> Scalar:
        """The string, number, true, false or null at a token."""
        start, end = self.start, self.end
        written = self.text[start:end]
        if self.kind == "WORD":
            return Scalar(_plain(written), written, self.span)
        if self.kind == "TRIPLE":
            text, _ = triple(self.text, start, end)
            if "\\" in text and not written.startswith('"""~'):
                message = "EMQX takes a backslash between three quotes for an escape, which the specification does not"
                self.otherwise(self.span, message, 'begin the string with """~ and a line break, and end it with ~"""')
            return Scalar(text, text, self.span, '"""')
        text, problems = unescaped(self.text, start, end)
        for problem in problems:
            at = Span(problem.start, problem.end)
            if problem.kept:
                message = f"'{problem.written}' is no escape, which EMQX takes as it is written"
                self.otherwise(at, message, f"write '\\{problem.written}'")
            else:
                message = f"a lone surrogate is not a character: '{problem.written}'"
                self.report(at, message, "write both escapes of the pair, or the character itself")
        control = _CONTROL.search(self.text, start, end)
        if control is not None:
            message = f"character U+{ord(control[0]):04X} may not stand in a string"
            self.report(Span(control.start(), control.end()), message, "write it as an escape, '\\u....'")
        return Scalar(text, text, self.span, '"')

    def reference(self) -> Reference | None:
        """The substitution at a token."""
        self.references += 1
        begins = self.start + 2
        optional = self.text.startswith("?", begins)
        inner = _Reader(self.source, Span(begins + optional, self.end - 1), self.diagnostics)
        pieces = inner.strings()
        if not pieces or inner.kind != _END:
            self.report(self.span, "a substitution names a path of keys", "write '${a.b}', or '${?a.b}'")
            return None
        path = inner.path([("", *pieces[0][1:]), *pieces[1:]])
        return None if path is None else Reference(tuple(k.text for k in path), optional, self.span, self.owner)


def _plain(word: str) -> str | int | float | bool | None:
    if word in _KEYWORDS:
        return _KEYWORDS[word]
    if _INT.fullmatch(word) and len(word) < 100:
        return int(word)
    return float(word) if _FLOAT.fullmatch(word) else word


def _is_text(scalar: Scalar) -> bool:
    """Whether EMQX takes it for a string, rather than for a number, true, false, null, a duration or a size."""
    return bool(scalar.style) or (isinstance(scalar.value, str) and not scalar.text[:1].isdigit())


def _spliced(node: Node) -> bool:
    """Whether EMQX joins such a value to one that follows it, or precedes it, whatever line breaks are between them."""
    if isinstance(node, Joined):
        return _spliced(node.parts[0][1]) and _spliced(node.parts[-1][1])
    return not isinstance(node, Scalar) or _is_text(node)


def _kind(node: Node) -> str:
    """What a value is joined to over line breaks; empty where a substitution decides, and `no` for a number and its like."""
    if isinstance(node, Joined):
        node = node.parts[-1][1]
    match node:
        case Fields():
            return "object"
        case Elements():
            return "list"
        case Scalar():
            return "text" if _is_text(node) else "no"
        case _:
            return ""


def _first(span: Span, text: str) -> Span:
    """The first line of a span."""
    end = text.find("\n", span.start, span.end)
    return span if end < 0 else Span(span.start, end)
