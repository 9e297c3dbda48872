"""Relay HTTP between clients and a server, and validate each message: the bytes of bodies pass unchanged."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.json_values import is_object
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.proxy import Passed, Record, Tally, Tell

if TYPE_CHECKING:
    import httpx2

    from mcp_runtime.observe.observer import Observer

MAX_BODY: Final = 64 << 20
"""The maximum size of a request in bytes; a larger one gets status 413."""
MAX_SESSIONS: Final = 1_000
"""How many sessions are followed; messages of further ones pass without being judged."""
_SESSION: Final = b"mcp-session-id"
# `accept-encoding` goes, so that answers are readable.
_HOP: Final = frozenset(
    (
        *(b"accept-encoding", b"connection", b"content-length", b"host", b"keep-alive", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
"""The headers that are about one connection."""


class Relay:
    """An ASGI application that passes each request on to a server, and its response back while it arrives.

    Args:
        url: the endpoint of the server; the path of requests is ignored.
        tell: is called for each message that violates the protocol.
        record: is called for each message.
    """

    def __init__(self, url: str, tell: Tell, record: Record | None = None) -> None:
        self._url = url
        self.tally = Tally(tell, record)
        self._numbers: WeakKeyDictionary[Observer, int] = WeakKeyDictionary()
        self._conversations = 0
        self._bindings = [package.BINDING for package in packages_of(revisions())]
        self._sessions: dict[bytes, Observer] = {}
        self.unjudged = 0

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        """Answer one request."""
        import httpx2

        if scope["type"] != "http":
            return
        body = bytearray()
        while (event := await receive())["type"] == "http.request":
            body += event["body"]
            if len(body) > MAX_BODY:
                await _answer(send, 413, b"the request is too large")
                return
            if not event.get("more_body"):
                break
        headers = [(name, value) for name, value in scope["headers"] if name not in _HOP]
        observer = self._observer(dict(headers).get(_SESSION, b""), bytes(body))
        self._judge(observer, "client", bytes(body))
        async with httpx2.AsyncClient(timeout=httpx2.Timeout(10, read=None)) as client:
            request = client.build_request(scope["method"], self._url, headers=headers, content=bytes(body))
            try:
                response = await client.send(request, stream=True)
            except httpx2.HTTPError as error:
                await _answer(send, 502, f"the server cannot be reached: {type(error).__name__}".encode())
                return
            try:
                await self._back(response, observer, send)
            finally:
                await response.aclose()

    async def _back(self, response: "httpx2.Response", observer: "Observer | None", send: Callable[[Any], Any]) -> None:
        headers = [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in _HOP]
        if (session := dict(headers).get(_SESSION)) and observer and len(self._sessions) < MAX_SESSIONS:
            self._sessions.setdefault(session, observer)
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")

        async def passed() -> AsyncIterator[bytes]:
            async for chunk in response.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                yield chunk

        async for text in _events(passed()) if is_stream else _whole(passed()):
            self._judge(observer, "server", text)
        await send({"type": "http.response.body", "body": b""})

    def _observer(self, session: bytes, body: bytes) -> "Observer | None":
        """Return what follows a conversation: that of the session, or a new one for what needs none."""
        from mcp_runtime.observe.observer import Observer
        from mcp_runtime.protocol.modern import is_modern

        if session:
            return self._sessions.get(session)
        try:
            value: Any = json.loads(body or b"null")
        except (ValueError, RecursionError):
            return Observer(self._bindings)
        begins = is_object(value) and value.get("method") == "initialize"
        return Observer(self._bindings) if begins or is_modern(value) else None

    def _judge(self, observer: "Observer | None", sender: str, text: bytes) -> None:
        if not text.strip():
            return
        from mcp_runtime.protocol.legacy import Side

        self.unjudged += observer is None
        self.tally.take(observer, self._number(observer), Side(sender), text)

    def _number(self, observer: "Observer | None") -> int:
        """Return the number of a conversation; 0 for those that are not followed."""
        if observer is None:
            return 0
        if observer not in self._numbers:
            self._conversations += 1
        return self._numbers.setdefault(observer, self._conversations)


def run_http_proxy(
    url: str, port: int, tell: Tell, started: Callable[[str], None], record: Record | None = None
) -> Passed:
    """Serve on this machine until the process is interrupted; return what passed.

    Raises:
        InputError: the port is taken, or the extra `http` is not installed.
    """
    try:
        import uvicorn
    except ImportError:
        raise InputError.at("proxy", "a proxy for a URL needs uvicorn: pip install 'mcp-bindgen[http]'") from None
    relay = Relay(url, tell, record)
    config = uvicorn.Config(relay, host="127.0.0.1", port=port, log_level="error", lifespan="off")
    server = uvicorn.Server(config)

    async def serve() -> None:
        socket = config.bind_socket()
        started(f"http://127.0.0.1:{socket.getsockname()[1]}/mcp")
        await server.serve([socket])

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        pass
    except (SystemExit, OSError):
        raise InputError.at("--port", f"{port} cannot be used; is another program using it?") from None
    return relay.tally.passed("the proxy was stopped", relay.unjudged)


async def _answer(send: Callable[[Any], Any], status: int, text: bytes) -> None:
    headers = [(b"content-type", b"text/plain")]
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
