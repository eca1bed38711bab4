"""What RE2 refuses is refused at compile time, and the diagnostic stands under the character that is wrong."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from conftest import REPOSITORY
from tricel.compiler import CLOUD_EVENT, CompileError, Source, check, check_filter, parse
from tricel.compiler.diagnostics import Diagnostic
from tricel.compiler.literals import places, quoted, string_value
from tricel.compiler.patterns import PATTERN_ARGUMENT, Literal, Refused, literal_of, refusal, searcher

from tricel import compile_filter

REFUSED: list[dict[str, Any]] = json.loads((REPOSITORY / "tests/cases/regex/refused.json").read_text(encoding="utf-8"))
CALLS = {
    "matches": "ce.type.matches({})",
    "regex.replace": "regex.replace(ce.type, {}, 'x') == 'y'",
    "regex.extract": "regex.extract(ce.type, {}).hasValue()",
    "regex.extractAll": "size(regex.extractAll(ce.type, {})) == 1",
}


def reported(text: str) -> Diagnostic:
    _, diagnostics = check_filter(text)
    (found,) = [d for d in diagnostics if d.code == "TRI208"]
    return found


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: ascii(row["pattern"]))
def test_the_place_is_that_of_the_character(row: dict[str, Any]) -> None:
    pattern, offset = row["pattern"], row["offset"]
    raw = reported(f'true &&\n  ce.type.matches(r"""{pattern}""")')
    escaped = reported(f"ce.type.matches({quoted(pattern)})")
    assert (2, 23 + offset) == (raw.source.position(raw.span.start).line, raw.source.position(raw.span.start).column)
    assert pattern[offset] == raw.source.text[raw.span.start : raw.span.end]
    assert pattern[offset] == string_value('"' + escaped.source.text[escaped.span.start : escaped.span.end] + '"')
    assert " of the pattern" not in raw.message + escaped.message


@pytest.mark.parametrize("function", PATTERN_ARGUMENT)
def test_every_function_that_takes_a_pattern_refuses_it(function: str) -> None:
    found = reported(CALLS[function].format("'a(b'"))
    assert "(" == found.source.text[found.span.start : found.span.end][:1]
    assert found.source.text[: found.span.start].endswith("'a")


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (r"ce.type.matches('\x61\u00e9(')", "("),
        (r"ce.type.matches('\x28a')", r"\x28"),
        (r"ce.type.matches('\U0001F600\050')", r"\050"),
        ("ce.type.matches('''a\r\n(''')", "("),
        (r"ce.type.matches('a\\')", r"\\"),
        (r"ce.type.matches(R'a\')", "\\"),
        (r"ce.type.matches(('['))", "["),
        ("ce.type.matches('日本(')", "("),
    ],
)
def test_the_place_is_found_through_escapes(text: str, marked: str) -> None:
    found = reported(text)
    assert marked == found.source.text[found.span.start : found.span.end]


@pytest.mark.parametrize(
    "literal", [r"'a\x41\n\\b'", "r'a\\x41'", "'''a\r\nb'''", '"""\\U0001F600é"""', "''", r"'\101\?'"]
)
def test_places_are_one_for_each_code_point_and_the_end(literal: str) -> None:
    found = places(literal)
    assert len(string_value(literal)) + 1 == len(found)
    assert sorted(set(found)) == list(found)


def test_a_pattern_that_is_not_written_as_a_literal_names_its_character() -> None:
    text = "ce.type.matches(  'ab(' )"
    expr, _ = parse(Source(text))
    assert expr is not None
    (found,) = check(expr, CLOUD_EVENT, Source("type: ab(")).diagnostics
    assert "not an RE2 pattern: missing ): ab(, at character 3 of the pattern" == found.message


def test_half_a_surrogate_pair_is_no_pattern() -> None:
    assert refusal("ab\ud800") == Refused("not a text: it holds half of a surrogate pair", 2)


def test_a_wrong_pattern_is_a_compile_error() -> None:
    with pytest.raises(CompileError, match="TRI208"):
        compile_filter("ce.type.matches('a**')")
    compile_filter("ce.type.matches('a*' + '*')")  # computed: an evaluation error, as the language has it


PIECES = (
    "a",
    "b",
    "^",
    "$",
    "|",
    "(",
    ")",
    "?",
    "*",
    "[",
    "]",
    r"\.",
    ".",
    "{0}",
    r"\Q",
    r"\E",
    "+",
    "(?:",
    r"\|",
    r"\b",
    "(?i)",
)


def test_a_pattern_is_known_by_how_it_begins() -> None:
    """Held against RE2: a pattern that is but an anchored text, and one that texts must begin with."""
    random, held = Random(1), 0
    for _ in range(20_000):
        pattern = "".join(random.choices(PIECES, k=random.randint(0, 6)))
        found = literal_of(pattern) if refusal(pattern) is None else None
        if found is None:
            continue
        search, text = searcher(pattern), found.text
        for tried in ("".join(random.choices("ab.|QA", k=random.randint(0, 4))) for _ in range(20)):
            held += 1
            match found:
                case Literal(anchored=True, rest="$"):
                    assert (tried == text) is search(tried), (pattern, tried)
                case Literal(anchored=False, rest="$"):
                    assert tried.endswith(text) is search(tried), (pattern, tried)
                case Literal(anchored=False, rest=""):
                    assert (text in tried) is search(tried), (pattern, tried)
                case Literal(anchored=True, rest=rest):
                    assert tried.startswith(text) or not search(tried), (pattern, tried)
                    assert rest or search(tried) is tried.startswith(text), (pattern, tried)
    assert held > 10_000


@pytest.mark.parametrize(
    ("pattern", "begins"),
    [
        (r"^com\.a$", ("com.a", "$")),
        ("^ab?c", ("a", "?c")),
        ("^a[|]", ("a", "[|]")),
        ("^a|b", None),
        ("^a(b|c)", ("a", "(b|c)")),
    ],
)
def test_how_a_pattern_begins(pattern: str, begins: tuple[str, str] | None) -> None:
    found = literal_of(pattern)
    assert begins == (found and (found.text, found.rest))
