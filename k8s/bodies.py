"""The bodies that the webhook holds: so many bytes at most, over all requests, from the first byte to the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


class NoRoomError(Exception):
    """There is no room for a body now."""


class TooLargeError(Exception):
    """A body is larger than any may be."""


@dataclass(eq=False)
class Body:
    """One body: what has arrived of it, while it arrives, and then all of it."""

    content: bytearray = field(default_factory=bytearray)
    limit: asyncio.Timeout | None = None
    dropped: bool = False


class Bodies:
    """Room for `most` bytes.

    Where it does not suffice, the largest body gives way that is still arriving: so a Trigger of common size is never
    the one, whatever else is sent. Who sends slowly, or says a size and sends nothing, holds only what has arrived.
    """

    def __init__(self, most: int, largest: int) -> None:
        self.most = most
        self.largest = largest
        self.held = 0
        self._arriving: dict[Body, None] = {}

    async def read(self, chunks: AsyncIterator[bytes], seconds: float) -> Body:
        """A body, which holds its room until it is given back.

        Raises:
            NoRoomError: where it had to give way.
            TooLargeError: where it is too large.
            TimeoutError: where it did not arrive in time.
        """
        body = Body()
        self._arriving[body] = None
        try:
            async with asyncio.timeout(seconds) as body.limit:
                async for chunk in chunks:
                    self._add(body, chunk)
        except TimeoutError:
            self.give_back(body)
            if body.dropped:
                raise NoRoomError from None
            raise
        except BaseException:
            self.give_back(body)
            raise
        finally:
            self._arriving.pop(body, None)
        if body.dropped:
            raise NoRoomError
        return body

    def give_back(self, body: Body) -> None:
        """Its room is free for others."""
        self.held -= len(body.content)
        body.content = bytearray()

    def _add(self, body: Body, chunk: bytes) -> None:
        if body.dropped:
            raise NoRoomError
        if len(body.content) + len(chunk) > self.largest:
            raise TooLargeError
        while self.held + len(chunk) > self.most:
            victim = max(self._arriving, key=lambda each: len(each.content))
            self._drop(victim)
            if victim is body:
                raise NoRoomError
        body.content += chunk
        self.held += len(chunk)

    def _drop(self, body: Body) -> None:
        self.give_back(body)
        body.dropped = True
        self._arriving.pop(body, None)
        if body.limit is not None:
            body.limit.reschedule(asyncio.get_running_loop().time())
