"""Skeletons, shapes, covers and plans: what filters share, and which keys an event must have. No Spark."""

from __future__ import annotations

import pytest
from filter_sets import Named
from tricel.compiler import CLOUD_EVENT, check_filter
from tricel.compiler.environments.attributes import record_of
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.fanout.planning.explain import explain
from tricel.spark_backend.fanout.planning.plan import MAX_LENGTHS, MAX_PROBES, Plan, plan
from tricel.spark_backend.fanout.planning.shapes import Member, Shapes
from tricel.spark_backend.fanout.planning.skeletons import skeleton
from tricel.spark_backend.sql import render
from tricel.spark_backend.sql.layout import DEFAULT
from tricel.spark_backend.sql.names import names_beside

NAMES = names_beside(())


def compiled(text: str) -> CompiledFilter:
    checked, diagnostics = check_filter(text)
    assert checked is not None, diagnostics
    return lower_filter(checked)


def key(text: str) -> str:
    return "&".join(p.key for p in skeleton(compiled(text).checked.checked.expr, record_of(CLOUD_EVENT)))


def members(*texts: str) -> list[Member]:
    shapes = Shapes(NAMES, {CLOUD_EVENT: DEFAULT})
    return [shapes.member(str(i), compiled(t)) for i, t in enumerate(texts)]


def planned(*texts: str, errors: bool = False) -> Plan:
    triggers = [Named(f"t{i}", compiled(t)) for i, t in enumerate(texts)]
    return plan(triggers, {CLOUD_EVENT: DEFAULT}, NAMES, errors=[t.id for t in triggers] if errors else ())


def keys_of(text: str, *, errors: bool = False) -> set[str]:
    """The keys of a filter among enough others that every probe pays; "*" is the key of all."""
    others = [f'ce.{a} == "{i}"' for a in ("type", "source", "subject", "region") for i in range(30)]
    others += [f'data.{a} == "{i}"' for a in ("s", "t") for i in range(30)]
    others += [f"data.n == {i}" for i in range(30)]
    others += [f'ce.{a}.startsWith("com.{i}.")' for a in ("type", "source") for i in range(10, 40)]
    others += [f'ce.subject.endsWith(".{i}")' for i in range(10, 40)]
    found = planned(text, *others, errors=errors)
    keys = set()
    for entry in found.entries:
        if entry.member.id == "t0":
            question = found.asked[entry.asked]
            keys |= {"*" if question is None else f"{question}={_shown(v)}" for v in entry.values}
    return keys


def _shown(value: object) -> str:
    return "absent" if value is None else value.decode() if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('ce.type == "a"', 'ce.type == "b"'),
        ('ce.type == "a"', '"b" == ce.type'),
        ('ce.type == "a" && data.n > 1.5', 'data.n > 2.5 && ce.type == "x"'),
        ('ce.type.matches("^com")', 'ce.type.startsWith("a")'),
        ('ce.type.matches("^com$")', 'ce.type == "a"'),
        ('ce.type == "a" || ce.type == "b"', 'ce.type in ["a", "b", "c"]'),
        ('ce.time < timestamp("2024-01-01T00:00:00Z")', 'ce.time < timestamp("2025-01-01T00:00:00Z")'),
    ],
)
def test_filters_that_differ_in_constants_have_one_skeleton(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('ce.type == "a"', 'ce.source == "a"'),
        ('data.a == "a"', 'data.b == "a"'),
        ('data[0] == "a"', 'data[1] == "a"'),
        ('ce.type.matches("a[bc]+d")', 'ce.type.matches("a[bd]+d")'),
        ("data.a == true", "data.a == false"),
        ("data.a == null", 'data.a == "x"'),
        ('"a" in ce', '"b" in ce'),
        ("data.a == 9007199254740993", "data.a == 1"),
        ('data.a in [1, "a"]', 'data.a in [2, "a"]'),
        ("data.a.exists(x, x == 1.0)", "data.a.all(x, x == 1.0)"),
    ],
)
def test_what_decides_the_lowering_stays(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_numbers_of_either_type_are_one_shape() -> None:
    a, b, c = members("data.n > 5", "data.n > 5.5", "data.n > 6.0")
    assert a.shape is b.shape is c.shape
    assert [5.0, 5.5, 6.0] == [value for m in (a, b, c) for _, value in m.parameters]


@pytest.mark.parametrize(
    "text",
    [
        'ce.type == "a" && data.n > 5',
        'data.xs.exists(x, x.n > 5.0 && x.s == "a")',
        "data.n in [1, 2]",
        'data.n in [1, "a"]',
        "size(data.xs) == 2",
        'ce.region.zone == "a"',
        "data.n / 2.0 > 1.0",
        "cel.bind(x, data.n, x > 1.0 && x < 5.0)",
        'ce.time < timestamp("2024-01-01T00:00:00Z")',
    ],
)
def test_a_shape_is_native_where_the_filter_is(text: str) -> None:
    (member,) = members(text)
    assert () == compiled(text).residual
    assert () == member.shape.residual


def test_only_the_conjuncts_that_need_it_go_to_the_fallback() -> None:
    text = 'size(ce) > 3 && data.s == "x" && ce.type == "a"'
    (member,) = members(text)
    assert 1 == len(compiled(text).residual) == len(member.shape.residual)
    assert member.residual is not None
    assert ["size(ce) > 3"] == [c.cel for c in member.residual.residual]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ('ce.type == "a" && data.s == "x"', ["tricel_doc"]),
        ('ce.type == "a" && data.s.matches("^(a|aa)+$")', []),
        ('ce.type == "a" && data.s.matches("^(a|aa)+$") && data.n > 3.0', ["tricel_doc"]),
        ('ce.type == "a" && size(ce) > size(data.xs)', []),
    ],
)
def test_every_event_is_parsed_for_what_spark_evaluates_alone(text: str, parsed: list[str]) -> None:
    assert parsed == list(planned(text, *(f'ce.type == "{i}"' for i in range(40))).documents)


COVERS = [
    # filter, keys for true, keys for true or an error
    ('ce.type == "a"', {"ce.type=a"}, {"ce.type=a", "ce.type=absent"}),
    ('ce.type in ["a", "b"]', {"ce.type=a", "ce.type=b"}, {"ce.type=a", "ce.type=b", "ce.type=absent"}),
    ('has(ce.region) && ce.region == "eu"', {"ce.region=eu"}, {"ce.region=eu"}),
    ('ce.region == "eu" && ce.type == "a"', {"ce.type=a"}, {"ce.type=a", "ce.type=absent"}),
    ('ce.type == "a" || ce.source == "b"', {"ce.type=a", "ce.source=b"},
     {"ce.type=a", "ce.type=absent", "ce.source=b", "ce.source=absent"}),
    ('!(ce.type != "a")', {"ce.type=a"}, {"ce.type=a", "ce.type=absent"}),
    ('!(ce.type != "a" || ce.source != "b") && true', {"ce.source=b"}, {"ce.source=b", "ce.source=absent"}),
    ('ce.type != "a"', {"*"}, {"*"}),
    ("has(ce.region)", {"*"}, {"*"}),
    ("!has(ce.region)", {"ce.region=absent"}, {"ce.region=absent"}),
    ("false", set(), set()),
    ("true", {"*"}, {"*"}),
    ('true || ce.type == "a"', {"*"}, {"*"}),
    ('data.s == "x"', {"data.s=x"}, {"data.s=x", "data.s=absent"}),
    ("data.n == 5", {"data.n=5.0"}, {"data.n=5.0", "data.n=absent"}),
    ("data.n > 5.0", {"*"}, {"*"}),
    ('ce.type.startsWith("com.77.")', {"prefix of 7 of ce.type=com.77."},
     {"prefix of 7 of ce.type=com.77.", "prefix of 7 of ce.type=absent"}),
    ('ce.type.startsWith("")', {"*"}, {"*"}),
    ('ce.subject.endsWith(".77")', {"suffix of 3 of ce.subject=.77"},
     {"suffix of 3 of ce.subject=.77", "suffix of 3 of ce.subject=absent"}),
    ('ce.type == "a" ? ce.source == "b" : false', {"ce.type=a"}, {"ce.type=a", "ce.type=absent"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "true", "true_or_error"), COVERS)
def test_the_keys_of_a_filter(text: str, true: set[str], true_or_error: set[str]) -> None:
    assert true == keys_of(text)
    assert true_or_error == keys_of(text, errors=True)


def test_an_engine_may_err_on_any_event() -> None:
    assert {"*"} == keys_of("!(size(ce) > 3) && false || size(ce) == 2", errors=True)
    assert {"ce.type=a", "ce.type=absent"} == keys_of('size(ce) > 3 && ce.type == "a"', errors=True)


def test_a_filter_with_keys_of_two_questions_knows_the_earlier_ones() -> None:
    others = [f'ce.{a} == "{i}"' for a in ("type", "source") for i in range(30)]
    found = planned('ce.type == "a" || ce.source == "b"', *others)
    first, second = (e for e in found.entries if e.member.id == "t0")
    assert () == first.earlier
    assert ((first.asked, *first.values),) == second.earlier


def test_prefixes_of_many_lengths_are_asked_by_few() -> None:
    texts = [f'ce.type.startsWith("{"x" * (i % 30 + 1)}{i}")' for i in range(300)]
    found = planned(*texts)
    assert len(found.asked) - 1 == MAX_LENGTHS
    assert 0 == found.every


def test_a_length_that_spares_no_candidates_is_not_asked() -> None:
    found = planned(*(f'ce.type.startsWith("com.{i}.")' for i in range(10, 200)))
    # "com.100" tells as much as "com.100." does.
    assert ["prefix of 7 of ce.type"] == [str(a) for a in found.asked if a is not None]
    assert {(f"com.{i}."[:7].encode(),) for i in range(10, 200)} == {e.values for e in found.entries}


def test_a_length_that_spares_candidates_is_asked() -> None:
    found = planned('ce.type.startsWith("c")', *(f'ce.type.startsWith("com.{i}")' for i in range(10, 100)))
    assert [1, 6] == sorted(a.length for a in found.asked if a is not None)


def test_prefixes_are_asked_by_bytes() -> None:
    found = planned(*(f'ce.type.startsWith("é{i}")' for i in range(10, 50)))
    assert ["prefix of 4 of ce.type"] == [str(a) for a in found.asked if a is not None]
    assert {(f"é{i}".encode(),) for i in range(10, 50)} == {e.values for e in found.entries}


LONG = " || ".join(f'(data.f{i} == "{i}" && data.g{i} > {i}.5)' for i in range(30))


@pytest.mark.parametrize(
    ("texts", "conditions"),
    [
        ([], True),
        (["true"], True),
        ([f'ce.type == "{i}"' for i in range(4)], True),
        ([f'ce.type == "{i}"' for i in range(8)], False),
        (["data.n > 1.0", "data.n > 2.0", 'ce.type != "a"', "size(ce) > 3"], True),
        ([LONG], True),
        ([LONG, "true"], False),
    ],
    ids=["none", "one", "four", "eight", "without keys", "one long", "long code"],
)
def test_few_filters_are_conditions_while_that_is_cheaper(texts: list[str], conditions: bool) -> None:
    assert conditions == planned(*texts).conditions


def test_events_are_not_asked_without_end() -> None:
    found = planned(*(f'data.f{i} == "{i}-{j}"' for i in range(100) for j in range(3)))
    assert len(found.asked) - 1 <= MAX_PROBES
    assert len(found.entries) == 300


def test_cost_does_not_depend_on_how_many_filters_there_are() -> None:
    few, many = (planned(*(f'ce.type == "t{i}" && data.n > {i}.0' for i in range(n))) for n in (20, 2000))
    assert 1 == len(few.shapes) == len(many.shapes)
    assert len(few.asked) == len(many.asked)
    assert abs(few.keyed_cost - many.keyed_cost) < 1e-6


def test_the_plan_says_what_it_chose() -> None:
    assert "1 filter of 1 shape: plain conditions" in explain(planned("true"))
    text = explain(planned(*(f'ce.type == "{i}"' for i in range(30)), "data.n > 5.0", "false", "size(ce) > 3"))
    assert "33 filters of 4 shapes: fan-out by keys" in text
    assert "asked for ce.type: 30 keys" in text
    assert "tried on every event, for they need no key: 2 filters" in text
    assert "never true, and not looked at: 1 filter" in text
    assert "evaluated by the fallback, on candidates only: 1 filter" in text
    assert "warning" not in text
    assert "warning: the cost grows with those 200" in explain(planned(*(f"data.n > {i}.5" for i in range(200))))


def test_names_avoid_columns() -> None:
    assert "`tricel_s0`" == render(names_beside({"type"}).parameter("s", 0))
    assert "`tricel__s0`" == render(names_beside({"type", "tricel_s0"}).parameter("s", 0))
