"""Relay messages between HTTP clients and a server on standard input and output, and validate each one.

A session has a server process to itself. Requests of the modern era share one, where their ids and progress tokens are
numbered, since those of two clients may be equal.
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from mcp_bindgen.live.lines import MAX_MESSAGE_BYTES, Lines, Message, failure, id_in, line_of, messages_in, object_in
from mcp_bindgen.live.relaying.http_proxy import HttpRelay, unreachable
from mcp_bindgen.live.relaying.proxy import Record, Tell
from mcp_runtime.core import sources
from mcp_runtime.core.connection.transport import Sent, TransportError
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import is_modern
from mcp_runtime.core.protocol.names import LOG_LEVEL, SUBSCRIPTION_ID
from mcp_runtime.core.transports.http.events import EventLog, MemoryEventStore
from mcp_runtime.core.transports.http.server.asgi import SESSION, HttpRequest, Sender
from mcp_runtime.core.transports.http.server.modern import ModernStream
from mcp_runtime.core.transports.http.server.outlet import Shared, watch
from mcp_runtime.core.transports.http.server.sessions import ID_BYTES, HttpSession
from mcp_runtime.core.transports.http.server.streams import Stream, pump
from mcp_runtime.core.transports.http.statuses import Case, Refusal
from mcp_runtime.core.transports.stdio_client import StdioClientTransport
from mcp_runtime.observe.observer import Observer

MAX_SESSIONS: Final = 32
"""How many sessions may be open; one that waits for nothing ends to make room for another."""


class _Asked(NamedTuple):
    """An open request: as its client sent it, the stream of its answer, and what judges that."""

    message: Message
    stream: Stream
    observer: Observer


class _Process(HttpSession):
    """A session, and the server process that it has to itself.

    Args:
        relay: judges the messages.
        observer: judges what belongs to no request.
        sender: who began it.

    Attributes:
        open: the requests that the server has not answered, by their ids there, the oldest first.
        is_lost: whether the server has ended.
    """

    def __init__(self, relay: "StdioRelay", observer: Observer | None, shared: Shared, sender: Sender) -> None:
        super().__init__(sources.token_hex(ID_BYTES), shared, sender)
        self.observer = observer
        self.receiver = Lines(self._take, self._lose)
        self.open: dict[Any, _Asked] = {}
        self.is_lost = False
        self._relay = relay
        self.server = StdioClientTransport(*relay.words, inherit_env=True, max_message_bytes=MAX_MESSAGE_BYTES)

    async def launch(self) -> None:
        """Start the server; raises TransportError if it cannot be started."""
        await self.server.start(self.receiver)

    def post(self, message: Message, stream: Stream, observer: Observer) -> None:
        """Send a message of the client."""
        id_ = id_in(message)
        if "method" in message and id_ is not None:
            self.open[id_] = _Asked(message, stream, observer)
        self.server.send(line_of(message))

    async def close(self) -> None:
        """End the server, and every response."""
        await self.server.close()
        await super().close()

    def targets(self, message: Message) -> list[tuple[Stream, Message, Observer | None]]:
        """Return the streams of a message, each with what its client gets; what comes during calls is of the latest."""
        is_call = "method" in message
        asked = next(reversed(self.open.values()), None) if is_call else self.open.get(id_in(message))
        found = asked.stream if asked is not None else self.common if is_call else None
        return [] if found is None else [(found, message, self.observer)]

    def _take(self, line: bytes) -> None:
        for message in messages_in(line) or ():
            targets = self.targets(message)
            if not targets:
                self._relay.judge(self.observer, Side.SERVER, line_of(message))
            for stream, restored, observer in targets:
                text = line_of(restored)
                self._relay.judge(observer, Side.SERVER, text)
                stream.send(text, Sent(code=object_in(message, "error").get("code", 0)))
            if "method" not in message:
                self.end(id_in(message))

    def end(self, id_: Any) -> None:
        """Note that a request is answered, which ends its stream unless others are open on it."""
        ended = self.open.pop(id_, None)
        if ended is not None and not any(asked.stream is ended.stream for asked in self.open.values()):
            ended.stream.finish()

    def _lose(self, _: TransportError | None) -> None:
        self.is_lost = True
        for id_, asked in tuple(self.open.items()):
            asked.stream.send(line_of(failure(asked.message["id"], "the server has ended")))
            self.end(id_)
        self.common.close()


class _ModernProcess(_Process):
    """The process that answers all requests of the modern era; each is cancelled when its client leaves."""

    def __init__(self, relay: "StdioRelay", shared: Shared) -> None:
        super().__init__(relay, None, shared._replace(events=None), Sender())
        self._numbers = count(1)

    def stream(self, sender: Sender) -> Stream:
        """Create the stream of a POST."""
        return ModernStream(self, 0, sender)

    def finished(self, stream: Stream) -> None:
        """Cancel the requests that are still open on a stream, whose client has left."""
        for id_ in [id_ for id_, asked in self.open.items() if asked.stream is stream]:
            del self.open[id_]
            params = {"requestId": id_}
            self.server.send(line_of({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))

    def post(self, message: Message, stream: Stream, observer: Observer) -> None:
        """Send a request with an id, and a progress token, that no other client uses; clients send nothing else."""
        if "method" not in message or id_in(message) is None:
            return
        number = next(self._numbers)
        self.open[number] = _Asked(message, stream, observer)
        params, meta = object_in(message, "params"), _meta_of(message)
        token = {"progressToken": number} if "progressToken" in meta else {}
        self.server.send(line_of({**message, "id": number, "params": {**params, "_meta": {**meta, **token}}}))

    def targets(self, message: Message) -> list[tuple[Stream, Message, Observer | None]]:
        """Return the streams of a message, each with what its client gets: the ids that it has chosen."""
        params, meta = object_in(message, "params"), _meta_of(message)
        if asked := self.open.get(id_in(message)):
            return [(asked.stream, {**message, "id": asked.message["id"]}, asked.observer)]
        if asked := self.open.get(id_in(meta, SUBSCRIPTION_ID)):
            restored = {**params, "_meta": {**meta, SUBSCRIPTION_ID: asked.message["id"]}}
            return [(asked.stream, {**message, "params": restored}, asked.observer)]
        if asked := self.open.get(id_in(params, "progressToken")):
            restored = {**params, "progressToken": _meta_of(asked.message).get("progressToken")}
            return [(asked.stream, {**message, "params": restored}, asked.observer)]
        if message.get("method") == "notifications/cancelled":
            self.end(id_in(params, "requestId"))
            return []
        # Nothing says which request a log message belongs to.
        listening = [asked for asked in self.open.values() if LOG_LEVEL in _meta_of(asked.message)]
        return [(asked.stream, message, asked.observer) for asked in listening]


class StdioRelay(HttpRelay):
    """Starts processes of a server, and relays between them and HTTP clients.

    Args:
        words: the command that starts the server.
        tell: is called for each message that violates the protocol.
        record: is called for each message.
    """

    def __init__(self, words: Sequence[str], tell: Tell, record: Record | None = None) -> None:
        super().__init__(tell, record)
        self.words = words
        self._shared = Shared.of(self.limits, EventLog(MemoryEventStore()))
        self._sessions: dict[bytes, _Process] = {}
        self._modern: _ModernProcess | None = None
        self._launching = asyncio.Lock()

    async def relay(self, request: HttpRequest, body: bytes) -> None:
        """Relay one request, and its response."""
        method, id_ = request.scope["method"], request.headers.get(SESSION)
        session = self._sessions.get(id_) if id_ is not None else None
        if id_ is not None and (session is None or session.is_lost):
            raise Refusal(Case.UNKNOWN_SESSION)
        if method == "POST":
            await self._post(request, body, session)
        elif session is None or id_ is None:
            raise Refusal(Case.METHOD, "POST")
        elif method == "DELETE":
            await self._sessions.pop(id_).close()
            await request.respond(Case.ENDED.status)
        else:
            await self._get(request, session)

    async def end_sessions(self) -> None:
        """End all processes."""
        processes = [*self._sessions.values(), *([] if self._modern is None else [self._modern])]
        await asyncio.gather(*(process.close() for process in processes))

    async def _get(self, request: HttpRequest, session: _Process) -> None:
        stream: Stream = session.common
        after: int | None = None
        if last := request.headers.get(b"last-event-id"):
            stream, after = await session.find(last.decode("latin-1"))
        with session:
            await pump(stream, request, self._quiet, after=after)

    async def _post(self, request: HttpRequest, body: bytes, process: _Process | None) -> None:
        messages = messages_in(body)
        if not messages:
            self.judge(self.follow(is_session=False), Side.CLIENT, body)
            error = jsonrpc.write_error(None, jsonrpc.PARSE_ERROR, "the body is not a message", null_id=False)
            await request.respond(Case.NOT_JSON.status, error)
            return
        is_stateless = process is None and is_modern(messages[0])
        observer = (process and process.observer) or self.follow(is_session=not is_stateless)
        self.judge(observer, Side.CLIENT, body)
        headers: list[tuple[bytes, bytes]] = []
        try:
            if is_stateless:
                process = await self._modern_process()
            elif process is None:
                process = await self._begin(messages[0], observer, request.sender)
                headers = [(SESSION, process.id.encode())]
        except TransportError as error:
            await unreachable(request, str(error))
            return
        with process:
            stream = process.stream(request.sender)
            for message in messages:
                process.post(message, stream, observer)
            if any(asked.stream is stream for asked in process.open.values()):
                await self._respond(request, stream, headers)
            else:
                stream.finish()
                await request.respond(Case.ACCEPTED.status)

    async def _respond(self, request: HttpRequest, stream: Stream, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Answer with the result alone if it comes soon, or else with a stream."""
        left = stream.leave if stream.ends_with_client else None
        watcher = None if left is None else asyncio.ensure_future(watch(request.receive, left))
        try:
            await stream.first(self._first)
            if stream.is_finished and (answer := stream.sole) is not None:
                status = stream.statuses.get(stream.code, Case.ANSWERED.status)
                await request.respond(status, answer, headers=headers)
            else:
                await pump(stream, request, self._quiet, watcher=watcher, headers=headers)
        finally:
            if watcher is not None:
                watcher.cancel()
            if left is not None and not stream.is_finished:
                stream.finish()

    async def _begin(self, message: Message, observer: Observer, sender: Sender) -> _Process:
        """Begin a session, for which the oldest one that waits for nothing ends if there are too many.

        Raises:
            Refusal: the message does not begin one, or there are too many.
            TransportError: the server cannot be started.
        """
        if message.get("method") != "initialize":
            raise Refusal(Case.NO_SESSION)
        if len(self._sessions) >= MAX_SESSIONS:
            unused = (
                name for name, each in self._sessions.items() if each.is_lost or not (each.open or each.exchanges)
            )
            if (name := next(unused, None)) is None:
                raise Refusal(Case.OPEN_SESSIONS)
            await self._sessions.pop(name).close()
        process = _Process(self, observer, self._shared, sender)
        await process.launch()
        self._sessions[process.id.encode()] = process
        return process

    async def _modern_process(self) -> _Process:
        """Return the process for the modern era; another one is started if it has ended."""
        async with self._launching:
            if self._modern is None or self._modern.is_lost:
                self._modern = _ModernProcess(self, self._shared)
                await self._modern.launch()
            return self._modern


def _meta_of(message: Message) -> Message:
    return object_in(object_in(message, "params"), "_meta")
