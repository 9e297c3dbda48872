"""The endpoint of the modern era: compares the headers of a POST with its body, and determines the requester.

Headers that repeat a tool's arguments are compared later, by the middleware `ParameterHeaders`, as the tool's
``inputSchema`` requires.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.core.changes.listeners import listeners_of
from mcp_runtime.core.connection.calls import Proceed, Way
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.transport import ANSWER_SENT, Sent
from mcp_runtime.core.errors import PeerError, clipped
from mcp_runtime.core.features import Catalogue
from mcp_runtime.core.handshake.server import start_stateless
from mcp_runtime.core.protocol import modern
from mcp_runtime.core.protocol.jsonrpc import Request, meta_of
from mcp_runtime.core.protocol.modern import HEADER_MISMATCH
from mcp_runtime.core.protocol.names import TOOLS_CALL
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.http import mirrored
from mcp_runtime.core.transports.http.mirrored import PARAMETER, Parameter, decode, parameters
from mcp_runtime.core.transports.http.server.asgi import Sender
from mcp_runtime.core.transports.http.server.outlet import Owner, Shared
from mcp_runtime.core.transports.http.server.streams import Stream
from mcp_runtime.core.transports.http.statuses import STATUSES

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers
    from mcp_runtime.core.handshake.server import Requesters


class _Tool:
    """A listed tool, whose schema is read at its first call.

    Attributes:
        wanted: the parameters that have headers; None before they are read.
    """

    __slots__ = ("_model", "wanted")

    def __init__(self, tool: Any) -> None:
        self._model = tool.input_schema
        self.wanted: tuple[Parameter, ...] | None = None

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters that have headers; raises ValueError once if the schema's headers are invalid."""
        if self.wanted is None:
            self.wanted = ()
            self.wanted = parameters(self._model.model_dump(mode="json"))
        return self.wanted


class ParameterHeaders:
    """Middleware of an endpoint: refuses calls whose headers do not match their arguments.

    Which parameters have headers is learned from lists of tools that pass by, and from the server's own handler. If
    that fails, calls are not checked.
    """

    def __init__(self) -> None:
        self._known: dict[str, Catalogue[_Tool]] = {}

    def __call__(self, exchange: Exchange, proceed: Proceed) -> Awaitable[Any]:
        """Check a call; raises PeerError if it is refused."""
        # What is known of the tools of the server for a revision.
        if (tools := self._known.get(revision := exchange.requester.revision)) is None:
            tools = self._known[revision] = Catalogue("tools", _Tool)
        if exchange.method.name == TOOLS_CALL:
            tool = tools.get(exchange.params.name)
            if tool is not None and tool.wanted == ():
                return proceed()  # as with most tools
        return self._checked(exchange, tools, proceed)

    async def _checked(self, exchange: Exchange, tools: Catalogue[_Tool], proceed: Proceed) -> Any:
        name = exchange.method.name
        if name == TOOLS_CALL:
            await self._check(exchange, tools)
        result = await proceed()
        if name == tools.list_method and exchange.way is Way.RECEIVED:
            tools.learn(result)
        elif name == tools.changed_method:
            tools.forget()
        return result

    async def _check(self, exchange: Exchange, tools: Catalogue[_Tool]) -> None:
        headers, arguments = exchange.requester.headers, exchange.params.arguments
        if not arguments and PARAMETER not in "\n".join(headers):
            return
        try:
            tool = await tools.find(exchange, exchange.params.name)
            wanted = tool.parameters() if tool is not None else ()
        except Exception as error:
            name = clipped(exchange.params.name, 100)
            exchange.connection.log_limited(logging.ERROR, _UNCHECKED, name, clipped(str(error)))
            return
        for parameter in wanted:
            _compare(parameter, headers.get(parameter.header), parameter.value_in(arguments))


_UNCHECKED: Final = "the headers of calls of tool %s are not checked: %s"


def _compare(parameter: Parameter, header: str | None, value: Any) -> None:
    where = f"{'.'.join(parameter.path)} in the arguments"
    text = None if value is None else parameter.text_of(value)
    if header is None:
        if text is not None:
            raise PeerError(HEADER_MISMATCH, f"the header {parameter.header} is missing, but there is {where}")
        return
    try:
        decoded = decode(header)
    except ValueError as error:
        raise PeerError(HEADER_MISMATCH, f"the header {parameter.header} {error}") from None
    if text is None or not parameter.matches(decoded, value):
        raise PeerError(HEADER_MISMATCH, f"the header {parameter.header} differs from {where}")


class ModernStream(Stream):
    """The stream of one request, which is cancelled when its client disconnects."""

    __slots__ = ()

    statuses = STATUSES
    ends_with_client = True


class ModernEndpoint(Owner):
    """Answers requests of the modern era: one connection for all clients, with a channel for each request.

    It is the transport of that connection. Messages that belong to no request are dropped: clients listen with
    requests.

    Args:
        servers: the servers, one object per revision.
        shared: limits, and what all streams have in common.
    """

    _requesters: "Requesters"

    def __init__(self, servers: "Sequence[ServerHandlers]", shared: Shared) -> None:
        self.shared = shared
        self._servers = servers
        self._starting = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._streams: set[Stream] = set()

    @property
    def is_ready(self) -> bool:
        """Whether the connection was set up, in the running event loop."""
        return self._loop is asyncio.get_running_loop()

    async def make_ready(self) -> None:
        """Set up the connection, unless another request does."""
        async with self._starting:
            if not self.is_ready:
                self.connection, self._requesters = await start_stateless(
                    self, *self._servers, settings=self._for_all, middleware=[ParameterHeaders()]
                )
                self._loop = asyncio.get_running_loop()

    def _for_all(self, options: ServerOptions) -> ServerOptions:
        return replace(
            options, max_in_flight=self.shared.limits.max_requests, max_waiting=self.shared.limits.max_streams
        )

    def requester(self, request: Request, headers: Mapping[str, str], sender: Sender) -> Requester:
        """Return the sender of a request, after comparing the headers of its POST with its body.

        The header with the revision is checked first, and the others only for a supported revision: their meaning in
        others is unknown.

        Raises:
            PeerError: they do not match, or the sender information is not valid.
        """
        meta = meta_of(request.params)
        revision: Any = meta.get(modern.VERSION)
        if isinstance(revision, str) and headers.get(mirrored.VERSION) != revision:
            named = f"_meta of the body names {revision[:64]!r}"
            raise _mismatch("MCP-Protocol-Version", headers.get(mirrored.VERSION), named)
        requester = self._requesters.of(request, meta, sender.principal)
        if headers.get(mirrored.METHOD) != request.method:
            named = f"the method of the body is {request.method[:64]!r}"
            raise _mismatch("Mcp-Method", headers.get(mirrored.METHOD), named)
        repeated = mirrored.NAMED.get(request.method)
        if repeated is None and (found := requester.answers.handlers.get(request.method)) is not None:
            repeated = found[0].named
        if repeated and isinstance(name := (request.params or {}).get(repeated), str):
            _check_name(headers.get(mirrored.NAME), repeated, name)
        return requester._replace(address=sender.address, headers=headers)

    def stream(self, sender: Sender) -> ModernStream:
        """Create the stream of a POST."""
        stream = ModernStream(self, 0, sender)
        self._streams.add(stream)
        return stream

    def finished(self, stream: Stream) -> None:
        """Forget a stream that has ended; if its request is still open, it is cancelled."""
        self._streams.discard(stream)

    def stop_listening(self, stream: Stream | None = None) -> None:
        """End the streams of listening clients, or one of them."""
        if self._loop is not None:
            for listeners in listeners_of(self.connection):
                listeners.end(stream)

    async def aclose(self, reason: str) -> None:
        """Cancel what runs."""
        if self._loop is not None:
            await self.connection.aclose(reason)

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Drop a message that belongs to no request."""

    async def close(self) -> None:
        """End every response."""
        for stream in tuple(self._streams):
            stream.finish()


def _check_name(header: str | None, repeated: str, named: str) -> None:
    if header == named and named.isascii() and named.isprintable() and not named.startswith("=?"):
        return
    try:
        decoded = None if header is None else mirrored.decode(header)
    except ValueError as error:
        raise PeerError(modern.HEADER_MISMATCH, f"the header Mcp-Name {error}") from None
    if decoded != named:
        raise _mismatch("Mcp-Name", header, f"{repeated} in the body is {named[:64]!r}")


def _mismatch(name: str, header: str | None, body: str) -> PeerError:
    reason = f"the header {name} is {'missing' if header is None else repr(header[:64])}"
    return PeerError(modern.HEADER_MISMATCH, f"{reason}, but {body}")
