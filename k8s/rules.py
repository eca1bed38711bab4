"""What Kubernetes' own CEL can check of a Trigger's spec: rules of the CRD, and of a ValidatingAdmissionPolicy.

Each implies a diagnostic of the compiler, so no Trigger that the compiler accepts is refused by a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tricel.compiler.dialects import UNDER_FILTER, UNDER_FILTERS
from tricel.compiler.manifests.trigger_fields import ABSOLUTE_URI, REFERENCE, SPEC, FieldRow, Shape

_MISSING, _IN_THE_WAY, _WRONG = "FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid"
_REASONS = {
    "TRI310": _WRONG,
    "TRI311": _MISSING,
    "TRI313": _IN_THE_WAY,
    "TRI314": _WRONG,
    "TRI317": _IN_THE_WAY,
    "TRI330": _IN_THE_WAY,
    "TRI331": _IN_THE_WAY,
    "TRI332": _MISSING,
}
"""What Kubernetes calls the problem of a code; it decides the words that stand before the message."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL condition over the spec, `self`; and over the spec before an update, `oldSelf`, where it is a `transition`.

    `code` is the diagnostic that the compiler reports where the condition does not hold, and `field` the path in the
    spec of what is to be mended. A rule about names that the schema does not have is one for a policy `only`: the rules
    of a definition do not see what their schema does not name.
    """

    code: str
    field: str
    condition: str
    message: str
    transition: bool = False
    policy_only: bool = False

    def as_crd(self) -> dict[str, Any]:
        """An item of `x-kubernetes-validations` at the spec."""
        return {
            "rule": self.condition,
            "message": f"{self.code}: {self.message}",
            "reason": _REASONS[self.code],
            "fieldPath": f".{self.field}",
        }

    def as_policy(self) -> dict[str, Any]:
        """An item of `validations` of a ValidatingAdmissionPolicy with the variables `spec` and `oldSpec`."""
        condition = re.sub(r"\boldSelf\b", "variables.oldSpec", re.sub(r"\bself\b", "variables.spec", self.condition))
        if self.transition:
            condition = f"request.operation != 'UPDATE' || !has(oldObject.spec) || ({condition})"
        return {"expression": condition, "message": f"{self.code}: {self.message}", "reason": "Invalid"}


def _given(name: str, holder: str = "self") -> str:
    """That a string field is there and not empty."""
    return f"(has({holder}.{name}) && {holder}.{name} != '')"


def _forms(holder: str) -> str:
    return f"[{', '.join(f'has({holder}.{form})' for form in UNDER_FILTER)}]"


def _restricts(form: str) -> str:
    """That a form says anything: of a mapping, that it has an entry."""
    here, schema = f"self.filter.{form}", UNDER_FILTER[form].schema
    shape = schema({}) if schema is not None else {}
    if "additionalProperties" in shape:
        return f"(has({here}) && {here}.size() > 0)"
    if "properties" in shape:
        fields = " || ".join(f"has({here}.{field})" for field in shape["properties"])
        return f"(has({here}) && ({fields}))"
    return f"has({here})"


_RESTRICTS = " || ".join(map(_restricts, UNDER_FILTER))


def _absent(path: str) -> str:
    """That a field is not there, as the beginning of a disjunction; nor are those that it stands in."""
    names = path.split(".")
    return "".join(f"!has(self.{'.'.join(names[: i + 1])}) || " for i in range(len(names)))


def _destination(path: str) -> tuple[Rule, ...]:
    """The rules of a `ref`, a `uri`, or both."""
    holder, there = f"self.{path}", _absent(path)
    ref = f"has({holder}.ref)"
    named = " && ".join(
        f"(has({holder}.ref.{row.name}) || {_given(row.unless, f'{holder}.ref')})" for row in REFERENCE if row.unless
    )
    absolute = f"{holder}.uri.matches('^{ABSOLUTE_URI}')"
    return (
        Rule("TRI311", path, f"{there}{ref} || has({holder}.uri)", f"spec.{path} needs a ref or a uri"),
        Rule("TRI311", f"{path}.ref", f"{there}!{ref} || ({named})", f"spec.{path}.ref needs an apiVersion"),
        Rule(
            "TRI313",
            f"{path}.uri",
            f"{there}!{ref} || !has({holder}.uri) || !{absolute}",
            f"spec.{path}.uri is absolute and spec.{path}.ref is given too: keep one, or make the uri relative",
        ),
        Rule(
            "TRI314",
            f"{path}.uri",
            f"{there}{ref} || !has({holder}.uri) || {absolute}",
            f"spec.{path}.uri is relative, and there is no spec.{path}.ref that it is relative to",
        ),
    )


def _patterns(fields: tuple[FieldRow, ...], holder: str = "") -> Iterator[Rule]:
    """That the texts of fields match their patterns. A schema would show the pattern, and say nothing else."""
    for row in fields:
        path = f"{holder}{row.name}"
        if row.patterns:
            matching = " && ".join(f"self.{path}.matches('^{pattern}$')" for pattern in row.patterns)
            wanted = row.doc.partition(": ")[2].rstrip(".")
            yield Rule(
                "TRI314", path, f"{_absent(path)}({matching})", f"spec.{path} is not {wanted}, such as 'PT1M30S'"
            )
        yield from _patterns(row.fields, f"{path}.")


def _shape(row: FieldRow) -> Rule:
    """That a field of the spec has its type. A definition says so in its schema."""
    type_, words = _TYPES[row.shape]
    condition = f"!has(self.{row.name}) || type(self.{row.name}) == {type_}"
    return Rule("TRI310", row.name, condition, f"spec.{row.name} must be {words}", policy_only=True)


_TYPES = {
    Shape.OBJECT: ("map", "a mapping"),
    Shape.LIST: ("list", "a list"),
    Shape.STRING: ("string", "a string"),
    Shape.INTEGER: ("int", "a whole number"),
}
_DIALECTS_GIVEN = f"[{', '.join(f'has(each.{name})' for name in UNDER_FILTERS)}].filter(given, given).size()"
_EACH_FILTER = "!has(self.filters) || self.filters.all(each, "

RULES: tuple[Rule, ...] = (
    *map(_shape, SPEC),
    Rule(
        "TRI331",
        "filter",
        f"!has(self.filter) || self.filter.all(form, form in {list(UNDER_FILTER)!r})",
        f"spec.filter takes one of {', '.join(UNDER_FILTER)}, and has something else",
        policy_only=True,
    ),
    Rule(
        "TRI330",
        "filter",
        f"!has(self.filter) || {_forms('self.filter')}.filter(given, given).size() <= 1",
        f"spec.filter takes one form, and has several: keep one of {', '.join(UNDER_FILTER)}",
    ),
    Rule(
        "TRI331",
        "filters",
        f"{_EACH_FILTER}each.all(dialect, dialect in {list(UNDER_FILTERS)!r}))",
        f"a filter of spec.filters takes one of {', '.join(UNDER_FILTERS)}, and has something else",
        policy_only=True,
    ),
    Rule(
        "TRI332",
        "filters",
        f"{_EACH_FILTER}{_DIALECTS_GIVEN} >= 1)",
        f"a filter of spec.filters names no dialect: write one of {', '.join(UNDER_FILTERS)}",
    ),
    Rule(
        "TRI330",
        "filters",
        f"{_EACH_FILTER}{_DIALECTS_GIVEN} <= 1)",
        "a filter of spec.filters has several dialects: make each a filter of its own",
    ),
    Rule(
        "TRI330",
        "filters",
        f"!has(self.filters) || self.filters.size() == 0 || !has(self.filter) || !({_RESTRICTS})",
        "spec.filter and spec.filters are both given: keep one",
    ),
    Rule("TRI311", "broker", f"has(self.brokerRef) || {_given('broker')}", "spec.broker is missing"),
    Rule(
        "TRI313",
        "brokerRef",
        f"!has(self.brokerRef) || !{_given('broker')}",
        "spec.broker and spec.brokerRef are both given: keep one",
    ),
    Rule("TRI311", "subscriber", "has(self.subscriber)", "spec.subscriber is missing"),
    *_destination("subscriber"),
    *_destination("delivery.deadLetterSink"),
    *_patterns(SPEC),
    Rule(
        "TRI317",
        "broker",
        "(has(self.broker) ? self.broker : '') == (has(oldSelf.broker) ? oldSelf.broker : '')",
        "spec.broker is immutable: delete the trigger and create it anew",
        transition=True,
    ),
)
