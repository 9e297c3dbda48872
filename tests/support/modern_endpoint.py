"""An endpoint of the modern era: a test chooses its answers, in raw HTTP, and reads the requests that it recorded."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from support.http import served

MODERN = "2026-07-28"
Answer: TypeAlias = Callable[["Posted"], Response | dict[str, Any]]
"""Returns the answer to a request; a dictionary is a result, sent as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A request as received.

    Attributes:
        verb: the HTTP method.
        headers: its headers.
        message: its body, None if it had none.
    """

    verb: str
    headers: httpx2.Headers
    message: Any

    @property
    def method(self) -> str:
        """The method of the message; may be empty."""
        return str(self.message.get("method", "")) if self.message else ""

    @property
    def params(self) -> Any:
        """The params of the message, without `_meta`."""
        return {name: value for name, value in self.message.get("params", {}).items() if name != "_meta"}

    def result(self, **result: Any) -> dict[str, Any]:
        """Return a message with a result for the request."""
        return {"jsonrpc": "2.0", "id": self.message["id"], "result": {"resultType": "complete", **result}}

    def error(self, code: int, text: str = "no tea", status: int = 400, **more: Any) -> Response:
        """Return an error response to the request; `more` can replace its id."""
        error = {"code": code, "message": text, **({"data": more.pop("data")} if "data" in more else {})}
        return JSONResponse({"jsonrpc": "2.0", "id": self.message["id"], "error": error, **more}, status)


@dataclass(slots=True)
class Endpoint:
    """The endpoint's answers, and the requests that it received.

    Attributes:
        answers: makes the answer, by method.
        posted: the requests, in order.
        left: the methods of streams that the client closed.
        url: where it is.
    """

    answers: dict[str, Answer]
    posted: list[Posted] = field(default_factory=list[Posted])
    left: list[str] = field(default_factory=list[str])
    url: str = ""

    def sent(self, method: str) -> list[Posted]:
        """Return the requests of a method."""
        return [one for one in self.posted if one.method == method]

    @property
    def methods(self) -> list[str]:
        """The methods of all requests, in order."""
        return [one.method for one in self.posted]

    def stream(self, posted: Posted, *messages: Any, ends: bool = True) -> Response:
        """Return a stream of messages and of raw text; one without an end waits for the client to close it."""

        async def events() -> AsyncGenerator[str]:
            try:
                for message in messages:
                    yield message if isinstance(message, str) else f"data: {json.dumps(message)}\n\n"
                if not ends:
                    while True:
                        await asyncio.sleep(0.05)
                        yield ": still here\n\n"
            finally:
                self.left.append(posted.method)

        return StreamingResponse(events(), media_type="text/event-stream")

    async def answer(self, request: Request) -> Response:
        """Answer a request."""
        body = await request.body()
        posted = Posted(
            verb=request.method, headers=httpx2.Headers(request.headers), message=json.loads(body) if body else None
        )
        self.posted.append(posted)
        answer = self.answers.get(posted.method, unknown)(posted)
        return answer if isinstance(answer, Response) else JSONResponse(posted.result(**answer))


def unknown(posted: Posted) -> Response:
    """Return the answer to a method that the server does not have."""
    return posted.error(-32601, status=404)


def discovered(posted: Posted, **more: Any) -> dict[str, Any]:
    """Return the result of `server/discover`."""
    capabilities = {area: {"listChanged": True} for area in ("tools", "prompts", "resources")}
    return {"supportedVersions": [MODERN], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private", **more}


def text(said: str) -> dict[str, Any]:
    """Return a tool result with one text."""
    return {"content": [{"type": "text", "text": said}]}


def listed(*tools: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the result of `tools/list`."""
    return {"tools": list(tools), "ttlMs": 0, "cacheScope": "private", **more}


@asynccontextmanager
async def modern_endpoint(**answers: Answer) -> AsyncGenerator[Endpoint]:
    """Serve an endpoint that answers `server/discover`, and methods with ``/`` spelled as ``__``."""
    by_method: dict[str, Answer] = {name.replace("__", "/"): answer for name, answer in answers.items()}
    endpoint = Endpoint({"server/discover": discovered, **by_method})
    app = Starlette(routes=[Route("/{path:path}", endpoint.answer, methods=["GET", "POST", "DELETE"])])
    async with served(app) as url:
        endpoint.url = f"{url}/mcp"
        yield endpoint
