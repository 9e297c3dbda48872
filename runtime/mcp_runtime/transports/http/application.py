"""What both transports over HTTP are as ASGI applications: who may call them, and how they live and end."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp_runtime.transports.http.asgi import Disconnected, Headers, Receive, Refusal, Scope, Send, headers_of
from mcp_runtime.transports.http.checks import Places
from mcp_runtime.transports.http.limits import HttpLimits


class Application(ABC):
    """An ASGI application that answers every path that it is asked for.

    Args:
        places: which hosts and origins requests may name.
        principal: says who sends a request, from its ASGI scope.
        limits: what clients may cost.
    """

    def __init__(self, places: Places, principal: Callable[[Scope], str | None] | None, limits: HttpLimits) -> None:
        self._places = places
        self._principal = principal
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"this is an HTTP endpoint; it cannot serve {scope['type']}")
        try:
            headers = headers_of(scope, self._limits.max_header_bytes)
            client = scope.get("client")
            self._places.check(headers, client[0] if client else None)
            principal = self._principal(scope) if self._principal is not None else None
            await self._answer(scope, headers, principal, receive, send)
        except Refusal as refusal:
            await refusal.answer(send)
        except Disconnected:
            pass

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncGenerator[None]:
        """End the sessions with the application that holds this one: ``FastAPI(lifespan=endpoint.lifespan)``."""
        try:
            yield
        finally:
            await self.aclose()

    @abstractmethod
    async def aclose(self) -> None:
        """End all sessions, and cancel what runs."""

    @abstractmethod
    async def _answer(
        self, scope: Scope, headers: Headers, principal: str | None, receive: Receive, send: Send
    ) -> None:
        """Answer a request that may be sent here.

        Raises:
            Refusal: it is refused.
            Disconnected: its client left.
        """

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return
