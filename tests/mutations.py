"""Mutations of filters: texts, and documents that hold filters, bent out of shape. Deterministic by their number.

What is bent are the expressions and documents of the published vectors that are present, and of our own case files.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import yaml
from admission_vectors import HOSTILE, SOUND
from conftest import REPOSITORY
from tricel.compiler import Expr, Source, parse, unparse
from tricel.compiler.functions import ALL
from tricel.compiler.nodes import (
    Bind,
    Call,
    Comprehension,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MacroKind,
    Select,
    children,
    transform,
    variables,
    walk,
    with_children,
)

TextChange: TypeAlias = "Callable[[str, Random], str]"
TreeChange: TypeAlias = "Callable[[Expr, Random], Expr]"
Document: TypeAlias = Any

_TEXT_KEYS = frozenset({"expr", "expression", "filter", "where", "cesql", "rule"})
_DOCUMENT_KEYS = frozenset({"filter", "filters", "trigger", "old_trigger", "exact", "any", "all", "not"})
_TOKEN = re.compile(r"""[A-Za-z_]\w*|\d+\.\d+|\d+u?|"[^"\n]*"|'[^'\n]*'|&&|\|\||[=!<>]=|\s+|.""", re.DOTALL)
_ROOTS = frozenset({"ce", "data"})
_PATHS = (
    *("data", "data.a", "data.b.c", "data.l[0]", "data.i", "data.d", "data.s", "data.t", "data.li", "data.lo[0].v"),
    *("data.o.x", "data.m", 'data["k y"]', "data.?z", "data.?o.?x", "data[?0]", "data.v", "data.ls"),
    *("ce", "ce.type", "ce.subject", "ce.time", "ce.tenant", "ce.prio", 'ce["flag"]', "ce.?myext", "ce.at", "ce.vip"),
)
_LEAVES = (
    *("0", "1", "-1", "0u", "1u", "1.0", "-0.0", "1e308", "5e-324", "9223372036854775807", "-9223372036854775808"),
    *("18446744073709551615u", "9007199254740993", "true", "false", "null", '""', '"a"', "b''", "b'\\xff'", "[]", "{}"),
    *("optional.none()", 'timestamp("2024-01-02T03:04:05Z")', 'duration("1h")', "int", "string", 'r"\\d"', '"😀"'),
)
_ODD = (
    *(
        "\0",
        "\t",
        "\r",
        "\n",
        "\u2028",
        "\ufeff",
        "\u202e",
        "\u200d",
        "\u0301",
        "é",
        "😀",
        "\U0010ffff",
        "\ud800",
        "\udfff",
    ),
    *(
        "\x7f",
        "\x85",
        "\xa0",
        "’",
        "“",
        "ſ",
        "İ",
        "\\",
        "\\u",
        "\\x0",
        "\\777",
        '"',
        "'",
        '"""',
        "`",
        "$",
        "${x}",
        "//",
    ),
    *(
        "?",
        ".?",
        "[?",
        "{?",
        "#",
        "@",
        ";",
        "--",
        "/*",
        "*/",
        "%s",
        "{}",
        "\\N",
        "0x",
        "0xg",
        "1e",
        "1.",
        ".5",
        "u",
        "r'",
    ),
)
_WORDS = (
    *("==", "!=", "<", ">=", "&&", "||", "!", "-", "+", "*", "/", "%", "in", "?", ":", ".", ",", "(", ")", "[", "]"),
    *("{", "}", "has(", "true", "null", "dyn(", "type(", "cel.bind(x, ", ".exists(x, ", ".map(x, ", ".optMap(x, "),
)
_DEPTHS = (2, 5, 20, 45, 60, 95, 101, 400, 3_000)
_LARGEST, _DEEPEST = 3_000, 150
_NUMBERS = (0, 1, 9, 63, 64, 127, 1_000, 4_000)


def _vectors() -> Iterator[Path]:
    folder = Path(os.environ.get("TRICEL_CONFORMANCE") or REPOSITORY.parent / "shared" / "conformance")
    yield from sorted(folder.glob("*.json"))


def _found(value: Document, key: str = "") -> Iterator[tuple[str, Document]]:
    """All that a document holds, each with the key that it is under."""
    yield key, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _found(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _found(inner, key)


@cache
def _loaded() -> tuple[tuple[str, Document], ...]:
    found = [pair for path in _vectors() for pair in _found(json.loads(path.read_text(encoding="utf-8")))]
    for path in sorted((REPOSITORY / "tests" / "cases" / "dialects").glob("*/*.yaml")):
        found += _found(yaml.safe_load(path.read_text(encoding="utf-8")))
    return tuple(found)


@cache
def texts() -> tuple[str, ...]:
    """The expressions."""
    found = [v for key, v in _loaded() if key in _TEXT_KEYS and isinstance(v, str) and v]
    cases = REPOSITORY / "tests" / "cases"
    for path in sorted((*cases.glob("*/*.cel"), *cases.glob("*/*.txt"))):
        for line in path.read_text(encoding="utf-8").splitlines():
            found += [part.strip() for part in re.split(r"=>| \| ", line)[:2] if part.strip() and line[:1] != "#"]
    found += [v for _, _, value in HOSTILE for k, v in _found(value) if k == "expression" and isinstance(v, str)]
    found += [example for row in ALL for example, _ in row.examples]
    return tuple(dict.fromkeys(text for text in found if len(text) < 2_000))


@cache
def trees() -> tuple[Expr, ...]:
    """The expressions that are CEL, over the roots of an event: another name is a field of the data."""
    found = [parse(Source(text))[0] for text in texts()]
    return tuple(dict.fromkeys(rooted(e) for e in found if e is not None))


@cache
def documents() -> tuple[Document, ...]:
    """Triggers, filters and parts of them."""
    found = [v for key, v in _loaded() if key in _DOCUMENT_KEYS and isinstance(v, dict | list) and v]
    found += [v for _, _, v in HOSTILE if len(json.dumps(v)) < 5_000] + [
        v for _, v in SOUND if len(json.dumps(v)) < 5_000
    ]
    return tuple({json.dumps(v, sort_keys=True): v for v in found}.values())


def rooted(e: Expr, bound: frozenset[str] = frozenset()) -> Expr:
    """`e` with each name that is nothing in an event as a field of the data."""
    if isinstance(e, Ident):
        known = e.name in bound or e.name in _ROOTS or e.name in ("int", "uint", "double", "string", "bool", "bytes")
        return e if known or "." in e.name else Select(Ident("data"), e.name)
    inner = bound | variables(e)
    if isinstance(e, Call) and isinstance(e.target, Ident) and e.target.name in ("math", "optional", "lists", "sets"):
        return replace(e, args=tuple(rooted(a, bound) for a in e.args))
    if isinstance(e, Call) and isinstance(e.target, Ident) and e.target.name in ("strings", "base64", "regex", "cel"):
        return replace(e, args=tuple(rooted(a, bound) for a in e.args))
    return with_children(e, tuple(rooted(c, inner if i else bound) for i, c in enumerate(children(e))))


def mutation(number: int) -> str:
    """One bent expression; the same for the same number."""
    random = Random(f"text {number}")
    if random.random() < 0.75:
        e = random.choice(trees())
        for _ in range(random.choice((1, 1, 2, 3))):
            changed = random.choice(_TREE_CHANGES)(e, random)
            e = changed if _size(changed) <= _LARGEST else e
        text = _as_test(unparse(e), e, random)
        return text if random.random() < 0.9 else random.choice(_TEXT_CHANGES)(text, random)
    text = random.choice(texts())
    for _ in range(random.choice((1, 1, 2, 3))):
        text = random.choice(_TEXT_CHANGES)(text, random)
    return text


def _as_test(text: str, e: Expr, random: Random) -> str:
    """The text, compared with something where it is not likely to be a bool."""
    logic = isinstance(e, Call) and e.function.strip("_!") in ("==", "!=", "<", "<=", ">", ">=", "&&", "||", "@in", "")
    if logic or random.random() < 0.3:
        return text
    shape = random.choice(
        ("{0} == {1}", "dyn({0}) == {1}", "({0}) != {1} && ({0}) != null", "{1} in [{0}]", "[{0}] == []")
    )
    return shape.format(text if shape.startswith("dyn") else f"({text})", random.choice((*_PATHS, *_LEAVES)))


def _size(e: Expr) -> int:
    """The nodes of `e`; many where it is too deep to be written."""
    level, count, depth = [e], 0, 0
    while level and depth < _DEEPEST:
        count, depth = count + len(level), depth + 1
        level = [c for n in level for c in children(n)]
    return count if not level else _LARGEST + 1


def _nodes(e: Expr) -> list[Expr]:
    return list(walk(e))


def _put(e: Expr, position: int, new: Expr) -> Expr:
    """`e` with another node at a position, in the order of `walk`."""
    count = -1

    def visit(node: Expr) -> Expr:
        nonlocal count
        count += 1
        if count == position:
            count += len(_nodes(node)) - 1
            return new
        return with_children(node, tuple([visit(c) for c in children(node)]))

    return visit(e)


def _splice(e: Expr, random: Random) -> Expr:
    part = random.choice(_nodes(random.choice(trees())))
    return _put(e, random.randrange(len(_nodes(e))), part)


def _read_event(e: Expr, random: Random) -> Expr:
    """Something of the event, or an odd leaf, in the place of a leaf."""
    nodes = _nodes(e)
    leaves = [i for i, n in enumerate(nodes) if isinstance(n, Lit)] or list(range(len(nodes)))
    found, _ = parse(Source(random.choice(_PATHS if random.random() < 0.7 else _LEAVES)))
    assert found is not None
    return _put(e, random.choice(leaves), found)


def _swap(e: Expr, random: Random) -> Expr:
    return _at(e, random, lambda n: len(children(n)) > 1, lambda n: with_children(n, children(n)[::-1]))


def _rename(e: Expr, random: Random) -> Expr:
    """Another function, with as many operands or not."""
    row = random.choice(ALL)

    def other(n: Expr) -> Expr:
        assert isinstance(n, Call)
        if row.member and n.target is None and n.args:
            return replace(n, function=row.function, target=n.args[0], args=n.args[1:])
        if not row.member and n.target is not None:
            return replace(n, function=row.function, target=None, args=(n.target, *n.args))
        return replace(n, function=row.function)

    many = {"_&&_", "_||_"}
    if row.function in many:
        return e
    wanted = len(row.params)
    return _at(
        e, random, lambda n: isinstance(n, Call) and n.function not in many and len(children(n)) == wanted, other
    )


def _wrap(e: Expr, random: Random) -> Expr:
    """A call around a part, whose other operands are parts of others."""
    row = random.choice(ALL)
    if row.function in ("_&&_", "_||_") or row.function.startswith("@") or not row.params:
        return e
    position = random.randrange(len(_nodes(e)))
    operands = [random.choice(_nodes(random.choice(trees()))) for _ in row.params]
    operands[random.randrange(len(operands))] = _nodes(e)[position]
    call = Call(row.function, tuple(operands[1:]), operands[0]) if row.member else Call(row.function, tuple(operands))
    return _put(e, position, call)


def _loop(e: Expr, random: Random) -> Expr:
    """A macro around a part, over a part of another."""
    position = random.randrange(len(_nodes(e)))
    macro, second = random.choice(tuple(MacroKind)), random.choice(("", "", "j"))
    over = random.choice(_nodes(random.choice(trees())))
    if macro in (MacroKind.TRANSFORM_LIST, MacroKind.TRANSFORM_MAP, MacroKind.TRANSFORM_MAP_ENTRY):
        second = "j"
    elif macro not in (MacroKind.ALL, MacroKind.EXISTS, MacroKind.EXISTS_ONE):
        second = ""
    variable = random.choice(("x", "data", "ce", "i", "optional", "v1"))
    body = _with_variable(_nodes(e)[position], variable, random)
    around: Expr = Comprehension(macro, over, variable, body, None, second)
    if random.random() < 0.2:
        around = Bind(variable, over, body)
    return _put(e, position, around)


def _with_variable(e: Expr, variable: str, random: Random) -> Expr:
    leaves = [i for i, n in enumerate(_nodes(e)) if not children(n)]
    return _put(e, random.choice(leaves), Ident(variable)) if random.random() < 0.8 else e


def _other_macro(e: Expr, random: Random) -> Expr:
    macro = random.choice(tuple(MacroKind))
    return _at(e, random, lambda n: isinstance(n, Comprehension), lambda n: replace(n, macro=macro))  # type: ignore[type-var]


def _up(e: Expr, random: Random) -> Expr:
    """A part in the place of what it is a part of."""
    return _at(e, random, lambda n: bool(children(n)), lambda n: random.choice(children(n)))


def _fewer_or_more(e: Expr, random: Random) -> Expr:
    def change(n: Expr) -> Expr:
        match n:
            case Call(args=args) if "_" not in n.function and "@" not in n.function:
                return replace(n, args=args[1:] if random.random() < 0.5 else (*args, *args[-1:]))
            case ListExpr(items=items):
                return ListExpr(items[1:] if random.random() < 0.5 else items * random.choice((2, 12)))
            case _:
                return n

    return _at(e, random, lambda n: isinstance(n, Call | ListExpr), change)


def _optional(e: Expr, random: Random) -> Expr:
    def change(n: Expr) -> Expr:
        match n:
            case Select():
                return replace(n, optional=not n.optional)
            case Call(function="_[_]"):
                return replace(n, function="_[?_]")
            case Call(function="_[?_]"):
                return replace(n, function="_[_]")
            case Has(operand=operand, field=field):
                return Select(operand, field, optional=True)
            case ListExpr(items=items):
                return ListExpr(items, frozenset(range(len(items))))
            case _:
                return Call("orValue", (Ident("data"),), n)

    return _at(e, random, lambda n: isinstance(n, Select | Has | ListExpr | Call), change)


def _constants(e: Expr, random: Random) -> Expr:
    """Other values of the same kind in the places of literals."""

    def change(n: Expr) -> Expr:
        match n:
            case Lit(kind=LitKind.INT):
                return replace(n, value=random.choice((0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 10_000)))
            case Lit(kind=LitKind.UINT):
                return replace(n, value=random.choice((0, 1, 2**63, 2**64 - 1)))
            case Lit(kind=LitKind.DOUBLE):
                return replace(n, value=random.choice((0.0, -0.0, 5e-324, 1e308, 0.1, 2.0**63, -(2.0**63))))
            case Lit(kind=LitKind.STRING):
                return replace(
                    n, value=random.choice(("", "a", "\0", "(", "[a-", "%d%s", "x" * 3_000, "😀", "Europe/Berlin"))
                )
            case _:
                return n

    return transform(e, change)


def _dynamic(e: Expr, random: Random) -> Expr:
    """Parts of which the checker knows nothing."""
    often = random.choice((0.1, 0.5))
    return transform(e, lambda n: Call("dyn", (n,)) if random.random() < often else n)


def _nest(e: Expr, random: Random) -> Expr:
    """A part within itself, several times."""
    position = random.randrange(len(_nodes(e)))
    whole = e
    for _ in range(random.choice((1, 2, 4, 8, 17))):
        whole = _put(e, position, whole)
    return whole


def _at(e: Expr, random: Random, fits: Callable[[Expr], bool], change: Callable[[Expr], Expr]) -> Expr:
    """`e` with one of the nodes that fit changed."""
    nodes = _nodes(e)
    places = [i for i, n in enumerate(nodes) if fits(n)]
    if not places:
        return e
    position = random.choice(places)
    return _put(e, position, change(nodes[position]))


_TREE_CHANGES: tuple[TreeChange, ...] = (
    *(_splice, _splice, _read_event, _read_event, _read_event, _swap, _rename, _rename, _wrap, _wrap, _loop, _loop),
    *(_other_macro, _up, _fewer_or_more, _optional, _constants, _nest, _dynamic, _dynamic, _dynamic),
)


def tokens(text: str) -> list[str]:
    """The text in parts that mean something."""
    return _TOKEN.findall(text)


def _on_tokens(change: Callable[[list[str], int, Random], None]) -> TextChange:
    def run(text: str, random: Random) -> str:
        parts = tokens(text)
        if parts:
            change(parts, random.randrange(len(parts)), random)
        return "".join(parts)

    return run


def _delete(parts: list[str], i: int, random: Random) -> None:
    del parts[i : i + random.choice((1, 1, 2, 5))]


def _duplicate(parts: list[str], i: int, random: Random) -> None:
    parts[i:i] = parts[i : i + random.choice((1, 1, 3))] * random.choice((1, 1, 2, 50))


def _exchange(parts: list[str], i: int, random: Random) -> None:
    j = random.randrange(len(parts))
    parts[i], parts[j] = parts[j], parts[i]


def _insert(parts: list[str], i: int, random: Random) -> None:
    others = tokens(random.choice(texts()))
    parts.insert(
        i, random.choice((random.choice(_WORDS), random.choice(_ODD), random.choice(others), random.choice(_PATHS)))
    )


def _odd(parts: list[str], i: int, random: Random) -> None:
    at = random.randrange(len(parts[i]) + 1)
    parts[i] = parts[i][:at] + random.choice(_ODD) + parts[i][at:]


def _huge(parts: list[str], i: int, random: Random) -> None:
    n = random.choice(_NUMBERS)
    parts[i] = random.choice(
        ("9" * n, f"1e{n}", "0x" + "f" * n, f'"{"a" * n}"', "a" * n, f'"{chr(92)}{"x41" * n}"', f"{'9' * n}u")
    )


def _deep(text: str, random: Random) -> str:
    n = random.choice(_DEPTHS)
    before, after = random.choice(
        (
            *(("(", ")"), ("!", ""), ("-", ""), ("[", "]"), ("dyn(", ")"), ("{'a': ", "}"), ("[1].exists(x, ", ")")),
            *(
                ("true ? ", " : false"),
                ("cel.bind(x, 1, ", ")"),
                ("", ".a"),
                ("", "[0]"),
                ("", ".?a"),
                ("", " + 1"),
                ("", " || a"),
            ),
        )
    )
    return before * n + text + after * n


def _cut(text: str, random: Random) -> str:
    i, j = sorted(random.randrange(len(text) + 1) for _ in "ab")
    return text[:i] + text[j:]


def _joined(text: str, random: Random) -> str:
    return text + random.choice((" && ", " || ", " == ", "", ".", " in ", " ? ", "+")) + random.choice(texts())


_TEXT_CHANGES: tuple[TextChange, ...] = (
    *map(_on_tokens, (_delete, _duplicate, _exchange, _insert, _insert, _odd, _huge)),
    *(_deep, _cut, _joined),
)


def mutated_document(number: int) -> Document:
    """One bent document; the same for the same number."""
    random = Random(f"document {number}")
    value = copy.deepcopy(random.choice(documents()))
    for _ in range(random.choice((1, 1, 2, 3))):
        value = _document_change(value, number, random)
    return value


def _document_change(value: Document, number: int, random: Random) -> Document:
    places = list(_places(value))
    if not places:
        return value
    holder, key = random.choice(places)
    inner = holder[key]
    match random.randrange(8):
        case 0:
            holder[key] = copy.deepcopy(random.choice(_WRONG))
        case 1:
            holder[key] = copy.deepcopy(random.choice(documents()))
        case 2:
            for _ in range(random.choice((1, 2, 20, 120))):
                inner = random.choice(({"not": inner}, {"any": [inner]}, {"all": [inner]}, [inner]))
            holder[key] = inner
        case 3 if isinstance(holder, dict):
            holder[random.choice((*_DOCUMENT_NAMES, *_ODD, "x" * 300))] = holder.pop(key)
        case 4 if isinstance(holder, dict):
            holder[random.choice(_DOCUMENT_NAMES)] = copy.deepcopy(inner)
        case 5 if isinstance(holder, list):
            holder[key:key] = [inner] * random.choice((1, 40))
        case 6:
            holder[key] = {"expression": mutation(number)}
        case _:
            holder[key] = mutation(number) if isinstance(inner, str) else random.choice(_ODD)
    return value


_WRONG: Sequence[Document] = (
    *(None, True, False, 0, -1, 2**70, 1.5, float("inf"), float("nan"), "", "a", [], {}, [None], [[]], [{}], {"": ""}),
    *({"a": None}, {1: 2}, {None: 1}, {True: False}, {"a": b"x"}, {"a": {1, 2}}, ("a",), "\ud800", "x" * 5_000, object),
)
_DOCUMENT_NAMES = (
    *("filter", "filters", "exact", "prefix", "suffix", "all", "any", "not", "cesql", "attributes", "expression"),
    *(
        "sourceAndType",
        "spec",
        "kind",
        "apiVersion",
        "metadata",
        "name",
        "broker",
        "subscriber",
        "type",
        "time",
        "data",
    ),
)


def _places(value: Document) -> Iterator[tuple[Any, Any]]:
    """Each place in a document: what holds it, and its key or index."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inner:
        yield value, key
        yield from _places(held)
