"""Diagnostics as SARIF 2.1.0, for code-scanning services."""

from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.parse import quote

from .as_json import as_object
from .codes import CODES
from .model import Diagnostic


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """One run with its rules and results (OASIS SARIF 2.1.0, section 3)."""
    found = list(diagnostics)
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "fullDescription": {"text": CODES[code].explanation},
            "defaultConfiguration": {"level": CODES[code].severity},
        }
        for code in sorted({d.code for d in found})
    ]
    driver = {"name": "tricel", "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [_result(d) for d in found]}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(d: Diagnostic) -> dict[str, object]:
    o = as_object(d)
    region = {"startLine": o["line"], "startColumn": o["column"], "endLine": o["endLine"], "endColumn": o["endColumn"]}
    physical = {"artifactLocation": {"uri": _uri(str(o["file"]))}, "region": region}
    location: dict[str, object] = {"physicalLocation": physical}
    if o["field"]:
        location["logicalLocations"] = [{"fullyQualifiedName": o["field"]}]
    text = f"{d.message}. {d.help}" if d.help else d.message
    return {"ruleId": d.code, "level": str(d.severity), "message": {"text": text}, "locations": [location]}


def _uri(file: str) -> str:
    """A file name as a URI reference, relative where the name is."""
    path = quote(file.encode("utf-8", "replace"), safe="/")
    return f"file://{path}" if path.startswith("/") else path
