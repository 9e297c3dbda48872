"""A raw HTTP+SSE client that opens the stream and posts messages by hand."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from support.http import EVENTS, Events, browser, hello, request, served


class SseClient:
    """One session.

    Attributes:
        http: sends the requests.
        stream: the events from the server.
        endpoint: the URL for messages that the server announced.
    """

    def __init__(self, http: httpx2.AsyncClient, stream: Events, endpoint: str) -> None:
        self.http = http
        self.stream = stream
        self.endpoint = endpoint

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        """Post a message, valid or not."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        all_headers = {"content-type": "application/json"}
        all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(self.endpoint, content=body, headers=all_headers)

    async def ask(self, message: Any) -> Any:
        """Post a request; returns the next message on the stream."""
        assert (await self.post(message)).status_code == 202
        return await self.stream.message()

    async def shake_hands(self, revision: str, **capabilities: Any) -> Any:
        """Start the session; returns the response to `initialize`."""
        answer = await self.ask(request("initialize", hello(revision, **capabilities), "hello"))
        assert (await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})).status_code == 202
        return answer


@asynccontextmanager
async def sse_stream(http: httpx2.AsyncClient, path: str = "/sse", **headers: str) -> AsyncGenerator[SseClient]:
    """Open a stream while the context is open."""
    async with http.stream("GET", path, headers={**EVENTS, **headers}) as response:
        assert response.status_code == 200
        stream = Events(response)
        first = await stream.event()
        assert first is not None and first.event == "endpoint"
        yield SseClient(http, stream, first.data)


@asynccontextmanager
async def sse_client(app: Any, path: str = "/sse", **settings: Any) -> AsyncGenerator[SseClient]:
    """Serve an application, and open a stream to it."""
    async with (
        served(app, **settings) as url,
        browser(url) as http,
        sse_stream(http, path) as client,
    ):
        yield client
