"""Names of folders for triggers and subscribers, whatever these are called: the value itself, or what stands for it.

A value that no folder can be named after, since it is too long or Spark means something else by it, is shortened and
has its hash behind it. An index tells what stands for what.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

_LONGEST_NAME = 255
_DEFAULT_PARTITION, _HALF_COPIED = "__HIVE_DEFAULT_PARTITION__", "._COPYING_"
_STANDS = re.compile(r"~[0-9a-f]{32}\Z")


def folder_value(column: str, value: str) -> str:
    """What `column=...` is called for a value, so that Spark finds it again; two values never have one."""
    reserved = value in ("", _DEFAULT_PARTITION) or value.endswith(_HALF_COPIED)
    room = _LONGEST_NAME - len(f"{column}=")
    if not reserved and _length(value) <= room and not _STANDS.search(value):
        return value
    sign = "~" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    begin = value[: room - len(sign)]
    while _length(begin) > room - len(sign):
        begin = begin[: len(begin) - 1 - (_length(begin) - room + len(sign)) // 9]
    return begin + sign


def _length(value: str) -> int:
    """Most bytes that a folder's name has of a value: Spark writes some characters as %XX."""
    return len(quote(value, safe="", errors="surrogatepass"))


@dataclass(frozen=True)
class Folders:
    """What stands for values, by column; values that stand for themselves are not in it."""

    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Iterable[str]]) -> Folders:
        """For the values that columns may have."""
        found = {c: {v: name for v in all_ if (name := folder_value(c, v)) != v} for c, all_ in values.items()}
        return cls({column: names for column, names in found.items() if names})

    def values(self, column: str) -> dict[str, str]:
        """The values by what stands for them."""
        return {name: value for value, name in self.names.get(column, {}).items()}

    def index(self, before: str | None = None) -> str:
        """The index as JSON: the values by what stands for them, by column; with those of an index there was before."""
        try:
            told: dict[str, dict[str, str]] = json.loads(before or "{}")
        except ValueError:  # a damaged one is begun anew
            told = {}
        for column in self.names:
            told[column] = told.get(column, {}) | self.values(column)
        return json.dumps(told, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


AS_THEY_ARE = Folders()
"""All values stand for themselves."""
