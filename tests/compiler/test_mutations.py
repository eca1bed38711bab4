"""No filter ends in an exception: each becomes a result or diagnostics, however it is bent (see `mutations`).

`TRICEL_MUTATIONS` is the number of bent filters, and `TRICEL_PART=3/10` the third of ten parts of them; a part is the same
in every run. A failure tells the smallest filter that ends in the same exception.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any, TypeVar

import pytest
import random_events
from admission_vectors import admission_review, trigger
from filter_sets import Named
from mutations import Document, documents, mutated_document, mutation, texts, tokens, trees
from tricel.compiler import CompileError, Diagnostic, Source, check_filter, field_of, parse, read_manifests
from tricel.compiler.diagnostics import as_admission
from tricel.compiler.faults import INTERNAL, kind_and_place
from tricel.k8s.mutate import mutate
from tricel.k8s.review import review
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.engines import ENGINES
from tricel.spark_backend.fallback.inputs import inputs_of
from tricel.spark_backend.fallback.jobs import residual_of
from tricel.spark_backend.fanout.planning.explain import explain
from tricel.spark_backend.fanout.planning.plan import plan
from tricel.spark_backend.preview import as_json, preview
from tricel.spark_backend.sql.layout import DEFAULT, Layout, recognise
from tricel.spark_backend.sql.names import names_beside
from tricel.spark_backend.sql.reasons import NotNative

MUTATIONS = int(os.environ.get("TRICEL_MUTATIONS", "3000"))
PART, PARTS = map(int, os.environ.get("TRICEL_PART", "1/1").split("/"))
THOROUGH = MUTATIONS > 10_000
TOGETHER = 12
"""Filters of which one fan-out is planned."""
SLOW = 5.0
"""Seconds for one filter over which a thorough run tells it."""
ENDLESS = 120
"""Seconds after which a filter is taken to have no end."""
MOST_TRIES = 300
MOST_REPORTED = 5
EVERY = 5_000

T = TypeVar("T")


class Fake:
    """A Spark type by its shape, which is all that a layout is recognised from: no Java is started for it."""

    def __init__(self, type_name: str, **parts: Any) -> None:
        self._name = type_name
        self.__dict__.update(parts)

    def typeName(self) -> str:  # noqa: N802 pyspark's own name
        return self._name


def schema(ddl: str) -> Fake:
    """The struct that a DDL text describes."""
    found = re.findall(r"\w+|[<>,:]", ddl)

    def fields(end: str) -> list[Fake]:
        held = []
        while found and found[0] != end:
            name = found.pop(0)
            if found[0] == ":":
                found.pop(0)
            held.append(Fake("field", name=name, dataType=one()))
            if found and found[0] == ",":
                found.pop(0)
        return held

    def one() -> Fake:
        name = found.pop(0).lower()
        if name not in ("struct", "array", "map"):
            return Fake({"bigint": "long", "int": "integer"}.get(name, name))
        found.pop(0)
        if name == "struct":
            made = Fake("struct", fields=fields(">"))
        elif name == "array":
            made = Fake("array", elementType=one())
        else:
            key = one()
            found.pop(0)
            made = Fake("map", keyType=key, valueType=one())
        found.pop(0)
        return made

    return Fake("struct", fields=fields(""))


FLAT = "id STRING, source STRING, type STRING, subject STRING, time TIMESTAMP, tenant STRING, prio STRING, data VARIANT"
LAYOUTS: tuple[tuple[str, Layout], ...] = (
    ("JSON text", DEFAULT),
    ("VARIANT", recognise(schema(FLAT))),
    ("typed", recognise(schema(random_events.TYPED_SCHEMA.replace("v: STRING>", "v: VARIANT>")))),
)
_RENDERERS = tuple(
    import_module(f"tricel.compiler.diagnostics.as_{name}").render
    for name in ("text", "concise", "json", "github", "sarif")
)


def shown(diagnostics: Sequence[Diagnostic]) -> None:
    """Renders diagnostics in every way, as text that can be written."""
    assert not [d for d in diagnostics if d.code == INTERNAL]
    for render in _RENDERERS:
        render(diagnostics).encode()
    if diagnostics:
        as_admission.message(diagnostics, field_of).encode()
        "".join(as_admission.warnings(diagnostics, field_of)).encode()


def compiled(filter_: str | dict[str, Any], number: int) -> list[CompiledFilter]:
    """The filter for each of some layouts; none where it is refused."""
    checked, diagnostics = check_filter(filter_)
    shown(diagnostics)
    assert (checked is None) == any(d.severity == "error" for d in diagnostics)
    if checked is None:
        return []
    shown(checked.diagnostics)
    again, found = parse(Source(checked.cel))
    assert again is not None, found
    engines = sorted(ENGINES)
    done = []
    for _, layout in (LAYOUTS[0], LAYOUTS[1 + number % 2]):
        try:
            lowered = lower_filter(checked, layout, engines[0] if layout is DEFAULT else engines[number % len(engines)])
            used(lowered)
        except CompileError as refused:
            shown(refused.diagnostics)
            continue
        done.append(lowered)
    return done


def used(lowered: CompiledFilter) -> None:
    """All that becomes of a filter without Spark."""
    shown(lowered.diagnostics)
    preview(lowered).encode()
    json.dumps(as_json(lowered)).encode()
    lowered.native_truth.encode()
    left = [c.expr for c in lowered.residual]
    if left:
        needs = residual_of(lowered, left).needs
        try:
            inputs_of(needs, lowered.layout)
        except NotNative:
            return


def planned(group: Sequence[CompiledFilter]) -> None:
    """The fan-out of filters of one layout."""
    named = [Named(str(i), f) for i, f in enumerate(group)]
    layouts = {f.checked.checked.environment: f.layout for f in group}
    try:
        explain(plan(named, layouts, names_beside(()), errors=[n.id for n in named[::2]])).encode()
    except CompileError as refused:
        shown(refused.diagnostics)


def reviewed(value: Document) -> None:
    """All that becomes of a document: of the whole as an object, and of each part of a Trigger."""
    holders = (
        value,
        trigger({"filter": value}),
        trigger({"filters": value}),
        trigger(value if isinstance(value, dict) else None),
    )
    for holder in holders:
        if isinstance(holder, dict):
            for answer in (review(admission_review(holder)), mutate(admission_review(holder))):
                json.dumps(answer).encode()
    if isinstance(value, dict):
        compiled(value, 0)
    text = json.dumps(value, default=str, ensure_ascii=len(repr(value)) % 2 == 0)
    for cut in (text, text[: len(text) // 2]):
        found, diagnostics = read_manifests(Source(cut, "t.yaml"))
        shown(diagnostics)
        for each in found:
            shown(each.translation.diagnostics)


@contextmanager
def ending(seconds: int) -> Iterator[None]:
    """Ends in a TimeoutError what takes longer."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"no end within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fault(work: Callable[[T], object], value: T) -> tuple[str, Exception] | None:
    """The exception that the work ends in, by its type and place; None where it ends in none."""
    try:
        with ending(ENDLESS):
            work(value)
    except Exception as e:
        return kind_and_place(e), e
    return None


def smallest(work: Callable[[str], object], text: str, kind: str) -> str:
    """The text without what it needs not to end in that kind of exception."""

    def fails(parts: list[str]) -> bool:
        found = fault(work, "".join(parts))
        return found is not None and found[0] == kind

    parts, size, tries = tokens(text), max(1, len(tokens(text)) // 2), 0
    while size:
        i = 0
        while i < len(parts) and tries < MOST_TRIES:
            tries += 1
            rest = parts[:i] + parts[i + size :]
            if fails(rest):
                parts = rest
            else:
                i += size
        size //= 2
    return "".join(parts)


def numbers() -> range:
    """The numbers of this part's mutations."""
    return range(PART - 1, MUTATIONS, PARTS)


def told(done: int, slow: list[str]) -> None:
    """Says how far a thorough run is."""
    if THOROUGH and done % EVERY == 0:
        print(f"{done:,} mutations, {len(slow)} slow", flush=True)


def test_no_text_ends_in_an_exception() -> None:
    wrong: dict[str, str] = {}
    slow: list[str] = []
    waiting: dict[int, list[CompiledFilter]] = {}
    done: list[CompiledFilter] = []

    def work(text: str) -> None:
        done[:] = compiled(text, number)

    accepted = 0
    for number in numbers():
        text = mutation(number)
        began = time.perf_counter()
        done.clear()
        found = fault(work, text)
        if time.perf_counter() - began > SLOW:
            slow.append(f"{time.perf_counter() - began:.1f} s: {text[:300]!r}")
        if found is not None and found[0] not in wrong:
            wrong[found[0]] = f"{smallest(work, text, found[0])!r}\n  {found[1]!r} (mutation {number})"
            print(found[0], wrong[found[0]], flush=True)
        accepted += bool(done)
        for lowered in done:
            group = waiting.setdefault(id(lowered.layout), [])
            group.append(lowered)
            if len(group) == TOGETHER:
                together = fault(planned, tuple(group))
                if together is not None and together[0] not in wrong:
                    alone = [f for f in group if fault(planned, (f,)) is not None] or group
                    wrong[together[0]] = f"fan-out of {[f.cel for f in alone]!r}\n  {together[1]!r}"
                    print(together[0], wrong[together[0]], flush=True)
                group.clear()
        told(number, slow)
    if slow:
        warnings.warn("slow: " + "\n".join(slow), stacklevel=1)
    assert [] == [f"{kind}: {text}" for kind, text in wrong.items()][:MOST_REPORTED]
    assert accepted * 5 > len(numbers())


FOUND = (
    "optional.none().x == data.s",
    "dyn(data).x == 1",
    "has(dyn(data.o).z)",
    "dyn(data).x.map(i, i.flatten()).size() == 2",
    "cel.bind(x, 1, " * 95 + "data.i == 1" + ")" * 95,
)
"""What once ended in an exception."""


@pytest.mark.parametrize("text", FOUND)
def test_what_was_found_before(text: str) -> None:
    assert 4 == len([f for number in (0, 3) for f in compiled(text, number)])


def test_no_document_ends_in_an_exception() -> None:
    wrong: dict[str, str] = {}
    slow: list[str] = []
    for number in list(numbers())[::3]:
        began = time.perf_counter()
        found = fault(reviewed, mutated_document(number))
        if time.perf_counter() - began > SLOW:
            slow.append(f"{time.perf_counter() - began:.1f} s: document {number}")
        if found is not None and found[0] not in wrong:
            wrong[found[0]] = f"{_smaller(mutated_document(number), found[0])!r}\n  {found[1]!r} (document {number})"
    if slow:
        warnings.warn("slow: " + "\n".join(slow), stacklevel=1)
    assert [] == [f"{kind}: {text}" for kind, text in wrong.items()][:MOST_REPORTED]


def _smaller(value: Document, kind: str) -> Document:
    """The document without entries that it needs not to end in that kind of exception."""
    if isinstance(value, dict):
        parts: list[Document] = [{k: v for k, v in value.items() if k != key} for key in value]
        parts += [{**value, key: inner} for key, held in value.items() for inner in _inner(held)]
    elif isinstance(value, list):
        parts = [value[:i] + value[i + 1 :] for i in range(len(value))]
    else:
        return value
    for part in parts:
        found = fault(reviewed, part)
        if found is not None and found[0] == kind:
            return _smaller(part, kind)
    return value


def _inner(value: Document) -> Iterator[Document]:
    if isinstance(value, dict):
        yield from ({k: v for k, v in value.items() if k != key} for key in value)
        yield from value.values()
    elif isinstance(value, list):
        yield from (value[:i] + value[i + 1 :] for i in range(len(value)))
        yield from value


def test_what_is_bent_is_there() -> None:
    assert len(texts()) > 500
    assert len(trees()) > 400
    assert len(documents()) > 30


def test_a_mutation_is_the_same_in_every_run() -> None:
    assert [mutation(i) for i in range(50)] == [mutation(i) for i in range(50)]
    assert repr(mutated_document(7)) == repr(mutated_document(7))
    assert len({mutation(i) for i in range(200)}) > 150


def _nobody(text: str) -> None:
    raise KeyError(text) if "x" in text else ValueError(text)


def test_the_smallest_text_is_found() -> None:
    found = fault(_nobody, "a + b * (x - 3)")
    assert found is not None
    assert found[0].startswith("KeyError in test_mutations.py")
    assert "x" == smallest(_nobody, "a + b * (x - 3)", found[0])


def test_a_text_without_end_is_found() -> None:
    def forever(_: str) -> None:
        while True:
            pass

    with pytest.raises(TimeoutError), ending(1):
        forever("")
