"""A channel, and the state that this side keeps for it."""

import asyncio
from typing import Final

from mcp_runtime.connection.throttle import Gate
from mcp_runtime.connection.transport import Channel
from mcp_runtime.protocol.jsonrpc import Key

MAX_UNREAD: Final = 1 << 20
"""How many bytes of answers are sent before this side checks whether the peer is reading."""


class Line:
    """A channel, and the state that this side keeps for it.

    Attributes:
        channel: where messages are sent.
        owner: the link that it belongs to.
        open: the requests that are open on it; none are kept for the main line, which exists anyway.
        unread: bytes of answers sent immediately since it was last drained.
        owed: bytes of results that handlers' tasks wait for the peer to read.
        is_deaf: whether reading from it is paused until it is drained.
        posted: bytes of log messages sent since it was last drained.
        logs: the gate for log messages; None before the first.
    """

    __slots__ = ("_room", "channel", "is_deaf", "logs", "open", "owed", "owner", "posted", "unread")

    def __init__(self, channel: Channel, owner: object) -> None:
        self.channel = channel
        self.owner = owner
        self.open: set[Key] = set()
        self.unread = 0
        self.owed = 0
        self.posted = 0
        self._room: asyncio.Event | None = None
        self.is_deaf = False
        self.logs: Gate[bytes] | None = None

    async def wait_for_room(self) -> None:
        """Wait until the peer has read most of the results."""
        while self.owed > MAX_UNREAD:
            self._room = self._room or asyncio.Event()
            await self._room.wait()

    async def drain(self, size: int) -> None:
        """Wait until the peer has read most of what was sent, including a result of `size` bytes."""
        self.owed += size
        try:
            await self.channel.drain()
        finally:
            self.owed -= size
            if self._room is not None and self.owed <= MAX_UNREAD:
                self._room.set()
                self._room = None
