"""Triggers from a cluster, through the `kubernetes` client: listed once, or followed."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

import urllib3
from kubernetes import client
from kubernetes import config as configurations
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from tricel.compiler.manifests.trigger_fields import GROUPS

from .crd import PLURAL, version_of
from .reflect import (
    Broken,
    Change,
    ClusterError,
    ExpiredError,
    Key,
    Listed,
    Object,
    Put,
    Removed,
    Replaced,
    key_of,
    reflect,
)

State: TypeAlias = Mapping[Key, Object]
_PAGE = 500
_NOTE = 1024
"""Bytes of an Event's note (Kubernetes, events.k8s.io/v1)."""
_CONTROLLER = "tricel.dev/lint"
_CONNECT, _READ = 10.0, 60.0
_WATCH = 120
"""Seconds after which the server ends a watch; the next begins where it ended."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which Triggers: of one namespace or (empty) of all, by label and field selectors, and of which API groups."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    groups: tuple[str, ...] = GROUPS


@dataclass(frozen=True, slots=True)
class Following:
    """What is known of the cluster: its Triggers, and, while it cannot be reached, why."""

    triggers: State
    broken: str = ""


@dataclass
class Cluster:
    """A connection to a cluster."""

    api: client.ApiClient = field(repr=False)

    def read(self, selection: Selection) -> tuple[Object, ...]:
        """The Triggers that are selected, in order of their keys.

        Raises:
            ClusterError: where the cluster cannot be asked, or knows no Triggers of any of the groups.
        """
        found: dict[Key, Object] = {}
        for each in self._resources(selection):
            found |= {key_of(value): value for value in each.read().objects}
        return tuple(found[key] for key in sorted(found))

    def follow(self, selection: Selection, stop: threading.Event) -> Iterator[Following]:
        """The Triggers as they are, and again after every change, until `stop` is set.

        The first state is complete. Changes that arrive together are one state. A failure is told once, and what is known
        stays until the cluster is reached again.

        Raises:
            ClusterError: where the first list fails for a reason that lasts.
        """
        resources = self._resources(selection)
        changes: queue.Queue[tuple[str, Change | ClusterError]] = queue.Queue()
        for each in resources:
            threading.Thread(target=_pump, args=(each, changes, stop), daemon=True).start()
        yield from _states({each.group for each in resources}, changes, stop)

    def report(self, value: Object, condition: Mapping[str, Any]) -> None:
        """Writes one condition into the status of a Trigger; the others stay. Nothing where it is so already.

        Raises:
            ClusterError: where the cluster refuses.
        """
        metadata = value["metadata"]
        known = ((value.get("status") or {}).get("conditions")) or []
        same = [c for c in known if c.get("type") == condition["type"]]
        if same and all(same[0].get(name) == text for name, text in condition.items() if name != "lastTransitionTime"):
            return
        if same and same[0].get("status") == condition["status"]:
            condition = {**condition, "lastTransitionTime": same[0].get("lastTransitionTime")}
        others = [c for c in known if c.get("type") != condition["type"]]
        group, _, version = str(value["apiVersion"]).partition("/")
        # With the version that was read, a status that another has written meanwhile is not overwritten.
        body = {
            "metadata": {"resourceVersion": metadata.get("resourceVersion")},
            "status": {"conditions": [*others, dict(condition)]},
        }
        try:
            client.CustomObjectsApi(self.api).patch_namespaced_custom_object_status(
                group,
                version,
                metadata["namespace"],
                PLURAL,
                metadata["name"],
                body,
                _request_timeout=(_CONNECT, _READ),
            )
        except (ApiException, urllib3.exceptions.HTTPError) as e:
            raise _failure(e, f"the status of {metadata['namespace']}/{metadata['name']}") from e

    def tell(self, value: Object, reason: str, action: str, note: str, now: datetime) -> None:
        """Records a warning about an object as a Kubernetes Event in its namespace.

        What was recorded already, with the same words about the same object, is counted and not recorded again.

        Raises:
            ClusterError: where the cluster refuses.
        """
        told = warning_event(value, reason, action, note, now)
        name, namespace = told["metadata"]["name"], told["metadata"]["namespace"]
        events: Any = client.EventsV1Api(self.api)
        raw = {"_request_timeout": (_CONNECT, _READ), "_preload_content": False}
        try:
            try:
                events.create_namespaced_event(namespace, told, **raw).close()
            except ApiException as e:
                if e.status != 409:
                    raise
                before = json.loads(events.read_namespaced_event(name, namespace, **raw).data)
                count = int((before.get("series") or {}).get("count") or 1) + 1
                series = {"series": {"count": count, "lastObservedTime": told["eventTime"]}}
                events.patch_namespaced_event(name, namespace, series, **raw).close()
        except (ApiException, urllib3.exceptions.HTTPError) as e:
            raise _failure(e, f"an event about {namespace}/{value['metadata']['name']}") from e

    def _resources(self, selection: Selection) -> tuple[_Triggers, ...]:
        """The resources of the groups that the cluster serves."""
        every = [_Triggers(client.CustomObjectsApi(self.api), group, selection) for group in selection.groups]
        served = [each for each in every if each.served()]
        if not served:
            names = " nor ".join(f"{PLURAL}.{group}" for group in selection.groups)
            raise ClusterError(f"the cluster has neither {names}; tricel crd prints a definition", lasting=True)
        return tuple(served)


def connect(kubeconfig: str = "", context: str = "") -> Cluster:
    """A cluster: of a kubeconfig file and one of its contexts; without them, the one that the process runs in, or else
    that of the default kubeconfig.

    Raises:
        ClusterError: where there is no usable configuration.
    """
    loading: Any = configurations
    configuration = client.Configuration()
    try:
        if not (kubeconfig or context) and os.environ.get("KUBERNETES_SERVICE_HOST"):
            loading.load_incluster_config(client_configuration=configuration)
        else:
            loading.load_kube_config(
                config_file=kubeconfig or None, context=context or None, client_configuration=configuration
            )
    except (ConfigException, OSError, ValueError) as e:
        raise ClusterError(f"no usable cluster configuration: {e}", lasting=True) from e
    if not configuration.verify_ssl:
        # The kubeconfig asks for it; a warning on every request would bury the diagnostics.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    # Failures are told and tried again here, with growing waits.
    configuration.retries = urllib3.Retry(0)
    return Cluster(client.ApiClient(configuration))


def warning_event(value: Object, reason: str, action: str, note: str, now: datetime) -> dict[str, Any]:
    """A warning about an object, as an `events.k8s.io/v1` Event.

    Its name follows from the object and the words, so that the same warning is one Event. The note is cut to the
    1,024 bytes that the API allows.
    """
    metadata = value["metadata"]
    identity = json.dumps([value["apiVersion"], metadata.get("uid"), metadata["name"], reason, note])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    regarding = {"apiVersion": value["apiVersion"], "kind": value["kind"]} | {
        name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion") if metadata.get(name)
    }
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{str(metadata['name'])[:230]}.{digest}", "namespace": metadata["namespace"]},
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": "Warning",
        "reason": reason,
        "action": action,
        "note": note.encode()[:_NOTE].decode(errors="ignore"),
        "regarding": regarding,
        "reportingController": _CONTROLLER,
        "reportingInstance": _CONTROLLER.replace("/", "-"),
    }


def without_bookkeeping(value: Object) -> dict[str, Any]:
    """An object as its author knows it: without status and what the cluster keeps beside it.

    What `kubectl apply` was given, an annotation, stays: it tells of a filter that the cluster dropped.
    """
    metadata = {k: v for k, v in (value.get("metadata") or {}).items() if k in ("name", "namespace", "labels")}
    if annotations := (value.get("metadata") or {}).get("annotations"):
        metadata["annotations"] = annotations
    return {
        **{k: v for k, v in value.items() if k in ("apiVersion", "kind")},
        "metadata": metadata,
        "spec": value.get("spec"),
    }


@dataclass
class _Triggers:
    """The Triggers of one API group."""

    api: client.CustomObjectsApi
    group: str
    selection: Selection

    def served(self) -> bool:
        """Whether the cluster knows them."""
        try:
            self._request(limit=1).close()
        except _UnknownError:
            return False
        return True

    def read(self) -> Listed:
        """All that are selected, read in pages of one state."""
        objects: list[Object] = []
        going_on = ""
        while True:
            page = self._page(going_on)
            objects += (
                {"apiVersion": f"{self.group}/{version_of(self.group)}", "kind": "Trigger", **each}
                for each in page["items"]
                if isinstance(each, Mapping)
            )
            going_on = page["metadata"].get("continue") or ""
            if not going_on:
                return Listed(tuple(objects), str(page["metadata"]["resourceVersion"]))

    def watch(self, version: str) -> Iterator[Object]:
        """The events since a version."""
        response = self._request(
            watch=True,
            resource_version=version,
            allow_watch_bookmarks=True,
            timeout_seconds=_WATCH,
            read=_WATCH + _CONNECT,
        )
        try:
            rest = b""
            for chunk in response.stream(amt=None, decode_content=False):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (json.loads(line) for line in lines if line.strip())
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as e:
            raise ClusterError(f"the watch broke off: {type(e).__name__}") from e
        finally:
            response.close()

    def _page(self, going_on: str) -> Any:
        response = self._request(limit=_PAGE, going_on=going_on)
        try:
            page = json.loads(response.data)
            return {"items": list(page["items"] or ()), "metadata": dict(page["metadata"])}
        except (urllib3.exceptions.HTTPError, OSError, ValueError, KeyError, TypeError) as e:
            raise ClusterError(f"the list cannot be read: {type(e).__name__}") from e
        finally:
            response.close()

    def _request(self, *, read: float = _READ, going_on: str = "", **options: Any) -> Any:
        chosen = {
            "label_selector": self.selection.labels,
            "field_selector": self.selection.fields,
            "_continue": going_on,
        }
        options |= {name: text for name, text in chosen.items() if text}
        options |= {"_preload_content": False, "_request_timeout": (_CONNECT, read)}
        where = (self.group, version_of(self.group))
        try:
            if self.selection.namespace:
                response = self.api.list_namespaced_custom_object(*where, self.selection.namespace, PLURAL, **options)
            else:
                response = self.api.list_cluster_custom_object(*where, PLURAL, **options)
        except (ApiException, urllib3.exceptions.HTTPError, OSError) as e:
            raise _failure(e, f"{PLURAL}.{self.group}") from e
        return response


class _UnknownError(ClusterError):
    """The cluster has no such resource."""


def _failure(e: Exception, what: str) -> Exception:
    """A failed request as what it means."""
    if not isinstance(e, ApiException):
        return ClusterError(f"the cluster cannot be reached for {what}: {type(e).__name__}")
    if e.status == 410:
        return ExpiredError()
    if e.status == 404:
        return _UnknownError(f"the cluster has no {what}", lasting=True)
    reason = {401: "who asks is not known to it", 403: "its access rules do not allow it"}.get(e.status, str(e.reason))
    reason = f"{reason}: {_told(e.body)}" if _told(e.body) else reason
    lasting = e.status is not None and 400 <= e.status < 500 and e.status != 429
    return ClusterError(f"the cluster refuses {what}: {reason} ({e.status})", lasting=lasting)


def _told(body: Any) -> str:
    """The message in a Status object; empty where there is none."""
    try:
        message = json.loads(body).get("message")
    except (ValueError, TypeError, AttributeError):
        return ""
    return message[:500] if isinstance(message, str) else ""


def _pump(resource: _Triggers, changes: queue.Queue[tuple[str, Change | ClusterError]], stop: threading.Event) -> None:
    try:
        for change in reflect(resource, stop.wait):
            changes.put((resource.group, change))
    except ClusterError as e:
        changes.put((resource.group, e))
    except Exception as e:  # nobody else would hear of it
        changes.put(
            (resource.group, ClusterError(f"the Triggers cannot be followed: {type(e).__name__}", lasting=True))
        )


def _states(
    groups: set[str], changes: queue.Queue[tuple[str, Change | ClusterError]], stop: threading.Event
) -> Iterator[Following]:
    """Merges the changes of several resources into states."""
    known: dict[Key, Object] = {}
    broken: dict[str, str] = {}
    missing = set(groups)
    told: Following | None = None
    while not stop.is_set():
        try:
            batch = [changes.get(timeout=0.2)]
        except queue.Empty:
            continue
        while not changes.empty():
            batch.append(changes.get())
        for group, change in batch:
            if isinstance(change, ClusterError):
                raise change
            if isinstance(change, Broken):
                broken[group] = change.reason
            else:
                broken.pop(group, None)
                missing.discard(group) if isinstance(change, Replaced) else None
                known = _changed(known, group, change)
        state = Following(dict(known), "; ".join(broken.values()))
        if not missing and state != told:
            told = state
            yield state


def _changed(known: dict[Key, Object], group: str, change: Put | Removed | Replaced) -> dict[Key, Object]:
    match change:
        case Put(key=key, object=value):
            return {**known, key: value}
        case Removed(key=key):
            return {k: v for k, v in known.items() if k != key}
        case Replaced(objects=objects):
            return {**{k: v for k, v in known.items() if k[0] != group}, **objects}
