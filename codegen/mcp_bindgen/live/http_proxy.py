"""Relay HTTP between clients and a server, and validate each message: the bytes of bodies pass unchanged."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.json_values import is_object
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.proxy import Passed, Record, Tally, Tell
from mcp_runtime.observe.observer import Observer
from mcp_runtime.protocol.dispatch import Side
from mcp_runtime.protocol.modern import is_modern
from mcp_runtime.transports.http.server.checks import SESSION, Places
from mcp_runtime.transports.http.statuses import Refusal

if TYPE_CHECKING:
    import httpx2
    import uvicorn

Receive = Callable[[], Any]
Send = Callable[[Any], Any]

MAX_BODY: Final = 64 << 20
"""The maximum size of a request in bytes; a larger one gets status 413."""
MAX_SESSIONS: Final = 1_000
"""How many sessions are followed; messages of further ones pass without being judged."""
# `accept-encoding` goes, so that answers are readable.
_HOP: Final = frozenset(
    (
        *(b"accept-encoding", b"connection", b"content-length", b"host", b"keep-alive", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
"""The headers that are about one connection."""
_HERE: Final = Places.of(None, (), ())


class Request(NamedTuple):
    """A request of a client, whose body has arrived."""

    method: str
    headers: list[tuple[bytes, bytes]]
    body: bytes
    receive: Receive
    send: Send


class HttpRelay(ABC):
    """An ASGI application for clients on this machine, which relays and judges their messages.

    Args:
        tell: is called for each message that violates the protocol.
        record: is called for each message.
    """

    def __init__(self, tell: Tell, record: Record | None = None) -> None:
        self.tally = Tally(tell, record)
        self.unjudged = 0
        self._numbers: WeakKeyDictionary[Observer, int] = WeakKeyDictionary()
        self._conversations = 0
        self._bindings = [package.BINDING for package in packages_of(revisions())]

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            _HERE.check(dict(scope["headers"]), None)
        except Refusal as refusal:
            await answer(send, refusal.status, refusal.body)
            return
        body = bytearray()
        while (event := await receive())["type"] == "http.request":
            body += event["body"]
            if len(body) > MAX_BODY:
                await answer(send, 413, b"the request is too large")
                return
            if not event.get("more_body"):
                break
        await self.relay(Request(scope["method"], scope["headers"], bytes(body), receive, send))

    @abstractmethod
    async def relay(self, request: Request) -> None:
        """Relay one request, and its response."""

    def follow(self, *, is_session: bool) -> Observer:
        """Return what judges a session from its beginning, or a request that may follow others."""
        return Observer(self._bindings, is_joined=not is_session)

    def judge(self, observer: Observer | None, sender: Side, text: bytes) -> None:
        """Judge a message of a conversation; None for one that is not followed."""
        if not text.strip():
            return
        self.unjudged += observer is None
        self.tally.take(observer, self._number(observer), sender, text)

    def _number(self, observer: Observer | None) -> int:
        """Return the number of a conversation; 0 for those that are not followed."""
        if observer is None:
            return 0
        if observer not in self._numbers:
            self._conversations += 1
        return self._numbers.setdefault(observer, self._conversations)

    def serve(self, port: int, started: Callable[[str], None]) -> Passed:
        """Serve until the process is interrupted; return what passed.

        Args:
            port: where clients connect; 0 for a free one.
            started: is told the URL.

        Raises:
            InputError: the port is taken, or the extra `http` is not installed.
        """
        _, serve, url = listening(self, port, "proxy")
        started(url)

        async def serve_and_close() -> None:
            try:
                await serve()
            finally:
                await self.aclose()

        with suppress(KeyboardInterrupt):
            asyncio.run(serve_and_close())
        return self.tally.passed("the proxy was stopped", self.unjudged)

    @abstractmethod
    async def aclose(self) -> None:
        """Close what is open."""


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

    async def aclose(self) -> None:
        """Nothing stays open between requests."""

    async def relay(self, request: Request) -> None:
        """Relay one request, and its response."""
        import httpx2

        headers = [(name, value) for name, value in request.headers if name not in _HOP]
        observer = self._observer(dict(headers).get(SESSION, b""), request.body)
        self.judge(observer, Side.CLIENT, request.body)
        async with httpx2.AsyncClient(timeout=httpx2.Timeout(10, read=None)) as client:
            sent = client.build_request(request.method, self._url, headers=headers, content=request.body)
            try:
                response = await client.send(sent, stream=True)
            except httpx2.HTTPError as error:
                reason = f"the server cannot be reached: {type(error).__name__}"
                await answer(request.send, 502, reason.encode())
                return
            try:
                await self._back(response, observer, request.send)
            finally:
                await response.aclose()

    async def _back(self, response: "httpx2.Response", observer: Observer | None, send: Send) -> None:
        headers = [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in _HOP]
        if (session := dict(headers).get(SESSION)) and observer and len(self._sessions) < MAX_SESSIONS:
            self._sessions.setdefault(session, observer)
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")

        async def passed() -> AsyncIterator[bytes]:
            async for chunk in response.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                yield chunk

        async for text in _events(passed()) if is_stream else _whole(passed()):
            self.judge(observer, Side.SERVER, text)
        await send({"type": "http.response.body", "body": b""})

    def _observer(self, session: bytes, body: bytes) -> Observer | None:
        """Return what follows a conversation: that of the session, or a new one for what needs none."""
        if session:
            return self._sessions.get(session)
        try:
            value: Any = json.loads(body or b"null")
        except (ValueError, RecursionError):
            return self.follow(is_session=False)
        begins = is_object(value) and value.get("method") == "initialize"
        return self.follow(is_session=begins) if begins or is_modern(value) else None


def listening(app: Any, port: int, by: str) -> "tuple[uvicorn.Server, Callable[[], Coroutine[Any, Any, None]], str]":
    """Listen on this machine for an ASGI application; return a server, the function that serves, and the URL.

    Args:
        app: the application.
        port: 0 for a free one.
        by: the command, for errors.

    Raises:
        InputError: the port is taken, or the extra `http` is not installed.
    """
    try:
        import uvicorn
    except ImportError:
        raise InputError.at(by, "serving over HTTP needs uvicorn: pip install 'mcp-bindgen[http]'") from None
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", ws="none")
    try:
        listener = config.bind_socket()
        listener.listen()  # clients that come before it serves wait
    except (SystemExit, OSError):
        raise InputError.at("--port", f"{port} cannot be used; is another program using it?") from None
    server = uvicorn.Server(config)
    return server, lambda: server.serve([listener]), f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


async def answer(send: Send, status: int, text: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Answer a request with a text, or with JSON."""
    kind = b"application/json" if text.startswith(b"{") else b"text/plain"
    headers = [(b"content-type", kind), *headers]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


async def _whole(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a body when it is complete; only its beginning if it is too large, which is not judged."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk if len(body) <= MAX_BODY else b""
    if len(body) <= MAX_BODY:
        yield bytes(body)


async def _events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each event of a stream."""
    rest, data = b"", list[bytes]()
    async for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            name, _, value = line.partition(b":")
            if name == b"data":
                data.append(value.removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data.clear()
