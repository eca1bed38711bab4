"""Every overload has an entry: native, or a reason why not."""

from __future__ import annotations

from tricel.compiler.functions import ALL
from tricel.spark_backend.capability import IN_THE_WALK, Support, capabilities
from tricel.spark_backend.lowerings import NATIVE

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
