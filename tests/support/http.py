"""Serves an endpoint on a free port, and sends it hand-made requests."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn

BOTH = {"accept": "application/json, text/event-stream"}
EVENTS = {"accept": "text/event-stream"}
SESSION = "mcp-session-id"


class _Server(uvicorn.Server):
    """A server that starts and ends without uvicorn's pauses of 0.1 s."""

    async def main_loop(self) -> None:
        await self.on_tick(0)  # the headers of each answer
        while not self.should_exit:
            await asyncio.sleep(0.005)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        deadline = time.monotonic() + 5
        while self.server_state.connections or self.server_state.tasks:
            if time.monotonic() > deadline:
                for task in self.server_state.tasks:
                    task.cancel()
                break
            await asyncio.sleep(0.005)
        await self.lifespan.shutdown()


def browser(base_url: str = "", *, follow_redirects: bool = False) -> httpx2.AsyncClient:
    """Return a client for hand-made requests; it loads no certificates, which takes 23 ms of CPU."""
    return httpx2.AsyncClient(base_url=base_url, follow_redirects=follow_redirects, timeout=60, verify=False)


@asynccontextmanager
async def served(app: Any, **settings: Any) -> AsyncGenerator[str]:
    """Serve an ASGI application while the context is open; yields its URL."""
    # asyncio sets TCP_NODELAY only on sockets whose protocol is TCP; those of create_server report 0.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    # By default an idle connection is closed after 5 seconds, perhaps just when a stalled client uses it again.
    kept: dict[str, Any] = {"timeout_keep_alive": 60, **settings}
    config = uvicorn.Config(app, log_level="critical", **kept)
    server = _Server(config)
    task = asyncio.create_task(server.serve([listener]))
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


def events_of(text: str) -> list[dict[str, str]]:
    """Read a whole stream of events: the fields of each, without comments."""
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


def messages_of(text: str) -> list[Any]:
    """Return the messages of a stream."""
    return [json.loads(event["data"]) for event in events_of(text) if event["data"].strip()]


class RawClient:
    """One session of a client that makes its HTTP requests by hand.

    Attributes:
        http: sends them.
        session: the headers of every request after the handshake.
    """

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http
        self.session: dict[str, str] = {}

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        """Post a message, valid or not."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        all_headers = {"content-type": "application/json", **BOTH, **self.session}
        all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post("/mcp", content=body, headers=all_headers)

    async def ask(self, method: str, params: Any = None, id_: Any = 1, **headers: str) -> httpx2.Response:
        """Post a request."""
        return await self.post(request(method, params, id_), **headers)

    async def tell(self, method: str, params: Any = None) -> httpx2.Response:
        """Post a notification."""
        return await self.post({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    async def shake_hands(self, revision: str, **capabilities: Any) -> httpx2.Response:
        """Start the session."""
        answer = await self.ask("initialize", hello(revision, **capabilities), "hello")
        self.session = {SESSION: answer.headers[SESSION], "mcp-protocol-version": revision}
        assert (await self.tell("notifications/initialized")).status_code == 202
        return answer

    @asynccontextmanager
    async def stream(self, message: Any = None, **headers: str) -> AsyncGenerator["Events"]:
        """Read a stream as it arrives: the response to a request, or to a GET without one."""
        all_headers = {**(BOTH if message else EVENTS), **self.session, "content-type": "application/json"}
        all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if message is None else json.dumps(message).encode()
        method = "GET" if message is None else "POST"
        async with self.http.stream(method, "/mcp", content=content, headers=all_headers) as response:
            yield Events(response)


class Events:
    """A stream of events that is read one by one."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._events = httpx2.EventSource(response).__aiter__()

    async def event(self) -> httpx2.ServerSentEvent | None:
        """Return the next event, None at the end."""
        async with asyncio.timeout(30):
            try:
                return await anext(self._events)
            except StopAsyncIteration:
                return None

    async def message(self) -> Any:
        """Return the next message, None at the end."""
        while (event := await self.event()) is not None:
            if event.data:
                return json.loads(event.data)
        return None


@asynccontextmanager
async def raw_client(app: Any, **settings: Any) -> AsyncGenerator[RawClient]:
    """Serve an endpoint; yield a client of it that has not started a session."""
    async with served(app, **settings) as url, browser(url) as http:
        yield RawClient(http)


def request(method: str, params: Any = None, id_: Any = 1) -> dict[str, Any]:
    """Make a request."""
    return {"jsonrpc": "2.0", "id": id_, "method": method, **({} if params is None else {"params": params})}


def call(name: str, id_: Any = 1, **arguments: Any) -> dict[str, Any]:
    """Make a tool call."""
    return request("tools/call", {"name": name, "arguments": arguments}, id_)


def hello(revision: str, **capabilities: Any) -> dict[str, Any]:
    """Return the params of a handshake."""
    return {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "raw", "version": "0"}}
