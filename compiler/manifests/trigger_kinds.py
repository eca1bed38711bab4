"""Which objects of a text are Triggers, and which are only nearly some: both are told by kind and apiVersion."""

from __future__ import annotations

from collections.abc import Iterable

from ..dialects.model import Findings
from ..documents.document import Place, items, member, members
from ..suggest import closest
from .trigger_fields import GROUPS, TRICEL_GROUP, VERSIONS, group_of
from .trigger_rules import text_of

KIND = "Trigger"
_LISTS = frozenset({"List", "TriggerList"})
_LOWER_LISTS = frozenset(name.lower() for name in _LISTS)
_SPEC = frozenset({"broker", "brokerRef"})
"""What no other kind's `spec` has beside a subscriber."""


def trigger_places(place: Place, findings: Findings) -> Iterable[Place]:
    """The Triggers in one object, lists opened; reports those of a version that is not known, and what is nearly one."""
    kind, version = text_of(member(place, "kind")), text_of(member(place, "apiVersion"))
    if kind in _LISTS:
        listed = member(place, "items")
        for item in items(listed) if listed is not None else ():
            yield from trigger_places(item, findings)
        return
    if kind != KIND or (version and group_of(version) not in GROUPS):
        _nearly(place, kind, version, findings)
        return
    here = member(place, "apiVersion") or member(place, "kind") or place
    if version in VERSIONS:
        if VERSIONS[version]:
            findings.report("TRI319", here, f"apiVersion '{version}' is deprecated", VERSIONS[version])
        yield place
    elif version:
        findings.report("TRI318", here, f"apiVersion '{version}' is not supported", _versions())
    else:
        findings.report("TRI311", here, "'apiVersion' is missing", _versions())
        yield place


def _nearly(place: Place, kind: str, version: str, findings: Findings) -> None:
    """Warns of an object that is skipped and was probably meant to be a Trigger, or a list of them."""
    here = member(place, "kind")
    if here is not None and kind.lower() in _LOWER_LISTS:
        listed = member(place, "items")
        inside = Findings()
        if listed is not None and any([*trigger_places(item, inside)] or inside.found for item in items(listed)):
            known = next(name for name in _LISTS if name.lower() == kind.lower())
            _warn(here, f"kind '{kind}' is not read", f"write 'kind: {known}'", findings)
        return
    group = group_of(version)
    named = closest(kind, (KIND,)) != ""
    ours = group in GROUPS
    near = ours or closest(group, GROUPS) != ""
    shaped = _shaped(place)
    if kind == KIND and (near or shaped or "/" not in version):
        at = member(place, "apiVersion") or place
        _warn(at, f"apiVersion '{version}' has no Triggers that are read", _versions(), findings)
    elif kind != KIND and (near or not version) and (named or shaped or group == TRICEL_GROUP):
        what = f"kind '{kind}' is not read" if kind else "an object without a kind is not read"
        _warn(here or place, what, f"write 'kind: {KIND}'", findings)
        if not ours:
            at = member(place, "apiVersion") or place
            _warn(at, f"apiVersion '{version}' has no Triggers that are read", _versions(), findings)


def _shaped(place: Place) -> bool:
    """Whether its spec is like that of a Trigger."""
    spec = member(place, "spec")
    given = {name for name, _ in members(spec)} if spec is not None else set()
    return "subscriber" in given and bool(given & _SPEC)


def _warn(at: Place, message: str, help_: str, findings: Findings) -> None:
    findings.report("TRI348", at, message, help_, at=at.value.span if at.path else None)


def _versions() -> str:
    return "write " + " or ".join(f"'apiVersion: {each}'" for each, deprecated in VERSIONS.items() if not deprecated)
