"""A handwritten HTTP+SSE server that can misbehave as a test chooses."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

REVISION = "2024-11-05"


class ByHand:
    """The events that it sends on its stream at /a/sse, and the messages posted to any path.

    Args:
        events: the first events of the stream.

    Attributes:
        posted: the paths and the bodies of the POSTs.
        headers: the headers of each POST.
        status: the status of responses to POSTs.
        body: the body of these responses.
        delays: seconds before a method is answered.
    """

    def __init__(self, *events: str) -> None:
        self.posted: list[tuple[str, Any]] = []
        self.headers: list[Any] = []
        self.status, self.body = 202, ""
        self.delays: dict[str, float] = {}
        self._events = events
        self._sent: asyncio.Queue[str] = asyncio.Queue()

    def send(self, text: str) -> None:
        """Send an event on the stream."""
        self._sent.put_nowait(text)

    def answer(self, id_: Any, **result: Any) -> None:
        """Send a result on the stream."""
        self.send(f"data: {json.dumps({'jsonrpc': '2.0', 'id': id_, 'result': result})}\n\n")

    def app(self) -> Starlette:
        """Return the server as an application."""
        routes = [Route("/a/sse", self._get, methods=["GET"]), Route("/{path:path}", self._post, methods=["POST"])]
        return Starlette(routes=routes)

    async def _get(self, request: Request) -> Response:
        async def stream() -> AsyncGenerator[str]:
            for event in self._events:
                yield event
            while True:
                yield await self._sent.get()

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"set-cookie": "node=3; Path=/"})

    async def _post(self, request: Request) -> Response:
        message = json.loads(await request.body())
        await asyncio.sleep(self.delays.get(message.get("method"), 0))
        query = f"?{request.url.query}" if request.url.query else ""
        self.posted.append((request.url.path + query, message))
        self.headers.append(request.headers)
        if message.get("method") == "initialize":
            info = {"name": "by hand", "version": "0"}
            self.answer(message["id"], protocolVersion=REVISION, capabilities={"tools": {}}, serverInfo=info)
            return Response(status_code=202)
        if message.get("method") == "notifications/initialized":
            return Response(status_code=202)
        if self.status == 202 and "id" in message:
            self.answer(message["id"], content=[])
        return Response(self.body, status_code=self.status)
