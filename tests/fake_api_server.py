"""An API server of tests: enough of Kubernetes' HTTP for lists, watches, Events and status, and every way to fail."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes import client
from tricel.k8s.cluster import Cluster

CUT = None
"""In a watch: the connection breaks off."""


class FakeApiServer:
    """Serves the Triggers of one API group; keeps the Events that it is sent.

    Lists give what is in `objects`; a watch sends what `change` and `send` put there, until it is cut. `away` refuses
    every request.
    """

    def __init__(self, group: str = "tricel.dev", port: int = 0) -> None:
        self.group = group
        self.objects: dict[str, dict[str, Any]] = {}
        self.events: dict[str, dict[str, Any]] = {}
        self.version = 100
        self.away = False
        self.lists = 0
        self.watches: list[str] = []
        self.requests: list[tuple[str, str]] = []
        self.stream: queue.Queue[dict[str, Any] | bytes | None] = queue.Queue()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.get(self)

            def do_POST(self) -> None:
                outer.write(self)

            def do_PATCH(self) -> None:
                outer.write(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def cluster(self) -> Cluster:
        """A connection to it."""
        configuration = client.Configuration()
        configuration.host = f"http://127.0.0.1:{self.http.server_port}"
        configuration.retries = False
        return Cluster(client.ApiClient(configuration))

    def change(self, kind: str, value: dict[str, Any]) -> None:
        """Makes, changes or deletes an object, and tells the watch."""
        self.version += 1
        value = {**value, "metadata": {**value["metadata"], "resourceVersion": str(self.version)}}
        name = value["metadata"]["name"]
        if kind == "DELETED":
            self.objects.pop(name)
        else:
            self.objects[name] = value
        self.stream.put({"type": kind, "object": value})

    def send(self, *events: dict[str, Any] | bytes | None) -> None:
        """Lets the watch send these, and end at a CUT."""
        for event in events:
            self.stream.put(event)

    def get(self, http: BaseHTTPRequestHandler) -> None:
        """Answers a list, a watch, or a request for an Event."""
        url = urlsplit(http.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        if self.away:
            self.answer(http, 503, {"message": "away"})
        elif "/events/" in url.path:
            known = self.events.get(url.path.rpartition("/")[2])
            self.answer(http, 200 if known else 404, known or {})
        elif not url.path.startswith(f"/apis/{self.group}/"):
            self.answer(http, 404, {"message": "unknown"})
        elif asked.get("watch"):
            self.watches.append(asked["resourceVersion"])
            self.watch(http)
        else:
            if asked.get("limit") != "1":
                self.lists += 1
            page = {"metadata": {"resourceVersion": str(self.version)}, "items": list(self.objects.values())}
            self.answer(http, 200, page)

    def write(self, http: BaseHTTPRequestHandler) -> None:
        """Takes an Event, or a change of anything else."""
        body = json.loads(http.rfile.read(int(http.headers["Content-Length"])))
        self.requests.append((http.command, urlsplit(http.path).path))
        if "/events" not in http.path:
            self.answer(http, 200, body)
        elif http.command == "PATCH":
            self.events[http.path.rpartition("/")[2]] |= body
            self.answer(http, 200, body)
        elif body["metadata"]["name"] in self.events:
            self.answer(http, 409, {"message": "already exists"})
        else:
            self.events[body["metadata"]["name"]] = body
            self.answer(http, 201, body)

    def watch(self, http: BaseHTTPRequestHandler) -> None:
        """Sends the stream as chunks, until it is cut."""
        http.send_response(200)
        http.send_header("Transfer-Encoding", "chunked")
        http.end_headers()
        while (event := self.stream.get()) is not CUT:
            line = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
            http.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            http.wfile.flush()
        http.close_connection = True

    def answer(self, http: BaseHTTPRequestHandler, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        http.send_response(status)
        http.send_header("Content-Type", "application/json")
        http.send_header("Content-Length", str(len(content)))
        http.end_headers()
        http.wfile.write(content)

    def close(self) -> None:
        """Ends the server and its watch."""
        self.send(CUT)
        self.http.shutdown()
        self.http.server_close()


@contextmanager
def serving(group: str = "tricel.dev") -> Iterator[FakeApiServer]:
    """A server while the block runs."""
    server = FakeApiServer(group)
    try:
        yield server
    finally:
        server.close()
