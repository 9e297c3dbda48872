"""Transports without channels work for one more release, with a warning that says what to change."""

import warnings
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.server import start_server
from mcp_runtime.transports.memory import MemoryTransport, memory_pair
from support.channels import Streams
from support.receiving import OneStream


class Older(Streams):
    """A transport without channels."""

    def hear(self, message: bytes) -> Any:
        receive: Any = self.receiver.message_received
        return receive(message)


async def test_a_transport_that_passes_no_channel_works_with_a_warning() -> None:
    older = Older()
    connection = await start_server(older, v.Server())
    with pytest.warns(DeprecationWarning, match=r"Older passes no channel.*message_received\(message, self\)"):
        older.hear(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        older.hear(b'{"jsonrpc":"2.0","id":2,"method":"ping"}')
    assert [message["id"] for message in older.got] == [1, 2]
    await connection.aclose()


class OlderCounting:
    """A transport without channels that wraps another one."""

    def __init__(self, inner: MemoryTransport) -> None:
        self.received = 0
        self.inner = inner
        self.send, self.drain, self.close = inner.send, inner.drain, inner.close
        self.pause_reading, self.resume_reading = inner.pause_reading, inner.resume_reading

    async def start(self, receiver: Any) -> None:
        self.receiver = receiver
        await self.inner.start(self)  # type: ignore[arg-type]  # the older form

    def message_received(self, message: bytes) -> None:
        self.received += 1
        self.receiver.message_received(message)

    def message_refused(self, reason: str) -> None:
        self.receiver.message_refused(reason)

    def connection_lost(self, reason: Exception | None) -> None:
        self.receiver.connection_lost(reason)


class Far(OneStream):
    """The other end of a pair in memory."""

    def __init__(self) -> None:
        self.got: list[bytes] = []

    def receive(self, message: bytes) -> None:
        self.got.append(message)

    def connection_lost(self, reason: Exception | None) -> None: ...


async def test_a_receiver_that_takes_no_channel_works_with_a_warning() -> None:
    here, there = memory_pair()
    counting, far = OlderCounting(there), Far()
    with pytest.warns(DeprecationWarning, match="OlderCounting takes no channel"):
        connection = await start_server(counting, v.Server())
    await here.start(far)
    with pytest.warns(DeprecationWarning, match="OlderCounting passes no channel"):
        here.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert far.got == [b'{"jsonrpc":"2.0","id":1,"result":{}}'] and counting.received == 1
    await connection.aclose()
