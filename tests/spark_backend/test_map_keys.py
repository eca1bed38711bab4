"""A map written in a filter has no two keys that are equal, whatever evaluates it.

CEL's definition calls a repeated key an error, and an int, a uint and a double of one number are equal. A map is asked for
a number of any of these types.
"""

from __future__ import annotations

import pytest
from tricel.compiler import check_filter
from tricel.compiler.interpreter import CelError, evaluate
from tricel.spark_backend.compiled_filter import lower_filter
from tricel.spark_backend.engines import ENGINES, Refusal, prepare
from tricel.spark_backend.fallback.activation import Runner
from tricel.spark_backend.fallback.jobs import job_of

EVENT = {"ce": {"id": "1", "source": "/s", "type": "t"}, "data": {"zero": 0.0, "text": "x", "list": []}}
CASES: dict[str, bool | None] = {
    "{0: 1, 0u: 2}[0.0] == 1": None,
    "{0: 1, 0u: 2}[0.0] == 2": None,
    "{0u: 1, 0: 2}[0] == 1": None,
    "{0: 1, 0u: 2}[0u] == 2": None,
    "{0: 1, 0u: 2}.size() == 2": None,
    "{0: true, 0u: false}[0.0]": None,
    "{0: 1, 0u: 1}.exists(k, true)": None,
    "{9223372036854775807: 1, 9223372036854775807u: 2}.size() > 0": None,
    "{dyn(0): 1, dyn(0u): 2}[dyn(0.0)] == 1": None,
    "{int(data.zero): 1, uint(data.zero): 2}[0] == 1": None,
    "{int(data.zero): 1, 0u: 2}[0] == 1": None,
    "{data.list.size(): 1, uint(data.list.size()): 2}.size() == 2": None,
    "cel.bind(u, uint(data.zero), {0: 1, u: 2}.size() == 2)": None,
    "[0u].exists(u, {0: 1, u: 2}.size() == 2)": None,
    "[[0, 1, 2u], [0u]].exists(l, {0: true, l[0]: true}[0])": None,
    "{int(data.zero): 1, uint(data.zero) + 1u: 2}[1.0] == 2": True,
    "{0: 1, 0: 2}.size() == 1": None,
    "{0u: 1, 0u: 1}.size() == 1": None,
    "{'x': 1, data.text: 2}.size() == 1": None,
    "{true: 1, true: 1}.size() == 1": None,
    "{0: 1, 1u: 2}[0.0] == 1": True,
    "{0: 1, 1u: 2}[1] == 2": True,
    "{0: 1, 1u: 2}[0u] == 1": True,
    "{0: 1, 1u: 2}[data.zero] == 1": True,
    "{0: 1, 1u: 2}[1.5] == 1": None,
    "0.0 in {0: 1, 1u: 2} && 0u in {0: 1} && 1 in {1u: 2}": True,
    "{0: 1, 1u: 2} == {0u: 1, 1: 2}": True,
    "{true: 1, 1: 2, '1': 3}.size() == 3": True,
    "{true: 1, 1u: 2}[1] == 2": True,
    "{1.0: 1}[1] == 1": None,
    "{data.zero: 1}[0] == 1": None,
}
"""What each means: true, false, or an error."""


@pytest.mark.parametrize("text", CASES)
def test_our_evaluator_knows_equal_keys(text: str) -> None:
    checked, found = check_filter(text)
    assert checked is not None, found
    if CASES[text] is None:
        with pytest.raises(CelError):
            evaluate(checked.checked.expr, EVENT)
    else:
        assert CASES[text] is evaluate(checked.checked.expr, EVENT)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", CASES)
def test_every_engine_gives_the_one_answer_or_is_not_asked(text: str, engine: str) -> None:
    checked, found = check_filter(text)
    assert checked is not None, found
    lowered = lower_filter(checked)
    job = job_of(lowered, (checked.checked.expr,), engine)
    assert not isinstance(job, Refusal) or engine == "cel-python"
    if not isinstance(job, Refusal):
        assert CASES[text] is Runner(job)(EVENT)


def test_the_fast_engine_is_asked_where_no_keys_may_be_equal() -> None:
    asked = []
    for text in CASES:
        checked, _ = check_filter(text)
        assert checked is not None
        program = prepare(checked.checked.expr, "cel-expr-python", dict(checked.checked.environment.roots))
        assert not isinstance(program, Refusal)
        if program.engine == "cel-expr-python":
            asked.append(text)
    assert "{0: 1, 1u: 2}[data.zero] == 1" in asked
    assert "{'x': 1, data.text: 2}.size() == 1" in asked
    assert "{0: 1, 0u: 2}[0.0] == 1" not in asked
    assert len(asked) > 10
