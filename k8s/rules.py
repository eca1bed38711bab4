"""What Kubernetes' own CEL can check of a Trigger's spec: rules of the CRD, and of a ValidatingAdmissionPolicy.

Each implies a diagnostic of the compiler, so no Trigger that the compiler accepts is refused by a rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tricel.compiler.dialects import FILTER_FORMS
from tricel.compiler.dialects.source_and_type import FIELDS
from tricel.compiler.trigger_fields import ABSOLUTE_URI, REFERENCE


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL condition over the spec, `self`; and over the spec before an update, `oldSelf`, where it is a `transition`.

    `code` is the diagnostic that the compiler reports where the condition does not hold.
    """

    code: str
    condition: str
    message: str
    transition: bool = False

    def as_crd(self) -> dict[str, Any]:
        """An item of `x-kubernetes-validations` at the spec."""
        return {"rule": self.condition, "message": self.message}

    def as_policy(self) -> dict[str, Any]:
        """An item of `validations` of a ValidatingAdmissionPolicy with the variables `spec` and `oldSpec`."""
        condition = re.sub(r"\boldSelf\b", "variables.oldSpec", re.sub(r"\bself\b", "variables.spec", self.condition))
        if self.transition:
            condition = f"request.operation != 'UPDATE' || ({condition})"
        return {"expression": condition, "message": self.message, "reason": "Invalid"}


def _given(name: str, holder: str = "self") -> str:
    """That a string field is there and not empty."""
    return f"(has({holder}.{name}) && {holder}.{name} != '')"


def _forms(holder: str) -> str:
    return f"[{', '.join(f'has({holder}.{form})' for form in FILTER_FORMS)}]"


def _restricts(form: str) -> str:
    match form:
        case "attributes":
            return "(has(self.filter.attributes) && self.filter.attributes.size() > 0)"
        case "sourceAndType":
            fields = " || ".join(f"has(self.filter.sourceAndType.{field})" for field in FIELDS)
            return f"(has(self.filter.sourceAndType) && ({fields}))"
        case _:
            return f"has(self.filter.{form})"


_RESTRICTS = " || ".join(map(_restricts, FILTER_FORMS))


def _destination(path: str) -> tuple[Rule, ...]:
    """The rules of a `ref`, a `uri`, or both."""
    holder = f"self.{path}"
    parents = path.split(".")[:-1]
    there = "".join(f"!has(self.{'.'.join((*parents[:i], name))}) || " for i, name in enumerate(path.split(".")))
    ref = f"has({holder}.ref)"
    named = " && ".join(
        f"(has({holder}.ref.{row.name}) || {_given(row.unless, f'{holder}.ref')})" for row in REFERENCE if row.unless
    )
    absolute = f"{holder}.uri.matches('^{ABSOLUTE_URI}')"
    return (
        Rule("TRI311", f"{there}{ref} || has({holder}.uri)", f"spec.{path} needs a ref or a uri"),
        Rule("TRI311", f"{there}!{ref} || ({named})", f"spec.{path}.ref needs an apiVersion"),
        Rule(
            "TRI313",
            f"{there}!{ref} || !has({holder}.uri) || !{absolute}",
            f"spec.{path}.uri is absolute and spec.{path}.ref is given too: keep one, or make the uri relative",
        ),
        Rule(
            "TRI314",
            f"{there}{ref} || !has({holder}.uri) || {absolute}",
            f"spec.{path}.uri is relative, and there is no spec.{path}.ref that it is relative to",
        ),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        "TRI330",
        f"!has(self.filter) || {_forms('self.filter')}.filter(given, given).size() <= 1",
        f"spec.filter takes one form: {', '.join(FILTER_FORMS)}",
    ),
    Rule(
        "TRI330",
        f"!has(self.filters) || self.filters.size() == 0 || !has(self.filter) || !({_RESTRICTS})",
        "spec.filter and spec.filters are both given: keep one",
    ),
    Rule("TRI311", f"has(self.brokerRef) || {_given('broker')}", "spec.broker is missing"),
    Rule(
        "TRI313",
        f"!has(self.brokerRef) || !{_given('broker')}",
        "spec.broker and spec.brokerRef are both given: keep one",
    ),
    Rule("TRI311", "has(self.subscriber)", "spec.subscriber is missing"),
    *_destination("subscriber"),
    *_destination("delivery.deadLetterSink"),
    Rule(
        "TRI317",
        "(has(self.broker) ? self.broker : '') == (has(oldSelf.broker) ? oldSelf.broker : '')",
        "spec.broker is immutable: delete the trigger and create it anew",
        transition=True,
    ),
)
