"""The review of a Trigger at admission: a pure function from an AdmissionReview to an AdmissionReview.

The protocol is `admission.k8s.io/v1` (Kubernetes, "Dynamic Admission Control"). What the compiler refuses is denied,
with every diagnostic; what it warns of is allowed, with warnings. Nothing is asked of the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tricel.compiler import (
    CompileError,
    Diagnostic,
    Limits,
    Severity,
    Source,
    Span,
    Trigger,
    changed_immutable_fields,
    check_translation,
    errors,
    field_of,
    read_object,
)
from tricel.compiler.diagnostics import as_admission, in_order
from tricel.compiler.limits import DEFAULT
from tricel.spark_backend.compiled_filter import lower_filter

VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"
_BAD_REQUEST = 400
_VALUES, _CHARACTERS = 20_000, 1_000_000
"""How much a Trigger may have of both; a cluster keeps no object of more than 1.5 MiB."""
_SHOWN = 2
"""How many problems from before a warning names."""


class NotAReviewError(ValueError):
    """A body that is not a review that can be answered; the message says why, in one sentence."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a cluster asks: may this object be written?

    `uid` is echoed in the answer. `object` and `old_object` are Kubernetes objects as they would be and as they are;
    None where the operation has none. `namespace` and `name` are for the log; `name` may be empty on a create.
    """

    uid: str
    operation: str
    kind: str
    namespace: str
    name: str
    subresource: str
    dry_run: bool
    object: Mapping[str, Any] | None
    old_object: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an object may be written, and why: `diagnostics` has an error exactly when it may not."""

    diagnostics: tuple[Diagnostic, ...]

    @property
    def allowed(self) -> bool:
        """Whether there is no error."""
        return not errors(self.diagnostics)

    @property
    def denials(self) -> tuple[str, ...]:
        """The codes of the errors, each once, in order."""
        return tuple(dict.fromkeys(d.code for d in errors(self.diagnostics)))


def read_request(body: object) -> Request:
    """The request in an AdmissionReview.

    Raises:
        NotAReviewError: where it is none, or lacks what an answer needs.
    """
    if not isinstance(body, Mapping) or body.get("kind") != KIND:
        raise NotAReviewError(f"the body is not an {KIND}")
    if body.get("apiVersion") != VERSION:
        raise NotAReviewError(f"the apiVersion of the {KIND} is not {VERSION}")
    request = body.get("request")
    if not isinstance(request, Mapping):
        raise NotAReviewError(f"the {KIND} has no request")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise NotAReviewError("the request has no uid")
    operation = request.get("operation")
    if operation not in (CREATE, UPDATE, DELETE):
        raise NotAReviewError("the operation of the request is none of CREATE, UPDATE and DELETE")
    kind = request.get("kind")
    return Request(
        uid=uid,
        operation=operation,
        kind=_text(kind.get("kind")) if isinstance(kind, Mapping) else "",
        namespace=_text(request.get("namespace")),
        name=_text(request.get("name")),
        subresource=_text(request.get("subResource")),
        dry_run=request.get("dryRun") is True,
        object=_object(request, "object"),
        old_object=_object(request, "oldObject"),
    )


def review(body: object, *, features: frozenset[str] = frozenset(), limits: Limits = DEFAULT) -> dict[str, Any]:
    """The answer to an AdmissionReview. `features` names the optional Knative features that are on.

    `limits` bounds each filter's size and estimated cost.

    Raises:
        NotAReviewError: where the body is not one that can be answered.
    """
    request = read_request(body)
    return answer(request, judge(request, features=features, limits=limits))


def judge(request: Request, *, features: frozenset[str] = frozenset(), limits: Limits = DEFAULT) -> Verdict:
    """Whether the object may be written."""
    if request.operation == DELETE or request.subresource == "status":
        return Verdict(())
    if request.object is None:
        return Verdict((_no_trigger(request, "the request has no object"),))
    excess = _excess(request.object)
    if excess:
        too_large = Diagnostic("TRI102", excess, Source("", request.name or "object"), Span(0, 0), field="spec")
        return as_before(request, (too_large,))
    trigger, found = _read(request.object, request, features)
    anew = _adds_problems(request, found, features)
    if trigger is not None:
        found += (_changes(request, trigger, features) if anew else ()) + _filter_problems(trigger, limits)
    found = in_order(found)
    return Verdict(found) if anew else as_before(request, found)


def as_before(request: Request, found: tuple[Diagnostic, ...]) -> Verdict:
    """The verdict on problems of the spec: those that an update leaves as they were are a warning, and deny nothing.

    A finalizer must be able to go, and a label to be set, however bad the Trigger is.
    """
    wrong = errors(found)
    if not wrong or not keeps_spec(request):
        return Verdict(found)
    shown = "; ".join(as_admission.summary(d, field_of(d)) for d in wrong[:_SHOWN])
    count = "1 error" if len(wrong) == 1 else f"{len(wrong)} errors"
    message = f"the Trigger is as wrong as it was before, with {count}: {shown}"
    kept = Diagnostic("TRI503", message, Source("", request.name or "object"), Span(0, 0), field="spec")
    return Verdict((kept, *(d for d in found if d.severity is not Severity.ERROR)))


def keeps_spec(request: Request) -> bool:
    """Whether the request is an update of a Trigger that leaves its spec as it was."""
    new, old = request.object, request.old_object
    if request.operation != UPDATE or request.subresource or new is None or old is None:
        return False
    try:
        same = new.get("spec") == old.get("spec")
        # To Python true is 1.
        same = same and json.dumps(new.get("spec"), sort_keys=True) == json.dumps(old.get("spec"), sort_keys=True)
    except RecursionError:
        return False
    return same and new.get("kind") == old.get("kind") == "Trigger"


def answer(request: Request, verdict: Verdict) -> dict[str, Any]:
    """The AdmissionReview that tells a verdict."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        response["status"] = _status(errors(verdict.diagnostics))
    warned = [d for d in verdict.diagnostics if d.severity is Severity.WARNING]
    if warned:
        response["warnings"] = as_admission.warnings(warned, field_of)
    return {"apiVersion": VERSION, "kind": KIND, "response": response}


def _status(found: tuple[Diagnostic, ...]) -> dict[str, Any]:
    causes = [
        {"reason": d.code, "field": field_of(d), "message": as_admission.summary(d, field_of(d))}
        for d in found[: as_admission.MOST]
    ]
    return {
        "status": "Failure",
        # Of an `Invalid` object kubectl prints the causes alone, without the line, the caret and the help.
        "code": _BAD_REQUEST,
        "reason": "BadRequest",
        "message": as_admission.message(found, field_of),
        "details": {"causes": causes},
    }


def _read(
    value: Mapping[str, Any], request: Request, features: frozenset[str]
) -> tuple[Trigger | None, tuple[Diagnostic, ...]]:
    """The Trigger that an object is, and what is wrong with the manifest; None where it is not exactly one."""
    if value.get("kind") != "Trigger":
        return None, (_no_trigger(request, "the object is not a Trigger"),)
    triggers, found = read_object(_named(value), request.name or "object", features=features)
    if len(triggers) == 1:
        return triggers[0], found
    return None, found if errors(found) else (*found, _no_trigger(request, "the object's apiVersion is not known"))


def _named(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object without what the server keeps beside it, and with a name where it has yet to make one."""
    metadata = value.get("metadata")
    value = {name: inner for name, inner in value.items() if name != "status"}
    if not isinstance(metadata, Mapping):
        return value
    metadata = {name: inner for name, inner in metadata.items() if name != "managedFields"}
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"]
    return {**value, "metadata": metadata}


def _excess(value: Mapping[str, Any]) -> str:
    """Why an object is not read at all: reading takes a hundred times the memory of what is read. Empty where it is."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    values = characters = 0
    left: list[Any] = [value.get("spec"), annotations]
    while left:
        each = left.pop()
        values += 1
        if isinstance(each, str):
            characters += len(each)
        elif isinstance(each, Mapping):
            characters += sum(len(str(key)) for key in each)
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)
        if values + len(left) > _VALUES:
            return f"the Trigger has more than {_VALUES:,} values"
        if characters > _CHARACTERS:
            return f"the Trigger has more than {_CHARACTERS:,} characters"
    return ""


def _adds_problems(request: Request, found: tuple[Diagnostic, ...], features: frozenset[str]) -> bool:
    """Whether an update is to be judged as a whole: it changes the spec, or puts something wrong beside it."""
    if request.old_object is None or not keeps_spec(request):
        return True
    known = {(d.code, d.message) for d in _read(request.old_object, request, features)[1]}
    return not {(d.code, d.message) for d in errors(found)} <= known


def _changes(request: Request, trigger: Trigger, features: frozenset[str]) -> tuple[Diagnostic, ...]:
    if request.operation != UPDATE:
        return ()
    if request.old_object is None:
        return (_no_trigger(request, "the request is an update and has no old object"),)
    old, _ = _read(request.old_object, request, features)
    if old is not None and not isinstance(request.old_object.get("spec"), Mapping):
        return ()
    return (
        (_no_trigger(request, "the old object is not a Trigger"),)
        if old is None
        else changed_immutable_fields(old, trigger)
    )


def _filter_problems(trigger: Trigger, limits: Limits) -> tuple[Diagnostic, ...]:
    """The diagnostics of the filter, and a warning for each part that does not run natively."""
    checked, found = check_translation(trigger.translation, limits=limits, version=trigger.version)
    if checked is None:
        return found
    try:
        lowered = lower_filter(checked)
    except CompileError as e:
        return e.diagnostics
    help_ = "tricel compile shows what runs where"
    slow = (
        Diagnostic("TRI550", f"not native on Spark: {part.reason}", checked.source, part.expr.span, help_)
        for part in lowered.residual
    )
    return (*lowered.diagnostics, *slow)


def _no_trigger(request: Request, message: str) -> Diagnostic:
    return Diagnostic("TRI501", message, Source("", request.name or "object"), Span(0, 0))


def _object(request: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    found = request.get(name)
    if found is not None and not isinstance(found, Mapping):
        raise NotAReviewError(f"the {name} of the request is not an object")
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
