"""Manifests whose filters are converted: the filter changes and means the same, and nothing else changes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random
from typing import Any, cast

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tricel.compiler import Source, errors, read_manifests, unparse
from tricel.compiler.conversion import manifests
from tricel.compiler.conversion.forms import normal
from tricel.compiler.conversion.manifests import convert_manifests, forms_of_triggers
from tricel.compiler.dialects import BY_NAME, UNDER_FILTERS, Dialect
from tricel.compiler.literals import quoted

OWN, KNATIVE = "tricel.dev/v1alpha1", "eventing.knative.dev/v1"
TARGETS = ("cel", "expression", "attributes", "filters", "all", "simplest")


def converted(text: str, to: str = "cel") -> tuple[str, list[str]]:
    """The new text, and the codes of what is wrong."""
    done = convert_manifests(Source(text, "t.yaml"), to=to)
    return done.text, [d.code for d in done.diagnostics]


def meanings(text: str) -> list[str | None]:
    triggers, _ = read_manifests(Source(text))
    return [None if t.translation.expr is None else unparse(normal(t.translation.expr)) for t in triggers]


def manifest(filter_: str, group: str = OWN, *, indent: str = "  ") -> str:
    """A Trigger with comments, and a filter in a YAML that begins at the column of `spec`'s entries."""
    body = "".join(f"{indent}{line}\n" if line else "\n" for line in filter_.rstrip("\n").split("\n"))
    return f"""# a trigger
apiVersion: {group}  # the group
kind: Trigger
metadata: {{name: 'orders',   namespace: "shop"}}
spec:
{indent}broker: default   # the broker
{body}{indent}# where to
{indent}subscriber:
{indent}  uri: http://orders.shop
"""


class _Writer:
    """Random manifests, whose filters are written in many styles; everything in them that must survive is marked."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.marks = 0

    def text(self) -> tuple[str, list[tuple[str, str]]]:
        """The documents, and of each Trigger what stands before its filter and after it."""
        parts, around = [], []
        for _ in range(self.random.randint(1, 4)):
            before, filter_, after = self.trigger()
            parts.append(before + filter_ + after)
            around.append((before, after))
        noise = ["# only a comment\n", "kind: ConfigMap\napiVersion: v1\ndata:\n  filter: |\n    expression: x\n", "a: &a [1, *b]\n".replace("*b", "2")]  # fmt: skip
        parts.insert(self.random.randint(0, len(parts)), self.random.choice(noise))
        return "---\n".join(parts), around

    def comment(self) -> str:
        self.marks += 1
        return f"# mark{self.marks}." if self.random.random() < 0.4 else ""

    def line(self, indent: str, text: str) -> str:
        above = self.comment()
        beside = self.comment()
        return (f"{indent}{above}\n" if above else "") + f"{indent}{text}{'  ' if beside else ''}{beside}\n"

    def trigger(self) -> tuple[str, str, str]:
        unit = self.random.choice(("  ", "    ", " "))
        if self.random.random() < 0.2:
            return self.json()
        inner = self.filter(unit)
        if isinstance(inner, str) and self.random.random() < 0.2:
            before = f"apiVersion: {OWN}\nkind: Trigger\nmetadata: {{name: 'x'}}\nspec: {{broker: \"d\",   "
            return before, inner, ", subscriber: {uri: http://x}} # end\n"
        before = (
            self.line("", f"apiVersion: {OWN}")
            + self.line("", "kind: Trigger")
            + self.line("", "metadata: {name: 'x',   labels: &l {a: \"b\"}}")
            + self.line("", "spec:")
            + self.line(unit, "broker: 'd'")
            + self.line(unit, f"{self.comment() or '#'} note")
        )
        after = (
            self.random.choice(("", "\n", "\n\n"))
            + self.line(unit, "subscriber: {uri: http://x}")
            + self.line("", "status:")
            + self.line(unit, "extra: *l")
            + f"{unit}text: |\n{unit}  kept\n{unit}  # as it is\n\n"
        )
        if isinstance(inner, str):
            return before + unit, inner, (f"  {self.comment()}").rstrip() + "\n" + after
        return before, "".join(inner), after

    def value(self) -> str:
        text = self.random.choice(("a", "order.created", "/shop", "a b", "5", "true", "x: y", "it's", 'q"', "é\u2028"))
        return self.random.choice((json.dumps(text), f"'{text}'" if "'" not in text and text.isprintable() else json.dumps(text)))  # fmt: skip

    def filter(self, unit: str) -> str | list[str]:
        """A filter in flow style, in one line, or in block style in lines."""
        name = self.random.choice(("type", "source"))
        other = "id"
        a, b = self.value(), self.value()
        pair = f"{{{name}: {a}, {other}: {b}}}"
        dash = self.random.choice(("", unit))
        cel = self.random.choice((f"ce.{name} == {json.dumps(yaml.safe_load(a))}", 'ce.type != "a" && ce.id.startsWith("x")', 'ce.type == "t" || data.n > 1.0'))  # fmt: skip
        match self.random.randrange(10):
            case 0:
                return f"filter: {{attributes: {pair}}}"
            case 1:
                return f"filters: [{{exact: {pair}}}, {{not: {{prefix: {{subject: q}}}}}}]"
            case 2:
                return f'filter: {{"expression": {json.dumps(cel)}}}'
            case 3:
                kind, other = self.random.choice((("attributes", "id"), ("sourceAndType", "source")))
                return [
                    self.line(unit, "filter:"),
                    self.line(2 * unit, f"{kind}:"),
                    self.line(3 * unit, f"type: {a}"),
                    self.line(3 * unit, f"{other}: {b}"),
                ]
            case 4:
                return [
                    self.line(unit, "filters:"),
                    self.line(unit + dash, f"- exact: {pair}"),
                    self.line(unit + dash, "- any:"),
                    self.line(unit + dash + "    ", "- prefix:"),
                    self.line(unit + dash + "        ", f"{name}: {a}"),
                    self.line(unit + dash + "    ", f"- suffix: {{{other}: {b}}}"),
                ]
            case 5:
                lines = cel.replace(" && ", "\n&& ").split("\n")
                sign = self.random.choice(("|", "|-", ">", "|+"))
                return [
                    self.line(unit, "filter:"),
                    f"{2 * unit}expression: {sign} {self.comment()}".rstrip() + "\n",
                    *(f"{3 * unit}{line}\n" for line in lines),
                ]
            case 6:
                return [self.line(unit, "filter: &own"), self.line(2 * unit, f"attributes: {pair}")]
            case 8:
                return [
                    self.line(unit, f"filter: {{attributes: {{type: {a},"),
                    self.line(2 * unit, f"id: {b}"),
                    self.line(2 * unit, "}}"),
                ]
            case 7:
                return [self.line(unit, "filter:"), self.line(2 * unit, f"expression: {json.dumps(cel)}")]
            case _:
                return f"'filter': {{attributes: {{{name}: {a}}}}}"

    def json(self) -> tuple[str, str, str]:
        form = self.random.choice((
            {"filter": {"attributes": {"type": "a", "id": yaml.safe_load(self.value())}}},
            {"filters": [{"exact": {"type": "a"}}, {"suffix": {"id": "x"}}]},
            {"filter": {"expression": 'ce.type == "a\\n"'}},
        ))  # fmt: skip
        indent = self.random.choice((None, 2))
        whole = {"apiVersion": OWN, "kind": "Trigger", "metadata": {"name": "j"}, "spec": {"broker": "d", **form, "subscriber": {"uri": "http://x"}}}  # fmt: skip
        text = json.dumps(whole, indent=indent)
        start = min(text.find(f'"{key}":') for key in form)
        end = text.rindex(",", start, text.index('"subscriber"'))
        return text[:start], text[start:end], text[end:] + "\n"


@given(st.randoms(use_true_random=True), st.sampled_from(TARGETS), st.booleans())
@settings(max_examples=400, deadline=None)
def test_only_the_filter_changes_and_means_the_same(random: Random, to: str, windows: bool) -> None:
    text, around = _Writer(random).text()
    if windows:
        text = text.replace("\n", "\r\n")
        around = [(before.replace("\n", "\r\n"), after.replace("\n", "\r\n")) for before, after in around]
    assert () == errors(read_manifests(Source(text))[1]), text
    done = convert_manifests(Source(text), to=to)
    assert {d.code for d in done.diagnostics} <= {"TRI371", "TRI372"}, (text, done.diagnostics)
    assert meanings(text) == meanings(done.text)
    at = 0
    for before, after in around:
        start = done.text.index(before, at) + len(before)
        at = done.text.index(after, start)
    assert sorted(re.findall("mark[0-9]+[.]", text)) == sorted(re.findall("mark[0-9]+[.]", done.text))
    assert not windows or not re.search("(?<!\r)\n", done.text)
    again = convert_manifests(Source(done.text), to=to)
    assert (done.text, 0) == (again.text, again.converted)
    data, now = (list(yaml.safe_load_all(each)) for each in (text, done.text))
    assert [without_filter(d) for d in data] == [without_filter(d) for d in now]


def without_filter(document: Any) -> Any:
    if isinstance(document, dict) and document.get("kind") == "Trigger":
        spec = {k: v for k, v in document["spec"].items() if k not in ("filter", "filters")}
        return {**document, "spec": spec}
    return document


def test_a_filter_in_block_style() -> None:
    text = manifest("""filter:  # only orders
  # of one type
  attributes:
    type: 'order.created'  # the type
    source: /shop  # and source
""")
    assert manifest("""filter:  # only orders
  # of one type
  # the type
  expression: ce.type == "order.created" && ce.source == "/shop"  # and source
""") == converted(text)[0]  # fmt: skip
    assert manifest("""filters:  # only orders
  # of one type
  # the type
  - exact:
      type: 'order.created'
      source: /shop  # and source
""") == converted(text, "filters")[0]  # fmt: skip


def test_what_is_in_flow_style_stays_so() -> None:
    text = manifest("filter: {attributes: {type: \"a\", source: '/s'}}  # orders")
    assert manifest("filters: [{exact: {type: \"a\", source: '/s'}}]  # orders") == converted(text, "filters")[0]
    text = manifest(
        "filters:\n- exact: {type: a}\n- prefix: {source: /s}\n- any:\n  - exact: {id: x}\n  - exact: {id: z}"
    )
    assert manifest("filters:\n- all:\n  - exact: {type: a}\n  - prefix: {source: /s}\n  - any:\n    - exact: {id: x}\n    - exact: {id: z}") == converted(text, "all")[0]  # fmt: skip


def test_values_that_yaml_would_read_as_something_else_are_quoted() -> None:
    values = ("5", "true", "no", "2024-01-01", "1e3", "~", "a: b", "a #b", "- a", "é", "it's", 'a"b', "a\\b", "\t", "\x85", "\u2028", "😀", "0x1f", "1:30", "=", "<<", "y", "")  # fmt: skip
    for value in values[:-1]:
        text = manifest(f"filter:\n  expression: {json.dumps('ce.type == ' + quoted(value))}")
        for to in ("attributes", "filters"):
            new, found = converted(text, to)
            assert [] == found
            assert text != new
            spec = yaml.safe_load(new)["spec"]
            written = spec["filter"]["attributes"] if to == "attributes" else spec["filters"][0]["exact"]
            assert {"type": value} == written
            assert meanings(text) == meanings(new)


def test_a_text_beyond_the_first_plane_in_json_keeps_its_place() -> None:
    text = json.dumps({"apiVersion": OWN, "kind": "Trigger", "metadata": {"name": "😀", "labels": {"a": "\ud83d\ude00"}}, "spec": {"broker": "d", "filter": {"attributes": {"type": "😀"}}, "subscriber": {"uri": "http://x"}}})  # fmt: skip
    new, found = converted(text)
    assert [] == found
    assert {"expression": 'ce.type == "😀"'} == json.loads(new)["spec"]["filter"]
    assert text[: text.index('"filter"')] == new[: new.index('"filter"')]


def test_lists_of_triggers_and_several_documents() -> None:
    items = "".join("- " + manifest("filter: {attributes: {type: a}}").replace("# a trigger\n", "").replace("\n", "\n  ").rstrip(" ") for _ in range(3))  # fmt: skip
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}---\nkind: Other\n---\n{manifest('filter: {attributes: {type: a}}')}"
    done = convert_manifests(Source(text), to="cel")
    assert (4, 4, ()) == (done.converted, len(done.triggers), done.diagnostics)
    assert text.replace("{attributes: {type: a}}", '{expression: ce.type == "a"}') == done.text


@pytest.mark.parametrize(
    ("filter_", "to"),
    [
        ("filter: {expression: \"ce.type  == 'a'\"}", "cel"),
        ("filter:\n  attributes: {type: 'a'}", "simplest"),
        ("filters:\n- all:\n  - exact: {type: a}\n  - prefix: {id: b}", "all"),
        ("filters: [{exact: {type: a}}]", "filters"),
        ("filter: {}", "cel"),
        ("filters: []", "attributes"),
        ("filter: null", "filters"),
        ("filter:\n  expression: data.n > 1.0", "simplest"),
    ],
)
def test_what_is_in_the_dialect_already_stays_as_it_is_written(filter_: str, to: str) -> None:
    done = convert_manifests(Source(manifest(filter_)), to=to)
    assert (manifest(filter_), 0, ()) == (done.text, done.converted, done.diagnostics)


def test_a_trigger_of_knative_becomes_nothing_that_a_cluster_drops() -> None:
    text = manifest("filter: {attributes: {type: a}}", KNATIVE)
    done = convert_manifests(Source(text, "t.yaml"), to="cel")
    (problem,) = done.diagnostics
    assert (text, "TRI373") == (done.text, problem.code)
    assert "'filter.expression'" in problem.message
    assert OWN in problem.help
    assert "tricel.dev/expression" in problem.help
    for to in ("filters", "all"):
        assert text != converted(text, to)[0]
    text = manifest("filter: {expression: 'ce.type == \"a\"'}", KNATIVE)
    assert manifest("filter: {attributes: {type: a}}", KNATIVE) == converted(text, "simplest")[0]
    text = manifest("filter: {expression: 'data.x == 1.0'}", KNATIVE)
    assert (text, ["TRI371"]) == converted(text, "simplest")


def test_what_narrows_a_trigger_of_knative_stays() -> None:
    narrowing = "metadata: {name: 'orders', annotations: {tricel.dev/expression: data.n > 1.0}}"
    text = re.sub("metadata: .*", narrowing, manifest("filter: {attributes: {type: a}}", KNATIVE))
    new, found = converted(text, "filters")
    assert [] == found
    assert text.replace("filter: {attributes: {type: a}}", "filters: [{exact: {type: a}}]") == new
    assert meanings(text) == meanings(new)


ANCHORED = "filter: &f {attributes: {type: a}}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (manifest(ANCHORED) + "---\n" + manifest("filters: [{exact: {id: x}}]") , ""),
        (manifest(ANCHORED) + "status: {again: *f}\n", "what 'spec.filter' anchors"),
        (manifest("filter: {attributes: &a {type: a}}") + "status: {again: *a}\n", "what 'spec.filter' anchors"),
        (manifest(ANCHORED).replace("spec:", "spec: &s") + "status: {again: *s}\n", "anchored"),
        ("kind: List\napiVersion: v1\nitems:\n- &t\n  " + manifest(ANCHORED).replace("\n", "\n  ").rstrip() + "\nagain: *t\n", "anchored"),
        (manifest("filter: *f").replace("name:", "x: &f {attributes: {type: a}}, name:"), ""),
        (manifest("? filter\n: {attributes: {type: a}}"), "explicit key"),
        (manifest("&k filter: {attributes: {type: a}}"), "an anchor or a tag"),
        (manifest("filter: {}\nfilters: [{exact: {type: a}}]"), "both given"),
        (manifest("filter: !!map {attributes: {type: a}}"), ""),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_without_changing_more_is_refused(text: str, says: str) -> None:
    done = convert_manifests(Source(text, "t.yaml"), to="cel")
    if says:
        assert (text, ["TRI372"]) == (done.text, [d.code for d in done.diagnostics])
        assert says in done.diagnostics[0].message
    else:
        assert () == done.diagnostics
        assert meanings(text) == meanings(done.text)
        assert text != done.text


def test_filters_that_repeat_one_another_are_converted_together() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
        "- " + manifest(f"filter: {value}").replace("# a trigger\n", "").replace("\n", "\n  ").rstrip(" ")
        for value in ("&f {attributes: {type: a}}", "*f", "*f")
    )
    new, found = converted(text)
    assert [] == found
    assert meanings(text) == meanings(new) == ['ce.type == "a"'] * 3
    assert "*f" not in new
    assert (new, []) == converted(new)


def test_a_comment_that_has_no_place_keeps_the_filter() -> None:
    text = manifest("").replace("spec:\n", "spec: {broker: d, filter: {attributes: # why\n    {type: a}}, subscriber: {uri: http://x}}\nstatus:\n")  # fmt: skip
    done = convert_manifests(Source(text, "t.yaml"), to="cel")
    assert (text, ["TRI372"]) == (done.text, [d.code for d in done.diagnostics])
    assert "comment" in done.diagnostics[0].message


def test_what_is_wrong_stays_and_the_others_are_converted() -> None:
    good = manifest("filter: {attributes: {type: a}}")
    wrong = [
        manifest("filter: {expression: 'ce.typ() == 1'}"),
        manifest("filter: {attributes: {Type: a}}"),
        good.replace("uri: http", "url: http"),
        manifest("filter: {expression: 'data.n > 1.0'}"),
    ]
    done = convert_manifests(Source("---\n".join([*wrong, good]), "t.yaml"), to="attributes")
    assert 0 == done.converted
    text = "---\n".join([*wrong, manifest("filters: [{exact: {type: a}}]"), good])
    done = convert_manifests(Source(text, "t.yaml"), to="attributes")
    assert (1, text.replace("filters: [{exact: {type: a}}]", "filter: {attributes: {type: a}}")) == (
        done.converted,
        done.text,
    )
    assert {"TRI203", "TRI333", "TRI311", "TRI371"} <= {d.code for d in done.diagnostics}
    assert () == tuple(d for d in done.diagnostics if d not in errors(done.diagnostics))
    lines = [d.source.resolve(d.span)[0].position(d.source.resolve(d.span)[1].start).line for d in done.diagnostics]
    assert sorted(lines) == lines
    assert (good + "a: [", ["TRI301"]) == converted(good + "a: [")


def test_the_part_is_pointed_at_in_the_file() -> None:
    text = manifest('filter:\n  expression: |\n    ce.type == "a"\n    && data.total > 5.0')
    (problem,) = convert_manifests(Source(text, "t.yaml"), to="attributes").diagnostics
    source, span = problem.source.resolve(problem.span)
    assert ("data.total > 5.0", "t.yaml") == (source.text[span.start : span.end], source.name)
    assert "'expression' can say all of the filter" == problem.help


def test_a_text_that_would_change_more_than_filters_is_not_handed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    text = manifest("filter: {attributes: {type: a}}")
    for change, says in (
        (lambda t: t.replace("orders.shop", "elsewhere"), "something else"),
        (lambda t: t.replace("type: a", "type: b"), "may mean another thing"),
        (lambda t: t.replace("filter:", "filter: ]"), "could not have been read"),
        (lambda t: t.replace("subscriber:", "nothing:"), "something else"),
    ):
        monkeypatch.setattr(manifests, "applied", lambda text, edits, change=change: change(text))
        done = convert_manifests(Source(text), to="filters")
        assert (text, 0) == (done.text, done.converted)
        assert {"TRI901"} == {d.code for d in done.diagnostics}
        assert any(says in d.message for d in done.diagnostics)


@pytest.mark.parametrize("to", ["labels", "sourceAndType", "nothing"])
def test_what_has_no_place_in_a_trigger(to: str) -> None:
    with pytest.raises(ValueError, match=r"place|written|no dialect"):
        forms_of_triggers(to)


def test_a_dialect_that_is_written_needs_nothing_but_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in one filter of `filters` is written there, on a Trigger of Knative, too, where its row says so."""
    row = replace(BY_NAME["cesql"], to_cel=BY_NAME["labels"].to_cel, from_cel=BY_NAME["labels"].from_cel)
    for rows in (BY_NAME, UNDER_FILTERS):
        monkeypatch.setitem(cast("dict[str, Dialect]", rows), "cesql", row)
    for group in (OWN, KNATIVE):
        text = manifest("filter: {attributes: {type: a, id: b}}", group)
        new, found = converted(text, "cesql")
        assert [] == found
        assert manifest('filters: [{cesql: "type=a,id=b"}]', group) == new
        assert (text, []) == converted(new, "attributes")
        assert (new, []) == converted(new, "cesql")
