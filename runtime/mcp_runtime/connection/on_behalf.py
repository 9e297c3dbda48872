"""The interface of features, and what a handler sends from tasks that were running before its message arrived."""

from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

from mcp_runtime.connection.calls import CURRENT, Call
from mcp_runtime.connection.connection import Connection, Exchange
from mcp_runtime.method import NotificationMethod, RequestMethod
from mcp_runtime.options import Caller, CallOptions


class Feature(Protocol):
    """A part of the protocol that the runtime implements; one object serves any number of connections.

    Both methods are called once the revision and this side's own handlers are known, `install` also after the peer has
    declared its capabilities.
    """

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str | Mapping[str, Any]]:
        """Return the capabilities that this side has because of the feature: paths, or values keyed by wire names.

        Args:
            connection: the connection, with its revision and handlers.
            declared: what this side declares so far, keyed by wire names.
        """
        ...

    def install(self, connection: Connection) -> None:
        """Register handlers on a connection, before or instead of this side's own."""
        ...


class Extends(Feature, Protocol):
    """A feature that a program hands in; `mcp_runtime.extensions.extension.Extension` is the usual base class."""

    @property
    def revision(self) -> str:
        """The revision that it extends; empty for any."""
        ...

    @property
    def methods(self) -> Collection[str]:
        """The methods that it adds."""
        ...


P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class OnBehalf:
    """Sends what belongs to a message, on its channel while it is open; it implements `Caller`.

    A task that a handler starts inherits its context and needs none of this. A worker that reads a queue has the
    context in which it was started.

    Args:
        caller: sends the messages.
        work: the message; a suspended handler may continue over another connection than `caller`, that of `work`.
    """

    def __init__(self, caller: Caller, work: Call) -> None:
        self._first = caller
        self._work = work

    @property
    def _caller(self) -> Caller:
        return self._first if self._work.resumed is None else cast("Exchange", self._work).connection

    @property
    def connection(self) -> Any:
        """The connection to the peer, if the caller has one."""
        return getattr(self._caller, "connection", self._caller)

    @property
    def requester(self) -> Any:
        """The sender of the message, in the modern era; None if the handshake identified it."""
        return self._work.requester if self._work.requester.is_modern else None

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
        token = CURRENT.set(self._work)
        try:
            yield
        finally:
            CURRENT.reset(token)
