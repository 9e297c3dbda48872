"""OpenTelemetry spans: one for each request, on either side, named by the semantic conventions for MCP.

Needs `opentelemetry-api`, which records nothing by itself: the program sets up an SDK and decides where spans go.
"""

from importlib import import_module
from typing import Any, Final

from mcp_runtime.core.connection.calls import Proceed, Way
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.errors import PeerError, clipped
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.protocol.names import PROMPTS_GET, RESOURCES_READ, TOOLS_CALL

__all__ = ["Telemetry"]

_INSTALL: Final = "spans need opentelemetry-api: pip install 'mcp-bindings[telemetry]'"
TARGETS: Final = {
    TOOLS_CALL: ("name", "gen_ai.tool.name"),
    PROMPTS_GET: ("name", "gen_ai.prompt.name"),
    RESOURCES_READ: ("uri", "mcp.resource.uri"),
}
"""Maps each method to the property of its params that identifies the subject, and the attribute for it."""


class Telemetry:
    """Creates a span for every request, with its method, revision and id, and the code of its error.

    A received request continues the trace of its ``_meta.traceparent`` (W3C Trace Context). Names of tools and prompts
    and URIs of resources become attributes; arguments and results do not.

    Args:
        tracer: an OpenTelemetry `Tracer`; by default one of the global provider.

    Raises:
        ModuleNotFoundError: the OpenTelemetry API is not installed.
    """

    def __init__(self, tracer: Any = None) -> None:
        self._api = _load("opentelemetry.trace")
        self._propagate = _load("opentelemetry.propagate")
        self._tracer = tracer if tracer is not None else self._api.get_tracer("mcp_runtime")

    async def __call__(self, exchange: Exchange, proceed: Proceed) -> Any:
        """Pass a message on, inside a span if it is a request.

        Args:
            exchange: the message.
            proceed: passes the message on.
        """
        if not isinstance(exchange.method, RequestMethod):
            return await proceed()
        received = exchange.way is Way.RECEIVED
        name, attributes = _describe(exchange)
        kinds = self._api.SpanKind
        with self._tracer.start_as_current_span(
            name,
            context=self._propagate.extract(_carrier(exchange)) if received else None,
            kind=kinds.SERVER if received else kinds.CLIENT,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                result = await proceed()
            except BaseException as error:
                self._fail(span, type(error).__qualname__, error if isinstance(error, PeerError) else None)
                raise
            # A tool failure is an ordinary result.
            if getattr(result, "is_error", None):
                self._fail(span, "tool_error", None)
            return result

    def _fail(self, span: Any, kind: str, error: PeerError | None) -> None:
        if error is not None:
            span.set_attribute("rpc.response.status_code", str(error.code))
        span.set_attribute("error.type", kind if error is None else str(error.code))
        span.set_status(self._api.StatusCode.ERROR)


def _describe(exchange: Exchange) -> tuple[str, dict[str, str]]:
    """Return the name of a span and its initial attributes."""
    name = exchange.method.name
    revision = exchange.requester.revision
    attributes = {"mcp.method.name": name, "rpc.system.name": "jsonrpc"}
    if revision:
        attributes["mcp.protocol.version"] = revision
    if exchange.id is not None:
        attributes["jsonrpc.request.id"] = str(exchange.id)
    if name in TARGETS:
        member, attribute = TARGETS[name]
        target = attributes[attribute] = clipped(str(getattr(exchange.params, member, "")), 200)
        # URIs vary too much to be part of a span's name.
        if member == "name":
            return f"{name} {target}", attributes
    return name, attributes


def _carrier(exchange: Exchange) -> dict[str, str]:
    """Return the strings in `_meta`, including the trace context if there is one."""
    return {name: value for name, value in exchange.meta.items() if isinstance(value, str)}


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_INSTALL, name=error.name) from None
