"""Data as YAML or JSON text, in the layout of what it is written into."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from .document import LOADER

_PLAIN = re.compile(r"[A-Za-z/(][^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff]*")
"""What may be written without quotes: no sign, number or date, whichever version of YAML is read."""
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
_LONGEST_PLAIN = 1_000


@dataclass(frozen=True)
class Spelling:
    """How data is written. `json` asks for what JSON reads, too; `quotes` has texts with quotes around them as they were.

    `unit` is how far a mapping is indented from its key, `dash` how far a list is. `inner_flow` says that mappings of
    texts alone stand between braces.
    """

    json: bool = False
    unit: int = 2
    dash: int = 2
    inner_flow: bool = False
    quotes: Mapping[str, str] = field(default_factory=dict)

    def block(self, data: object, depth: int = 0) -> list[str]:
        """The lines of data in block style; `depth` counts the mappings and lists that it is in."""
        match data:
            case Mapping() if data and not self._is_inner(data, depth):
                return [line for key, value in data.items() for line in self._entry(str(key), value, depth)]
            case list() if data:
                return [line for item in data for line in _below("- ", self.block(item, depth + 1))]
            case _:
                return [self.flow(data)]

    def flow(self, data: object) -> str:
        """Data in one line, between braces and brackets."""
        match data:
            case str():
                return self._text(data, flow=True)
            case Mapping():
                pairs = (f"{self._text(str(key), flow=True)}: {self.flow(value)}" for key, value in data.items())
                return "{" + ", ".join(pairs) + "}"
            case Sequence():
                return "[" + ", ".join(map(self.flow, data)) + "]"
            case _:
                return json.dumps(data)

    def lines(self, data: object) -> list[str]:
        """Data as JSON in several lines."""
        return [_escaped(line) for line in json.dumps(data, ensure_ascii=False, indent=self.unit or 2).split("\n")]

    def _is_inner(self, data: object, depth: int) -> bool:
        """Whether data is a mapping that stands between braces; what says which form a filter has does not."""
        return self.inner_flow and depth > 1 and isinstance(data, Mapping) and all(isinstance(v, str) for v in data.values())  # fmt: skip

    def _entry(self, key: str, value: object, depth: int) -> list[str]:
        name = self._text(key, flow=False)
        if isinstance(value, str):
            return [f"{name}: {self._text(value, flow=False)}"]
        lines = self.block(value, depth + 1)
        if not value or self._is_inner(value, depth + 1):
            return [f"{name}: {lines[0]}"]
        return [f"{name}:", *_below(" " * (self.dash if isinstance(value, list) else self.unit), lines)]

    def _text(self, text: str, *, flow: bool) -> str:
        if self.json:
            return _escaped(json.dumps(text, ensure_ascii=False))
        if text in self.quotes:
            return self.quotes[text]
        if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and len(text) <= _LONGEST_PLAIN and _read(text, flow):
            return text
        if ('"' in text or "\\" in text) and "'" not in text and text.isprintable():
            return f"'{text}'"
        return _escaped(json.dumps(text, ensure_ascii=False))


def _read(text: str, flow: bool) -> bool:
    """Whether YAML reads the text, written without quotes, as itself."""
    around = f"{{k: [{text}]}}" if flow else f"k: {text}\n"
    try:
        return bool(yaml.load(around, Loader=LOADER) == {"k": [text] if flow else text})
    except yaml.YAMLError:
        return False


def _below(first: str, lines: list[str]) -> list[str]:
    """Lines indented by what stands before the first."""
    return [(first if first.isspace() or not n else " " * len(first)) + line for n, line in enumerate(lines)]


def _escaped(text: str) -> str:
    """A JSON text whose characters YAML reads as they are."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
