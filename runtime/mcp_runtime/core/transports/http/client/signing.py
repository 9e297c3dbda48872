"""Access tokens of requests, and the timeouts that pause while a person signs in."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from http import HTTPStatus
from typing import Protocol, runtime_checkable

import httpx2

from mcp_runtime.core.connection.transport import Receiver


class Signing(Protocol):
    """The access token of one request."""

    @property
    def token(self) -> str:
        """The token to send; empty without one."""
        ...

    async def renew(self, status: int, challenge: str, *, address: str, may_ask: bool) -> bool:
        """Obtain another token after a refusal; return whether there is one."""
        ...


@runtime_checkable
class Authorizer(Protocol):
    """Obtains access tokens for servers; `mcp_runtime.auth` has implementations.

    Attributes:
        extension: the extension that its use is declared by; may be empty.
    """

    extension: str

    async def begin(self, url: str) -> Signing:
        """Begin a request to a server with the current token."""
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


def address_of(response: httpx2.Response) -> str:
    """Return the address of the server; empty if unknown, as it is once the connection is closed."""
    connection = response.extensions.get("network_stream")
    return str(((connection and connection.get_extra_info("server_addr")) or [""])[0])


async def renewed(
    signing: Signing, response: httpx2.Response, address: str, patience: Patience, *, may_ask: bool
) -> bool:
    """Obtain another token after a refusal by the server at an address; return whether to send the request again."""
    if response.status_code not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return False
    challenge = ", ".join(response.headers.get_list("www-authenticate"))
    with patience.paused() if may_ask else nullcontext():
        return await signing.renew(response.status_code, challenge, address=address, may_ask=may_ask)
