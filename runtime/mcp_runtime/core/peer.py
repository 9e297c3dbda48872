"""The peer: as a transport that is not yet in use, and as the client of one message."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from mcp_runtime.core.connection.calls import CURRENT, Call
from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.connection.transport import Transport
from mcp_runtime.core.method import NotificationMethod, RequestMethod
from mcp_runtime.core.options import Caller, CallOptions

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class Peer:
    """A peer that can be reached over a transport.

    Args:
        transport: carries the messages.
        again: returns another transport to the same peer, restarting it if necessary, or None if there is no other;
            None if there never is.

    Attributes:
        transport: carries the messages.
        connection: the conversation, once it has begun; None before.
    """

    def __init__(self, transport: Transport, again: Callable[[], Transport | None] | None = None) -> None:
        self.transport = transport
        self._again = again
        self.connection: Connection | None = None

    def renew(self) -> bool:
        """Replace a lost transport with a new one; return whether that was possible."""
        found = self._again() if self._again is not None else None
        self.transport = found or self.transport
        return found is not None

    async def aclose(self) -> None:
        """Close the conversation and the transport; safe to call again."""
        if self.connection is not None:
            await self.connection.aclose()
        await self.transport.close()


class OnBehalf(Caller):
    """Sends what belongs to a message, on its channel while it is open.

    A task that a handler starts inherits its context and needs none of this. A worker that reads a queue has the
    context in which it was started.

    Args:
        caller: sends the messages.
        exchange: the message; a suspended handler may continue over another connection than `caller`, that of this one.
    """

    def __init__(self, caller: Caller, exchange: Call) -> None:
        self._first = caller
        self._exchange = exchange

    @property
    def _caller(self) -> Caller:
        return self._first if self._exchange.resumed is None else cast("Exchange", self._exchange).connection

    @property
    def connection(self) -> Any:
        """The connection to the peer, if the caller has one."""
        return self._caller.connection

    @property
    def recipient(self) -> Any:
        """The sender of the message, in the modern era; otherwise the handshake identified it."""
        return self._exchange.requester if self._exchange.requester.is_modern else super().recipient

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        """Send a request that belongs to the message."""
        with self._as_current():
            return await self._caller.request(method, params, options)

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        """Send a request that belongs to the message, for a result of another type."""
        with self._as_current():
            return await self._caller.request_as(method, params, result, options)

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification that belongs to the message."""
        with self._as_current():
            await self._caller.notify(method, params)

    def request_meta(self) -> Mapping[str, Any]:
        """Return what every request must carry."""
        return self._caller.request_meta()

    @contextmanager
    def _as_current(self) -> Generator[None]:
        token = CURRENT.set(self._exchange)
        try:
            yield
        finally:
            CURRENT.reset(token)
