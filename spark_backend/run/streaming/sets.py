"""A state of the triggers, as text that can be compiled again, and its name: the text's hash."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tricel.compiler import CLOUD_EVENT, CompileError, Limits, Source, parse
from tricel.compiler.compile import check_translation
from tricel.compiler.dialects import Translation
from tricel.compiler.environments.known import described, from_description
from tricel.compiler.versions import CURRENT, language_named

from ...compiled_filter import CompiledFilter, lower_filter
from ...places.model import Addressed
from ..delivery import Filter
from ..evaluation import Judge

_VERSION = 1
_ACCEPTED = Limits(text=sys.maxsize, items=sys.maxsize, cost=sys.maxsize, built=sys.maxsize)
"""What a filter was allowed when it was taken up, it is allowed again; as CEL it may be longer than it was written."""


@dataclass(frozen=True)
class SetTrigger:
    """A trigger of a set. `on_error` is what becomes of its errors, whoever chose it: drop, deliver or fail."""

    id: str
    compiled: CompiledFilter
    on_error: str
    destination: str = ""
    topic: str = ""


@dataclass(frozen=True)
class TriggerSet:
    """Triggers in the order of their ids, with all that decides what becomes of an event, and nothing else."""

    triggers: tuple[SetTrigger, ...]

    @cached_property
    def text(self) -> str:
        """The set as JSON: canonical, one trigger a line."""
        rows = [
            {"id": t.id, "cel": t.compiled.cel, "engine": t.compiled.engine, "onError": t.on_error, "to": t.destination}
            | _environment(t.compiled)
            | _language(t.compiled)
            | ({"topic": t.topic} if t.topic else {})
            for t in self.triggers
        ]
        lines = ",\n".join(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)
        return f'{{"version":{_VERSION},"triggers":[\n{lines}\n]}}\n'

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the text, in hexadecimal: equal where the sets mean the same, written the same way."""
        return hash_of(self.text)

    @cached_property
    def judge(self) -> Judge[Filter]:
        """What applies the set to events; it keeps its plans."""
        return Judge(self.triggers)


def _environment(compiled: CompiledFilter) -> dict[str, object]:
    """What a filter may name, where that is not a CloudEvent."""
    environment = compiled.checked.checked.environment
    return {} if environment == CLOUD_EVENT else {"environment": described(environment)}


def _language(compiled: CompiledFilter) -> dict[str, object]:
    """The version of the language, where it is not the current one."""
    version = compiled.checked.checked.version
    return {} if version is CURRENT else {"language": version.name}


def set_of(triggers: Sequence[Filter], on_error: str) -> TriggerSet:
    """The set of these triggers, in a run that does with errors what `on_error` says where a trigger says nothing."""
    chosen = (SetTrigger(t.id, t.compiled, t.on_error or on_error, t.destination, t.topic) for t in triggers)
    return TriggerSet(tuple(sorted(chosen, key=lambda t: t.id)))


def hash_of(text: str) -> str:
    """The name of the set that a text was made of."""
    return hashlib.sha256(text.encode()).hexdigest()


def ids_of(text: str) -> tuple[str, ...]:
    """The ids of the triggers of the set that a text was made of."""
    return tuple(row["id"] for row in json.loads(text)["triggers"])


def addressed(text: str) -> tuple[Addressed, ...]:
    """The triggers of the set that a text was made of, without their filters."""
    return tuple(Addressed(row["id"], row["to"], row.get("topic", "")) for row in json.loads(text)["triggers"])


def restored(text: str) -> TriggerSet:
    """The set that a text was made of.

    Raises:
        CompileError: where this release refuses what the one that wrote it took.
        ValueError: where it is no such text.
    """
    value = json.loads(text)
    if value.get("version") != _VERSION:
        raise ValueError(f"a set of triggers of version {value.get('version')!r}")
    triggers = []
    for row in value["triggers"]:
        environment = from_description(row["environment"]) if "environment" in row else CLOUD_EVENT
        version = language_named(row.get("language", CURRENT.name))
        source = Source(row["cel"], row["id"])
        expr, found = parse(source, _ACCEPTED)
        translation = Translation(expr, source, found, "cel")
        checked, diagnostics = check_translation(translation, environment, limits=_ACCEPTED, version=version)
        if checked is None:
            raise CompileError(diagnostics)
        lowered = lower_filter(checked, engine=row["engine"])
        triggers.append(SetTrigger(row["id"], lowered, row["onError"], row["to"], row.get("topic", "")))
    return TriggerSet(tuple(triggers))
