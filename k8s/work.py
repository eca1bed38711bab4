"""What a worker process of the webhook does: bytes of a review in, bytes of its answer out."""

from __future__ import annotations

import gc
import json
import signal
from dataclasses import dataclass, field
from typing import Any

from tricel.compiler import Diagnostic, Limits, Source, Span
from tricel.compiler.faults import INTERNAL, bounded, internal_error
from tricel.compiler.manifests.trigger_fields import TRICEL_GROUP

from .mutate import patched
from .review import CREATE, NotAReviewError, Request, Verdict, answer, as_before, judge, read_request

VALIDATE, MUTATE = "/validate", "/mutate"


@dataclass(frozen=True, slots=True)
class Answer:
    """A body to send, and what may be logged and counted of it: nothing of the Trigger's filter."""

    body: bytes
    outcome: str
    fields: dict[str, object] = field(default_factory=dict)
    denials: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        # A dataclass with slots is pickled field by field, in Python.
        return Answer, (self.body, self.outcome, self.fields, self.denials)


def prepare() -> None:
    """Makes a new process ready: the grammar and the engine are loaded by a first review."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    spec = {"subscriber": {"uri": "http://warm/"}, "broker": "b", "filter": {"expression": "uint(data.n) == 1u"}}
    value = {"apiVersion": f"{TRICEL_GROUP}/v1alpha1", "kind": "Trigger", "metadata": {"name": "warm"}, "spec": spec}
    request = Request("warm-up", CREATE, "Trigger", "", "warm", "", True, value, None)
    _judged(request, judge(request))
    # What is loaded now stays: the collector need not walk it again and again.
    gc.collect()
    gc.freeze()


def answered(path: str, body: bytes | bytearray, features: frozenset[str], limits: Limits) -> Answer:
    """The answer to a body that was sent to `/validate` or `/mutate`. Where the review itself fails, it is a denial.

    Raises:
        NotAReviewError: where the body cannot be answered.
    """
    request = _read(body)

    def denied(fault: Exception) -> Answer:
        return _judged(request, as_before(request, (internal_error(fault, Source("", request.name), field="spec"),)))

    return bounded(lambda: _answered(path, request, features, limits), denied)


def _answered(path: str, request: Request, features: frozenset[str], limits: Limits) -> Answer:
    if path == MUTATE:
        return Answer(_encoded(patched(request)), "answered", _fields(request))
    return _judged(request, judge(request, features=features, limits=limits))


def unfinished(path: str, body: bytes | bytearray) -> Answer:
    """A denial, for a review that takes too long: not a failure, which a policy could let pass.

    Raises:
        NotAReviewError: where the body cannot be answered.
    """
    request = _read(body)
    if path == MUTATE:
        return Answer(_encoded(patched(request)), "answered", _fields(request))
    message = "the review was not finished in the time that the webhook gives it"
    found = Diagnostic("TRI502", message, Source("", request.name), Span(0, 0), "write a smaller filter", "spec")
    return _judged(request, as_before(request, (found,)))


def _judged(request: Request, verdict: Verdict) -> Answer:
    outcome = "allowed" if verdict.allowed else "denied"
    codes = list(dict.fromkeys(d.code for d in verdict.diagnostics))
    fields = {**_fields(request), "codes": codes}
    faults = [d.message for d in verdict.diagnostics if d.code == INTERNAL]
    if faults:  # nothing of a filter is in these messages
        fields["faults"] = faults
    return Answer(_encoded(answer(request, verdict)), outcome, fields, verdict.denials)


def _fields(request: Request) -> dict[str, object]:
    return {
        "uid": request.uid[:64],
        "operation": request.operation,
        "namespace": request.namespace[:253],
        "name": request.name[:253],
        "dryRun": request.dry_run,
    }


def _read(body: bytes | bytearray) -> Request:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as e:
        raise NotAReviewError("the body is not JSON") from e
    return read_request(value)


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
