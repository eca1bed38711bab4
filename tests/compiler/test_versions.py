"""Versions of the language are frozen, an apiVersion names one, and a Trigger may name a later one."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest
from tricel.compiler import Source, check_filter, read_manifests
from tricel.compiler.compile import check_translation
from tricel.compiler.dialects import DIALECTS
from tricel.compiler.dialects.model import Under
from tricel.compiler.functions import ALL
from tricel.compiler.manifests.trigger_fields import VERSIONS
from tricel.compiler.nodes import MacroKind
from tricel.compiler.versions import BY_API_VERSION, CURRENT, LANGUAGES, NEXT, V1, LanguageVersion, later

FROZEN = {"v1": "456755b4e56bfea9f4ad2a91e042ceedfbde033487643e1c2af64a740af390ca"}
"""What each frozen version was released with."""


def digest(version: LanguageVersion) -> str:
    parts = (version.overloads, version.macros, version.forms)
    return sha256("\n".join(" ".join(sorted(part)) for part in parts).encode()).hexdigest()


def test_a_frozen_version_is_as_it_was_released() -> None:
    """What is new belongs to the next version: nothing enters `compiler/versions/v1.py`, and nothing leaves it."""
    assert {name: digest(v) for name, v in LANGUAGES.items() if v is not NEXT} == FROZEN


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_version_names_what_there_is(name: str) -> None:
    version = LANGUAGES[name]
    assert set() == version.overloads - {row.id for row in ALL}
    assert set() == version.macros - {kind.value for kind in MacroKind}
    assert set() == version.forms - {row.name for row in DIALECTS if row.under is not Under.NOWHERE}


def test_what_is_new_is_in_the_next_version() -> None:
    assert NEXT.overloads == {row.id for row in ALL}
    assert NEXT.macros == {kind.value for kind in MacroKind}


def test_every_api_version_names_a_frozen_version() -> None:
    assert set(BY_API_VERSION) == set(VERSIONS)
    assert NEXT not in BY_API_VERSION.values()


OLD = replace(V1, name="old", overloads=V1.overloads - {"starts_with_string"}, macros=V1.macros - {"exists"})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('ce.id.startsWith("a")', "'startsWith' is not of version 'old'"),
        ("!(ce.id.startsWith(ce.type)) || true", "'startsWith' is not of version 'old'"),
        ("data.l.exists(x, x == 1.0)", "the macro 'exists' is not of version 'old'"),
    ],
)
def test_what_a_version_lacks_is_an_error_with_its_place(text: str, what: str) -> None:
    checked, (found,) = check_filter(text, version=OLD)
    assert (None, "TRI213") == (checked, found.code)
    assert what in found.message
    assert text[found.span.start : found.span.end].lstrip("(").startswith(("ce.id", "data.l"))
    assert "'languageVersion: v1'" in found.help
    assert check_filter(text)[0] is not None


@pytest.mark.parametrize("text", ['ce.id.endsWith("a")', "data.l.all(x, x == 1.0)", 'ce.id.unknown("a")'])
def test_the_rest_is_as_it_was(text: str) -> None:
    assert [d.code for d in check_filter(text, version=OLD)[1]] == [d.code for d in check_filter(text)[1]]


def test_the_first_later_version_is_named() -> None:
    assert ("v1", "", "next") == (later(OLD, "exists"), later(NEXT, "exists"), later(V1, "exists"))


OWN = "apiVersion: tricel.dev/v1alpha1\nkind: Trigger\nmetadata: {{name: t{annotations}}}\nspec:\n  broker: b\n{spec}"
KNATIVE = OWN.replace("tricel.dev/v1alpha1", "eventing.knative.dev/v1")
REST = "  subscriber: {uri: http://x/}\n"
ANNOTATED = ", annotations: {tricel.dev/language-version: next}"
DEPRECATED = "  filter: {sourceAndType: {type: a}}\n" + REST
PLAIN = "  filter: {attributes: {type: a}}\n" + REST


@pytest.mark.parametrize(
    ("manifest", "version", "codes"),
    [
        (OWN.format(annotations="", spec=PLAIN), V1, []),
        (OWN.format(annotations="", spec="  languageVersion: next\n" + PLAIN), NEXT, []),
        (OWN.format(annotations="", spec="  languageVersion: v1\n" + DEPRECATED), V1, ["TRI339"]),
        (OWN.format(annotations="", spec="  languageVersion: next\n" + DEPRECATED), NEXT, ["TRI339", "TRI351"]),
        (OWN.format(annotations="", spec="  languageVersion: v7\n" + PLAIN), V1, ["TRI315"]),
        (OWN.format(annotations=ANNOTATED, spec=PLAIN), V1, ["TRI315"]),
        (KNATIVE.format(annotations=ANNOTATED, spec=PLAIN), NEXT, []),
        (KNATIVE.format(annotations="", spec="  languageVersion: next\n" + PLAIN), V1, ["TRI315"]),
    ],
)
def test_a_trigger_names_its_version(manifest: str, version: LanguageVersion, codes: list[str]) -> None:
    (trigger,), found = read_manifests(Source(manifest, "t.yaml"))
    _, problems = check_translation(trigger.translation, version=trigger.version)
    assert (version, codes) == (trigger.version, sorted({d.code for d in (*found, *problems)}))


def test_a_filter_that_names_none_is_of_the_current_version() -> None:
    checked, _ = check_filter("true")
    assert checked is not None
    assert CURRENT is checked.checked.version
