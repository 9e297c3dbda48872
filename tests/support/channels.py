"""A transport with a channel for each request, as over HTTP: what belongs to a request leaves on its channel."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from mcp_runtime.transports.base import Channel, Outcome, Receiver


class Stream:
    """One channel: keeps what leaves by it, parsed; `keep_from_draining` makes it one whose peer does not read."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.is_paused = False
        self._sent, self._drained = asyncio.Event(), asyncio.Event()
        self._drained.set()

    def send(self, message: bytes) -> None:
        self.got.append(json.loads(message))
        self._sent.set()

    async def drain(self) -> None:
        await self._drained.wait()

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def keep_from_draining(self) -> Callable[[], None]:
        self._drained.clear()
        return self._drained.set

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        """Wait for a message."""
        async with asyncio.timeout(10):
            while not (found := [message for message in self.got if wanted(message)]):
                self._sent.clear()
                await self._sent.wait()
        return found[0]

    async def answer(self, id_: Any) -> Any:
        """Wait for the answer to a request."""
        return await self.until(lambda message: message.get("id") == id_ and "method" not in message)


class Streams(Stream):
    """A transport that delivers each message over a channel of its own; it is itself the common one."""

    receiver: Receiver

    async def start(self, receiver: Receiver) -> None:
        self.receiver = receiver

    async def close(self) -> None:
        self.receiver.connection_lost(None)

    def deliver(self, channel: Channel, **message: Any) -> Outcome:
        """Let a message arrive over a channel."""
        return self.receiver.message_received(json.dumps({"jsonrpc": "2.0", **message}).encode(), channel)

    def post(self, **message: Any) -> Stream:
        """Let a message arrive over a channel of its own, which is returned."""
        stream = Stream()
        self.deliver(stream, **message)
        return stream

    async def shake_hands(self, revision: str, **capabilities: Any) -> None:
        """Do the handshake."""
        info = {"name": "streams", "version": "0"}
        params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info}
        await self.post(id="hello", method="initialize", params=params).answer("hello")
        self.post(method="notifications/initialized")
