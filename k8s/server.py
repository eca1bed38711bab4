"""The webhook: an HTTPS server around the review.

    POST /validate   AdmissionReview -> AdmissionReview that allows or denies
    POST /mutate     AdmissionReview -> AdmissionReview with a JSON patch
    GET  /healthz    200 while the process serves
    GET  /readyz     200 when it should be sent requests: not while it ends, nor with a certificate that has expired
    GET  /metrics    Prometheus

A body that is not a review is answered with 4xx, and a server that has too much to do with 503: the API server then does
what its `failurePolicy` says. Nothing but a review that found no error is answered with `allowed: true`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from tricel.compiler import Limits
from tricel.compiler.limits import DEFAULT

from .bodies import Bodies, Body, NoRoomError, TooLargeError
from .connections import Connection, Connections, listen
from .memory import give_back, used
from .metrics import CONTENT_TYPE, Metrics
from .review import NotAReviewError
from .tls import RotatingCertificate
from .work import MUTATE, VALIDATE, Answer
from .workers import NotBegunError, WorkerDiedError, Workers

_LOG = logging.getLogger("tricel.webhook")
_PAUSE = 1.0
"""Seconds between two looks at the memory."""
_SPARE = 4 * 2**20
"""Bytes that are not worth giving back."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the webhook serves. Times are in seconds, sizes in bytes.

    `head` bounds the wait for the handshake and the head of the first request on a connection; `idle` for that of the
    next (an API server drops connections after 90, and should be first); `read` the wait for a body; `review` the work
    on it, after which it is denied. `connections` may be open at once. `most` reviews may be in progress or waiting;
    their bodies, and those that are arriving, have `room` bytes together, and each has `largest` (a cluster keeps
    objects of 1.5 MiB, and a review has two). `workers` processes make the reviews; each may use `memory` bytes more than
    at its beginning. At the end the server takes requests for `drain` more, while clients are told to leave; it then
    takes no new connection, waits up to `settle` for the open ones to end, and gives the requests in progress `finish`.
    """

    certificate: Path
    key: Path
    host: str = "0.0.0.0"
    port: int = 8443
    features: frozenset[str] = frozenset()
    limits: Limits = DEFAULT
    largest: int = 4 * 2**20
    room: int = 12 * 2**20
    memory: int = 48 * 2**20
    connections: int = 128
    head: float = 5.0
    idle: float = 100.0
    read: float = 5.0
    review: float = 8.0
    most: int = 128
    workers: int = max(1, min(4, os.cpu_count() or 1))
    drain: float = 5.0
    settle: float = 1.0
    finish: float = 10.0
    reload: float = 5.0


class Webhook:
    """The server's state: certificate, metrics, and how many reviews are in progress."""

    def __init__(self, options: Options) -> None:
        """Reads the certificate.

        Raises:
            OSError, ValueError: where there is no usable certificate.
        """
        self.options = options
        self.certificate = RotatingCertificate(options.certificate, options.key)
        self.metrics = Metrics()
        self.ending = False
        self._busy = 0
        self._bodies = Bodies(options.room, options.largest)
        self._workers = Workers(options.workers, options.features, options.limits, options.review, options.memory)
        self._note_certificate()

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(middlewares=[self._leave])
        app.router.add_post(VALIDATE, self._review)
        app.router.add_post(MUTATE, self._review)
        app.router.add_get("/healthz", self._healthy)
        app.router.add_get("/readyz", self._ready)
        app.router.add_get("/metrics", self._metrics)
        return app

    def connections(self, http: Callable[[], Any]) -> Connections:
        """The connections, on which `http` speaks."""
        found = Connections(self.options.connections, self.options.head, self.certificate.context, http)
        found.dropped = lambda reason: self.metrics.dropped.labels(reason).inc()
        self.metrics.connections.set_function(lambda: len(found))
        return found

    async def follow_certificate(self) -> None:
        """Takes up new certificates until cancelled."""
        while True:
            await asyncio.sleep(self.options.reload)
            if self.certificate.refresh():
                self.metrics.reloads.inc()
                self._note_certificate()
                _LOG.info("certificate reloaded", extra={"fields": {"expires": self.certificate.expires.isoformat()}})

    async def give_back_memory(self) -> None:
        """Gives the system what many requests at once have left, until cancelled."""
        least = used()
        while True:
            await asyncio.sleep(_PAUSE)
            if used() > least + _SPARE and not self._busy:
                give_back()
                least = used()
            least = min(least, used())

    def close(self) -> None:
        """Ends the workers; those still at work are not waited for."""
        self._workers.close()

    async def warm_up(self) -> None:
        """Starts the workers, so that no request waits for one."""
        await self._workers.start()

    def _note_certificate(self) -> None:
        self.metrics.expiry.set(self.certificate.expires.timestamp())

    @web.middleware
    async def _leave(self, request: web.Request, handler: Callable[..., Any]) -> web.StreamResponse:
        """Tells clients of a server that ends to make their next request elsewhere, and what a connection is at."""
        connection = _connection_of(request)
        if connection is not None:
            connection.begin()
        try:
            response: web.StreamResponse = await handler(request)
        finally:
            if connection is not None:
                connection.answered()
        if self.ending:
            response.force_close()
        return response

    async def _healthy(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _ready(self, _: web.Request) -> web.Response:
        if self.ending:
            return web.Response(status=503, text="ending\n")
        if self.certificate.expires <= datetime.now(UTC):
            return web.Response(status=503, text="the certificate has expired\n")
        return web.Response(text="ok\n")

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def _review(self, request: web.Request) -> web.Response:
        begin = time.perf_counter()
        outcome, response = await self._answered(request)
        self.metrics.requests.labels(request.path, outcome).inc()
        self.metrics.latency.labels(request.path).observe(time.perf_counter() - begin)
        return response

    async def _answered(self, request: web.Request) -> tuple[str, web.Response]:
        """The outcome, as it is counted, and the response."""
        body = await self._body(request)
        if isinstance(body, web.Response):
            return "overloaded" if body.status == 503 else "invalid", body
        try:
            connection = _connection_of(request)
            if connection is not None:
                connection.arrived()
            if self._busy >= self.options.most:
                return "overloaded", _overloaded()
            return await self._reviewed(request.path, body.content)
        finally:
            self._bodies.give_back(body)

    async def _reviewed(self, path: str, body: bytearray) -> tuple[str, web.Response]:
        begin = time.perf_counter()
        self._busy += 1
        self.metrics.in_flight.inc()
        try:
            done = await self._workers.answer(path, body)
        except NotAReviewError as e:
            return "invalid", _refusal(400, str(e))
        except NotBegunError:
            # It is not to blame; the server is.
            return "overloaded", _overloaded()
        except WorkerDiedError:
            return "failed", _refusal(500, "the review failed")
        except Exception:
            _LOG.exception("review failed")
            return "failed", _refusal(500, "the review failed")
        finally:
            self._busy -= 1
            self.metrics.in_flight.dec()
        return done.outcome, self._noted(path, done, time.perf_counter() - begin)

    async def _body(self, request: web.Request) -> Body | web.Response:
        if request.content_type != "application/json":
            return _refusal(415, "the content type is not application/json")
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return _refusal(415, "the body is encoded")
        if (request.content_length or 0) > self.options.largest:
            return _refusal(413, "the body is too large")
        try:
            return await self._bodies.read(request.content.iter_any(), self.options.read)
        except NoRoomError:
            return _overloaded()
        except TooLargeError:
            return _refusal(413, "the body is too large")
        except TimeoutError:
            return _refusal(408, "the body did not arrive in time")
        except (web.PayloadAccessError, web.RequestPayloadError, ConnectionError):
            return _refusal(400, "the body is not complete")

    def _noted(self, path: str, done: Answer, seconds: float) -> web.Response:
        """Counts and logs an answer."""
        for code in done.denials:
            self.metrics.denials.labels(code).inc()
        fields = {**done.fields, "outcome": done.outcome, "milliseconds": round(seconds * 1000, 2)}
        _LOG.info("reviewed" if path == VALIDATE else "mutated", extra={"fields": fields})
        return web.Response(body=done.body, content_type="application/json")


async def serve(options: Options, started: Callable[[int], None] | None = None) -> None:
    """Serves until SIGTERM or SIGINT, and then until what was accepted is answered. `started` is told the port.

    Raises:
        OSError, ValueError: where there is no usable certificate, or the port is taken.
    """
    webhook = Webhook(options)
    runner = web.AppRunner(
        webhook.application(),
        access_log=None,
        keepalive_timeout=options.idle,
        shutdown_timeout=options.finish,
        lingering_time=1.0,
        auto_decompress=False,
        handle_signals=False,
    )
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, end.set)
    await webhook.warm_up()
    await runner.setup()
    # What is loaded now stays: the collector need not walk it while requests wait.
    gc.collect()
    gc.freeze()
    beside = [asyncio.create_task(each) for each in (webhook.follow_certificate(), webhook.give_back_memory())]
    try:
        assert runner.server is not None
        connections = webhook.connections(runner.server)
        listener = await listen(options.host, options.port)
        accepting = asyncio.create_task(connections.accept(listener))
        port = listener.getsockname()[1]
        _LOG.info("serving", extra={"fields": {"port": port}})
        if started is not None:
            started(port)
        await end.wait()
        _LOG.info("ending", extra={"fields": {"drain": options.drain}})
        webhook.ending = True
        await asyncio.sleep(options.drain)
        accepting.cancel()
        listener.close()
        await _emptied(connections, options.settle)
    finally:
        for task in beside:
            task.cancel()
        await runner.cleanup()
        webhook.close()
    _LOG.info("ended")


def _connection_of(request: web.Request) -> Connection | None:
    """The connection of a request; None where it is gone already."""
    protocol = None if request.transport is None else request.transport.get_protocol()
    return protocol if isinstance(protocol, Connection) else None


async def _emptied(connections: Connections, seconds: float) -> None:
    """Waits until no connection is open: one that was just accepted has its request still on the way."""
    end = time.monotonic() + seconds
    while connections and time.monotonic() < end:
        await asyncio.sleep(0.02)


def _overloaded() -> web.Response:
    response = _refusal(503, "too many reviews at once")
    response.headers["Retry-After"] = "1"
    return response


def _refusal(status: int, message: str) -> web.Response:
    response = web.Response(status=status, text=f"{message}\n")
    # The rest of a body that was not read would be taken for the next request.
    response.force_close()
    return response
