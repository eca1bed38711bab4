"""A webhook as it runs in a cluster: a process of its own, reached over HTTPS."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tricel.k8s.certificates import write_certificates

HOST = "127.0.0.1"
JSON_HEADERS = {"Content-Type": "application/json"}


class WebhookProcess:
    """`tricel webhook` on a free port of the loopback, with certificates in `folder`."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        self.folder = folder
        if not (folder / "tls.crt").exists():
            write_certificates(folder, (HOST, "localhost"), datetime.now(UTC), days=2, authority_days=2)
        command = [sys.executable, "-m", "tricel", "webhook", "--host", HOST, "--port", str(port)]
        command += ["--certificate", str(folder / "tls.crt"), "--key", str(folder / "tls.key"), *options]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment, cwd=folder
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.port = int(self.wait_for("serving")["port"])

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.decode())

    def wait_for(self, message: str, seconds: float = 60) -> dict[str, Any]:
        """The first log line with a message."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in list(self.lines):
                if f'"message": "{message}"' in line:
                    return dict(json.loads(line))
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no '{message}' in {self.lines}")

    def trust(self) -> ssl.SSLContext:
        """A context that trusts this webhook's authority and no other."""
        return ssl.create_default_context(cafile=str(self.folder / "ca.crt"))

    def connect(self, context: ssl.SSLContext | None = None, timeout: float = 60) -> http.client.HTTPSConnection:
        """A connection, not opened yet."""
        return http.client.HTTPSConnection(HOST, self.port, context=context or self.trust(), timeout=timeout)

    def ask(self, path: str, body: object = None, **options: Any) -> tuple[int, bytes]:
        """Status and body of one request on a connection of its own; bytes are sent as they are."""
        connection = self.connect()
        try:
            if body is None:
                connection.request(options.pop("method", "GET"), path, **options)
            else:
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                connection.request("POST", path, content, options.pop("headers", JSON_HEADERS))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def review(self, body: object, path: str = "/validate") -> dict[str, Any]:
        """The `response` of an answered review."""
        status, content = self.ask(path, body)
        assert status == 200, (status, content)
        return dict(json.loads(content)["response"])

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Ends the process and hands back its status."""
        if self.process.poll() is None:
            self.terminate()
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join(5)
        return status
