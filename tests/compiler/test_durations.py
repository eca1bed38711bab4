"""Durations: CEL's text read and written, and agreement with the engine on which texts are durations."""

from __future__ import annotations

import pytest
from cel_expr_python import cel
from tricel.compiler.values import durations

SECOND = 10**9
READ = {
    "0": 0,
    "-0": 0,
    "1s": SECOND,
    "+1.5s": 3 * SECOND // 2,
    "-.5s": -SECOND // 2,
    "5.s": 5 * SECOND,
    "1h1m1.000000001s": 3661 * SECOND + 1,
    "1ms1us1ns": 1_001_001,
    "1s1h": 3601 * SECOND,
    "0.9ns": 0,
    "-1.9ns": -1,
    "00000000000000000000000000001s": SECOND,
    "87660000h": 315_576_000_000 * SECOND,
    "315576000000.999999999s": durations.MAX_NANOSECONDS,
    "315576000001s": None,
    "-315576000001s": None,
    "99999999999999999999999999s": None,
    "": None,
    "-": None,
    ".s": None,
    "1": None,
    "1.5": None,
    "1d": None,
    " 1s": None,
    "1s ": None,
    "1s-1s": None,
    "1e3s": None,
    "\u0661s": None,
}


@pytest.mark.parametrize(("text", "nanos"), READ.items())
def test_a_text_is_read_as_the_engine_reads_it(text: str, nanos: int | None) -> None:
    assert nanos == durations.nanoseconds(text)
    engine = cel.NewEnv(variables={"d": cel.Type.DYN}).compile("string(duration(d))", disable_check=True)
    found = engine.eval(data={"d": text})
    assert (None if nanos is None else durations.text_of(nanos)) == (
        found.value() if found.type().name() == "STRING" else None
    )


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1us", (1, True)),
        ("-1.5us", (-1, False)),
        ("0.1ns", (0, False)),
        ("0.5us0.5us", (1, True)),
        ("1.000000s", (1_000_000, True)),
        ("x", None),
    ],
)
def test_microseconds_say_whether_they_are_exact(text: str, micros: tuple[int, bool] | None) -> None:
    assert micros == durations.microseconds(text)
