"""How quickly the admission webhook answers over TLS: p50, p99 and reviews a second at 1, 16 and 64 connections.

Every request asks about another filter. The rival, in the same run and on the same server, is a request that reviews
nothing (/healthz): what HTTPS in Python costs by itself. The load generator shares the machine with the server.

    python benchmarks/webhook_latency.py [--requests N]      with N, also sends N reviews and shows the server's memory
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tricel.k8s.certificates import write_certificates

HOST = "127.0.0.1"
CONNECTIONS = (1, 16, 64)
SECONDS = 5.0
LARGEST = 1_500
"""Terms of a filter near the limit on the number of its parts."""


def small(n: int) -> str:
    return f'ce.type == "com.example.order.{n}" && data.total > {n}.5'


def maximal(n: int) -> str:
    return " && ".join(f'data.field{i}.value{n} == "v{i}"' for i in range(LARGEST))


def review(expression: str, n: int) -> bytes:
    """A whole HTTP request."""
    spec = {"broker": "b", "subscriber": {"uri": "http://x/"}, "filter": {"expression": expression}}
    value = {"apiVersion": "tricel.dev/v1alpha1", "kind": "Trigger", "metadata": {"name": f"t{n}"}, "spec": spec}
    request = {"uid": str(n), "operation": "CREATE", "kind": {"kind": "Trigger"}, "object": value}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    head = f"POST /validate HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


HEALTH = f"GET /healthz HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
MAXIMAL = f"{LARGEST:,} terms"
KINDS = {
    "nothing (/healthz)": lambda n: HEALTH,
    "small filter": lambda n: review(small(n), n),
    MAXIMAL: lambda n: review(maximal(n), n),
}


async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    """Sends a request and reads its answer, which must be a success."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    body = await reader.readexactly(length)
    if b'"allowed": false' in body:
        raise RuntimeError(body.decode())


async def load(
    port: int, context: ssl.SSLContext, connections: int, requests: Iterator[bytes], seconds: float
) -> list[float]:
    """The latencies of all requests that connections made one after the other, each without a pause."""
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection(HOST, port, ssl=context)
        while time.perf_counter() < end and (request := next(requests, None)) is not None:
            begin = time.perf_counter()
            await one(reader, writer, request)
            latencies.append(time.perf_counter() - begin)
        writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    return sorted(latencies)


def start(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The webhook and its port."""
    write_certificates(folder, (HOST,), datetime.now(UTC), days=1, authority_days=1)
    command = [sys.executable, "-m", "tricel", "webhook", "--host", HOST, "--port", "0", "--drain", "0"]
    command += ["--review-timeout", "600", "--certificate", str(folder / "tls.crt"), "--key", str(folder / "tls.key")]
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, stderr=file)
    while b'"serving"' not in log.read_bytes():
        if process.poll() is not None:
            raise RuntimeError(log.read_text())
        time.sleep(0.1)
    line = next(line for line in log.read_text().splitlines() if '"serving"' in line)
    return process, int(json.loads(line)["port"])


def memory(pid: int) -> float:
    """Resident MB of a process and of those that it started, where pages that they share count for each."""
    found = int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return found + sum(memory(int(child)) for child in children)


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=0, help="also show the memory over so many reviews")
    arguments = parser.parse_args()
    table = Table("review of", "connections", "p50 ms", "p99 ms", "a second")
    with tempfile.TemporaryDirectory() as name:
        process, port = start(Path(name))
        context = ssl.create_default_context(cafile=f"{name}/ca.crt")
        try:
            for kind, request in KINDS.items():
                for connections in CONNECTIONS:
                    most = max(3, connections) if kind == MAXIMAL else None
                    requests = (request(n) for n in itertools.islice(itertools.count(), most))
                    begin = time.perf_counter()
                    found = asyncio.run(load(port, context, connections, requests, 1e9 if most else SECONDS))
                    rate = len(found) / (time.perf_counter() - begin)
                    p50, p99 = (found[min(len(found) - 1, int(len(found) * q))] * 1000 for q in (0.5, 0.99))
                    table.add_row(kind, str(connections), f"{p50:.1f}", f"{p99:.1f}", f"{rate:,.0f}")
            Console().print(table)
            tenth = arguments.requests // 10
            for turn in range(10 if tenth else 0):
                requests = (review(small(n), n) for n in range(turn * tenth, (turn + 1) * tenth))
                asyncio.run(load(port, context, 16, requests, 1e9))
                print(f"{(turn + 1) * tenth:9,} reviews: {memory(process.pid):7.1f} MB", flush=True)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


if __name__ == "__main__":
    main()
