"""Whoever sends much, or slowly, gets neither the memory of the webhook nor the room of others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from admission_vectors import admission_review, expression, trigger
from tricel.k8s.bodies import Bodies, Body, NoRoomError, TooLargeError
from tricel.k8s.connections import Connection, Connections, State
from webhook_process import HOST, JSON_HEADERS, WebhookProcess

MOST = 320
"""MiB that the webhook takes with two workers: the process, its workers, and what starts them. A pod has 384."""
GOOD = admission_review(expression("ce.type == 'a'"))
PATIENCE = 3.0
"""Seconds in which everybody else is answered."""

needs_proc = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")


def family(pid: int) -> list[int]:
    """A process and those that it started."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
    found = [pid]
    for each in found:
        found += parents.get(each, [])
    return found


def memory(pid: int) -> float:
    """MiB of a process and those that it started, in memory; a page that several share counts once, as a pod's does."""
    kilobytes = 0
    for each in family(pid):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1024


class Others:
    """What an API server and a kubelet ask meanwhile: on a connection that was there before, and on new ones."""

    def __init__(self, webhook: WebhookProcess) -> None:
        self.webhook = webhook
        self.kept = webhook.connect(timeout=PATIENCE * 5)
        self.most = 0.0
        self.slowest = 0.0
        self.failed: list[str] = []
        self.answered = 0
        self._ask_kept()

    def _ask_kept(self) -> None:
        self.kept.request("POST", "/validate", json.dumps(GOOD).encode(), JSON_HEADERS)
        answer = self.kept.getresponse().read()
        assert b'"allowed": true' in answer

    async def watch(self, flood: Awaitable[Any]) -> None:
        """Asks for as long as the flood lasts, and once more."""
        task = asyncio.ensure_future(flood)
        while True:
            last = task.done()
            await asyncio.to_thread(self._look)
            if last:
                return await task
            await asyncio.sleep(0.05)

    def _look(self) -> None:
        self.most = max(self.most, memory(self.webhook.process.pid))
        probes = [lambda path=path: self.webhook.ask(path) for path in ("/healthz", "/readyz")]
        for ask in (*probes, lambda: self.webhook.review(GOOD)["allowed"], self._ask_kept):
            begin = time.monotonic()
            # A new connection may be cut in the handshake where this process, which floods too, is slow in it; probes
            # are repeated. The one that was there before never is.
            for attempt in (1, 2, 3):
                try:
                    assert ask() in (None, True, (200, b"ok\n"))
                    break
                except OSError as e:
                    if attempt == 3 or ask == self._ask_kept:
                        self.failed.append(repr(e))
                        break
                except Exception as e:
                    self.failed.append(repr(e))
                    break
            self.answered += 1
            self.slowest = max(self.slowest, time.monotonic() - begin)

    def check(self) -> None:
        """That all were answered in time, and the memory was enough."""
        self.kept.close()
        assert [] == self.failed
        assert self.answered >= 8
        assert self.slowest < PATIENCE
        assert self.most < MOST


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookProcess]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else max(soft, 16_384), hard))
    process = WebhookProcess(tmp_path_factory.mktemp("webhook"), "--drain", "0", "--workers", "2")
    yield process
    assert 0 == process.stop()
    assert not any("Traceback" in line for line in process.lines)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@needs_proc
def test_five_thousand_slow_connections(webhook: WebhookProcess) -> None:
    """Of each fifth the handshake is done and a part of a head sent; the others say nothing at all. All are held."""
    held: list[asyncio.StreamWriter] = []
    some = asyncio.Semaphore(100)
    trust = webhook.trust()

    async def hold(n: int) -> None:
        async with some:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                _, writer = await asyncio.open_connection(HOST, webhook.port, ssl=None if n % 5 else trust)
                held.append(writer)
                if n % 5 == 0:
                    writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\n")

    async def flood() -> None:
        await asyncio.gather(*(hold(n) for n in range(5000)))

    others = Others(webhook)

    async def run() -> None:
        await others.watch(flood())
        for writer in held:
            writer.transport.abort()

    asyncio.run(run())
    assert len(held) > 4500
    others.check()


def texts(size: int) -> bytes:
    return json.dumps(admission_review(expression("ce.type == '" + "x" * size + "'"))).encode()


def parts(size: int) -> bytes:
    return json.dumps(admission_review(trigger({"filters": [{"exact": {"type": "t"}}] * (size // 26)}))).encode()


@needs_proc
@pytest.mark.parametrize("make", [texts, parts])
def test_two_hundred_large_bodies(webhook: WebhookProcess, make: Callable[[int], bytes]) -> None:
    body = make(4 * 2**20 - 2000)
    assert 4 * 10**6 < len(body) <= 4 * 2**20
    statuses: Counter[bytes] = Counter()
    trust = webhook.trust()

    async def send() -> None:
        try:
            reader, writer = await asyncio.open_connection(HOST, webhook.port, ssl=trust)
            head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            writer.write(head % len(body) + body)
            statuses[(await reader.read(12))[9:]] += 1
            writer.transport.abort()
        except OSError:
            statuses[b"cut"] += 1

    async def flood() -> None:
        await asyncio.gather(*(send() for _ in range(200)))

    others = Others(webhook)
    asyncio.run(others.watch(flood()))
    others.check()
    # Those that were answered took room from each other only; and none was let through unread.
    assert statuses[b"503"] > 50
    assert set(statuses) <= {b"200", b"400", b"503", b"cut", b""}
    end = time.monotonic() + 10
    while memory(webhook.process.pid) > 225 and time.monotonic() < end:
        time.sleep(0.2)
    assert memory(webhook.process.pid) < 225, "what a flood took is given back"


def test_a_large_trigger_is_denied_in_words(webhook: WebhookProcess) -> None:
    for value, what in ((texts(1_100_000), "1,000,000 characters"), (parts(600_000), "20,000 values")):
        found = webhook.review(json.loads(value))
        assert found["allowed"] is False
        assert f"spec: error[TRI102]: the Trigger has more than {what}" in found["status"]["message"]


# The rules, without a server.


async def chunks(*sizes: int, then: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    for size in sizes:
        yield bytes(size)
    if then is not None:
        await then.wait()


def test_the_largest_body_that_arrives_gives_way() -> None:
    async def run() -> None:
        bodies, done = Bodies(100, 80), asyncio.Event()
        small, large, larger = (
            asyncio.create_task(bodies.read(chunks(*sizes, then=done), 5)) for sizes in ((10,), (40,), (20, 25))
        )
        await asyncio.sleep(0)
        assert 95 == bodies.held
        last = asyncio.create_task(bodies.read(chunks(20), 5))
        with pytest.raises(NoRoomError):
            await larger
        assert 20 == len((await last).content)
        done.set()
        kept: list[Body] = [await small, await large]
        assert 70 == bodies.held
        # What has arrived stays: the one that comes now has no other to take from.
        with pytest.raises(NoRoomError):
            await bodies.read(chunks(31), 5)
        for body in (*kept, last.result()):
            bodies.give_back(body)
        assert 0 == bodies.held

    asyncio.run(run())


def test_a_body_that_is_slow_or_too_large_leaves_nothing() -> None:
    async def run() -> None:
        bodies = Bodies(100, 50)
        with pytest.raises(TimeoutError):
            await bodies.read(chunks(10, then=asyncio.Event()), 0.01)
        with pytest.raises(TooLargeError):
            await bodies.read(chunks(30, 21), 5)
        assert 0 == bodies.held

    asyncio.run(run())


class Silent(asyncio.Transport):
    """A connection on which nothing is said; it notes its end."""

    aborted = False

    def abort(self) -> None:
        self.aborted = True


def opened(connections: Connections, states: str) -> list[Connection]:
    """Connections, the oldest first: unfinished, busy, kept."""
    found = []
    for n, letter in enumerate(states):
        state = {"u": State.UNFINISHED, "b": State.BUSY, "k": State.KEPT}[letter]
        found.append(Connection(connections, asyncio.Protocol(), float(n), state, transport=Silent()))
        connections._open.add(found[-1])
    return found


@pytest.mark.parametrize(
    ("states", "dropped"),
    [
        ("bkuu", 2),  # the oldest whose request has not arrived, and not the older one that an API server uses again
        ("bkku", 3),  # up to one half of all are kept
        ("ukkk", 1),  # and no more, whoever asked for something small on each
        ("bbkk", 2),
        ("bbbk", 3),
        ("bbbb", None),  # a review in progress is not cut off
    ],
)
def test_who_gives_way(states: str, dropped: int | None) -> None:
    async def run() -> None:
        connections = Connections(4, 5, WebhookContext, asyncio.Protocol)
        every = opened(connections, states)
        if dropped is None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(connections._room(), 0.05)
        else:
            await connections._room()
        assert [n == dropped for n in range(4)] == [each.transport.aborted for each in every]  # type: ignore[union-attr]

    asyncio.run(run())


def test_whose_body_is_long_in_coming_gives_way_first() -> None:
    async def run() -> None:
        connections = Connections(4, 5, WebhookContext, asyncio.Protocol)
        _, quick, slow, _ = every = opened(connections, "uuuu")
        now = asyncio.get_running_loop().time()
        quick.head, slow.head = now, now - 1
        await connections._room()
        assert [False, False, True, False] == [each.transport.aborted for each in every]  # type: ignore[union-attr]

    asyncio.run(run())


def test_who_waits_for_room_gets_it_when_a_review_is_done() -> None:
    async def run() -> None:
        connections = Connections(2, 5, WebhookContext, asyncio.Protocol)
        first, _ = opened(connections, "bb")
        waiting = asyncio.create_task(connections._room())
        await asyncio.sleep(0)
        first.answered()
        await waiting
        assert 1 == len(connections)

    asyncio.run(run())


WebhookContext: Any = None
"""No connection is opened on it."""
