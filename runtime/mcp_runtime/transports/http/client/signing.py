"""Access tokens of requests, and the timeouts that pause while a person signs in."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from http import HTTPStatus
from typing import Final, Protocol, runtime_checkable

import httpx2

from mcp_runtime.connection.transport import Receiver

MAX_RENEWALS: Final = 6
"""How often the token of one request is replaced; other calls may have replaced it too."""


@runtime_checkable
class Authorizer(Protocol):
    """Obtains access tokens for servers; `mcp_runtime.auth` has implementations.

    Attributes:
        extension: the extension that its use is declared by; may be empty.
    """

    extension: str

    async def token(self, url: str) -> str:
        """Return the access token for a server; empty without one."""
        ...

    async def renew(
        self,
        url: str,
        token: str,
        status: int,
        challenge: str,
        *,
        address: str,
        attempt: int,
        asked: int,
        may_ask: bool,
    ) -> tuple[str, int]:
        """Return another token after a refusal, empty if that is final, and how many authorization requests it took."""
        ...


class Patience:
    """The timeouts of one connection, which pause while a person signs in.

    Attributes:
        receiver: the connection; None before it starts.
    """

    def __init__(self) -> None:
        self.receiver: Receiver | None = None
        self._limits: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncGenerator[None]:
        """Do what `asyncio.timeout` does, without counting pauses."""
        async with asyncio.timeout(seconds) as limit:
            self._limits.add(limit)
            try:
                yield
            finally:
                self._limits.discard(limit)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Pause all timeouts for as long as the context lasts."""
        loop = asyncio.get_running_loop()
        left = {limit: when - loop.time() for limit in self._limits if (when := limit.when()) is not None}
        for limit in left:
            limit.reschedule(None)
        if self.receiver is not None:
            self.receiver.pause_timeouts()
        try:
            yield
        finally:
            if self.receiver is not None:
                self.receiver.resume_timeouts()
            for limit in left.keys() & self._limits:
                limit.reschedule(loop.time() + left[limit])


class Signing:
    """The access token of one request.

    Args:
        authorizer: obtains tokens.
        url: the URL of the server.
        token: the first token; may be empty.
    """

    def __init__(self, authorizer: Authorizer, url: str, token: str) -> None:
        self._authorizer = authorizer
        self._url = url
        self._token = token
        self._attempt = self._asked = 0

    @classmethod
    async def begin(cls, authorizer: Authorizer, url: str) -> "Signing":
        """Begin a request with the current token."""
        return cls(authorizer, url, await authorizer.token(url))

    @property
    def headers(self) -> dict[str, str]:
        """The header with the token, if there is one."""
        return {"authorization": f"Bearer {self._token}"} if self._token else {}

    async def renewed(self, response: httpx2.Response, patience: Patience, *, may_ask: bool) -> bool:
        """Obtain another token after a refusal; return whether to send the request again with it."""
        status = response.status_code
        if status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) or self._attempt == MAX_RENEWALS:
            return False
        connection = response.extensions.get("network_stream")
        header = ", ".join(response.headers.get_list("www-authenticate"))
        with patience.paused() if may_ask else nullcontext():
            token, asked = await self._authorizer.renew(
                self._url,
                self._token,
                status,
                header,
                address=str(((connection and connection.get_extra_info("server_addr")) or [""])[0]),
                attempt=self._attempt,
                asked=self._asked,
                may_ask=may_ask,
            )
        self._token, self._attempt, self._asked = token, self._attempt + 1, self._asked + asked
        return bool(token)
