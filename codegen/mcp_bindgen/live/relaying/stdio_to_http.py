"""Relay messages between a client on standard input and output and a server over HTTP, and validate each one."""

import asyncio
from types import SimpleNamespace
from typing import Final

from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.lines import MAX_MESSAGE_BYTES, Lines, failure, id_in, line_of, messages_in, object_in
from mcp_bindgen.live.relaying.proxy import Record, Tally, Tell
from mcp_bindgen.live.target import Target, connect
from mcp_runtime.core.connection.transport import ACCEPTED, ANSWER, Outcome, Sent, Transport
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import is_modern
from mcp_runtime.core.transports.process import on_signals
from mcp_runtime.core.transports.stdio import StdioServerTransport
from mcp_runtime.observe.observer import Observer

LINGER: Final = 10.0
"""Seconds in which what is open may still be answered after the client has closed its output."""


class _Relay:
    """Relays between a client and a server.

    Args:
        server: posts the messages of the client.
        tell: is called for each message that violates the protocol.
        record: is called for each message.
    """

    def __init__(self, server: Transport, tell: Tell, record: Record | None) -> None:
        self._server = server
        self._tally = Tally(tell, record)
        self._client = StdioServerTransport(max_message_bytes=MAX_MESSAGE_BYTES)
        self._observer = Observer(package.BINDING for package in packages_of(revisions()))
        self._open: set[int | str] = set()
        self._left = asyncio.Event()

    async def run(self) -> Tally:
        """Relay until the client has left."""
        loop = asyncio.get_running_loop()
        with on_signals(loop, self._left.set, lambda: None):
            await self._server.start(Lines(self._from_server, lambda _: self._left.set(), self._unanswered))
            await self._client.start(Lines(self._from_client, lambda _: self._left.set()))
            await self._left.wait()
            deadline = loop.time() + LINGER
            while self._open and loop.time() < deadline:
                await asyncio.sleep(0.05)
            await self._client.close()
        self._tally.ended, self._tally.unjudged = "the client has left", self._observer.unjudged
        return self._tally

    def _from_client(self, line: bytes) -> None:
        self._tally.take(self._observer, Side.CLIENT, line)
        messages = messages_in(line) or ()
        for message in messages:
            method, id_, params = message.get("method"), id_in(message), object_in(message, "params")
            if method is not None and id_ is not None:
                self._open.add(id_)
            about = Sent(
                method if isinstance(method, str) else "",
                id=id_ if method is not None else None,
                cancels=id_in(params, "requestId") if method == "notifications/cancelled" else None,
                params=SimpleNamespace(**params),
                meta=object_in(params, "_meta") if is_modern(message) else None,
            )
            self._server.send(line if len(messages) == 1 else line_of(message), about)

    def _from_server(self, message: bytes) -> Outcome:
        line = message.replace(b"\r", b" ").replace(b"\n", b" ")
        self._tally.take(self._observer, Side.SERVER, line)
        self._client.send(line)
        answered = [id_in(each) for each in messages_in(line) or () if "method" not in each]
        self._open.difference_update(answered)
        return ANSWER if answered else ACCEPTED

    def _unanswered(self, id_: int | str, reason: str) -> None:
        if id_ in self._open:  # transports also tell this of requests that were answered
            self._open.discard(id_)
            self._client.send(line_of(failure(id_, reason)))


def run_stdio_to_http(target: Target, tell: Tell, record: Record | None = None) -> Tally:
    """Relay between the client that started this process and a server, until the client leaves.

    Args:
        target: the server.
        tell: is called for each message that violates the protocol.
        record: is called for each message.
    """

    async def run() -> Tally:
        async with connect(target, print) as peer:
            return await _Relay(peer.transport, tell, record).run()

    return asyncio.run(run())
