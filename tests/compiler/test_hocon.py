"""HOCON: the rules of its specification, what EMQX has otherwise, positions, and texts that are meant to do harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tricel.compiler import Source
from tricel.compiler.diagnostics import Diagnostic
from tricel.compiler.diagnostics.as_text import render
from tricel.compiler.documents.document import Place, Scalar, embedded, items, member, plain, root
from tricel.compiler.documents.hocon import MAX_PROBLEMS, read_hocon


def read(text: str) -> tuple[Any, list[str]]:
    """The value, None for a refused text, and the codes."""
    document, found = read_hocon(Source(text, "t.conf"))
    return None if document is None else plain(document.value), [d.code for d in found]


def findings(text: str) -> tuple[Diagnostic, ...]:
    return read_hocon(Source(text, "t.conf"))[1]


AS_SPECIFIED: list[tuple[str, Any]] = [
    ("", {}),
    ("  # nothing\n// at all", {}),
    ("{}", {}),
    ("[]", []),
    ("[1, 2]", [1, 2]),
    ("{a: 1}", {"a": 1}),
    ("a: 1, b = 2", {"a": 1, "b": 2}),
    ("a: 1\n\n,\n b = 2,", {"a": 1, "b": 2}),
    ("\ufeffa = 1", {"a": 1}),
    ("a {b: 1}", {"a": {"b": 1}}),
    ("a\n{b: 1}", {"a": {"b": 1}}),
    ("a =\n  1", {"a": 1}),
    ("a.b.c = 1", {"a": {"b": {"c": 1}}}),
    ('"a.b".c = 1', {"a.b": {"c": 1}}),
    ('a."b.c".d = 1', {"a": {"b.c": {"d": 1}}}),
    ('a.""  = 1', {"a": {"": 1}}),
    ("3.14 = 1", {"3": {"14": 1}}),
    ("true = 1", {"true": 1}),
    ('foo"10.0" = 1', {"foo10.0": 1}),
    ("10.0foo = 1", {"10": {"0foo": 1}}),
    ("a = {x: 1}\na = {y: 2}", {"a": {"x": 1, "y": 2}}),
    ("a = {x: 1}\na = null\na = {y: 2}", {"a": {"y": 2}}),
    ("a.x = 1, a.y = 2", {"a": {"x": 1, "y": 2}}),
    ("a = {x: {p: 1}}\na = {x: {q: 2}}", {"a": {"x": {"p": 1, "q": 2}}}),
    ("a = 1\na = 2", {"a": 2}),
    ("a = {b: 1}\na = 2", {"a": 2}),
    ("a = true\nb = false\nc = null", {"a": True, "b": False, "c": None}),
    ("a = 1e3\nb = -0.5\nc = 12", {"a": 1000.0, "b": -0.5, "c": 12}),
    ("a = truefoo\nb = footrue\nc = 10.0bar", {"a": "truefoo", "b": "footrue", "c": "10.0bar"}),
    ("a = 15s\nb = 80%\nc = 1MB\nd = 5d", {"a": "15s", "b": "80%", "c": "1MB", "d": "5d"}),
    ("a = a/b", {"a": "a/b"}),
    ("a = http//x", {"a": "http"}),
    ("a = b#c", {"a": "b"}),
    ('a = "b#c//d"', {"a": "b#c//d"}),
    (r'a = "\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"', {"a": '"\\/\b\f\n\r\té😀'}),
    ('a = """x\n "y" \\n"""""', {"a": 'x\n "y" \\n""'}),
    ("a = [1\n2\n3]", {"a": [1, 2, 3]}),
    ("a = [1,2,3,]", {"a": [1, 2, 3]}),
    ("a = [[1, 2] [3]\n[4]]", {"a": [[1, 2, 3], [4]]}),
    ("a = {x: 1} {y: 2}", {"a": {"x": 1, "y": 2}}),
    ("a = foo  bar", {"a": "foo  bar"}),
    ('a = 1 true "x" null', {"a": "1 true x null"}),
    ("a b c = 1", {"a b c": 1}),
    ("a = 1\nb = ${a}\nc = x${a}y", {"a": 1, "b": 1, "c": "x1y"}),
    ("b = ${a.c}\na = {c: [1]}", {"b": [1], "a": {"c": [1]}}),
    ('a = {"x.y": 1}\nb = ${a."x.y"}', {"a": {"x.y": 1}, "b": 1}),
    ("a = {x: 1}\nb = ${a} {y: 2}", {"a": {"x": 1}, "b": {"x": 1, "y": 2}}),
    ("a = {x: 1}\nb = ${a}\nb.y = 2", {"a": {"x": 1}, "b": {"x": 1, "y": 2}}),
    ("a = [1]\nb = ${a} [2]", {"a": [1], "b": [1, 2]}),
    ("a = [1]\na = ${a} [2]", {"a": [1, 2]}),
    ("a = x\na = ${a}y\na = ${a}z", {"a": "xyz"}),
    ("a += 1\na += [2]", {"a": [1, [2]]}),
    ("a = [1]\na += ${b}\na += 3\nb = 2", {"a": [1, 2, 3], "b": 2}),
    ("a.b += 1\na.b += 2", {"a": {"b": [1, 2]}}),
    ("bar: {foo: 42, baz: ${bar.foo}}", {"bar": {"foo": 42, "baz": 42}}),
    ("bar: {foo: 42, baz: ${bar.foo}}\nbar: {foo: 43}", {"bar": {"foo": 43, "baz": 43}}),
    (
        "bar: {a: ${foo.d}, b: 1}\nbar.b = 3\nfoo: {c: ${bar.b}, d: 2}\nfoo.d = 4",
        {"bar": {"a": 4, "b": 3}, "foo": {"c": 3, "d": 4}},
    ),
    ("foo: {a: {c: 1}}\nfoo: ${foo.a}\nfoo: {a: 2}", {"foo": {"a": 2, "c": 1}}),
    ("a = 1\na = ${?nowhere}", {"a": 1}),
    ("a = ${?nowhere}", {}),
    ("a = [1, ${?nowhere}]", {"a": [1]}),
    ("a = x${?nowhere}y", {"a": "xy"}),
    ("a = ${?a}x", {"a": "x"}),
    ("a = include", {"a": "include"}),
    ('"include" = 1', {"include": 1}),
    ("a.include = 1", {"a": {"include": 1}}),
]


@pytest.mark.parametrize(("text", "value"), AS_SPECIFIED, ids=[repr(t) for t, _ in AS_SPECIFIED])
def test_the_rules_of_the_specification(text: str, value: Any) -> None:
    got, codes = read(text)
    assert (value, set()) == (got, set(codes) - {"TRI393"})


REFUSED: list[tuple[str, list[str]]] = [
    ("[1, 2,, 3]", ["TRI390"]),
    ("[, 1]", ["TRI390"]),
    ("{a: 1,, b: 2}", ["TRI390"]),
    (", a = 1", ["TRI390"]),
    ("{a: 1", ["TRI390"]),
    ("a: 1}", ["TRI390"]),
    ("[1", ["TRI390"]),
    ("[1}", ["TRI390", "TRI390"]),
    ("{a: 1} b", ["TRI390"]),
    ("a", ["TRI390"]),
    ("a =", ["TRI390"]),
    ("a = ,", ["TRI390"]),
    ("a..b = 1", ["TRI390"]),
    (".a = 1", ["TRI390"]),
    ("a. = 1", ["TRI390"]),
    ("a = b = c", ["TRI390"]),
    ("a = 0.0.0.0:1883", ["TRI390"]),
    ("a = b!", ["TRI390"]),
    ('a = "x', ["TRI390"]),
    ('a = """x', ["TRI390"]),
    ("a = ${x", ["TRI390"]),
    ("a = ${}", ["TRI390"]),
    ("a = ${${x}}", ["TRI390", "TRI390"]),
    ("${a} = 1", ["TRI390"]),
    (r'a = "\ud83d"', ["TRI390"]),
    (r'a = "\u00e9\ude00"', ["TRI390"]),
    ('a = "\x01"', ["TRI390"]),
    ("a = [1] {b: 1}", ["TRI390"]),
    ("a = x [1]", ["TRI390"]),
    ("b = x\na = ${b} {c: 1}", ["TRI390"]),
    ('include "x.conf"', ["TRI391"]),
    ('a { include required(file("x.conf")) }', ["TRI391"]),
    ('include url("http://example.com/x")\na = 1', ["TRI391"]),
    ("include = 1", ["TRI391"]),
    ("a = ${HOME}", ["TRI391"]),
    ("a = ${b.c}\nb = 1", ["TRI391"]),
    ("a = ${a}", ["TRI392"]),
    ("a = ${a}x", ["TRI392"]),
    ("a = ${b}\nb = ${a}", ["TRI392"]),
    ("a = ${b}\nb = ${c}\nc = ${a}", ["TRI392"]),
    ("a = {b: ${c}}\nc = {d: ${a}}", ["TRI392"]),
    ("a = [${a}]", ["TRI392"]),
]


@pytest.mark.parametrize(("text", "expected"), REFUSED, ids=[repr(t) for t, _ in REFUSED])
def test_what_is_refused(text: str, expected: list[str]) -> None:
    got, codes = read(text)
    assert (None, expected) == (got, [c for c in codes if c != "TRI393"])


AS_EMQX: list[tuple[str, Any]] = [
    ("key=[1, 2]\n[3, 4]", {"key": [1, 2, 3, 4]}),
    ("key={a: 1}\n{b: 2}", {"key": {"a": 1, "b": 2}}),
    ("key=value1\nvalue2", {"key": "value1value2"}),
    ('key=value1\n"value2"\nb=3', {"key": "value1value2", "b": 3}),
    ("x = u\nkey=v\n${x}\n", {"x": "u", "key": "vu"}),
    (r'a = "\d+"', {"a": r"\d+"}),
    ("a = [{b: 1}\n{c: 2}]", {"a": [{"b": 1}, {"c": 2}]}),
    ("a = [x\ny]", {"a": ["x", "y"]}),
    ("a = x y", {"a": "x y"}),
    ("a = 1 x", {"a": "1 x"}),
    ("a b = 1", {"a b": 1}),
    ('a = """\\n"""', {"a": "\\n"}),
    ("a = ${?PORT}", {}),
]


@pytest.mark.parametrize(("text", "value"), AS_EMQX, ids=[repr(t) for t, _ in AS_EMQX])
def test_what_emqx_takes_otherwise_is_told(text: str, value: Any) -> None:
    assert (value, ["TRI393"]) == read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("node.name = emqx@127.0.0.1", {"node": {"name": "emqx@127.0.0.1"}}),
        ('a = """~\n    SELECT\n      *\n  ~"""', {"a": "SELECT\n  *\n"}),
        ('a = """~\n    x\n\n    y\n    """', {"a": "x\n\ny\n"}),
        ('a = """~"a"~"""', {"a": '"a"'}),
        ('a = """~\r\n  x\r\n  ~"""', {"a": "x\r\n"}),
        ('a = """~\n\\d"\n~"""', {"a": '\\d"\n'}),
        ("a = [1\n15s\ntrue]", {"a": [1, "15s", True]}),
    ],
)
def test_the_forms_of_emqx(text: str, value: Any) -> None:
    assert (value, []) == read(text)


def place(text: str, *path: str | int) -> Place:
    document, _ = read_hocon(Source(text, "t.conf"))
    assert document is not None
    at = root(document)
    for step in path:
        found = member(at, step) if isinstance(step, str) else items(at)[step]
        assert found is not None
        at = found
    return at


def test_keys_and_values_know_their_places() -> None:
    text = 'x.y = 1\na { "b.c" = [q, {d: "é"}] }'
    for path, written in ((("x", "y"), "y"), (("a",), "a"), (("a", "b.c"), '"b.c"'), (("a", "b.c", 1, "d"), "d")):
        at = place(text, *path).at
        assert written == text[at.start : at.end]
    value = place(text, "a", "b.c", 1, "d").value
    assert '"é"' == text[value.span.start : value.span.end]


@pytest.mark.parametrize(
    "text",
    [
        'a = "one TARGET two"',
        'a = """one\nTARGET two"""',
        'a = """~\n    one\n      TARGET two\n  ~"""',
        "a = one-TARGET",
    ],
)
def test_a_text_in_the_document_leads_back_to_its_place(text: str) -> None:
    inner = embedded(place(text, "a"))
    start = inner.text.index("TARGET")
    source, span = inner.resolve(type(place(text, "a").at)(start, start + 6))
    assert ("t.conf", "TARGET") == (source.name, source.text[span.start : span.end])
    assert text == source.text


def test_many_problems_each_at_its_line() -> None:
    text = 'a = 1:2\ninclude "x"\nb = [1,,2]\nc d\n  e = "x\nf = 1'
    found = findings(text)
    lines = [(d.code, d.source.position(d.span.start).line) for d in found]
    assert [("TRI390", 1), ("TRI391", 2), ("TRI390", 3), ("TRI390", 4), ("TRI390", 5)] == lines
    assert all(d.help for d in found)


def test_a_problem_is_shown_with_its_line() -> None:
    (found,) = findings("a = 1\nbind = 0.0.0.0:1883\n")
    shown = render([found])
    assert "t.conf:2:15" in shown
    assert "2 | bind = 0.0.0.0:1883" in shown
    assert "help: put a text that has it in double quotes" in shown


HOSTILE: list[tuple[str, str, str]] = [
    ("deep braces", "a = " + "{b: " * 100_000, "TRI305"),
    ("deep lists", "[" * 100_000, "TRI305"),
    ("a deep path", ".".join("a" * 200) + " = 1", "TRI305"),
    ("deep by substitution", "a0 = 1\n" + "".join(f"a{n + 1} = {{b: ${{a{n}}}}}\n" for n in range(200)), "TRI305"),
    ("a long chain", "a0 = 1\n" + "".join(f"a{n + 1} = ${{a{n}}}\n" for n in reversed(range(60))), "TRI305"),
    (
        "values that double",
        "a0 = [1,2,3,4]\n" + "".join(f"a{n + 1} = ${{a{n}}} ${{a{n}}}\n" for n in range(40)),
        "TRI305",
    ),
    (
        "nested values that double",
        "a0 = [1]\n" + "".join(f"a{n + 1} = [${{a{n}}},${{a{n}}}]\n" for n in range(40)),
        "TRI305",
    ),
    ("texts that double", "a0 = aaaa\n" + "".join(f"a{n + 1} = ${{a{n}}}${{a{n}}}\n" for n in range(40)), "TRI305"),
    ("appended substitutions", "b = 1\n" + "a += ${b}\n" * 3_000, "TRI305"),
    ("objects that are merged again and again", "a = {x: 1}\n" + "a = ${a} {x: 1}\n" * 3_000, "TRI305"),
    ("closing braces", "}" * 10_000, "TRI390"),
    ("open strings", 'a = "\n' * 10_000, "TRI390"),
    ("open substitutions", "${" * 10_000, "TRI390"),
    ("signs", "!?*&" * 10_000, "TRI390"),
    ("quotes", '"' * 10_001, "TRI390"),
]


@pytest.mark.parametrize(("text", "code"), [(t, c) for _, t, c in HOSTILE], ids=[n for n, _, _ in HOSTILE])
def test_a_hostile_text_is_refused(text: str, code: str) -> None:
    got, codes = read(text)
    assert got is None
    assert code in codes
    assert len([c for c in codes if c != "TRI393"]) <= MAX_PROBLEMS


def test_large_texts_that_do_no_harm() -> None:
    key = "k" * 100_000
    assert ({key: 1}, []) == read(f"{key} = 1")
    assert 20_000 == len(read("\n".join(f"a.k{n} = {n}" for n in range(20_000)))[0]["a"])
    assert ({"a": list(range(5_000))}, []) == read("\n".join(f"a += {n}" for n in range(5_000)))
    assert ({"a": 4_999}, []) == read("\n".join(f"a = {n}" for n in range(5_000)))


@given(st.text(alphabet='ab1."{}[]:=,+#$?\\ \n\té', max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_is_a_fault(text: str) -> None:
    document, found = read_hocon(Source(text, "t.conf"))
    assert (document is None) == any(d.severity == "error" for d in found)
    for d in found:
        assert 0 <= d.span.start <= d.span.end <= len(text)
        assert render([d])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), _JSON, max_size=4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_json_is_hocon(value: dict[str, Any], escaped: bool) -> None:
    assert (value, []) == read(json.dumps(value, ensure_ascii=escaped).replace("\x7f", "\\u007f"))


_KEY = st.sampled_from(["a", "b", "c", "d", "a.b", "b.c", "a.b.c", '"a.b"', "c.d"])
_WORD = st.sampled_from(["x", "foo", "1", "2.5", "true", "null", '"q r"', "-3"])


def _values(depth: int) -> st.SearchStrategy[str]:
    if depth == 0:
        return _WORD
    inner = _values(depth - 1)
    objects = st.lists(st.tuples(_KEY, inner), max_size=3).map(
        lambda fields: "{" + ", ".join(f"{k} : {v}" for k, v in fields) + "}"
    )
    lists = st.lists(inner, max_size=3).map(lambda parts: "[" + ", ".join(parts) + "]")
    return st.one_of(_WORD, objects, lists)


@given(st.lists(st.tuples(_KEY, _values(2)), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_random_documents_are_read_as_a_published_library_reads_them(fields: list[tuple[str, str]]) -> None:
    from pyhocon import ConfigFactory
    from pyhocon.exceptions import ConfigException

    text = "\n".join(f"{key} = {value}" for key, value in fields)
    try:
        expected = ConfigFactory.parse_string(text, resolve=True).as_plain_ordered_dict()
    except (ConfigException, TypeError):
        reject()  # it refuses an object after another value, which the specification merges or replaces
    got, _ = read(text)
    null = {"NoneValue": None}
    shown = json.dumps(expected, sort_keys=True, default=lambda value: null[type(value).__name__])
    assert shown == json.dumps(got, sort_keys=True)


def test_a_key_written_twice_has_the_place_of_the_last() -> None:
    text = "a = 1\na = 2"
    at = place(text, "a")
    assert (6, 2) == (at.at.start, at.value.value if isinstance(at.value, Scalar) else None)
