"""Manifests read by the tests: the triggers, and everything that is said of them."""

from __future__ import annotations

from typing import Any

from tricel.compiler import Diagnostic, Source, Trigger, read_manifests


def read(text: str, **options: Any) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    """The triggers, and all diagnostics, those of the filters too."""
    triggers, found = read_manifests(Source(text, "t.yaml"), **options)
    return triggers, (*found, *(d for t in triggers for d in t.translation.diagnostics))


def codes(text: str, **options: Any) -> list[str]:
    return [d.code for d in read(text, **options)[1]]
