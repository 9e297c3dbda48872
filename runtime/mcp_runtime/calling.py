"""The base of generated clients: calls with options that are set once, and calls of tools that return data."""

from collections.abc import Awaitable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_runtime.core.options import Caller, CallOptions, call_options
from mcp_runtime.core.stub import ClientStub, HandlersT

if TYPE_CHECKING:
    from typing import Self

    from mcp_runtime.core.method import NotificationMethod, RequestMethod
    from mcp_runtime.core.options import Progress

    P = TypeVar("P")
    R = TypeVar("R")
    T = TypeVar("T")


class CallingClient(ClientStub[HandlersT]):
    """The server, as seen by a client."""

    def with_options(
        self,
        *,
        timeout: float | None = None,
        max_time: float | None = None,
        progress: "Progress | None" = None,
        key: str | None = None,
    ) -> "Self":
        """Return the same client whose calls have options: ``client.with_options(timeout=5).call_tool("x")``.

        It shares the connection, and costs next to nothing. ``options=`` of a call takes precedence, field by field.

        Args:
            timeout: seconds to wait for the answer or the next progress report.
            max_time: seconds to wait in total, regardless of progress.
            progress: called with each progress report.
            key: identifies an input request; see `CallOptions`.

        Raises:
            TypeError: as for `CallOptions`.
        """
        found = copy(self)
        options = CallOptions(timeout=timeout, max_time=max_time, progress=progress, key=key)
        found._caller = _WithOptions(self.__caller__, options)
        return found

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, options: CallOptions | None = None
    ) -> Any:
        """Call a tool, and return its structured content; without any, its text, or its blocks if not all are texts.

        Args:
            tool: the name of the tool.
            arguments: its arguments.
            options: timeouts and a progress callback for this call.

        Raises:
            ToolError: the tool failed; the error has its text.
        """
        from mcp_runtime.tools.errors import ToolError, structured_of, text_of

        client: Any = self  # its class is generated
        given = None if arguments is None else dict(arguments)
        result = await client.call_tool(name=tool, arguments=given, options=options)
        structured, blocks = structured_of(result), tuple(result.content)
        if result.is_error is True:
            raise ToolError(tool, blocks, structured)
        if structured is not None:
            return structured
        return text_of(blocks) if all(block.type == "text" for block in blocks) else blocks


class _WithOptions(Caller):
    """Sends with options where a call gives none."""

    def __init__(self, caller: Caller, options: CallOptions) -> None:
        self._caller, self._options = caller, options

    @property
    def connection(self) -> Any:
        """The connection to the peer."""
        return self._caller.connection

    @property
    def recipient(self) -> Any:
        """What is known of the peer."""
        return self._caller.recipient

    def request(self, method: "RequestMethod[P, R]", params: "P | None", options: CallOptions | None) -> "Awaitable[R]":
        """Send a request and wait for its result."""
        return self._caller.request(method, params, self._merged(options))

    def request_as(
        self, method: "RequestMethod[P, Any]", params: "P | None", result: "type[T]", options: CallOptions | None
    ) -> "Awaitable[T]":
        """Send a request and wait for a result of another type."""
        return self._caller.request_as(method, params, result, self._merged(options))

    async def notify(self, method: "NotificationMethod[P]", params: "P | None") -> None:
        """Send a notification."""
        await self._caller.notify(method, params)

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry."""
        return self._caller.request_meta()

    def _merged(self, options: CallOptions | None) -> CallOptions:
        own = call_options(options)
        names = ("timeout", "max_time", "progress", "key")
        pairs = {name: (getattr(own, name), getattr(self._options, name)) for name in names}
        return CallOptions(**{name: usual if given is None else given for name, (given, usual) in pairs.items()})
