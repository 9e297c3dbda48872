"""A transport with a channel for each request, as over HTTP: what belongs to a request leaves on its channel."""

import json
from typing import Any

from mcp_runtime.transports.base import Channel, Outcome, Receiver


class Stream:
    """One channel: keeps what leaves by it, parsed."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.is_paused = False

    def send(self, message: bytes) -> None:
        self.got.append(json.loads(message))

    async def drain(self) -> None: ...

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


class Streams(Stream):
    """A transport that delivers each message over a channel of its own; it is itself the common one."""

    receiver: Receiver

    async def start(self, receiver: Receiver) -> None:
        self.receiver = receiver

    async def close(self) -> None:
        self.receiver.connection_lost(None)

    def deliver(self, channel: Channel, **message: Any) -> Outcome:
        return self.receiver.message_received(json.dumps({"jsonrpc": "2.0", **message}).encode(), channel)
