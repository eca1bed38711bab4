"""The definition of tricel's Trigger for a cluster, and a policy that checks Triggers without a webhook."""

from __future__ import annotations

from typing import Any

import yaml
from tricel.compiler.manifests.trigger_fields import GROUPS, TRICEL_GROUP, VERSIONS

from .openapi import trigger_schema
from .rules import RULES

PLURAL = "triggers"
_POLICY = "triggers.tricel.dev"
_HAS_SPEC = "has({0}.spec) && type({0}.spec) == map"
_ANEW = (
    "request.operation != 'UPDATE' || has(object.spec) != has(oldObject.spec) "
    "|| (has(object.spec) && dyn(object.spec) != dyn(oldObject.spec))"
)
"""That the spec is not as it was before an update."""
Manifest = dict[str, Any]

_COLUMNS = (
    ("Broker", "string", ".spec.broker", "The broker whose events are filtered."),
    ("Subscriber", "string", ".spec.subscriber.uri", "Where the events go, when that is a URI."),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', "Whether events are delivered."),
    ("Reason", "string", '.status.conditions[?(@.type=="Ready")].reason', "Why not."),
    ("Age", "date", ".metadata.creationTimestamp", "Since when the Trigger exists."),
)


def custom_resource_definition() -> Manifest:
    """The CustomResourceDefinition of `tricel.dev/v1alpha1` Triggers."""
    columns = [{"name": n, "type": t, "jsonPath": path, "description": doc} for n, t, path, doc in _COLUMNS]
    version = {
        "name": version_of(TRICEL_GROUP),
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": trigger_schema()},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{TRICEL_GROUP}"},
        "spec": {
            "group": TRICEL_GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": "Trigger",
                "listKind": "TriggerList",
                "plural": PLURAL,
                "singular": "trigger",
                "shortNames": ["tct"],
                "categories": ["tricel"],
            },
            "versions": [version],
        },
    }


def admission_policy() -> tuple[Manifest, ...]:
    """ValidatingAdmissionPolicies (Kubernetes 1.30) with what Kubernetes' own CEL can check, each with its binding.

    The first denies. The second warns of Triggers that were wrong before an update and whose spec it leaves: a finalizer
    must be able to go, and a label to be set.
    """
    return (*_policy(_POLICY, _ANEW, "Deny", "Fail"), *_policy(f"kept.{_POLICY}", f"!({_ANEW})", "Warn", "Ignore"))


def _policy(name: str, condition: str, action: str, on_error: str) -> tuple[Manifest, Manifest]:
    """A policy for the Triggers of which a condition holds, and its binding."""
    rules = {
        "apiGroups": list(GROUPS),
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [PLURAL],
    }
    has_spec = {
        "expression": _HAS_SPEC.format("object"),
        "message": "TRI311: the Trigger has no spec: write spec.broker and spec.subscriber",
        "reason": "Invalid",
    }
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": on_error,
            "matchConstraints": {"resourceRules": [rules], "namespaceSelector": namespaces_reviewed()},
            "matchConditions": [{"name": "spec", "expression": condition}],
            "variables": [
                {"name": "spec", "expression": _spec_of("object")},
                {"name": "oldSpec", "expression": _spec_of("oldObject")},
            ],
            "validations": [has_spec, *(rule.as_policy() for rule in RULES)],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": [action]},
    }
    return policy, binding


def _spec_of(value: str) -> str:
    return f"{_HAS_SPEC.format(value)} ? dyn({value}.spec) : dyn({{}})"


def namespaces_reviewed() -> Manifest:
    """The selector of the namespaces whose Triggers are reviewed: the webhook's own and the cluster's can be mended."""
    return {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "tricel-system"]},
            {"key": "tricel.dev/admission", "operator": "NotIn", "values": ["disabled"]},
        ]
    }


def version_of(group: str) -> str:
    """The version of a group's Triggers that is current."""
    current = (version for version, deprecated in VERSIONS.items() if not deprecated)
    return next(version.partition("/")[2] for version in current if version.partition("/")[0] == group)


def as_yaml(*manifests: Manifest) -> str:
    """Manifests as YAML, one document each."""
    return yaml.dump_all(manifests, sort_keys=False, width=1000, allow_unicode=True, Dumper=_Dumper)


class _Dumper(yaml.SafeDumper):
    """Writes shared parts out: an alias is no good to a reader, and kubectl refuses some."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
