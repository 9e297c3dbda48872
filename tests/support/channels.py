"""A transport with a channel per request, as over HTTP: messages that belong to a request use its channel."""

import json
from typing import Any

from mcp_runtime.transports.base import Channel, Outcome, Receiver


class Stream:
    """One channel: keeps the messages sent on it, parsed."""

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
    """A transport that delivers each message over a new channel; the transport itself is the shared channel."""

    receiver: Receiver

    async def start(self, receiver: Receiver) -> None:
        self.receiver = receiver

    async def close(self) -> None:
        self.receiver.connection_lost(None)

    def deliver(self, channel: Channel, **message: Any) -> Outcome:
        return self.receiver.message_received(json.dumps({"jsonrpc": "2.0", **message}).encode(), channel)
