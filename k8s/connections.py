"""The open connections of the webhook: so many at most, and which of them gives way to a new one.

A connection costs memory before anybody has said anything on it, and whoever opens it may never say anything. Refusing
new ones at the bound would shut the API server out for as long as somebody holds as many silent ones. So the new one is
let in, and the oldest goes whose request has not arrived: an API server and a probe send theirs within milliseconds,
and whoever holds a connection open has the oldest. A review in progress is never cut off.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from asyncio import sslproto
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

_LOG = logging.getLogger("tricel.webhook")
_BUFFER = 64 * 1024
"""Bytes that a TLS connection may have read and not handed on; a record has a quarter of it."""
_BODY = 0.25
"""Seconds after which a body is long in coming."""
_GOODBYE = 1.0
"""Seconds that a client may take to agree to the end of a connection."""


class State(Enum):
    """What a connection is at."""

    UNFINISHED = auto()
    """Its request, or the handshake before, has not arrived."""
    BUSY = auto()
    """Its request has arrived, and is being answered."""
    KEPT = auto()
    """Its last request is answered, and the next has not begun."""


@dataclass(eq=False)
class Connection(asyncio.Protocol):
    """One connection; it hands everything on to the protocol that speaks HTTP."""

    connections: Connections
    http: asyncio.Protocol
    since: float
    """When its state began; of one that is unfinished, when it was opened or its request began."""
    state: State = State.UNFINISHED
    head: float | None = None
    """When the head arrived of a request whose body is arriving."""
    transport: asyncio.Transport | None = None
    opening: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)

    def begin(self) -> None:
        """The head of a request has arrived."""
        self._stop_timer()
        if self.state is State.KEPT:
            self._enter(State.UNFINISHED)
        self.head = asyncio.get_running_loop().time()

    def arrived(self) -> None:
        """All of a request has arrived."""
        self._enter(State.BUSY)

    def answered(self) -> None:
        """The answer is on its way."""
        self._enter(State.KEPT)

    def drop(self) -> None:
        """Ends the connection at once."""
        self.connections.forget(self)
        if self.transport is not None:
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Open: the handshake is done."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.http.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        self.http.data_received(data)

    def eof_received(self) -> bool | None:
        """The client sends no more."""
        return self.http.eof_received()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self.http.pause_writing()

    def resume_writing(self) -> None:
        """The client has read."""
        self.http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Closed, by whomever."""
        self.connections.forget(self)
        self.http.connection_lost(exc)

    def _enter(self, state: State) -> None:
        self.state, self.since, self.head = state, asyncio.get_running_loop().time(), None
        self.connections.changed.set()

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Connections:
    """At most `most` connections at once; the handshake and the head of the first request take `seconds` at most."""

    def __init__(
        self, most: int, seconds: float, context: ssl.SSLContext, http: Callable[[], asyncio.Protocol]
    ) -> None:
        """`http` makes the protocol that speaks on a new connection; `dropped` is called for each that is dropped."""
        self.most = most
        self.seconds = seconds
        self.changed = asyncio.Event()
        self.dropped: Callable[[str], None] = lambda reason: None
        # Each connection has such a buffer from its beginning, and the default is 256 KiB.
        sslproto.SSLProtocol.max_size = _BUFFER
        self._context = context
        self._http = http
        self._open: set[Connection] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def accept(self, listener: socket.socket) -> None:
        """Lets in who comes, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                plain, _ = await loop.sock_accept(listener)
            except OSError as e:
                _LOG.warning("connection not accepted", extra={"fields": {"error": type(e).__name__}})
                await asyncio.sleep(0.1)
                continue
            try:
                await self._room()
            except asyncio.CancelledError:
                plain.close()
                raise
            self._let_in(plain)
            # One at a time: what is open already goes on in between.
            await asyncio.sleep(0)

    def forget(self, connection: Connection) -> None:
        """It is open no longer."""
        connection._stop_timer()
        self._open.discard(connection)
        self.changed.set()

    async def _room(self) -> None:
        """Waits until one more may be opened; it need not, where one can be dropped."""
        while len(self._open) >= self.most:
            victim = self._least()
            if victim is not None:
                self.dropped("room")
                victim.drop()
                return
            self.changed.clear()
            await self.changed.wait()

    def _least(self) -> Connection | None:
        """The one to drop; None where every one has a review in progress.

        Those that have been answered stay, since an API server uses them again; but only up to one half, so that
        nobody gets all the room by asking for something small on each. Of the unfinished, those go first whose body is
        long in coming: a common one comes with its head.
        """
        late = asyncio.get_running_loop().time() - _BODY
        unfinished = [c for c in self._open if c.state is State.UNFINISHED]
        kept = [c for c in self._open if c.state is State.KEPT]
        pool = kept if len(kept) > self.most // 2 or not unfinished else unfinished
        return min(pool, key=lambda c: (c.head is None or c.head > late, c.since), default=None)

    def _let_in(self, plain: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        connection = Connection(self, self._http(), loop.time())
        self._open.add(connection)
        connection.timer = loop.call_later(self.seconds, self._late, connection)
        connection.opening = loop.create_task(self._shake_hands(connection, plain))

    def _late(self, connection: Connection) -> None:
        self.dropped("slow")
        connection.drop()

    async def _shake_hands(self, connection: Connection, plain: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(
                lambda: connection,
                plain,
                ssl=self._context,
                ssl_handshake_timeout=self.seconds,
                ssl_shutdown_timeout=_GOODBYE,
            )
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                plain.close()
            raise
        except OSError:  # no TLS, or not ours
            self.forget(connection)
        finally:
            connection.opening = None


async def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        OSError: where the address is not ours, or is taken.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]
    listener = socket.create_server(address[:2], family=family, backlog=512)
    listener.setblocking(False)
    return listener
