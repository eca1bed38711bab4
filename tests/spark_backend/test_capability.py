"""Every overload has an entry: native, or a reason why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tricel.compiler import check_filter
from tricel.compiler.functions import ALL
from tricel.spark_backend import calls
from tricel.spark_backend.capability import IN_THE_WALK, Support, capabilities
from tricel.spark_backend.lowered import lower_filter
from tricel.spark_backend.lowerings import NATIVE, Lowering

CASES = Path(__file__).parent.parent / "cases" / "lowering"
IDS = {row.id for row in ALL}


def test_overload_ids_are_unique() -> None:
    assert len(ALL) == len(IDS)


def test_lowerings_are_of_known_overloads() -> None:
    assert set() == (set(NATIVE) | set(IN_THE_WALK)) - IDS


def test_no_overload_is_lowered_in_two_ways() -> None:
    assert set() == set(NATIVE) & set(IN_THE_WALK)


def test_what_is_not_native_has_a_reason() -> None:
    silent = [id_ for id_, c in capabilities().items() if c.support is Support.FALLBACK and not c.reason]
    assert silent == []


def test_every_overload_has_an_entry() -> None:
    assert set(capabilities()) == IDS


class Recorder(dict[str, Lowering]):
    """The lowerings, and which were asked for."""

    def __init__(self) -> None:
        super().__init__(NATIVE)
        self.used: set[str] = set()

    def __getitem__(self, overload_id: str) -> Lowering:
        self.used.add(overload_id)
        return super().__getitem__(overload_id)


def test_every_native_overload_is_compared_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has an expression among those whose SQL, fallback and engine must agree on every document."""
    recorder, in_the_walk = Recorder(), set()
    monkeypatch.setattr(calls, "NATIVE", recorder)
    for line in "\n".join(p.read_text() for p in CASES.glob("*.cel")).split("\n"):
        checked = check_filter(line)[0] if line else None
        if checked and all(c.native for c in lower_filter(checked).conjuncts):
            in_the_walk |= {row.id for rows in checked.checked.overloads.values() for row in rows}
    native = {id_ for id_, c in capabilities().items() if c.support is Support.NATIVE}
    assert sorted(native - recorder.used - (in_the_walk & set(IN_THE_WALK))) == []
