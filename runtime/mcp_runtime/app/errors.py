"""What goes wrong with decorated functions: as they are defined, and as they run."""

from typing import Final

from mcp_runtime.errors import McpError, PeerError

_RESOURCE_NOT_FOUND: Final = -32002
"""The code of the legacy era; the runtime answers with that of the modern era where it is spoken."""


class DefinitionError(McpError, TypeError):
    """A function cannot be a tool, a resource or a prompt.

    Args:
        where: its file and line.
        what: what it was to be: ``tool add``.
        reason: why it cannot be that, and what to do.
    """

    def __init__(self, where: str, what: str, reason: str) -> None:
        super().__init__(f"{where}: {what}: {reason}")
        self.where, self.what, self.reason = where, what, reason

    def __reduce__(self) -> tuple[type["DefinitionError"], tuple[str, str, str]]:
        return (type(self), (self.where, self.what, self.reason))


class ToolFailure(McpError):
    """A tool raises it to say that it failed, in words for the model: the client gets them as the tool's result.

    Any other exception is logged, and the client is told only that the tool failed.
    """


class NotFound(PeerError):
    """There is no such resource: what a function raises for a URI that fits its template and names nothing.

    Args:
        message: what is missing.
        uri: the URI, if that is not obvious.
    """

    def __init__(self, message: str, uri: str | None = None) -> None:
        super().__init__(_RESOURCE_NOT_FOUND, message, None if uri is None else {"uri": uri})
        self._given = (message, uri)

    def __reduce__(self) -> tuple[type["NotFound"], tuple[str, str | None]]:
        return (type(self), self._given)
