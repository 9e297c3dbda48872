"""Compares the headers of a call's parameters with its arguments, as the tool's ``inputSchema`` requires."""

import logging
from typing import Any, Final

from mcp_runtime.connection.chain import Proceed
from mcp_runtime.connection.connection import Exchange
from mcp_runtime.connection.work import Way
from mcp_runtime.errors import PeerError
from mcp_runtime.middleware.catalogue import Catalogue
from mcp_runtime.protocol.modern import HEADER_MISMATCH
from mcp_runtime.protocol.names import TOOLS_CALL
from mcp_runtime.protocol.text import clipped
from mcp_runtime.transports.http.mirrored import PARAMETER, Parameter, decode, parameters


class _Tool:
    """A listed tool, whose schema is read at its first call."""

    __slots__ = ("_model", "_parameters")

    def __init__(self, tool: Any) -> None:
        self._model = tool.input_schema
        self._parameters: tuple[Parameter, ...] | None = None

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters that have headers; raises ValueError once if the schema's headers are invalid."""
        if self._parameters is None:
            self._parameters = ()
            self._parameters = parameters(self._model.model_dump(mode="json"))
        return self._parameters


class ParameterHeaders:
    """Middleware of an endpoint: refuses calls whose headers do not match their arguments.

    Which parameters have headers is learned from lists of tools that pass by, and from the server's own handler. If
    that fails, calls are not checked.
    """

    def __init__(self) -> None:
        self._known: dict[str, Catalogue[_Tool]] = {}

    async def __call__(self, exchange: Exchange, proceed: Proceed) -> Any:
        """Check a call; raises PeerError if it is refused."""
        name = exchange.method.name
        if name == TOOLS_CALL:
            await self._check(exchange)
            return await proceed()
        result = await proceed()
        tools = self._tools_of(exchange)
        if name == tools.list_method and exchange.way is Way.RECEIVED:
            tools.learn(result)
        elif name == tools.changed_method:
            tools.forget()
        return result

    async def _check(self, exchange: Exchange) -> None:
        headers, arguments = exchange.requester.headers, exchange.params.arguments
        if not arguments and not any(name.startswith(PARAMETER) for name in headers):
            return
        try:
            tools, name = self._tools_of(exchange), exchange.params.name
            tool = tools.get(name) or await tools.find(exchange, name)
            wanted = tool.parameters() if tool is not None else ()
        except Exception as error:
            name = clipped(exchange.params.name, 100)
            exchange.connection.complain(logging.ERROR, _UNCHECKED, name, clipped(str(error)))
            return
        for parameter in wanted:
            _compare(parameter, headers.get(parameter.header), parameter.value_in(arguments))

    def _tools_of(self, exchange: Exchange) -> Catalogue[_Tool]:
        """Return what is known of the tools of the server for a revision."""
        revision = exchange.requester.revision
        if revision not in self._known:
            self._known[revision] = Catalogue("tools", _Tool)
        return self._known[revision]


_UNCHECKED: Final = "the headers of calls of tool %s are not checked: %s"


def _compare(parameter: Parameter, header: str | None, value: Any) -> None:
    where = f"{'.'.join(parameter.path)} in the arguments"
    text = None if value is None else parameter.text_of(value)
    if header is None:
        if text is not None:
            raise PeerError(HEADER_MISMATCH, f"the header {parameter.header} is missing, but there is {where}")
        return
    try:
        said = decode(header)
    except ValueError as error:
        raise PeerError(HEADER_MISMATCH, f"the header {parameter.header} {error}") from None
    if text is None or not parameter.matches(said, value):
        raise PeerError(HEADER_MISMATCH, f"the header {parameter.header} differs from {where}")
