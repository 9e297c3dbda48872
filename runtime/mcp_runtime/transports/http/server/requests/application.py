"""What both HTTP transports have in common as ASGI applications: access checks and lifespan."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from mcp_runtime.transports.http.limits import HttpLimits
from mcp_runtime.transports.http.server.requests.asgi import (
    Disconnected,
    Headers,
    Receive,
    Refusal,
    Scope,
    Send,
    headers_of,
    limited,
)
from mcp_runtime.transports.http.server.requests.checks import Places
from mcp_runtime.transports.http.server.requests.delays import Delays


class Application(ABC):
    """An ASGI application that answers every path that it is asked for.

    Args:
        places: the hosts and origins that requests may name.
        principal: returns the authenticated sender of a request, given its ASGI scope.
        limits: resource limits for clients.

    Attributes:
        limits: the same.
    """

    def __init__(self, places: Places, principal: Callable[[Scope], str | None] | None, limits: HttpLimits) -> None:
        self._places = places
        self._principal = principal
        self.limits = limits
        self._delays = Delays(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or handle the lifespan of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"this is an HTTP endpoint; it cannot serve {scope['type']}")
        send = limited(send, self._delays.write)
        try:
            headers = headers_of(scope, self.limits.max_header_bytes)
            client = scope.get("client")
            self._places.check(headers, client[0] if client else None)
            principal = self._principal(scope) if self._principal is not None else None
            await self._answer(scope, headers, principal, receive, send)
        except Refusal as refusal:
            with suppress(Disconnected):
                await refusal.answer(send)
        except Disconnected:
            pass

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncGenerator[None]:
        """End the sessions with the enclosing application: ``FastAPI(lifespan=endpoint.lifespan)``."""
        try:
            yield
        finally:
            await self.aclose()

    @abstractmethod
    async def aclose(self) -> None:
        """End all sessions, and cancel what runs."""

    @abstractmethod
    def _answer(
        self, scope: Scope, headers: Headers, principal: str | None, receive: Receive, send: Send
    ) -> Awaitable[None]:
        """Answer a request that passed the access checks.

        Raises:
            Refusal: the request is refused.
            Disconnected: the client disconnected, or does not read.
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
