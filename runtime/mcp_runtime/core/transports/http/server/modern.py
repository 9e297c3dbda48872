"""The endpoint of the modern era: compares the headers of a POST with its body, and determines the requester."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Final

from mcp_runtime.core.changes.listeners import listeners_of
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.transport import ANSWER_SENT, NO_HEADERS, Sent
from mcp_runtime.core.errors import PeerError, clipped
from mcp_runtime.core.features import read_pages
from mcp_runtime.core.handlers import Context, ServerHandlers
from mcp_runtime.core.handshake.server import Requesters, start_stateless
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.jsonrpc import Request
from mcp_runtime.core.protocol.names import HEADER_MISMATCH, TOOLS_CALL, TOOLS_LIST
from mcp_runtime.core.transports.http import mirrored
from mcp_runtime.core.transports.http.mirrored import PARAMETER, Parameter, decode, parameters
from mcp_runtime.core.transports.http.server.asgi import Sender
from mcp_runtime.core.transports.http.server.outlet import Owner, Shared
from mcp_runtime.core.transports.http.server.streams import Stream
from mcp_runtime.core.transports.http.statuses import STATUSES

MAX_TOOLS: Final = 10_000
"""How many tools are remembered, the last listed ones."""
_UNCHECKED: Final = "the headers of calls of tool %s are not checked: %s"


class ModernStream(Stream):
    """The stream of one request, which is cancelled when its client disconnects."""

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

    _requesters: Requesters

    def __init__(self, servers: Sequence[ServerHandlers], shared: Shared) -> None:
        self.shared = shared
        self._servers = servers
        self._starting = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._streams: set[Stream] = set()
        # The schemas of tools until they are read, and then the parameters that headers repeat; by revision and name.
        self._tools: dict[tuple[str, str], Any] = {}
        self._listing = asyncio.Lock()

    def _forget_tools(self, area: str) -> None:
        """Forget the tools, if that list changed; what is being listed now is not remembered."""
        if area == "tools":
            self._tools = {}

    @property
    def is_ready(self) -> bool:
        """Whether the connection was set up, in the running event loop."""
        return self._loop is asyncio.get_running_loop()

    async def make_ready(self) -> None:
        """Set up the connection, unless another request does."""
        async with self._starting:
            if not self.is_ready:
                limits = self.shared.limits
                for_all = {"max_in_flight": limits.max_requests, "max_waiting": limits.max_streams}
                self.connection, self._requesters = await start_stateless(
                    self, *self._servers, settings=for_all, install=self._learn_tools
                )
                self._loop = asyncio.get_running_loop()

    def _learn_tools(self, connection: Connection) -> None:
        """Remember the tools in each list that the server's handler returns, until the list changes."""
        listeners_of(connection)[-1].hooks.append(self._forget_tools)
        revision, own = connection.requester.revision, connection.handler(TOOLS_LIST)
        method = connection.requester.method(TOOLS_LIST)

        async def list_tools(params: Any, ctx: Context[Any]) -> Any:
            assert own is not None
            tools = self._tools
            page = await own(params, ctx)
            for tool in getattr(page, "tools", ()):
                tools.pop((revision, tool.name), None)
                tools[revision, tool.name] = tool.input_schema
            while len(tools) > MAX_TOOLS:
                del tools[next(iter(tools))]
            return page

        if own is not None and method is not None:
            connection.handle(method, list_tools)

    def requester(
        self, request: Request, meta: Mapping[str, Any], headers: Mapping[str, str], sender: Sender
    ) -> Requester:
        """Return the sender of a request, after comparing the headers of its POST with its body.

        The header with the revision is checked first, and the others only for a supported revision: their meaning in
        others is unknown. Headers that repeat arguments of a tool are compared as the tool's ``inputSchema`` requires.

        Raises:
            PeerError: they do not match, or the sender information is not valid.
        """
        revision: Any = meta.get(names.VERSION)
        if isinstance(revision, str) and headers.get(mirrored.VERSION) != revision:
            named = f"_meta of the body names {revision[:64]!r}"
            raise _mismatch("MCP-Protocol-Version", headers.get(mirrored.VERSION), named)
        requester = self._requesters.of(request, meta, sender.principal, NO_HEADERS)
        if headers.get(mirrored.METHOD) != request.method:
            named = f"the method of the body is {request.method[:64]!r}"
            raise _mismatch("Mcp-Method", headers.get(mirrored.METHOD), named)
        repeated = mirrored.NAMED.get(request.method)
        if repeated is None and (found := requester.answers.handlers.get(request.method)) is not None:
            repeated = found[0].named
        if repeated and isinstance(name := (request.params or {}).get(repeated), str):
            _check_name(headers.get(mirrored.NAME), repeated, name)
        requester = requester._replace(address=sender.address, headers=headers)
        return self._checking_arguments(request.params or {}, requester) if request.method == TOOLS_CALL else requester

    def _checking_arguments(self, params: Mapping[str, Any], requester: Requester) -> Requester:
        """Compare the headers that repeat arguments of a tool; return the sender of the call.

        A tool that is not known yet is looked for in the server's list, but only once middleware has let the call pass.
        """
        name, arguments, handlers = params.get("name"), params.get("arguments"), requester.answers.handlers
        if not isinstance(name, str) or not (arguments or PARAMETER in "\n".join(requester.headers)):
            return requester
        known = requester.revision, name
        if known in self._tools or TOOLS_CALL not in handlers:
            self._compare(known, arguments, requester)
            return requester
        method, own = handlers[TOOLS_CALL]

        @wraps(own)
        async def call_tool(params: Any, ctx: Context[Any]) -> Any:
            await self._list_tools(known, ctx)
            self._compare(known, arguments, requester)
            return await own(params, ctx)

        answers = replace(requester.answers, handlers={**handlers, TOOLS_CALL: (method, call_tool)})
        return requester._replace(answers=answers)

    def _compare(self, known: tuple[str, str], arguments: Any, requester: Requester) -> None:
        schema: Any = self._tools.get(known, ())
        wanted: tuple[Parameter, ...] = schema if schema.__class__ is tuple else ()
        if schema is not wanted:
            try:
                wanted = parameters(schema.model_dump(mode="json"))
            except ValueError as error:
                self._report(known[1], error)
            self._tools[known] = wanted
        for parameter in wanted:
            _compare(parameter, requester.headers.get(parameter.header), parameter.value_in(arguments))

    async def _list_tools(self, known: tuple[str, str], ctx: Context[Any]) -> None:
        """Ask the server's handler for its tools, on behalf of the sender of a call."""
        method: Any = ctx.requester.method(TOOLS_LIST)
        try:
            async with self._listing:
                if known not in self._tools:
                    await read_pages(ctx.exchange, method, lambda page: None)
        except Exception as error:
            self._report(known[1], error)

    def _report(self, tool: str, error: Exception) -> None:
        self.connection.log_limited(logging.ERROR, _UNCHECKED, clipped(tool, 100), clipped(str(error)))

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
        raise PeerError(names.HEADER_MISMATCH, f"the header Mcp-Name {error}") from None
    if decoded != named:
        raise _mismatch("Mcp-Name", header, f"{repeated} in the body is {named[:64]!r}")


def _mismatch(name: str, header: str | None, body: str) -> PeerError:
    reason = f"the header {name} is {'missing' if header is None else repr(header[:64])}"
    return PeerError(names.HEADER_MISMATCH, f"{reason}, but {body}")


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
