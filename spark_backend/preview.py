"""What a filter becomes, as text for people: no Spark is started for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .compiled_filter import CompiledFilter
from .fanout.planning.explain import explain
from .fanout.planning.plan import plan
from .sql.layout import default_layout
from .sql.names import names_beside


@dataclass(frozen=True, slots=True)
class _Named:
    id: str
    compiled: CompiledFilter


def preview(compiled: CompiledFilter) -> str:
    """The filter's CEL and the Spark SQL that it becomes, with the reason for what Spark leaves to the fallback."""
    return f"-- CEL: {compiled.cel}\n{compiled.sql}\n"


def as_json(compiled: CompiledFilter) -> dict[str, object]:
    """The same as plain data."""
    needs = compiled.requirements
    return {
        "cel": compiled.cel,
        "sql": compiled.native_sql,
        "conjuncts": [{"cel": c.cel, "native": c.native, "reason": c.reason, "sql": c.sql} for c in compiled.conjuncts],
        "requirements": {
            "attributes": sorted(needs.attributes),
            "paths": sorted([str(k) for k in p] for p in needs.paths),
        },
        "warnings": [{"code": d.code, "message": d.message} for d in compiled.diagnostics],
    }


def planned(named: Sequence[tuple[str, CompiledFilter]]) -> str:
    """How a run, which counts errors, evaluates filters together; for events in a table that nobody has described.

    Raises:
        CompileError: where neither Spark nor an engine can evaluate a filter.
    """
    triggers = [_Named(id_, compiled) for id_, compiled in named]
    environments = dict.fromkeys(f.checked.checked.environment for _, f in named)
    layouts = {environment: default_layout(environment) for environment in environments}
    return explain(plan(triggers, layouts, names_beside(()), errors=[id_ for id_, _ in named]))
