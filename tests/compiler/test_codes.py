"""Every diagnostic code is proven by a case, and no diagnostic is longer than people read."""

from __future__ import annotations

import re

import pytest
from conftest import REPOSITORY
from tricel.compiler import check_filter
from tricel.compiler.diagnostics import CODES, Diagnostic
from tricel.compiler.manifests.trigger import read_object
from tricel.compiler.source import NOWHERE, Source

_CODE = re.compile(r"\bTRI[0-9]{3}\b")


def codes_in(folder: str, suffixes: tuple[str, ...]) -> set[str]:
    """The codes that the files below a folder name."""
    files = [f for f in (REPOSITORY / folder).rglob("*") if f.suffix in suffixes and "__snapshots__" not in f.parts]
    return {code for f in files for code in _CODE.findall(f.read_text(encoding="utf-8"))}


def test_every_code_has_a_case() -> None:
    assert set() == set(CODES) - codes_in("tests", (".py", ".txt", ".yaml", ".json", ".cel"))


def test_every_code_is_given_by_something() -> None:
    given = {c for folder in ("compiler", "k8s", "spark_backend", "tricel") for c in codes_in_sources(folder)}
    assert set(CODES) == given


def codes_in_sources(folder: str) -> set[str]:
    """The codes that the modules below a folder give; the table of them gives none."""
    files = [f for f in (REPOSITORY / folder).rglob("*.py") if f.name not in ("codes.py", "manifest_codes.py")]
    return {code for f in files for code in _CODE.findall(f.read_text(encoding="utf-8"))}


LONG = "x" * 50_000 + "END"


@pytest.mark.parametrize(
    "text",
    [
        f'{LONG} == "a"',
        f"{LONG}(1)",
        f"ce.type.{LONG} == 1",
        f"ce.type.{LONG}()",
        f'ce.type.matches("({LONG}")',
        f'{{"a": {LONG}}} == 1',
        f"{LONG}{{a: 1}} == 1",
    ],
    ids=lambda text: str(len(text)),
)
def test_what_a_user_wrote_is_cut(text: str) -> None:
    _, found = check_filter(text)
    assert found
    assert 1_000 >= max(len(part) for d in found for part in (d.message, d.help))


def test_the_ends_of_a_long_name_are_kept() -> None:
    found = Diagnostic("TRI201", f"unknown name '{LONG}', which is an event's 'own' name", Source(""), NOWHERE)
    assert f"unknown name '{'x' * 97}...{'x' * 17}END', which is an event's 'own' name" == found.message
    unquoted = Diagnostic("TRI201", LONG, Source(""), NOWHERE, help=LONG)
    assert [1_000, 1_000] == [len(unquoted.message), len(unquoted.help)]
    prose = "a 'b' " + "word " * 100 + "'c'"
    assert prose == Diagnostic("TRI201", prose, Source(""), NOWHERE).message


def test_a_manifest_of_long_names() -> None:
    # YAML takes no longer key.
    key = "x" * 1_000
    spec = {key: 2, "filters": [{key: {}}, {"exact": {key: "x"}}, {"prefix": {LONG[:900]: LONG}}], "broker": LONG}
    manifest = {"apiVersion": "eventing.knative.dev/v1", "kind": "Trigger", key: 1, "spec": spec}
    (trigger,), found = read_object(manifest, "t")
    assert 3 <= len(found) + len(trigger.translation.diagnostics)
    assert 1_000 >= max(len(part) for d in (*found, *trigger.translation.diagnostics) for part in (d.message, d.help))
