"""Relay HTTP between clients and a server, and validate each message: the bytes of bodies pass unchanged."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.ir.json_values import NOT_JSON, as_object, is_list, is_object, json_value
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.relaying.proxy import Record, Tally, Tell
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import is_modern
from mcp_runtime.core.transports.http.server.access import Application
from mcp_runtime.core.transports.http.server.asgi import SESSION, Disconnected, HttpRequest
from mcp_runtime.core.transports.http.server.outlet import watch
from mcp_runtime.core.transports.http.statuses import HttpLimits
from mcp_runtime.observe.observer import Observer

if TYPE_CHECKING:
    import httpx2
    import uvicorn

MAX_BODY: Final = 64 << 20
"""The maximum size of a request in bytes; a larger one gets status 413. Larger messages of servers are not judged."""
_LINE: Final = 64
"""How many bytes a line of an event counts in addition to its length, since each is an object."""
MAX_SESSIONS: Final = 1_000
"""How many sessions are followed; messages of further ones pass without being judged."""
# `accept-encoding` goes, so that answers are readable, and `content-encoding` since bodies were decompressed.
_HOP: Final = frozenset(
    (
        *(b"accept-encoding", b"connection", b"content-encoding", b"content-length", b"host", b"keep-alive"),
        *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
"""The headers that are about one connection."""
GRACE: Final = 2
"""Seconds for open requests when the process is interrupted."""
_LIMITS: Final = HttpLimits(
    max_message_bytes=MAX_BODY, max_unread=MAX_BODY, max_arriving_bytes=4 * MAX_BODY, write_timeout=3_600.0
)


class HttpRelay(Application):
    """An ASGI application for clients on this machine, which relays and judges their messages.

    Args:
        tell: is called for each message that violates the protocol.
        record: is called for each message.
    """

    def __init__(self, tell: Tell, record: Record | None = None) -> None:
        super().__init__((), {"limits": _LIMITS})
        self.tally = Tally(tell, record)
        self._bindings = [package.BINDING for package in packages_of(revisions())]

    async def _answer(self, request: HttpRequest) -> None:
        await self.relay(request, await self.arriving.read(request))

    @abstractmethod
    async def relay(self, request: HttpRequest, body: bytes) -> None:
        """Relay one request, whose body has arrived, and its response."""

    def follow(self, *, is_session: bool) -> Observer:
        """Return what judges a session from its beginning, or a request that may follow others."""
        return Observer(self._bindings, is_joined=not is_session)

    def judge(self, observer: Observer | None, sender: Side, text: bytes) -> None:
        """Judge a message of a conversation; None for one that is not followed."""
        if not text.strip():
            return
        self.tally.unjudged += observer is None
        self.tally.take(observer, sender, text)

    def serve(self, port: int, started: Callable[[str], None]) -> Tally:
        """Serve until the process is interrupted; return what passed.

        Args:
            port: where clients connect; 0 for a free one.
            started: is told the URL.

        Raises:
            InputError: the port is taken.
        """
        _, serve, url = listening(self, port)
        started(url)

        async def serve_and_close() -> None:
            try:
                await serve()
            finally:
                await self.aclose()

        with suppress(KeyboardInterrupt):
            asyncio.run(serve_and_close())
        self.tally.ended = "the proxy was stopped"
        return self.tally

    async def end_sessions(self) -> None:
        """End all sessions."""


class UrlRelay(HttpRelay):
    """Passes each request on to a server with a URL, and its response back while it arrives.

    Args:
        url: the endpoint of the server; the path of requests is ignored.
        tell: is called for each message that violates the protocol.
        record: is called for each message.
    """

    def __init__(self, url: str, tell: Tell, record: Record | None = None) -> None:
        super().__init__(tell, record)
        self._url = url
        self._sessions: dict[bytes, Observer] = {}

    async def relay(self, request: HttpRequest, body: bytes) -> None:
        """Relay one request, and its response."""
        import httpx2

        from mcp_runtime.auth.fetching import trusted

        headers = [(name, value) for name, value in request.scope["headers"] if name not in _HOP]
        observer = self._observer(request.headers.get(SESSION, b""), body)
        self.judge(observer, Side.CLIENT, body)
        async with httpx2.AsyncClient(verify=trusted(), timeout=httpx2.Timeout(10, read=None)) as client:
            sent = client.build_request(request.scope["method"], self._url, headers=headers, content=body)
            try:
                response = await client.send(sent, stream=True)
            except httpx2.HTTPError as error:
                await unreachable(request, f"the server cannot be reached: {type(error).__name__}")
                return
            passing = asyncio.ensure_future(self._back(response, observer, request, body))
            # A client that disconnects cancels its request (2026-07-28, basic/transports/streamable-http).
            leaving = asyncio.ensure_future(watch(request.receive, lambda: None))
            try:
                await asyncio.wait((passing, leaving), return_when=asyncio.FIRST_COMPLETED)
                if not passing.done():
                    raise Disconnected
                await passing
            finally:
                passing.cancel()
                leaving.cancel()
                await response.aclose()

    async def _back(
        self, response: "httpx2.Response", observer: Observer | None, reply: HttpRequest, body: bytes
    ) -> None:
        headers = [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in _HOP]
        if (session := dict(headers).get(SESSION)) and observer and len(self._sessions) < MAX_SESSIONS:
            self._sessions.setdefault(session, observer)
        start = {"type": "http.response.start", "status": response.status_code, "headers": headers}
        await reply.write(start, b"", is_last=False)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")

        async def passed() -> AsyncIterator[bytes]:
            async for chunk in response.aiter_bytes():
                await reply.write(None, chunk, is_last=False)
                yield chunk

        async for text in read_events(passed()) if is_stream else read_whole(passed()):
            if text is None:
                self.tally.skip()
            elif response.is_success or not _only_explains(text, body):
                self.judge(observer, Side.SERVER, text)
        await reply.write(None, b"", is_last=True)

    def _observer(self, session: bytes, body: bytes) -> Observer | None:
        """Return what follows a conversation: that of the session, or a new one for what needs none."""
        if session:
            return self._sessions.get(session)
        value = json_value(body or b"null")
        if value is NOT_JSON:
            return self.follow(is_session=False)
        begins = is_object(value) and value.get("method") == "initialize"
        return self.follow(is_session=begins) if begins or is_modern(value) else None


def _only_explains(text: bytes, body: bytes) -> bool:
    """Whether an error explains an HTTP status, and names no request: its id may be absent, null or any text."""
    answer, sent = as_object(json_value(text)), json_value(body or b"null")
    ids = [as_object(each).get("id") for each in (sent if is_list(sent) else [sent])]
    return "error" in answer and (answer.get("id") is None or answer["id"] not in ids)


def listening(app: Any, port: int) -> "tuple[uvicorn.Server, Callable[[], Coroutine[Any, Any, None]], str]":
    """Listen on this machine for an ASGI application; return a server, the function that serves, and the URL.

    Args:
        app: the application.
        port: 0 for a free one.

    Raises:
        InputError: the port is taken.
    """
    import uvicorn

    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, log_level="critical", ws="none", timeout_graceful_shutdown=GRACE
    )
    try:
        listener = config.bind_socket()
        listener.listen()  # clients that come before it serves wait
    except (SystemExit, OSError):
        raise InputError.at("--port", f"{port} cannot be used; is another program using it?") from None
    server = uvicorn.Server(config)
    return server, lambda: server.serve([listener]), f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


async def unreachable(reply: HttpRequest, reason: str) -> None:
    """Answer a request for which there is no server."""
    await reply.respond(502, jsonrpc.write_error(None, jsonrpc.INTERNAL_ERROR, reason, null_id=False))


async def read_whole(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes | None]:
    """Yield a body when it is complete; None for one that is too large to be judged."""
    body, size = bytearray(), 0
    async for chunk in chunks:
        size += len(chunk)
        if size <= MAX_BODY:
            body += chunk
        else:
            body.clear()
    yield bytes(body) if size <= MAX_BODY else None


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes | None]:
    """Yield the data of each event of a stream; None for one that is too large to be judged."""
    line, data, size = bytearray(), list[bytes](), 0
    async for chunk in chunks:
        *parts, rest = chunk.split(b"\n")
        for part in parts:
            whole, line = bytes(line + part).removesuffix(b"\r"), bytearray()
            if not whole:
                if data or size > MAX_BODY:
                    yield b"\n".join(data) if size <= MAX_BODY else None
                data, size = [], 0
                continue
            size += len(part) + _LINE
            if size > MAX_BODY:
                data = []
            elif whole.startswith(b"data:"):
                data.append(whole[5:].removeprefix(b" "))
        size += len(rest)
        line += rest
        if size > MAX_BODY and line:
            line = bytearray(b":")  # It is not empty, and nothing of it is kept.
