"""The lexer: at each step one match, of the tokens that the parser can take next and of what may stand before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.lexer import Lexer

__all__ = ["StateLexer"]


class _Place(Token):
    """A token that knows its offsets alone: lines are counted where a diagnostic is shown."""

    __slots__ = ()
    line = column = end_line = end_column = None

    def __new__(cls, type_: str, text: str, start: int, end: int) -> _Place:
        self = str.__new__(cls, text)
        self.type, self.value, self.start_pos, self.end_pos = type_, text, start, end
        return self


class StateLexer(Lexer):
    """Tokens of a text, those that the parser's state allows; a token that it does not allow is an `UnexpectedToken`.

    It is Lark's contextual lexer without the line and column of each token, and with ignored text skipped within the
    match of the token that follows it. Terminals must not contain groups that capture.
    """

    __future_interface__ = 2

    def __init__(self, conf: Any) -> None:
        """Takes Lark's `LexerConf`. Patterns are compiled when a state is first met."""
        ignored = frozenset(conf.ignore)
        order = sorted(conf.terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
        self._patterns = {t.name: t.pattern.to_regexp() for t in order if t.name not in ignored}
        self._skipped = f"(?:{'|'.join(t.pattern.to_regexp() for t in order if t.name in ignored)})*+"
        self._by_name = {t.name: t for t in order}
        self._of_state: dict[Any, Any] = {}
        self._of_names: dict[frozenset[str], re.Pattern[str]] = {}
        self._blank = re.compile(self._skipped)

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
        """The tokens, each found in the state that the parser is in when it is asked for.

        Raises:
            UnexpectedCharacters: where no token begins.
            UnexpectedToken: where one begins that cannot stand there.
        """
        text = getattr(lexer_state.text, "text", lexer_state.text)
        states, matchers = parser_state.state_stack, self._of_state
        at, last = 0, None
        while True:
            state = states[-1]
            match = matchers.get(state) or self._matcher(state, parser_state)
            found = match(text, at)
            if found is None:
                break
            type_ = found.lastgroup
            start, at = found.span(type_)
            last = _Place(type_, found[type_], start, at)
            yield last
        skipped = self._blank.match(text, at)
        at = skipped.end() if skipped else at
        if at < len(text):
            self._refuse(text, at, last, parser_state)

    def _matcher(self, state: Any, parser_state: Any) -> Any:
        match = self._compiled(parser_state.parse_conf.states[state]).match
        self._of_state[state] = match
        return match

    def _compiled(self, names: Iterable[str]) -> re.Pattern[str]:
        """The pattern of the tokens with these names, after what is ignored."""
        wanted = frozenset(self._patterns).intersection(names)
        if wanted not in self._of_names:
            tokens = "|".join(f"(?P<{name}>{regexp})" for name, regexp in self._patterns.items() if name in wanted)
            self._of_names[wanted] = re.compile(f"{self._skipped}(?:{tokens or '(?!)'})")
        return self._of_names[wanted]

    def _refuse(self, text: str, at: int, last: Token | None, parser_state: Any) -> None:
        """Raises what stands at `at`: a token that belongs elsewhere, or none."""
        allowed = set(parser_state.parse_conf.states[parser_state.state_stack[-1]]) & self._patterns.keys()
        history = [last] if last is not None else []
        found = self._compiled(self._patterns).match(text, at)
        if found is None:
            raise UnexpectedCharacters(  # type: ignore[no-untyped-call]
                text, at, 1, at + 1, allowed=allowed, token_history=history, terminals_by_name=self._by_name
            )
        token = _Place(str(found.lastgroup), found[0], *found.span())
        raise UnexpectedToken(  # type: ignore[no-untyped-call]
            token, allowed, state=parser_state, token_history=history, terminals_by_name=self._by_name
        )
