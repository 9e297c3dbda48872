"""Whose call a server of a host means when it asks something, or logs.

A question that comes in the result of a call (2026-07-28) belongs to that call. Questions of sessions and log messages
name no call, and the calls of all clients share one session with the server: they belong to somebody only if all calls
that are open there are of one client. Else a question is refused and a log message is dropped, since it might be about
somebody else. In the modern era a client is known by its principal only; without one, each request is somebody's own.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR

_CALL: Final[ContextVar[Any]] = ContextVar("mcp_gateway_call", default=None)
"""The context of the client's request for which a request is sent to a server."""
_METHODS: Final[Mapping[str, str]] = {
    "create_message": names.SAMPLING_CREATE_MESSAGE,
    "elicit": names.ELICITATION_CREATE,
    "list_roots": names.ROOTS_LIST,
}
"""What a server may ask, by the names of the handlers that answer it."""


class OpenCalls:
    """The requests of clients that are open at the servers of a host, by the name of the server.

    Args:
        in_results: whether a server asks in the results of calls; those are handled where the call is made.
    """

    def __init__(self, in_results: Callable[[str], bool]) -> None:
        self._in_results = in_results
        self._open: dict[str, list[Any]] = {}

    @contextmanager
    def during(self, server: str, ctx: Any) -> Generator[None]:
        """Remember that a request of a client is open at a server."""
        calls = self._open.setdefault(server, [])
        calls.append(ctx)
        token = _CALL.set(ctx)
        try:
            yield
        finally:
            _CALL.reset(token)
            calls.remove(ctx)

    def caller(self, server: str) -> Any:
        """Return the context of the call that a server means; None if that is not clear."""
        calls = self._open.get(server, [])
        if self._in_results(server) and (known := _CALL.get()) in calls:
            return known
        return calls[-1] if len({_client(ctx) for ctx in calls}) == 1 else None

    def answers(self) -> dict[str, Any]:
        """Return what answers the servers, by the names of a client's handlers: it gets the server and the params."""
        return {
            **{name: _Question(self, method).ask for name, method in _METHODS.items()},
            "on_logging_message": self._log,
        }

    async def _log(self, server: str, params: Any) -> None:
        ctx = self.caller(server)
        if ctx is not None:
            await ctx.log(params.level, params.data, logger=params.logger or server)


class _Question:
    """What a server asks by one method, passed on to the client that it means."""

    def __init__(self, calls: OpenCalls, method: str) -> None:
        self._calls = calls
        self._method = method

    async def ask(self, server: str, params: Any) -> Any:
        """Ask the client, and name the server to it.

        Raises:
            PeerError: it is not clear who is meant, or the client answers with an error.
        """
        ctx = self._calls.caller(server)
        if ctx is None:
            raise PeerError(INTERNAL_ERROR, "nobody can be asked: calls of several clients are open, or none")
        if hasattr(params, "message"):
            params = params.model_copy(update={"message": f"{server}: {params.message}"})
        peer = ctx.peer
        return await peer.__caller__.request(peer.__binding__.methods[self._method], params, None)


def _client(ctx: Any) -> object:
    """Return what identifies the sender of a request: equal for requests of one client only."""
    if ctx.principal is not None:
        return ctx.principal.key
    connection: Connection = ctx.connection
    return id(ctx.exchange) if ctx.requester.is_modern else id(connection)
