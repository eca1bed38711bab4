"""What diagnostics look like in every output format."""

from __future__ import annotations

import json
import unicodedata
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tricel.compiler.diagnostics import Diagnostic, as_concise, as_github, as_json, as_sarif, as_text
from tricel.compiler.manifests.trigger import read_manifests
from tricel.compiler.source import NOWHERE, Source, Span

FORMATS = ("text", "concise", "json", "github", "sarif")
SOURCE = Source('filter:\n  ce.source.startWith("x")\n', "a b/t.yaml")
UNKNOWN = Diagnostic("TRI203", "unknown function 'startWith'", SOURCE, Span(20, 29), "did you mean 'startsWith'?")
WARNING = Diagnostic("TRI339", "100% old, a:b", SOURCE, Span(0, 6))


def mark(text: str, start: int, end: int) -> list[str]:
    """The quoted line and the line of marks, without the margin."""
    lines = as_text.render([Diagnostic("TRI101", "m", Source(text, "f"), Span(start, end))]).split("\n")
    return [line.partition("|")[2][1:] for line in lines[3:5]]


def test_text() -> None:
    expected = """\
error[TRI203]: unknown function 'startWith'
 --> a b/t.yaml:2:13
  |
2 |   ce.source.startWith("x")
  |             ^^^^^^^^^
  = help: did you mean 'startsWith'?

warning[TRI339]: 100% old, a:b
 --> a b/t.yaml:1:1
  |
1 | filter:
  | ^^^^^^"""
    assert expected == as_text.render([UNKNOWN, WARNING])


def test_text_of_a_folded_expression_is_quoted_by_itself() -> None:
    manifest = """\
apiVersion: tricel.dev/v1alpha1
kind: Trigger
metadata: {name: t}
spec:
  broker: default
  subscriber: {uri: "http://x/"}
  filter:
    expression: >
      ce.source.match(
      ce.type)
"""
    (trigger,), _ = read_manifests(Source(manifest, "trigger.yaml"))
    expected = """\
error[TRI342]: 'match' takes one glob, written as a string literal
 --> trigger.yaml:8 spec.filter.expression
  |
1 | ce.source.match( ce.type)
  | ^^^^^^^^^^^^^^^^^^^^^^^^^
  = help: write x.match("prefix*"), or use matches(), which takes any pattern"""
    assert expected == as_text.render(trigger.translation.diagnostics)
    concise = "trigger.yaml:8:17: error[TRI342]: 'match' takes one glob, written as a string literal"
    assert concise == as_concise.render(trigger.translation.diagnostics)
    (found,) = json.loads(as_json.render(trigger.translation.diagnostics))
    assert ("spec.filter.expression", 8, 17) == (found["field"], found["line"], found["column"])
    (result,) = json.loads(as_sarif.render(trigger.translation.diagnostics))["runs"][0]["results"]
    assert [{"fullyQualifiedName": "spec.filter.expression"}] == result["locations"][0]["logicalLocations"]


def test_text_without_a_source_text_has_no_quotation() -> None:
    found = Diagnostic("TRI601", "no file", Source("", "events/"), NOWHERE, "check the path")
    assert "error[TRI601]: no file\n --> events/\n = help: check the path" == as_text.render([found])


def test_the_mark_stands_below_what_it_marks() -> None:
    assert ["abc", "^^^"] == mark("abc", 0, 3)
    assert ["a bc", "  ^"] == mark("a\tbc", 2, 3)
    assert ["日本 x", "     ^"] == mark("日本 x", 3, 4)
    assert ["日本 x", "^^^^"] == mark("日本 x", 0, 2)
    assert ["e\u0301x", " ^"] == mark("e\u0301x", 2, 3)
    assert ["abc", "   ^"] == mark("abc", 3, 3)
    assert ["abc", " ^^"] == mark("abc\ndef", 1, 7)
    assert ["abc", "   ^"] == mark("abc\r\ndef", 3, 5)
    assert ["abc", "   ^"] == mark("abc", 90, 95)


def test_hidden_characters_are_shown_by_number() -> None:
    assert ["a<U+202E>b<U+001B>[2J", "         ^"] == [mark("a\u202eb\x1b[2J", 2, 3)[0], mark("a\u202eb", 2, 3)[1]]
    assert ["<U+200B>", "^^^^^^^^"] == mark("\u200b", 0, 1)


def test_a_long_line_is_cut_around_the_mark() -> None:
    line, marks = mark("x" * 5_000 + "HERE" + "y" * 5_000, 5_000, 5_004)
    assert (106, "HERE") == (len(line), line[marks.index("^") : len(marks)])
    assert ("...", "...") == (line[:3], line[-3:])
    line, marks = mark("x" * 5_000, 10, 4_000)
    assert len(marks) <= len(line)
    line, marks = mark("x" * 5_000, 5_000, 5_000)
    assert ("...", "^", len(line) + 1) == (line[:3], marks.strip(), len(marks))


def test_concise() -> None:
    expected = """\
a b/t.yaml:2:13: error[TRI203]: unknown function 'startWith'
a b/t.yaml:1:1: warning[TRI339]: 100% old, a:b"""
    assert expected == as_concise.render([UNKNOWN, WARNING])


def test_json() -> None:
    expected = {
        "code": "TRI203",
        "severity": "error",
        "message": "unknown function 'startWith'",
        "help": "did you mean 'startsWith'?",
        "file": "a b/t.yaml",
        "field": "",
        "line": 2,
        "column": 13,
        "endLine": 2,
        "endColumn": 22,
    }
    assert [expected] == json.loads(as_json.render([UNKNOWN]))
    assert [] == json.loads(as_json.render([]))


def test_github() -> None:
    source = Source("x\n", "a,b:c.yaml")
    expected = (
        "::error file=a b/t.yaml,line=2,col=13,title=TRI203::"
        "unknown function 'startWith'; did you mean 'startsWith'?\n"
        "::warning file=a b/t.yaml,line=1,col=1,title=TRI339::100%25 old, a:b\n"
        "::error file=a%2Cb%3Ac.yaml,line=1,col=1,title=TRI101::a<U+000A>::warning::b"
    )
    split = Diagnostic("TRI101", "a\n::warning::b", source, Span(0, 2))
    assert expected == as_github.render([UNKNOWN, WARNING, split])


def test_sarif() -> None:
    log = json.loads(as_sarif.render([UNKNOWN, WARNING, UNKNOWN]))
    (run,) = log["runs"]
    assert "2.1.0" == log["version"]
    assert ["TRI203", "TRI339"] == [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert ["TRI203", "TRI339", "TRI203"] == [result["ruleId"] for result in run["results"]]
    assert ["error", "warning", "error"] == [result["level"] for result in run["results"]]
    physical = run["results"][0]["locations"][0]["physicalLocation"]
    assert {"uri": "a%20b/t.yaml"} == physical["artifactLocation"]
    assert {"startLine": 2, "startColumn": 13, "endLine": 2, "endColumn": 22} == physical["region"]
    assert [] == json.loads(as_sarif.render([]))["runs"][0]["results"]


def test_sarif_of_an_absolute_path() -> None:
    found = Diagnostic("TRI301", "m", Source("x", "/a/ü.yaml"), NOWHERE)
    (result,) = json.loads(as_sarif.render([found]))["runs"][0]["results"]
    assert "file:///a/%C3%BC.yaml" == result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


HOSTILE = st.text(max_size=60) | st.sampled_from(["\ud800", "\u202e\n\r\x1b[31m", "\u2028", "%0A::error::", "\t" * 200])


@pytest.mark.parametrize("name", FORMATS)
@given(HOSTILE, HOSTILE, HOSTILE, st.integers(0, 80), st.integers(0, 80))
def test_no_renderer_raises_or_prints_what_hides(name: str, text: str, message: str, file: str, a: int, b: int) -> None:
    span = Span(min(a, b), max(a, b))
    child = Source(message, file, "spec.filter.expression", Source(text, file), Span(0, len(text)))
    found = [Diagnostic("TRI101", message, Source(text, file), span, text), Diagnostic("TRI101", text, child, span)]
    shown = import_module(f"tricel.compiler.diagnostics.as_{name}").render(found)
    assert set() == {c for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    if name in ("concise", "github"):
        assert 2 == len(shown.split("\n"))
