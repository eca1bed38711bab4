"""Every overload has an entry: native, or a reason why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tricel.compiler import check_filter
from tricel.compiler.functions import ALL
from tricel.compiler.versions import NEXT
from tricel.spark_backend.compiled_filter import lower_filter
from tricel.spark_backend.sql.capability import Support, capabilities
from tricel.spark_backend.sql.functions import Lowering, walked
from tricel.spark_backend.sql.handlers import LOWERINGS, calls
from tricel.spark_backend.sql.reasons import Reason

CASES = Path(__file__).parent.parent / "cases" / "lowering"
IDS = {row.id for row in ALL}


def test_every_overload_has_an_entry() -> None:
    assert set(capabilities()) == IDS


def test_what_is_not_native_has_a_reason_and_its_code() -> None:
    left = [c for c in capabilities().values() if c.support is Support.FALLBACK]
    assert len(left) > 40
    assert all(c.reason and c.code for c in left)
    assert [] == [id_ for id_, c in capabilities().items() if c.code == Reason.NO_LOWERING.code]


def test_an_overload_without_an_entry_is_left_to_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(LOWERINGS, "string_trim")
    assert Support.FALLBACK is capabilities()["string_trim"].support
    checked, _ = check_filter('ce.id.trim() == "a"')
    assert checked is not None
    (conjunct,) = lower_filter(checked).conjuncts
    assert (False, "the function 'trim' has no lowering") == (conjunct.native, conjunct.reason)


def test_an_overload_is_lowered_once() -> None:
    with pytest.raises(ValueError, match="string_trim is lowered twice"):
        walked("string_trim")


class Recorder(dict[str, Lowering]):
    """The lowerings, and which were asked for."""

    def __init__(self) -> None:
        super().__init__(LOWERINGS)
        self.used: set[str] = set()

    def __getitem__(self, overload_id: str) -> Lowering:
        self.used.add(overload_id)
        return super().__getitem__(overload_id)


def test_every_native_overload_is_compared_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has an expression among those whose SQL, fallback and engine must agree on every document."""
    recorder, in_the_walk = Recorder(), set()
    monkeypatch.setattr(calls, "LOWERINGS", recorder)
    for line in "\n".join(p.read_text() for p in CASES.glob("*.cel")).split("\n"):
        checked = check_filter(line, version=NEXT)[0] if line else None
        if checked and all(c.native for c in lower_filter(checked).conjuncts):
            in_the_walk |= {row.id for rows in checked.checked.overloads.values() for row in rows}
    others = {id_ for id_, lowering in LOWERINGS.items() if lowering.template is None}
    native = {id_ for id_, c in capabilities().items() if c.support is Support.NATIVE}
    assert sorted(native - recorder.used - (in_the_walk & others)) == []
