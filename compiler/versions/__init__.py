"""Versions of the filter language: each names the functions, macros and forms that a filter may have.

An apiVersion names a version that is frozen, so that a Trigger means the same under every release (the founding
proposal, "Expression language versioning"). A Trigger may name a later one, and both run beside each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..functions import ALL
from ..nodes import MacroKind
from . import v1


@dataclass(frozen=True, slots=True)
class LanguageVersion:
    """What a filter may have: overloads by id, macros by kind, and the forms of a Trigger by name."""

    name: str
    overloads: frozenset[str]
    macros: frozenset[str]
    forms: frozenset[str]


V1 = LanguageVersion("v1", v1.OVERLOADS, v1.MACROS, v1.FORMS)
NEXT = LanguageVersion(
    "next", frozenset(row.id for row in ALL), frozenset(kind.value for kind in MacroKind), v1.FORMS - {"sourceAndType"}
)
"""What the next frozen version will have, as far as it is known: what is new, without what is deprecated."""

LANGUAGES = {version.name: version for version in (V1, NEXT)}
"""Every version, by name, the oldest first."""
CURRENT = V1
"""The version of a filter that names none."""
BY_API_VERSION = {
    "eventing.knative.dev/v1": V1,
    "eventing.knative.dev/v1beta1": V1,
    "tricel.dev/v1alpha1": V1,
}
"""The version that a Trigger's apiVersion names."""


def language_named(name: str) -> LanguageVersion:
    """The version of a name.

    Raises:
        ValueError: where there is none.
    """
    if name not in LANGUAGES:
        raise ValueError(f"there is no version {name!r} of the language: there are {', '.join(LANGUAGES)}")
    return LANGUAGES[name]


def later(version: LanguageVersion, overload_or_macro: str) -> str:
    """The first version after this one that has an overload or a macro; empty where none has it."""
    names = list(LANGUAGES)
    after = names[names.index(version.name) + 1 :] if version.name in names else names
    return next((n for n in after if overload_or_macro in LANGUAGES[n].overloads | LANGUAGES[n].macros), "")
