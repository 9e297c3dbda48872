"""A protected endpoint that is written by hand: it answers as its attributes say."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp_runtime.core.transports.http import asgi_app
from mcp_runtime.testing import Issuer
from support.http import served


class Protected:
    """Lets requests pass that have a token of an issuer, with the scopes that they need.

    Attributes:
        app: what it protects.
        issuer: issues the tokens.
        url: the URL of the endpoint.
        metadata: its resource metadata; empty for none.
        documents: further documents by path: a status and a body each.
        challenge: what it adds to challenges.
        scopes_of: returns the scopes that a request needs, given its body.
        requests: the method, the path and the token of each request.
        insufficient: the error code of missing scopes.
        revoked: tokens that it no longer accepts.
        closes: whether it closes connections after challenges.
    """

    def __init__(self, app: Any, issuer: Issuer) -> None:
        self.app = app
        self.issuer = issuer
        self.url = ""
        self.metadata: dict[str, Any] = {}
        self.documents: dict[str, tuple[int, bytes]] = {}
        self.challenge = ""
        self.scopes_of: Callable[[bytes], set[str]] = lambda body: set()
        self.requests: list[tuple[str, str, str]] = []
        self.insufficient = "insufficient_scope"
        self.revoked: set[str] = set()
        self.closes = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        token = headers.get(b"authorization", b"").decode().removeprefix("Bearer ")
        self.requests.append((scope["method"], scope["path"], token))
        if scope["path"].startswith("/.well-known/"):
            await self._document(scope["path"], send)
            return
        body, messages = b"", list[Any]()
        while scope["method"] == "POST":
            messages.append(await receive())
            body += messages[-1].get("body", b"")
            if not messages[-1].get("more_body"):
                break

        async def received() -> Any:
            return messages.pop(0) if messages else await receive()

        claims = claims_of(token)
        missing = self.scopes_of(body) - set(claims.get("scope", "").split())
        if not claims or token in self.revoked or claims["aud"] != self.url:
            await self._refuse(send, 401, 'error="invalid_token"' if token else "", set())
        elif missing:
            await self._refuse(send, 403, f'error="{self.insufficient}"', missing)
        else:
            await self.app(scope, received, send)

    async def _refuse(self, send: Any, status: int, error: str, missing: set[str]) -> None:
        scope = f'scope="{" ".join(sorted(missing))}"' if missing else ""
        value = "Bearer " + ", ".join(filter(None, (error, scope, self.challenge)))
        closing = [(b"connection", b"close")] if self.closes else []
        await answer(send, status, b"{}", [(b"www-authenticate", value.encode()), *closing])

    async def _document(self, path: str, send: Any) -> None:
        if path in self.documents:
            await answer(send, *self.documents[path])
        elif self.metadata and path == "/.well-known/oauth-protected-resource/mcp":
            await answer(send, 200, json.dumps(self.metadata).encode())
        else:
            await answer(send, 404, b"<html>")


async def answer(send: Any, status: int, body: bytes, headers: Any = ()) -> None:
    """Answer with a body."""
    await send({"type": "http.response.start", "status": status, "headers": [*headers]})
    await send({"type": "http.response.body", "body": body})


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a token, whose signature is not checked; empty if it is not a JWT."""
    parts = token.split(".")
    return json.loads(base64.urlsafe_b64decode(parts[1] + "==")) if len(parts) == 3 else {}


@asynccontextmanager
async def protected(server: Any, issuer: Issuer, app: Any = None) -> AsyncGenerator[Protected]:
    """Serve a protected endpoint for as long as the context lasts."""
    guard = Protected(app or asgi_app(server), issuer)
    async with served(guard) as url:
        guard.url = f"{url}/mcp"
        guard.metadata = {"resource": guard.url, "authorization_servers": [issuer.url]}
        yield guard


async def duration(work: Awaitable[Any]) -> float:
    """Return how many seconds something takes on this machine; tests choose their timeouts by it."""
    began = asyncio.get_running_loop().time()
    await work
    return asyncio.get_running_loop().time() - began
