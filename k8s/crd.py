"""The definition of tricel's Trigger for a cluster, and a policy that checks Triggers without a webhook."""

from __future__ import annotations

from typing import Any

import yaml
from tricel.compiler.trigger_fields import GROUPS, TRICEL_GROUP, VERSIONS

from .openapi import trigger_schema
from .rules import RULES

PLURAL = "triggers"
_POLICY = "triggers.tricel.dev"
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


def admission_policy() -> tuple[Manifest, Manifest]:
    """A ValidatingAdmissionPolicy (Kubernetes 1.30) with what Kubernetes' own CEL can check, and its binding."""
    rules = {
        "apiGroups": list(GROUPS),
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [PLURAL],
    }
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": _POLICY},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rules]},
            "variables": [
                {"name": "spec", "expression": "dyn(object.spec)"},
                {"name": "oldSpec", "expression": "dyn(oldObject.spec)"},
            ],
            "validations": [rule.as_policy() for rule in RULES],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": _POLICY},
        "spec": {"policyName": _POLICY, "validationActions": ["Deny"]},
    }
    return policy, binding


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
