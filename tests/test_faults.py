"""The boundaries: an exception that nobody foresaw is told like anything else, and ends neither a command nor a review."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from admission_vectors import admission_review, trigger
from click.testing import CliRunner, Result
from filter_sets import Named, trigger_yaml
from tricel.compiler import CompileError, Diagnostic, check_filter, read_manifests
from tricel.compiler.faults import SWITCH
from tricel.compiler.limits import DEFAULT as LIMITS
from tricel.compiler.source import Source
from tricel.k8s.logs import JsonFormatter
from tricel.k8s.work import MUTATE, VALIDATE, answered
from tricel.spark_backend.fallback import hoist, jobs
from tricel.spark_backend.fanout.planning.explain import explain
from tricel.spark_backend.fanout.planning.plan import plan
from tricel.spark_backend.fanout.planning.shapes import Shapes
from tricel.spark_backend.sql import all_of
from tricel.spark_backend.sql.handlers import calls
from tricel.spark_backend.sql.layout import DEFAULT
from tricel.spark_backend.sql.names import names_beside
from webhook_process import WebhookProcess

from tricel import compile_filter
from tricel.cli import main

SECRET = "secret-7fd1"
TEXT = f'ce.type == "{SECRET}" && data.total > 5.0'
SLOW = 'data.name.matches(data.pattern) && ce.type == "t"'
READING = {
    "parser": "tricel.compiler.dialects.cel.parse",
    "names": "tricel.compiler.compile.resolve",
    "checker": "tricel.compiler.compile.check",
    "cost": "tricel.compiler.compile.over_limit",
    "macros of tricel's own": "tricel.compiler.dialects.cel.expand_match",
}
"""What reads a filter, by where it is looked up."""
LATER = {
    "rewrites": "tricel.spark_backend.compiled_filter.simplified",
    "engines": "tricel.spark_backend.compiled_filter.prepare",
}
ALL_PASSES = {**READING, **LATER}
FAULTS = (IndexError(SECRET), RecursionError(SECRET), MemoryError(SECRET), AssertionError(SECRET))


@pytest.fixture(autouse=True)
def bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH)


def broken(fault: BaseException) -> Callable[..., NoReturn]:
    """A function that always ends in this exception."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise fault

    return fail


def broken_lowering(monkeypatch: pytest.MonkeyPatch, fault: BaseException) -> None:
    """A lowering that fails on whatever calls `matches`, or compares with the secret."""
    sound = calls.call

    def call(lowering: Any, e: Any, scope: Any) -> Any:
        if e.function == "matches" or SECRET in repr(e):
            raise fault
        return sound(lowering, e, scope)

    monkeypatch.setattr(calls, "call", call)


def refused(filter_: str | dict[str, object]) -> tuple[Diagnostic, ...]:
    with pytest.raises(CompileError) as caught:
        compile_filter(filter_)
    return caught.value.diagnostics


def command(*arguments: str, given: str = "") -> Result:
    result = CliRunner().invoke(main, arguments, input=given)
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert "Traceback" not in result.output
    return result


def webhook(path: str, value: object) -> tuple[dict[str, Any], str]:
    """The response to a review, and the log line about it."""
    found = answered(path, json.dumps(admission_review(value)).encode(), frozenset(), LIMITS)
    record = logging.LogRecord("tricel.webhook", logging.INFO, "", 0, "reviewed", (), None)
    record.fields = found.fields
    return json.loads(found.body)["response"], JsonFormatter().format(record)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("where", ALL_PASSES)
def test_a_fault_is_an_internal_error(where: str, fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ALL_PASSES[where], broken(fault))
    (found,) = refused(SLOW)
    assert ("TRI901", "error") == (found.code, found.severity)
    assert f"tricel failed with {type(fault).__name__} in test_faults.py:" in found.message
    assert "please report it" in found.help
    assert SLOW == found.source.text
    assert SECRET not in found.message


def test_a_fault_of_the_analysis_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tricel.compiler.compile.analyse", broken(IndexError()))
    checked, found = check_filter(TEXT)
    assert () == found
    assert checked is not None
    assert ["TRI901"] == [d.code for d in checked.diagnostics]
    assert 2 == command("lint", "-e", TEXT).exit_code
    assert not webhook(VALIDATE, trigger({"filter": {"expression": TEXT}}))[0]["allowed"]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: type(f).__name__)
def test_a_fault_of_the_lowering_is_a_warning(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    broken_lowering(monkeypatch, fault)
    found = compile_filter(TEXT)
    assert [False, True] == [c.native for c in found.conjuncts]
    (warning,) = found.diagnostics
    assert ("TRI402", "warning") == (warning.code, warning.severity)
    message = f"the lowering of 'ce.type == \"{SECRET}\"' failed with {type(fault).__name__} in test_faults.py:"
    assert message in warning.message
    assert f'ce.type == "{SECRET}"' == TEXT[warning.span.start : warning.span.end]
    assert "please report it" in warning.help
    assert "-- AND evaluated by cel-expr-python" in found.sql
    assert "because of a fault of tricel" in found.sql


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), SystemExit(3)], ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("where", [*ALL_PASSES.values(), "tricel.spark_backend.sql.handlers.calls.call"])
def test_who_ends_the_program_ends_it(where: str, fault: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, broken(fault))
    with pytest.raises(type(fault)):
        compile_filter(SLOW)


@pytest.mark.parametrize("where", [*ALL_PASSES.values(), "tricel.spark_backend.sql.handlers.calls.call"])
def test_without_the_boundary_it_is_an_exception(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "raise")
    monkeypatch.setattr(where, broken(IndexError(SECRET)))
    with pytest.raises(IndexError, match=SECRET):
        compile_filter(SLOW)


def test_what_tests_start_has_no_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    script = f"import os; print(os.environ.get({SWITCH!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "raise" == done.stdout.strip() == os.environ[SWITCH]


def test_a_command_ends_with_two_and_no_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tricel.compiler.compile.check", broken(IndexError(SECRET)))
    for words in (["lint"], ["compile"], ["compile", "--format", "json"], ["eval"]):
        result = command(*words, "-e", TEXT)
        assert 2 == result.exit_code, words
        assert "error[TRI901]: tricel failed with IndexError in test_faults.py:" in result.output
    run = ["run", "--events", str(tmp_path), "--out", str(tmp_path / "out"), "--triggers", str(tmp_path)]
    (tmp_path / "t.yaml").write_text(trigger_yaml("t", TEXT))
    for more in ([], ["--stream"]):
        result = command(*run, *more)
        assert 2 == result.exit_code
        assert "TRI901" in result.output


def test_a_fault_outside_of_filters_ends_a_command_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tricel.spark_backend.preview.preview", broken(IndexError(SECRET)))
    result = command("compile", "-e", TEXT)
    assert 2 == result.exit_code
    assert "error[TRI901]: tricel failed with IndexError in test_faults.py:" in result.output
    assert SECRET not in result.output


def test_other_filters_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tricel.compiler import compile as facade

    sound = facade.check

    def check(expr: Any, *rest: Any, **more: Any) -> Any:
        if SECRET in repr(expr):
            raise IndexError
        return sound(expr, *rest, **more)

    monkeypatch.setattr(facade, "check", check)
    for name, text in (("a", "data.x == 1"), ("b", TEXT), ("c", "user.id == 1")):
        (tmp_path / f"{name}.yaml").write_text(trigger_yaml(name, text))
    result = command("lint", str(tmp_path))
    assert 2 == result.exit_code
    assert "1 filters compiled, 2 errors" in result.output
    assert {"TRI901", "TRI201"} == {code for code in ("TRI901", "TRI201", "TRI402") if code in result.output}


def test_a_dialect_that_fails_spoils_its_own_trigger_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from tricel.compiler.manifests import trigger

    sound = trigger.translate_spec

    def translate(spec: Any) -> Any:
        if SECRET in spec.source.text[spec.value.span.start : spec.value.span.end]:
            raise IndexError
        return sound(spec)

    monkeypatch.setattr(trigger, "translate_spec", translate)
    found, diagnostics = read_manifests(Source(trigger_yaml("a", TEXT) + "---\n" + trigger_yaml("b", "true"), "t.yaml"))
    assert () == diagnostics
    assert [["TRI901"], []] == [[d.code for d in t.translation.diagnostics] for t in found]


@pytest.mark.parametrize(
    "where", ["tricel.compiler.manifests.trigger.read_documents", "tricel.compiler.manifests.trigger._read"]
)
def test_a_manifest_that_cannot_be_read(where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(where, broken(RecursionError()))
    (tmp_path / "t.yaml").write_text(trigger_yaml("t", "true"))
    result = command("lint", str(tmp_path))
    assert 2 == result.exit_code
    assert "error[TRI901]: tricel failed with RecursionError in test_faults.py:" in result.output


def test_a_filter_whose_lowering_fails_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    broken_lowering(monkeypatch, IndexError())
    event = {"specversion": "1.0", "id": "1", "source": "/s", "type": SECRET, "data": {"total": 6}}
    result = command("eval", "-e", TEXT, given=json.dumps(event) + "\n")
    assert 0 == result.exit_code
    assert "1 matched" in result.output
    assert "warning[TRI402]" in result.output
    assert 0 == command("lint", "-e", TEXT).exit_code
    assert 1 == command("lint", "--strict", "-e", TEXT).exit_code


IN_A_REVIEW = {
    **{name: where for name, where in ALL_PASSES.items() if name not in ("parser", "macros of tricel's own")},
    "dialect's parser": "tricel.compiler.dialects.expression.parse",
    "manifest": "tricel.compiler.manifests.trigger._read",
    "review": "tricel.k8s.work.judge",
}


@pytest.mark.parametrize("where", IN_A_REVIEW.values(), ids=IN_A_REVIEW)
def test_the_webhook_denies_and_says_why(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, broken(IndexError(SECRET)))
    response, line = webhook(VALIDATE, trigger({"filter": {"expression": SLOW + f' && ce.id == "{SECRET}"'}}))
    assert not response["allowed"]
    assert "TRI901" in response["status"]["message"]
    assert "tricel failed with IndexError in test_faults.py:" in response["status"]["message"]
    assert "Traceback" not in response["status"]["message"]
    assert "TRI901" in line
    assert "tricel failed with IndexError in test_faults.py:" in line
    assert SECRET not in line


def test_the_webhook_allows_what_only_the_lowering_fails_on(monkeypatch: pytest.MonkeyPatch) -> None:
    broken_lowering(monkeypatch, IndexError(SECRET))
    response, line = webhook(VALIDATE, trigger({"filter": {"expression": TEXT}}))
    assert response["allowed"]
    assert ["TRI402", "TRI550"] == [code for code in ("TRI402", "TRI550") if code in str(response["warnings"])]
    assert SECRET not in line


BREAKS = """
import tricel.k8s.work as work
sound = work.judge
def judge(request, **given):
    if request.name == "broken":
        raise IndexError(str(request.object))
    return sound(request, **given)
work.judge = judge
"""


def test_a_webhook_as_it_runs_denies_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(BREAKS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    webhook_ = WebhookProcess(tmp_path, "--workers", "1", "--drain", "0")
    try:
        for name, allowed in (("broken", False), ("sound", True), ("broken", False)):
            value = trigger({"filter": {"expression": TEXT}}, name=name)
            assert allowed == webhook_.review(admission_review(value))["allowed"]
    finally:
        webhook_.stop()
    lines = [json.loads(line) for line in webhook_.lines]
    told = [line for line in lines if line.get("codes") == ["TRI901"]]
    assert 2 == len(told)
    assert "tricel failed with IndexError in sitecustomize.py:6" == told[0]["faults"][0]
    assert not any(line["message"] == "a worker died" for line in lines)
    assert not any(SECRET in line for line in webhook_.lines)


def test_a_mutation_that_fails_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tricel.k8s.work.patched", broken(IndexError(SECRET)))
    response, line = webhook(MUTATE, trigger({"filter": {"expression": TEXT}}))
    assert not response["allowed"]
    assert "TRI901" in response["status"]["message"]
    assert SECRET not in line


def test_a_residual_that_cannot_be_hoisted_reads_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_filter(SLOW)
    (left,) = compiled.residual
    assert jobs.residual_of(compiled, (left.expr,)).values
    monkeypatch.setattr(hoist, "_name", broken(IndexError()))
    found = jobs.residual_of(compiled, (left.expr,))
    assert () == found.values
    assert {"data"} == found.needs.roots


SET = ('ce.type == "a"', 'ce.type == "b" && data.x == 1', TEXT, SLOW)


def test_a_filter_whose_shape_cannot_be_read_is_left_to_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    triggers = [Named(str(i), compile_filter(text)) for i, text in enumerate(SET)]
    layouts = {triggers[0].compiled.checked.checked.environment: DEFAULT}
    sound = Shapes._member

    def member(self: Shapes, id_: str, compiled: Any) -> Any:
        if id_ in ("1", "2"):
            raise IndexError
        return sound(self, id_, compiled)

    monkeypatch.setattr(Shapes, "_member", member)
    found = plan(triggers, layouts, names_beside(()), errors=["2"])
    assert list("0123") == sorted({e.member.id for e in found.entries})
    told = explain(found)
    assert all(triggers[i].compiled.cel in told for i in (1, 2))
    assert "a fault of tricel: IndexError in test_faults.py" in told
    for id_ in "12":
        (entry,) = [e for e in found.entries if e.member.id == id_]
        assert (0, all_of(())) == (entry.asked, entry.member.shape.sql)
        assert entry.member.residual is not None
        assert triggers[int(id_)].compiled.cel == entry.member.residual.cel


def test_a_shape_whose_keys_cannot_be_found_is_tried_on_every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    triggers = [Named(str(i), compile_filter(text)) for i, text in enumerate(SET)]
    layouts = {triggers[0].compiled.checked.checked.environment: DEFAULT}
    assert 4 > plan(triggers, layouts, names_beside(())).every
    monkeypatch.setattr("tricel.compiler.analysis.covers.Covers.of_conjuncts", broken(IndexError()))
    found = plan(triggers, layouts, names_beside(()))
    assert 4 == found.every == len(found.entries)
