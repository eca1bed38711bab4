"""The union of filters holds wherever one of them is true or errs, never errs, and is as small as can be seen."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from random import Random
from typing import Any

import pytest
from attribute_filters import attribute_events, attribute_filter
from conftest import REPOSITORY
from random_cel import DYNAMIC, random_filter
from random_events import DOCUMENTS, dynamic_event
from tricel.compiler import (
    CLOUD_EVENT,
    KAFKA_RECORD,
    CheckedFilter,
    Union,
    check_filter,
    cloud_event,
    schema_type,
    union,
    unparse,
)
from tricel.compiler.analysis.disjunctions import implied, irredundant
from tricel.compiler.interpreter import CelError, evaluator
from tricel.compiler.nodes import Expr
from tricel.compiler.union import nodes
from tricel.compiler.versions import NEXT

ROUNDS = int(os.environ.get("TRICEL_EXAMPLES", "400"))
ATTRIBUTES = attribute_events()
DYNAMIC_EVENTS = [dynamic_event(i, d) for i, d in enumerate((*DOCUMENTS, *DOCUMENTS[:14]))]


def checked(text: str | dict[str, object]) -> CheckedFilter:
    found, diagnostics = check_filter(text)
    assert found is not None, diagnostics
    return found


def some_filters(random: Random, many: int) -> list[CheckedFilter]:
    """Random filters on attributes; those that are refused, as never true, are left out."""
    found: list[CheckedFilter] = []
    while len(found) < many:
        one, _ = check_filter(attribute_filter(random))
        found.extend([one] if one is not None else [])
    return found


def outcomes(e: Expr, events: Sequence[Any]) -> list[bool | None]:
    program = evaluator(e)
    found: list[bool | None] = []
    for event in events:
        try:
            value = program(event)
        except CelError:
            value = None
        found.append(value if isinstance(value, bool) else None)
    return found


def together(*texts: str | dict[str, object], max_nodes: int | None = None) -> Union:
    return union([checked(t) for t in texts], max_nodes)


def told(filters: Sequence[CheckedFilter], found: Union) -> str:
    return "\n".join([*(f.cel for f in filters), "union:", found.cel])


def assert_sound(filters: Sequence[CheckedFilter], found: Union, events: Sequence[Any]) -> None:
    passed = outcomes(found.checked.expr, events)
    assert None not in passed, f"errs: {told(filters, found)}"
    wanted = [False] * len(events)
    for f in filters:
        wanted = [w or o is not False for w, o in zip(wanted, outcomes(f.checked.expr, events), strict=True)]
    for event, w, p in zip(events, wanted, passed, strict=True):
        assert p or not w, f"loses {event}: {told(filters, found)}"
        assert w or not p or not found.exact, f"is not exact for {event}: {told(filters, found)}"
    assert found.after == nodes(found.checked.expr)
    assert check_filter(found.cel)[0] is not None, found.cel


@pytest.mark.parametrize("part", range(4))
def test_nothing_is_lost_of_filters_on_attributes(part: int) -> None:
    random = Random(part)
    for _ in range(ROUNDS // 4):
        filters = some_filters(random, random.choice((1, 1, 2, 3, 6)))
        events = random.sample(ATTRIBUTES, 160)
        found = union(filters)
        assert_sound(filters, found, events)
        most = random.randint(1, max(1, found.after))
        smaller = union(filters, most)
        assert smaller.after <= most
        assert_sound(filters, smaller, events)


def test_nothing_is_lost_of_any_filters() -> None:
    random = Random(7)
    made = 0
    while made < ROUNDS // 4:
        texts = [random_filter(random, DYNAMIC) for _ in range(4)]
        filters = [f for t in texts if (f := check_filter(t)[0]) is not None]
        if filters:
            made += 1
            assert_sound(filters, union(filters), DYNAMIC_EVENTS)
            assert_sound(filters, union(filters, random.randint(1, 12)), DYNAMIC_EVENTS)


def test_an_event_may_lack_what_it_must_have() -> None:
    """With `complete=False`, as for the rows of a table."""
    random = Random(3)
    events = [{**e, "ce": {k: v for k, v in e["ce"].items() if k != "type" or i % 2}} for i, e in enumerate(ATTRIBUTES)]
    for _ in range(ROUNDS // 4):
        filters = some_filters(random, 2)
        assert_sound(filters, union(filters, complete=False), random.sample(events, 160))


EXACT = [
    (['has(ce.x) && ce.x == "a"'], 'has(ce.x) && ce.x == "a"'),
    (['ce.x == "a"'], '!has(ce.x) || ce.x == "a"'),
    (['ce.x != "a"'], '!has(ce.x) || ce.x != "a"'),
    (['!(ce.x == "a")'], '!has(ce.x) || ce.x != "a"'),
    (['!(has(ce.x) && ce.x == "a")'], '!has(ce.x) || ce.x != "a"'),
    (['ce.x == "a" || ce.type == "t"'], '!has(ce.x) || ce.type == "t" || ce.x == "a"'),
    (['has(ce.x) ? ce.x == "a" : ce.type == "t"'], 'ce.type == "t" && !has(ce.x) || has(ce.x) && ce.x == "a"'),
    (['ce.type in ["b", "a"]'], 'ce.type in ["a", "b"]'),
    (['ce.type.matches("^a+$")'], 'ce.type.matches("^a+$")'),
    (['ce.type.matches("^a\\\\.b$")', 'ce.type.matches("^com\\\\.")', 'ce.type == "com.x"'], 'ce.type == "a.b" || ce.type.startsWith("com.")'),
    (['ce.?x.orValue("") == "a"'], 'has(ce.x) && ce.x == "a"'),
    (['"a-b" in ce && ce["a-b"] == "1"'], '"a-b" in ce && ce["a-b"] == "1"'),
    (['ce.time > timestamp("2024-01-01T00:00:00Z")'], '!has(ce.time) || ce.time > timestamp("2024-01-01T00:00:00Z")'),
    (['ce.type == "a"', 'ce.type == "b"'], 'ce.type in ["a", "b"]'),
    (['ce.type == "b"', 'ce.type == "a"'], 'ce.type in ["a", "b"]'),
    (['ce.type == "a"', 'ce.type == "a" && ce.source == "s"'], 'ce.type == "a"'),
    (['ce.type == "a"', 'ce.type in ["a", "b"] && ce.source == "s"'], 'ce.type == "a" || ce.type == "b" && ce.source == "s"'),
    (['ce.type.startsWith("com.")', 'ce.type.startsWith("com.a.")', 'ce.type == "com.x"'], 'ce.type.startsWith("com.")'),
    (['ce.type == "t" && ce.source == "a"', 'ce.type == "t" && ce.source == "b"'], 'ce.type == "t" && ce.source in ["a", "b"]'),
    (
        [f'ce.type == "{t}" && ce.source == "{s}"' for t in "xy" for s in "ab"],
        'ce.type in ["x", "y"] && ce.source in ["a", "b"]',
    ),
    (['has(ce.x) && ce.x == "a"', 'ce.x == "b"'], '!has(ce.x) || ce.x in ["a", "b"]'),
    (['ce.type != "a"', 'ce.type != "b"'], "true"),
    (['ce.type != "a"', 'ce.type == "b"'], 'ce.type != "a"'),
    (['ce.type == "a" && ce.type == "b"'], "false"),
    (['ce.type == "t" && data.n > 1.0', 'ce.type == "t"'], 'ce.type == "t"'),
    ([], "false"),
    (["true", 'ce.type == "t"'], "true"),
    (['ce.type in ["a", "b"]', 'ce.type in ["b", "c"]'], 'ce.type in ["a", "b", "c"]'),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "cel"), EXACT, ids=[c for _, c in EXACT])
def test_what_is_exact(texts: list[str], cel: str) -> None:
    found = together(*texts)
    assert (cel, True) == (found.cel, found.exact)


WIDE = [
    (['ce.type == "t" && data.n > 1.0'], 'ce.type == "t"', ["data.n > 1.0"]),
    (["data.n > 1.0"], "true", ["data.n > 1.0"]),
    (['!(ce.type == "t" && data.n > 1.0)'], "true", ["data.n > 1.0"]),
    (['!(ce.type == "t" || data.n > 1.0)'], 'ce.type != "t"', ["data.n > 1.0"]),
    (['ce.type == "t" && ce.time + duration("1h") > ce.time'], 'ce.type == "t"', ['ce.time + duration("1h") > ce.time']),
    (['ce.type == "t" && ce.x.substring(3) == "a"'], 'ce.type == "t"', ['ce.x.substring(3) == "a"']),
    (['ce.type == "t" && ce.x.matches(ce.y)'], 'ce.type == "t"', ["ce.x.matches(ce.y)"]),
    (['ce.type == "t" && ce.github.name == "a"'], 'ce.type == "t"', ['ce.github.name == "a"']),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "cel", "parts"), WIDE, ids=[c[0] for c, _, _ in WIDE])
def test_what_may_err_is_left_out(texts: list[str], cel: str, parts: list[str]) -> None:
    found = together(*texts)
    assert (cel, False, [(0, tuple(parts))]) == (found.cel, found.exact, [(w.filter, w.parts) for w in found.wide])


def test_the_filters_that_need_every_event_are_told() -> None:
    found = together('ce.type == "t"', "true", "data.n > 1.0")
    assert ("true", (1, 2)) == (found.cel, found.everything)
    assert [] == [w for w in found.wide if w.filter != 2]


def test_the_order_of_filters_does_not_matter() -> None:
    random = Random(1)
    for _ in range(30):
        filters = some_filters(random, 6)
        assert union(filters).after == union(filters[::-1]).after
    plain = [checked(f'ce.type == "t{i % 7}" && ce.source.startsWith("/s/{i % 3}")') for i in range(30)]
    assert union(plain).cel == union(plain[::-1]).cel


def test_a_union_widens_to_common_prefixes_first() -> None:
    texts = [f'ce.type == "com.example.{c}.{n}"' for c in ("order", "payment") for n in range(20)]
    small, smaller, least = (together(*texts, max_nodes=n) for n in (10, 8, 3))
    assert 'ce.type.startsWith("com.example.order.") || ce.type.startsWith("com.example.payment.")' == small.cel
    assert 'ce.type.startsWith("com.example.")' == smaller.cel
    assert "true" == least.cel
    assert [True] * 3 == [u.widened for u in (small, smaller, least)]
    assert not together(*texts, max_nodes=44).widened


def test_a_union_drops_the_conjunct_that_lets_least_in() -> None:
    found = together(*(f'ce.type == "t{i}" && ce.source.startsWith("/{i}")' for i in range(9)), max_nodes=12)
    assert 'ce.type in ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"]' == found.cel or found.after <= 12
    assert found.widened


def test_filters_must_be_about_the_same_events() -> None:
    other, _ = check_filter('topic == "t"', KAFKA_RECORD)
    assert other is not None
    with pytest.raises(ValueError, match="Kafka record has no record"):
        union([other])
    with pytest.raises(ValueError, match="one kind of event"):
        union([checked("true"), other])
    with pytest.raises(ValueError, match="at least 1 node"):
        union([], 0)


def test_the_type_of_the_payload_does_not_matter() -> None:
    typed, _ = check_filter('ce.type == "a" && data.n > 1', cloud_event(schema_type({"n": "int"})))
    assert typed is not None
    assert 'ce.type in ["a", "b"]' == union([typed, checked('ce.type == "b"')]).cel
    assert CLOUD_EVENT != typed.checked.environment


def mix(count: int) -> list[CheckedFilter]:
    """The filters of the benchmark."""
    spec = spec_from_file_location("trigger_mix", REPOSITORY / "benchmarks" / "_trigger_mix.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return [checked(f) for f in module.filters(count)]


def test_a_thousand_filters_have_a_union_of_a_tenth() -> None:
    filters = mix(1_000)
    found = union(filters)
    assert found.after * 10 <= found.before
    assert not found.widened
    terms = found.terms
    assert terms == tuple(irredundant(terms))
    assert all(not implied(a, b) for i, a in enumerate(terms) for b in (*terms[:i], *terms[i + 1 :]))
    assert 100 >= union(filters, 100).after > 4


def test_another_version_of_the_language_lends_its_plain_tests() -> None:
    newer, _ = check_filter('ce.type == "a" && ce.source.lowerAscii() == "s"', version=NEXT)
    assert newer is not None
    found = union([newer])
    assert ('ce.type == "a"', False) == (found.cel, found.exact)


def test_what_a_target_cannot_say_is_left_out() -> None:
    """Never so that an event is lost: `says` may be any choice of expressions."""
    random = Random(11)
    for number in range(ROUNDS // 4):
        filters = some_filters(random, 2)
        found = union(filters, says=lambda e, n=number: zlib.crc32(f"{n}{unparse(e)}".encode()) % 2 == 0)
        assert_sound(filters, found, random.sample(ATTRIBUTES, 80))
        plain, diagnostics = check_filter(unparse(found.plain))
        assert plain is not None, diagnostics
        assert outcomes(found.checked.expr, ATTRIBUTES) == outcomes(plain.checked.expr, ATTRIBUTES), found.cel
