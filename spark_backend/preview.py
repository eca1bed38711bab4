"""What a filter becomes, as text for people: no Spark is started for it."""

from __future__ import annotations

from .lowered import CompiledFilter


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
