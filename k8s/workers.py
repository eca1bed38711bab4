"""The processes that review: each has one review at a time, over a socket of its own, and is replaced when it ends.

Reviews begin in the order in which they came, but of large ones one at a time, so that small ones go on beside it. There
is no thread between the server's loop and a worker: handing a review over costs a few writes and one read. One that takes
too long is ended with its process, so that it holds up no other. What a review may use of memory is bounded, and a worker
that did not give it back is replaced.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import pickle
import socket
import struct
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

from tricel.compiler import Limits

from .memory import bound, used
from .review import NotAReviewError
from .work import Answer, answered, prepare, unfinished

_LOG = logging.getLogger("tricel.webhook")
_LENGTH = struct.Struct("!I")
_LARGE = 256 * 1024
"""Bytes of a review of which only one is made at a time: parsed, it takes many times as much."""
_PIECE = 64 * 1024
_KEPT = 24 * 2**20
"""Bytes that a worker may keep of all its reviews before it is replaced."""
_LATE = 1.5
"""Seconds to say that a review took too long; together with the review it is less than an API server waits."""
_LONGEST_PAUSE = 5.0
"""Seconds between two attempts to start a worker where none comes up."""


class NotBegunError(Exception):
    """No worker was free in time: the server has too much to do."""


class WorkerDiedError(Exception):
    """The worker died of the review, or during it."""


@dataclass(eq=False, slots=True)
class _Job:
    path: str
    body: bytes | bytearray
    answer: asyncio.Future[Answer]
    late: bool = False
    """Whether it is not to be reviewed, but to be told that the review took too long."""
    timer: asyncio.TimerHandle | None = None
    worker: _Worker | None = None

    @property
    def large(self) -> bool:
        """Whether no other such may be reviewed at the same time."""
        return len(self.body) > _LARGE

    def settle(self, found: Answer | Exception) -> None:
        """Answers, where nobody has yet."""
        if self.timer is not None:
            self.timer.cancel()
        if self.answer.done():
            return
        if isinstance(found, Exception):
            self.answer.set_exception(found)
        else:
            self.answer.set_result(found)


class Workers:
    """So many processes, and the reviews that wait for one of them. For one event loop."""

    def __init__(self, count: int, features: frozenset[str], limits: Limits, seconds: float, memory: int) -> None:
        """`seconds` is what a review may take, the wait for a worker included; `memory` the bytes that it may need."""
        self.count = count
        self.features = features
        self.limits = limits
        self.seconds = seconds
        self.memory = memory
        self._idle: deque[_Worker] = deque()
        self._waiting: deque[_Job] = deque()
        self._all: set[_Worker] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._closed = False
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tricel.k8s.work"])

    async def start(self) -> None:
        """Starts the processes, and waits until they can review."""
        await asyncio.gather(*(self._start() for _ in range(self.count)))

    async def answer(self, path: str, body: bytes | bytearray) -> Answer:
        """What `work.answered` says of a body; or, where that takes too long, `work.unfinished`. The body is not copied.

        Raises:
            NotAReviewError: where the body cannot be answered.
            NotBegunError: where no worker was free in time.
            WorkerDiedError: where its process died.
        """
        job = self._new(path, body, self.seconds)
        self._waiting.append(job)
        self._hand_over()
        try:
            return await job.answer
        except _NotFinishedError:
            if not job.large:
                return unfinished(path, body)
            # To read it takes memory, and a worker has a bound of it.
            job = self._new(path, body, _LATE, late=True)
            self._waiting.appendleft(job)
            self._hand_over()
            return await job.answer

    def _new(self, path: str, body: bytes | bytearray, seconds: float, *, late: bool = False) -> _Job:
        loop = asyncio.get_running_loop()
        job = _Job(path, body, loop.create_future(), late)
        job.timer = loop.call_later(seconds, self._late, job)
        return job

    def _hand_over(self) -> None:
        """Gives reviews to workers, as far as there are any."""
        while self._idle:
            crowded = any(worker.job is not None and worker.job.large for worker in self._all)
            job = next((each for each in self._waiting if not (each.large and crowded)), None)
            if job is None:
                return
            self._waiting.remove(job)
            self._idle.popleft().take(job)

    def close(self) -> None:
        """Ends the processes; those at work are not waited for."""
        self._closed = True
        for task in self._starting:
            task.cancel()
        for worker in tuple(self._all):
            worker.end()

    async def _start(self) -> None:
        """One more worker, however many attempts it takes."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            with theirs:
                process = self._context.Process(
                    target=_work, args=(theirs, self.features, self.limits, self.memory), daemon=True
                )
                process.start()
            worker = _Worker(self, process, loop.create_future())
            self._all.add(worker)
            await loop.create_connection(partial(_itself, worker), sock=ours)
            if await worker.ready:
                self._failures = 0
                return
            self._failures += 1
            await asyncio.sleep(min(_LONGEST_PAUSE, 0.1 * 2.0 ** min(self._failures, 10)))

    def free(self, worker: _Worker) -> None:
        """Takes a worker back that has finished."""
        self._idle.append(worker)
        self._hand_over()

    def lost(self, worker: _Worker, ready: bool) -> None:
        """Puts another in the place of a worker that ended; one that never was ready is tried again by who started it."""
        self._all.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if self._closed:
            return
        if worker.retired:
            _LOG.info("a worker is replaced, for its memory")
        else:
            _LOG.error("a worker died")
        if ready:
            task = asyncio.get_running_loop().create_task(self._start())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)
        self._hand_over()

    def _late(self, job: _Job) -> None:
        if job.worker is not None:
            job.settle(WorkerDiedError() if job.late else _NotFinishedError())
            job.worker.end()
            return
        self._waiting.remove(job)
        job.settle(NotBegunError())


class _NotFinishedError(Exception):
    """A worker took too long, and was ended."""


@dataclass(eq=False)
class _Worker(asyncio.Protocol):
    """The server's end of a worker.

    Messages are a length, big-endian in four bytes, and so many bytes of pickle; one to the worker says how long the body
    is that follows.
    """

    workers: Workers
    process: Any
    ready: asyncio.Future[bool]
    job: _Job | None = None
    transport: asyncio.Transport | None = None
    received: bytearray = field(default_factory=bytearray)
    rest: memoryview = field(default_factory=lambda: memoryview(b""))
    full: bool = False
    retired: bool = False

    def take(self, job: _Job) -> None:
        """Hands a review over."""
        assert self.transport is not None
        self.job, job.worker = job, self
        head = pickle.dumps((job.path, len(job.body), job.late))
        self.transport.write(_LENGTH.pack(len(head)) + head)
        self.rest = memoryview(job.body)
        self._write()

    def _write(self) -> None:
        """Writes what the transport takes, and leaves the rest where it is."""
        assert self.transport is not None
        while self.rest and not self.full:
            piece, self.rest = self.rest[:_PIECE], self.rest[_PIECE:]
            self.transport.write(piece)

    def pause_writing(self) -> None:
        """The worker reads more slowly than we write."""
        self.full = True

    def resume_writing(self) -> None:
        """The worker has read."""
        self.full = False
        self._write()

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self.process.terminate()
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        if len(self.received) < _LENGTH.size:
            return
        (length,) = _LENGTH.unpack_from(self.received)
        if len(self.received) < _LENGTH.size + length:
            return
        found, self.retired = pickle.loads(memoryview(self.received)[_LENGTH.size :])
        self.received = bytearray()
        if not self.ready.done():
            self.ready.set_result(True)
        elif self.job is not None:
            job, self.job = self.job, None
            job.settle(found)
        if not self.retired:
            self.workers.free(self)

    def connection_lost(self, exc: Exception | None) -> None:
        ready = self.ready.done()
        if not ready:
            self.ready.set_result(False)
        self.rest = memoryview(b"")
        if self.job is not None:
            self.job.settle(WorkerDiedError())
            self.job = None
        self.process.join(0)
        self.workers.lost(self, ready)


def _itself(worker: _Worker) -> _Worker:
    """The loop asks for a new protocol where there is one already."""
    return worker


def _work(connection: socket.socket, features: frozenset[str], limits: Limits, memory: int) -> None:
    """A worker's life: until its server is gone, or it has kept too much."""
    prepare()
    begin = used()
    bound(begin, memory)
    with connection, connection.makefile("rb") as messages:
        _send(connection, None, False)
        retired = False
        while not retired and (head := _received(messages)) is not None:
            path, length, late = pickle.loads(head)
            found: Answer | NotAReviewError
            try:
                body = messages.read(length)
                found = unfinished(path, body) if late else answered(path, body, features, limits)
            except NotAReviewError as e:
                found = e
            except MemoryError:
                found = NotAReviewError("reading the body takes too much memory")
            body = b""
            retired = used() - begin > _KEPT
            _send(connection, found, retired)


def _send(connection: socket.socket, value: object, retired: bool) -> None:
    message = pickle.dumps((value, retired))
    connection.sendall(_LENGTH.pack(len(message)) + message)


def _received(messages: BinaryIO) -> bytes | None:
    """The next message; None at the end, or in the middle of one that will not come any more."""
    head = messages.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = messages.read(length)
    return message if len(message) == length else None
