"""What the mutating webhook writes into a Trigger: defaults, and the current form of a deprecated filter.

A pure function. It judges nothing: what it does not understand it leaves as it is, for the validating webhook to refuse.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tricel.compiler.dialects import UNDER_FILTER
from tricel.compiler.dialects.given import written

from .review import DELETE, KIND, VERSION, Request, keeps_spec, read_request

Operation = dict[str, Any]
_SINKS = (("subscriber",), ("delivery", "deadLetterSink"))


def mutate(body: object) -> dict[str, Any]:
    """The answer to an AdmissionReview: allowed, with a JSON patch (RFC 6902) where there is something to change.

    Raises:
        NotAReviewError: where the body is not one that can be answered.
    """
    return patched(read_request(body))


def patched(request: Request) -> dict[str, Any]:
    """The AdmissionReview that answers a request with its patch."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": True}
    operations = patch(request)
    if operations:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"apiVersion": VERSION, "kind": KIND, "response": response}


def patch(request: Request) -> list[Operation]:
    """The changes: a `ref` gets the Trigger's namespace, and a deprecated filter its current form."""
    value = request.object
    if value is None or request.operation == DELETE or request.subresource or value.get("kind") != "Trigger":
        return []
    spec = value.get("spec")
    # A spec that stays as it is stays so wholly: changed here, it would be judged as one that somebody changed.
    if not isinstance(spec, Mapping) or keeps_spec(request):
        return []
    return [*_namespaces(spec, request.namespace), *_current_form(spec)]


def _namespaces(spec: Mapping[str, Any], namespace: str) -> Iterator[Operation]:
    for path in _SINKS:
        reference = _at(spec, (*path, "ref"))
        if reference and namespace and not reference.get("namespace"):
            yield _add(f"/spec/{'/'.join(path)}/ref/namespace", namespace)


def _current_form(spec: Mapping[str, Any]) -> Iterator[Operation]:
    """Only where the filter has this one form and the compiler would read it."""
    forms = _at(spec, ("filter",))
    row = UNDER_FILTER.get(next(iter(forms))) if forms is not None and len(forms) == 1 else None
    old = _at(spec, ("filter", row.name)) if row is not None and row.successor else None
    place = written(old) if old is not None else None
    if row is not None and place is not None and row.to_cel(place).expr is not None:
        yield _add(f"/spec/filter/{row.successor}", dict(old or {}))
        yield {"op": "remove", "path": f"/spec/filter/{row.name}"}


def _at(value: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The mapping at a path; None where there is none."""
    found: Any = value
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _add(path: str, value: Any) -> Operation:
    return {"op": "add", "path": path, "value": value}
