"""How quickly the admission webhook answers over TLS: p50, p99 and reviews a second at 1, 16 and 64 connections.

Every request asks about another filter. The rival, in the same run and on the same server, is a request that reviews
nothing (/healthz): what HTTPS in Python costs by itself. The load generator shares the machine with the server.

    python benchmarks/webhook_latency.py [--requests N]      with N, instead, the server's memory over N reviews

The memory is printed as lines of comma-separated values, ten of them while the reviews are made: how many there have been,
how many a second, and the resident MB of each process. 200,000 reviews take some three minutes on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
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

from _memory import below
from rich.console import Console
from rich.table import Table
from tricel.k8s.certificates import write_certificates

HOST = "127.0.0.1"
CONNECTIONS = (1, 16, 64)
SECONDS = 5.0
MADE = 60_000
"""Requests that are made before the time is taken: more than are sent in it."""
LARGEST = 1_500
"""Terms of a filter near the limit on the number of its parts."""


def small(n: int) -> str:
    return f'ce.type == "com.example.order.{n}" && data.total > {n}.5'


def maximal(n: int) -> str:
    return " && ".join(f'data.field{i}.value{n} == "v{i}"' for i in range(LARGEST))


SHAPES = (
    small,
    lambda n: f'ce.source.startsWith("/shop/{n}/") || ce.subject in ["a{n}", "b"]',
    lambda n: f'ce.type.matches("^(a|b{n})+c")',
    lambda n: f'data.items{n}.exists(item, item.key == "{n}")',
    lambda n: f'ce.source.matches("(/shop|/{n})*/$")',
)
"""Filters by a number, native ones and some for the fallback: each has names, texts and a pattern that no other has."""


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


class Client(asyncio.Protocol):
    """A connection that makes requests one after the other, each without a pause, and notes how long each takes.

    It does as little as it can: the requests are bytes already, and of an answer it looks at the status, the length, and
    whether something is denied.
    """

    def __init__(self, requests: Iterator[bytes], end: float, latencies: list[float]) -> None:
        self.requests = requests
        self.end = end
        self.latencies = latencies
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Sends the next request; there is none after the end."""
        now = time.perf_counter()
        request = next(self.requests, None) if now < self.end else None
        if request is None:
            self.finish(None)
            return
        self.begin = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            return
        self.latencies.append(time.perf_counter() - self.begin)
        self.received = b""
        if not head.startswith(b"HTTP/1.1 200") or b'"allowed": false' in body:
            self.finish(RuntimeError(f"{head.decode()} {body.decode()}"))
        else:
            self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self.finish(RuntimeError("the server hung up"))

    def finish(self, problem: Exception | None) -> None:
        """Ends the connection."""
        if not self.done.done():
            self.done.set_exception(problem) if problem else self.done.set_result(None)
            self.transport.close()


async def load(
    port: int, context: ssl.SSLContext, connections: int, requests: Iterator[bytes], seconds: float
) -> list[float]:
    """The latencies of all requests of so many connections, in seconds, in order of length."""
    latencies: list[float] = []
    end = time.perf_counter() + seconds
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Client(requests, end, latencies), HOST, port, ssl=context)
        for _ in range(connections)
    ]
    await asyncio.gather(*(client.done for _, client in made))
    return sorted(latencies)


def start(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The webhook and its port."""
    write_certificates(folder, (HOST,), datetime.now(UTC), days=1, authority_days=1)
    command = [sys.executable, "-m", "tricel", "webhook", "--host", HOST, "--port", "0", "--drain", "0"]
    command += ["--review-timeout", "120", "--certificate", str(folder / "tls.crt"), "--key", str(folder / "tls.key")]
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
    """Resident MB of a process; pages that it shares count too."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def slope(values: list[float]) -> float:
    """The growth from one value to the next, by least squares."""
    middle = (len(values) - 1) / 2
    mean = sum(values) / len(values)
    return sum((n - middle) * (v - mean) for n, v in enumerate(values)) / sum(
        (n - middle) ** 2 for n in range(len(values))
    )


def names_of(pids: list[int]) -> list[str]:
    """What each process of the server is, in their order."""
    names: list[str] = []
    for pid in pids:
        line = Path(f"/proc/{pid}/cmdline").read_text()
        kind = next((each for each in ("resource_tracker", "forkserver") if each in line), "server")
        # A worker is a fork of the fork server, and called like it.
        names.append(f"worker {len(names) - 2}" if kind in names else kind)
    return names


def show_memory(server: int, port: int, context: ssl.SSLContext, total: int) -> None:
    """The memory of each of the server's processes while so many reviews are made, and how it grows in the end.

    Every review is of another filter, of the shapes in turn. What the workers remember of patterns is bounded, and full
    after some 40,000 reviews of each: until then they grow.
    """
    tenth = total // 10
    pids = [server, *below(server)]
    found: list[list[float]] = []
    print(",".join(["reviews", "a second", *(f"{name} MB" for name in names_of(pids))]), flush=True)
    for turn in range(10):
        requests = (review(SHAPES[n % len(SHAPES)](n), n) for n in range(turn * tenth, (turn + 1) * tenth))
        begin = time.perf_counter()
        asyncio.run(load(port, context, 16, requests, 1e9))
        rate = tenth / (time.perf_counter() - begin)
        assert pids == [server, *below(server)], "a process has ended"
        found.append([memory(pid) for pid in pids])
        print(",".join([str((turn + 1) * tenth), f"{rate:.0f}", *(f"{mb:.1f}" for mb in found[-1])]), flush=True)
    growth = [slope(values[5:]) / tenth * 100_000 for values in map(list, zip(*found, strict=True))]
    print(",".join(["MB for 100,000 in the second half", "", *(f"{mb:+.2f}" for mb in growth)]))


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=0, help="instead, show the memory over so many reviews")
    arguments = parser.parse_args()
    table = Table("review of", "connections", "p50 ms", "p99 ms", "a second", "the generator's share of a core")
    with tempfile.TemporaryDirectory() as name:
        process, port = start(Path(name))
        context = ssl.create_default_context(cafile=f"{name}/ca.crt")
        try:
            if arguments.requests:
                show_memory(process.pid, port, context, arguments.requests)
                return
            for kind, request in KINDS.items():
                for connections in CONNECTIONS:
                    most = max(3, connections) if kind == MAXIMAL else MADE
                    requests = iter([request(n) for n in range(most)])
                    begin, cpu = time.perf_counter(), time.process_time()
                    found = asyncio.run(load(port, context, connections, requests, 1e9 if most < MADE else SECONDS))
                    seconds = time.perf_counter() - begin
                    p50, p99 = (found[min(len(found) - 1, int(len(found) * q))] * 1000 for q in (0.5, 0.99))
                    rate, share = len(found) / seconds, (time.process_time() - cpu) / seconds
                    table.add_row(kind, str(connections), f"{p50:.1f}", f"{p99:.1f}", f"{rate:,.0f}", f"{share:.0%}")
            Console().print(table)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


if __name__ == "__main__":
    main()
