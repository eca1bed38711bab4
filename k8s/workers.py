"""The processes that review: each has one review at a time, over a socket of its own, and is replaced when it ends.

Reviews begin in the order in which they came. There is no thread between the server's loop and a worker: handing a review
over costs one write and one read. One that takes too long is ended with its process, so that it holds up no other.
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

from .review import NotAReviewError
from .work import Answer, answered, prepare

_LOG = logging.getLogger("tricel.webhook")
_LENGTH = struct.Struct("!I")
_LONGEST_PAUSE = 5.0
"""Seconds between two attempts to start a worker where none comes up."""


class NotBegunError(Exception):
    """No worker was free in time: the server has too much to do."""


class NotFinishedError(Exception):
    """A worker took too long, and was ended."""


class WorkerDiedError(Exception):
    """The worker died of the review, or during it."""


@dataclass(eq=False, slots=True)
class _Job:
    message: bytes
    answer: asyncio.Future[Answer]
    timer: asyncio.TimerHandle | None = None
    worker: _Worker | None = None

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

    def __init__(self, count: int, features: frozenset[str], limits: Limits, seconds: float) -> None:
        """`seconds` is what a review may take, the wait for a worker included."""
        self.count = count
        self.features = features
        self.limits = limits
        self.seconds = seconds
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

    async def answer(self, path: str, body: bytes) -> Answer:
        """What `work.answered` says of a body.

        Raises:
            NotAReviewError: where the body cannot be answered.
            NotBegunError: where no worker was free in time.
            NotFinishedError: where the review took too long.
            WorkerDiedError: where its process died.
        """
        loop = asyncio.get_running_loop()
        job = _Job(pickle.dumps((path, body)), loop.create_future())
        job.timer = loop.call_later(self.seconds, self._late, job)
        if self._idle:
            self._idle.popleft().take(job)
        else:
            self._waiting.append(job)
        return await job.answer

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
                process = self._context.Process(target=_work, args=(theirs, self.features, self.limits), daemon=True)
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
        """Gives a worker the review that waits longest."""
        if self._waiting:
            worker.take(self._waiting.popleft())
        else:
            self._idle.append(worker)

    def lost(self, worker: _Worker, ready: bool) -> None:
        """Puts another in the place of a worker that ended; one that never was ready is tried again by who started it."""
        self._all.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if self._closed:
            return
        _LOG.error("a worker died")
        if ready:
            task = asyncio.get_running_loop().create_task(self._start())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    def _late(self, job: _Job) -> None:
        if job.worker is not None:
            job.settle(NotFinishedError())
            job.worker.end()
            return
        self._waiting.remove(job)
        job.settle(NotBegunError())


@dataclass(eq=False)
class _Worker(asyncio.Protocol):
    """The server's end of a worker. Messages are a length, big-endian in four bytes, and so many bytes of pickle."""

    workers: Workers
    process: Any
    ready: asyncio.Future[bool]
    job: _Job | None = None
    transport: asyncio.Transport | None = None
    received: bytearray = field(default_factory=bytearray)

    def take(self, job: _Job) -> None:
        """Hands a review over."""
        assert self.transport is not None
        self.job, job.worker = job, self
        self.transport.write(_LENGTH.pack(len(job.message)) + job.message)

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
        found = pickle.loads(memoryview(self.received)[_LENGTH.size :])
        self.received = bytearray()
        if not self.ready.done():
            self.ready.set_result(True)
        elif self.job is not None:
            job, self.job = self.job, None
            job.settle(found)
        self.workers.free(self)

    def connection_lost(self, exc: Exception | None) -> None:
        ready = self.ready.done()
        if not ready:
            self.ready.set_result(False)
        if self.job is not None:
            self.job.settle(WorkerDiedError())
            self.job = None
        self.process.join(0)
        self.workers.lost(self, ready)


def _itself(worker: _Worker) -> _Worker:
    """The loop asks for a new protocol where there is one already."""
    return worker


def _work(connection: socket.socket, features: frozenset[str], limits: Limits) -> None:
    """A worker's life: until its server is gone."""
    prepare()
    with connection, connection.makefile("rb") as messages:
        _send(connection, None)
        while (message := _received(messages)) is not None:
            path, body = pickle.loads(message)
            found: Answer | NotAReviewError
            try:
                found = answered(path, body, features, limits)
            except NotAReviewError as e:
                found = e
            _send(connection, found)


def _send(connection: socket.socket, value: object) -> None:
    message = pickle.dumps(value)
    connection.sendall(_LENGTH.pack(len(message)) + message)


def _received(messages: BinaryIO) -> bytes | None:
    """The next message; None at the end, or in the middle of one that will not come any more."""
    head = messages.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = messages.read(length)
    return message if len(message) == length else None
