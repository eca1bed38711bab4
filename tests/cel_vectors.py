"""The published CEL conformance cases: their bindings, types and expectations as our own values."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conftest import conformance
from tricel.compiler.celtypes import CelType
from tricel.compiler.environments.model import Environment
from tricel.compiler.values.cel import Duration, Timestamp, TypeValue, Uint, as_key
from tricel.compiler.values.durations import nanoseconds
from tricel.compiler.values.rfc3339 import nanoseconds as instant

CORE = (
    *("basic", "comparisons", "conversions", "fields", "fp_math", "integer_math", "lists", "logic", "macros"),
    *("namespace", "parse", "plumbing", "string", "timestamps"),
)
EXCEPTIONS = {"type_deduction/legacy_nullable_types": "the checker joins null and a value of another type to dyn"}
"""Sections of which no case passes, each with its reason."""
EXTENSIONS = ("string_ext", "math_ext", "optionals", "bindings_ext", "encoders_ext", "macros2")


@dataclass(frozen=True)
class Case:
    """One conformance case. `value` and `error` are what is expected; neither, for a case of types only.

    `declares`: it calls functions that it declares itself.
    """

    id: str
    file: str
    text: str
    environment: Environment
    bindings: Mapping[str, Any]
    checked: bool
    value: Any = None
    error: bool = False
    type: str = ""
    check_only: bool = False
    declares: bool = False

    @property
    def excepted(self) -> str:
        """Why the case is known not to pass; empty where it has to."""
        return "a filter cannot declare functions" if self.declares else EXCEPTIONS.get(self.id.rpartition("/")[0], "")


def cases() -> list[Case]:
    """All cases of the published suite that is present."""
    return [_case(c) for c in conformance("cel-spec.json")["cases"]]


def _case(c: Mapping[str, Any]) -> Case:
    expect = c["expect"]
    roots = {name: cel_type(text) for name, text in c.get("type_env", {}).items()}
    roots = {name: _bound_type(c["bindings"][name]) for name in c["bindings"]} | roots
    return Case(
        id=f"{c['file']}/{c['section']}/{c['name']}",
        file=c["file"],
        text=c["expr"],
        environment=Environment("case", tuple(roots.items()), c.get("container", "")),
        bindings={name: value(v) for name, v in c["bindings"].items()},
        checked=not c["disable_check"],
        value=value(expect["value"]) if "value" in expect else None,
        error="error" in expect,
        type=expect.get("deduced_type", ""),
        check_only=c.get("check_only", False),
        declares=bool(c.get("functions")),
    )


def cel_type(text: str) -> CelType:
    """The type that a signature such as `map(string, list(int))` writes."""
    tokens = re.findall(r"[\w.]+|[(),]", text)

    def parse() -> CelType:
        name = tokens.pop(0)
        params = []
        if tokens and tokens[0] == "(":
            while tokens.pop(0) != ")":
                params.append(parse())
        return CelType(name.replace("google.protobuf.", "").lower() if "google" in name else name, tuple(params))

    return parse()


def _bound_type(tagged: Mapping[str, Any]) -> CelType:
    (tag,) = tagged
    return CelType({"null": "null_type", "bytes_b64": "bytes", "list": "dyn", "map": "dyn"}.get(tag, tag))


def value(tagged: Mapping[str, Any]) -> Any:
    """A tagged value as the interpreter has it."""
    ((tag, v),) = tagged.items()
    match tag:
        case "int" | "bool" | "string" | "null":
            return v
        case "uint":
            return Uint(v)
        case "double":
            return float(v)
        case "bytes_b64":
            return base64.b64decode(v)
        case "list":
            return [value(item) for item in v]
        case "map":
            return {as_key(value(k)): value(x) for k, x in v}
        case "timestamp":
            return Timestamp(instant(v) or 0)
        case "duration":
            return Duration(nanoseconds(v) or 0)
        case "type":
            return TypeValue(v)
        case _:
            raise ValueError(tag)
