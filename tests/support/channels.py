"""A transport with a channel per request, as over HTTP: messages that belong to a request use its channel."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from mcp_runtime.core.connection.transport import ANSWER_SENT, Channel, Outcome, Receiver, Sent, Transport


class Stream(Channel):
    """One channel: keeps the messages sent on it, parsed."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.is_paused = False
        self._arrived = asyncio.Event()

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        self.got.append(json.loads(message))
        self._arrived.set()

    async def until(self, matches: Callable[[Any], bool]) -> Any:
        """Wait for a message, and return it."""
        async with asyncio.timeout(30):
            while True:
                for message in self.got:
                    if matches(message):
                        return message
                self._arrived.clear()
                await self._arrived.wait()

    async def drain(self) -> None: ...

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


class Streams(Stream, Transport):
    """A transport that delivers each message over a new channel; the transport itself is the shared channel."""

    receiver: Receiver

    async def start(self, receiver: Receiver) -> None:
        self.receiver = receiver

    async def close(self) -> None:
        self.receiver.connection_lost(None)

    def deliver(self, channel: Channel, **message: Any) -> Outcome:
        return self.receiver.message_received(json.dumps({"jsonrpc": "2.0", **message}).encode(), channel)
