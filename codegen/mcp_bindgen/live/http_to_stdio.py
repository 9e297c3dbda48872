"""Relay messages between HTTP clients and a server on standard input and output, and validate each one.

A session has a server process to itself. Requests of the modern era share one, where their ids and progress tokens are
numbered, since those of two clients may be equal. Nothing is stored, so streams cannot be resumed.
"""

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final

from mcp_bindgen.live.http_proxy import HttpRelay, Request, answer
from mcp_bindgen.live.lines import MAX_MESSAGE_BYTES, Lines, Message, failure, id_in, line_of, messages_in, object_in
from mcp_bindgen.live.proxy import Record, Tell
from mcp_runtime.connection.transport import TransportError
from mcp_runtime.observe.observer import Observer
from mcp_runtime.protocol.dispatch import Side
from mcp_runtime.protocol.modern import LOG_LEVEL, SUBSCRIPTION_ID, is_modern
from mcp_runtime.transports.http.server.checks import SESSION
from mcp_runtime.transports.http.statuses import STATUSES, Case
from mcp_runtime.transports.stdio import StdioClientTransport

MAX_SESSIONS: Final = 32
"""How many sessions may be open; one that waits for nothing ends to make room for another."""
MAX_KEPT: Final = 1_000
"""How many messages wait for a client that does not read them; then the oldest are dropped."""
FIRST: Final = 1.0
"""Seconds after which a response begins as a stream; an answer that comes earlier is sent alone."""


class _Stream:
    """What one HTTP request is answered with.

    Args:
        observer: judges its messages.
        given: the requests that it answers, by their ids at the server; empty for the stream of a GET.

    Attributes:
        is_left: whether the client no longer reads it.
    """

    def __init__(self, observer: Observer, given: dict[Any, Message]) -> None:
        self.observer = observer
        self.given = given
        self.is_left = False
        self._lines: deque[bytes | None] = deque(maxlen=MAX_KEPT)
        self._changed = asyncio.Event()

    def put(self, line: bytes | None) -> None:
        """Add a message, or None for the end."""
        self._lines.append(line)
        self._changed.set()

    async def sole(self) -> bytes | None:
        """Return the answer if it comes soon, before anything else."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST):
                await self._changed.wait()
        line = self._lines[0] if len(self.given) == 1 and self._lines else None
        return line if line is not None and "method" not in json.loads(line) else None

    async def lines(self) -> AsyncIterator[bytes]:
        """Iterate over the messages."""
        while True:
            while not self._lines:
                self._changed.clear()
                await self._changed.wait()
            line = self._lines.popleft()
            if line is None:
                return
            yield line


class _Process:
    """A server process, and the requests that it has not answered.

    Args:
        relay: judges the messages.
        words: the command that starts it.
        observer: judges its session; None if it serves the modern era.

    Attributes:
        open: the streams of its open requests, by their ids at the server, the oldest first.
        common: the stream for messages that belong to no request; None in the modern era.
        is_read: whether a client reads that stream.
        is_lost: whether it has ended.
    """

    def __init__(self, relay: HttpRelay, words: Sequence[str], observer: Observer | None) -> None:
        self._relay = relay
        self._observer = observer
        self._transport = StdioClientTransport(*words, inherit_env=True, max_message_bytes=MAX_MESSAGE_BYTES)
        self._numbers = count(1)
        self.open: dict[Any, _Stream] = {}
        self.common = None if observer is None else _Stream(observer, {})
        self.is_read = self.is_lost = False

    async def start(self) -> "_Process":
        """Start it; raises TransportError if it cannot be started."""
        await self._transport.start(Lines(self._take, self._lose))
        return self

    def post(self, messages: Sequence[Message], observer: Observer) -> _Stream:
        """Send messages of a client; return the stream of the answers."""
        stream = _Stream(observer, {})
        for given in messages:
            asks = "method" in given and id_in(given) is not None
            if self._observer is None and not asks:
                continue  # clients of the modern era cancel by leaving
            message = self._numbered(given) if self._observer is None else given
            if asks:
                stream.given[message["id"]] = given
                self.open[message["id"]] = stream
            self._transport.send(line_of(message))
        return stream

    def leave(self, stream: _Stream) -> None:
        """Handle that a client no longer reads a stream, which cancels requests of the modern era."""
        stream.is_left = True
        stream.put(None)
        for id_ in [id_ for id_ in stream.given if id_ in self.open and self._observer is None]:
            del self.open[id_]
            params = {"requestId": id_}
            self._transport.send(line_of({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))

    async def close(self) -> None:
        """End it."""
        await self._transport.close()

    def _numbered(self, message: Message) -> Message:
        """Return a request of the modern era with an id, and a progress token, that no other client uses."""
        params, number = object_in(message, "params"), next(self._numbers)
        meta = object_in(params, "_meta")
        token = {"progressToken": number} if "progressToken" in meta else {}
        return {**message, "id": number, "params": {**params, "_meta": {**meta, **token}}}

    def _take(self, line: bytes) -> None:
        for message in messages_in(line) or ():
            targets = self._targets(message) if self._observer is None else self._in_session(message)
            if not targets:
                self._relay.judge(self._observer, Side.SERVER, line_of(message))
            for stream, restored in targets:
                text = line_of(restored)
                self._relay.judge(stream.observer, Side.SERVER, text)
                stream.put(text)
            if "method" not in message:
                self._end(id_in(message))

    def _in_session(self, message: Message) -> list[tuple[_Stream, Message]]:
        """Return the stream of a message in a session; what is sent during a call is taken to belong to it."""
        stream = self.open.get(id_in(message)) if "method" not in message else None
        latest = next((each for each in reversed(self.open.values()) if not each.is_left), self.common)
        found = latest if "method" in message else stream
        return [(found, message)] if found is not None else []

    def _targets(self, message: Message) -> list[tuple[_Stream, Message]]:
        """Return the streams of a message of the modern era, and the message with the ids of their clients."""
        params, meta = object_in(message, "params"), object_in(object_in(message, "params"), "_meta")
        if stream := self.open.get(id_ := id_in(message)):
            return [(stream, {**message, "id": stream.given[id_]["id"]})]
        if stream := self.open.get(id_ := id_in(meta, SUBSCRIPTION_ID)):
            meta = {**meta, SUBSCRIPTION_ID: stream.given[id_]["id"]}
            return [(stream, {**message, "params": {**params, "_meta": meta}})]
        if stream := self.open.get(id_ := id_in(params, "progressToken")):
            token = _meta_of(stream.given[id_]).get("progressToken")
            return [(stream, {**message, "params": {**params, "progressToken": token}})]
        if message.get("method") == "notifications/cancelled":
            self._end(id_in(params, "requestId"))
            return []
        # Nothing says which request a log message belongs to.
        return [
            (each, message) for each in self.open.values() if any(LOG_LEVEL in _meta_of(g) for g in each.given.values())
        ]

    def _end(self, id_: Any) -> None:
        """Note that a request is answered, which ends its stream unless others are open on it."""
        stream = self.open.pop(id_, None)
        if stream is not None and not any(found is stream for found in self.open.values()):
            stream.put(None)

    def _lose(self, _: TransportError | None) -> None:
        self.is_lost = True
        for id_, stream in tuple(self.open.items()):
            stream.put(line_of(failure(stream.given[id_]["id"], "the server has ended")))
            self._end(id_)
        if self.common is not None:
            self.common.put(None)


class StdioRelay(HttpRelay):
    """Starts processes of a server, and relays between them and HTTP clients.

    Args:
        words: the command that starts the server.
        tell: is called for each message that violates the protocol.
        record: is called for each message.
    """

    def __init__(self, words: Sequence[str], tell: Tell, record: Record | None = None) -> None:
        super().__init__(tell, record)
        self._words = words
        self._sessions: dict[bytes, _Process] = {}
        self._modern: _Process | None = None
        self._starting = asyncio.Lock()

    async def relay(self, request: Request) -> None:
        """Relay one request, and its response."""
        session = dict(request.headers).get(SESSION)
        process = self._sessions.get(session) if session is not None else None
        if session is not None and (process is None or process.is_lost):
            await answer(request.send, Case.UNKNOWN_SESSION.status, b"there is no such session")
        elif request.method == "POST":
            await self._post(request, process)
        elif process is None or process.common is None or session is None:
            await answer(request.send, Case.METHOD.status, b"this endpoint takes POST")
        elif request.method == "DELETE":
            await self._sessions.pop(session).close()
            await answer(request.send, Case.ENDED.status, b"")
        elif process.is_read:
            await answer(request.send, 409, b"the session has a stream already")
        else:
            process.is_read, process.common.is_left = True, False
            await self._respond(request, process, process.common)
            process.is_read = False

    async def aclose(self) -> None:
        """End all processes."""
        processes = [*self._sessions.values(), *([] if self._modern is None else [self._modern])]
        await asyncio.gather(*(process.close() for process in processes))

    async def _post(self, request: Request, process: _Process | None) -> None:
        messages = messages_in(request.body)
        if not messages:
            self.judge(self.follow(is_session=False), Side.CLIENT, request.body)
            await answer(request.send, Case.NOT_JSON.status, b"the body is not a message")
            return
        headers: list[tuple[bytes, bytes]] = []
        is_stateless = process is None and is_modern(messages[0])
        observer = process.common.observer if process and process.common else self.follow(is_session=not is_stateless)
        self.judge(observer, Side.CLIENT, request.body)
        try:
            if is_stateless:
                process = await self._shared()
            elif process is None and messages[0].get("method") == "initialize" and await self._has_room():
                session = secrets.token_hex(16).encode()
                process = self._sessions[session] = await _Process(self, self._words, observer).start()
                headers = [(SESSION, session)]
        except TransportError as error:
            await answer(request.send, 502, str(error).encode())
            return
        if process is None:
            is_full = len(self._sessions) >= MAX_SESSIONS
            await answer(
                request.send, (Case.OPEN_SESSIONS if is_full else Case.NO_SESSION).status, b"there is no session"
            )
            return
        stream = process.post(messages, observer)
        if not stream.given:
            await answer(request.send, Case.ACCEPTED.status, b"")
        elif (sole := await stream.sole()) is not None:
            code: Any = object_in(json.loads(sole), "error").get("code")
            status = STATUSES.get(code, Case.ANSWERED.status) if is_stateless else Case.ANSWERED.status
            await answer(request.send, status, sole, headers)
        else:
            await self._respond(request, process, stream, headers)

    async def _respond(
        self, request: Request, process: _Process, stream: _Stream, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        """Answer with a stream, until it ends or the client leaves."""

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            process.leave(stream)

        watcher = asyncio.create_task(watch())
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), *headers]
        try:
            await request.send({"type": "http.response.start", "status": Case.ANSWERED.status, "headers": headers})
            async for line in stream.lines():
                event = b"event: message\ndata: %b\n\n" % line
                await request.send({"type": "http.response.body", "body": event, "more_body": True})
            await request.send({"type": "http.response.body", "body": b""})
        finally:
            watcher.cancel()

    async def _shared(self) -> _Process:
        """Return the process for the modern era; another one is started if it has ended."""
        async with self._starting:
            if self._modern is None or self._modern.is_lost:
                self._modern = await _Process(self, self._words, None).start()
            return self._modern

    async def _has_room(self) -> bool:
        """Whether there may be another session; the oldest one that waits for nothing ends, if need be."""
        if len(self._sessions) >= MAX_SESSIONS:
            unused = (name for name, each in self._sessions.items() if each.is_lost or not (each.open or each.is_read))
            if (name := next(unused, None)) is not None:
                await self._sessions.pop(name).close()
        return len(self._sessions) < MAX_SESSIONS


def _meta_of(message: Message) -> Message:
    return object_in(object_in(message, "params"), "_meta")
