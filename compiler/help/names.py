"""What was probably meant by a name that is none: from other languages, and from other views of an event."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..environments.cloudevent import CLOUD_EVENT
from ..environments.model import Environment
from ..functions import BY_CALL
from ..names import TYPE_NAMES
from ..nodes import Expr, Ident, Lit
from ..suggest import closest, did_you_mean, one_slip

_LITERALS = {"true": "true", "false": "false", "null": "null", "none": "null", "nil": "null", "undefined": "null"}
_FOLLOWING = re.compile(r"(?:\s*\.\s*[A-Za-z_]\w*(?!\w|\s*\())+")
_FUNCTIONS = {
    "startsWith": "beginswith begins startwith startswith hasprefix prefix",
    "endsWith": "endwith endswith hassuffix suffix",
    "contains": "contain include includes substringof instr strpos",
    "matches": "ismatch matchesregex regex regexp regexmatch rlike regexplike test",
    "size": "count length len charlength cardinality",
    "lowerAscii": "lower lowercase lcase tolower tolowercase casefold",
    "upperAscii": "upper uppercase ucase toupper touppercase",
    "substring": "substr mid slicestring",
    "trim": "strip btrim",
    "exists": "any some anymatch",
    "all": "every allmatch foreach",
    "int": "integer long parseint toint tointeger tolong",
    "double": "float number parsefloat tofloat todouble tonumber decimal",
    "string": "str text tostring",
    "bool": "boolean tobool toboolean",
    "timestamp": "date datetime instant parsedate parsetime strptime todate todatetime totimestamp",
    "math.abs": "abs",
    "math.ceil": "ceil ceiling",
    "math.floor": "floor",
    "math.round": "round",
    "math.greatest": "greatest max",
    "math.least": "least min",
}
_SYNONYMS = {word: name for name, words in _FUNCTIONS.items() for word in words.split()}
"""Functions by what other languages call them, in lower case and without underscores."""
_MACROS = frozenset({"all", "exists"})
_LIKE = 'write x.match("a*"): * is any run of characters, ? is one'
_FORMS = {
    "between": "write x >= low && x <= high",
    "coalesce": "write has(a.b) ? a.b : otherwise, or a.?b.orValue(otherwise)",
    "concat": "write a + b",
    "defined": "write has(a.b)",
    "eq": "write a == b",
    "equals": "write a == b",
    "equalsignorecase": "write a.lowerAscii() == b, where b is in lower case",
    "if": "write condition ? a : b",
    "ifnull": "write has(a.b) ? a.b : otherwise, or a.?b.orValue(otherwise)",
    "iif": "write condition ? a : b",
    "in": "write x in [a, b]",
    "isdefined": "write has(a.b)",
    "isempty": "write size(x) == 0",
    "isnull": "write x == null, or !has(a.b) for what is absent",
    "isset": "write has(a.b)",
    "like": _LIKE,
    "ilike": _LIKE,
    "ne": "write a != b",
    "not": "write !x",
    "notequals": "write a != b",
    "now": "a filter has no clock: compare ce.time with a constant",
}
"""How to write what is no function in CEL."""


def after(text: str, end: int) -> list[str]:
    """The names that are selected, one from the other, from what ends there in a text."""
    found = _FOLLOWING.match(text, end, end + 200)
    return re.findall(r"\w+", found[0]) if found else []


def root_help(name: str, path: list[str], environment: Environment, scope: Iterable[str]) -> str:
    """Help for a name that is no root: `path` are the names selected from it."""
    roots = [root for root, _ in environment.roots]
    if name.lower() in _LITERALS:
        return did_you_mean(_LITERALS[name.lower()])
    if meant := _in_event(name, path, environment):
        return did_you_mean(meant)
    near = closest(name, [*scope, *roots])
    if near:
        return did_you_mean(near)
    if environment.payload in roots:
        return did_you_mean(f"{environment.payload}.{name}")
    return f"a filter on a {environment.name} may name {', '.join([*scope, *roots])}"


def _in_event(name: str, path: list[str], environment: Environment) -> str:
    """Where in an event the thing is that somebody calls so; empty where that is unknown."""
    lower, words, record = name.lower(), environment.words, environment.record
    if lower in words.whole:
        return _below(path, environment) if path else record
    if lower in words.aliases:
        return ".".join((words.aliases[lower], *path))
    if path or not record:
        return ""
    if lower in words.attributes:
        return f"{record}.{lower}"
    declared = environment.record_type
    fields = [] if declared is None or not words.attributes else [n for n, _ in declared.fields]
    near = one_slip(lower, sorted(own for own in fields if len(own) > len("id")))
    return f"{record}.{near}" if near else ""


def _below(path: list[str], environment: Environment) -> str:
    """What `event.a.b` is: a root, an attribute, or something in the payload."""
    first, *rest = path
    aliases = environment.words.aliases
    if environment.root(first) is not None and first != environment.record:
        return ".".join(path)
    if first in aliases and (rest or not environment.record):
        return ".".join((aliases[first], *rest))
    holder = environment.payload if rest or not environment.record else environment.record
    return ".".join((holder, *path)) if holder else ""


def path_help(path: list[str]) -> str:
    """Help for a path from the whole event, as `$.data.a` is."""
    return did_you_mean(_below(path, CLOUD_EVENT)) if path else ""


def infix_help(word: str) -> str:
    """Help for a function that stands between two values; `word` is in lower case."""
    plain = word.replace("_", "")
    meant = _SYNONYMS.get(plain) or {name.lower(): name for name, method in BY_CALL if method}.get(plain)
    return _FORMS.get(plain) or (f"write x.{meant}(...)" if meant else "")


def type_help(args: Iterable[Expr], environment: Environment) -> str:
    """Help for a type where another value is wanted: `type` by itself, or a type's name in quotes."""
    names = [e.name for e in args if isinstance(e, Ident)]
    record = environment.record_type
    if "type" in names and record is not None and record.declared("type") is not None:
        return f"{did_you_mean(f'{environment.record}.type')} 'type' by itself is a type"
    texts = [e.value for e in args if isinstance(e, Lit) and isinstance(e.value, str) and e.value in TYPE_NAMES]
    return f"write {texts[0]} without quotes" if texts else ""


def function_help(name: str, *, method: bool) -> str:
    """Help for a function that is none; `method`: it was called as `x.f()`."""
    word = name.lower().replace("_", "")
    if word in _FORMS:
        return _FORMS[word]
    meant = _SYNONYMS.get(word) or closest(name, sorted({known for known, _ in BY_CALL if known[0].isalpha()}))
    if not meant or (meant, method) in BY_CALL or (meant in _MACROS and method):
        return did_you_mean(meant)
    return f"write {meant}(...)" if method else f"write x.{meant}(...)"
