"""What the rules of the definition and of the policies say of a Trigger, by our own CEL."""

from __future__ import annotations

from typing import Any

from tricel.compiler import Environment, Source, check, errors, parse
from tricel.compiler.celtypes import JSON
from tricel.compiler.interpreter import CelError, evaluate
from tricel.k8s.crd import admission_policy
from tricel.k8s.rules import RULES, Rule

SELF = Environment("rule", (("self", JSON), ("oldSelf", JSON)))
POLICY = Environment("policy", tuple((name, JSON) for name in ("object", "oldObject", "variables", "request")))
DENY, _, WARN, _ = admission_policy()


def holds(condition: str, environment: Environment, **roots: Any) -> bool | str:
    """A rule's value, by our own CEL; the error's text where it errs."""
    expr, found = parse(Source(condition))
    assert expr is not None, found
    checked = check(expr, environment, Source(condition))
    assert () == errors(checked.diagnostics), checked.diagnostics
    try:
        value = evaluate(checked.expr, roots)
    except CelError as e:
        return str(e)
    assert isinstance(value, bool)
    return value


def broken_rules(spec: Any, old: Any = None) -> list[Rule]:
    return [
        rule
        for rule in RULES
        if not rule.policy_only
        and (old is not None or not rule.transition)
        and holds(rule.condition, SELF, self=spec, oldSelf=old) is not True
    ]


def broken_by_policy(value: Any, old: Any = None, policy: dict[str, Any] = DENY) -> list[str]:
    """The messages of what does not hold of an object, where the policy is for it."""
    request = {"operation": "CREATE" if old is None else "UPDATE"}
    roots = {"object": value, "oldObject": old, "request": request}
    if not all(
        holds(each["expression"], POLICY, variables={}, **roots) is True for each in policy["spec"]["matchConditions"]
    ):
        return []
    variables = {"spec": value.get("spec", {}), "oldSpec": (old or {}).get("spec", {})}
    return [
        each["message"]
        for each in policy["spec"]["validations"]
        if holds(each["expression"], POLICY, variables=variables, **roots) is not True
    ]
